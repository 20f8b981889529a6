package resolve

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/packs"
)

// distinctiveness is how much agreement on something of this rate means: 0 for
// one in one, 1 for one in 100,000 and rarer.
func distinctiveness(rate float64) float64 {
	return min(1, max(0, -log10(max(rate, 1e-12))/5))
}

// tokens gives each distinct token a number, and once sealed numbers them in
// byte order, so that sums run in the same order whatever came first. Tokens
// that stay open (a Corpus grows) keep every list sorted by text instead.
type tokens struct {
	ids    map[string]int32 // of tokens that stay open
	index  textIndex        // of all others
	text   []string
	rarity []float64 // by token; filled by weigh
	bound  []float64 // by token: rarity in the whole population, where rarity is only that of the lists
	sealed bool
	open   bool
}

func newTokens() *tokens { return &tokens{} }

// stayOpen makes the tokens ones that are looked up for ever.
func (t *tokens) stayOpen() { t.ids = make(map[string]int32) }

// room makes room for n tokens.
func (t *tokens) room(n int) {
	t.index.room(n)
	t.text = make([]string, 0, n)
}

// find returns the number of a token.
func (t *tokens) find(s string) (int32, bool) {
	if t.ids != nil {
		id, ok := t.ids[s]
		return id, ok
	}
	id, _, ok := t.index.find(t.text, s)
	return id, ok
}

// id numbers a token. The text is kept, so it must not be part of something
// large.
func (t *tokens) id(s string) int32 {
	if t.ids != nil {
		if id, ok := t.ids[s]; ok {
			return id
		}
		t.ids[s] = int32(len(t.text))
	} else {
		id, hash, ok := t.index.find(t.text, s)
		if ok {
			return id
		}
		t.index.add(int32(len(t.text)), hash)
	}
	t.text = append(t.text, s)
	return int32(len(t.text)) - 1
}

// idOf is id for a token in a buffer.
func (t *tokens) idOf(b []byte) int32 {
	if t.ids != nil {
		if id, ok := t.ids[string(b)]; ok {
			return id
		}
	}
	return t.id(string(b))
}

// before reports whether token a sorts before token b.
func (t *tokens) before(a, b int32) bool {
	if t.sealed {
		return a < b
	}
	return t.text[a] < t.text[b]
}

// set removes repeated numbers in place. While tokens stay open the list is
// sorted by text; otherwise its order is settled when they are sealed.
func (t *tokens) set(ids []int32) []int32 {
	out := ids[:0]
	if len(ids) > largeSet {
		slices.Sort(ids)
		out = slices.Compact(ids)
	} else {
		for _, id := range ids {
			if !containsID(out, id) {
				out = append(out, id)
			}
		}
	}
	if t.open {
		slices.SortFunc(out, func(a, b int32) int { return strings.Compare(t.text[a], t.text[b]) })
	}
	return out
}

// largeSet is the length from which repeated numbers are found by sorting.
const largeSet = 64

// seal renumbers the tokens in byte order and returns the new number of each.
// Unless they are kept, tokens can no longer be looked up by text.
func (t *tokens) seal(keep bool) []int32 {
	// Most tokens differ in their first eight bytes, which compare as a number.
	type head struct {
		key uint64
		id  int32
	}
	heads := make([]head, len(t.text))
	for i, s := range t.text {
		var b [8]byte
		copy(b[:], s)
		heads[i] = head{binary.BigEndian.Uint64(b[:]), int32(i)}
	}
	slices.SortFunc(heads, func(a, b head) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return strings.Compare(t.text[a.id], t.text[b.id])
	})
	rank := make([]int32, len(heads))
	text := make([]string, len(heads))
	for r, h := range heads {
		rank[h.id] = int32(r)
		text[r] = t.text[h.id]
	}
	t.rarity, t.bound = reorder(t.rarity, rank), reorder(t.bound, rank)
	t.text = text
	t.index = textIndex{}
	if keep {
		t.index.room(len(text))
		for id, s := range text {
			t.index.add(int32(id), textHash(s))
		}
	}
	t.sealed = true
	return rank
}

func reorder(list []float64, rank []int32) []float64 {
	if list == nil {
		return nil
	}
	out := make([]float64, len(rank))
	for id, r := range rank {
		out[r] = list[id]
	}
	return out
}

// weighBound fills in the population rarity of tokens that have none yet.
func (t *tokens) weighBound(table *packs.Table) {
	for i := len(t.bound); i < len(t.text); i++ {
		t.bound = append(t.bound, rarityIn(table, t.text[i]))
	}
}

// gate is the rarity that bounds what agreement can mean.
func (t *tokens) gate() []float64 {
	if t.bound != nil {
		return t.bound
	}
	return t.rarity
}

func rarityIn(table *packs.Table, token string) float64 {
	rate := table.UnknownFloor
	if count, ok := table.Count(token); ok {
		rate = count / table.Total
	}
	return distinctiveness(rate)
}

// weigh fills in the rarity of tokens that have none yet, from a shipped table.
func (t *tokens) weigh(table *packs.Table) {
	for i := len(t.rarity); i < len(t.text); i++ {
		t.rarity = append(t.rarity, rarityIn(table, t.text[i]))
	}
}

// spans holds lists of token numbers end to end: one allocation for all values.
type spans struct {
	ids  []int32
	ends []uint32
}

func (s *spans) add(ids []int32) {
	s.ids = append(s.ids, ids...)
	s.ends = append(s.ends, uint32(len(s.ids)))
}

func (s *spans) at(ref int32) []int32 {
	start := uint32(0)
	if ref > 0 {
		start = s.ends[ref-1]
	}
	return s.ids[start:s.ends[ref]]
}

// fetched is where some lists of spans lie. The lists of many rows are looked
// for side by side, because each lies somewhere else in memory.
type fetched struct {
	starts, ends [touchRows]uint32
	sum          int32 // means nothing
}

// fetch looks for at most touchRows lists.
func (f *fetched) fetch(s *spans, refs []int32) {
	for n, ref := range refs {
		f.starts[n] = 0
		if ref > 0 {
			f.starts[n] = s.ends[ref-1]
		}
		f.ends[n] = s.ends[ref]
	}
	sum := int32(0)
	for n := range refs {
		if at := f.starts[n]; at < f.ends[n] {
			sum += s.ids[at]
		}
	}
	f.sum = sum
}

// at is the list of the nth ref.
func (f *fetched) at(s *spans, n int) []int32 { return s.ids[f.starts[n]:f.ends[n]] }

// renumber gives every list its new numbers, in ascending order.
func (s *spans) renumber(rank []int32) {
	for i, id := range s.ids {
		s.ids[i] = rank[id]
	}
	start := uint32(0)
	for _, end := range s.ends {
		if list := s.ids[start:end]; len(list) > 1 {
			slices.Sort(list)
		}
		start = end
	}
}

// relabel gives every list its new numbers in the order it has.
func (s *spans) relabel(rank []int32) {
	for i, id := range s.ids {
		s.ids[i] = rank[id]
	}
}

// weighted is the share of the rarity of both token sets that lies in their
// common tokens; 0 when a side is empty.
func (t *tokens) weighted(a, b []int32) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if !t.meet(a, b) {
		return 0
	}
	shared, all := 0.0, 0.0
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		switch {
		case x == y:
			shared += t.rarity[x]
			all += t.rarity[x]
			i++
			j++
		case t.before(x, y):
			all += t.rarity[x]
			i++
		default:
			all += t.rarity[y]
			j++
		}
	}
	for ; i < len(a); i++ {
		all += t.rarity[a[i]]
	}
	for ; j < len(b); j++ {
		all += t.rarity[b[j]]
	}
	if all == 0 {
		return 0
	}
	return shared / all
}

// meet reports whether two token sets have a token in common.
func (t *tokens) meet(a, b []int32) bool {
	if !t.sealed || len(a)*len(b) <= 16 {
		for _, x := range a {
			if slices.Contains(b, x) {
				return true
			}
		}
		return false
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			return true
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return false
}

// shared calls yield with each common token.
func (t *tokens) shared(a, b []int32, yield func(id int32)) {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			yield(a[i])
			i++
			j++
		case t.before(a[i], b[j]):
			i++
		default:
			j++
		}
	}
}

// rarestShared is the greatest rarity of a common token.
func (t *tokens) rarestShared(a, b []int32) float64 {
	best, rarity := 0.0, t.gate()
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			best = max(best, rarity[a[i]])
			i++
			j++
		case t.before(a[i], b[j]):
			i++
		default:
			j++
		}
	}
	return best
}

func (t *tokens) countShared(a, b []int32) int {
	n := 0
	t.shared(a, b, func(int32) { n++ })
	return n
}

// nothing marks a similarity that does not apply.
var nothing = math.NaN()
