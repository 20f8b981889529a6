package detect

import (
	"strings"
)

// The looser patterns of detect_entities: any phone, any e-mail address, web
// addresses, book numbers and dates.

var anyPhoneShapes = mustShapes("[+]?d{1,3}[ -]?[(]?d{2,4}[)]?[ -]?d{3,4}[ -]?d{3,4}", "[(]?d{2,4}[)]?[ -]?d{3,4}[ -]?d{3,4}")

// anyPhones finds eight to fourteen digits in the groups of a phone number.
func (x *lexed) anyPhones() []entity {
	var out []entity
	end := 0
	free := func(e int) bool { return !x.digitAt(e) }
	for _, a := range x.atoms {
		if a.kind != aDigits || int(a.s) < end {
			continue
		}
		starts := []int{int(a.s)}
		if p := int(a.s) - 1; p >= end && (x.s[p] == '+' || x.s[p] == '(') {
			starts = []int{p, int(a.s)}
		}
		if e, s := x.firstShape(anyPhoneShapes, starts, free); e > 0 {
			out = append(out, entity{s, e, "PHONE", 0.7, "regex"})
			end = e
		}
	}
	return out
}

// firstShape tries shapes in order at each start in order.
func (x *lexed) firstShape(shapes []shape, starts []int, accept func(int) bool) (e, s int) {
	for _, s := range starts {
		if x.digitBefore(s) {
			continue
		}
		for _, sh := range shapes {
			if e := sh.match(x.view, s, accept); e > 0 {
				return e, s
			}
		}
	}
	return -1, -1
}

func looseLocal(b byte) bool { return is(b, cWord) || strings.IndexByte(".%+-", b) >= 0 }

// anyEmails is looser than the detector of detect_pii.
func (x *lexed) anyEmails() []entity {
	var out []entity
	end := 0
	for _, at := range x.ats {
		p := int(at)
		if p < end {
			continue
		}
		s := -1
		for i := p; i > end && looseLocal(x.s[i-1]); i-- {
			x.work++
			if x.boundary(i - 1) {
				s = i - 1
			}
		}
		if s < 0 {
			continue
		}
		hi := p + 1
		for hi < len(x.s) && (is(x.s[hi], cAlnum) || x.s[hi] == '.' || x.s[hi] == '-') {
			hi++
		}
		x.work += hi - p
		for dot := hi - 1; dot > p+1; dot-- {
			if x.s[dot] != '.' {
				continue
			}
			e := dot + 1
			for e < hi && is(x.s[e], cLetter) {
				e++
			}
			if e-dot > 2 && !x.wordAt(e) {
				out = append(out, entity{s, e, "EMAIL", emailConf, "regex"})
				end = e
				break
			}
		}
	}
	return out
}

// urls finds web addresses: up to white space, an angle bracket or a quote.
func (x *lexed) urls() []entity {
	var out []entity
	for p := 0; p < len(x.s); {
		i := strings.IndexAny(x.s[p:], ":.")
		if i < 0 {
			break
		}
		q := p + i
		s := -1
		switch {
		case x.s[q] == '.' && q-3 >= p && x.s[q-3:q] == "www":
			s, q = q-3, q+1
		case strings.HasPrefix(x.s[q:], "://") && q-5 >= p && x.s[q-5:q] == "https":
			s, q = q-5, q+3
		case strings.HasPrefix(x.s[q:], "://") && q-4 >= p && x.s[q-4:q] == "http":
			s, q = q-4, q+3
		}
		if s < 0 {
			p = q + 1
			continue
		}
		e := q
		for e < len(x.s) && strings.IndexByte("<>\"'", x.s[e]) < 0 {
			n := x.spaceAt(e)
			if n > 0 {
				break
			}
			e++
		}
		if e > q {
			out = append(out, entity{s, e, "URL", 0.95, "regex"})
			p = e
			continue
		}
		p = q
	}
	return out
}

var (
	isbn13 = mustShapes("'978'[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d", "'979'[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d")
	isbn10 = mustShapes("d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?d[ -]?[0-9X]")
)

// isbns finds book numbers: thirteen digits anywhere, ten after the word ISBN.
func (x *lexed) isbns() []entity {
	var out []entity
	end := 0
	edge := func(e int) bool { return !x.wordAt(e) }
	for i, a := range x.atoms {
		if int(a.s) < end {
			continue
		}
		s, e := -1, -1
		switch {
		case a.kind == aLetters && a.len() == 4 && strings.EqualFold(x.str(a), "isbn") && !x.wordBefore(int(a.s)):
			p := int(a.e)
			for n := 0; p < len(x.s) && n < 8; n++ {
				if k := x.spaceAt(p); k > 0 {
					p += k
				} else if x.s[p] == '-' || x.s[p] == ':' {
					p++
				} else {
					break
				}
			}
			s = int(a.s)
			if e, _ = x.firstShape(isbn13, []int{p}, edge); e < 0 {
				e, _ = x.firstShape(isbn10, []int{p}, edge)
			}
		case a.kind == aDigits && !x.wordBefore(int(a.s)):
			s = int(a.s)
			e, _ = x.firstShape(isbn13, []int{s}, edge)
		}
		if e < 0 {
			continue
		}
		end = e
		from := s
		if x.atoms[i].kind == aLetters {
			from += 4
		}
		if isbnValid(bare(x.s[from:e])) {
			out = append(out, entity{s, e, "ISBN", 0.95, "regex"})
		}
	}
	return out
}

func isbnValid(s string) bool {
	if len(s) == 13 {
		return weightedSum(s, "1313131313131")%10 == 0
	}
	if len(s) != 10 {
		return false
	}
	sum := 0
	for i := range 10 {
		d := int(s[i] - '0')
		if s[i] == 'X' {
			d = 10
		}
		sum += d * (10 - i)
	}
	return sum%11 == 0
}

var monthNames = set("january february march april may june july august september october november december jan feb mar apr jun jul aug sep oct nov dec")

// dates finds the four forms of dates, one list a form.
func (x *lexed) dates() [4][]entity {
	var out [4][]entity
	var ends [4]int
	for i, a := range x.atoms {
		for form, read := range [...]func(int) int{x.dmy, x.ymd, x.monthDayYear, x.dayMonthYear} {
			if int(a.s) < ends[form] || x.wordBefore(int(a.s)) {
				continue
			}
			if e := read(i); e > 0 {
				out[form] = append(out[form], entity{int(a.s), e, "DATE", 0.8, "regex"})
				ends[form] = e
			}
		}
	}
	return out
}

// three returns three digit atoms from i on, joined by / or -.
func (x *lexed) three(i int) (a, b, c atom, ok bool) {
	if i+2 >= len(x.atoms) {
		return
	}
	a, b, c = x.atoms[i], x.atoms[i+1], x.atoms[i+2]
	ok = a.kind == aDigits && b.kind == aDigits && c.kind == aDigits && b.s == a.e+1 && c.s == b.e+1 &&
		strings.IndexByte("/-", x.s[a.e]) >= 0 && strings.IndexByte("/-", x.s[b.e]) >= 0 && !x.wordAt(int(c.e))
	return
}

func (x *lexed) dmy(i int) int {
	a, b, c, ok := x.three(i)
	if !ok || a.len() > 2 || b.len() > 2 || c.len() != 4 || !dayMonth(x.str(a), x.str(b)) || !century(x.str(c)) {
		return -1
	}
	return int(c.e)
}

func (x *lexed) ymd(i int) int {
	a, b, c, ok := x.three(i)
	if !ok || a.len() != 4 || b.len() > 2 || c.len() > 2 || !century(x.str(a)) || !monthDay(x.str(b), x.str(c)) {
		return -1
	}
	return int(c.e)
}

func century(s string) bool { return s[:2] == "19" || s[:2] == "20" }

func (x *lexed) monthDayYear(i int) int {
	if !x.month(i) || i+1 >= len(x.atoms) {
		return -1
	}
	d := x.atoms[i+1]
	if !x.number(d, 2) || x.skipSpace(int(x.atoms[i].e)) != int(d.s) || d.s == x.atoms[i].e {
		return -1
	}
	e := int(d.e)
	p := e
	if p < len(x.s) && x.s[p] == ',' {
		p++
	}
	return x.optionalYear(i+2, p, e)
}

func (x *lexed) dayMonthYear(i int) int {
	a := x.atoms[i]
	if a.kind != aDigits || a.len() > 2 || i+1 >= len(x.atoms) || !x.month(i+1) {
		return -1
	}
	m := x.atoms[i+1]
	if x.skipSpace(int(a.e)) != int(m.s) || a.e == m.s {
		return -1
	}
	return x.optionalYear(i+2, int(m.e), int(m.e))
}

// optionalYear returns the end of a year after white space from p on, when
// atom k is one; otherwise e.
func (x *lexed) optionalYear(k, p, e int) int {
	if k >= len(x.atoms) {
		return e
	}
	y := x.atoms[k]
	if q := x.skipSpace(p); q > p && q == int(y.s) && y.kind == aDigits && y.len() == 4 && !x.wordAt(int(y.e)) {
		return int(y.e)
	}
	return e
}

func (x *lexed) month(i int) bool {
	a := x.atoms[i]
	return a.kind == aLetters && a.len() <= 9 && !x.wordAt(int(a.e)) && monthNames[strings.ToLower(x.str(a))]
}

// number tells whether an atom is up to n digits that stand alone.
func (x *lexed) number(a atom, n int) bool {
	return a.kind == aDigits && a.len() <= n && !x.wordAt(int(a.e))
}
