package detect

import (
	"unicode"
	"unicode/utf8"
)

// atom is a maximal run of letters (with the marks on them) or of digits.
// Every scanner starts from the list of them, so that the text is read once.
type atom struct {
	s, e int32
	kind uint8  // aLetters or aDigits
	caps uint8  // letters: capFirst, capAll, nonASCII
	ent  int32  // letters: index of the vocabulary entry, 0 for none
	role uint32 // the entry's roles
}

const (
	aLetters = iota
	aDigits
)

const (
	capFirst = 1 << iota // the first character is upper case
	capAll               // every letter is upper case (ASCII only)
	nonASCII
)

func (a atom) len() int { return int(a.e - a.s) }

// lexed is a view with its atoms and the few positions scanners start from.
type lexed struct {
	*view
	voc   *vocabulary
	atoms []atom
	ats   []int32 // positions of '@'
	cols  []int32 // positions of ':'

	nums   []int32 // the digit atoms
	marked []int32 // the letter atoms with a role in rMarked
	starts []int32 // see runStarts
}

func lex(w *view) *lexed {
	x := &lexed{view: w, voc: words()}
	s := w.s
	x.atoms = make([]atom, 0, len(s)/5+8)
	for i := 0; i < len(s); {
		b := s[i]
		if b >= utf8.RuneSelf {
			i = x.lexRune(i)
			continue
		}
		switch c := class[b]; {
		case c&cLetter != 0:
			i = x.lexLetters(i)
		case c&cDigit != 0:
			j := i + 1
			for j < len(s) && class[s[j]]&cDigit != 0 {
				j++
			}
			x.nums = append(x.nums, int32(len(x.atoms)))
			x.atoms = append(x.atoms, atom{s: int32(i), e: int32(j), kind: aDigits})
			i = j
		default:
			switch b {
			case '@':
				x.ats = append(x.ats, int32(i))
			case ':':
				x.cols = append(x.cols, int32(i))
			}
			i++
		}
	}
	return x
}

// lexLetters reads a run that begins with an ASCII letter.
func (x *lexed) lexLetters(i int) int {
	s := x.s
	h := uint32(hashSeed)
	and := uint8(cUpper)
	j := i
	for j < len(s) {
		b := s[j]
		c := class[b]
		if c&cLetter == 0 {
			if b >= utf8.RuneSelf {
				if r, n := utf8.DecodeRuneInString(s[j:]); isLetterRune(r) || isMark(r) {
					return x.lexForeign(i, j+n)
				}
			}
			break
		}
		and &= c
		h = (h ^ uint32(b|0x20)) * hashPrime
		j++
	}
	a := atom{s: int32(i), e: int32(j), kind: aLetters}
	if class[s[i]]&cUpper != 0 {
		a.caps = capFirst
		if and != 0 {
			a.caps |= capAll
		}
	}
	if a.ent = x.voc.findASCII(h, s[i:j]); a.ent != 0 {
		x.mark(&a)
	}
	x.atoms = append(x.atoms, a)
	return j
}

// lexRune handles a character outside ASCII at i.
func (x *lexed) lexRune(i int) int {
	r, n := utf8.DecodeRuneInString(x.s[i:])
	if !isLetterRune(r) {
		return i + n
	}
	return x.lexForeign(i, i+n)
}

// lexForeign reads the rest of a letter run that is not all ASCII.
func (x *lexed) lexForeign(i, j int) int {
	for j < len(x.s) {
		r, n := utf8.DecodeRuneInString(x.s[j:])
		if !isLetterRune(r) && !isMark(r) {
			break
		}
		j += n
	}
	a := atom{s: int32(i), e: int32(j), kind: aLetters, caps: nonASCII}
	if r, _ := utf8.DecodeRuneInString(x.s[i:]); unicode.IsUpper(r) || unicode.IsTitle(r) {
		a.caps |= capFirst
	}
	a.ent = x.voc.findFolded(x.s[i:j])
	x.mark(&a)
	x.atoms = append(x.atoms, a)
	return j
}

func (x *lexed) mark(a *atom) {
	a.role = x.voc.entries[a.ent].roles
	if a.role&rMarked != 0 {
		x.marked = append(x.marked, int32(len(x.atoms)))
	}
}

// str returns the atom's text in the view.
func (x *lexed) str(a atom) string { return x.s[a.s:a.e] }

// wholeWord tells whether an atom has a word boundary on both sides.
func (x *lexed) wholeWord(a atom) bool {
	return !x.wordBefore(int(a.s)) && !x.wordAt(int(a.e))
}

// has tells whether the atom's vocabulary entry plays a role.
func (x *lexed) has(a atom, role uint32) bool {
	return a.role&role != 0
}

// atomFrom returns the index of the first atom that starts at or after p.
func (x *lexed) atomFrom(p int) int {
	lo, hi := 0, len(x.atoms)
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); int(x.atoms[m].s) < p {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}
