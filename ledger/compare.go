package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// Compare compares two lists and records what was decided as one unit of work.
// The answer is the engine's: a ledger does not change it.
func (l *Ledger) Compare(ctx context.Context, req resolve.Request) (*resolve.Result, error) {
	if req.IDField == "" {
		req.IDField = resolve.DefaultIDField
	}
	if req.OpenScratch == nil {
		req.OpenScratch = OpenScratch
	}
	defer l.store.Expect()()
	res, err := resolve.Compare(ctx, req)
	if err != nil {
		return nil, err
	}
	b, err := newBatch(req, res, l.long)
	if err != nil {
		return nil, err
	}
	if err := l.writeUnit(ctx, b.size(), func(u *unit) error { return b.record(ctx, u) }); err != nil {
		return nil, err
	}
	return res, nil
}

// batch is a comparison on its way into the log.
type batch struct {
	req        resolve.Request
	res        *resolve.Result
	verb       string
	entityType string
	pins       rawJSON
	call       *canon.Object
	a, b       []row
}

// baseEntity is an entity without the pack version: "organisation@0.10" stores
// organisations.
func baseEntity(entity string) string {
	name, _, _ := strings.Cut(entity, "@")
	return name
}

// newBatch does what needs no ledger: addresses and canonical forms. A batch of
// long rows or more leaves them to its recording.
func newBatch(req resolve.Request, res *resolve.Result, long int) (*batch, error) {
	b := &batch{req: req, res: res, verb: verbReconcile, entityType: baseEntity(req.Entity)}
	if req.Dedupe {
		b.verb, b.req.B = verbDedupe, req.A // the run has the one list on both sides
	}
	if b.entityType == "" {
		b.entityType = "record"
	}
	var err error
	if b.pins, err = appendJCS(nil, res.Pins); err != nil {
		return nil, err
	}
	if b.call, err = callOf(req); err != nil {
		return nil, err
	}
	if b.size() >= long {
		return b, nil // rows are made as they are stored: all of them together are large
	}
	if b.a, err = b.rows(b.req.A, 0); err == nil {
		b.b, err = b.rows(b.req.B, 0)
	}
	return b, err
}

// size is about how many rows the batch writes when everything is new.
func (b *batch) size() int { return 3 * (len(b.req.A) + len(b.req.B) + len(b.res.Edges)) }

// rows makes the rows of a part of a list, which begins at a position.
func (b *batch) rows(list []*canon.Object, from int) ([]row, error) {
	rows := make([]row, len(list))
	err := spread(len(list), func(n, to int) (err error) {
		for ; n < to; n++ {
			if rows[n], err = newRow(list[n], b.entityType); err != nil {
				return err
			}
			if id := callerID(list[n], b.req.IDField, int64(from+n)); strings.HasPrefix(id, recordPrefix) {
				rows[n].stored = id
			}
		}
		return nil
	})
	return rows, err
}

// callOf are the arguments that a replay needs. Numbers and comparators go in
// as text: their literals are part of the pins.
func callOf(req resolve.Request) (*canon.Object, error) {
	comparators, err := canon.Compact(req.Comparators)
	_, idErr := canon.Compact(req.IDField)
	if err = cmp.Or(err, idErr); err != nil {
		return nil, badText(err)
	}
	call := canon.Obj("id_field", req.IDField, "threshold", thresholdText(req))
	if req.Entity != "" {
		call.Set("entity", req.Entity)
	} else {
		call.Set("comparators", string(comparators))
	}
	for _, o := range []struct{ key, value string }{
		{"backend", req.Backend}, {"block", req.Block}, {"pack_version", req.PackVersion}, {"engine", req.Engine},
		{"model", string(req.Model)},
	} {
		if o.value != "" {
			call.Set(o.key, o.value)
		}
	}
	return call, nil
}

func thresholdText(req resolve.Request) string {
	text := canon.FloatText(req.Threshold)
	if req.ThresholdInt {
		text = strings.TrimSuffix(text, ".0")
	}
	return text
}

// record appends the batch: records, the run, the decisions in the engine's order.
func (b *batch) record(ctx context.Context, u *unit) error {
	ia, la, err := b.store(u, b.req.A, b.a)
	if err != nil {
		return err
	}
	ib, lb, err := b.store(u, b.req.B, b.b)
	if err != nil {
		return err
	}
	run, err := u.recordRun(b.verb, b.call, b.pins, la, lb)
	if err != nil {
		return err
	}
	r := u.reader()
	for edges := range slices.Chunk(b.res.Edges, 1024) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		made, err := b.verdicts(u.s, edges, run, ia, ib)
		if err != nil {
			return err
		}
		for i := range made {
			if err := made[i].record(u, r, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// edgeDecision is an edge as it is recorded unless its link is withheld, all
// made that needs no state.
type edgeDecision struct {
	verdict
	prepared
}

// verdicts makes the decisions of some edges, on all cores.
func (b *batch) verdicts(s *state, edges []resolve.Edge, run string, ia, ib []int32) ([]edgeDecision, error) {
	made := make([]edgeDecision, len(edges))
	err := spread(len(edges), func(n, to int) (err error) {
		for ; n < to; n++ {
			e := &edges[n]
			x, y := ia[e.I], ib[e.J]
			made[n].verdict = edgeVerdict(e, b.verb, b.pins, x, y)
			if x == y {
				continue // a record matches itself: answered, nothing to record
			}
			if made[n].prepared, err = made[n].prepare(s, run, ""); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

// record records one edge.
func (d *edgeDecision) record(u *unit, r *reader, run string) error {
	if d.a == d.b {
		return nil
	}
	if linkingIdentity(d.identity) {
		bad, err := r.contradicts(d.a, d.b)
		if err != nil {
			return err
		}
		if bad {
			_, err := u.recordVerdict(&d.verdict, run, withheldConflict)
			return err
		}
	}
	_, err := u.recordPrepared(&d.verdict, &d.prepared, run, "")
	return err
}

// Verbs of the runs that comparisons come in by.
const (
	verbReconcile = "reconcile"
	verbDedupe    = "dedupe"
	verbCompare   = "compare" // one pair
)

// Why a link is withheld.
const (
	withheldConflict  = "conflict"
	withheldAmbiguous = "ambiguous"
)

// store stores the rows of one list and gives their records and the run's list.
// rows are those of the list, nil when they are made here part by part.
func (b *batch) store(u *unit, list []*canon.Object, rows []row) ([]int32, runList, error) {
	idx := make([]int32, 0, len(list))
	out := runList{ids: make([]string, 0, len(list)), rows: map[int][]byte{}}
	const part = 4096
	for from := 0; from < len(list); from += part {
		to := min(from+part, len(list))
		var some []row
		if rows != nil {
			some = rows[from:to]
		} else {
			var err error
			if some, err = b.rows(list[from:to], from); err != nil {
				return nil, out, err
			}
		}
		for n := range some {
			r := &some[n]
			rec := int32(-1)
			if r.stored != "" {
				rec = u.s.lookupRecord(r.stored)
			}
			if rec < 0 {
				var err error
				if rec, err = u.store(r, b.entityType); err != nil {
					return nil, out, err
				}
			}
			// The row is kept when the record's own content would not give it back:
			// it was handed over under an address, or differs beyond 4 decimals.
			if u.s.recs[rec].content != r.content {
				out.rows[from+n] = r.blob
			}
			id := r.id
			if r.stored != "" {
				id = u.s.recordID(rec)
			}
			idx, out.ids = append(idx, rec), append(out.ids, id)
		}
	}
	return idx, out, nil
}

// checkDecision compares a decision with its event, once while it is cached.
func (r *reader) checkDecision(i int32) error {
	if r.l.cache.checked.has(i) {
		return nil
	}
	_, err := r.receipt(i)
	return err
}
