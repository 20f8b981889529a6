package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Incoming is an event on its way into a new ledger file. Its address and link
// are computed; they are never taken from elsewhere.
type Incoming struct {
	Version    int
	Kind       string
	Subject    string
	Supersedes string // "" replaces nothing
	Body       string // in canonical form
	Actor      string
	RecordedAt time.Time
	Blobs      []Blob
	ID         string // when it is known: the address must come out so
}

// metaContents is the key under which a file says up to which event contents may
// be absent, because the log came in without them.
const metaContents = "contents_from_event"

// Found makes a ledger file of events in their order. Contents of records,
// pieces and documents may be missing: the ledger then knows addresses and
// verdicts only, until the records are given again. link is what the last
// event's link must be. check looks at the whole ledger before the file appears
// under its name; when anything fails, nothing appears.
func Found(ctx context.Context, path string, opts Options, link string, events iter.Seq2[Incoming, error], check func(*Ledger) error) error {
	if err := duck.Vacant(path); err != nil {
		return err
	}
	return makeBeside(ctx, path, opts, func(made string) error {
		l, err := Open(made, opts)
		if err != nil {
			return err
		}
		err = l.found(ctx, link, events)
		if err == nil {
			err = l.Verify(ctx, nil)
		}
		if err == nil {
			err = check(l)
		}
		return errors.Join(err, l.Close())
	})
}

// RemoveEmpty removes a ledger file that holds no event, with what lies beside
// it, and reports whether it did.
func RemoveEmpty(ctx context.Context, path string, opts Options) (removed bool, err error) {
	l, err := Open(path, opts)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	err = l.Lend(ctx, func(path string) error { // nobody passes the gate meanwhile
		if removed = l.state != nil && l.state.seq == 0; !removed {
			return nil
		}
		return errors.Join(l.disk().RemoveAll(duck.HeadPath(path)), l.disk().RemoveAll(path))
	})
	return removed, err
}

func (l *Ledger) found(ctx context.Context, link string, events iter.Seq2[Incoming, error]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store.Use(ctx, func(db *duck.DB) error {
		s := newState()
		s.rows = newRowSet()
		in := &intake{ctx: ctx, l: l, db: db, s: s}
		for e, err := range events {
			if err == nil {
				err = in.take(&e)
			}
			if err != nil {
				return err
			}
		}
		if err := in.flush(); err != nil {
			return err
		}
		if s.link != link {
			return fault.New(fault.Damaged, "the events do not end in the link that the export names")
		}
		if err := l.noteContentsFrom(ctx, db, s.seq+1); err != nil {
			return err
		}
		return l.finishRestore(ctx, db, s)
	})
}

// noteContentsFrom writes down from which event on contents must be in the file.
func (l *Ledger) noteContentsFrom(ctx context.Context, db *duck.DB, from int64) error {
	return l.store.Write(ctx, db, 1, func() error {
		return db.Insert(ctx, "meta", [][]driver.Value{{metaContents, strconv.FormatInt(from, 10)}})
	})
}

// intake folds and writes events a piece at a time.
type intake struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	l      *Ledger
	db     *duck.DB
	s      *state
	events []Event
	blobs  [][]driver.Value
	size   int
}

// intakeMost bounds the bytes that are held before they are written.
const intakeMost = 32 << 20

func (in *intake) take(x *Incoming) error {
	e := Event{
		log: logMain, seq: in.s.seq + 1, version: x.Version, kind: x.Kind, subject: x.Subject, supersedes: x.Supersedes,
		body: x.Body, actor: x.Actor, recordedAt: x.RecordedAt,
	}
	e.id = eventID(e.version, e.kind, e.subject, e.supersedes, e.body)
	if x.ID != "" && x.ID != e.id {
		return fault.New(fault.Damaged, "event %d does not have the address %s that the export names", e.seq, clip(x.ID))
	}
	e.link = chainLink(in.s.link, &e)
	lists := map[string][]byte{}
	for _, b := range x.Blobs {
		if !fitsAddress(b.Address, b.Bytes) {
			return fault.New(fault.Damaged, "event %d: the content %s does not fit its address", e.seq, clip(b.Address))
		}
		lists[b.Address] = b.Bytes
		in.blobs = append(in.blobs, []driver.Value{b.Address, b.Bytes, e.seq})
		in.size += len(b.Bytes)
	}
	if e.recordedAt.UnixMicro() < in.s.at {
		return fault.New(fault.Damaged, "event %d is earlier than the one before it", e.seq)
	}
	body, err := parseBody(&e, func(address string, _ int64) ([]string, error) {
		data, ok := lists[address]
		if !ok {
			return nil, fault.New(fault.Damaged, "event %d: its list %s is not there", e.seq, clip(address))
		}
		v, err := canon.Parse(data, canon.Limits{})
		list, ok := v.([]any)
		if err != nil || !ok {
			return nil, fault.New(fault.Damaged, "event %d: its list %s is not a list", e.seq, clip(address))
		}
		return listIDs(list), nil
	})
	if err != nil {
		return err
	}
	if err := in.s.apply(&e, body); err != nil {
		return err
	}
	in.events = append(in.events, e)
	in.size += len(e.body)
	if len(in.events) >= restoreChunk || in.size >= intakeMost {
		return in.flush()
	}
	return in.ctx.Err()
}

func (in *intake) flush() error {
	err := in.l.store.Write(in.ctx, in.db, len(in.events)+len(in.blobs), func() error {
		if err := in.db.Insert(in.ctx, "events", eventRows(in.events)); err != nil {
			return err
		}
		return in.db.Insert(in.ctx, "blobs", in.blobs)
	})
	in.events, in.blobs, in.size = in.events[:0], in.blobs[:0], 0
	return err
}

// contentsFrom is the first event whose contents must all be in the file: 1, or
// the first one after a log that came in without.
func contentsFrom(ctx context.Context, db *duck.DB) (from int64, err error) {
	from = 1
	err = db.Query(ctx, `SELECT value FROM meta WHERE key = 'contents_from_event'`, nil, func(v []driver.Value) error {
		text, _ := v[0].(string)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return altered("the file does not say from which event on contents are in it")
		}
		from = n
		return nil
	})
	return from, err
}

// markAbsent notes the records whose contents did not come in with their events;
// they are as good as erased. where narrows the rows of records.
func (s *state) markAbsent(ctx context.Context, db *duck.DB, where string, args ...any) error {
	from, err := contentsFrom(ctx, db)
	if err != nil || from == 1 {
		return err
	}
	return db.Query(ctx, `SELECT record_id, seq FROM records WHERE seq < ?`+where+` AND seq NOT IN (SELECT seq FROM blobs WHERE left(address, 4) = 'rec:')`,
		append([]any{from}, args...), func(v []driver.Value) error {
			id, _ := v[0].(string)
			if i := s.lookupRecord(id); i >= 0 && s.recs[i].seq == v[1] && !s.recs[i].erased { // not stored again since
				s.recs[i].erased, s.recs[i].absent = true, true
			}
			return nil
		})
}
