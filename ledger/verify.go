package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Finding is one thing that verify found wrong.
type Finding struct {
	Seq   int64  `json:"seq"`   // the event concerned, 0 for none
	Event string `json:"event"` // its id, "" for none
	Table string `json:"table"`
	Field string `json:"field"` // what differs
	What  string `json:"what"`
}

// Report is what a verification saw.
type Report struct {
	Events   int64     `json:"events"`
	Head     string    `json:"head"` // link of the last event
	Findings []Finding `json:"findings"`
	Notes    []string  `json:"notes"`
}

// mostFindings bounds a report: a file that differs everywhere says it once.
const mostFindings = 1000

func (r *Report) add(f Finding) {
	if len(r.Findings) < mostFindings {
		r.Findings = append(r.Findings, f)
	}
}

// Verify recomputes everything that the ledger stores: each event's address and
// link, the head, each blob against its address, each projection row against
// the fold. It changes nothing. The report, when given, is filled; the error is
// a Damaged fault when anything was found.
func (l *Ledger) Verify(ctx context.Context, report *Report) error {
	if report == nil {
		report = &Report{}
	}
	*report = Report{Findings: []Finding{}, Notes: []string{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = nil // the next call folds again, whatever is found
	err := l.store.Use(ctx, func(db *duck.DB) error {
		v := &verification{l: l, db: db, ctx: ctx, report: report}
		return v.run()
	})
	if errors.Is(err, duck.ErrClosed) {
		return errClosed
	}
	if err != nil {
		return err
	}
	if n := len(report.Findings); n > 0 {
		f := report.Findings[0]
		return fault.Wrap(ErrAltered, fault.Damaged, "verification found %d difference(s), the first at event %d: %s %s: %s", n, f.Seq, f.Table, f.Field, f.What).
			WithHint("restore the newest backup that verifies")
	}
	return nil
}

type verification struct {
	l      *Ledger
	db     *duck.DB
	ctx    context.Context //nolint:containedctx // lives for one call
	report *Report
	state  *state
	broken bool  // the fold could not go on; projections are not compared
	from   int64 // first event whose contents must be in the file
}

const contentGone = "the content is gone"

func (v *verification) run() error {
	v.state = newState()
	v.state.rows = newRowSet()
	if err := v.events(); err != nil {
		return err
	}
	if err := v.head(); err != nil {
		return err
	}
	if err := v.blobs(); err != nil {
		return err
	}
	if v.broken {
		v.report.Notes = append(v.report.Notes, "projections were not compared: the log itself is damaged")
		return nil
	}
	v.state.flushPending()
	for _, table := range projections {
		if err := v.projection(table); err != nil {
			return err
		}
	}
	if err := v.index(); err != nil {
		return err
	}
	kinds := make([]string, 0, len(v.state.skipped))
	for k := range v.state.skipped {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		if strings.Contains(k, " v") {
			v.report.Notes = append(v.report.Notes, fmt.Sprintf("%d events of kind %s are newer than this program and were skipped", v.state.skipped[k], k))
		}
	}
	return nil
}

// events reads the whole log in order and folds it.
func (v *verification) events() error {
	lists := func(address string, seq int64) ([]string, error) { return v.l.idList(v.ctx, v.db, address, seq) }
	seen := map[address]bool{}
	prev := Event{link: zeroLink}
	last, err := v.lastSeq()
	if err != nil {
		return err
	}
	for after := int64(0); after < last; after += foldChunk {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		batch, err := readEvents(v.ctx, v.db, after, foldChunk)
		if err != nil {
			return err
		}
		looked := examine(batch, prev.link)
		for i := range batch {
			e := &batch[i]
			v.event(e, &prev, &looked[i], seen)
			v.fold(e, &looked[i], lists)
			prev = *e
		}
	}
	v.report.Events = prev.seq
	v.report.Head = prev.link
	return v.stray(last)
}

func (v *verification) lastSeq() (last int64, err error) {
	err = v.db.Query(v.ctx, `SELECT coalesce(max(seq), 0) FROM events`, nil, func(x []driver.Value) error {
		last, _ = x[0].(int64)
		return nil
	})
	return last, err
}

// stray reports rows that a reading by seq does not meet.
func (v *verification) stray(last int64) error {
	return v.db.Query(v.ctx, `SELECT count(*) FROM events WHERE seq IS NULL OR seq < 1 OR seq > ?`, []any{last}, func(x []driver.Value) error {
		if n, _ := x[0].(int64); n > 0 {
			v.report.add(Finding{Table: "events", Field: "seq", What: fmt.Sprintf("%d rows have no place in the log", n)})
		}
		return nil
	})
}

// look is what can be said of an event without the state.
type look struct {
	fits, linked bool // address and link are what they must be
	body         any
	err          error
}

// examine recomputes addresses and links of a batch and reads its bodies, on
// all cores: the fold, which is one event after another, waits for none of it.
func examine(batch []Event, before string) []look {
	out := make([]look, len(batch))
	var g errgroup.Group
	workers := max(1, min(runtime.GOMAXPROCS(0), 8))
	part := (len(batch) + workers - 1) / workers
	for start := 0; start < len(batch); start += part {
		g.Go(func() error {
			for i := start; i < min(start+part, len(batch)); i++ {
				e, prev := &batch[i], before
				if i > 0 {
					prev = batch[i-1].link
				}
				out[i].fits = eventID(e.version, e.kind, e.subject, e.supersedes, e.body) == e.id
				out[i].linked = chainLink(prev, e) == e.link
				if e.kind != KindRunRecorded {
					out[i].body, out[i].err = parseBody(e, nil)
				}
			}
			return nil
		})
	}
	_ = g.Wait() // no part fails
	return out
}

// event compares one event: its place, address, link, time and form.
func (v *verification) event(e, prev *Event, l *look, seen map[address]bool) {
	find := func(field, what string) {
		v.broken = true
		v.report.add(Finding{Seq: e.seq, Event: e.id, Table: "events", Field: field, What: what})
	}
	if e.seq != prev.seq+1 {
		find("seq", fmt.Sprintf("event %d follows event %d", e.seq, prev.seq))
	}
	if e.log != logMain {
		find("log", "the log's name is not the file's")
	}
	if !l.fits {
		find("id", "the content (kind, subject, supersedes, body or v) does not fit the address")
	}
	if !l.linked {
		find("link", "the link does not fit place, actor, time or predecessor")
	}
	if e.recordedAt.Before(prev.recordedAt) {
		find("recorded_at", "the time is before the predecessor's")
	}
	a := eventAddress(e.id)
	if e.supersedes != "" && !seen[eventAddress(e.supersedes)] {
		find("supersedes", "it names an event that is not before it")
	}
	seen[a] = true
}

func (v *verification) fold(e *Event, l *look, lists func(string, int64) ([]string, error)) {
	if v.broken {
		return
	}
	body, err := l.body, l.err
	if e.kind == KindRunRecorded { // its lists are read from the file, one at a time
		body, err = parseBody(e, lists)
	}
	if err == nil {
		if b, ok := body.(decisionBody); ok && b.link && !linkingIdentity(b.identity) {
			err = alteredEvent(e, "it links records it does not call the same")
		}
	}
	if err == nil {
		err = v.state.apply(e, body)
	}
	if err != nil {
		v.broken = true
		v.report.add(Finding{Seq: e.seq, Event: e.id, Table: "events", Field: "body", What: err.Error()})
	}
}

// head compares the remembered head with the log.
func (v *verification) head() error {
	end, err := v.l.lastEvent(v.ctx, v.db)
	if err != nil {
		return err
	}
	err = v.l.checkHead(v.ctx, v.db, end)
	if f := fault.As(err); f != nil && f.Kind == fault.Damaged {
		h, _ := v.l.store.Head()
		v.report.add(Finding{Seq: h.Seq, Table: "head", Field: "link", What: f.Message})
		return nil
	}
	return err
}

// blobs recomputes the address of every content, and finds those missing.
func (v *verification) blobs() error {
	if !v.broken {
		if err := v.absent(); err != nil {
			return err
		}
	}
	have := map[int32]bool{}
	wrong := func(seq int64, address, what string) {
		v.report.add(Finding{Seq: seq, Table: "blobs", Field: "bytes", What: clip(address) + ": " + what})
	}
	err := v.db.Query(v.ctx, `SELECT address, bytes, seq FROM blobs ORDER BY seq, address`, nil, func(x []driver.Value) error {
		address, _ := x[0].(string)
		data, _ := x[1].([]byte)
		seq, _ := x[2].(int64)
		switch {
		case strings.HasPrefix(address, recordPrefix):
			i := v.state.lookupRecord(address)
			if i < 0 {
				if !v.broken {
					wrong(seq, address, "no event stored it")
				}
				return nil
			}
			if v.state.recs[i].seq != seq {
				if !v.state.recs[i].erased {
					wrong(seq, address, "it does not lie with its event")
				}
				return nil
			}
			if have[i] {
				wrong(seq, address, "it is there twice")
			}
			have[i] = true
			v.record(i, seq, address, data, wrong)
		case !fitsAddress(address, data):
			wrong(seq, address, "the content does not fit the address")
		case seq < 1 || seq > v.report.Events:
			wrong(seq, address, "it lies with no event")
		}
		return nil
	})
	if err != nil || v.broken {
		return err
	}
	if err := v.pairing(wrong); err != nil {
		return err
	}
	for i := range v.state.recs {
		n := int32(i) //nolint:gosec // bounded by the number of events
		if r := &v.state.recs[i]; !r.erased && !have[n] {
			wrong(r.seq, v.state.recordID(n), contentGone)
		}
	}
	return nil
}

// absent notes which contents did not come in with the log; what was stored later
// must be there.
func (v *verification) absent() (err error) {
	if v.from, err = contentsFrom(v.ctx, v.db); err != nil || v.from == 1 {
		return err
	}
	v.report.Notes = append(v.report.Notes, fmt.Sprintf("the log up to event %d was imported; contents that did not come with it are not looked for", v.from-1))
	return v.state.markAbsent(v.ctx, v.db, "")
}

// pairing compares contents with the events that name them, both ways. Contents
// that an event says were erased are missing rightly.
func (v *verification) pairing(wrong func(int64, string, string)) error {
	for _, check := range []struct{ sql, what string }{
		{`SELECT b.seq, b.address FROM blobs b LEFT JOIN events e ON b.seq = e.seq
			WHERE e.seq IS NULL OR NOT (e.subject = b.address OR contains(e.body, b.address)) ORDER BY ALL`, "the event it lies with does not name it"},
		{`SELECT n.seq, n.address FROM (
				SELECT seq, unnest(regexp_extract_all(body, '(?:txt|row|lst):blake3:[0-9a-f]{64}')) AS address FROM events
				WHERE contains(body, 'txt:blake3:') OR contains(body, 'row:blake3:') OR contains(body, 'lst:blake3:')) n
			ANTI JOIN blobs b ON b.seq = n.seq AND b.address = n.address
			ANTI JOIN (SELECT subject FROM events WHERE kind = 'values.erased') x ON x.subject = n.address ORDER BY ALL`, contentGone},
		{`SELECT n.seq, n.address FROM (SELECT seq, body ->> '$.address' AS address FROM events WHERE kind = 'document.written') n
			ANTI JOIN blobs b ON b.address = n.address
			ANTI JOIN (SELECT subject FROM events WHERE kind = 'values.erased') x ON x.subject = n.address ORDER BY ALL`, contentGone},
		{`SELECT seq, address FROM blobs GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL`, "it is there twice"},
	} {
		err := v.db.Query(v.ctx, check.sql, nil, func(x []driver.Value) error {
			seq, _ := x[0].(int64)
			address, _ := x[1].(string)
			if check.what == contentGone && seq < v.from && !strings.HasPrefix(address, "lst:") {
				return nil
			}
			wrong(seq, address, check.what)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// record recomputes a record's public id from its content.
func (v *verification) record(i int32, seq int64, address string, data []byte, wrong func(int64, string, string)) {
	if v.state.recs[i].erased {
		wrong(seq, address, "values were erased and are still there")
		return
	}
	o, err := v.state.checkContent(i, data)
	if err != nil {
		wrong(seq, address, "the content is not what was stored")
		return
	}
	again, err := newRow(o, v.state.words.get(v.state.recs[i].typ))
	if err != nil || again.id != address {
		wrong(seq, address, "the content does not fit the record's id")
	}
}

// projection compares a table with the rows that the fold gives.
func (v *verification) projection(table string) error {
	want := v.state.rows.tables[table]
	n := 0
	differs := func(seq int64, what string) {
		event := ""
		if e, err := readEvent(v.ctx, v.db, seq); err == nil {
			event = e.id
		}
		v.report.add(Finding{Seq: seq, Event: event, Table: table, Field: "row", What: what})
	}
	var pending []func()
	err := v.db.Query(v.ctx, `SELECT * FROM `+table+` ORDER BY ALL NULLS FIRST`, nil, func(x []driver.Value) error {
		if n == 0 {
			sortRows(want)
		}
		if n < len(want) {
			if field := firstDifference(x, want[n]); field >= 0 {
				if len(pending) < mostFindings {
					seq, _ := x[0].(int64)
					pending = append(pending, func() { differs(seq, fmt.Sprintf("column %d differs from the fold", field+1)) })
				}
			}
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range pending {
		p()
	}
	if n != len(want) {
		v.report.add(Finding{Table: table, Field: "rows", What: fmt.Sprintf("%d rows, the fold gives %d", n, len(want))})
	}
	return nil
}
