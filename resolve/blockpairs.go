package resolve

import (
	"context"
	"iter"
	"math"
	"slices"
	"sync/atomic"
)

// Words that too many records hold find candidates in pairs: rows of both lists
// that hold the same two common words. There can be many more such pairs than
// rows. They are counted word by word, which takes no room, and those with few
// enough rows are laid out for a range of rows of A at a time: the whole list
// while that fits, else in passes of a bounded size.

// pairRoom bounds what one pass lays out: occurrences of pairs in rows of both
// lists, of 16 bytes at most.
const pairRoom = 1 << 24

// pairIndex holds the word pairs that a range of rows of A is looked up by.
type pairIndex struct {
	from, to int32 // rows of A
	of       spans // by row of A less from: numbers of pairs
	rows     spans // rows of B by pair
}

// pairJoin joins the two lists over pairs of common words.
type pairJoin struct {
	heldA, heldB spans // by row: its common words, ascending
	rowsA, rowsB spans // rows by common word
	room         int64
	remember     int   // see heldWords
	held         int64 // the most that a pass laid out
	passes       int
}

// pairUp prepares the join of pairs of common words.
func (k *blocker) pairUp() {
	words := k.overFull.words
	if words == 0 {
		return
	}
	j := &pairJoin{heldA: k.held(k.a), room: pairRoom, remember: mostHeld}
	j.rowsA = invert(&j.heldA, k.a.n, words)
	j.heldB, j.rowsB = j.heldA, j.rowsA
	if k.b != k.a {
		j.heldB = k.held(k.b)
		j.rowsB = invert(&j.heldB, k.b.n, words)
	}
	k.join = j
}

// held lists the common words of each row, by their number among common words.
func (k *blocker) held(list *keyed) spans {
	out := spans{ends: make([]uint32, 0, list.n)}
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

// loadPairs lays out the pairs of rows of A from from on, and returns up to
// which row. width is how many rows to try first.
func (k *blocker) loadPairs(ctx context.Context, from, width int) (to int, err error) {
	to = min(k.a.n, from+width)
	if k.join == nil {
		return k.a.n, nil
	}
	for {
		room := k.join.room
		if to == from+1 {
			room = math.MaxInt64 // one row has to do
		}
		x, full, err := k.join.lay(ctx, int32(from), int32(to), room)
		if err != nil {
			return 0, err
		}
		if x != nil {
			k.pairs, k.overFull.wordPairs = x, full
			if to == k.a.n {
				k.join.release()
			}
			return to, nil
		}
		to = from + (to-from+1)/2
	}
}

// release lets go of the lists, after the last pass.
func (j *pairJoin) release() {
	j.heldA, j.heldB, j.rowsA, j.rowsB = spans{}, spans{}, spans{}, spans{}
}

// keptPair is a row of A and the number of a word pair that it shares with few
// enough rows.
type keptPair struct{ row, pair int32 }

// pairPart is what a stretch of words brings to a pass.
type pairPart struct {
	kept []keptPair
	rows spans
	full int // pairs of words with too many pairs of rows
}

// pairWords is how many words a worker takes at a time.
const pairWords = 64

// lay makes one pass, unless it would take more room than it may: then there is
// no index. full is how many pairs of words have too many rows in both lists.
func (j *pairJoin) lay(ctx context.Context, from, to int32, room int64) (x *pairIndex, full int, err error) {
	words := len(j.rowsA.ends)
	parts := make([]pairPart, (words+pairWords-1)/pairWords)
	var next, used atomic.Int64
	work := func() error {
		c := newPairCounter(j, from, to, words)
		for used.Load() <= room {
			p := int(next.Add(1)) - 1
			if p >= len(parts) {
				return nil
			}
			for w := p * pairWords; w < min(words, (p+1)*pairWords); w++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				if used.Add(c.word(int32(w), &parts[p], room-used.Load())) > room {
					return nil
				}
			}
		}
		return nil
	}
	tasks := slices.Repeat([]func() error{work}, min(workers(), len(parts)))
	if err := atOnce(tasks); err != nil {
		return nil, 0, err
	}
	if used.Load() > room {
		return nil, 0, nil
	}
	j.held, j.passes = max(j.held, used.Load()), j.passes+1
	x = &pairIndex{from: from, to: to}
	for i := range parts {
		full += parts[i].full
	}
	x.gather(parts)
	return x, full, nil
}

// pairCounter counts the pairs of one word after the other; one per goroutine.
type pairCounter struct {
	j              *pairJoin
	from, to       int32
	inA, inB, here []int32 // by the second word: rows that hold both, here only in the range
	number         []int32 // by the second word: 1 + its pair's number in the part, 0 for none
	next           []uint32
	seen           []int32
	listA, listB   heldWords
	lists          fetched
}

func newPairCounter(j *pairJoin, from, to int32, words int) *pairCounter {
	return &pairCounter{j: j, from: from, to: to, inA: make([]int32, words), inB: make([]int32, words),
		here: make([]int32, words), number: make([]int32, words), next: make([]uint32, words),
		listA: heldWords{most: j.remember}, listB: heldWords{most: j.remember}}
}

// word adds the pairs whose first word is w, and returns how much room they
// take. It adds none when that is more than there is.
func (c *pairCounter) word(w int32, part *pairPart, room int64) int64 {
	c.count(w)
	need := int64(0)
	for _, v := range c.seen {
		switch {
		case int64(c.inA[v])*int64(c.inB[v]) > maxPairsPerKey:
			part.full++
			c.here[v] = 0
		case c.inB[v] > 0 && c.here[v] > 0:
			need += int64(c.inB[v]) + int64(c.here[v])
		default:
			c.here[v] = 0
		}
	}
	if need > 0 && need <= room {
		c.keep(w, part)
	}
	for _, v := range c.seen {
		c.inA[v], c.inB[v], c.here[v], c.number[v] = 0, 0, 0, 0
	}
	c.seen = c.seen[:0]
	return need
}

// count counts the rows that hold w and each word after it.
func (c *pairCounter) count(w int32) {
	j := c.j
	c.listA.start()
	for rows := range slices.Chunk(j.rowsA.at(w), touchRows) {
		c.lists.fetch(&j.heldA, rows)
		for n, row := range rows {
			in := row >= c.from && row < c.to
			for _, v := range after(c.lists.at(&j.heldA, n), w) {
				if c.inA[v] == 0 {
					c.seen = append(c.seen, v)
				}
				c.inA[v]++
				if in {
					c.here[v]++
					c.listA.add(row, v)
				}
			}
		}
	}
	c.listB.start()
	for rows := range slices.Chunk(j.rowsB.at(w), touchRows) {
		c.lists.fetch(&j.heldB, rows)
		for n, row := range rows {
			for _, v := range after(c.lists.at(&j.heldB, n), w) {
				if c.inA[v] > 0 {
					c.inB[v]++
					c.listB.add(row, v)
				}
			}
		}
	}
}

// keep writes out the pairs of w that rows in the range have.
func (c *pairCounter) keep(w int32, part *pairPart) {
	j := c.j
	at := uint32(len(part.rows.ids))
	for _, v := range c.seen {
		if c.here[v] == 0 {
			continue
		}
		c.next[v] = at
		at += uint32(c.inB[v])
		part.rows.ends = append(part.rows.ends, at)
		c.number[v] = int32(len(part.rows.ends))
	}
	part.rows.ids = slices.Grow(part.rows.ids, int(at)-len(part.rows.ids))[:at]
	for e := range c.listB.all(&j.heldB, j.rowsB.at(w), w) {
		if c.number[e.word] > 0 {
			part.rows.ids[c.next[e.word]] = e.row
			c.next[e.word]++
		}
	}
	rowsA := j.rowsA.at(w)
	first, _ := slices.BinarySearch(rowsA, c.from)
	end, _ := slices.BinarySearch(rowsA, c.to)
	for e := range c.listA.all(&j.heldA, rowsA[first:end], w) {
		if n := c.number[e.word]; n > 0 {
			part.kept = append(part.kept, keptPair{e.row, n - 1})
		}
	}
}

// heldWords remembers what rows hold beside a word, unless that is very much:
// then rows are looked at again.
type heldWords struct {
	list []heldWord
	most int
	full bool
}

type heldWord struct{ row, word int32 }

// mostHeld is how much is remembered, 8 MB.
const mostHeld = 1 << 20

func (h *heldWords) start() { h.list, h.full = h.list[:0], false }

func (h *heldWords) add(row, word int32) {
	if len(h.list) < h.most {
		h.list = append(h.list, heldWord{row, word})
	} else {
		h.full = true
	}
}

// all goes through what the rows hold after w, in their order.
func (h *heldWords) all(held *spans, rows []int32, w int32) iter.Seq[heldWord] {
	return func(yield func(heldWord) bool) {
		if !h.full {
			for _, e := range h.list {
				if !yield(e) {
					return
				}
			}
			return
		}
		for _, row := range rows {
			for _, v := range after(held.at(row), w) {
				if !yield(heldWord{row, v}) {
					return
				}
			}
		}
	}
}

// after returns the words of an ascending list that come after w, which it has.
func after(list []int32, w int32) []int32 {
	const short = 16
	if len(list) <= short {
		return list[slices.Index(list, w)+1:]
	}
	at, _ := slices.BinarySearch(list, w)
	return list[at+1:]
}

// gather puts the parts together, and turns kept pairs into lists by row of A.
func (x *pairIndex) gather(parts []pairPart) {
	rows := x.to - x.from
	ids, pairs := 0, 0
	next := make([]uint32, rows+1)
	for i := range parts {
		ids += len(parts[i].rows.ids)
		pairs += len(parts[i].rows.ends)
		for _, e := range parts[i].kept {
			next[e.row-x.from+1]++
		}
	}
	for row := range rows {
		next[row+1] += next[row]
	}
	x.of.ends = slices.Clone(next[1:])
	x.of.ids = make([]int32, next[rows])
	x.rows = spans{ids: make([]int32, 0, ids), ends: make([]uint32, 0, pairs)}
	for i := range parts {
		p := &parts[i]
		first, base := int32(len(x.rows.ends)), uint32(len(x.rows.ids))
		x.rows.ids = append(x.rows.ids, p.rows.ids...)
		for _, end := range p.rows.ends {
			x.rows.ends = append(x.rows.ends, base+end)
		}
		for _, e := range p.kept {
			x.of.ids[next[e.row-x.from]] = first + e.pair
			next[e.row-x.from]++
		}
		*p = pairPart{}
	}
}
