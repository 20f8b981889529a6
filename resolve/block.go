package resolve

import (
	"cmp"
	"slices"

	"github.com/uber/h3-go/v4"
	"golang.org/x/sync/errgroup"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/internal/text"
)

// cellResolutions are the sizes of hexagons that near points are looked for in:
// edges of about 1.4 and 3.7 km.
var cellResolutions = [2]int{7, 6}

// keyed is what one list offers for finding candidates.
type keyed struct {
	n         int
	tokens    spans // distinct words of the text fields
	ids       spans // distinct identifiers
	points    []point
	coordless int
}

// keyed gathers the blocking keys of a side. The store must be sealed.
func (s *store) keyed(sd *side) (*keyed, error) {
	p := s.plan
	k := &keyed{n: sd.n, points: sd.points[p.blockPoints]}
	k.tokens.ends = make([]uint32, 0, sd.n)
	k.ids.ends = make([]uint32, 0, sd.n)
	for row := range sd.n {
		words, ids := s.rowKeys(sd, row)
		k.tokens.add(words)
		k.ids.add(ids)
		if pt := k.points[row]; !pt.usable {
			k.coordless++
		} else if !pt.finite() {
			return nil, p.notFinite()
		}
	}
	return k, nil
}

// rowKeys returns the distinct words and identifiers that a row is found by;
// both are valid until the next call.
func (s *store) rowKeys(sd *side, row int) (words, ids []int32) {
	words, ids = s.work[:0], s.list[:0]
	for _, c := range s.plan.wordCols {
		if ref := sd.ref(c, int32(row)); ref >= 0 {
			words = append(words, s.cols[c].block.at(ref)...)
		}
	}
	if len(s.plan.wordCols) > 1 {
		words = distinctIDs(words)
	}
	for _, c := range s.plan.idCols {
		if ref := sd.ref(c, int32(row)); ref >= 0 && s.cols[c].blockIDs[ref] >= 0 {
			ids = append(ids, s.cols[c].blockIDs[ref])
		}
	}
	s.work, s.list = words, ids
	return words, distinctIDs(ids)
}

func (p *plan) notFinite() error {
	return fault.New(fault.Invalid, "fields %q and %q of a record hold a coordinate that is not finite", p.blockGeo.lat, p.blockGeo.lon).
		WithHint("give finite numbers, or leave the fields out")
}

func distinctIDs(ids []int32) []int32 {
	if len(ids) > 1 {
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	return ids
}

// idKey is an identifier as a blocking key.
func idKey(s string) string { return text.Nid(text.Lower(s)) }

// blocker finds the candidates of each row of A among the rows of B.
type blocker struct {
	a, b   *keyed
	dedupe bool

	cells [2]map[h3.Cell][]int32 // rows of B by cell

	wordRows spans   // rows of B by word
	countA   []int32 // rows of A by word
	common   []int32 // by word: 1 + its number among words with too many pairs, else 0
	idRows   spans   // rows of B by identifier

	pairsOf  spans // by row of A: numbers of word pairs
	pairRows spans // rows of B by word pair

	overFull overFull
}

// overFull says what the bound on pairs per key kept from being compared.
type overFull struct {
	words, wordPairs int   // keys over the bound
	most             int64 // pairs of the fullest key
	pairs            int64 // pairs under over-full keys, counted once a key
}

func newBlocker(a, b *keyed, words, ids int, dedupe bool) *blocker {
	k := &blocker{a: a, b: b, dedupe: dedupe}
	k.wordRows = invert(&b.tokens, b.n, words)
	k.idRows = invert(&b.ids, b.n, ids)
	k.countA = make([]int32, words)
	for _, w := range a.tokens.ids {
		k.countA[w]++
	}
	k.markCommon(words)
	k.pairUp()
	k.placeCells()
	return k
}

// invert turns lists of keys by row into lists of rows by key.
func invert(s *spans, rows, keys int) spans {
	ends := make([]uint32, keys)
	for _, id := range s.ids {
		ends[id]++
	}
	sum := uint32(0)
	next := make([]uint32, keys)
	for i, n := range ends {
		next[i] = sum
		sum += n
		ends[i] = sum
	}
	out := make([]int32, sum)
	for row := range rows {
		for _, id := range s.at(int32(row)) {
			out[next[id]] = int32(row)
			next[id]++
		}
	}
	return spans{ids: out, ends: ends}
}

func (k *blocker) markCommon(words int) {
	k.common = make([]int32, words)
	for w := range words {
		pairs := int64(k.countA[w]) * int64(len(k.wordRows.at(int32(w))))
		if pairs > maxPairsPerKey {
			k.overFull.note(pairs, &k.overFull.words)
			k.common[w] = int32(k.overFull.words)
		}
	}
}

func (o *overFull) note(pairs int64, keys *int) {
	*keys++
	o.pairs += pairs
	o.most = max(o.most, pairs)
}

// pairRow is a row that holds a pair of common words.
type pairRow struct {
	key uint64
	row int32
}

// pairUp indexes the pairs of common words that rows of both lists hold.
func (k *blocker) pairUp() {
	var inA, inB []pairRow
	var group errgroup.Group
	group.Go(func() error {
		inA = k.commonPairs(k.a)
		return nil
	})
	inB = k.commonPairs(k.b)
	_ = group.Wait() // commonPairs does not fail
	byRow := make([]int32, k.a.n)
	type entry struct {
		row  int32
		pair int32
	}
	var entries []entry
	for i, j := 0, 0; i < len(inA) && j < len(inB); {
		switch {
		case inA[i].key < inB[j].key:
			i++
			continue
		case inA[i].key > inB[j].key:
			j++
			continue
		}
		i2, j2 := runEnd(inA, i), runEnd(inB, j)
		if n := int64(i2-i) * int64(j2-j); n > maxPairsPerKey {
			k.overFull.note(n, &k.overFull.wordPairs)
		} else {
			pair := int32(len(k.pairRows.ends))
			for ; j < j2; j++ {
				k.pairRows.ids = append(k.pairRows.ids, inB[j].row)
			}
			k.pairRows.ends = append(k.pairRows.ends, uint32(len(k.pairRows.ids)))
			for ; i < i2; i++ {
				entries = append(entries, entry{inA[i].row, pair})
				byRow[inA[i].row]++
			}
		}
		i, j = i2, j2
	}
	k.pairsOf.ends = make([]uint32, k.a.n)
	next := make([]uint32, k.a.n)
	sum := uint32(0)
	for row, n := range byRow {
		next[row] = sum
		sum += uint32(n)
		k.pairsOf.ends[row] = sum
	}
	k.pairsOf.ids = make([]int32, sum)
	for _, e := range entries {
		k.pairsOf.ids[next[e.row]] = e.pair
		next[e.row]++
	}
}

func runEnd(rows []pairRow, i int) int {
	j := i + 1
	for j < len(rows) && rows[j].key == rows[i].key {
		j++
	}
	return j
}

// commonPairs lists each pair of common words of each row, sorted by pair.
func (k *blocker) commonPairs(list *keyed) []pairRow {
	var out []pairRow
	var held []int32
	for row := range list.n {
		held = held[:0]
		for _, w := range list.tokens.at(int32(row)) {
			if c := k.common[w]; c > 0 {
				held = append(held, c-1)
			}
		}
		for x, w := range held {
			for _, v := range held[x+1:] {
				out = append(out, pairRow{uint64(w)*uint64(k.overFull.words) + uint64(v), int32(row)})
			}
		}
	}
	return sortPairs(out)
}

// sortPairs sorts by key, rows of equal keys in the order they have. Keys are
// sorted digit by digit: there are millions of them.
func sortPairs(list []pairRow) []pairRow {
	if len(list) < 256 {
		slices.SortStableFunc(list, func(a, b pairRow) int { return cmp.Compare(a.key, b.key) })
		return list
	}
	const digit = 11
	most := uint64(0)
	for i := range list {
		most = max(most, list[i].key)
	}
	from, to := list, make([]pairRow, len(list))
	for shift := 0; shift < 64 && most>>shift > 0; shift += digit {
		var next [1 << digit]int
		for i := range from {
			next[from[i].key>>shift&(1<<digit-1)]++
		}
		sum := 0
		for d, n := range next {
			next[d] = sum
			sum += n
		}
		for i := range from {
			d := from[i].key >> shift & (1<<digit - 1)
			to[next[d]] = from[i]
			next[d]++
		}
		from, to = to, from
	}
	return from
}

func (k *blocker) placeCells() {
	for r, res := range cellResolutions {
		k.cells[r] = make(map[h3.Cell][]int32)
		for row, p := range k.b.points {
			if !p.usable {
				continue
			}
			c := h3.LatLngToCell(h3.NewLatLng(p.lat, p.lon), res)
			k.cells[r][c] = append(k.cells[r][c], int32(row))
		}
	}
}

// found counts the pairs that each strategy added.
type found struct{ h3, token, id int64 }

// seeker finds candidates; one per goroutine.
type seeker struct {
	k     *blocker
	stamp []int32 // by row of B: 1 + the last row of A that found it
	out   []int32
	found found
	after int32 // only rows beyond this one are candidates
}

func newSeeker(k *blocker) *seeker { return &seeker{k: k, stamp: make([]int32, k.b.n)} }

// candidates returns the rows of B that row i of A is compared with, ascending.
func (s *seeker) candidates(i int32) []int32 {
	s.out = s.out[:0]
	s.after = -1
	if s.k.dedupe {
		s.after = i
	}
	s.found.h3 += s.nearby(i)
	n := len(s.out)
	for _, w := range s.k.a.tokens.at(i) {
		if s.k.common[w] == 0 {
			s.take(i, s.k.wordRows.at(w))
		}
	}
	for _, p := range s.k.pairsOf.at(i) {
		s.take(i, s.k.pairRows.at(p))
	}
	s.found.token += int64(len(s.out) - n)
	n = len(s.out)
	for _, id := range s.k.a.ids.at(i) {
		s.take(i, s.k.idRows.at(id))
	}
	s.found.id += int64(len(s.out) - n)
	slices.Sort(s.out)
	return s.out
}

func (s *seeker) take(i int32, rows []int32) {
	for _, j := range rows {
		if j > s.after && s.stamp[j] != i+1 {
			s.stamp[j] = i + 1
			s.out = append(s.out, j)
		}
	}
}

// nearby takes the rows whose cell touches the cell of row i at either size.
func (s *seeker) nearby(i int32) int64 {
	p := s.k.a.points[i]
	if !p.usable {
		return 0
	}
	for r, res := range cellResolutions {
		if len(s.k.cells[r]) == 0 {
			continue
		}
		for _, c := range h3.LatLngToCell(h3.NewLatLng(p.lat, p.lon), res).GridDisk(1) {
			s.take(i, s.k.cells[r][c])
		}
	}
	return int64(len(s.out))
}

// exactBelow is the number of pairs under over-full keys up to which those not
// compared are counted one by one.
const exactBelow = 1 << 21

// skipped counts the pairs of row i that share an over-full key and are not
// among its candidates. It must follow candidates(i).
func (s *seeker) skipped(i int32) int64 {
	n := len(s.out)
	for _, w := range s.k.a.tokens.at(i) {
		if s.k.common[w] > 0 {
			s.take(i, s.k.wordRows.at(w))
		}
	}
	missed := int64(len(s.out) - n)
	s.out = s.out[:n]
	return missed
}
