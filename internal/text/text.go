// Package text holds the text primitives that comparison rules are built from:
// normal form, ids, tokens, and two string similarities.
//
// All results are exact to the last bit and the same on every platform. Start
// with Norm and Tokens; compare single pairs with JaroWinkler, TokenSortRatio
// and Fuzzy; in a loop over pairs, Prepare each text once and keep one Matcher
// for each goroutine, which compares without allocating.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsSpace reports whether r is white space in the sense the rules use: the
// Unicode separators and the controls that separate lines, fields or records
// (U+001C to U+001F included).
func IsSpace(r rune) bool {
	switch {
	case r < 0x80:
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1c && r <= 0x1f
	case r < 0x1680:
		return r == 0x85 || r == 0xa0
	}
	return r == 0x1680 || r >= 0x2000 && r <= 0x200a || r == 0x2028 || r == 0x2029 ||
		r == 0x202f || r == 0x205f || r == 0x3000
}

// Strip removes white space at both ends.
func Strip(s string) string { return strings.TrimFunc(s, IsSpace) }

// Fields splits s around runs of white space; none are empty.
func Fields(s string) []string { return strings.FieldsFunc(s, IsSpace) }

// Collapse replaces each run of white space by one space, at the ends too.
func Collapse(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range s {
		if IsSpace(r) {
			if !gap {
				b.WriteByte(' ')
			}
			gap = true
			continue
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

// Lower is the full Unicode lower case, independent of language: a capital
// sigma that ends a word becomes a final sigma.
func Lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for i, r := range s {
		switch r {
		case 0x130: // capital I with dot: the only unconditional mapping to two characters
			b.WriteString("i\u0307")
		case 0x3a3:
			if finalSigma(s, i) {
				b.WriteRune(0x3c2)
			} else {
				b.WriteRune(0x3c3)
			}
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// finalSigma reports whether the sigma at byte i follows a cased letter and is
// not followed by one, ignorable characters aside.
func finalSigma(s string, i int) bool {
	before := false
	for head := s[:i]; head != ""; {
		r, n := utf8.DecodeLastRuneInString(head)
		if !caseIgnorable(r) {
			before = cased(r)
			break
		}
		head = head[:len(head)-n]
	}
	if !before {
		return false
	}
	for _, r := range s[i+utf8.RuneLen(0x3a3):] {
		if !caseIgnorable(r) {
			return !cased(r)
		}
	}
	return true
}

func cased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
		unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func caseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', 0xb7, 0x387, 0x55f, 0x5f4, 0x2018, 0x2019, 0x2024, 0x2027,
		0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a:
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
