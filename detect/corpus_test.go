package detect_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/detect"
)

// plant is a value put into a text, with what it is; an empty category is a
// decoy, which nothing may be found in.
type plant struct {
	category, kind string
	start, end     int // bytes; the corpus is ASCII
}

var (
	filler = strings.Fields(`the clerk read six letters and filed a note after lunch while wind shook the windows so
		everyone moved chairs counted pens tidied drawers and found that each total agreed with the sheet before it
		somebody asked whether tea was ready because the kettle had boiled and the biscuits were nearly finished`)
	givens   = strings.Fields("Adesola Fatima Chidi Amina Ibrahim Wanjiru Thabo Kwame Nomusa Halima Babatunde Zainab")
	families = strings.Fields("Okonkwo Abdullahi Okafor Bello Kamau Mensah Dlamini Ndlovu Odhiambo Diallo")
	strange  = []string{"Brunhild Quastenberg", "Tovrel Haxby", "Ysolde Pragnell", "Corwyn Mapplethwaite", "Zdenka Vrbatova"}
	streets  = strings.Fields("Larch Copperfield Marigold Harbour Quarry Windmill")
	towns    = strings.Fields("Lagos Abuja Ibadan Enugu")
)

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// maker makes values of one kind from a seeded source.
type maker struct {
	kind, lead, category string
	value                func(*rand.Rand) string
}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

func letters(r *rand.Rand, n int, from string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[r.IntN(len(from))]
	}
	return string(b)
}

func digits(r *rand.Rand, n int) string { return letters(r, n, "0123456789") }

func mobile(r *rand.Rand) string {
	return pick(r, []string{"0803", "0706", "0814", "0905"}) + digits(r, 7)
}

func spaced(p string) string { return p[:4] + " " + p[4:7] + " " + p[7:] }

func cardNumber(r *rand.Rand) string {
	body := "4" + digits(r, 14)
	sum := 0
	for i := range len(body) {
		d := int(body[len(body)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return fmt.Sprintf("%s%d", body, (10-sum%10)%10)
}

func germanIBAN(r *rand.Rand) string {
	bban := digits(r, 18)
	rest := 0
	for _, c := range bban + "131400" {
		rest = (rest*10 + int(c-'0')) % 97
	}
	return fmt.Sprintf("DE%02d%s", 98-rest, bban)
}

// makers are the kinds of the published corpus: values first, then decoys.
var makers = []maker{
	{"nin", " NIN ", "PII-2-NIN", func(r *rand.Rand) string { return letters(r, 1, "13456789") + digits(r, 10) }},
	{"bvn", " BVN ", "PII-2-BVN", func(r *rand.Rand) string { return "22" + digits(r, 9) }},
	{"tin", " TIN ", "PII-2-TIN", func(r *rand.Rand) string { return "1" + digits(r, 9) }},
	{"rc", " ", "PII-2-RC", func(r *rand.Rand) string { return "RC " + digits(r, 6) }},
	{"licence", " ", "PII-2-DRIVERS_LICENCE", func(r *rand.Rand) string { return pick(r, []string{"LAG", "ABJ", "KAN"}) + "-" + digits(r, 11) }},
	{"phone", " call ", "PII-3-PHONE", mobile},
	{"phone_sp", " call ", "PII-3-PHONE", func(r *rand.Rand) string { return spaced(mobile(r)) }},
	{"phone_intl", " call ", "PII-3-PHONE", func(r *rand.Rand) string { return "+234 " + spaced(mobile(r))[1:] }},
	{"phone_gb", " call ", "PII-3-PHONE", func(r *rand.Rand) string { return "+44 7" + digits(r, 3) + " " + digits(r, 6) }},
	{"phone_de", " ring ", "PII-3-PHONE", func(r *rand.Rand) string { return "+49 30 " + letters(r, 1, "23456789") + digits(r, 6) }},
	{"phone_after_number", " item 48213 ", "PII-3-PHONE", func(r *rand.Rand) string { return spaced(mobile(r)) }},
	{"email", " write ", "PII-3-EMAIL", func(r *rand.Rand) string {
		return fmt.Sprintf("u%s.%s@mail%s.example.com", digits(r, 3), pick(r, filler), digits(r, 2))
	}},
	{"ip", " host ", "PII-8-IP_ADDRESS", func(r *rand.Rand) string {
		return fmt.Sprintf("%d.%d.%d.%d", 11+r.IntN(240), r.IntN(256), r.IntN(256), 1+r.IntN(254))
	}},
	{"ip6", " host ", "PII-8-IP_ADDRESS", func(r *rand.Rand) string {
		return fmt.Sprintf("2001:db8:%x::%x", 1+r.IntN(65535), 1+r.IntN(65535))
	}},
	{"ip6_mid", " host ", "PII-8-IP_ADDRESS", func(r *rand.Rand) string {
		return fmt.Sprintf("2001:db8::%x:%x:%x", 1+r.IntN(65535), 1+r.IntN(65535), 1+r.IntN(65535))
	}},
	{"did", " did ", "PII-2-DID", func(r *rand.Rand) string { return "did:key:z6Mk" + letters(r, 36, base58) }},
	{"btc", " pay ", "PII-5-CRYPTO_WALLET", func(r *rand.Rand) string { return "1" + letters(r, 32, base58) }},
	{"eth", " pay ", "PII-5-CRYPTO_WALLET", func(r *rand.Rand) string { return "0x" + letters(r, 40, "0123456789abcdef") }},
	{"name", " with ", "PII-1-NAME", func(r *rand.Rand) string { return pick(r, givens) + " " + pick(r, families) }},
	{"name_unseen", " with ", "PII-1-NAME", func(r *rand.Rand) string { return pick(r, strange) }},
	{"address", " at ", "PII-4-ADDRESS", func(r *rand.Rand) string {
		return fmt.Sprintf("%d %s Street, %s", 1+r.IntN(220), pick(r, streets), pick(r, towns))
	}},
	{"city", " near ", "PII-4-LOCATION", func(r *rand.Rand) string { return pick(r, towns) }},
	{"card", " card ", "PII-5-CARD", cardNumber},
	{"card_spaced", " paid with ", "PII-5-CARD", func(r *rand.Rand) string {
		c := cardNumber(r)
		return c[:4] + " " + c[4:8] + " " + c[8:12] + " " + c[12:]
	}},
	{"iban", " iban ", "PII-5-BANK_ACCOUNT", germanIBAN},
	{"account", " account number ", "PII-5-BANK_ACCOUNT", func(r *rand.Rand) string { return letters(r, 1, "1345689") + digits(r, 9) }},
	{"dob", " born ", "PII-1-DOB", func(r *rand.Rand) string {
		return fmt.Sprintf("%02d/%02d/19%02d", 1+r.IntN(28), 1+r.IntN(12), 40+r.IntN(60))
	}},
	{"passport", " passport ", "PII-2-PASSPORT", func(r *rand.Rand) string { return letters(r, 1, "ABCDEFGH") + digits(r, 8) }},
	{"ssn", " SSN ", "PII-2-SSN", func(r *rand.Rand) string {
		return fmt.Sprintf("%03d-%02d-%04d", 1+r.IntN(600), 1+r.IntN(99), 1+r.IntN(9999))
	}},
	{"d_order", " order ", "", func(r *rand.Rand) string { return "ORD-" + digits(r, 10) }},
	{"d_invoice", " invoice ", "", func(r *rand.Rand) string { return digits(r, 8) }},
	{"d_ref10", " ref ", "", func(r *rand.Rand) string { return digits(r, 10) }},
	{"d_ref11", " tracking ", "", func(r *rand.Rand) string { return digits(r, 11) }},
	{"d_version", " version ", "", func(r *rand.Rand) string {
		return fmt.Sprintf("%d.%d.%d.%d", 1+r.IntN(9), 1+r.IntN(9), 1+r.IntN(9), 1+r.IntN(9))
	}},
	{"d_money", " total ", "", func(r *rand.Rand) string { return fmt.Sprintf("N%d,%s", 1+r.IntN(99), digits(r, 3)) }},
	{"d_date", " on ", "", func(r *rand.Rand) string { return fmt.Sprintf("2026-05-%02d", 1+r.IntN(28)) }},
	{"d_hex", " sha ", "", func(r *rand.Rand) string { return letters(r, 40, "0123456789abcdef") }},
	{"d_stamp", " at ", "", func(r *rand.Rand) string { return "17" + digits(r, 11) }},
	{"d_word", " ", "", func(r *rand.Rand) string {
		return pick(r, []string{"jean jacket", "pita bread", "next of kin", "Cape", "Total"})
	}},
}

// withCheck appends the digit that makes a number pass.
func withCheck(body string, passes func(string) bool) string {
	for c := '0'; c <= '9'; c++ {
		if s := body + string(c); passes(s) {
			return s
		}
	}
	return ""
}

// until draws values until one passes.
func until(draw func() string) string {
	for {
		if s := draw(); s != "" {
			return s
		}
	}
}

func passesLuhn(s string) bool {
	sum := 0
	for i := range len(s) {
		d := int(s[len(s)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

func passesNHS(s string) bool {
	sum := 0
	for i := range 10 {
		sum += int(s[i]-'0') * (10 - i)
	}
	return sum%11 == 0
}

// national are the kinds that belong to one jurisdiction.
var national = map[string][]maker{
	"KE": {
		{"ke_id", " ID No. ", "PII-2-NATIONAL_ID", func(r *rand.Rand) string { return letters(r, 1, "123") + digits(r, 7) }},
		{"ke_pin", " KRA ", "PII-2-KRA_PIN", func(r *rand.Rand) string { return "A0" + digits(r, 8) + letters(r, 1, "ABCDEFGH") }},
		{"ke_nhif", " NHIF ", "PII-2-NHIF", func(r *rand.Rand) string { return digits(r, 8) }},
		{"ke_huduma", " Huduma Namba: ", "PII-2-HUDUMA", func(r *rand.Rand) string { return digits(r, 12) }},
		{"ke_mobile", " ", "PII-3-PHONE", func(r *rand.Rand) string {
			return "07" + letters(r, 1, "124") + digits(r, 1) + " " + digits(r, 3) + " " + digits(r, 3)
		}},
	},
	"ZA": {
		{"za_id", " bearer ", "PII-2-NATIONAL_ID", func(r *rand.Rand) string {
			return withCheck(fmt.Sprintf("%02d%02d%02d%s08", r.IntN(100), 1+r.IntN(12), 1+r.IntN(28), digits(r, 4)), passesLuhn)
		}},
		{"za_id_spaced", " bearer ", "PII-2-NATIONAL_ID", func(r *rand.Rand) string {
			s := withCheck(fmt.Sprintf("%02d%02d%02d%s08", r.IntN(100), 1+r.IntN(12), 1+r.IntN(28), digits(r, 4)), passesLuhn)
			return s[:6] + " " + s[6:10] + " " + s[10:]
		}},
		{"za_tax", " SARS ", "PII-2-TAX_REFERENCE", func(r *rand.Rand) string { return "1" + digits(r, 9) }},
	},
	"GH": {
		{"gh_card", " ", "PII-2-GHANA_CARD", func(r *rand.Rand) string { return "GHA-" + digits(r, 9) + "-" + digits(r, 1) }},
		{"gh_tin", " ", "PII-2-TIN", func(r *rand.Rand) string { return "P00" + digits(r, 8) }},
	},
	"GB": {
		{"gb_nino", " ", "PII-2-NIN", func(r *rand.Rand) string {
			return letters(r, 1, "ABCEHJKL") + letters(r, 1, "ABCEHJKL") + " " + digits(r, 2) + " " + digits(r, 2) + " " + digits(r, 2) + " " + letters(r, 1, "ABCD")
		}},
		{"gb_nhs", " NHS ", "PII-2-NHS", func(r *rand.Rand) string {
			return until(func() string { return withCheck(digits(r, 9), passesNHS) })
		}},
		{"gb_sort", " sort code ", "PII-5-BANK_ACCOUNT", func(r *rand.Rand) string { return digits(r, 2) + "-" + digits(r, 2) + "-" + digits(r, 2) }},
		{"gb_home", " at ", "PII-4-ADDRESS", func(r *rand.Rand) string {
			return fmt.Sprintf("%d %s Road, London N%d %dAB", 1+r.IntN(220), pick(r, streets), 1+r.IntN(9), r.IntN(10))
		}},
	},
	"DE": {
		{"de_vat", " ", "PII-2-VAT", func(r *rand.Rand) string { return "ATU" + digits(r, 7) + "5" }},
		{"de_steuer", " Steuer-ID ", "PII-2-TIN", func(r *rand.Rand) string { return letters(r, 1, "123456789") + digits(r, 10) }},
		{"de_mobile", " ", "PII-3-PHONE", func(r *rand.Rand) string { return "0151 " + letters(r, 1, "23456789") + digits(r, 7) }},
	},
	"US": {
		{"us_phone", " ", "PII-3-PHONE", func(r *rand.Rand) string {
			return "(212) " + letters(r, 1, "23456789") + digits(r, 2) + "-" + digits(r, 4)
		}},
		{"us_ssn", " ", "PII-2-SSN", func(r *rand.Rand) string {
			return fmt.Sprintf("%03d-%02d-%04d", 1+r.IntN(600), 1+r.IntN(99), 1+r.IntN(9999))
		}},
	},
}

// corpus makes a text of at least size bytes: filler with one value or decoy
// after every few words, and each telephone number a second time.
func corpus(size int, more ...maker) (string, []plant) {
	makers := append(slices.Clone(makers), more...)
	r := rand.New(rand.NewPCG(20260522, 7))
	var b strings.Builder
	var planted []plant
	put := func(m maker, v string) {
		for range 6 + r.IntN(6) {
			b.WriteString(pick(r, filler))
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimPrefix(m.lead, " "))
		planted = append(planted, plant{m.category, m.kind, b.Len(), b.Len() + len(v)})
		b.WriteString(v)
		b.WriteString(", ")
	}
	for k := 0; b.Len() < size; k++ {
		m := makers[k%len(makers)]
		v := m.value(r)
		put(m, v)
		if m.kind == "phone" {
			put(maker{kind: "phone_repeat", lead: " again ", category: m.category}, v)
		}
		if k%5 == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String(), planted
}

// tally counts what was found of what was planted.
type tally struct{ found, all int }

func (t tally) rate() float64 { return float64(t.found) / float64(t.all) }

// A category's recall is the part of its values that a span of the category
// touches, its precision the part of its spans that touch such a value. A city
// inside an address is no error.
func TestPlantedValues(t *testing.T) {
	for _, jurisdiction := range []string{"NG", "KE", "ZA", "GH", "GB", "DE", "US"} {
		text, planted := corpus(200_000, national[jurisdiction]...)
		spans, err := detect.Scan(text, detect.Options{Jurisdiction: jurisdiction})
		if err != nil {
			t.Fatal(err)
		}
		own := ownCategories(jurisdiction)
		recall := map[string]tally{}
		for _, p := range planted {
			if p.category == "" || !own[p.category] || foreign(p, jurisdiction) {
				continue
			}
			n := recall[p.kind]
			n.all++
			if slices.ContainsFunc(near(spans, p), func(s detect.Span) bool { return s.Category == p.category }) {
				n.found++
			}
			recall[p.kind] = n
		}
		for kind, n := range recall {
			if n.rate() < 0.99 {
				t.Errorf("%s: recall of %s is %d of %d", jurisdiction, kind, n.found, n.all)
			}
		}
		precision := map[string]tally{}
		for _, s := range spans {
			n := precision[s.Category]
			n.all++
			if slices.ContainsFunc(touching(planted, s), func(p plant) bool {
				return p.category == s.Category || p.category == "PII-4-ADDRESS" && s.Category == "PII-4-LOCATION"
			}) {
				n.found++
			}
			precision[s.Category] = n
		}
		for category, n := range precision {
			if own[category] && n.all > 20 && n.rate() < 0.95 {
				t.Errorf("%s: precision of %s is %d of %d", jurisdiction, category, n.found, n.all)
			}
		}
	}
}

// ownCategories are the planted categories that a jurisdiction's detectors
// claim: those of Nigerian identifiers only in Nigeria.
func ownCategories(jurisdiction string) map[string]bool {
	own := map[string]bool{}
	for _, m := range makers {
		own[m.category] = true
	}
	if jurisdiction != "NG" {
		for _, c := range []string{"PII-2-NIN", "PII-2-BVN", "PII-2-TIN", "PII-2-RC", "PII-2-DRIVERS_LICENCE"} {
			delete(own, c)
		}
	}
	for _, m := range national[jurisdiction] {
		own[m.category] = true
	}
	return own
}

// foreign tells whether a value is a Nigerian identifier under another law: the
// bare digits of those mean nothing there, even where a category is shared.
func foreign(p plant, jurisdiction string) bool {
	return jurisdiction != "NG" && slices.Contains([]string{"nin", "bvn", "tin", "rc", "licence"}, p.kind)
}

func near(spans []detect.Span, p plant) []detect.Span {
	var out []detect.Span
	for _, s := range spans {
		if s.ByteStart < p.end && s.ByteEnd > p.start {
			out = append(out, s)
		}
	}
	return out
}

func touching(planted []plant, s detect.Span) []plant {
	i, _ := slices.BinarySearchFunc(planted, s.ByteStart, func(p plant, at int) int { return p.end - at - 1 })
	var out []plant
	for ; i < len(planted) && planted[i].start < s.ByteEnd; i++ {
		out = append(out, planted[i])
	}
	return out
}
