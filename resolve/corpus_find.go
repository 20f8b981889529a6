package resolve

import (
	"context"
	"slices"
)

// finder finds candidates for one newcomer at a time.
type finder struct {
	stamp []int32 // by row: the last match that took it
	match int32
	out   []int32
	lists [][]int32 // rows of common words, kept for their room
	rows  []int32   // rows of a key

	overFull overFull
	skipped  int64
}

// candidates returns the rows that the newcomer is compared with, ascending.
// words and ids are its keys, as the tail numbers them.
func (c *Corpus) candidates(ctx context.Context, a *side, words, ids []int32) ([]int32, found, error) {
	x := &c.finder
	if more := c.n - len(x.stamp); more > 0 {
		x.stamp = append(x.stamp, make([]int32, more)...)
	}
	x.match++
	x.out = x.out[:0]
	x.overFull, x.skipped = overFull{}, 0
	var f found
	if err := c.nearby(a); err != nil {
		return nil, f, err
	}
	f.h3 = int64(len(x.out))
	common, err := c.byWords(words)
	if err != nil {
		return nil, f, err
	}
	if err := x.takePairs(ctx, common); err != nil {
		return nil, f, err
	}
	f.token = int64(len(x.out)) - f.h3
	for _, id := range ids {
		n, err := c.rowsWith(keyID, c.tail.s.keys.text[id], &x.rows)
		if err != nil {
			return nil, f, err
		}
		if c.plan.v2 && n > maxPairsPerKey {
			x.overFull.note(int64(n), &x.overFull.ids)
			continue
		}
		x.take(x.rows)
	}
	f.id = int64(len(x.out)) - f.h3 - f.token
	if x.overFull.pairs > 0 && x.overFull.pairs <= exactBelow {
		if err := c.countSkipped(common, ids); err != nil {
			return nil, f, err
		}
	}
	slices.Sort(x.out)
	return x.out, f, nil
}

// rowsWith gathers the rows that a key finds in all parts, ascending.
func (c *Corpus) rowsWith(kind keyKind, key string, out *[]int32) (n int, err error) {
	rows := (*out)[:0]
	for _, p := range c.parts {
		if b := p.keys[kind].find(key); b != nil {
			if rows, err = appendRows(rows, b, p.base, p.n); err != nil {
				return 0, err
			}
		}
	}
	from := len(rows)
	rows = c.tail.rowsWith(kind, key, rows)
	for i := from; i < len(rows); i++ {
		rows[i] += int32(c.base) //nolint:gosec // rows are bounded by maxRows
	}
	*out = rows
	return len(rows), nil
}

// nearby takes the rows whose cell touches the newcomer's at either size.
func (c *Corpus) nearby(a *side) error {
	p := a.points[c.plan.blockPoints][0]
	if !p.usable {
		return nil
	}
	for r, res := range cellResolutions {
		for _, cell := range cellOf(p, res).GridDisk(1) {
			if _, err := c.rowsWith(keyFineCell+keyKind(r), cellKey(cell), &c.rows); err != nil {
				return err
			}
			c.take(c.rows)
		}
	}
	return nil
}

// byWords takes the rows of words that are not too common, and returns the
// rows of those that are, by word.
func (c *Corpus) byWords(words []int32) (common [][]int32, err error) {
	x := &c.finder
	lists := x.lists[:0]
	for _, w := range words {
		n, err := c.rowsWith(keyWord, c.tail.s.toks.text[w], &x.rows)
		if err != nil {
			return nil, err
		}
		if n <= maxPairsPerKey {
			x.take(x.rows)
			continue
		}
		x.overFull.note(int64(n), &x.overFull.words)
		var room []int32
		if len(lists) < cap(lists) {
			room = lists[:len(lists)+1][len(lists)]
		}
		lists = append(lists, x.rows)
		x.rows = room
	}
	x.lists = lists
	return lists, nil
}

// takePairs takes the rows that two common words find together.
func (x *finder) takePairs(ctx context.Context, common [][]int32) error {
	for i := range common {
		if err := ctx.Err(); err != nil {
			return err
		}
		for k := i + 1; k < len(common); k++ {
			both, n := intersect(common[i], common[k])
			if n > maxPairsPerKey {
				x.overFull.wordPairs++
				continue
			}
			x.take(both)
		}
	}
	return nil
}

// countSkipped counts the rows that only over-full keys find.
func (c *Corpus) countSkipped(common [][]int32, ids []int32) error {
	x := &c.finder
	n := len(x.out)
	for _, rows := range common {
		x.take(rows)
	}
	for _, id := range ids {
		if _, err := c.rowsWith(keyID, c.tail.s.keys.text[id], &x.rows); err != nil {
			return err
		}
		x.take(x.rows)
	}
	x.skipped = int64(len(x.out) - n)
	x.out = x.out[:n]
	return nil
}

func (x *finder) take(rows []int32) {
	for _, j := range rows {
		if x.stamp[j] != x.match {
			x.stamp[j] = x.match
			x.out = append(x.out, j)
		}
	}
}

// intersect returns the common rows of two ascending lists. It stops counting
// one past the bound on pairs per key: such a key is not used.
func intersect(a, b []int32) (both []int32, n int) {
	if len(a) > len(b) {
		a, b = b, a
	}
	skip := len(b) > 16*len(a)
	for _, x := range a {
		if skip {
			step := 1
			for step < len(b) && b[step] < x {
				step *= 2
			}
			at, _ := slices.BinarySearch(b[:min(step+1, len(b))], x)
			b = b[at:]
		} else {
			for len(b) > 0 && b[0] < x {
				b = b[1:]
			}
		}
		if len(b) == 0 {
			break
		}
		if b[0] == x {
			if n++; n > maxPairsPerKey {
				return nil, n
			}
			both = append(both, x)
		}
	}
	return both, n
}
