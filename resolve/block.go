package resolve

import (
	"context"
	"slices"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/internal/text"
)

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
	k.tokens.ids = make([]int32, 0, 3*min(sd.n, 1<<13))
	k.ids.ends = make([]uint32, 0, sd.n)
	for row := range sd.n {
		words, ids := s.rowKeys(sd, row)
		k.tokens.add(words)
		k.ids.add(ids)
		if pt := sd.point(p.blockPoints, int32(row)); !pt.usable {
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

	cells *cells

	wordRows spans   // rows of B by word
	countA   []int32 // rows of A by word
	common   []int32 // by word: 1 + its number among words with too many pairs, else 0
	idRows   spans   // rows of B by identifier
	idFull   []bool  // identifiers with too many pairs; nil where they have no bound

	join  *pairJoin  // nil when no word is common
	pairs *pairIndex // of the range of rows of A that is being scored

	overFull overFull
}

// overFull says what the bound on pairs per key kept from being compared.
type overFull struct {
	words, wordPairs int // keys over the bound
	ids              int
	most             int64 // pairs of the fullest key
	pairs            int64 // pairs under over-full keys, counted once a key
}

func newBlocker(ctx context.Context, a, b *keyed, words, ids int, dedupe, boundIDs bool) (*blocker, error) {
	k := &blocker{a: a, b: b, dedupe: dedupe}
	k.wordRows = invert(&b.tokens, b.n, words)
	k.idRows = invert(&b.ids, b.n, ids)
	k.countA = make([]int32, words)
	for _, w := range a.tokens.ids {
		k.countA[w]++
	}
	k.markCommon(words)
	if boundIDs {
		k.markFullIDs(ids)
	}
	k.pairUp()
	k.countA = nil
	if a != b {
		b.tokens, b.ids = spans{}, spans{} // rows by key stand for them
	}
	var err error
	if k.cells, err = newCells(ctx, a, b); err != nil {
		return nil, err
	}
	return k, ctx.Err()
}

// release lets go of all but what the answer says.
func (k *blocker) release() {
	*k = blocker{a: &keyed{n: k.a.n, coordless: k.a.coordless}, b: &keyed{n: k.b.n, coordless: k.b.coordless}, overFull: k.overFull}
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

// markFullIDs gives up identifiers that are none, because too many records
// share them. The first engine has no such bound.
func (k *blocker) markFullIDs(ids int) {
	inA := make([]int32, ids)
	for _, id := range k.a.ids.ids {
		inA[id]++
	}
	k.idFull = make([]bool, ids)
	for id := range ids {
		if pairs := int64(inA[id]) * int64(len(k.idRows.at(int32(id)))); pairs > maxPairsPerKey {
			k.idFull[id] = true
			k.overFull.note(pairs, &k.overFull.ids)
		}
	}
}

func (o *overFull) note(pairs int64, keys *int) {
	*keys++
	o.pairs += pairs
	o.most = max(o.most, pairs)
}

// found counts the pairs that each strategy added.
type found struct{ h3, token, id int64 }

// seeker finds candidates; one per goroutine.
type seeker struct {
	k     *blocker
	stamp []uint8 // by row of B: the turn of the last row of A that found it
	turn  uint8
	out   []int32
	lists fetched
	words []int32 // of the row, that are not common
	found found
	after int32 // only rows beyond this one are candidates
}

func newSeeker(k *blocker) *seeker { return &seeker{k: k, stamp: make([]uint8, k.b.n)} }

// candidates returns the rows of B that row i of A is compared with, in an order
// that depends on the records alone.
func (s *seeker) candidates(i int32) []int32 {
	s.out = s.out[:0]
	if s.turn++; s.turn == 0 {
		clear(s.stamp)
		s.turn = 1
	}
	s.after = -1
	if s.k.dedupe {
		s.after = i
	}
	s.found.h3 += s.nearby(i)
	n := len(s.out)
	s.words = s.words[:0]
	for _, w := range s.k.a.tokens.at(i) {
		if s.k.common[w] == 0 {
			s.words = append(s.words, w)
		}
	}
	s.takeAll(&s.k.wordRows, s.words)
	if x := s.k.pairs; x != nil {
		s.takeAll(&x.rows, x.of.at(i-x.from))
	}
	s.found.token += int64(len(s.out) - n)
	n = len(s.out)
	for _, id := range s.k.a.ids.at(i) {
		if s.k.idFull == nil || !s.k.idFull[id] {
			s.take(s.k.idRows.at(id))
		}
	}
	s.found.id += int64(len(s.out) - n)
	return s.out
}

// takeAll takes the rows that several keys find.
func (s *seeker) takeAll(rows *spans, keys []int32) {
	for len(keys) > 0 {
		some := keys[:min(len(keys), touchRows)]
		s.lists.fetch(rows, some)
		for n := range some {
			s.take(s.lists.at(rows, n))
		}
		keys = keys[len(some):]
	}
}

func (s *seeker) take(rows []int32) {
	stamp, turn := s.stamp, s.turn
	for _, j := range rows {
		if stamp[j] != turn && j > s.after {
			stamp[j] = turn
			s.out = append(s.out, j)
		}
	}
}

// nearby takes the rows whose cell touches the cell of row i at either size.
func (s *seeker) nearby(i int32) int64 {
	s.k.cells.near(i, func(rows []int32) { s.take(rows) })
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
			s.take(s.k.wordRows.at(w))
		}
	}
	for _, id := range s.k.a.ids.at(i) {
		s.take(s.k.idRows.at(id))
	}
	missed := int64(len(s.out) - n)
	s.out = s.out[:n]
	return missed
}
