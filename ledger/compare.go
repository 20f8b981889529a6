package ledger

import (
	"context"
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
	b, err := newBatch(req, res)
	if err != nil {
		return nil, err
	}
	if err := l.write(ctx, func(u *unit) error { return b.record(ctx, u) }); err != nil {
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

// newBatch does what needs no ledger: addresses and canonical forms.
func newBatch(req resolve.Request, res *resolve.Result) (*batch, error) {
	b := &batch{req: req, res: res, verb: verbReconcile, entityType: baseEntity(req.Entity)}
	if req.Dedupe {
		b.verb, req.B = verbDedupe, req.A // the run has the one list on both sides
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
	for _, side := range []struct {
		list []*canon.Object
		rows *[]row
	}{{req.A, &b.a}, {req.B, &b.b}} {
		*side.rows = make([]row, len(side.list))
		for i, rec := range side.list {
			if (*side.rows)[i], err = newRow(rec, b.entityType); err != nil {
				return nil, err
			}
			if id := callerID(rec, req.IDField, int64(i)); strings.HasPrefix(id, recordPrefix) {
				(*side.rows)[i].stored = id
			}
		}
	}
	return b, nil
}

// callOf are the arguments that a replay needs. Numbers and comparators go in
// as text: their literals are part of the pins.
func callOf(req resolve.Request) (*canon.Object, error) {
	call := canon.Obj("id_field", req.IDField, "threshold", thresholdText(req))
	if req.Entity != "" {
		call.Set("entity", req.Entity)
	} else {
		text, err := canon.Compact(req.Comparators)
		if err != nil {
			return nil, badText(err)
		}
		call.Set("comparators", string(text))
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
	ia, la, err := b.store(u, b.a)
	if err != nil {
		return err
	}
	ib, lb, err := b.store(u, b.b)
	if err != nil {
		return err
	}
	run, err := u.recordRun(b.verb, b.call, b.pins, la, lb)
	if err != nil {
		return err
	}
	r := u.l.reader(ctx, u.db, u.s)
	for i := range b.res.Edges {
		if i%1024 == 1023 && ctx.Err() != nil {
			return ctx.Err()
		}
		e := &b.res.Edges[i]
		x, y := ia[e.I], ib[e.J]
		if x == y {
			continue // a record matches itself: answered, nothing to record
		}
		v := edgeVerdict(e, b.verb, b.pins, x, y)
		withheld := ""
		if linkingIdentity(v.identity) {
			bad, err := r.contradicts(x, y)
			if err != nil {
				return err
			}
			if bad {
				withheld = withheldConflict
			}
		}
		if _, err := u.recordVerdict(&v, run, withheld); err != nil {
			return err
		}
	}
	return nil
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
func (b *batch) store(u *unit, rows []row) ([]int32, runList, error) {
	idx := make([]int32, len(rows))
	list := runList{ids: make([]string, len(rows)), rows: map[int][]byte{}}
	for i := range rows {
		r := &rows[i]
		rec := int32(-1)
		if r.stored != "" {
			rec = u.s.lookupRecord(r.stored)
		}
		if rec < 0 {
			var err error
			if rec, err = u.store(r, b.entityType); err != nil {
				return nil, list, err
			}
		}
		idx[i] = rec
		list.ids[i] = u.s.recordID(rec)
		// The row is kept when the record's own content would not give it back:
		// it was handed over under an address, or differs beyond 4 decimals.
		if u.s.recs[rec].content != r.content {
			list.rows[i] = r.blob
		}
	}
	return idx, list, nil
}

// checkDecision compares a decision with its event, once while it is cached.
func (r *reader) checkDecision(i int32) error {
	if r.l.cache.checked.has(i) {
		return nil
	}
	_, err := r.receipt(i)
	return err
}
