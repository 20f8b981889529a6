package detect

import (
	"slices"
	"strings"
	"sync"

	"github.com/arche-ledger/arche/packs"
)

const (
	catCard    = "PII-5-CARD"
	catAccount = "PII-5-BANK_ACCOUNT"
	cardConf   = 0.95
	ibanConf   = 0.95
	maxCard    = 19
	minCard    = 12
)

var cardCues = sync.OnceValue(func() *cues { return compileCues(packs.CardCues()) })

// cardGroups are the ways a card number is written in groups.
var cardGroups = [][]int{{4, 4, 4, 4, 3}, {4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}, {4, 4, 4, 1}, {6, 13}, {8, 8}}

// cards finds payment cards: a scheme's first digits, a length of that scheme
// and the check digit must agree.
func (x *lexed) cards() []found {
	var out []found
	next := 0
	for _, n := range x.nums {
		i, a := int(n), x.atoms[n]
		if i < next || a.len() < 4 || x.alnumBefore(int(a.s)) || x.fraction(int(a.s)) {
			continue
		}
		if last := x.cardFrom(i); last >= i {
			s, e := int(a.s), int(x.atoms[last].e)
			out = append(out, found{s: s, e: e, category: catCard, conf: cardConf, canonical: bare(x.s[s:e])})
			next = last + 1
		}
	}
	return out
}

// fraction tells whether the digits at s follow a decimal sign.
func (x *lexed) fraction(s int) bool {
	return s > 1 && (x.s[s-1] == '.' || x.s[s-1] == ',') && is(x.s[s-2], cDigit)
}

// cardFrom returns the last atom of the card number that begins with atom i,
// or -1.
func (x *lexed) cardFrom(i int) int {
	if n := x.atoms[i].len(); n >= minCard {
		if n <= maxCard && x.isCard(i, i) {
			return i
		}
		return -1
	}
	for _, groups := range cardGroups {
		if last := x.grouped(i, groups); last > i && x.isCard(i, last) {
			return last
		}
	}
	return -1
}

// grouped returns the last of the atoms from i on that have the lengths of
// groups, joined by one kind of single separator; -1 when they have not.
func (x *lexed) grouped(i int, groups []int) int {
	for k, n := range groups {
		if i+k >= len(x.atoms) || x.atoms[i+k].kind != aDigits || x.atoms[i+k].len() != n {
			return -1
		}
		if k == 0 {
			continue
		}
		e, s := int(x.atoms[i+k-1].e), int(x.atoms[i+k].s)
		if !x.oneSpace(e, s) && x.s[e:s] != "-" || x.s[e] != x.s[x.atoms[i].e] {
			return -1
		}
	}
	return i + len(groups) - 1
}

func (x *lexed) isCard(i, last int) bool {
	s, e := int(x.atoms[i].s), int(x.atoms[last].e)
	if x.alnumAt(e) || e+1 < len(x.s) && x.s[e] == '.' && is(x.s[e+1], cDigit) {
		return false
	}
	d := bare(x.s[s:e])
	if !luhn(d) || repeated(d) {
		return false
	}
	cue := cardCues().before(x.view, s, 16)
	if !cue && (last == i && x.counted(s) || x.insideURL(s)) {
		return false
	}
	for _, r := range packs.CardRanges() {
		if p := d[:len(r.From)]; p >= r.From && p <= r.To && slices.Contains(r.Lengths, len(d)) && (cue || !r.Cue) {
			return true
		}
	}
	return false
}

// ibans finds international bank account numbers: a country, its length, and
// the check digits must agree. Single spaces and hyphens may stand between.
func (x *lexed) ibans() []found {
	var out []found
	end := 0
	for _, s32 := range x.runStarts() {
		s := int(s32)
		if s < end || s+4 > len(x.s) || !is(x.s[s], cLetter) || !is(x.s[s+1], cLetter) || !is(x.s[s+2], cDigit) || !is(x.s[s+3], cDigit) {
			continue
		}
		n := packs.IBANLengths()[strings.ToUpper(x.s[s:s+2])]
		if n == 0 {
			continue
		}
		e, value := x.collect(s, n)
		if e < 0 || x.alnumAt(e) || mod97(value[4:]+value[:4]) != 1 {
			continue
		}
		out = append(out, found{s: s, e: e, category: catAccount, conf: ibanConf, canonical: value})
		end = e
	}
	return out
}

// collect reads n letters and digits from s on, over single separators, and
// returns where they end with the characters in upper case.
func (x *lexed) collect(s, n int) (int, string) {
	b := make([]byte, 0, n)
	p := s
	for len(b) < n {
		if p >= len(x.s) {
			return -1, ""
		}
		if c := x.s[p]; is(c, cAlnum) {
			b = append(b, c&^(0x20*(c>>6&1)))
			p++
			continue
		}
		k := x.spaceAt(p)
		if x.s[p] == '-' {
			k = 1
		}
		if k == 0 || x.s[p] == '\n' || !x.alnumAt(p+k) {
			return -1, ""
		}
		p += k
	}
	return p, string(b)
}

const urlReach = 200 // characters before a number in which its URL may begin

// insideURL tells whether p lies in a web address.
func (x *lexed) insideURL(p int) bool {
	lo := p
	for lo > 0 && p-lo < urlReach && !is(x.s[lo-1], cSpace) {
		lo--
	}
	x.work += p - lo
	return strings.Contains(x.s[lo:p], "://") || strings.HasPrefix(x.s[lo:p], "www.")
}
