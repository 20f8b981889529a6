package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	catLocation = "PII-4-LOCATION"
	locConf     = 0.9
	minLowerLoc = 5 // characters from which a city counts in small letters
)

// vspan is a stretch of the view.
type vspan struct{ s, e int }

// locations finds the cities of the gazetteer.
func (x *lexed) locations() []vspan {
	var out []vspan
	end := 0
	for _, m := range x.marked {
		a := x.atoms[m]
		if !x.has(a, rCity) || int(a.s) < end || x.wordBefore(int(a.s)) {
			continue
		}
		for _, c := range x.voc.entries[a.ent].cities {
			e := x.matchFold(int(a.s), c)
			if e < 0 || x.wordAt(e) {
				continue
			}
			end = e
			if x.codePrefix(int(a.s), e) {
				break
			}
			m := x.s[a.s:e]
			if utf8.RuneCountInString(m) >= minLowerLoc || unicode.IsUpper(x.runeAt(int(a.s))) {
				out = append(out, vspan{int(a.s), e})
			}
			break
		}
	}
	return out
}

// codePrefix tells whether a short name begins a document's number: "ABJ-123".
func (x *lexed) codePrefix(s, e int) bool {
	return e-s == 3 && e+1 < len(x.s) && x.s[e] == '-' && is(x.s[e+1], cDigit) && x.s[s:e] == strings.ToUpper(x.s[s:e])
}
