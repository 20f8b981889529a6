package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/arche-ledger/arche/ledger/duck"
)

// unit is one unit of work: its events are folded as they are added and become
// durable together, or not at all.
type unit struct {
	l      *Ledger
	db     *duck.DB
	s      *state
	actor  string
	at     time.Time
	seq    int64
	link   string
	events []Event
	blobs  [][]driver.Value
	erased []string // addresses whose content goes
}

// write runs fn as a unit of work. What fn adds is folded at once, so that later
// parts see it; when anything fails the fold is thrown away and made again.
func (l *Ledger) write(ctx context.Context, fn func(u *unit) error) error {
	return l.use(ctx, func(db *duck.DB, s *state) (err error) {
		u := &unit{l: l, db: db, s: s, actor: l.actor(ctx), at: l.now(s), seq: s.seq, link: s.link}
		s.flushPending() // of a unit that another process wrote, rows and all
		s.rows = newRowSet()
		whole := false
		defer func() {
			s.rows = nil
			if !whole && len(u.events) > 0 {
				l.state = nil
			}
		}()
		if err := fn(u); err != nil {
			return err
		}
		if err := u.commit(ctx); err != nil {
			return err
		}
		whole = true
		if len(u.blobs) > 0 {
			l.keepIndex(ctx, db, s)
		}
		if l.checkpointDue(s) {
			// What was asked for is durable; a checkpoint that fails is tried again
			// with the next unit.
			_ = l.checkpointAlone(ctx, db, s)
		}
		return nil
	})
}

// checkpointAlone signs a checkpoint as a unit of work of its own.
func (l *Ledger) checkpointAlone(ctx context.Context, db *duck.DB, s *state) error {
	s.rows = newRowSet()
	u := &unit{l: l, db: db, s: s, actor: l.actor(ctx), at: l.now(s), seq: s.seq, link: s.link}
	_, err := u.checkpoint(ctx, l.opts.Signer)
	if err == nil {
		err = u.commit(ctx)
	}
	if err != nil && len(u.events) > 0 {
		l.state = nil
	}
	return err
}

// now is the time of a unit: the clock's, but always later than the last
// unit's, so that equal times mean one unit.
func (l *Ledger) now(s *state) time.Time {
	t := l.opts.Clock().UTC().Truncate(time.Microsecond)
	if last := time.UnixMicro(s.at).UTC(); s.seq > 0 && !t.After(last) {
		t = last.Add(time.Microsecond)
	}
	return t
}

// add appends an event to the unit. body is canonical; folded is what the fold
// reads of it.
func (u *unit) add(kind, subject, supersedes string, body []byte, folded any) (*Event, error) {
	e := Event{
		log: logMain, seq: u.seq + 1, version: eventVersion, kind: kind, subject: subject, supersedes: supersedes,
		body: string(body), actor: u.actor, recordedAt: u.at,
	}
	e.id = eventID(e.version, e.kind, e.subject, e.supersedes, e.body)
	e.link = chainLink(u.link, &e)
	u.seq, u.link = e.seq, e.link
	u.events = append(u.events, e)
	return &e, u.s.apply(&e, folded)
}

// blob stores content with the event that was added last.
func (u *unit) blob(address string, data []byte) {
	u.blobs = append(u.blobs, []driver.Value{address, data, u.seq})
}

// commit makes the unit durable: transaction, head, then the caller answers.
func (u *unit) commit(ctx context.Context) error {
	if len(u.events) == 0 {
		return nil
	}
	u.s.flushPending()
	rows := u.s.rows
	err := u.l.store.Write(ctx, u.db, len(u.events)+len(u.blobs)+rows.n, func() error {
		if err := u.db.Insert(ctx, "events", eventRows(u.events)); err != nil {
			return err
		}
		if err := u.db.Insert(ctx, "blobs", u.blobs); err != nil {
			return err
		}
		for _, table := range projections {
			if err := u.db.Insert(ctx, table, rows.tables[table]); err != nil {
				return err
			}
		}
		for _, a := range u.erased {
			if err := u.db.Exec(ctx, `DELETE FROM blobs WHERE address = ?`, a); err != nil {
				return err
			}
			if err := u.unindex(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	if err := u.l.store.Remember(logMain, u.seq, u.link); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

func eventRows(events []Event) [][]driver.Value {
	rows := make([][]driver.Value, len(events))
	for i, e := range events {
		var supersedes driver.Value
		if e.supersedes != "" {
			supersedes = e.supersedes
		}
		rows[i] = []driver.Value{
			e.log, e.seq, int32(e.version), e.id, e.kind, e.subject, supersedes, e.body, e.actor, e.recordedAt, e.link, //nolint:gosec // version is 1
		}
	}
	return rows
}
