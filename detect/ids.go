package detect

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/arche-ledger/arche/packs"
)

// idPattern is a compiled pattern of a national identifier.
type idPattern struct {
	packs.IDPattern
	shapes  []shape
	lengths uint64 // bit n: the first digit run may have n digits (digit fence)
	cues    *cues
	check   func(string) bool
	bareIn  map[string]bool
	index   int // place among the patterns beyond the published ones
}

// idSet is an ordered list of patterns with the index its scan starts from.
type idSet struct {
	patterns []*idPattern
	byLen    [41][]int  // patterns fenced by digits, by length of a digit run
	byFirst  [256][]int // patterns fenced by letters and digits, by first byte
}

var compiledIDs = sync.OnceValue(func() map[string]*idPattern {
	out := map[string]*idPattern{}
	for _, src := range packs.DetectIDs().Patterns {
		out[src.Key] = compileID(src)
	}
	return out
})

// compileID panics on a pattern no test would let through: the tables are
// embedded.
func compileID(src packs.IDPattern) *idPattern {
	p := &idPattern{IDPattern: src, cues: compileCues(src.Cues), bareIn: map[string]bool{}}
	for _, s := range src.Shapes {
		sh, err := compileShape(s, src.AnyCase)
		if err != nil {
			panic(fmt.Sprintf("detect: pattern %s: %v", src.Key, err))
		}
		p.shapes = append(p.shapes, sh)
		p.lengths |= sh.leadingDigits()
	}
	if src.Check != "" {
		if p.check = checks[src.Check]; p.check == nil {
			panic(fmt.Sprintf("detect: pattern %s: no check %q", src.Key, src.Check))
		}
	}
	for _, c := range src.Bare {
		p.bareIn[c] = true
	}
	return p
}

// leadingDigits returns the lengths a digit run at the shape's start may have.
func (sh shape) leadingDigits() uint64 {
	lo, hi := 0, 0
	optional := false
	for i := range sh {
		it := &sh[i]
		if !it.digits() {
			if it.min > 0 {
				break
			}
			optional = true
			continue
		}
		if !optional {
			lo += it.min
		}
		hi += it.max
	}
	var m uint64
	for n := max(lo, 1); n <= min(hi, 40); n++ {
		m |= 1 << n
	}
	return m
}

// digits tells whether an item takes digits and no letters.
func (it *shapeItem) digits() bool {
	for c := 'A'; c <= 'Z'; c++ {
		if it.set[c] || it.set[c+32] {
			return false
		}
	}
	for c := '0'; c <= '9'; c++ {
		if it.set[c] {
			return true
		}
	}
	return false
}

func newIDSet(keys []string, all map[string]*idPattern) *idSet {
	set := &idSet{}
	for _, k := range keys {
		set.add(all[k])
	}
	return set
}

func (set *idSet) add(p *idPattern) {
	i := len(set.patterns)
	set.patterns = append(set.patterns, p)
	if p.Fence == "digit" {
		for m := p.lengths; m != 0; m &= m - 1 {
			n := bits.TrailingZeros64(m)
			set.byLen[n] = append(set.byLen[n], i)
		}
		return
	}
	var first [256]bool
	for _, sh := range p.shapes {
		f := sh.first()
		for c := range f {
			first[c] = first[c] || f[c]
		}
	}
	for c, ok := range first {
		if ok {
			set.byFirst[c] = append(set.byFirst[c], i)
		}
	}
}

// idHit is a match of one pattern.
type idHit struct {
	s, e  int
	p     *idPattern
	order int
	conf  float64
}

// runStarts returns the starts of the runs of ASCII letters and digits that an
// identifier can begin with.
func (x *lexed) runStarts() []int32 {
	if x.starts != nil {
		return x.starts
	}
	out := make([]int32, 0, len(x.atoms)/8+1)
	for _, a := range x.atoms {
		s, e := int(a.s), int(a.e)
		switch {
		case a.kind == aDigits:
			if !x.alnumBefore(s) {
				out = append(out, a.s)
			}
		case a.caps&nonASCII != 0:
			for q := s; q < e; q++ {
				if is(x.s[q], cAlnum) && !x.alnumBefore(q) {
					out = append(out, int32(q))
				}
			}
		case x.alnumBefore(s):
		case e < len(x.s) && is(x.s[e], cDigit):
			out = append(out, a.s)
		case a.len() <= 6 && e+1 < len(x.s):
			if b := x.s[e]; b == '-' || b == '/' {
				out = append(out, a.s)
			} else if n := x.spaceAt(e); n > 0 && x.digitAt(e+n) {
				out = append(out, a.s)
			}
		}
	}
	x.starts = out
	return out
}

// ids finds the identifiers of a set: of overlapping ones the earlier pattern
// wins.
func (x *lexed) ids(set *idSet, want func(*idPattern, int, int) (float64, bool)) []idHit {
	hits := make([][]idHit, len(set.patterns))
	ends := make([]int, len(set.patterns))
	for _, n := range x.nums {
		if a := x.atoms[n]; a.len() <= maxRun {
			for _, i := range set.byLen[a.len()] {
				x.tryID(set.patterns[i], i, int(a.s), hits, ends, want)
			}
		}
	}
	for _, s := range x.runStarts() {
		for _, i := range set.byFirst[x.s[s]] {
			x.tryID(set.patterns[i], i, int(s), hits, ends, want)
		}
	}
	return freeHits(hits)
}

const maxRun = 40 // digits of the longest run an identifier begins with

// freeHits merges the hits of patterns in order and sorts them by confidence,
// then pattern, then place.
func freeHits(hits [][]idHit) []idHit {
	var taken []idHit
	for _, h := range hits {
		taken = mergeFree(taken, h)
	}
	slices.SortFunc(taken, func(a, b idHit) int {
		return cmp.Or(cmp.Compare(b.conf, a.conf), cmp.Compare(a.order, b.order), cmp.Compare(a.s, b.s))
	})
	return taken
}

func (x *lexed) tryID(p *idPattern, order, s int, hits [][]idHit, ends []int, want func(*idPattern, int, int) (float64, bool)) {
	if s < ends[order] {
		return
	}
	e := x.matchID(p, s)
	if e < 0 {
		return
	}
	ends[order] = e
	if conf, ok := want(p, s, e); ok {
		hits[order] = append(hits[order], idHit{s, e, p, order, conf})
	}
}

// matchID returns the end of the first shape of a pattern that stands at s with
// its fence, or -1.
func (x *lexed) matchID(p *idPattern, s int) int {
	free := x.noAlnumAt
	if p.Fence == "digit" {
		free = x.noDigitAt
	}
	for _, sh := range p.shapes {
		if e := sh.match(x.view, s, free); e >= 0 {
			return e
		}
	}
	return -1
}

func (w *view) noAlnumAt(p int) bool { return !w.alnumAt(p) }
func (w *view) noDigitAt(p int) bool { return !w.digitAt(p) }

// mergeFree adds to a sorted list the hits of another that overlap none.
func mergeFree(taken, more []idHit) []idHit {
	if len(more) == 0 {
		return taken
	}
	out := make([]idHit, 0, len(taken)+len(more))
	i := 0
	for _, h := range more {
		for i < len(taken) && taken[i].e <= h.s {
			out = append(out, taken[i])
			i++
		}
		if i == len(taken) || taken[i].s >= h.e {
			out = append(out, h)
		}
	}
	return append(out, taken[i:]...)
}

// published decides a match of a published pattern.
func (x *lexed) published(p *idPattern, s, e int) (float64, bool) {
	if p.check != nil && !p.check(bare(x.s[s:e])) {
		return 0, false
	}
	if p.cues != nil && !p.cues.before(x.view, s, p.Gap) {
		return 0, false
	}
	if p.Shy && (x.counted(s) || x.insideDigest(s, e)) {
		return 0, false
	}
	return p.Confidence, true
}

// country runs one country's own pack.
func (x *lexed) country(pack string) []found {
	return idFound(x.ids(idSets()[pack], x.published))
}

// africa runs the shared African pack: a word of the identifier's country
// nearby raises the confidence.
func (x *lexed) africa(jurisdiction string) []found {
	tables := packs.DetectIDs()
	return idFound(x.ids(idSets()["africa"], func(p *idPattern, s, e int) (float64, bool) {
		conf, ok := x.published(p, s, e)
		if !ok {
			return 0, false
		}
		from, to := x.back(s, tables.Window), x.ahead(e, tables.Window)
		x.work += to - from
		near := strings.ToLower(x.s[from:to])
		for _, word := range tables.Context[p.Country] {
			if strings.Contains(near, word) {
				return min(conf+0.15, 1), true
			}
		}
		return conf, !(p.Epoch && jurisdiction == "" && x.s[s:e] > "1400000000000" && x.s[s:e] < "2000000000000")
	}))
}

var idSets = sync.OnceValue(func() map[string]*idSet {
	out := map[string]*idSet{}
	for pack, keys := range packs.DetectIDs().Orders {
		out[pack] = newIDSet(keys, compiledIDs())
	}
	return out
})

func idFound(hits []idHit) []found {
	out := make([]found, len(hits))
	for i, h := range hits {
		out[i] = found{s: h.s, e: h.e, category: h.p.Category, conf: h.conf}
	}
	return out
}
