package resolve

import (
	"encoding/binary"
	"math"
	"slices"
)

// Most candidates share a word of an address with the newcomer and nothing
// else. What is packed of them tells as much without reading them: a row's
// sketch that its name has no word of the newcomer's, its date that it is
// another. When the mean cannot reach the floor even if all else agreed, the
// row is given up unread.

// sketchOf is a sketch of the words of the name of the row that was read last:
// a bit for each, by its text. 0 says nothing.
func (g *growing) sketchOf() (bits uint64) {
	col := g.s.plan.sketched
	if col < 0 {
		return 0
	}
	c, ref := &g.s.cols[col], g.sd.refs[col]
	if ref < 0 {
		return 0
	}
	for _, list := range [...]*spans{&c.plain, &c.joint} {
		if len(list.ends) == 0 {
			continue
		}
		for _, id := range list.at(ref) {
			bits |= 1 << (wordHash(g.s.toks.text[id]) >> 58)
		}
	}
	return bits
}

// wordHash is the same in every process: FNV-1a, its bits mixed.
func wordHash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h * 0x9e3779b97f4a7c15
}

// ceiling bounds the scores of one newcomer from above by what is packed.
type ceiling struct {
	sketch uint64
	least  float64 // scores below are not surfaced
	parts  []ceilingPart
	dates  bool // dates are read from packed rows
}

// ceilingPart is a comparator that the newcomer has what it reads for.
type ceilingPart struct {
	weight float64
	field  uint64 // of the kept ones; noField
	words  bool   // shares of the sketched words
	day    bool   // compares dates
	date   date
}

const noField = math.MaxUint64

// ceilingOf prepares the bound, nil where there is none: weights must only add,
// and an error that a comparator raises must not be missed.
func (c *Corpus) ceilingOf(a *side, floor float64) *ceiling {
	p := c.plan
	if !p.prunable || !(floor > 0) || p.sketched < 0 {
		return nil
	}
	x := &ceiling{sketch: c.tail.sketchOf(), least: floor - slack}
	if x.sketch == 0 {
		return nil
	}
	for _, i := range p.order {
		cmp := &p.comps[i]
		if cmp.kind == kindContainment {
			return nil
		}
		part := ceilingPart{weight: cmp.weight, field: noField}
		if cmp.kind == kindGeo {
			if a.usable(cmp.geo, 0) {
				x.parts = append(x.parts, part)
			}
			continue
		}
		ref := a.ref(cmp.column, 0)
		if ref < 0 {
			continue
		}
		part.words = cmp.kind == kindTFToken && cmp.column == p.sketched && !cmp.hausa
		if n, ok := slices.BinarySearch(c.kept, cmp.field); ok && !p.v2 { // the second engine reads a field from others too
			part.field = uint64(n) //nolint:gosec // not negative
			if part.day = cmp.kind == kindDate; part.day {
				part.date, x.dates = c.store.feats[i].dates[ref], true
			}
		}
		x.parts = append(x.parts, part)
	}
	return x
}

// tooLow reports whether a row certainly scores below what is surfaced.
func (x *ceiling) tooLow(sketch uint64, packed []byte) bool {
	if sketch == 0 || sketch&x.sketch != 0 {
		return false
	}
	num, den := 0.0, 0.0
	for i := range x.parts {
		part := &x.parts[i]
		if part.words {
			den += part.weight
			continue
		}
		s := 1.0
		if part.field != noField {
			value, isText, ok := packedValue(packed, part.field)
			if !ok {
				continue
			}
			if part.day && isText {
				d := parseDate(string(value))
				if s = compareDates(&part.date, &d); math.IsNaN(s) {
					continue
				}
			}
		}
		num += part.weight * s
		den += part.weight
	}
	return den > 0 && num < x.least*den
}

// packedValue finds a field in a packed record.
func packedValue(b []byte, field uint64) (value []byte, isText, ok bool) {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, false, false
		}
		size, k := binary.Uvarint(b[n:])
		if k <= 0 || size > uint64(len(b)-n-k) {
			return nil, false, false
		}
		b = b[n+k:]
		if tag/2 == field {
			return b[:size], tag%2 == 0, true
		}
		b = b[size:]
	}
	return nil, false, false
}
