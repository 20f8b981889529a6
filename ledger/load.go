package ledger

import (
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
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
	f := &loader{ctx: ctx, db: db, s: s, end: end.seq}
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
	end  int64 // seq of the last event
	last int64 // time of the last event

	kind         map[string]*rowKind // of the table that is read
	lastDecision int64               // seq of the last decision

	partial bool // only some decisions are there: entities cannot be made of them

	other []loadedEvent // events of other kinds, in order
	next  int           // the first of them not folded yet
}

type loadedEvent struct {
	e    Event
	body any
}

// verbKey begins what stands behind everything else in the body of a run.
const verbKey = `"verb":"`

func (f *loader) runs() error { return f.runRows("") }

func (f *loader) runRows(where string, args ...any) error {
	// The verb is the last key of a canonical body, so the body need not be parsed.
	return f.db.Query(f.ctx, `SELECT seq, subject, right(body, 64) FROM events WHERE kind = 'run.recorded'`+where+` ORDER BY seq`, args, func(v []driver.Value) error {
		seq, _ := v[0].(int64)
		subject, _ := v[1].(string)
		tail, _ := v[2].(string)
		id, ok := parseAddress(subject, runPrefix)
		at := strings.LastIndex(tail, verbKey)
		if !ok || at < 0 {
			return altered("event %d: it is no run", seq)
		}
		verb := strings.TrimSuffix(tail[at+len(verbKey):], `"}`)
		f.s.runIdx[id] = int32(len(f.s.runs)) //nolint:gosec // bounded by the number of events
		f.s.runs = append(f.s.runs, run{id: id, seq: seq, verb: f.s.words.put(verb)})
		return nil
	})
}

// recordLine is a row of records as a line.
const recordLine = `CASE WHEN strlen(record_id) = 75 AND strlen(content) = 64
	THEN concat(seq, ' ', coalesce(label_position, -1), ' ', hash(entity_type, label_field), ' ', record_id, content, chr(10))
	ELSE concat(seq, ' ', chr(10)) END`

func (f *loader) records() error {
	n, err := f.count("records")
	if err != nil {
		return err
	}
	s := f.s
	s.recs = make([]record, 0, n)
	s.recIdx.reserve(n)
	if err := f.kinds(`SELECT DISTINCT hash(entity_type, label_field), entity_type, label_field FROM records`); err != nil {
		return err
	}
	last, read := int64(0), 0
	err = ahead(func(put func(string) error) error {
		return packedRows(f.ctx, f.db, "records", recordLine, f.end, put)
	}, func(lines string) error {
		list := f.recordLines(lines)
		read += len(list)
		for i := range list {
			r := &list[i]
			switch {
			case r.id == address{}:
				return altered("the records row of event %d has no address", r.seq)
			case r.seq <= last:
				return altered("two rows of records belong to event %d", r.seq)
			}
			last = r.seq
			f.record(r)
		}
		return nil
	})
	if err == nil && read != n {
		err = altered("%d rows of records belong to no event", n-read)
	}
	return err
}

// recordLines takes lines of records apart; a record without an address is none.
func (f *loader) recordLines(lines string) []record {
	out := make([]record, 0, len(lines)/160+1)
	for p := (fields{rest: lines}); p.rest != "" && !p.bad; {
		r := record{labelPos: -1, ent: -1}
		r.seq = p.int()
		pos, kind := p.int(), f.kind[p.word()]
		r.id = p.address(recordPrefix)
		r.content = p.address("")
		if p.end(); p.bad || kind == nil {
			r.id = address{}
		} else {
			r.typ = kind.words[0]
			if kind.set[1] {
				r.labelKey, r.labelPos = kind.words[1], pos
			}
		}
		out = append(out, r)
	}
	if bySeq := func(a, b record) int { return compareInt(a.seq, b.seq) }; !slices.IsSortedFunc(out, bySeq) {
		slices.SortFunc(out, bySeq) // a record that was stored again came before its neighbours
	}
	return out
}

// record adds a record of a row.
func (f *loader) record(r *record) {
	if i := f.s.recordOf(&r.id); i >= 0 { // stored again after its values were erased
		f.s.recs[i].seq, f.s.recs[i].content = r.seq, r.content
		return
	}
	f.s.addRecord(r)
}

// rowKind are the texts of a row that few rows differ in.
type rowKind struct {
	words [6]word
	set   [6]bool // false for NULL
	run   int32
}

// kinds reads the kinds of rows that a table has, by a hash that their lines
// carry instead of the texts.
func (f *loader) kinds(sql string) error {
	f.kind = map[string]*rowKind{}
	return f.db.Query(f.ctx, sql, nil, func(v []driver.Value) error {
		k := &rowKind{run: -1}
		for i, x := range v[1:] {
			if text, ok := x.(string); ok {
				k.words[i], k.set[i] = f.s.words.put(text), true
			}
		}
		hash, _ := v[0].(uint64)
		f.kind[strconv.FormatUint(hash, 10)] = k
		return nil
	})
}

const recordColumns = `SELECT seq, record_id, entity_type, content, label_field, label_position`

// recordRows reads some records row by row.
func (f *loader) recordRows(sql string, args ...any) error {
	return f.db.Query(f.ctx, sql, args, func(v []driver.Value) error {
		r := record{labelPos: -1, ent: -1}
		r.seq, _ = v[0].(int64)
		id, _ := v[1].(string)
		entityType, _ := v[2].(string)
		content, _ := v[3].(string)
		var ok bool
		if r.id, ok = parseAddress(id, recordPrefix); !ok || !r.content.decode(content) {
			return altered("the records row of event %d has no address", r.seq)
		}
		r.typ = f.s.words.put(entityType)
		if field, labelled := v[4].(string); labelled {
			r.labelKey = f.s.words.put(field)
			r.labelPos, _ = v[5].(int64)
		}
		f.record(&r)
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
	if err := f.kinds(`SELECT DISTINCT hash(verb, identity, action, withheld, run_id, links), verb, identity, action, withheld, run_id, CASE WHEN links THEN 'link' END
		FROM decisions`); err != nil {
		return err
	}
	for _, k := range f.kind {
		if id, ok := parseAddress(s.words.get(k.words[4]), runPrefix); ok {
			if n, ok := s.runIdx[id]; ok {
				k.run = n
			}
		}
	}
	// Three at work: the database, what takes its lines apart, and the fold.
	err = ahead(func(put func([]loadedDecision) error) error {
		return ahead(func(put func(string) error) error {
			return packedRows(f.ctx, f.db, "decisions", decisionLine, f.end, put)
		}, func(lines string) error { return put(f.decisionLines(lines)) })
	}, func(list []loadedDecision) error {
		for i := range list {
			if err := f.decision(&list[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && len(s.decs) != n {
		err = altered("%d rows of decisions belong to no event", n-len(s.decs))
	}
	return err
}

// loadedDecision is a decision of a row, not yet folded.
type loadedDecision struct {
	decision
	id    string // public id
	old   address
	again bool // it supersedes the event old
	bad   bool // the row is none
}

// decisionLine is a row of decisions as a line.
const decisionLine = `CASE WHEN strlen(event_id) = 75 AND strlen(record_a) = 75 AND strlen(record_b) = 75 AND isfinite(recorded_at)
		AND (supersedes IS NULL OR strlen(supersedes) = 75) AND (sameness IS NULL OR strlen(sameness) = 16)
	THEN concat(seq, ' ', epoch_us(recorded_at), ' ', score, ' ', hash(verb, identity, action, withheld, run_id, links), ' ',
		coalesce(strlen(supersedes), 0), ' ', coalesce(strlen(sameness), 0), ' ', strlen(decision_id), ' ',
		event_id, record_a, record_b, supersedes, sameness, decision_id, chr(10))
	ELSE concat(seq, ' ', chr(10)) END`

// decisionLines takes lines of decisions apart. It reads the records alone: the
// fold goes on meanwhile.
func (f *loader) decisionLines(lines string) []loadedDecision {
	out := make([]loadedDecision, 0, len(lines)/380+1)
	p := fields{rest: lines}
	for p.rest != "" && !p.bad {
		d := loadedDecision{decision: decision{replaces: -1, replaced: -1, nextPub: -1, run: -1}}
		d.seq, d.at = p.int(), p.int()
		score, kind := p.word(), f.kind[p.word()]
		replaced, same, idLen := p.int(), p.int(), p.int()
		d.event = p.address(eventPrefix)
		x, y := p.address(recordPrefix), p.address(recordPrefix)
		if d.again = replaced > 0; d.again {
			d.old = p.address(eventPrefix)
		}
		var err, unlike error
		d.same, unlike = sameOfHex(p.text(same))
		d.id = p.text(idLen)
		p.end()
		d.score, err = strconv.ParseFloat(score, 64)
		d.a, d.b = f.s.recordOf(&x), f.s.recordOf(&y)
		if d.bad = p.bad || err != nil || unlike != nil || kind == nil || d.a < 0 || d.b < 0; !d.bad {
			d.verb, d.identity, d.action, d.withheld = kind.words[0], kind.words[1], kind.words[2], kind.words[3]
			d.run, d.link = kind.run, kind.set[5]
		}
		out = append(out, d)
	}
	// They lie in the order of their events, because they are only ever added.
	if bySeq := func(a, b loadedDecision) int { return compareInt(a.seq, b.seq) }; !slices.IsSortedFunc(out, bySeq) {
		slices.SortFunc(out, bySeq)
	}
	return out
}

// sameOfHex reads a sameness; files of the first versions have none.
func sameOfHex(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.ParseUint(text, 16, 64)
}

const decisionColumns = `SELECT seq, recorded_at, event_id, decision_id, record_a, record_b,
	verb, identity, action, score, links, withheld, run_id, supersedes, sameness`

// decisionRow reads the decision at a place.
func (f *loader) decisionRow(seq int64) error {
	return f.db.Query(f.ctx, decisionColumns+` FROM decisions WHERE seq = ?`, []any{seq}, func(v []driver.Value) error {
		text := func(n int) string { t, _ := v[n].(string); return t }
		d := loadedDecision{decision: decision{replaces: -1, replaced: -1, nextPub: -1, run: -1, seq: seq}, id: text(3)}
		at, _ := v[1].(time.Time)
		d.at = at.UnixMicro()
		var fits bool
		d.event, fits = parseAddress(text(2), eventPrefix)
		d.a, d.b = f.s.lookupRecord(text(4)), f.s.lookupRecord(text(5))
		same, err := sameOfHex(text(14))
		d.same, d.bad = same, !fits || err != nil || d.a < 0 || d.b < 0
		put := f.s.words.put
		d.verb, d.identity, d.action, d.withheld = put(text(6)), put(text(7)), put(text(8)), put(text(11))
		d.score, _ = v[9].(float64)
		d.link, _ = v[10].(bool)
		if id, ok := parseAddress(text(12), runPrefix); ok {
			if n, ok := f.s.runIdx[id]; ok {
				d.run = n
			}
		}
		d.old, d.again = parseAddress(text(13), eventPrefix)
		return f.decision(&d)
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

// decision folds a decision.
func (f *loader) decision(d *loadedDecision) error {
	s := f.s
	switch {
	case d.bad:
		return altered("the decisions row of event %d does not fit its event", d.seq)
	case d.seq <= f.lastDecision:
		return altered("two rows of decisions belong to event %d", d.seq)
	}
	f.lastDecision = d.seq
	if err := f.othersBefore(d.seq); err != nil {
		return err
	}
	i := int32(len(s.decs)) //nolint:gosec // bounded by the number of events
	d.lastPub = i
	d.prefix, d.public = s.publicAddress(d.id, true)
	undone := false
	if d.again {
		if t := s.decisionOf(&d.old); t >= 0 {
			undone = s.joins(t)
			d.replaces = t
			s.decs[t].replaced = i
		}
	}
	s.decs = append(s.decs, d.decision)
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
