package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/arche-ledger/arche/ledger/duck"
)

// Query runs a reading query over the tables and views of the ledger and calls
// row for each row; the values are valid during the call only. The ledger is
// held while it runs, so the rows are one moment's, and row must not call the
// ledger. sql is a constant text of ours, never made of input.
func (l *Ledger) Query(ctx context.Context, sql string, args []any, row func(v []driver.Value) error) error {
	return l.use(ctx, func(db *duck.DB, _ *state) error { return db.Query(ctx, sql, args, row) })
}

// Head is the end of the log.
func (l *Ledger) Head(ctx context.Context) (log string, seq int64, link string, err error) {
	err = l.use(ctx, func(_ *duck.DB, s *state) error {
		log, seq, link = logMain, s.seq, s.link
		return nil
	})
	return log, seq, link, err
}

// everIn are the records that ever were in an entity of that id.
func (r *reader) everIn(id string) ([]int32, error) {
	var out []int32
	err := r.db.Query(r.ctx, `SELECT DISTINCT record_id FROM members WHERE entity_id = ? ORDER BY record_id`, []any{id}, func(v []driver.Value) error {
		text, _ := v[0].(string)
		i := r.s.lookupRecord(text)
		if i < 0 {
			return altered("members names a record %s that was never stored", clip(fmt.Sprint(v[0])))
		}
		out = append(out, i)
		return nil
	})
	return out, err
}
