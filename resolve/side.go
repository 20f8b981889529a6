package resolve

import (
	"math"

	"github.com/arche-ledger/arche/internal/canon"
)

// side is one list: for each record and column the number of its value, and
// behind the values a summary that settles most pairs without another look.
type side struct {
	n      int
	width  int // numbers a row
	inline int // of them, words of the name
	refs   []int32
	points [][]point // by pair of coordinate fields; nil where no record has any
}

// The summary of a row: 64 bits of the words of its name, which comparators have
// what they read, and in lists laid out for many pairs the weight of the words
// (a float32) and the words themselves. Rows whose bits do not meet share no
// word.
const (
	summaryBits   = 0
	summaryHas    = 2
	summaryWidth  = 3
	summaryWeight = 3 // where there are words
	summaryWords  = 4
)

const (
	lineRefs    = 16 // numbers in a line of the cache
	leastInline = 4
	noWord      = -1 // fills the room that words leave
	manyInline  = -2 // in place of the first word when there are more than fit
)

// fewRows is the number of rows of both lists below which all are near anyway.
var fewRows = 4096

// newSide makes a list that grows row by row.
func newSide(p *plan) *side {
	return &side{width: len(p.columns) + summaryWidth, points: make([][]point, len(p.geoPairs))}
}

// newWideSide makes a list for many pairs: a row fills whole lines of the cache
// where that costs little, and holds the words of the name.
func newWideSide(p *plan, rows int) *side {
	sd := newSide(p)
	if rows < fewRows || !p.inlinesWords() {
		return sd
	}
	least := len(p.columns) + summaryWords + leastInline
	sd.width = least
	if over := least % lineRefs; over > lineRefs/2 {
		sd.width += lineRefs - over
	} else if over > 0 && over < lineRefs/2 {
		sd.width += lineRefs/2 - over
	}
	sd.inline = sd.width - len(p.columns) - summaryWords
	return sd
}

// inlinesWords reports whether rows can hold the words that comparators of
// shared words compare: those of the plain rule.
func (p *plan) inlinesWords() bool {
	return p.sketched >= 0 && p.entity != "" && !p.rarity.possessive
}

// grow makes room for n rows.
func (sd *side) grow(n int) {
	sd.n = n
	sd.refs = make([]int32, n*sd.width)
}

func (sd *side) ref(col int, row int32) int32 { return sd.refs[int(row)*sd.width+col] }

// row returns the numbers of a row's values, and its summary.
func (sd *side) row(row int32) []int32 {
	return sd.refs[int(row)*sd.width : int(row+1)*sd.width]
}

// touch reads a line of each row, so that the processor fetches them side by
// side and not one after the other as they are compared. What it returns means
// nothing.
func (sd *side) touch(rows []int32) int32 {
	refs, width, sum := sd.refs, sd.width, int32(0)
	if width <= lineRefs {
		for _, j := range rows {
			sum += refs[int(j)*width]
		}
		return sum
	}
	for _, j := range rows {
		at := int(j) * width
		sum += refs[at] + refs[at+width-1]
	}
	return sum
}

// usable reports whether a row has a point.
func (sd *side) usable(pair int, row int32) bool {
	return sd.points[pair] != nil && sd.points[pair][row].usable
}

// point returns a row's point.
func (sd *side) point(pair int, row int32) point {
	if sd.points[pair] == nil {
		return point{}
	}
	return sd.points[pair][row]
}

// add reads one record into its side.
func (s *store) add(to *side, rec *canon.Object) {
	to.n++
	for i := range s.cols {
		to.refs = append(to.refs, s.take(i, rec))
	}
	to.refs = append(to.refs, make([]int32, to.width-len(s.cols))...)
	for i, f := range s.plan.geoPairs {
		to.points[i] = append(to.points[i], s.plan.point(rec, f))
	}
}

// readPoints reads one pair of coordinate fields of a list.
func (p *plan) readPoints(list []*canon.Object, f geoFields) []point {
	var points []point
	for row, rec := range list {
		pt := p.point(rec, f)
		if points == nil {
			if !pt.usable {
				continue
			}
			points = make([]point, len(list))
		}
		points[row] = pt
	}
	return points
}

// sketchRow fills in the summary of a row.
func (s *store) sketchRow(sd *side, row int32) {
	values := sd.row(row)
	sum := values[len(s.cols):]
	sum[summaryHas] = int32(s.has(sd, values, row))
	if s.plan.sketched < 0 {
		return
	}
	bits := uint64(0)
	c, ref := &s.cols[s.plan.sketched], values[s.plan.sketched]
	if ref >= 0 {
		for _, list := range [...]*spans{&c.plain, &c.joint} {
			if len(list.ends) == 0 {
				continue
			}
			for _, id := range list.at(ref) {
				bits |= 1 << (uint64(id) * 0x9e3779b97f4a7c15 >> 58)
			}
		}
	}
	sum[summaryBits], sum[summaryBits+1] = int32(uint32(bits)), int32(uint32(bits>>32))
	if sd.inline > 0 && ref >= 0 {
		s.inlineWords(sum, c.plain.at(ref))
	}
}

// inlineWords writes words and their weight into a summary.
func (s *store) inlineWords(sum, words []int32) {
	room := sum[summaryWords:]
	if len(words) > len(room) {
		room[0] = manyInline
		return
	}
	weight := 0.0
	for _, id := range words {
		weight += s.toks.rarity[id]
	}
	sum[summaryWeight] = int32(math.Float32bits(float32(weight)))
	for n := copy(room, words); n < len(room); n++ {
		room[n] = noWord
	}
}

// has says, by a bit each, which comparators find what they read in a row. It is
// not used where there are more comparators than bits.
func (s *store) has(sd *side, values []int32, row int32) uint32 {
	mask := uint32(0)
	if len(s.plan.comps) > mostMasked {
		return 0
	}
	for c := range s.plan.comps {
		cmp := &s.plan.comps[c]
		there := false
		if cmp.kind == kindGeo {
			there = sd.usable(cmp.geo, row)
		} else {
			there = values[cmp.column] >= 0
		}
		if there {
			mask |= 1 << c
		}
	}
	return mask
}

// mostMasked is how many comparators a summary has bits for.
const mostMasked = 32
