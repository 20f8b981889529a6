package ledger

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Decision answers the receipt of a decision: what was decided, under which
// pins, about which two records (labels and field names), and their entity.
func (l *Ledger) Decision(ctx context.Context, id string) (*canon.Object, error) {
	var out *canon.Object
	err := l.useFor(ctx, id, func(db *duck.DB, s *state) error {
		r := l.reader(ctx, db, s)
		i, err := r.find(id)
		if err != nil {
			return err
		}
		rec, err := r.receipt(i)
		if err != nil {
			return err
		}
		out = r.view(rec)
		records := make([]any, 0, 2)
		for _, x := range []int32{s.decs[i].a, s.decs[i].b} {
			v, err := r.recordView(x)
			if err != nil {
				return err
			}
			records = append(records, v)
		}
		out.Set("records", records)
		out.Set("entity_id", nil)
		if e := s.recs[s.decs[i].a].ent; e >= 0 {
			out.Set("entity_id", s.ents[e].id)
		}
		r.addAlso(out, i)
		return r.addOperator(out, i)
	})
	return out, err
}

// find is the decision that a public id answers for: the first recorded that
// still stands, else the first recorded.
func (r *reader) find(id string) (int32, error) {
	rows := r.s.rowsOf(id)
	if len(rows) == 0 {
		return -1, noDecision(id)
	}
	for _, i := range rows {
		if r.s.live(i) {
			return i, nil
		}
	}
	return rows[0], nil
}

// addAlso names the other pairs of records that the same public id was given
// to: published ids do not cover the records.
func (r *reader) addAlso(out *canon.Object, i int32) {
	d := &r.s.decs[i]
	var also []any
	seen := map[[2]int32]bool{{d.a, d.b}: true}
	for _, j := range r.s.rowsOf(r.s.publicID(i)) {
		o := &r.s.decs[j]
		if pair := [2]int32{o.a, o.b}; !seen[pair] {
			seen[pair] = true
			also = append(also, canon.Obj("record_a", r.s.recordID(o.a), "record_b", r.s.recordID(o.b)))
		}
	}
	if len(also) > 0 {
		out.Set("also", also)
	}
}

// receipt is a decision as its event has it, checked.
type receipt struct {
	i    int32
	body *canon.Object
}

func (rec *receipt) text(key string) string { t, _ := rec.body.Value(key).(string); return t }

func (rec *receipt) object(key string) *canon.Object {
	o, _ := rec.body.Value(key).(*canon.Object)
	return o
}

// receipt reads the event of a decision and compares address, link, fold and
// projection row with it.
func (r *reader) receipt(i int32) (*receipt, error) {
	d := &r.s.decs[i]
	e, err := readEvent(r.ctx, r.db, d.seq)
	if err != nil {
		return nil, err
	}
	body, err := r.checkReceipt(i, e)
	if err != nil {
		return nil, err
	}
	if !r.l.cache.checked.has(i) {
		if err := r.checkRow(i, e); err != nil {
			return nil, err
		}
		r.l.cache.checked.set(i)
	}
	return &receipt{i: i, body: body}, nil
}

// checkReceipt compares an event with the decision that was folded from it.
func (r *reader) checkReceipt(i int32, e *Event) (*canon.Object, error) {
	d := &r.s.decs[i]
	if eventAddress(e.id) != d.event || e.kind != KindDecisionRecorded {
		return nil, alteredEvent(e, "it is not the decision that stood there")
	}
	body, err := e.Body()
	if err != nil {
		return nil, alteredEvent(e, "its body is no JSON object")
	}
	if !r.s.foldedFrom(i, e, body) {
		return nil, alteredEvent(e, "it does not fit what was folded from it")
	}
	return body, nil
}

// foldedFrom compares everything that the fold took of an event with it: a state
// that was loaded from the tables is as right as they are.
func (s *state) foldedFrom(i int32, e *Event, body *canon.Object) bool {
	d := &s.decs[i]
	text := func(key string) string { t, _ := body.Value(key).(string); return t }
	score, _ := number(body.Value("score"))
	link, _ := body.Value("link").(bool)
	run, replaces := int32(-1), int32(-1)
	if a, ok := parseAddress(text("run"), runPrefix); ok {
		if n, known := s.runIdx[a]; known {
			run = n
		}
	}
	if d.replaces >= 0 && e.supersedes == eventPrefix+s.decs[d.replaces].event.hex() {
		replaces = d.replaces
	} else if e.supersedes != "" {
		old := eventAddress(e.supersedes)
		replaces = s.decisionOf(&old)
	}
	return score == d.score && link == d.link && run == d.run && replaces == d.replaces && e.recordedAt.UnixMicro() == d.at &&
		e.subject == s.publicID(i)+"@"+s.recordID(d.a)+"|"+s.recordID(d.b) &&
		text("decision_id") == s.publicID(i) && text("identity") == s.identityOf(i) && text("verb") == s.words.get(d.verb) &&
		text("action") == s.words.get(d.action) && text("withheld") == s.words.get(d.withheld)
}

// checkRow compares the projection row of a decision with its event.
func (r *reader) checkRow(i int32, e *Event) error {
	want := (&decisionRow{i: i}).values(r.s)[:11]
	rows := 0
	var wrong error
	err := r.db.Query(r.ctx, `SELECT seq, event_id, decision_id, record_a, record_b, verb, identity, action, score, links, withheld
		FROM decisions WHERE seq = ?`, []any{e.seq}, func(v []driver.Value) error {
		rows++
		if !slices.Equal(v, want) {
			wrong = altered("the decisions row of event %d does not fit its event %s", e.seq, e.id)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return wrong
	case rows != 1:
		return altered("event %d has %d rows in decisions", e.seq, rows)
	}
	return nil
}

// view is a decision as the tools show it.
func (r *reader) view(rec *receipt) *canon.Object {
	s, d := r.s, &r.s.decs[rec.i]
	out := canon.Obj(
		"decision_id", s.publicID(rec.i),
		"verb", rec.text("verb"),
		"identity", rec.text("identity"),
		"action", rec.text("action"),
		"score", canon.Float(d.score),
		"explanation", rec.text("explanation"),
		"factors", restoreScores(rec.object("factors")),
		"pins", restoreNumbers(rec.object("pins"), false),
		"record_a", s.recordID(d.a),
		"record_b", s.recordID(d.b),
		"recorded_at", wireTime(d.at),
		"supersedes", r.otherID(rec.i, d.replaces),
		"superseded_by", r.otherID(rec.i, d.replaced),
	)
	if d.withheld != 0 {
		out.Set("withheld", s.words.get(d.withheld))
	}
	return out
}

// otherID is the public id of another decision; a decision is never said to
// supersede its own id.
func (r *reader) otherID(i, other int32) any {
	if other < 0 {
		return nil
	}
	if id := r.s.publicID(other); id != r.s.publicID(i) {
		return id
	}
	return nil
}

// recordView is a record by address, label, type and field names.
func (r *reader) recordView(i int32) (*canon.Object, error) {
	label, err := r.label(i)
	if err != nil {
		return nil, err
	}
	fields := []string{}
	if !r.s.recs[i].erased {
		o, err := r.contentOf(i)
		if err != nil {
			return nil, err
		}
		fields = o.Keys()
		slices.Sort(fields)
	}
	out := canon.Obj(
		"record_id", r.s.recordID(i), "label", label, "entity_type", r.s.words.get(r.s.recs[i].typ),
		"fields", fields, "from_text", false,
	)
	if r.s.recs[i].erased {
		out.Set("erased", true)
	}
	return out, nil
}
