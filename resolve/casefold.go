package resolve

import (
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// caseFold is full Unicode case folding.
func caseFold(s string) string {
	ascii := true
	lower := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
		lower = lower && !(s[i] >= 'A' && s[i] <= 'Z')
	}
	if ascii && lower {
		return s
	}
	return cases.Fold().String(s) // a folder keeps state and must not be shared
}
