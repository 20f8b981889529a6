package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// ask is a question about a ledger, named; its answer as text.
type ask struct {
	name      string
	of        func(ctx context.Context, l *Ledger) (*canon.Object, error)
	ofRecords bool // decisions' bodies have no part in the answer
}

// bodyWorld is a short log that somebody else may have written otherwise, and
// what is asked about it.
type bodyWorld struct {
	l      *Ledger
	events []Event
	blobs  [][]driver.Value
	id     string // of the decision that is asked about
	asks   []ask
}

func (w *bodyWorld) read(t *testing.T) {
	t.Helper()
	for e, err := range w.l.Events(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		w.events = append(w.events, e)
	}
	err := w.l.Query(t.Context(), `SELECT address, bytes, seq FROM blobs ORDER BY seq, rowid`, nil, func(v []driver.Value) error {
		w.blobs = append(w.blobs, []driver.Value{v[0], slices.Clone(v[1].([]byte)), v[2]})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// with is the log with another body at a place: addresses and links fit, and
// what names the event, or the run that it is, names it as it is now.
func (w *bodyWorld) with(k int, body string) []Event {
	out := slices.Clone(w.events)
	out[k].body = body
	var renamed []string
	link := zeroLink
	for i := range out {
		e := &out[i]
		if i >= k {
			now := strings.NewReplacer(renamed...)
			e.body, e.subject, e.supersedes = now.Replace(e.body), now.Replace(e.subject), now.Replace(e.supersedes)
			if e.kind == KindRunRecorded {
				e.subject = ContentAddress("run", []byte(e.body))
				renamed = append(renamed, w.events[i].subject, e.subject)
			}
			e.id = eventID(e.version, e.kind, e.subject, e.supersedes, e.body)
			renamed = append(renamed, w.events[i].id, e.id)
		}
		e.link = chainLink(link, e)
		link = e.link
	}
	return out
}

// put makes the ledger hold a log, with the projections that follow from it.
func (w *bodyWorld) put(t *testing.T, events []Event, blobs [][]driver.Value) {
	t.Helper()
	ctx, l := t.Context(), w.l
	s := newState()
	s.rows = newRowSet()
	err := l.store.Use(ctx, func(db *duck.DB) error {
		err := l.store.Write(ctx, db, len(events), func() error {
			for _, table := range []string{"events", "blobs", "records", "decisions", "members"} {
				if err := db.Exec(ctx, "DELETE FROM "+table); err != nil {
					return err
				}
			}
			if err := db.Insert(ctx, "events", eventRows(events)); err != nil {
				return err
			}
			if err := db.Insert(ctx, "blobs", blobs); err != nil {
				return err
			}
			if err := l.foldFrom(ctx, db, s, true); err != nil {
				return nil // refused; no reading gets past that
			}
			s.flushPending()
			return s.rows.insert(ctx, db, s)
		})
		if err != nil {
			return err
		}
		last := events[len(events)-1]
		return l.store.Remember(logMain, last.seq, last.link)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// answer is an answer, or why there is none. What was read before is forgotten,
// but for the state.
func (w *bodyWorld) answer(t *testing.T, what string, a ask) (o *canon.Object, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			t.Errorf("%s: %s panics: %v", what, a.name, p)
		}
	}()
	w.l.cache.reset()
	if o, err = a.of(t.Context(), w.l); err == nil {
		_, err = canon.Indent(o)
	}
	if f := fault.As(err); err != nil && (f == nil || f.Kind == fault.Internal) {
		t.Errorf("%s: %s fails and nobody is told why: %v", what, a.name, err)
	}
	return o, err
}

// opened takes the state of what the ledger holds anew, from the log or from the
// tables: what is in it as text, or "refused: " and why.
func (w *bodyWorld) opened(t *testing.T, what string, verified int64) (text string) {
	t.Helper()
	w.l.state, w.l.verified = nil, verified
	err := w.l.use(t.Context(), func(_ *duck.DB, s *state) error {
		text = s.text()
		return nil
	})
	if err == nil {
		return text
	}
	if f := fault.As(err); f == nil || f.Kind != fault.Damaged {
		t.Errorf("%s: opening fails and nobody is told why: %v", what, err)
	}
	return "refused: " + err.Error()
}

// text is everything that answers are made of.
func (s *state) text() string {
	var b strings.Builder
	for i := range s.recs {
		r := &s.recs[i]
		label := ""
		if r.labelKey != 0 {
			label = fmt.Sprint(s.words.get(r.labelKey), r.labelPos)
		}
		fmt.Fprintln(&b, "record", s.recordID(int32(i)), r.content.hex(), r.seq, s.words.get(r.typ), label, r.erased, r.absent, s.entityOf(int32(i)))
	}
	for i := range s.decs {
		d := &s.decs[i]
		fmt.Fprintln(&b, "decision", s.publicID(int32(i)), d.seq, d.at, d.a, d.b, s.words.get(d.verb), s.identityOf(int32(i)), s.words.get(d.action),
			s.words.get(d.withheld), d.score, d.link, d.run, d.replaces, d.replaced, d.same)
	}
	for _, x := range s.runs {
		fmt.Fprintln(&b, "run", x.id.hex(), x.seq, s.words.get(x.verb))
	}
	for pair, op := range s.ops {
		fmt.Fprintln(&b, "operator", pair, op.verdict, op.seq, op.event)
	}
	fmt.Fprintln(&b, "end", s.seq, s.link, s.at)
	return b.String()
}

// check opens the log that the ledger holds and asks everything of it that an
// event of a kind can have a part in.
func (w *bodyWorld) check(t *testing.T, what, kind string, tables bool) {
	t.Helper()
	if tables {
		loaded, folded := w.opened(t, what, -1), w.opened(t, what, verifiedOpening)
		if folded != loaded && !(strings.HasPrefix(folded, "refused: ") && strings.HasPrefix(loaded, "refused: ")) {
			t.Errorf("%s: the tables tell otherwise (-log +tables)\n%s", what, differingLines(folded, loaded))
		}
	} else {
		w.opened(t, what, verifiedOpening)
	}
	if w.l.state == nil {
		return
	}
	answers, refused := map[string]*canon.Object{}, map[string]error{}
	for _, a := range w.asks {
		if kind != KindDecisionRecorded || !a.ofRecords || long {
			answers[a.name], refused[a.name] = w.answer(t, what, a)
		}
	}
	if refused["audit"] == nil {
		w.agree(t, what, answers["audit"], answers["replay"], refused["replay"])
	}
}

// agree compares what replay and an audit say of the decision.
func (w *bodyWorld) agree(t *testing.T, what string, audit, replay *canon.Object, refused error) {
	t.Helper()
	var found []*canon.Object
	for key, x := range audit.All() {
		if strings.HasSuffix(key, w.id) {
			found = append(found, x.(*canon.Object))
		}
	}
	if len(found) != 1 {
		return // several decisions of that name
	}
	result, reason := found[0].Value("result"), found[0].Value("reason")
	if f := fault.As(refused); f != nil {
		if result != AuditUnreplayable || reason != f.Message {
			t.Errorf("%s: replay refuses (%v), an audit says %s (%s)", what, refused, result, reason)
		}
		return
	}
	changed, _ := replay.Value("changed").(*canon.Object)
	same := replay.Value("reproduced") == true && !changed.Has("identity") && !changed.Has("score")
	if same != (result == AuditReproduced) || !same && result != AuditDiffers {
		t.Errorf("%s: replay says %v, %s; an audit %s (%s)", what, replay.Value("reproduced"), mustText(t, changed), result, reason)
	}
}

func twoRows(entity, a, b string) resolve.Request {
	return resolve.Request{
		A: []*canon.Object{canon.Obj("id", "a-"+a, "name", a)}, B: []*canon.Object{canon.Obj("id", "b-"+b, "name", b)},
		Entity: entity, Threshold: resolve.DefaultThreshold,
	}
}

func mustCompare(t *testing.T, l *Ledger, req resolve.Request) *resolve.Result {
	t.Helper()
	res, err := l.Compare(t.Context(), req)
	if err != nil || len(res.Edges) == 0 {
		t.Fatalf("%v %v", res, err)
	}
	return res
}

func mustAsk(t *testing.T) func(o *canon.Object, err error) *canon.Object {
	t.Helper()
	return func(o *canon.Object, err error) *canon.Object {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
}

// audited is what an audit finds of every decision.
func audited(ctx context.Context, l *Ledger, today bool) (*canon.Object, error) {
	out := canon.NewObject()
	_, err := l.Audit(ctx, AuditOptions{Today: today}, func(f *Audited) error {
		out.Set(fmt.Sprintf("%d %s", f.Seq, f.DecisionID), canon.Obj("result", f.Result, "reason", f.Reason))
		return nil
	})
	return out, err
}

// differingLines are the lines that only one of two texts has.
func differingLines(a, b string) string {
	var out []string
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for _, line := range x {
		if !slices.Contains(y, line) {
			out = append(out, "- "+strings.TrimSpace(line))
		}
	}
	for _, line := range y {
		if !slices.Contains(x, line) {
			out = append(out, "+ "+strings.TrimSpace(line))
		}
	}
	return strings.Join(out[:min(len(out), 6)], "\n")
}
