package ledger

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// catchUp compares the file with the remembered head and with what is folded,
// and folds what others appended.
func (l *Ledger) catchUp(ctx context.Context, db *duck.DB) error {
	end, err := l.lastEvent(ctx, db)
	if err != nil {
		return err
	}
	if err := l.checkHead(ctx, db, end); err != nil {
		return err
	}
	if l.state != nil && !l.continues(ctx, db, end) {
		l.state = nil // another history than the one folded; the head has been checked
	}
	fresh := l.state == nil
	if fresh {
		l.cache.reset()
		l.tree = nil
		if l.state, err = l.load(ctx, db, end); err != nil {
			l.state = nil
			return err
		}
	}
	err = l.foldFrom(ctx, db, l.state, true)
	if err == nil && fresh {
		err = l.state.markAbsent(ctx, db, "")
	}
	if err != nil {
		l.state = nil
	}
	return err
}

// ending is where the log ends.
type ending struct {
	seq  int64
	link string
}

func (l *Ledger) lastEvent(ctx context.Context, db *duck.DB) (e ending, err error) {
	from := int64(0)
	if h, known := l.store.Head(); known {
		from = h.Seq // zone maps find the tail at once
	}
	e.link = zeroLink
	read := func(v []driver.Value) error {
		e.seq, _ = v[0].(int64)
		e.link, _ = v[1].(string)
		return nil
	}
	err = db.Query(ctx, `SELECT seq, link FROM events WHERE seq >= ? ORDER BY seq DESC LIMIT 1`, []any{from}, read)
	if err == nil && e.seq == 0 && from > 0 {
		err = db.Query(ctx, `SELECT seq, link FROM events ORDER BY seq DESC LIMIT 1`, nil, read)
	}
	return e, err
}

// checkHead reports what the file lost against the head that was acknowledged.
// A log that is longer than the head is a crash between commit and head.
func (l *Ledger) checkHead(ctx context.Context, db *duck.DB, end ending) error {
	h, known := l.store.Head()
	if !known {
		return nil
	}
	if end.seq < h.Seq {
		return fault.Wrap(ErrTruncated, fault.Damaged,
			"the ledger lost events: event %d was acknowledged and the file ends at event %d", h.Seq, end.seq).
			WithHint("restore the newest backup, or run: arche ledger repair --accept-loss to go on from event %d", end.seq)
	}
	link := end.link
	if end.seq > h.Seq {
		link = ""
		err := db.Query(ctx, `SELECT link FROM events WHERE seq = ?`, []any{h.Seq}, func(v []driver.Value) error {
			link, _ = v[0].(string)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if link != h.Link {
		return fault.Wrap(ErrRewritten, fault.Damaged,
			"the ledger was rewritten: event %d is not the one that was acknowledged", h.Seq).
			WithHint("run: arche ledger verify; restore the newest backup")
	}
	return nil
}

// continues reports whether the file holds the history that is folded.
func (l *Ledger) continues(ctx context.Context, db *duck.DB, end ending) bool {
	s := l.state
	if s.seq == 0 || s.seq == end.seq {
		return s.seq == 0 || s.link == end.link
	}
	if s.seq > end.seq {
		return false
	}
	same := false
	err := db.Query(ctx, `SELECT link FROM events WHERE seq = ?`, []any{s.seq}, func(v []driver.Value) error {
		same = v[0] == s.link
		return nil
	})
	return err == nil && same
}

// foldChunk is how many events are read at a time: a query over all of them
// would sort and hold the whole log.
const foldChunk = 20_000

// foldFrom folds the events behind what is folded. With check, addresses and
// links are computed again.
func (l *Ledger) foldFrom(ctx context.Context, db *duck.DB, s *state, check bool) error {
	lists := func(address string, seq int64) ([]string, error) { return l.idList(ctx, db, address, seq) }
	for {
		batch, err := readEvents(ctx, db, s.seq, foldChunk)
		if err != nil {
			return err
		}
		for i := range batch {
			e := &batch[i]
			if check {
				if err := checkEvent(e, s.seq, s.link); err != nil {
					return err
				}
			}
			body, err := parseBody(e, lists)
			if err != nil {
				return err
			}
			if err := s.apply(e, body); err != nil {
				return err
			}
		}
		if len(batch) < foldChunk {
			return nil
		}
	}
}

// checkEvent recomputes an event's address and link.
func checkEvent(e *Event, prevSeq int64, prevLink string) error {
	switch {
	case e.seq != prevSeq+1:
		return alteredEvent(e, "events are missing before it")
	case eventID(e.version, e.kind, e.subject, e.supersedes, e.body) != e.id:
		return alteredEvent(e, "its content does not fit its address")
	case chainLink(prevLink, e) != e.link:
		return alteredEvent(e, "its link does not fit its place, actor or time")
	}
	return nil
}

// readEvent reads one event and recomputes its address and its link.
func readEvent(ctx context.Context, db *duck.DB, seq int64) (*Event, error) {
	var e *Event
	link := zeroLink
	err := db.Query(ctx, `SELECT `+eventPieces+` FROM events WHERE seq >= ? AND seq <= ?`, []any{seq - 1, seq}, func(v []driver.Value) error {
		var x Event
		if err := scanPieces(v, &x); err != nil {
			return err
		}
		if x.seq == seq {
			if e != nil {
				return altered("event %d is there twice", seq)
			}
			e = &x
		} else {
			link = x.link
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, altered("event %d is gone", seq)
	}
	return e, checkEvent(e, seq-1, link)
}

func scanEvent(v []driver.Value) (Event, error) {
	var e Event
	e.log, _ = v[0].(string)
	e.seq, _ = v[1].(int64)
	n, _ := v[2].(int32)
	e.version = int(n)
	e.id, _ = v[3].(string)
	e.kind, _ = v[4].(string)
	e.subject, _ = v[5].(string)
	e.supersedes, _ = v[6].(string)
	e.body, _ = v[7].(string)
	e.actor, _ = v[8].(string)
	t, ok := v[9].(time.Time)
	e.link, _ = v[10].(string)
	if !ok {
		return e, alteredEvent(&e, "it has no time")
	}
	e.recordedAt = t.UTC()
	return e, nil
}

// idList reads a list of record ids that a run keeps as a blob.
func (l *Ledger) idList(ctx context.Context, db *duck.DB, address string, seq int64) ([]string, error) {
	list, err := l.rawList(ctx, db, address, seq)
	if err != nil {
		return nil, err
	}
	return listIDs(list), nil
}

func (l *Ledger) rawList(ctx context.Context, db *duck.DB, address string, seq int64) ([]any, error) {
	data, err := readBlob(ctx, db, address, seq)
	if err != nil {
		return nil, err
	}
	if ContentAddress("lst", data) != address {
		return nil, altered("the list %s does not fit its address", address)
	}
	v, err := canon.Parse(data, canon.Limits{})
	list, ok := v.([]any)
	if err != nil || !ok {
		return nil, altered("the list %s is not a list", address)
	}
	return list, nil
}

// readBlob reads the content stored under an address by the event at seq.
func readBlob(ctx context.Context, db *duck.DB, address string, seq int64) ([]byte, error) {
	var data []byte
	found := false
	err := db.Query(ctx, `SELECT bytes FROM blobs WHERE seq = ? AND address = ? LIMIT 1`, []any{seq, address}, func(v []driver.Value) error {
		b, ok := v[0].([]byte)
		data, found = append([]byte(nil), b...), ok
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoBlob
	}
	return data, nil
}

var errNoBlob = fault.Wrap(ErrErased, fault.NotFound, "content of this ledger that the answer needs is not there: it was erased or removed").
	WithHint("arche ledger log shows what was erased and why")
