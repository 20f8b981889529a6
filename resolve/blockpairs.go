package resolve

import (
	"cmp"
	"context"
	"slices"
)

// Words that too many records hold find candidates in pairs: rows of both lists
// that hold the same two common words. There can be many more such pairs than
// rows, so they are made and joined in passes over ranges of the first word,
// each of bounded size.

// pairsPerPass bounds the pairs of words that one pass lays out, some 100 MB.
const pairsPerPass = 3 << 20

// pairRow is a row that holds a pair of common words.
type pairRow struct {
	key uint64
	row int32
}

// pairJoin joins the two lists over pairs of common words.
type pairJoin struct {
	k      *blocker
	heldA  spans // by row: its common words, ascending
	heldB  spans
	buffer []pairRow
	keptA  []keptPair
	perRow []int32 // by row of A: how many pairs were kept
}

// keptPair is a row of A and the number of a word pair that it shares with few
// enough rows.
type keptPair struct{ row, pair int32 }

// pairUp indexes the pairs of common words that rows of both lists hold.
func (k *blocker) pairUp(ctx context.Context) error {
	j := &pairJoin{k: k, perRow: make([]int32, k.a.n)}
	if k.overFull.words > 0 {
		j.heldA, j.heldB = k.held(k.a), k.held(k.b)
		for from := int32(0); from < int32(k.overFull.words); {
			if err := ctx.Err(); err != nil {
				return err
			}
			to := j.nextRange(from)
			j.pass(from, to)
			from = to
		}
	}
	j.gather()
	return nil
}

// held lists the common words of each row, by their number among common words.
func (k *blocker) held(list *keyed) spans {
	var out spans
	var words []int32
	for row := range list.n {
		words = words[:0]
		for _, w := range list.tokens.at(int32(row)) {
			if c := k.common[w]; c > 0 {
				words = append(words, c-1)
			}
		}
		out.add(words) // tokens ascend, and so do the numbers given to them
	}
	return out
}

// nextRange returns where the pass that starts at word from has to end.
func (j *pairJoin) nextRange(from int32) int32 {
	if j.k.firsts == nil {
		j.k.firsts = make([]int64, j.k.overFull.words)
		for _, held := range [...]*spans{&j.heldA, &j.heldB} {
			for row := range held.ends {
				list := held.at(int32(row))
				for at, w := range list {
					j.k.firsts[w] += int64(len(list) - 1 - at)
				}
			}
		}
	}
	sum := int64(0)
	to := from
	for int(to) < len(j.k.firsts) && (to == from || sum+j.k.firsts[to] <= pairsPerPass) {
		sum += j.k.firsts[to]
		to++
	}
	return to
}

// pass joins the pairs whose first word lies in [from, to).
func (j *pairJoin) pass(from, to int32) {
	inA := slices.Clone(j.pairs(&j.heldA, from, to))
	inB := j.pairs(&j.heldB, from, to)
	for a, b := 0, 0; a < len(inA) && b < len(inB); {
		switch {
		case inA[a].key < inB[b].key:
			a++
			continue
		case inA[a].key > inB[b].key:
			b++
			continue
		}
		endA, endB := runEnd(inA, a), runEnd(inB, b)
		if int64(endA-a)*int64(endB-b) > maxPairsPerKey {
			j.k.overFull.wordPairs++
		} else {
			j.keep(inA[a:endA], inB[b:endB])
		}
		a, b = endA, endB
	}
}

func (j *pairJoin) keep(inA, inB []pairRow) {
	pair := int32(len(j.k.pairRows.ends))
	for _, p := range inB {
		j.k.pairRows.ids = append(j.k.pairRows.ids, p.row)
	}
	j.k.pairRows.ends = append(j.k.pairRows.ends, uint32(len(j.k.pairRows.ids)))
	for _, p := range inA {
		j.keptA = append(j.keptA, keptPair{p.row, pair})
		j.perRow[p.row]++
	}
}

// gather turns kept pairs into lists by row of A.
func (j *pairJoin) gather() {
	k := j.k
	k.pairsOf.ends = make([]uint32, k.a.n)
	next := make([]uint32, k.a.n)
	sum := uint32(0)
	for row, n := range j.perRow {
		next[row] = sum
		sum += uint32(n)
		k.pairsOf.ends[row] = sum
	}
	k.pairsOf.ids = make([]int32, sum)
	for _, e := range j.keptA {
		k.pairsOf.ids[next[e.row]] = e.pair
		next[e.row]++
	}
	k.firsts = nil
}

func runEnd(rows []pairRow, i int) int {
	j := i + 1
	for j < len(rows) && rows[j].key == rows[i].key {
		j++
	}
	return j
}

// pairs lists the pairs of common words of each row whose first word lies in
// [from, to), sorted by pair. The list is valid until the next call.
func (j *pairJoin) pairs(held *spans, from, to int32) []pairRow {
	out := j.buffer[:0]
	words := uint64(j.k.overFull.words)
	for row := range held.ends {
		list := held.at(int32(row))
		for at, w := range list {
			if w < from || w >= to {
				continue
			}
			for _, v := range list[at+1:] {
				out = append(out, pairRow{uint64(w)*words + uint64(v), int32(row)})
			}
		}
	}
	j.buffer = out
	return sortPairs(out, uint64(from)*words)
}

// sortPairs sorts by key, rows of equal keys in the order they have. Keys are
// sorted digit by digit, because there are millions of them; none is below
// base.
func sortPairs(list []pairRow, base uint64) []pairRow {
	if len(list) < 256 {
		slices.SortStableFunc(list, func(a, b pairRow) int { return cmp.Compare(a.key, b.key) })
		return list
	}
	const digit = 11
	most := uint64(0)
	for i := range list {
		most = max(most, list[i].key-base)
	}
	from, to := list, make([]pairRow, len(list))
	for shift := 0; shift < 64 && most>>shift > 0; shift += digit {
		var next [1 << digit]int
		for i := range from {
			next[(from[i].key-base)>>shift&(1<<digit-1)]++
		}
		sum := 0
		for d, n := range next {
			next[d] = sum
			sum += n
		}
		for i := range from {
			d := (from[i].key - base) >> shift & (1<<digit - 1)
			to[next[d]] = from[i]
			next[d]++
		}
		from, to = to, from
	}
	return from
}
