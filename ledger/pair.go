package ledger

import (
	"context"

	"github.com/arche-ledger/arche/resolve"
)

// ComparePair compares two records and records the verdict as one unit of work:
// the records, a run of the verb compare, the decision. The answer is the
// engine's. recorded is false for a record compared with itself, of which there
// is nothing to record.
func (l *Ledger) ComparePair(ctx context.Context, req resolve.PairRequest) (res *resolve.PairResult, recorded bool, err error) {
	defer l.store.Expect()()
	if res, err = resolve.ComparePair(ctx, req); err != nil {
		return nil, false, err
	}
	entityType := baseEntity(req.Entity)
	a, err := newRow(req.A, entityType)
	if err != nil {
		return nil, false, err
	}
	b, err := newRow(req.B, entityType)
	if err != nil {
		return nil, false, err
	}
	if a.id == b.id {
		return res, false, nil
	}
	pins, err := appendJCS(nil, res.Pins)
	if err != nil {
		return nil, false, err
	}
	err = l.write(ctx, func(u *unit) error { return u.recordPair(ctx, req, res, pins, &a, &b) })
	return res, err == nil, err
}

// recordPair appends what ComparePair found.
func (u *unit) recordPair(ctx context.Context, req resolve.PairRequest, res *resolve.PairResult, pins rawJSON, a, b *row) error {
	entityType := baseEntity(req.Entity)
	ia, err := u.store(a, entityType)
	if err != nil {
		return err
	}
	ib, err := u.store(b, entityType)
	if err != nil {
		return err
	}
	call := pairCall(req)
	call.Set("id_field", resolve.DefaultIDField)
	run, err := u.recordRun(verbCompare, call, pins, runList{ids: []string{a.id}}, runList{ids: []string{b.id}})
	if err != nil {
		return err
	}
	v := pairVerdict(res, pins, ia, ib, -1)
	withheld := ""
	if linkingIdentity(v.identity) {
		bad, err := u.l.reader(ctx, u.db, u.s).contradicts(ia, ib)
		if err != nil {
			return err
		}
		if bad {
			withheld = withheldConflict
		}
	}
	_, err = u.recordVerdict(&v, run, withheld)
	return err
}
