package detect

import (
	"fmt"
	"strconv"
	"strings"
)

// A shape describes an identifier in a few signs:
//
//	d digit   A capital   a letter   X capital or digit   x letter or digit
//	'..' literal   [..] one of   _ at most one white space   ~ at most one space, hyphen, dot or slash
//	? at most one   {n} {m,n} so many
//
// Matching is greedy with backtracking over at most a few dozen characters, so
// its cost at one place is bounded.
type shape []shapeItem

type shapeItem struct {
	set      [256]bool
	space    bool // white space of any script too
	min, max int
}

func compileShape(src string, anyCase bool) (shape, error) {
	var out shape
	for i := 0; i < len(src); {
		it := shapeItem{min: 1, max: 1}
		switch src[i] {
		case 'd':
			it.allow("0-9")
		case 'A':
			it.allow("A-Z")
		case 'a':
			it.allow("A-Za-z")
		case 'X':
			it.allow("A-Z0-9")
		case 'x':
			it.allow("A-Za-z0-9")
		case '_':
			it.space, it.min = true, 0
		case '~':
			it.space, it.min = true, 0
			it.allow("./-")
		case '[':
			j := strings.IndexByte(src[i:], ']')
			if j < 0 {
				return nil, fmt.Errorf("shape %q: [ without ]", src)
			}
			it.allow(src[i+1 : i+j])
			i += j
		case '\'':
			j := strings.IndexByte(src[i+1:], '\'')
			if j < 0 {
				return nil, fmt.Errorf("shape %q: quote without end", src)
			}
			for _, c := range []byte(src[i+1 : i+1+j]) {
				lit := shapeItem{min: 1, max: 1}
				lit.set[c] = true
				out = append(out, lit.cased(anyCase))
			}
			i += j + 2
			continue
		default:
			return nil, fmt.Errorf("shape %q: sign %q", src, src[i])
		}
		i++
		n, err := it.repeat(src[i:])
		if err != nil {
			return nil, fmt.Errorf("shape %q: %w", src, err)
		}
		i += n
		out = append(out, it.cased(anyCase))
	}
	return out, nil
}

// repeat reads a quantifier and returns its size.
func (it *shapeItem) repeat(s string) (int, error) {
	if strings.HasPrefix(s, "?") {
		it.min = 0
		return 1, nil
	}
	if !strings.HasPrefix(s, "{") {
		return 0, nil
	}
	body, _, ok := strings.Cut(s[1:], "}")
	if !ok {
		return 0, fmt.Errorf("{ without }")
	}
	lo, hi, ranged := strings.Cut(body, ",")
	if !ranged {
		hi = lo
	}
	var err1, err2 error
	it.min, err1 = strconv.Atoi(lo)
	it.max, err2 = strconv.Atoi(hi)
	if err1 != nil || err2 != nil || it.min > it.max || it.max > 40 {
		return 0, fmt.Errorf("quantifier {%s}", body)
	}
	return len(body) + 2, nil
}

func (it *shapeItem) allow(ranges string) {
	for i := 0; i < len(ranges); i++ {
		lo, hi := ranges[i], ranges[i]
		if i+2 < len(ranges) && ranges[i+1] == '-' {
			hi = ranges[i+2]
			i += 2
		}
		for c := int(lo); c <= int(hi); c++ {
			it.set[c] = true
		}
		it.space = it.space || lo == ' '
	}
}

func (it shapeItem) cased(anyCase bool) shapeItem {
	if anyCase {
		for c := 'a'; c <= 'z'; c++ {
			b := it.set[c] || it.set[c-32]
			it.set[c], it.set[c-32] = b, b
		}
	}
	return it
}

// match returns the end of the shape at p for which accept holds, or -1. w
// bounds the positions tried.
func (sh shape) match(w *view, p int, accept func(e int) bool) int {
	for len(sh) > 0 && sh[0].min == sh[0].max { // nothing to choose
		for range sh[0].min {
			if p = sh[0].step(w, p); p < 0 {
				return -1
			}
		}
		sh = sh[1:]
	}
	if len(sh) == 0 {
		if accept(p) {
			return p
		}
		return -1
	}
	it := &sh[0]
	var ends [41]int // positions after each repetition
	n := 0
	ends[0] = p
	for n < it.max {
		q := it.step(w, ends[n])
		if q < 0 {
			break
		}
		n++
		ends[n] = q
	}
	for ; n >= it.min; n-- {
		if e := sh[1:].match(w, ends[n], accept); e >= 0 {
			return e
		}
	}
	return -1
}

func (it *shapeItem) step(w *view, p int) int {
	w.work++
	if p >= len(w.s) {
		return -1
	}
	if it.set[w.s[p]] {
		return p + 1
	}
	if it.space {
		if n := w.spaceAt(p); n > 0 {
			return p + n
		}
	}
	return -1
}

// first tells which bytes the shape can begin with.
func (sh shape) first() (set [256]bool) {
	for _, it := range sh {
		for c := range set {
			set[c] = set[c] || it.set[c]
		}
		if it.min > 0 {
			break
		}
	}
	return set
}
