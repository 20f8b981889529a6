package ledger

import (
	"container/heap"
	"context"
	"math"
	"strconv"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Path answers the chain of decisions that joins two records: fewest decisions,
// then highest scores, then smallest record ids.
func (l *Ledger) Path(ctx context.Context, a, b string) (*canon.Object, error) {
	var out *canon.Object
	err := l.use(ctx, func(db *duck.DB, s *state) error {
		r := l.reader(ctx, db, s)
		x, y := s.lookupRecord(a), s.lookupRecord(b)
		if x < 0 {
			return noRecord(a)
		}
		if y < 0 {
			return noRecord(b)
		}
		steps, same := s.chainBetween(x, y)
		views := make([]any, len(steps))
		for n, i := range steps {
			v, err := r.step(i)
			if err != nil {
				return err
			}
			views[n] = v
		}
		out = canon.Obj("record_a", a, "record_b", b, "same_entity", same, "hops", len(steps),
			"decisions", views, "note", pathNote(x == y, same, len(steps)))
		return nil
	})
	return out, err
}

func pathNote(itself, same bool, hops int) string {
	switch {
	case itself:
		return "one record: nothing had to join it to itself"
	case same && hops == 0:
		return "no decision lies between these records: they are versions of one, or an operator joined them"
	case hops == 0:
		return "no chain of linking decisions joins these records"
	case hops == 1:
		return "one decision: the two were compared and matched directly"
	}
	return strconv.Itoa(hops) + " decisions: the two were never compared; the records between them were"
}

func (r *reader) step(i int32) (*canon.Object, error) {
	rec, err := r.receipt(i)
	if err != nil {
		return nil, err
	}
	v := r.view(rec)
	from, err := r.label(r.s.decs[i].a)
	if err != nil {
		return nil, err
	}
	to, err := r.label(r.s.decs[i].b)
	if err != nil {
		return nil, err
	}
	v.Set("from", from)
	v.Set("to", to)
	return v, r.addOperator(v, i)
}

// chainBetween is the shortest chain of decisions between two records. Version
// edges, which are no decision, are used only where no chain exists without.
func (s *state) chainBetween(x, y int32) (steps []int32, same bool) {
	if x == y {
		return nil, true
	}
	if e := s.recs[x].ent; e < 0 || s.recs[y].ent != e {
		return nil, false
	}
	if steps, ok := s.shortest(x, y, false); ok {
		return steps, true
	}
	steps, ok := s.shortest(x, y, true)
	return steps, ok
}

// hopCost is the cost of a decision in units of 1e-7: one hop, plus at most a
// thousandth for a low score.
func hopCost(score float64) int64 {
	return 10_000_000 + int64(math.Round((1-score)*10_000))
}

// bestEdges are the cheapest steps from a record: the last recorded decision of
// each pair, and free steps when quiet edges count.
func (s *state) edgesFrom(r int32, quiet bool, visit func(to, decision int32, cost int64)) {
	last := map[int32]int32{}
	for _, i := range s.recs[r].decs {
		if d := &s.decs[i]; s.joins(i) && d.a != d.b {
			last[d.a+d.b-r] = i // in recorded order
		}
	}
	for to, i := range last {
		visit(to, i, hopCost(s.decs[i].score))
	}
	if quiet {
		s.quietNeighbours(r, func(to int32) {
			if _, ok := last[to]; !ok {
				visit(to, -1, 1) // not free: a chain must always come closer
			}
		})
	}
}

// shortest finds the cheapest chain; among equals the smallest sequence of
// record ids.
func (s *state) shortest(x, y int32, quiet bool) ([]int32, bool) {
	dist := map[int32]int64{y: 0}
	done := map[int32]bool{}
	queue := &distances{{y, 0}}
	for queue.Len() > 0 {
		at := heap.Pop(queue).(distance)
		if done[at.rec] {
			continue
		}
		done[at.rec] = true
		if at.rec == x {
			break
		}
		s.edgesFrom(at.rec, quiet, func(to, _ int32, cost int64) {
			if d, ok := dist[to]; !ok || at.cost+cost < d {
				dist[to] = at.cost + cost
				heap.Push(queue, distance{to, at.cost + cost})
			}
		})
	}
	if !done[x] {
		return nil, false
	}
	var steps []int32
	visited := map[int32]bool{x: true}
	for at := x; at != y; {
		best, via := int32(-1), int32(-1)
		s.edgesFrom(at, quiet, func(to, decision int32, cost int64) {
			d, ok := dist[to]
			if !ok || !done[to] || visited[to] || d+cost != dist[at] {
				return
			}
			if best < 0 || s.recordID(to) < s.recordID(best) {
				best, via = to, decision
			}
		})
		if best < 0 {
			return nil, false
		}
		if via >= 0 {
			steps = append(steps, via)
		}
		visited[best] = true
		at = best
	}
	return steps, true
}

type distance struct {
	rec  int32
	cost int64
}

type distances []distance

func (d distances) Len() int { return len(d) }
func (d distances) Less(i, j int) bool {
	return d[i].cost < d[j].cost || d[i].cost == d[j].cost && d[i].rec < d[j].rec
}
func (d distances) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *distances) Push(x any)   { *d = append(*d, x.(distance)) }
func (d *distances) Pop() any {
	old := *d
	x := old[len(old)-1]
	*d = old[:len(old)-1]
	return x
}
