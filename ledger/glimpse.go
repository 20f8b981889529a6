package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"maps"
	"slices"
	"strings"

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
// records, or when the id was given to many pairs: the whole state tells.
func glimpse(ctx context.Context, db *duck.DB, id string) (*state, error) {
	f := &loader{ctx: ctx, db: db, s: newState(), partial: true}
	g := glimpsed{f: f, rows: map[int64]bool{}, seen: map[string]bool{}}
	if err := g.find(id); err != nil || len(g.rows) == 0 {
		return f.s, err
	}
	if len(g.rows) > mostGlimpsed || len(g.records) > mostGlimpsed {
		return nil, nil
	}
	operated, err := f.operated(g.records)
	if err != nil || operated {
		return nil, err
	}
	if err := f.runRows(` AND subject IN (SELECT unnest(?))`, g.runs); err != nil {
		return nil, err
	}
	places, err := f.placesOf("records", g.records)
	if err != nil {
		return nil, err
	}
	for _, seq := range places {
		if err := f.recordRows(recordColumns+` FROM records WHERE seq = ?`, seq); err != nil {
			return nil, err
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(g.rows)) {
		if err := f.decisionRow(seq); err != nil {
			return nil, err
		}
	}
	return f.s, f.fates(g.records)
}

// mostGlimpsed bounds the rows and the records of one glimpse: statements name
// each of them.
const mostGlimpsed = 16

func anyOf(column string, n int) string {
	return "(" + strings.TrimSuffix(strings.Repeat(column+" = ? OR ", n), " OR ") + ")"
}

// placesOf are the places at which a table names records, ascending. One column
// is looked through, one equation an id: a join, or the other columns with it,
// would take twice as long.
func (f *loader) placesOf(table string, records []string) (places []int64, err error) {
	err = f.db.Query(f.ctx, `SELECT seq FROM `+table+` WHERE `+anyOf("record_id", len(records)), texts(records), func(v []driver.Value) error {
		seq, _ := v[0].(int64)
		places = append(places, seq)
		return nil
	})
	slices.Sort(places)
	return slices.Compact(places), err
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// glimpsed are the places of the decisions of one public id and around it, and
// what they name.
type glimpsed struct {
	f             *loader
	rows          map[int64]bool
	records, runs []string
	seen          map[string]bool
}

func (g *glimpsed) note(list *[]string, v driver.Value) {
	if text, ok := v.(string); ok && !g.seen[text] {
		g.seen[text] = true
		*list = append(*list, text)
	}
}

// find looks through one column at a time: reading all of a decision is left to
// its place.
func (g *glimpsed) find(id string) error {
	var events, replaced []string
	err := g.scan("decision_id", id, func(event string, supersedes driver.Value) {
		events = append(events, event)
		if text, ok := supersedes.(string); ok {
			replaced = append(replaced, text)
		}
	})
	if len(g.rows) > mostGlimpsed {
		return err
	}
	for _, event := range events {
		if err == nil {
			err = g.scan("supersedes", event, nil)
		}
	}
	for _, event := range replaced {
		if err == nil {
			err = g.scan("event_id", event, nil)
		}
	}
	return err
}

func (g *glimpsed) scan(column, text string, take func(event string, supersedes driver.Value)) error {
	return g.f.db.Query(g.f.ctx, `SELECT seq, event_id, supersedes, record_a, record_b, run_id FROM decisions WHERE `+column+` = ?`, []any{text},
		func(v []driver.Value) error {
			seq, _ := v[0].(int64)
			event, _ := v[1].(string)
			g.rows[seq] = true
			g.note(&g.records, v[3])
			g.note(&g.records, v[4])
			g.note(&g.runs, v[5])
			if take != nil {
				take(event, v[2])
			}
			return nil
		})
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
	if err == nil {
		err = f.s.markAbsent(f.ctx, f.db, " AND "+anyOf("record_id", len(records)), texts(records)...)
	}
	if err != nil {
		return err
	}
	places, err := f.placesOf("members", records)
	for _, seq := range places {
		if err == nil {
			err = f.memberships(seq, records)
		}
	}
	return err
}

// memberships takes the changes in that an event made to records.
func (f *loader) memberships(seq int64, records []string) error {
	return f.db.Query(f.ctx, `SELECT record_id, entity_id FROM members WHERE seq = ? AND `+anyOf("record_id", len(records))+` ORDER BY rowid`,
		append([]any{seq}, texts(records)...), func(v []driver.Value) error {
			record, _ := v[0].(string)
			of := &f.s.recs[f.s.lookupRecord(record)] // there, because a decision of it is
			of.ent = -1
			if id, ok := v[1].(string); ok {
				of.ent = int32(len(f.s.ents)) //nolint:gosec // a handful of rows
				f.s.ents = append(f.s.ents, entity{id: id})
			}
			return nil
		})
}
