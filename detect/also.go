package detect

import (
	"cmp"
	"slices"
	"sync"

	"github.com/arche-ledger/arche/packs"
)

// also finds what the published detectors cannot: cards, bank accounts, dates
// of birth, passports and the identifiers of other countries. Sorted by start,
// none overlapping another.
func (x *lexed) also(jurisdiction string) []found {
	var out []found
	for _, list := range [][]found{x.cards(), x.ibans(), x.births(), x.worldIDs(jurisdiction)} {
		out = joinFree(out, list)
	}
	return out
}

// joinFree merges into a sorted list those of another that overlap none of it.
func joinFree(out, more []found) []found {
	slices.SortStableFunc(more, func(a, b found) int { return cmp.Compare(a.s, b.s) })
	merged := make([]found, 0, len(out)+len(more))
	i := 0
	for _, f := range more {
		for i < len(out) && out[i].e <= f.s {
			merged = append(merged, out[i])
			i++
		}
		if (i == len(out) || out[i].s >= f.e) && (len(merged) == 0 || merged[len(merged)-1].e <= f.s) {
			merged = append(merged, f)
		}
	}
	return append(merged, out[i:]...)
}

// worldSet are the identifier patterns beyond the published ones. local holds
// those of each jurisdiction that count there without a cue.
type worldSet struct {
	*idSet
	bare  map[*idPattern][]shape
	local map[string]mask
	cued  map[int32]mask // by vocabulary entry of a cue's first word
}

var world = sync.OnceValue(func() worldSet {
	w := worldSet{&idSet{}, map[*idPattern][]shape{}, map[string]mask{}, map[int32]mask{}}
	for _, src := range packs.WorldIDs() {
		p := compileID(src)
		p.index = len(w.patterns)
		w.add(p)
		for _, s := range src.BareShape {
			sh, err := compileShape(s, false)
			if err != nil {
				panic("detect: pattern " + src.Key + ": " + err.Error())
			}
			w.bare[p] = append(w.bare[p], sh)
		}
		for j := range p.bareIn {
			m := w.local[j]
			m.add(p.index)
			w.local[j] = m
		}
		for _, c := range p.Cues {
			e := words().findFolded(firstWord(foldText(c)))
			m := w.cued[e]
			m.add(p.index)
			w.cued[e] = m
		}
	}
	return w
})

// worldIDs finds identifiers beside their cue, and without one where a
// jurisdiction's own identifiers are telling enough. Of overlapping ones those
// with a cue win.
func (x *lexed) worldIDs(jurisdiction string) []found {
	w := world()
	local := w.local[jurisdiction]
	s := &worldScan{x, w, jurisdiction, make([][]idHit, 2*len(w.patterns)), make([]int, len(w.patterns))}
	cue := x.cueFollower()
	for _, n := range x.nums {
		if a := x.atoms[n]; a.len() <= maxRun {
			s.tryAll(w.byLen[a.len()], local, cue, int(a.s))
		}
	}
	cue = x.cueFollower()
	for _, at := range x.runStarts() {
		s.tryAll(w.byFirst[x.s[at]], local, cue, int(at))
	}
	out := worldFound(x, freeHits(s.hits))
	slices.SortFunc(out, func(a, b found) int { return cmp.Compare(a.s, b.s) })
	return out
}

// worldScan collects hits: those with a cue by pattern, then those without.
type worldScan struct {
	x            *lexed
	w            worldSet
	jurisdiction string
	hits         [][]idHit
	ends         []int
}

// tryAll tries those of the patterns that count without a cue here or whose cue
// may stand before.
func (s *worldScan) tryAll(patterns []int, local mask, cue *cueFollower, at int) {
	if len(patterns) == 0 {
		return
	}
	near := cue.near(at)
	for _, i := range patterns {
		if local.has(i) || near.has(i) || s.ends[i] > 0 && at-s.ends[i] <= listGap {
			s.try(s.w.patterns[i], at)
		}
	}
}

func (s *worldScan) try(p *idPattern, at int) {
	if at < s.ends[p.index] {
		return
	}
	x := s.x
	e := x.matchID(p, at)
	if e < 0 {
		return
	}
	valid := p.check == nil || p.check(bare(x.s[at:e]))
	if !valid && !p.CueAlone || x.insideURL(at) {
		return
	}
	order, conf := p.index, p.Confidence
	listed := s.ends[p.index] > 0 && at-s.ends[p.index] <= listGap // "SSN 219-09-9999, 987-65-4321"
	if listed || p.cues.before(x.view, at, p.Gap) {
		if !valid {
			conf -= 0.15
		}
	} else {
		if !valid || !p.bareIn[s.jurisdiction] || !s.w.telling(x.view, p, at, e) || allDigits(x.s[at:e]) && x.counted(at) || x.insideDigest(at, e) {
			return
		}
		order += len(s.w.patterns)
		conf -= 0.1
	}
	s.ends[p.index] = e
	s.hits[order] = append(s.hits[order], idHit{at, e, p, order, conf})
}

// mask is a set of the patterns beyond the published ones.
type mask [4]uint64

func (m *mask) add(i int) { m[i>>6] |= 1 << (i & 63) }

func (m *mask) has(i int) bool { return m[i>>6]&(1<<(i&63)) != 0 }

const listGap = 6 // bytes between the values of a list under one cue

const cueReach = 160 // bytes before a value in which its cue may begin

// cueFollower answers, for ascending positions, which patterns have a cue whose
// first word stands shortly before.
type cueFollower struct {
	x      *lexed
	next   int   // marked atom after the last one looked at
	recent []int // atoms in reach that begin a cue
}

func (x *lexed) cueFollower() *cueFollower { return &cueFollower{x: x} }

func (f *cueFollower) near(p int) (m mask) {
	for ; f.next < len(f.x.marked) && int(f.x.atoms[f.x.marked[f.next]].s) < p; f.next++ {
		if i := int(f.x.marked[f.next]); f.x.has(f.x.atoms[i], rCue) {
			f.recent = append(f.recent, i)
		}
	}
	for len(f.recent) > 0 && p-int(f.x.atoms[f.recent[0]].s) > cueReach {
		f.recent = f.recent[1:]
	}
	w := world()
	for _, i := range f.recent {
		for k, bits := range w.cued[f.x.atoms[i].ent] {
			m[k] |= bits
		}
	}
	return m
}

func worldFound(x *lexed, hits []idHit) []found {
	out := idFound(hits)
	for i := range out {
		out[i].bare = hits[i].order >= len(world().patterns)
		out[i].canonical = bare(x.s[out[i].s:out[i].e])
	}
	return out
}

// telling tells whether [s,e) is written in a form that counts without a cue.
func (w worldSet) telling(v *view, p *idPattern, s, e int) bool {
	if len(p.BareShape) == 0 {
		return true
	}
	for _, sh := range w.bare[p] {
		if sh.match(v, s, func(q int) bool { return q == e }) == e {
			return true
		}
	}
	return false
}

// alsoCategories are the categories of the additions that no published package
// of the jurisdiction claims, sorted.
func alsoCategories(jurisdiction string) []string {
	claimed := map[string]bool{}
	for _, name := range Packages(jurisdiction) {
		if p, ok := packs.LoadJurisdictions().Package(name); ok {
			for _, c := range p.Categories {
				claimed[c] = true
			}
		}
	}
	all := []string{catBirth, catCard, catAccount}
	for _, p := range packs.WorldIDs() {
		all = append(all, p.Category)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(c string) bool { return claimed[c] })
}

// covered drops the additions that lie within something already found, names
// and places aside.
func covered(spans []Span, more []found, w *view) []Span {
	ends := make([]int, 0, len(spans)) // by start: the furthest end so far
	starts := make([]int, 0, len(spans))
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b Span) int { return cmp.Compare(a.ByteStart, b.ByteStart) })
	for _, s := range sorted {
		if s.Category == catName || s.Category == catLocation {
			continue
		}
		far := s.ByteEnd
		if n := len(ends); n > 0 {
			far = max(far, ends[n-1])
		}
		starts, ends = append(starts, s.ByteStart), append(ends, far)
	}
	for _, f := range more {
		s := w.span(f, AlsoPackage)
		i, ok := slices.BinarySearch(starts, s.ByteStart)
		for ok && i+1 < len(starts) && starts[i+1] == s.ByteStart {
			i++
		}
		if !ok {
			i--
		}
		if i < 0 || ends[i] < s.ByteEnd {
			spans = append(spans, s)
		}
	}
	return spans
}

// vatNumber checks the VAT numbers whose check digits are published.
func vatNumber(s string) bool {
	d := s[2:]
	switch s[:2] {
	case "DE":
		return iso7064(d, 10, 11)
	case "IT":
		return luhn(d)
	case "BE":
		return 97-num(d[:8])%97 == num(d[8:])
	case "PL":
		return weightedSum(d[:9], "657234567")%11 == num(d[9:])
	case "PT":
		return nifPortugal(d)
	case "DK":
		return weightedSum(d, "27654321")%11 == 0
	}
	return !repeated(d)
}
