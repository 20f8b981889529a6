package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"os"
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

// place is a value within a body: the keys that lead to it.
type place []any

func (p place) String() string { return fmt.Sprint([]any(p)...) }

// placesIn lists every value of a body, but not those within what engines wrote
// for people and under names of their own.
func placesIn(v any, at place) []place {
	var out []place
	add := func(key, v any) {
		p := append(slices.Clone(at), key)
		out = append(out, p)
		if key != "pins" && key != "factors" && key != "field_weights" {
			out = append(out, placesIn(v, p)...)
		}
	}
	switch v := v.(type) {
	case *canon.Object:
		for k, x := range v.All() {
			add(k, x)
		}
	case []any:
		if len(v) > 0 {
			add(0, v[0])
		}
	}
	return out
}

// leaveOut takes the place of a value that is not there.
type leaveOut struct{}

// instead is a body with another value at a place.
func instead(v any, p place, now any) any {
	if len(p) == 0 {
		return now
	}
	switch v := v.(type) {
	case *canon.Object:
		out, key := v.Clone(), p[0].(string)
		if x := instead(v.Value(key), p[1:], now); x == (leaveOut{}) {
			out.Delete(key)
		} else {
			out.Set(key, x)
		}
		return out
	case []any:
		out, n := slices.Clone(v), p[0].(int)
		if x := instead(v[n], p[1:], now); x == (leaveOut{}) {
			return slices.Delete(out, n, n+1)
		} else {
			out[n] = x
		}
		return out
	}
	return v
}

// long says that everything is to be tried.
var long = os.Getenv("ARCHE_LONG") != ""

// othersThan are what may stand at a place instead of a value: nothing, or a value
// of another type. The short form takes nothing and one other, the n-th.
func othersThan(v any, n int) (out []any) {
	for _, x := range []any{canon.Number("-1"), "x", []any{}, canon.Obj("x", canon.Number("1")), nil} {
		if fmt.Sprintf("%T", x) != fmt.Sprintf("%T", v) {
			out = append(out, x)
		}
	}
	if !long {
		out = []any{out[n%len(out)]}
	}
	if _, ok := v.(canon.Number); ok {
		out = append(out, canon.Number("-1"), canon.Number("1e300"), canon.Number("0.5"))
	}
	return append(out, leaveOut{})
}

func valueAt(v any, p place) any {
	for _, key := range p {
		switch x := v.(type) {
		case *canon.Object:
			v = x.Value(key.(string))
		case []any:
			v = x[key.(int)]
		}
	}
	return v
}

func mustText(t *testing.T, v any) string {
	t.Helper()
	b, err := appendJCS(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sweep leaves out each value of the bodies of some events, or puts one of
// another type in its place, and asks everything each time.
func (w *bodyWorld) sweep(t *testing.T, kinds ...string) (n int) {
	t.Helper()
	for _, kind := range kinds {
		k := -1
		for i := range w.events {
			if w.events[i].kind == kind {
				k = i // the last
			}
		}
		if k < 0 {
			t.Fatalf("no event of kind %s", kind)
		}
		body, err := w.events[k].Body()
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range placesIn(body, nil) {
			list := othersThan(valueAt(body, p), i)
			if kind == KindDecisionRecorded && !long { // most of it is only shown
				list = list[i%2*(len(list)-1):][:1]
			}
			for j, now := range list {
				changed := mustText(t, instead(body, p, now))
				if changed == w.events[k].body {
					continue
				}
				w.put(t, w.with(k, changed), w.blobs)
				w.check(t, fmt.Sprintf("%s with %v %v", kind, p, now), kind, j == 0 && (long || i%2 == 0))
				n++
			}
		}
	}
	return n
}

// TestBodiesOfOthersAreReadWithCare: whatever a log says that fits its addresses
// and links, every question is answered or refused with a reason, the same from
// the log and from the tables, and replay and audit say one thing.
func TestBodiesOfOthersAreReadWithCare(t *testing.T) {
	for _, x := range bodyWorlds {
		t.Run(x.name, func(t *testing.T) {
			w := &bodyWorld{l: openHere(t, Options{})}
			w.id, w.asks = x.make(t, w.l)
			w.read(t)
			w.check(t, "as it was written", "", true)
			if n := w.sweep(t, x.kinds...); n < 10 {
				t.Errorf("only %d bodies were tried", n)
			}
		})
	}
}

// bodyWorlds are logs of one kind of work each.
var bodyWorlds = []struct {
	name  string
	kinds []string // of the events whose bodies are changed
	make  func(t *testing.T, l *Ledger) (id string, asks []ask)
}{
	{"a batch", []string{KindRecordStored, KindRunRecorded, KindDecisionRecorded}, func(t *testing.T, l *Ledger) (string, []ask) {
		first := mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
		d := mustAsk(t)(l.Decision(t.Context(), first.Edges[0].DecisionID))
		again := twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters (K) Ltd")
		again.A[0].Set("id", d.Value("record_a"))
		again.A[0].Set("city", "Nairobi")
		id := mustCompare(t, l, again).Edges[0].DecisionID
		return asksOf(id, mustAsk(t)(l.Decision(t.Context(), id)))
	}},
	{"comparators", []string{KindRunRecorded}, func(t *testing.T, l *Ledger) (string, []ask) {
		req := twoRows("", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Ltd")
		req.Comparators = []*canon.Object{canon.Obj("kind", "name", "field", "name")}
		id := mustCompare(t, l, req).Edges[0].DecisionID
		return asksOf(id, mustAsk(t)(l.Decision(t.Context(), id)))
	}},
	{"one list", []string{KindRunRecorded}, func(t *testing.T, l *Ledger) (string, []ask) {
		req := twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited")
		req.A, req.B, req.Dedupe = append(req.A, req.B...), nil, true
		id := mustCompare(t, l, req).Edges[0].DecisionID
		return asksOf(id, mustAsk(t)(l.Decision(t.Context(), id)))
	}},
	{"a pair", []string{KindRunRecorded, KindDecisionRecorded}, func(t *testing.T, l *Ledger) (string, []ask) {
		res, _, err := l.ComparePair(t.Context(), resolve.PairRequest{
			A: canon.Obj("id", "p1", "name", "Adaeze Okonkwo", "national_id", "12345678901"), B: canon.Obj("id", "p2", "name", "A. Okonkwo", "national_id", "12345678901"),
			Entity: "person",
		})
		if err != nil {
			t.Fatal(err)
		}
		return asksOf(res.DecisionID, mustAsk(t)(l.Decision(t.Context(), res.DecisionID)))
	}},
	{"a newcomer", []string{KindRunRecorded, KindDecisionRecorded}, func(t *testing.T, l *Ledger) (string, []ask) {
		mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
		id := resolvedAs(t, l, canon.Obj("name", "Kijani Tea Exporters", "remark", "n"))
		return asksOf(id, mustAsk(t)(l.Decision(t.Context(), id)))
	}},
	{"a newcomer after an erasure", []string{KindValuesErased, KindRunRecorded}, func(t *testing.T, l *Ledger) (string, []ask) {
		mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
		d := mustAsk(t)(l.Decision(t.Context(), mustCompare(t, l, twoRows("organisation", "Zentari Mills Ltd", "Zentari Mills Limited")).Edges[0].DecisionID))
		mustAsk(t)(l.Forget(t.Context(), ForgetRequest{Addresses: []string{d.Value("record_a").(string)}, Reason: "asked to"}))
		id := resolvedAs(t, l, canon.Obj("name", "Kijani Tea Exporters", "remark", "n"))
		return asksOf(id, mustAsk(t)(l.Decision(t.Context(), id)))
	}},
	{"what people say", []string{KindEvidenceObserved, KindOperatorDecided}, func(t *testing.T, l *Ledger) (string, []ask) {
		id := mustCompare(t, l, twoRows("organisation", "Central Cooperative Society", "Central Cooperative Society")).Edges[0].DecisionID
		d := mustAsk(t)(l.Decision(t.Context(), id))
		mustAsk(t)(l.Observe(t.Context(), d.Value("record_a").(string), canon.Obj("city", "Nakuru")))
		mustAsk(t)(l.Decide(t.Context(), d.Value("record_a").(string), d.Value("record_b").(string), VerdictSame, "one number"))
		_, asks := asksOf(id, d)
		return id, append(asks, ask{name: "history", of: func(ctx context.Context, l *Ledger) (*canon.Object, error) {
			ents, err := l.Entities(ctx, "")
			if err != nil {
				return nil, err
			}
			for _, e := range ents.Value("entities").([]any) {
				return l.EntityHistory(ctx, e.(*canon.Object).Value("entity_id").(string))
			}
			return canon.NewObject(), nil
		}})
	}},
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

// resolvedAs resolves a newcomer and is the decision on it.
func resolvedAs(t *testing.T, l *Ledger, rec *canon.Object) string {
	t.Helper()
	out := mustAsk(t)(l.Resolve(t.Context(), rec, "organisation"))
	list, _ := out.Value("decisions").([]any)
	if len(list) == 0 {
		t.Fatal("the newcomer met nobody")
	}
	return list[0].(*canon.Object).Value("decision_id").(string)
}

// asksOf asks for a decision again, and about its records.
func asksOf(id string, d *canon.Object) (string, []ask) {
	a, b := d.Value("record_a").(string), d.Value("record_b").(string)
	return id, []ask{
		{name: "replay", of: func(ctx context.Context, l *Ledger) (*canon.Object, error) { return l.Replay(ctx, id) }},
		{name: "explain", of: func(ctx context.Context, l *Ledger) (*canon.Object, error) { return l.Explain(ctx, id) }},
		{name: "path", of: func(ctx context.Context, l *Ledger) (*canon.Object, error) { return l.Path(ctx, a, b) }},
		{name: "forget", ofRecords: true, of: func(ctx context.Context, l *Ledger) (*canon.Object, error) {
			return l.Forget(ctx, ForgetRequest{Field: "name", Value: "Kijani Tea Exporters Ltd", DryRun: true})
		}},
		{name: "audit", of: func(ctx context.Context, l *Ledger) (*canon.Object, error) { return audited(ctx, l, false) }},
		{name: "audit of today", ofRecords: true, of: func(ctx context.Context, l *Ledger) (*canon.Object, error) { return audited(ctx, l, true) }},
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
