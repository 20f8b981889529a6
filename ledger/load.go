package ledger

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/arche-ledger/arche/ledger/duck"
)

// verifiedOpening is the number of events up to which opening folds the log
// itself and recomputes every address and link. Beyond it the state comes from
// the projection tables, six times faster; each tool then compares the events
// it answers from, and verify compares everything.
const verifiedOpening = 3000

// load makes the state of a ledger: empty for a short log, which foldFrom then
// reads, else from the projections.
func (l *Ledger) load(ctx context.Context, db *duck.DB, end ending) (*state, error) {
	s := newState()
	if end.seq == 0 || end.seq <= l.verified {
		return s, nil
	}
	if err := l.checkCounts(ctx, db); err != nil {
		return nil, err
	}
	f := &loader{ctx: ctx, db: db, s: s}
	for _, step := range []func() error{f.runs, f.records, f.others, f.decisions, f.rest} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	s.seq, s.link = end.seq, end.link
	s.at = f.last
	s.pendingAt = f.last
	return s, nil
}

// checkCounts compares the number of rows of each projection with the events
// that made them: a row taken away or added is noticed at once.
func (l *Ledger) checkCounts(ctx context.Context, db *duck.DB) error {
	return db.Query(ctx, `SELECT
		count(*), min(seq), max(seq), count(*) FILTER (kind = 'record.stored' AND v = 1), count(*) FILTER (kind = 'decision.recorded' AND v = 1),
		(SELECT count(*) FROM records), (SELECT count(*) FROM decisions) FROM events`, nil, func(v []driver.Value) error {
		n := make([]int64, len(v))
		for i := range v {
			n[i], _ = v[i].(int64)
		}
		switch {
		case n[1] != 1 || n[2] != n[0]:
			return altered("the log has %d events and ends at event %d", n[0], n[2])
		case n[3] != n[5]:
			return altered("records has %d rows and the log %d stored records", n[5], n[3])
		case n[4] != n[6]:
			return altered("decisions has %d rows and the log %d decisions", n[6], n[4])
		}
		return nil
	})
}

// loader fills a state from the projections.
type loader struct {
	ctx  context.Context //nolint:containedctx // lives for one load
	db   *duck.DB
	s    *state
	last int64 // time of the last event

	partial bool // only some decisions are there: entities cannot be made of them

	other []loadedEvent // events of other kinds, in order
	next  int           // the first of them not folded yet
}

type loadedEvent struct {
	e    Event
	body any
}

func (f *loader) runs() error { return f.runRows("") }

func (f *loader) runRows(where string, args ...any) error {
	// The verb is the last key of a canonical body, so the body need not be parsed.
	return f.db.Query(f.ctx, `SELECT seq, subject, right(body, 24) FROM events WHERE kind = 'run.recorded'`+where+` ORDER BY seq`, args, func(v []driver.Value) error {
		seq, _ := v[0].(int64)
		subject, _ := v[1].(string)
		tail, _ := v[2].(string)
		id, ok := parseAddress(subject, "run:blake3:")
		_, verb, ok2 := strings.Cut(tail, `"verb":"`)
		if !ok || !ok2 {
			return altered("event %d: it is no run", seq)
		}
		f.s.runIdx[id] = int32(len(f.s.runs)) //nolint:gosec // bounded by the number of events
		f.s.runs = append(f.s.runs, run{id: id, seq: seq, verb: f.s.words.put(strings.TrimSuffix(verb, `"}`))})
		return nil
	})
}

func (f *loader) records() error {
	s := f.s
	n, err := f.count("records")
	if err != nil {
		return err
	}
	s.recs = make([]record, 0, n)
	s.recIdx = make(map[address]int32, n)
	return f.recordRows(recordColumns + ` FROM records`)
}

const recordColumns = `SELECT seq, unhex(substr(record_id, 12)), entity_type, unhex(content), label_field, label_position`

func (f *loader) recordRows(sql string, args ...any) error {
	s := f.s
	last := int64(0)
	return f.db.Query(f.ctx, sql, args, func(v []driver.Value) error {
		seq, _ := v[0].(int64)
		if seq <= last {
			return altered("the records row of event %d lies behind that of event %d", seq, last)
		}
		last = seq
		id, ok1 := toAddress(v[1])
		content, ok2 := toAddress(v[3])
		if !ok1 || !ok2 {
			return altered("the records row of event %d has no address", seq)
		}
		if i, ok := s.recIdx[id]; ok { // stored again after its values were erased
			s.recs[i].seq, s.recs[i].content = seq, content
			return nil
		}
		entityType, _ := v[2].(string)
		field, labelled := v[4].(string)
		r := record{id: id, content: content, seq: seq, labelPos: -1, ent: -1, typ: s.words.put(entityType)}
		if labelled {
			r.labelKey = s.words.put(field)
			r.labelPos, _ = v[5].(int64)
		}
		i := int32(len(s.recs)) //nolint:gosec // bounded by the number of events
		s.recs = append(s.recs, r)
		s.recIdx[id] = i
		s.byType[r.typ] = append(s.byType[r.typ], i)
		return nil
	})
}

func (f *loader) count(table string) (n int, err error) {
	err = f.db.Query(f.ctx, `SELECT count(*) FROM `+table, nil, func(v []driver.Value) error {
		c, _ := v[0].(int64)
		n = int(c)
		return nil
	})
	return n, err
}

func toAddress(v driver.Value) (a address, ok bool) {
	b, _ := v.([]byte)
	return a, copy(a[:], b) == len(a) && len(b) == len(a)
}

// others reads the events that no projection holds; the fold takes them in
// between the decisions.
func (f *loader) others() error {
	return f.db.Query(f.ctx, `SELECT `+eventPieces+` FROM events
		WHERE kind NOT IN ('record.stored', 'run.recorded', 'decision.recorded') ORDER BY seq`, nil, func(v []driver.Value) error {
		var e Event
		if err := scanPieces(v, &e); err != nil {
			return err
		}
		if eventID(e.version, e.kind, e.subject, e.supersedes, e.body) != e.id {
			return alteredEvent(&e, "its content does not fit its address")
		}
		body, err := parseBody(&e, nil)
		if err != nil {
			return err
		}
		// Not needed any more, and there may be many.
		e = Event{seq: e.seq, version: e.version, id: strings.Clone(e.id), kind: strings.Clone(e.kind), subject: strings.Clone(e.subject), recordedAt: e.recordedAt}
		f.other = append(f.other, loadedEvent{e, body})
		return nil
	})
}

// othersBefore folds the other events up to a seq.
func (f *loader) othersBefore(seq int64) error {
	for f.next < len(f.other) && f.other[f.next].e.seq < seq {
		o := &f.other[f.next]
		f.next++
		if _, erased := o.body.(erasedBody); erased {
			f.s.noteOther(&o.e)
			if i := f.s.lookupRecord(o.e.subject); i >= 0 && f.s.recs[i].seq < o.e.seq {
				f.s.recs[i].erased = true
			}
			continue
		}
		if err := f.s.apply(&o.e, o.body); err != nil {
			return err
		}
	}
	return nil
}

func (f *loader) decisions() error {
	s := f.s
	n, err := f.count("decisions")
	if err != nil {
		return err
	}
	s.decs = make([]decision, 0, n)
	f.reserve()
	s.entIdx = make(map[string]int32, n)
	// Rows lie in the order of seq, because they are only ever added. Sorting
	// them would take longer than reading them, so the order is checked instead.
	return f.decisionRows(decisionColumns + ` FROM decisions`)
}

const decisionColumns = `SELECT seq, recorded_at, unhex(substr(event_id, 12)), decision_id, unhex(substr(record_a, 12)), unhex(substr(record_b, 12)),
	verb, identity, action, score, links, withheld, run_id, unhex(substr(supersedes, 12)), sameness`

func (f *loader) decisionRows(sql string, args ...any) error {
	s := f.s
	runText, runNo := "", int32(-1)
	last := int64(0)
	return f.db.Query(f.ctx, sql, args, func(v []driver.Value) error {
		seq, _ := v[0].(int64)
		if seq <= last {
			return altered("the decisions row of event %d lies behind that of event %d", seq, last)
		}
		last = seq
		if err := f.othersBefore(seq); err != nil {
			return err
		}
		if text, _ := v[12].(string); text != runText {
			runText, runNo = text, -1
			if id, ok := parseAddress(text, "run:blake3:"); ok {
				if n, ok := s.runIdx[id]; ok {
					runNo = n
				}
			}
		}
		return f.decision(seq, runNo, v)
	})
}

// reserve gives each record room for its first decisions in one piece: most
// records have no more, and a million small allocations take longer than the
// rest.
func (f *loader) reserve() {
	const each = 2
	room := make([]int32, each*len(f.s.recs))
	for i := range f.s.recs {
		f.s.recs[i].decs = room[each*i : each*i : each*(i+1)]
	}
}

func (f *loader) decision(seq int64, run int32, v []driver.Value) error {
	s := f.s
	at, _ := v[1].(time.Time)
	event, ok1 := toAddress(v[2])
	id, _ := v[3].(string)
	x, ok2 := toAddress(v[4])
	y, ok3 := toAddress(v[5])
	a, ok4 := s.recIdx[x]
	b, ok5 := s.recIdx[y]
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return altered("the decisions row of event %d does not fit its event", seq)
	}
	text := func(n int) word { t, _ := v[n].(string); return s.words.put(t) }
	i := int32(len(s.decs)) //nolint:gosec // bounded by the number of events
	prefix, public := s.publicAddress(id, true)
	d := decision{
		public: public, prefix: prefix, event: event, a: a, b: b, seq: seq, at: at.UnixMicro(),
		replaces: -1, replaced: -1, run: run, nextPub: -1, lastPub: i,
		verb: text(6), identity: text(7), action: text(8), withheld: text(11),
	}
	d.score, _ = v[9].(float64)
	d.link, _ = v[10].(bool)
	if same, ok := v[14].(string); ok {
		if raw, err := hex.DecodeString(same); err == nil && len(raw) == 8 {
			d.same = binary.BigEndian.Uint64(raw)
		}
	}
	undone := false
	if old, ok := toAddress(v[13]); ok {
		if t, ok := s.eventIndex()[old]; ok {
			undone = s.joins(t)
			d.replaces = t
			s.decs[t].replaced = i
		}
	}
	s.decs = append(s.decs, d)
	s.index(i)
	if !f.partial {
		s.relink(i, undone)
	}
	return nil
}

// rest folds the other events behind the last decision and finds the time of
// the last event.
func (f *loader) rest() error {
	if err := f.othersBefore(1 << 62); err != nil {
		return err
	}
	f.other = nil
	return f.db.Query(f.ctx, `SELECT max(recorded_at) FROM events WHERE seq = (SELECT max(seq) FROM events)`, nil, func(v []driver.Value) error {
		if at, ok := v[0].(time.Time); ok {
			f.last = at.UnixMicro()
		}
		return nil
	})
}
