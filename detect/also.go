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

// worldSet are the identifier patterns beyond the published ones.
type worldSet struct {
	*idSet
	bare map[*idPattern][]shape
}

var world = sync.OnceValue(func() worldSet {
	w := worldSet{&idSet{}, map[*idPattern][]shape{}}
	for _, src := range packs.WorldIDs() {
		p := compileID(src)
		w.add(p)
		for _, s := range src.BareShape {
			sh, err := compileShape(s, false)
			if err != nil {
				panic("detect: pattern " + src.Key + ": " + err.Error())
			}
			w.bare[p] = append(w.bare[p], sh)
		}
	}
	return w
})

// worldIDs finds identifiers beside their cue, and without one where a
// jurisdiction's own identifiers are telling enough.
func (x *lexed) worldIDs(jurisdiction string) []found {
	w := world()
	cued := x.ids(w.idSet, func(p *idPattern, s, e int) (float64, bool) {
		valid := p.check == nil || p.check(bare(x.s[s:e]))
		if !valid && !p.CueAlone || !p.cues.before(x.view, s, p.Gap) || x.insideURL(s) {
			return 0, false
		}
		if !valid {
			return p.Confidence - 0.15, true
		}
		return p.Confidence, true
	})
	alone := x.ids(w.idSet, func(p *idPattern, s, e int) (float64, bool) {
		if !p.bareIn[jurisdiction] || p.check != nil && !p.check(bare(x.s[s:e])) || !w.telling(x.view, p, s, e) {
			return 0, false
		}
		if x.counted(s) || x.insideURL(s) || x.insideDigest(s, e) {
			return 0, false
		}
		return p.Confidence - 0.1, true
	})
	out := joinFree(nil, worldFound(x, cued))
	return joinFree(out, worldFound(x, alone))
}

func worldFound(x *lexed, hits []idHit) []found {
	out := idFound(hits)
	for i := range out {
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
