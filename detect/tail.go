package detect

import "unicode/utf8"

// The parts of an address after the street, box or landmark.

// spaceBack returns where the white space before p begins.
func (x *lexed) spaceBack(p, floor int) int {
	for p > floor {
		if b := x.s[p-1]; b < utf8.RuneSelf {
			if class[b]&cSpace == 0 {
				break
			}
			p--
			continue
		}
		q := x.back(p, 1)
		if x.spaceAt(q) == 0 {
			break
		}
		p = q
	}
	return p
}

// joined characters make up the words of addresses: word characters,
// apostrophes and hyphens.
func (x *lexed) joinBack(p, floor int) int {
	q := p
	for p > floor {
		if b := x.s[p-1]; b < utf8.RuneSelf {
			if class[b]&cWord == 0 && b != '\'' && b != '-' {
				break
			}
			p--
			continue
		}
		if r := x.runeBefore(p); !isWordRune(r) && !isMark(r) {
			break
		}
		p = x.back(p, 1)
	}
	x.work += q - p
	return p
}

func (x *lexed) joinEnd(p int) int {
	q := p
	for p < len(x.s) {
		if b := x.s[p]; b < utf8.RuneSelf {
			if class[b]&cWord == 0 && b != '\'' && b != '-' {
				break
			}
			p++
			continue
		}
		r, n := utf8.DecodeRuneInString(x.s[p:])
		if !isWordRune(r) && !isMark(r) {
			break
		}
		p += n
	}
	x.work += p - q
	return p
}

// comma returns where the part after a comma at p begins, or -1.
func (x *lexed) comma(p int) int {
	q := x.skipSpace(p)
	if q >= len(x.s) || x.s[q] != ',' {
		return -1
	}
	if q = x.skipSpace(q + 1); q >= len(x.s) {
		return -1
	}
	return q
}

// tailEnd reads up to four parts from p on and returns where they end.
func (x *lexed) tailEnd(p int) int {
	for range maxTail {
		q := x.comma(p)
		if q < 0 {
			break
		}
		e := x.part(q)
		if e < 0 {
			break
		}
		p = e
	}
	return p
}

// part reads one part: a town with a postcode, a postcode, a name, a postal
// number.
func (x *lexed) part(q int) int {
	if e := x.townPostcode(q); e > 0 {
		return e
	}
	if e := x.postcode(q); e > 0 {
		return e
	}
	if e := x.properWords(q); e > 0 {
		return x.zipAfter(e)
	}
	return x.digitsAt(q, 4, 6)
}

// zipAfter takes in an American postal code after the two capitals of a state
// that end at e.
func (x *lexed) zipAfter(e int) int {
	if e < 3 || !all(x.s[e-2:e], cUpper) || is(x.s[e-3], cWord) {
		return e
	}
	p := x.skipSpace(e)
	if p == e {
		return e
	}
	z := x.digitsAt(p, 5, 5)
	if z < 0 {
		return e
	}
	if z < len(x.s) && x.s[z] == '-' {
		if plus := x.digitsAt(z+1, 4, 4); plus > 0 {
			return plus
		}
	}
	return z
}

// digitsAt returns the end of lo to hi digits that stand alone at q, or -1.
func (x *lexed) digitsAt(q, lo, hi int) int {
	e := q
	for x.digitAt(e) && e-q <= hi {
		e++
	}
	if e-q < lo || e-q > hi || x.wordAt(e) {
		return -1
	}
	return e
}

// properWord returns the end of a capitalised word of two characters or more.
func (x *lexed) properWord(q int) int {
	if q >= len(x.s) || !is(x.s[q], cUpper) {
		return -1
	}
	e := x.joinEnd(q)
	if utf8.RuneCountInString(x.s[q:e]) < 2 {
		return -1
	}
	return e
}

var smallWords = []string{"es", "of", "the"}

// nextWord returns the end of the word after p on the same line: a capitalised
// one, or a small one that a capitalised one may follow.
func (x *lexed) nextWord(p int) (e int, small bool) {
	q := x.sameLine(p)
	if q == p {
		return -1, false
	}
	if e := x.properWord(q); e > 0 {
		return e, false
	}
	for _, w := range smallWords {
		if e := q + len(w); e <= len(x.s) && x.s[q:e] == w && !x.wordAt(e) {
			return e, true
		}
	}
	return -1, false
}

// sameLine skips white space that ends no line.
func (x *lexed) sameLine(p int) int {
	for n := x.spaceAt(p); n > 0 && x.s[p] != '\n' && x.s[p] != '\r'; n = x.spaceAt(p) {
		p += n
	}
	return p
}

// properWords reads a capitalised word and up to three more, with small words
// between; it ends with a capitalised one.
func (x *lexed) properWords(q int) int {
	e := x.properWord(q)
	if e < 0 {
		return -1
	}
	best := e
	for range 3 {
		n, small := x.nextWord(e)
		if n < 0 {
			break
		}
		if e = n; !small {
			best = e
		}
	}
	return best
}

// townPostcode reads up to four words and a postcode after them.
func (x *lexed) townPostcode(q int) int {
	e := x.properWord(q)
	for range 4 {
		if e < 0 {
			return -1
		}
		if p := x.skipSpace(e); p > e {
			if c := x.postcode(p); c > 0 {
				return c
			}
		}
		e, _ = x.nextWord(e)
	}
	return -1
}

// postcode returns the end of a British postcode at q, or -1.
func (x *lexed) postcode(q int) int {
	for _, sh := range postcodeShapes {
		if e := sh.match(x.view, q, func(e int) bool { return !x.wordAt(e) }); e > 0 {
			return e
		}
	}
	return -1
}

var postcodeShapes = mustShapes("'GIR'_'0AA'", "a{1,2}dx?_daa")

func mustShapes(list ...string) []shape {
	var out []shape
	for _, s := range list {
		sh, err := compileShape(s, true)
		if err != nil {
			panic("detect: " + err.Error())
		}
		out = append(out, sh)
	}
	return out
}
