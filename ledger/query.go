package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Query runs a reading query over the tables and views of the ledger and calls
// row for each row; the values are valid during the call only. The ledger is
// held while it runs, so the rows are one moment's, and row must not call the
// ledger. sql is a constant text of ours, never made of input.
func (l *Ledger) Query(ctx context.Context, sql string, args []any, row func(v []driver.Value) error) error {
	return l.peek(ctx, func(db *duck.DB, _ ending) error { return db.Query(ctx, sql, args, row) })
}

// peek runs fn with the file open and its end compared with the remembered head.
// Of a long log it takes no state, which whoever reads tables has no use for: it
// compares the number of rows instead.
func (l *Ledger) peek(ctx context.Context, fn func(db *duck.DB, end ending) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.store.Use(ctx, func(db *duck.DB) error {
		end, err := l.seen(ctx, db)
		if err != nil {
			return err
		}
		return fn(db, end)
	})
	switch {
	case errors.Is(err, duck.ErrFatal):
		l.state = nil
	case errors.Is(err, duck.ErrClosed):
		return errClosed
	}
	return err
}

// seen is the end of the log, checked.
func (l *Ledger) seen(ctx context.Context, db *duck.DB) (ending, error) {
	if l.state != nil && !l.fresh {
		return ending{l.state.seq, l.state.link}, nil
	}
	end, err := l.lastEvent(ctx, db)
	if err != nil {
		return end, err
	}
	if l.state != nil || end.seq <= l.verified {
		if err := l.catchUp(ctx, db); err != nil {
			return end, err
		}
		l.fresh = false
		return ending{l.state.seq, l.state.link}, nil
	}
	if err := l.checkHead(ctx, db, end); err != nil {
		return end, err
	}
	return end, l.checkCounts(ctx, db)
}

// Lend closes the ledger's file and lends its path to fn, for an export that
// needs a connection of its own. fn reads only, and lets go before it returns. A
// ledger in memory has no file to lend.
func (l *Ledger) Lend(ctx context.Context, fn func(path string) error) error {
	if l.store.Path() == "" {
		return fault.New(fault.Invalid, "a ledger in memory has no file to export from")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.store.Use(ctx, func(db *duck.DB) error {
		_, err := l.seen(ctx, db)
		return err
	}); err != nil {
		return err
	}
	return l.store.Lend(ctx, fn)
}

// Head is the end of the log.
func (l *Ledger) Head(ctx context.Context) (log string, seq int64, link string, err error) {
	err = l.peek(ctx, func(_ *duck.DB, end ending) error {
		log, seq, link = logMain, end.seq, end.link
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

// SeqBefore is the last event before a moment: an event's id, a date or a time
// (RFC 3339, UTC when it names no zone). With inclusive set the event itself, or
// the events of that very moment (the whole day of a date), count as before.
func (l *Ledger) SeqBefore(ctx context.Context, moment string, inclusive bool) (int64, error) {
	if strings.HasPrefix(moment, eventPrefix) {
		return l.seqOfEvent(ctx, moment, inclusive)
	}
	at, day, err := parseMoment(moment)
	if err != nil {
		return 0, err
	}
	switch {
	case inclusive && day:
		at = at.AddDate(0, 0, 1)
	case inclusive:
		at = at.Add(time.Microsecond)
	}
	var seq int64
	err = l.Query(ctx, `SELECT coalesce(max(seq), 0) FROM events WHERE recorded_at < ?`, []any{at}, func(v []driver.Value) error {
		seq, _ = v[0].(int64)
		return nil
	})
	return seq, err
}

func (l *Ledger) seqOfEvent(ctx context.Context, id string, inclusive bool) (int64, error) {
	seq := int64(-1)
	err := l.Query(ctx, `SELECT seq FROM events WHERE id = ?`, []any{id}, func(v []driver.Value) error {
		seq, _ = v[0].(int64)
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case seq < 0:
		return 0, fault.New(fault.NotFound, "no event %s in this ledger", canon.Repr(clip(id)))
	case inclusive:
		return seq, nil
	}
	return seq - 1, nil
}

func parseMoment(text string) (at time.Time, day bool, err error) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), form == "2006-01-02", nil
		}
	}
	return at, false, fault.New(fault.Invalid, "%s is no time and no event", canon.Repr(clip(text))).
		WithHint("for example 2026-12-01, 2026-12-01T08:30:00Z or evt:blake3:...")
}

// suggestions are the ids of a kind that begin with a text.
var suggestions = map[string]string{
	"decision": `SELECT DISTINCT decision_id FROM decisions WHERE starts_with(decision_id, ?) ORDER BY decision_id LIMIT 100`,
	"record":   `SELECT DISTINCT record_id FROM records WHERE starts_with(record_id, ?) ORDER BY record_id LIMIT 100`,
	"entity":   `SELECT DISTINCT entity_id FROM members WHERE starts_with(entity_id, ?) ORDER BY entity_id LIMIT 100`,
}

// Suggest offers up to 100 ids that begin with prefix, for a shell that
// completes a word: it reads a table as it stands and folds nothing. kind is
// decision, record or entity. A ledger that does not exist is not made.
func (l *Ledger) Suggest(ctx context.Context, kind, prefix string) ([]string, error) {
	if path := l.store.Path(); path != "" {
		if _, err := os.Stat(path); err != nil {
			return nil, nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	err := l.store.Use(ctx, func(db *duck.DB) error {
		return db.Query(ctx, suggestions[kind], []any{prefix}, func(v []driver.Value) error {
			if id, ok := v[0].(string); ok && id != "" {
				out = append(out, id)
			}
			return nil
		})
	})
	return out, err
}
