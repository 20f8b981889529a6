package documents

import (
	"cmp"
	"slices"
	"strings"
)

// order compares two hits; a negative result ranks a first. Without a sort by
// time: score, type, effective modification time, path. With one: newest
// first, then scanning order.
func (q *query) order(a, b hit) int {
	if q.byTime {
		return cmp.Or(cmp.Compare(b.doc.stamp.mtime, a.doc.stamp.mtime), cmp.Compare(a.place, b.place))
	}
	return cmp.Or(
		cmp.Compare(b.score, a.score),
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(b.doc.effectiveTime(), a.doc.effectiveTime()),
		strings.Compare(a.doc.path, b.doc.path),
		cmp.Compare(a.place, b.place),
	)
}

// page is the first rows by rank, with one row of every source that has a
// match: a source that the cut would drop whole takes the place of the lowest
// row whose source keeps another.
func (q *query) page(hits []hit) []hit {
	if len(hits) <= q.limit {
		slices.SortFunc(hits, q.order)
		return hits
	}
	tops := q.tops(hits)
	page := q.best(hits)
	count := map[string]int{}
	for _, h := range page {
		count[h.doc.source.id]++
	}
	for _, h := range tops {
		if count[h.doc.source.id] > 0 {
			continue
		}
		i := len(page) - 1
		for i >= 0 && count[page[i].doc.source.id] < 2 {
			i--
		}
		if i < 0 {
			break
		}
		count[page[i].doc.source.id]--
		count[h.doc.source.id]++
		page[i] = h
	}
	slices.SortFunc(page, q.order)
	return page
}

// tops is the best hit of each source, best first.
func (q *query) tops(hits []hit) []hit {
	var out []hit
	at := map[string]int{}
	for _, h := range hits {
		i, seen := at[h.doc.source.id]
		switch {
		case !seen:
			at[h.doc.source.id] = len(out)
			out = append(out, h)
		case q.order(h, out[i]) < 0:
			out[i] = h
		}
	}
	slices.SortFunc(out, q.order)
	return out
}

// best is the first limit hits by rank, in order. It keeps a heap of that many
// with the worst on top, so that a common word does not sort every document.
func (q *query) best(hits []hit) []hit {
	worse := func(a, b hit) bool { return q.order(a, b) > 0 }
	heap := slices.Clone(hits[:q.limit])
	sift := func(i int) {
		for {
			w := i
			for _, c := range []int{2*i + 1, 2*i + 2} {
				if c < len(heap) && worse(heap[c], heap[w]) {
					w = c
				}
			}
			if w == i {
				return
			}
			heap[i], heap[w] = heap[w], heap[i]
			i = w
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sift(i)
	}
	for _, h := range hits[q.limit:] {
		if q.order(h, heap[0]) < 0 {
			heap[0] = h
			sift(0)
		}
	}
	slices.SortFunc(heap, q.order)
	return heap
}
