package detect

import (
	"strings"
	"unicode/utf8"
)

// landmarkBefore finds the landmark that leads up to p: nothing but white
// space and a comma stand between.
func (x *lexed) landmarkBefore(p, floor int) (vspan, bool) {
	lo := max(x.back(p, landmarkReach), floor)
	x.work += p - lo
	for i := x.atomFrom(lo); i < len(x.atoms) && int(x.atoms[i].s) < p; i++ {
		if e := x.landmarkEnd(i, p); e > 0 && strings.Trim(x.s[e:p], " ,\t\n\r") == "" {
			return vspan{int(x.atoms[i].s), e}, true
		}
	}
	return vspan{}, false
}

// landmarks finds places described by what they are near.
func (x *lexed) landmarks() []addrMatch {
	var out []addrMatch
	end := 0
	for _, m := range x.marked {
		i, a := int(m), x.atoms[m]
		if int(a.s) < end || !x.has(a, rRelation) {
			continue
		}
		e := x.landmarkEnd(i, len(x.s))
		if e < 0 {
			continue
		}
		m := addrMatch{s: int(a.s), anchor: vspan{int(a.s), e}, tail: e, e: x.tailEnd(e)}
		end = m.e
		p := x.parts(m)
		if x.holdsNoun(m.anchor) || p.City != "" || p.Neighborhood != "" || p.PostalCode != "" {
			out = append(out, m)
		}
	}
	return out
}

// landmarkEnd returns the end of the landmark whose relation begins with atom
// i, not past limit; -1 when there is none.
func (x *lexed) landmarkEnd(i, limit int) int {
	a := x.atoms[i]
	if !x.has(a, rRelation) || x.wordBefore(int(a.s)) {
		return -1
	}
	for _, rel := range x.voc.entries[a.ent].relations {
		x.work++
		e := int(a.s) + len(rel)
		if e > limit || x.s[a.s:e] != rel {
			continue
		}
		p := x.skipSpace(e)
		if p == e || p >= limit {
			continue
		}
		for _, art := range addressWords().articles {
			if strings.HasPrefix(x.s[p:], art) {
				if q := x.skipSpace(p + len(art)); q > p+len(art) && q < limit {
					if e := x.landmarkNoun(q, limit); e > 0 {
						return e
					}
				}
			}
		}
		if e := x.landmarkNoun(p, limit); e > 0 {
			return e
		}
	}
	return -1
}

// landmarkNoun reads a name and up to five words, or up to three small words
// and a known noun.
func (x *lexed) landmarkNoun(p, limit int) int {
	if is(x.s[p], cUpper) {
		e := min(x.joinEnd(p), limit)
		if utf8.RuneCountInString(x.s[p:e]) < 2 {
			return -1
		}
		for range 5 {
			q := x.skipSpace(e)
			n := x.joinEnd(min(q, limit))
			if q == e || n == q || n > limit {
				break
			}
			e = n
		}
		return e
	}
	if !is(x.s[p], cLower) && x.s[p] < utf8.RuneSelf {
		return -1
	}
	starts := [4]int{p}
	n := 0
	for n < 3 {
		q := starts[n]
		for q < limit && (is(x.s[q], cLower) || q > starts[n] && (x.s[q] == '\'' || x.s[q] == '-')) {
			q++
		}
		next := x.skipSpace(q)
		if q == starts[n] || next == q || next >= limit {
			break
		}
		n++
		starts[n] = next
	}
	for ; n >= 0; n-- {
		for _, noun := range addressWords().nounsBy[x.s[starts[n]]] {
			e := starts[n] + len(noun)
			if e > limit || !strings.HasPrefix(x.s[starts[n]:], noun) || x.wordAt(e) {
				continue
			}
			if q := x.skipSpace(e); q == e || q >= len(x.s) || !is(x.s[q], cLower) {
				return e
			}
		}
	}
	return -1
}

func (x *lexed) holdsNoun(a vspan) bool {
	s := strings.ToLower(x.s[a.s:a.e])
	for _, n := range addressWords().nouns {
		if strings.Contains(s, n) {
			return true
		}
	}
	return false
}
