package address

import (
	"strings"

	"github.com/arche-ledger/arche/internal/text"
)

// foldLetter maps a letter to its ASCII capital the way a case-blind match of
// A-Z does: four letters beyond ASCII fold into the alphabet too. Anything else
// gives 0.
func foldLetter(r rune) byte {
	switch {
	case r >= 'A' && r <= 'Z':
		return byte(r)
	case r >= 'a' && r <= 'z':
		return byte(r - 'a' + 'A')
	case r == 0x130 || r == 0x131: // dotted capital I, dotless small i
		return 'I'
	case r == 0x17f: // long s
		return 'S'
	case r == 0x212a: // Kelvin sign
		return 'K'
	}
	return 0
}

// postcodeEnds returns the places where a British postcode that starts at i may
// end, in the order in which the alternatives are tried: one or two letters,
// a digit, an optional letter or digit, an optional space, a digit, two letters.
func (sc *scanner) postcodeEnds(i int) (ends [4]int, n int) {
	letter := func(i int) bool { return i < len(sc.runes) && foldLetter(sc.runes[i]) != 0 }
	tail := func(i int) {
		// The optional space cannot be the digit, so taking it is the only try.
		if sc.is(i, isSpace) {
			i++
		}
		if sc.is(i, isDigit) && letter(i+1) && letter(i+2) {
			ends[n] = i + 3
			n++
		}
	}
	if end := sc.giro(i); end >= 0 {
		ends[n] = end
		n++
	}
	if !letter(i) {
		return ends, n
	}
	// The second letter cannot be the digit either.
	i++
	if letter(i) {
		i++
	}
	if !sc.is(i, isDigit) {
		return ends, n
	}
	i++
	if letter(i) || sc.is(i, isDigit) {
		tail(i + 1)
	}
	tail(i)
	return ends, n
}

// giro matches the one postcode that names no place, GIR 0AA.
func (sc *scanner) giro(i int) int {
	for _, c := range []byte("GIR") {
		if i >= len(sc.runes) || foldLetter(sc.runes[i]) != c {
			return -1
		}
		i++
	}
	if sc.is(i, isSpace) {
		i++
	}
	if i+3 > len(sc.runes) || sc.runes[i] != '0' ||
		foldLetter(sc.runes[i+1]) != 'A' || foldLetter(sc.runes[i+2]) != 'A' {
		return -1
	}
	return i + 3
}

// postcode returns the end of a British postcode that ends at a word boundary.
func (sc *scanner) postcode(i int) int {
	ends, n := sc.postcodeEnds(i)
	for _, end := range ends[:n] {
		if sc.boundary(end) {
			return end
		}
	}
	return -1
}

// maxPostcode is more bytes than a postcode with generous spaces has.
const maxPostcode = 256

// normalPostcode returns the upper-case form with one space before the last
// three characters, "" when s is not wholly a British postcode.
func normalPostcode(s string) string {
	if len(s) > maxPostcode {
		return ""
	}
	compact := strings.ToUpper(strings.Join(text.Fields(s), ""))
	sc := newScanner(compact, WithPostcodes)
	defer sc.release()
	ends, n := sc.postcodeEnds(0)
	for _, end := range ends[:n] {
		if end == len(sc.runes) {
			return sc.text(0, end-3) + " " + sc.text(end-3, end)
		}
	}
	return ""
}

// splitPostcode cuts a trailing British postcode, set off by a space, from s.
func splitPostcode(s string) (head, code string) {
	sc := newScanner(s, WithPostcodes)
	defer sc.release()
	for i := range sc.runes {
		if sc.is(i, isSpace) && (i == 0 || !sc.is(i-1, isSpace)) {
			ends, n := sc.postcodeEnds(sc.spaces(i))
			for _, end := range ends[:n] {
				if end == len(sc.runes) {
					return text.Strip(sc.text(0, i)), normalPostcode(sc.text(sc.spaces(i), end))
				}
			}
		}
		if sc.runes[i] == '\n' {
			break // the head is one line
		}
	}
	return "", ""
}
