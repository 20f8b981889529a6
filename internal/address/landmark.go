package address

import (
	"strings"

	"github.com/arche-ledger/arche/internal/text"
)

// BareLandmark takes the relation word and the article off an anchor and
// returns the normal form of the rest, so that "opposite the Bank" and "near
// Bank" compare as one landmark.
func BareLandmark(anchor string) string {
	v := vocab()
	s := text.Strip(anchor)
	s = dropLeading(s, v.prepositions)
	return text.Norm(dropLeading(s, v.articles))
}

// dropLeading drops the first of the words that s starts with, ignoring case,
// when a space follows.
func dropLeading(s string, words [][]rune) string {
	lower := text.Lower(s)
	for _, w := range words {
		if !strings.HasPrefix(lower, string(w)+" ") {
			continue
		}
		// Lower case can change byte lengths, so count characters.
		n := len(w)
		for i := range s {
			if n == 0 {
				return strings.TrimLeftFunc(s[i:], text.IsSpace)
			}
			n--
		}
	}
	return s
}
