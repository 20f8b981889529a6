package ledger

import (
	"context"
	"database/sql/driver"
	"iter"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Append appends the drafts as one unit of work under the append rule. The
// result has one event a draft: the appended one, or the current one where the
// draft changed nothing. Records, runs and decisions come in through their
// verbs only.
func (l *Ledger) Append(ctx context.Context, drafts []Draft) ([]Event, error) {
	out := make([]Event, 0, len(drafts))
	err := l.write(ctx, func(u *unit) error {
		for i := range drafts {
			e, err := u.draft(ctx, &drafts[i])
			if err != nil {
				return err
			}
			out = append(out, *e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// LetGo lets other processes have the file at once; the next call takes it again.
func (l *Ledger) LetGo() { l.store.LetGo() }

func (u *unit) draft(ctx context.Context, d *Draft) (*Event, error) {
	switch d.Kind {
	case KindRecordStored, KindRunRecorded, KindDecisionRecorded, KindEvidenceObserved:
		return nil, fault.New(fault.Internal, "events of kind %s are appended by their verbs", d.Kind)
	}
	if !utf8.ValidString(d.Subject) {
		return nil, fault.New(fault.Invalid, "the subject of %s is no UTF-8 text", d.Kind)
	}
	body, err := appendJCS(nil, d.Body)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 || body[0] != '{' {
		return nil, fault.New(fault.Internal, "the body of %s is no object", d.Kind)
	}
	supersedes := d.Supersedes
	if o, ok := u.s.others[d.Subject]; ok {
		current, err := u.current(ctx, o)
		if err != nil {
			return nil, err
		}
		if current.kind == d.Kind && current.body == string(body) && (supersedes == "" || supersedes == current.id) {
			return current, nil
		}
		if supersedes == "" {
			supersedes = current.id
		}
	}
	e := Event{version: eventVersion, kind: d.Kind, body: string(body), subject: d.Subject}
	folded, err := parseBody(&e, nil)
	if err != nil {
		return nil, err
	}
	added, err := u.add(d.Kind, d.Subject, supersedes, body, folded)
	if err != nil {
		return nil, err
	}
	for _, b := range d.Blobs {
		u.blob(b.Address, b.Bytes)
	}
	return added, nil
}

// current is the last event of a subject, from this unit or from the file.
func (u *unit) current(ctx context.Context, o other) (*Event, error) {
	if n := len(u.events); n > 0 && o.seq >= u.events[0].seq {
		return &u.events[o.seq-u.events[0].seq], nil
	}
	return readEvent(ctx, u.db, o.seq)
}

// Events iterates over events in fold order. The ledger is not held between
// events: what is appended meanwhile is seen too.
func (l *Ledger) Events(ctx context.Context, f Filter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		after := f.After
		for {
			var chunk []Event
			err := l.use(ctx, func(db *duck.DB, _ *state) (err error) {
				chunk, err = selectEvents(ctx, db, &f, after)
				return err
			})
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range chunk {
				if !yield(e, nil) {
					return
				}
			}
			if len(chunk) < eventsChunk {
				return
			}
			after = chunk[len(chunk)-1].seq
		}
	}
}

// eventsChunk is how many events Events reads at a time.
const eventsChunk = 5000

// selectEvents reads the next events that a filter takes.
func selectEvents(ctx context.Context, db *duck.DB, f *Filter, after int64) ([]Event, error) {
	where, args := ` WHERE seq > ?`, []any{after}
	if f.Kinds != nil {
		where += ` AND kind IN (SELECT unnest(?))`
		args = append(args, f.Kinds)
	}
	if f.Subject != "" {
		where += ` AND subject = ?`
		args = append(args, f.Subject)
	}
	args = append(args, eventsChunk)
	return selectPieces(ctx, db, where+` ORDER BY seq LIMIT ?`, args, nil)
}

// Blob returns the bytes stored under an address. Content whose address is a
// hash of it is compared with it.
func (l *Ledger) Blob(ctx context.Context, address string) ([]byte, error) {
	var data []byte
	found := false
	err := l.use(ctx, func(db *duck.DB, _ *state) error {
		return db.Query(ctx, `SELECT bytes FROM blobs WHERE address = ? LIMIT 1`, []any{address}, func(v []driver.Value) error {
			b, ok := v[0].([]byte)
			data, found = append([]byte{}, b...), ok
			return nil
		})
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errNoBlob
	case !fitsAddress(address, data):
		return nil, altered("the content of %s does not fit its address", clip(address))
	}
	return data, nil
}

// fitsAddress checks content against an address that is a BLAKE3 hash of it.
func fitsAddress(address string, data []byte) bool {
	for _, prefix := range []string{"doc", "lst", "txt", "row"} {
		if len(address) > len(prefix) && address[:len(prefix)+1] == prefix+":" {
			return ContentAddress(prefix, data) == address
		}
	}
	return true
}
