package ledger

import (
	"context"
	"database/sql/driver"
	"slices"
	"time"

	"github.com/arche-ledger/arche/ledger/duck"
)

// eventPieces are the columns of an event as one text and the lengths of its
// parts: the driver copies each text it hands over twice, and an event has
// eight.
const eventPieces = `seq, v, recorded_at, concat(log, id, kind, subject, supersedes, body, actor, link),
	strlen(log), strlen(id), strlen(kind), strlen(subject), strlen(supersedes), strlen(body), strlen(actor)`

// scanPieces makes an event of a row of eventPieces. All its texts share one
// piece of memory: who keeps one for long clones it.
func scanPieces(v []driver.Value, e *Event) error {
	e.seq, _ = v[0].(int64)
	n, _ := v[1].(int32)
	e.version = int(n)
	t, timed := v[2].(time.Time)
	rest, _ := v[3].(string)
	for i, part := range []*string{&e.log, &e.id, &e.kind, &e.subject, &e.supersedes, &e.body, &e.actor} {
		n, _ := v[4+i].(int64) // nil for NULL, which adds nothing to the text
		*part, rest = rest[:n], rest[n:]
	}
	e.link = rest
	if !timed {
		return alteredEvent(e, "it has no time")
	}
	e.recordedAt = t.UTC()
	return nil
}

// selectPieces reads the events that a clause picks, in the order in which they
// lie; the clause is a constant text.
func selectPieces(ctx context.Context, db *duck.DB, clause string, args []any, out []Event) ([]Event, error) {
	err := db.Query(ctx, `SELECT `+eventPieces+` FROM events `+clause, args, func(v []driver.Value) error {
		out = append(out, Event{})
		return scanPieces(v, &out[len(out)-1])
	})
	return out, err
}

// readEvents reads the next events behind a seq, at most limit places far.
func readEvents(ctx context.Context, db *duck.DB, after int64, limit int) ([]Event, error) {
	return readInto(ctx, db, after, limit, nil)
}

// readInto is readEvents into a slice that is used again.
func readInto(ctx context.Context, db *duck.DB, after int64, limit int, out []Event) ([]Event, error) {
	out, err := selectPieces(ctx, db, `WHERE seq > ? AND seq <= ?`, []any{after, after + int64(limit)}, out[:0])
	inOrderOfSeq(out)
	return out, err
}

// inOrderOfSeq sorts events that do not lie in order. They do, because they are
// only ever added, and looking costs less than the database's sorting.
func inOrderOfSeq(events []Event) {
	bySeq := func(a, b Event) int { return compareInt(a.seq, b.seq) }
	if !slices.IsSortedFunc(events, bySeq) {
		slices.SortStableFunc(events, bySeq)
	}
}
