package resolve

import (
	"strings"
	"unicode"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
)

// adminLevels are the levels of an administrative path, outermost first, and
// what agreement down to each is worth.
var (
	adminLevels = [...]string{"admin1", "admin2", "settlement"}
	adminWorth  = [...]float64{0.3, 0.6, 1.0}
)

const adminUnknown = 0.2

// adminPath is a record's administrative path, each level in normal form.
type adminPath struct {
	empty   bool   // nothing given
	invalid string // what was given instead of an object; an error once compared
	level   [3]string
	present [3]bool
}

func readAdminPath(v any) adminPath {
	if !truthy(v) {
		return adminPath{empty: true}
	}
	o, ok := v.(*canon.Object)
	if !ok {
		return adminPath{invalid: jsonType(v)}
	}
	var p adminPath
	for i, name := range adminLevels {
		if x := o.Value(name); truthy(x) {
			p.present[i], p.level[i] = true, text.Norm(canon.Text(x))
		}
	}
	return p
}

// compareAdmin walks down the levels both sides name until one differs. d is
// how much of a disagreement at the outermost level stands.
func compareAdmin(a, b *adminPath, remaining func() float64) float64 {
	best, any := 0.0, false
	for i := range adminLevels {
		if !a.present[i] || !b.present[i] {
			continue
		}
		if a.level[i] != b.level[i] {
			switch {
			case i == 0:
				return adminUnknown * remaining()
			case any:
				return best
			}
			return adminUnknown
		}
		best, any = adminWorth[i], true
	}
	if !any {
		return adminUnknown
	}
	return best
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a truth value"
	case string:
		return "text"
	case []any:
		return "an array"
	case *canon.Object:
		return "an object"
	}
	return "a number"
}

// postcode is a district and what is inside it.
type postcode struct{ district, unit string }

func readPostcode(s string) postcode {
	var b strings.Builder
	for _, r := range strings.ToUpper(s) {
		if !text.IsSpace(r) {
			b.WriteRune(r)
		}
	}
	s = b.String()
	if len(s) == 10 && s[5] == '-' && allDigits(s[:5]) && allDigits(s[6:]) {
		return postcode{s[:5], s[6:]}
	}
	s = strings.ReplaceAll(s, "-", "")
	if out, ok := splitBritish(s); ok {
		return out
	}
	return postcode{district: s}
}

func allDigits(s string) bool {
	for _, r := range s {
		if digitValue(r) < 0 {
			return false
		}
	}
	return s != ""
}

// splitBritish parts outward and inward code: one or two letters, a digit,
// perhaps a letter or digit; a digit and two letters.
func splitBritish(s string) (postcode, bool) {
	if !asciiOnly(s) || len(s) < 5 || len(s) > 7 {
		return postcode{}, false
	}
	out, in := s[:len(s)-3], s[len(s)-3:]
	letter := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	if !digit(in[0]) || !letter(in[1]) || !letter(in[2]) || !letter(out[0]) {
		return postcode{}, false
	}
	rest := out[1:]
	ok := func(r string) bool { // digit, perhaps a letter or digit
		return len(r) == 1 && digit(r[0]) || len(r) == 2 && digit(r[0]) && (digit(r[1]) || letter(r[1]))
	}
	if ok(rest) || len(rest) > 0 && letter(rest[0]) && ok(rest[1:]) {
		return postcode{out, in}, true
	}
	return postcode{}, false
}

func asciiOnly(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// comparePostcodes is 1 for one postcode, 0.5 for one district, and what is
// left of a disagreement otherwise.
func comparePostcodes(a, b postcode, remaining func() float64) float64 {
	switch {
	case a.district == "" || b.district == "":
		return nothing
	case a.district != b.district:
		return adminUnknown * remaining()
	case a.unit == b.unit:
		return 1
	}
	return 0.5
}

// premisesWords introduce a number inside a building.
var premisesWords = map[string]bool{
	"unit": true, "plot": true, "suite": true, "ste": true, "apt": true, "apartment": true, "flat": true,
	"block": true, "floor": true, "fl": true, "room": true, "rm": true, "shop": true, "stall": true,
	"kiosk": true, "house": true, "no": true, "number": true, "#": true,
}

const premisesChars = 400

// readPremises returns the number of the unit, house or plot an address names,
// "" when none.
func readPremises(s string) string {
	s = cutRunes(s, premisesChars)
	if p := firstPremises(s); p != "" {
		return strings.ToLower(p)
	}
	head := s
	if i := strings.IndexByte(s, ','); i >= 0 {
		head = s[:i]
	}
	return strings.ToLower(trailingNumber(text.Strip(head)))
}

// firstPremises finds "word number" anywhere or a number that opens the text.
func firstPremises(s string) string {
	for i := 0; i <= len(s); i++ {
		if i == 0 {
			if p := openingNumber(s); p != "" {
				// A word at the very start comes first in the pattern.
				if q := wordNumber(s, 0); q != "" {
					return q
				}
				return p
			}
		}
		if i > 0 && asciiAlnum(s[i-1]) {
			continue
		}
		if p := wordNumber(s, i); p != "" {
			return p
		}
	}
	return ""
}

// wordNumber reads a premises word at byte i and the number after it.
func wordNumber(s string, i int) string {
	rest := s[i:]
	for _, n := range [...]int{9, 6, 5, 4, 3, 2, 1} {
		if len(rest) < n || !premisesWords[strings.ToLower(rest[:n])] {
			continue
		}
		t := skipSpace(rest[n:])
		t = skipSpace(strings.TrimPrefix(t, "."))
		if num := numberAndLetter(t); num != "" {
			return num
		}
	}
	return ""
}

func skipSpace(s string) string { return strings.TrimLeftFunc(s, text.IsSpace) }

// numberAndLetter reads digits and at most one ASCII letter.
func numberAndLetter(s string) string {
	end := 0
	for i, r := range s {
		if digitValue(r) < 0 {
			break
		}
		end = i + len(string(r))
	}
	if end == 0 {
		return ""
	}
	if end < len(s) && (s[end]|0x20) >= 'a' && (s[end]|0x20) <= 'z' {
		end++
	}
	return s[:end]
}

// openingNumber reads a number at the start that white space or a comma ends.
func openingNumber(s string) string {
	t := skipSpace(s)
	num := numberAndLetter(t)
	if num == "" {
		return ""
	}
	for _, cand := range [...]string{num, strings.TrimRightFunc(num, unicode.IsLetter)} {
		after := t[len(cand):]
		if after != "" {
			r := []rune(after)[0]
			if r == ',' || text.IsSpace(r) {
				return cand
			}
		}
	}
	return ""
}

// trailingNumber reads one to four digits and perhaps a letter at the end,
// unless there is nothing but digits and spaces.
func trailingNumber(s string) string {
	onlyDigits := true
	for _, r := range s {
		if digitValue(r) < 0 && !text.IsSpace(r) {
			onlyDigits = false
			break
		}
	}
	if onlyDigits {
		return ""
	}
	end := len(s)
	body := s
	if end > 0 && (s[end-1]|0x20) >= 'a' && (s[end-1]|0x20) <= 'z' {
		body = s[:end-1]
	}
	runes := []rune(body)
	n := 0
	for n < len(runes) && digitValue(runes[len(runes)-1-n]) >= 0 {
		n++
	}
	if n == 0 || n > 4 {
		return ""
	}
	start := len(string(runes[:len(runes)-n]))
	if start > 0 && asciiAlnum(s[start-1]) {
		return ""
	}
	return s[start:]
}
