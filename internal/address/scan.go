package address

import (
	"sync"
	"unicode"

	"github.com/arche-ledger/arche/internal/text"
)

// Character classes of the grammar. Word characters, digits and spaces are
// those of all of Unicode, capitals and small letters those of ASCII.
const (
	isWord     = 1 << iota // letter, number or underscore
	isJoin                 // word character, apostrophe or hyphen
	isSpace                // white space
	isUpper                // A-Z
	isLower                // a-z
	isDigit                // decimal digit
	isBox                  // may start a box: p or b
	isRelation             // may start a relation word
)

// scanner holds one text with what makes every step of the grammar constant
// time: where the run of joined characters, and of spaces, at each place ends.
// All runs in the grammar are followed by something that they cannot contain,
// so the longest run is the only one to try.
type scanner struct {
	grammar  Grammar
	vocab    *vocabulary
	runes    []rune
	class    []uint8
	joinEnd  []int32
	spaceEnd []int32
}

// spare scanners keep their tables; a list of records parses many short texts.
var spare = sync.Pool{New: func() any { return new(scanner) }}

// spareLimit, in characters, keeps the tables of huge texts from staying.
const spareLimit = 1 << 14

// release gives a scanner back; what it read must not be used afterwards.
func (sc *scanner) release() {
	if cap(sc.runes) <= spareLimit {
		spare.Put(sc)
	}
}

func newScanner(s string, g Grammar) *scanner {
	sc := spare.Get().(*scanner)
	sc.grammar, sc.vocab = g, vocab()
	sc.runes = sc.runes[:0]
	for _, r := range s {
		sc.runes = append(sc.runes, r)
	}
	runes, n := sc.runes, len(sc.runes)
	if cap(sc.class) <= n {
		room := n + n/2 + 64
		sc.class = make([]uint8, room)
		sc.joinEnd, sc.spaceEnd = make([]int32, room), make([]int32, room)
	}
	sc.class, sc.joinEnd, sc.spaceEnd = sc.class[:n+1], sc.joinEnd[:n+1], sc.spaceEnd[:n+1]
	sc.class[n] = 0
	sc.joinEnd[n], sc.spaceEnd[n] = int32(n), int32(n)
	for i := n - 1; i >= 0; i-- {
		c := uint8(0)
		if r := runes[i]; r < 0x80 {
			c = sc.vocab.ascii[r]
		} else {
			c = classify(r)
			if sc.vocab.prepStart[r] {
				c |= isRelation
			}
		}
		sc.class[i] = c
		sc.joinEnd[i], sc.spaceEnd[i] = int32(i), int32(i)
		if c&isJoin != 0 {
			sc.joinEnd[i] = sc.joinEnd[i+1]
			if i+1 == n || sc.class[i+1]&isJoin == 0 {
				sc.joinEnd[i] = int32(i + 1)
			}
		}
		if c&isSpace != 0 {
			sc.spaceEnd[i] = sc.spaceEnd[i+1]
			if i+1 == n || sc.class[i+1]&isSpace == 0 {
				sc.spaceEnd[i] = int32(i + 1)
			}
		}
	}
	return sc
}

func classify(r rune) uint8 {
	switch {
	case r >= 'a' && r <= 'z':
		return isWord | isJoin | isLower
	case r >= 'A' && r <= 'Z':
		return isWord | isJoin | isUpper
	case r >= '0' && r <= '9':
		return isWord | isJoin | isDigit
	case r == '_':
		return isWord | isJoin
	case r == '\'' || r == '-':
		return isJoin
	case text.IsSpace(r):
		return isSpace
	case r < 0x80:
		return 0
	case unicode.Is(unicode.Nd, r):
		return isWord | isJoin | isDigit
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return isWord | isJoin
	}
	return 0
}

func (sc *scanner) is(i int, class uint8) bool { return sc.class[i]&class != 0 }

// boundary reports whether exactly one side of place i is a word character.
func (sc *scanner) boundary(i int) bool {
	return (i > 0 && sc.is(i-1, isWord)) != sc.is(i, isWord)
}

// spaces returns the end of one or more spaces at i, -1 when there are none.
func (sc *scanner) spaces(i int) int {
	if sc.is(i, isSpace) {
		return int(sc.spaceEnd[i])
	}
	return -1
}

// capital returns the end of a capitalised word of at least two characters.
func (sc *scanner) capital(i int) int {
	if end := int(sc.joinEnd[i]); sc.is(i, isUpper) && end >= i+2 {
		return end
	}
	return -1
}

// segmentWord is capital with at most 26 characters: longer runs are cut.
func (sc *scanner) segmentWord(i int) int {
	end := sc.capital(i)
	return min(end, i+26)
}

func (sc *scanner) literal(i int, word []rune) int {
	if i+len(word) > len(sc.runes) {
		return -1
	}
	for k, r := range word {
		if sc.runes[i+k] != r {
			return -1
		}
	}
	return i + len(word)
}

func (sc *scanner) literalText(i int, word string) int {
	if i+len(word) > len(sc.runes) {
		return -1
	}
	for k := range len(word) {
		if sc.runes[i+k] != rune(word[k]) {
			return -1
		}
	}
	return i + len(word)
}

func (sc *scanner) digits(i, most int) int {
	for most > 0 && sc.is(i, isDigit) {
		i++
		most--
	}
	return i
}

func (sc *scanner) text(from, to int) string { return string(sc.runes[from:to]) }

// comma returns the place after optional spaces, a comma and optional spaces.
func (sc *scanner) comma(i int) int {
	i = int(sc.spaceEnd[i])
	if i >= len(sc.runes) || sc.runes[i] != ',' {
		return -1
	}
	return int(sc.spaceEnd[i+1])
}
