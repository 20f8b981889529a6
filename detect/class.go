package detect

import (
	"unicode"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/text"
)

// Byte classes of ASCII, as bits of one table.
const (
	cDigit = 1 << iota
	cUpper
	cLower
	cUnder
	cSpace
	cAtom   // may stand in the local part of an e-mail address, dot aside
	cBase58 // Bitcoin's alphabet
	cHex

	cLetter = cUpper | cLower
	cAlnum  = cDigit | cLetter
	cWord   = cAlnum | cUnder
)

var class = func() (t [256]uint8) {
	for c := range 128 {
		b := byte(c)
		switch {
		case b >= '0' && b <= '9':
			t[c] |= cDigit | cAtom | cHex
		case b >= 'A' && b <= 'Z':
			t[c] |= cUpper | cAtom
		case b >= 'a' && b <= 'z':
			t[c] |= cLower | cAtom
		case b == '_':
			t[c] |= cUnder | cAtom
		}
		if b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F' {
			t[c] |= cHex
		}
		if text.IsSpace(rune(c)) {
			t[c] |= cSpace
		}
	}
	for _, c := range "!#$%&'*+/=?^`{|}~-" {
		t[c] |= cAtom
	}
	for _, c := range "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz" {
		t[c] |= cBase58
	}
	return t
}()

func is(b byte, c uint8) bool { return class[b]&c != 0 }

// isLetterRune tells whether r is a word character other than a decimal digit
// or the underscore: a letter, or a number that is no digit.
func isLetterRune(r rune) bool {
	if r < utf8.RuneSelf {
		return class[r]&cLetter != 0
	}
	return unicode.IsLetter(r) || unicode.In(r, unicode.Nl, unicode.No)
}

// isWordRune is the word class of the published patterns: any letter or number
// and the underscore; combining marks are outside.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return class[r]&cWord != 0
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// isMark tells whether r is a combining mark.
func isMark(r rune) bool { return r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) }

// lower folds case as the published patterns ignore it: simple folding, with
// the dotted and dotless i, the long s and the Kelvin sign.
func lower(r rune) rune {
	switch r {
	case 'ı', 'İ':
		return 'i'
	case 'ſ':
		return 's'
	case '\u212a':
		return 'k'
	}
	return unicode.ToLower(r)
}

func lowerByte(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}
