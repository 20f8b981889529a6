package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	broken bool // the fold could not go on; projections are not compared
	// superseded are the events that others supersede, with their places as far as
	// they have come by.
	superseded map[address]int64
	from       int64 // first event whose contents must be in the file
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

// logPiece is a piece of the log on its way through a verification.
type logPiece struct {
	events []Event
	looked []look
}

// verifyChunk is how many places a piece covers: four pieces are on their way.
const verifyChunk = 8192

// events reads the whole log in order and folds it. Three are at work: the
// database reads a piece, the one before is hashed and parsed on all cores, and
// the one before that is folded.
func (v *verification) events() error {
	last, err := v.lastSeq()
	if err != nil {
		return err
	}
	if err := v.findSuperseded(); err != nil {
		return err
	}
	prev := Event{link: zeroLink}
	err = ahead(func(put func(*logPiece) error) error {
		before := zeroLink
		return ahead(func(put func(*logPiece) error) error { return v.read(last, put) }, func(p *logPiece) error {
			examine(p, before)
			if n := len(p.events); n > 0 {
				before = p.events[n-1].link
			}
			return put(p)
		})
	}, func(p *logPiece) error {
		for i := range p.events {
			e := &p.events[i]
			v.event(e, &prev, &p.looked[i])
			v.fold(e, &p.looked[i])
			prev.seq, prev.link, prev.recordedAt = e.seq, e.link, e.recordedAt
		}
		return nil
	})
	if err != nil {
		return err
	}
	v.report.Events = prev.seq
	v.report.Head = strings.Clone(prev.link)
	return v.stray(last)
}

// read reads the log piece by piece, with the lists that runs name.
func (v *verification) read(last int64, put func(*logPiece) error) error {
	for after := int64(0); after < last; after += verifyChunk {
		p, err := v.piece(after)
		if err == nil {
			err = put(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// piece reads the piece of the log behind a place.
func (v *verification) piece(after int64) (*logPiece, error) {
	lists := func(address string, seq int64) ([]string, error) { return v.l.idList(v.ctx, v.db, address, seq) }
	events, err := readEvents(v.ctx, v.db, after, verifyChunk)
	if err != nil {
		return nil, err
	}
	p := &logPiece{events: events, looked: make([]look, len(events))}
	for i := range events {
		if e := &events[i]; e.kind == KindRunRecorded {
			p.looked[i].body, p.looked[i].err = parseBody(e, lists)
		}
	}
	return p, nil
}

// findSuperseded reads which events others supersede: the places of those alone
// are kept, because there may be millions of others.
func (v *verification) findSuperseded() error {
	v.superseded = map[address]int64{}
	return v.db.Query(v.ctx, `SELECT DISTINCT supersedes FROM events WHERE supersedes <> ''`, nil, func(x []driver.Value) error {
		text, _ := x[0].(string)
		v.superseded[eventAddress(text)] = 0
		return nil
	})
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

// examine recomputes addresses and links of a piece and reads its bodies, on all
// cores: the fold, which is one event after another, waits for none of it.
func examine(p *logPiece, before string) {
	_ = spread(len(p.events), func(from, to int) error {
		var c checker
		for i := from; i < to; i++ {
			e, prev, l := &p.events[i], before, &p.looked[i]
			if i > 0 {
				prev = p.events[i-1].link
			}
			l.fits = c.fits(e)
			l.linked = c.linked(prev, e)
			if e.kind != KindRunRecorded {
				l.body, l.err = parseBody(e, nil)
			}
		}
		return nil
	})
}

// event compares one event: its place, address, link, time and form.
func (v *verification) event(e, prev *Event, l *look) {
	find := func(field, what string) {
		v.broken = true
		v.report.add(Finding{Seq: e.seq, Event: strings.Clone(e.id), Table: "events", Field: field, What: what})
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
	if len(v.superseded) == 0 {
		return
	}
	if e.supersedes != "" && v.superseded[eventAddress(e.supersedes)] == 0 {
		find("supersedes", "it names an event that is not before it")
	}
	a := eventAddress(e.id)
	if at, wanted := v.superseded[a]; wanted && at == 0 {
		v.superseded[a] = e.seq
	}
}

func (v *verification) fold(e *Event, l *look) {
	if v.broken {
		return
	}
	body, err := l.body, l.err
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
		v.report.add(Finding{Seq: e.seq, Event: strings.Clone(e.id), Table: "events", Field: "body", What: err.Error()})
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
