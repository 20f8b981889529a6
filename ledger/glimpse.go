package ledger

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/arche-ledger/arche/ledger/duck"
)

// glimpseFrom is the number of events from which the first answer about one
// decision does not wait for the whole state: taking that of a million events
// takes seconds, finding the rows of one decision a tenth of one.
const glimpseFrom = 50_000

// mostGlimpses is how many answers are glimpsed before the whole state is
// taken: who asks a fourth time will ask again, and then each answer comes from
// memory.
const mostGlimpses = 3

// useFor is use for an answer about one decision. While nothing is folded yet
// and the log is long, fn gets a state that holds that decision alone.
func (l *Ledger) useFor(ctx context.Context, id string, fn func(db *duck.DB, s *state) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if l.state != nil || l.glimpses >= mostGlimpses {
		l.mu.Unlock()
		return l.use(ctx, fn)
	}
	full := false
	err := l.store.Use(ctx, func(db *duck.DB) error {
		end, err := l.lastEvent(ctx, db)
		if err != nil {
			return err
		}
		if full = end.seq < l.glimpse; full {
			return nil
		}
		if err := l.checkHead(ctx, db, end); err != nil {
			return err
		}
		s, err := glimpse(ctx, db, id)
		if err != nil || s == nil {
			full = err == nil
			return err
		}
		l.glimpses++
		l.cache.reset()
		defer l.cache.reset() // its keys are places in a state that is thrown away
		return fn(db, s)
	})
	l.mu.Unlock()
	switch {
	case errors.Is(err, duck.ErrClosed):
		return errClosed
	case err != nil || !full:
		return err
	}
	return l.use(ctx, fn)
}

// glimpse makes a state of everything that an answer about one public id needs:
// its rows, what they replace and what replaced them, their records, runs, and
// the entity of record a. It is nil when an operator had a say about one of the
// records, which only the whole state tells.
func glimpse(ctx context.Context, db *duck.DB, id string) (*state, error) {
	var records, runs []string
	seen := map[string]bool{}
	note := func(list *[]string, v driver.Value) {
		if text, ok := v.(string); ok && !seen[text] {
			seen[text] = true
			*list = append(*list, text)
		}
	}
	const rows = `WITH d AS MATERIALIZED (SELECT event_id, supersedes FROM decisions WHERE decision_id = ?1)`
	const which = ` FROM decisions WHERE decision_id = ?1 OR supersedes IN (SELECT event_id FROM d) OR event_id IN (SELECT supersedes FROM d)`
	err := db.Query(ctx, rows+` SELECT record_a, record_b, run_id`+which, []any{id}, func(v []driver.Value) error {
		note(&records, v[0])
		note(&records, v[1])
		note(&runs, v[2])
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := &loader{ctx: ctx, db: db, s: newState(), partial: true}
	if len(records) == 0 {
		return f.s, nil
	}
	operated, err := f.operated(records)
	if err != nil || operated {
		return nil, err
	}
	if err := f.runRows(` AND subject IN (SELECT unnest(?))`, runs); err != nil {
		return nil, err
	}
	if err := f.recordRows(recordColumns+` FROM records WHERE record_id IN (SELECT unnest(?)) ORDER BY seq`, records); err != nil {
		return nil, err
	}
	if err := f.decisionRows(rows+decisionColumns+which+` ORDER BY seq`, id); err != nil {
		return nil, err
	}
	return f.s, f.fates(records)
}

// operated reports whether an operator decided about one of the records.
func (f *loader) operated(records []string) (found bool, err error) {
	err = f.db.Query(f.ctx, `SELECT 1 FROM events e, (SELECT unnest(?) AS id) r
		WHERE e.kind = 'operator.decided' AND contains(e.subject, r.id) LIMIT 1`, []any{records}, func([]driver.Value) error {
		found = true
		return nil
	})
	return found, err
}

// fates notes which records' values were erased and which entity each is in.
func (f *loader) fates(records []string) error {
	err := f.db.Query(f.ctx, `SELECT seq, subject FROM events WHERE kind = 'values.erased' AND subject IN (SELECT unnest(?))`, []any{records},
		func(v []driver.Value) error {
			seq, _ := v[0].(int64)
			subject, _ := v[1].(string)
			if i := f.s.lookupRecord(subject); i >= 0 && f.s.recs[i].seq < seq {
				f.s.recs[i].erased = true
			}
			return nil
		})
	if err != nil {
		return err
	}
	return f.db.Query(f.ctx, `SELECT record_id, entity_id FROM members WHERE record_id IN (SELECT unnest(?)) ORDER BY seq`, []any{records},
		func(v []driver.Value) error {
			record, _ := v[0].(string)
			i := f.s.lookupRecord(record)
			if i < 0 {
				return altered("members names a record that was never stored")
			}
			f.s.recs[i].ent = -1
			if id, ok := v[1].(string); ok {
				f.s.recs[i].ent = int32(len(f.s.ents)) //nolint:gosec // a handful of rows
				f.s.ents = append(f.s.ents, entity{id: id})
			}
			return nil
		})
}
