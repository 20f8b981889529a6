package guard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/jurisdiction/guard"
)

// planted are values that a scan under the jurisdiction must not let through,
// and the words that may lead to them. Digits are filled in.
var planted = map[string][]struct{ lead, value string }{
	"NG": {
		{"NIN ", "1##########"}, {"BVN: ", "22#########"}, {"call ", "0803#######"}, {"tel ", "+234 803 ### ####"}, {"tel ", "(0803) ### ####"},
		{"TIN ", "1#########"}, {"mail ", "user.####@example.com"}, {"from ", "10.##.#.7"}, {"", "Grace Mwangi"}, {"", "Wanjiru Kamau"},
		{"at ", "## Awolowo Road, Ikoyi, Lagos"}, {"wallet ", "0x##########aabbccddeeff##########aabbccdd"},
		{"id ", "did:key:z6MkqRw3Tb8nVx5yHcLd2Jp7Gf4KsZuA9eM1"}, {"card ", "4111 1111 1111 1111"}, {"phone ", "+44 20 7946 0958"},
		{"account DE", "DE89 3704 0044 0532 0130 00"},
	},
	"KE": {{"ID No. ", "2#######"}, {"KRA PIN ", "A0########Z"}, {"NHIF ", "1########"}, {"call ", "0722 ### ###"}, {"", "Otieno Odhiambo"}},
	"ZA": {{"ID ", "8001015009087"}, {"tax number ", "1#########"}, {"call ", "082 ### ####"}, {"at ", "## Riebeek Street, Cape Town, 8001"}},
	"GB": {{"call ", "+44 7700 900###"}, {"mail ", "j####@example.co.uk"}, {"NI number ", "QQ 12 34 56 C"}, {"at ", "221B Baker Street, London NW1 6XE"}},
}

var prose = []string{
	"The committee met in the morning.", "Please see the attached minutes,", "version 1.2.3 of the plan", "and thank you for the quick answer;",
	"order 4711 was shipped", "(as agreed)", "— nothing else was said.", "📎 attached", "then we left", "\n\n", "\t", "price: 20.50 ",
}

// TestNothingPlantedSurvives plants values in random prose.
func TestNothingPlantedSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"NG", "KE", "ZA", "GB"}).Draw(t, "jurisdiction")
		var b strings.Builder
		var values []string
		for range rapid.IntRange(1, 12).Draw(t, "pieces") {
			b.WriteString(rapid.SampledFrom(prose).Draw(t, "prose"))
			b.WriteString(" ")
			if rapid.Bool().Draw(t, "plant") {
				p := rapid.SampledFrom(planted[code]).Draw(t, "value")
				value := fill(t, p.value)
				values = append(values, value)
				if rapid.Bool().Draw(t, "written before, without its cue") && strings.ContainsAny(value, "0123456789") {
					b.WriteString("see " + value + " and ")
				}
				b.WriteString(p.lead + value + rapid.SampledFrom([]string{". ", ", ", "; ", "\n", " "}).Draw(t, "after"))
			}
		}
		g, refusal := guard.New(guard.Request{Key: "demo-key", Jurisdiction: code})
		if refusal != nil {
			t.Fatal(refusal.Reason)
		}
		once := g.Scan(context.Background(), b.String())
		if once.Denied {
			t.Fatalf("denied: %s", once.Reason)
		}
		for _, v := range values {
			if strings.Contains(once.Text, v) {
				t.Errorf("%s: %q survives in %q", code, v, once.Text)
			}
		}
		twice := g.Scan(t.Context(), once.Text)
		if twice.Text != once.Text || len(twice.Fields) != 0 {
			t.Errorf("%s: redacted twice:\n once %q\ntwice %q", code, once.Text, twice.Text)
		}
	})
}

// fill replaces each # by a digit that is not 0.
func fill(t *rapid.T, pattern string) string {
	var b strings.Builder
	for _, c := range []byte(pattern) {
		if c == '#' {
			c = byte('1' + rapid.IntRange(0, 8).Draw(t, "digit"))
		}
		b.WriteByte(c)
	}
	return b.String()
}

// FuzzScan holds what redaction promises of any text.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		note, "", "[NIN:de11776532b6f1b0]", "[CARD:4111111111111111]", "TIN 1234567890 1234567891 1234567892", "0803 555 7890 0803 555 7890",
		"Musa Musa Musa", "12 Long Street, Lagos, Nigeria, call 0803 555 7890", "a@b.co a@b.co", "4111 1111 1111 1111 08035557890", "\ufffc\ufffc 1",
		"SSN 123-45-6789 IBAN DE89 3704 0044 0532 0130 00", "born 12/05/1980",
	} {
		for _, code := range []string{"NG", "GB", ""} {
			f.Add(seed, code)
		}
	}
	f.Fuzz(func(t *testing.T, doc, code string) {
		doc = strings.ToValidUTF8(doc, "")
		g, refusal := guard.New(guard.Request{Key: "demo-key", Jurisdiction: code})
		if refusal != nil {
			g, refusal = guard.New(guard.Request{Key: "demo-key", Jurisdiction: code, Statute: "BASELINE"})
		}
		if refusal != nil {
			t.Fatal(refusal.Reason)
		}
		once := g.Scan(t.Context(), doc)
		if once.Denied {
			t.Fatalf("denied: %s", once.Reason)
		}
		if len(once.Fields) == 0 && once.Text != doc {
			t.Errorf("changed without a field: %q", once.Text)
		}
		twice := g.Scan(t.Context(), once.Text)
		if twice.Text != once.Text && !digitToken(once) {
			t.Errorf("redacted twice:\n once %q\ntwice %q", once.Text, twice.Text)
		}
	})
}

// digitToken reports a token whose shown part has digits only: it can be read
// as a number, and may be redacted again.
func digitToken(r *guard.Result) bool {
	for _, f := range r.Fields {
		if f.Token != nil && !strings.ContainsAny((*f.Token)[:16], "abcdef") {
			return true
		}
	}
	return false
}

// TestWorkIsLinear compares allocations, which grow with the work, of a text and
// its double.
func TestWorkIsLinear(t *testing.T) {
	g, refusal := guard.New(guard.Request{Key: "demo-key", Jurisdiction: "NG"})
	if refusal != nil {
		t.Fatal(refusal.Reason)
	}
	for _, unit := range []string{"a-a-a-", "1.1.1.", "near Xx ", "Musa ", "0803 555 7890 ", "[NIN:de11776532b6f1b0]", "Ab Cd Ef Gh Road ", "a.a.a.", "TIN 1234567890 ", "[[[[["} {
		cost := func(n int) float64 {
			doc := strings.Repeat(unit, n/len(unit))
			return testing.AllocsPerRun(1, func() { g.Scan(t.Context(), doc) })
		}
		small, large := cost(8<<10), cost(16<<10)
		if large > 2.6*small+200 {
			t.Errorf("%q: %v allocations for 8 KB, %v for 16 KB", unit, small, large)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	doc := strings.Repeat(note+" The committee met in the morning and thanked Musa Bello for the minutes, which were sent to a.b@example.com. ", 1)
	for _, size := range []int{1 << 10, 100 << 10, 1 << 20} {
		text := strings.Repeat(doc, size/len(doc)+1)[:size]
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			g, _ := guard.New(guard.Request{Key: "demo-key", Jurisdiction: "NG"})
			b.SetBytes(int64(size))
			for b.Loop() {
				g.Scan(b.Context(), text)
			}
		})
	}
}
