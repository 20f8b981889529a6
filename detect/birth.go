package detect

import (
	"sync"

	"github.com/arche-ledger/arche/packs"
)

const (
	catBirth  = "PII-1-DOB"
	birthConf = 0.85
	birthGap  = 24 // characters between a cue and the date
)

var birthCues = sync.OnceValue(func() *cues { return compileCues(packs.DetectBirthWords().Cues) })

// births finds dates that a cue says are dates of birth.
func (x *lexed) births() []found {
	var out []found
	next, n, m := 0, 0, 0
	for n < len(x.nums) || m < len(x.marked) { // digits and marked words in order
		var i int
		if m == len(x.marked) || n < len(x.nums) && x.nums[n] < x.marked[m] {
			i = int(x.nums[n])
			n++
		} else {
			i = int(x.marked[m])
			m++
		}
		if i < next {
			continue
		}
		last := x.dateFrom(i)
		if last < 0 {
			continue
		}
		s, e := int(x.atoms[i].s), int(x.atoms[last].e)
		if x.birthCue(s, e) {
			out = append(out, found{s: s, e: e, category: catBirth, conf: birthConf})
			next = last + 1
		}
	}
	return out
}

// birthCue looks before the date, on the line before when nothing stands
// between, and right after it.
func (x *lexed) birthCue(s, e int) bool {
	c := birthCues()
	if c.before(x.view, s, birthGap) {
		return true
	}
	p := s
	for p > 0 && s-p < 4 && (is(x.s[p-1], cSpace) || x.s[p-1] == ':') {
		p--
	}
	return p < s && c.before(x.view, p, -1) || c.after(x.view, e, 3)
}

// dateFrom returns the last atom of the date that begins with atom i, or -1.
func (x *lexed) dateFrom(i int) int {
	a := x.atoms[i]
	if a.kind == aDigits {
		if a.len() > 4 && a.len() != 8 || x.wordBefore(int(a.s)) || x.fraction(int(a.s)) {
			return -1
		}
		if a.len() == 8 {
			if d := x.str(a); !x.wordAt(int(a.e)) && year(d[:4]) && monthDay(d[4:6], d[6:]) {
				return i
			}
			return -1
		}
		if k := x.numericDate(i); k > 0 {
			return k
		}
		return x.dayFirst(i)
	}
	if x.has(a, rMonth) && !x.wordBefore(int(a.s)) {
		return x.monthFirst(i)
	}
	return -1
}

func year(s string) bool { return between(s, 1870, 2099) }

// numericDate reads three numbers with one separator between.
func (x *lexed) numericDate(i int) int {
	if i+2 >= len(x.atoms) {
		return -1
	}
	a, b, c := x.atoms[i], x.atoms[i+1], x.atoms[i+2]
	if b.kind != aDigits || c.kind != aDigits || b.s != a.e+1 || c.s != b.e+1 || b.len() > 2 || x.wordAt(int(c.e)) {
		return -1
	}
	sep := x.s[a.e]
	if sep != '/' && sep != '-' && sep != '.' && sep != ' ' || x.s[b.e] != sep {
		return -1
	}
	p, q, r := x.str(a), x.str(b), x.str(c)
	switch {
	case len(p) == 4 && len(r) <= 2 && year(p) && monthDay(q, r),
		len(p) <= 2 && len(r) == 4 && year(r) && (monthDay(p, q) || monthDay(q, p)),
		len(p) <= 2 && len(r) == 2 && sep != ' ' && (monthDay(p, q) || monthDay(q, p)):
		return i + 2
	}
	return -1
}

// dayFirst reads "14 March 1985", "14th of March, 1985", "14. März 1985".
func (x *lexed) dayFirst(i int) int {
	if x.atoms[i].len() > 2 || !between(x.str(x.atoms[i]), 1, 31) {
		return -1
	}
	k := i + 1
	for ; k < len(x.atoms) && k < i+4; k++ {
		if gap := x.atoms[k].s - x.atoms[k-1].e; gap > 2 || x.atoms[k].kind == aDigits {
			return -1
		}
		if x.has(x.atoms[k], rMonth) {
			return x.yearAfter(k)
		}
		if x.atoms[k].len() > 3 { // th, of, de
			return -1
		}
	}
	return -1
}

// monthFirst reads "March 14, 1985".
func (x *lexed) monthFirst(i int) int {
	if i+1 >= len(x.atoms) {
		return -1
	}
	d := x.atoms[i+1]
	if d.kind != aDigits || d.len() > 2 || d.s-x.atoms[i].e > 2 || !between(x.str(d), 1, 31) {
		return -1
	}
	k := i + 1
	if k+1 < len(x.atoms) && x.atoms[k+1].s == d.e && x.atoms[k+1].len() == 2 { // 14th
		k++
	}
	return x.yearAfter(k)
}

// yearAfter returns the atom of the year after atom k; "de" may stand between.
func (x *lexed) yearAfter(k int) int {
	for n := k + 1; n < len(x.atoms) && n <= k+2; n++ {
		a := x.atoms[n]
		if a.s-x.atoms[n-1].e > 2 || x.wordAt(int(a.e)) && a.kind == aDigits {
			return -1
		}
		if a.kind == aDigits {
			if a.len() == 4 && year(x.str(a)) {
				return n
			}
			return -1
		}
		if a.len() > 3 {
			return -1
		}
	}
	return -1
}
