package ledger

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"github.com/arche-ledger/arche/ledger/duck"
)

// unit is one unit of work: its events are folded as they are added and become
// durable together, or not at all.
type unit struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	l      *Ledger
	db     *duck.DB
	s      *state
	actor  string
	at     time.Time
	seq    int64
	link   string
	events []Event // those not given to the database yet
	blobs  [][]driver.Value
	erased []string // addresses whose content goes
	feed   *feed    // of a long unit: its transaction is open, and what it adds goes there
	n      int      // events added
	stored bool     // contents were added
}

// write runs fn as a unit of work. What fn adds is folded at once, so that later
// parts see it; when anything fails the fold is thrown away and made again.
func (l *Ledger) write(ctx context.Context, fn func(u *unit) error) error {
	return l.writeUnit(ctx, 0, fn)
}

// writeUnit is write for a unit that is expected to write so many rows. A long
// one gives them to the database as it goes, in one transaction from its start
// to its end, while the next are made, and holds a few thousand of them at a time.
func (l *Ledger) writeUnit(ctx context.Context, rows int, fn func(u *unit) error) error {
	return l.use(ctx, func(db *duck.DB, s *state) (err error) {
		u := &unit{ctx: ctx, l: l, db: db, s: s, actor: l.actor(ctx), at: l.now(s), seq: s.seq, link: s.link}
		s.flushPending() // of a unit that another process wrote, rows and all
		s.rows = newRowSet()
		whole := false
		defer func() {
			s.rows = nil
			if !whole && u.n > 0 {
				l.state = nil
			}
		}()
		if rows >= l.long {
			err = u.runLong(ctx, rows, fn)
		} else if err = fn(u); err == nil {
			err = u.commit(ctx)
		}
		if err != nil {
			return err
		}
		whole = true
		if u.stored {
			l.keepIndex(ctx, db, s, u.n)
		}
		if l.checkpointDue(s) {
			// What was asked for is durable; a checkpoint that fails is tried again
			// with the next unit.
			_ = l.checkpointAlone(ctx, db, s)
		}
		return nil
	})
}

const (
	longUnit = 50_000 // rows from which a unit is long
	unitHeld = 8192   // events that a long unit holds at most
)

// runLong runs a long unit within its transaction.
func (u *unit) runLong(ctx context.Context, rows int, fn func(u *unit) error) error {
	err := u.l.store.Write(ctx, u.db, rows, func() (err error) {
		u.feed = newFeed(ctx, u.db)
		defer func() {
			if ended := u.feed.end(); err == nil {
				err = ended
			}
		}()
		if err := fn(u); err != nil {
			return err
		}
		u.s.flushPending()
		return u.insert(ctx)
	})
	if err != nil || u.n == 0 {
		return err
	}
	return u.remember()
}

// checkpointAlone signs a checkpoint as a unit of work of its own.
func (l *Ledger) checkpointAlone(ctx context.Context, db *duck.DB, s *state) error {
	s.rows = newRowSet()
	u := &unit{ctx: ctx, l: l, db: db, s: s, actor: l.actor(ctx), at: l.now(s), seq: s.seq, link: s.link}
	_, err := u.checkpoint(ctx, l.opts.Signer)
	if err == nil {
		err = u.commit(ctx)
	}
	if err != nil && u.n > 0 {
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
// reads of it. The event is good until the next is added.
func (u *unit) add(kind, subject, supersedes string, body []byte, folded any) (*Event, error) {
	return u.addText(kind, subject, supersedes, string(body), "", folded)
}

// addText is add for a body that is text already, and perhaps an address that is
// known.
func (u *unit) addText(kind, subject, supersedes, body, id string, folded any) (*Event, error) {
	if u.feed != nil && len(u.events) >= u.l.held {
		if err := u.insert(u.ctx); err != nil {
			return nil, err
		}
	}
	u.events = append(u.events, Event{
		log: logMain, seq: u.seq + 1, version: eventVersion, id: id, kind: kind, subject: subject, supersedes: supersedes,
		body: body, actor: u.actor, recordedAt: u.at,
	})
	e := &u.events[len(u.events)-1]
	if id == "" {
		e.id = eventID(e.version, e.kind, e.subject, e.supersedes, e.body)
	}
	e.link = chainLink(u.link, e)
	u.seq, u.link = e.seq, e.link
	u.n++
	return e, u.s.apply(e, folded)
}

// blob stores content with the event that was added last.
func (u *unit) blob(address string, data []byte) {
	u.blobs = append(u.blobs, []driver.Value{address, data, u.seq})
	u.stored = true
}

// reader answers questions about records within the unit.
func (u *unit) reader() *reader {
	r := u.l.reader(u.ctx, u.db, u.s)
	r.u, r.before = u, u.settle
	return r
}

// holds is the content that an event of the unit stored first, nil when the unit
// does not hold it.
func (u *unit) holds(seq int64) []byte {
	if u == nil {
		return nil
	}
	n, ok := slices.BinarySearchFunc(u.blobs, seq, func(b []driver.Value, seq int64) int { return cmp.Compare(b[2].(int64), seq) })
	if !ok {
		return nil
	}
	data, _ := u.blobs[n][1].([]byte)
	return data
}

// commit makes the unit durable: transaction, head, then the caller answers.
func (u *unit) commit(ctx context.Context) error {
	if u.n == 0 {
		return nil
	}
	u.s.flushPending()
	err := u.l.store.Write(ctx, u.db, len(u.events)+len(u.blobs)+u.s.rows.n, func() error { return u.insert(ctx) })
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return u.remember()
}

func (u *unit) remember() error {
	if err := u.l.store.Remember(logMain, u.seq, u.link); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

// settle waits until the database has what a long unit gave it. Who reads from
// the database within a unit calls it first.
func (u *unit) settle() error {
	if u.feed == nil {
		return nil
	}
	return u.feed.settle()
}

// insert gives the database what the unit holds, within its transaction.
func (u *unit) insert(ctx context.Context) error {
	if u.feed != nil {
		return u.giveAll(ctx)
	}
	if err := u.db.Insert(ctx, "events", eventRows(u.events)); err != nil {
		return err
	}
	if err := u.db.Insert(ctx, "blobs", u.blobs); err != nil {
		return err
	}
	if err := u.s.rows.insert(ctx, u.db, u.s); err != nil {
		return err
	}
	return u.erase(ctx)
}

// giveAll is insert of a long unit: what it holds is the feed's from now on.
func (u *unit) giveAll(ctx context.Context) error {
	events, blobs := u.events, u.blobs
	u.events, u.blobs = make([]Event, 0, u.l.held), nil
	if err := u.feed.give("events", func() [][]driver.Value { return eventRows(events) }); err != nil {
		return err
	}
	if err := u.feed.give("blobs", func() [][]driver.Value { return blobs }); err != nil {
		return err
	}
	// The rows are made here: they read the state, which goes on changing.
	err := u.s.rows.parts(u.s, func(table string, rows [][]driver.Value) error {
		return u.feed.give(table, func() [][]driver.Value { return rows })
	})
	u.s.rows.clear()
	if err != nil || len(u.erased) == 0 {
		return err
	}
	if err := u.settle(); err != nil {
		return err
	}
	err = u.erase(ctx)
	u.erased = nil
	return err
}

// erase takes away the contents that go.
func (u *unit) erase(ctx context.Context) error {
	for _, a := range u.erased {
		if err := u.db.Exec(ctx, `DELETE FROM blobs WHERE address = ?`, a); err != nil {
			return err
		}
		if err := u.unindex(ctx, a); err != nil {
			return err
		}
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
