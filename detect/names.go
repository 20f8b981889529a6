package detect

import (
	"strings"
	"unicode/utf8"
)

const (
	catName    = "PII-1-NAME"
	nameConf   = 0.7
	minNameLen = 3 // characters of the shortest word taken for a name
)

// nameToken is a run of letters joined by single apostrophes or hyphens.
type nameToken struct {
	s, e        int
	first, last int // atoms
}

// nameHit is a found name in the view.
type nameHit struct {
	s, e int
	conf float64
}

// joiner returns the size of a character that joins letters into one token.
func joiner(s string, p int) int {
	if p >= len(s) {
		return 0
	}
	if s[p] == '\'' || s[p] == '-' {
		return 1
	}
	if strings.HasPrefix(s[p:], "’") {
		return len("’")
	}
	return 0
}

// tokenAt returns the name token that begins with atom i; the atom before it
// is not part of one.
func (x *lexed) tokenAt(i int) nameToken {
	t := nameToken{s: int(x.atoms[i].s), first: i, last: i}
	for {
		e := int(x.atoms[t.last].e)
		n := joiner(x.s, e)
		if n == 0 || t.last+1 == len(x.atoms) {
			break
		}
		next := x.atoms[t.last+1]
		if next.kind != aLetters || int(next.s) != e+n {
			break
		}
		t.last++
		x.work++
	}
	t.e = int(x.atoms[t.last].e)
	return t
}

// groupNames finds spellings that are names in any case.
func (x *lexed) groupNames() []nameHit {
	var out []nameHit
	end := 0
	for _, m := range x.marked {
		i, a := int(m), x.atoms[m]
		if !x.has(a, rGroup) || int(a.s) < end || x.wordBefore(int(a.s)) {
			continue
		}
		for _, g := range x.voc.entries[a.ent].groups {
			e := x.matchFold(int(a.s), g)
			if e < 0 || x.wordAt(e) {
				continue
			}
			end = e
			if a.caps&capFirst != 0 || !x.ambiguousLower(i) {
				out = append(out, nameHit{s: int(a.s), e: e, conf: nameConf})
			}
			break
		}
	}
	return out
}

// ambiguousLower tells whether a lower-case spelling is a common noun here:
// one that ordinary words use ("jean jacket"), with no name beside it.
func (x *lexed) ambiguousLower(i int) bool {
	if !x.has(x.atoms[i], rLowerNoun) {
		return false
	}
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(x.atoms) && x.has(x.atoms[j], rName) && !x.has(x.atoms[j], rOrdinary) &&
			x.onlySpaceBetween(min(i, j), max(i, j)) {
			return false
		}
	}
	return true
}

func (x *lexed) onlySpaceBetween(i, j int) bool {
	p := x.skipSpace(int(x.atoms[i].e))
	return p == int(x.atoms[j].s) && p > int(x.atoms[i].e)
}

// lexiconNames finds the tokens whose normal form the lexicon holds.
func (x *lexed) lexiconNames() []nameHit {
	var out []nameHit
	for i := 0; i < len(x.atoms); i++ {
		if x.atoms[i].kind != aLetters {
			continue
		}
		t := x.tokenAt(i)
		i = t.last
		a := x.atoms[t.first]
		if a.caps&capFirst == 0 {
			continue
		}
		if t.first == t.last {
			if x.has(a, rName) && longEnough(x.str(a)) && !x.codeLetters(a) {
				out = append(out, nameHit{s: t.s, e: t.e, conf: nameConf})
			}
			continue
		}
		if h, ok := x.joinedName(t); ok {
			out = append(out, h)
		}
	}
	return out
}

// codeLetters tells whether a few capitals run on into digits: the letters of a
// number, not a name.
func (x *lexed) codeLetters(a atom) bool {
	return a.caps&capAll != 0 && a.len() <= 4 && (x.digitAt(int(a.e)) || x.digitBefore(int(a.s)))
}

func longEnough(s string) bool {
	return len(s) >= minNameLen && utf8.RuneCountInString(s) >= minNameLen
}

// joinedName decides a token of several parts: a known spelling, a possessive,
// or parts of which one is a name.
func (x *lexed) joinedName(t nameToken) (nameHit, bool) {
	whole := strings.ReplaceAll(x.s[t.s:t.e], "’", "'")
	if x.voc.rolesOf(whole)&rName != 0 {
		return nameHit{s: t.s, e: t.e, conf: nameConf}, true
	}
	last := t.last
	if s := x.str(x.atoms[last]); (s == "s" || s == "S") && x.s[x.atoms[last].s-1] != '-' {
		last-- // a possessive is no part of the name
	}
	known := false
	for i := t.first; i <= last; i++ {
		a := x.atoms[i]
		if a.caps&capFirst != 0 && x.has(a, rName) && longEnough(x.str(a)) && (last == t.first || !x.has(a, rOrdinary)) {
			known = true
		}
	}
	if !known && !x.elided(t, last) {
		return nameHit{}, false
	}
	return nameHit{s: t.s, e: int(x.atoms[last].e), conf: nameConf}, true
}

// elided recognises the family names that begin with a letter and an
// apostrophe: O'Brien, N'Diaye, D'Souza.
func (x *lexed) elided(t nameToken, last int) bool {
	if last != t.first+1 || x.atoms[t.first].len() != 1 || x.s[x.atoms[t.first].e] == '-' {
		return false
	}
	first, rest := x.str(x.atoms[t.first]), x.atoms[last]
	return strings.Contains("ODNM", first) && rest.caps&capFirst != 0 && longEnough(x.str(rest)) &&
		(first == "O" || !x.has(rest, rOrdinary))
}

// names returns the name hits sorted by start, none overlapping another.
func (x *lexed) names() []nameHit {
	groups, lex := x.groupNames(), x.lexiconNames()
	out := make([]nameHit, 0, len(groups)+len(lex))
	g := 0
	for _, h := range lex {
		for g < len(groups) && groups[g].e <= h.s {
			out = append(out, groups[g])
			g++
		}
		k := g
		for k < len(groups) && groups[k].s < h.e {
			k++
		}
		switch {
		case k == g:
			out = append(out, h)
		case k == g+1 && groups[g].s == h.s && groups[g].e >= h.e:
		case x.coveredByGroups(h, groups[g:k]):
		default: // a joined name of which the groups know a part
			if groups[g].s < h.s {
				h.s = groups[g].s
			}
			if groups[k-1].e > h.e {
				h.e = groups[k-1].e
			}
			out = append(out, h)
			g = k
		}
	}
	return append(out, groups[g:]...)
}

// coveredByGroups tells whether nothing but joiners of a token is left between
// the groups found in it.
func (x *lexed) coveredByGroups(h nameHit, groups []nameHit) bool {
	p := h.s
	for _, g := range groups {
		if g.s > p && strings.Trim(x.s[p:g.s], "'’-") != "" {
			return false
		}
		p = g.e
	}
	return p >= h.e || strings.Trim(x.s[p:h.e], "'’-") == ""
}
