package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// forge is a small ledger of every kind of event whose log can be written anew,
// as a program of somebody else's would have written it: addresses and links
// always fit.
type forge struct {
	t         *testing.T
	l         *Ledger
	events    []Event
	blobs     [][]driver.Value
	decisions []string              // public ids of the first two
	record    string                // one that is linked
	plain     []string              // answers of the ledger as it was written
	long      bool                  // everything is tried
	seam      func(op string) error // fails operations of the database when it is set
	cases     int
}

func oneNamed(id, name string) []*canon.Object {
	return []*canon.Object{canon.Obj("id", id, "name", name)}
}

func byEntity(a, b []*canon.Object) resolve.Request {
	return resolve.Request{A: a, B: b, Entity: "organisation", Threshold: resolve.DefaultThreshold}
}

func newForge(t *testing.T) *forge {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := &forge{t: t, long: os.Getenv("ARCHE_LONG") != ""}
	l, err := Open("duckdb:///:memory:", Options{
		Clock: func() time.Time { at = at.Add(time.Second); return at },
		Fault: func(op string) error {
			if f.seam == nil {
				return nil
			}
			return f.seam(op)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ctx := t.Context()
	f.l = l
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(l.Compare(ctx, byEntity(oneNamed("a", "Kijani Tea Exporters Ltd"), oneNamed("b", "Kijani Tea Exporters Limited"))))
	must(l.Compare(ctx, byEntity(oneNamed("c", "Central Cooperative Society"), oneNamed("d", "Central Cooperative Society"))))
	must(l.Resolve(ctx, canon.Obj("name", "Kijani Tea Exporters"), "organisation"))
	f.record = l.state.recordID(0)
	must(l.Observe(ctx, l.state.recordID(2), canon.Obj("registration_id", "CS-1")))
	must(l.Decide(ctx, l.state.recordID(2), l.state.recordID(3), VerdictReview, "ask them"))
	loose := oneNamed("z", "Zentari Mills")
	must(l.Compare(ctx, byEntity(loose, oneNamed("y", "Harmuko Foods"))))
	id, err := publicRecordID(loose[0], "organisation")
	must(id, err)
	must(l.Forget(ctx, ForgetRequest{Addresses: []string{id}, Reason: "asked to"}))
	for e, err := range l.Events(ctx, Filter{}) {
		must(e, err)
		f.events = append(f.events, e)
		if e.kind == KindDecisionRecorded && len(f.decisions) < 2 {
			id, _, _ := strings.Cut(e.subject, "@")
			f.decisions = append(f.decisions, id)
		}
	}
	f.readBlobs()
	f.plain = f.answers()
	return f
}

// readBlobs takes the contents as they are now.
func (f *forge) readBlobs() {
	f.t.Helper()
	err := f.l.Query(f.t.Context(), `SELECT address, bytes, seq FROM blobs ORDER BY seq, rowid`, nil, func(v []driver.Value) error {
		f.blobs = append(f.blobs, []driver.Value{v[0], slices.Clone(v[1].([]byte)), v[2]})
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// changed is the log with one event changed, and everything behind it made to fit.
func (f *forge) changed(n int, change func(e *Event)) []Event {
	out, link, now := slices.Clone(f.events), zeroLink, map[string]string{}
	for i := range out {
		e, old := &out[i], out[i].id
		if i == n {
			change(e)
		}
		if id, ok := now[e.supersedes]; ok {
			e.supersedes = id
		}
		e.id = eventID(e.version, e.kind, e.subject, e.supersedes, e.body)
		e.link = chainLink(link, e)
		link, now[old] = e.link, e.id
	}
	return out
}

// write puts a log into the file in place of what is there.
func (f *forge) write(events []Event) {
	f.t.Helper()
	ctx := context.Background()
	err := f.l.store.Use(ctx, func(db *duck.DB) error {
		err := f.l.store.Write(ctx, db, 0, func() error {
			for _, table := range []string{"events", "blobs"} {
				if err := db.Exec(ctx, "DELETE FROM "+table); err != nil {
					return err
				}
			}
			if err := db.Insert(ctx, "events", eventRows(events)); err != nil {
				return err
			}
			return db.Insert(ctx, "blobs", f.blobs)
		})
		if err != nil {
			return err
		}
		return db.Checkpoint(ctx) // what was deleted slows every reading down
	})
	last := events[len(events)-1]
	if err == nil {
		err = f.l.store.Remember(logMain, last.seq, last.link)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.forget()
}

// forget makes the ledger take its state anew.
func (f *forge) forget() {
	f.l.state = nil
	f.l.cache.reset()
}

// told is an answer as text, or the error that a client is told. An error that
// names nothing is a fault of the test's subject.
func (f *forge) told(o *canon.Object, err error) string {
	f.t.Helper()
	if err == nil {
		text, err := canon.Compact(o)
		if err != nil {
			f.t.Fatal(err)
		}
		return string(text)
	}
	if x := fault.As(err); x == nil || x.Kind == fault.Internal {
		f.t.Errorf("an error that tells nobody anything: %v", err)
	}
	return "error: " + err.Error()
}

// answers are what the reading operations say.
func (f *forge) answers() []string {
	ctx := context.Background()
	out := []string{f.told(f.l.Entities(ctx, "")), f.told(f.l.Cases(ctx, ""))}
	for _, id := range f.decisions {
		out = append(out, f.told(f.l.Decision(ctx, id)))
	}
	return out
}

// writes calls what writes; it says the errors.
func (f *forge) writes() (errs []string) {
	ctx := context.Background()
	note := func(_ any, err error) {
		if err != nil {
			errs = append(errs, f.told(nil, err))
		}
	}
	note(f.l.Compare(ctx, byEntity(oneNamed("a", "Kijani Tea Exporters Ltd"), oneNamed("b", "Kijani Tea Exporters Limited"))))
	note(f.l.Resolve(ctx, canon.Obj("name", "Kijani Tea Exporters", "remark", "n"), "organisation"))
	note(f.l.Observe(ctx, f.record, canon.Obj("registration_id", "N-1")))
	return errs
}

// forgery is a value in place of another.
type forgery struct {
	name              string
	value             any
	long, inner, deep bool
}

// forgeries are values that a member of a body is given in place of its own. Some
// are tried in the long form alone, and not everywhere; with deep ones the
// ledger is verified and written to.
var forgeries = []forgery{
	{name: "absent", inner: true, deep: true},
	{name: "null", long: true},
	{name: "number", value: canon.Number("7")},
	{name: "text", value: "x"},
	{name: "truth", value: true, long: true},
	{name: "list", value: []any{"x", canon.Number("7"), nil}},
	{name: "object", value: canon.Obj("x", canon.Number("7"), "record", canon.Number("7")), long: true},
}

// bodyPlace is a place in a body: a key, or a key of an object under a key.
type bodyPlace struct{ outer, inner string }

func (p bodyPlace) String() string { return strings.Trim(p.outer+"."+p.inner, ".") }

func placesOf(body *canon.Object) (out []bodyPlace) {
	for k, v := range body.All() {
		out = append(out, bodyPlace{k, ""})
		if o, ok := v.(*canon.Object); ok && k != "factors" {
			for inner := range o.All() {
				out = append(out, bodyPlace{k, inner})
			}
		}
	}
	return out
}

// with is a body with a value in a place.
func (p bodyPlace) with(t *testing.T, body *canon.Object, name string, value any) string {
	t.Helper()
	out := body.Clone()
	at, key := out, p.outer
	if p.inner != "" {
		o, _ := out.Value(p.outer).(*canon.Object)
		o = o.Clone()
		out.Set(p.outer, o)
		at, key = o, p.inner
	}
	if name == "absent" {
		at.Delete(key)
	} else {
		at.Set(key, value)
	}
	text, err := appendJCS(nil, out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// refusals are the forgeries that the fold itself refuses, by kind and place:
// what entities could not be told without.
var refusals = map[string]string{
	"decision.recorded decision_id": "absent null number text truth list object",
	"decision.recorded pos":         "absent",
	"decision.recorded score":       "absent null text truth list object",
	"evidence.observed new_record":  "absent null number text truth list object",
	"record.stored content":         "absent null number text truth list object",
	"run.recorded a":                "text",
	"run.recorded b":                "text",
	"run.recorded verb":             "absent null number truth list object",
}

// TestForgedBodiesAreNamedOrTold gives every member of the body of every kind of
// event another type, or takes it away. The fold refuses it by name, or every
// operation tells the same whichever way the ledger took its state, with errors
// that say what is wrong; what is written on top is whole.
func TestForgedBodiesAreNamedOrTold(t *testing.T) {
	f := newForge(t)
	got, done := map[string]string{}, map[string]bool{}
	for n := range f.events {
		e := f.events[n]
		if !known(e.kind) || done[e.kind] {
			continue
		}
		done[e.kind] = true
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range placesOf(body) {
			var refused []string
			for _, x := range forgeries {
				if !f.long && (x.long || p.inner != "" && (!x.inner || e.kind != KindDecisionRecorded)) {
					continue
				}
				name := fmt.Sprintf("%s %v %s", e.kind, p, x.name)
				text := p.with(t, body, x.name, x.value)
				if text != e.body && f.try(name, n, x.deep || f.long, func(e *Event) { e.body = text }) {
					refused = append(refused, x.name)
				}
			}
			if len(refused) > 0 {
				got[fmt.Sprintf("%s %v", e.kind, p)] = strings.Join(refused, " ")
			}
		}
	}
	want := maps.Clone(refusals)
	for place, names := range want {
		want[place] = strings.Join(slices.DeleteFunc(strings.Fields(names), func(name string) bool {
			n := slices.IndexFunc(forgeries, func(x forgery) bool { return x.name == name })
			return !f.long && forgeries[n].long
		}), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refused by the fold (-want +got)\n%s", diff)
	}
	if f.cases < 75 {
		t.Errorf("only %d forgeries were tried", f.cases)
	}
	f.write(f.events)
	if err := f.l.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.plain, f.answers()); diff != "" {
		t.Errorf("the log is as it was and the answers are not (-before +after)\n%s", diff)
	}
}

// try writes the log with an event changed and reports whether the fold refused
// it.
func (f *forge) try(name string, n int, deep bool, change func(e *Event)) (refused bool) {
	f.cases++
	t, ctx := f.t, context.Background()
	t.Helper()
	f.write(f.changed(n, change))
	if err := f.l.Rebuild(ctx); err != nil {
		at, text := 0, f.told(nil, err)
		if _, err := fmt.Sscanf(text, "error: ledger row altered: event %d (evt:", &at); err != nil || at < n+1 {
			t.Errorf("%s: the refusal names neither event %d nor one behind it: %s", name, n+1, text)
		}
		told := f.answers()
		if deep {
			told = append(told, f.writes()...)
			if f.l.Verify(ctx, nil) == nil {
				t.Errorf("%s: the fold refuses what verification takes", name)
			}
		}
		for i, text := range told {
			if !strings.HasPrefix(text, "error: ") {
				t.Errorf("%s: answer %d is given of a log that cannot be folded: %s", name, i, text)
			}
		}
		return true
	}
	folded := f.answers()
	f.forget()
	old := f.l.verified
	f.l.verified = -1
	loaded := f.answers()
	f.l.verified = old
	for i := range folded {
		if folded[i] != loaded[i] {
			t.Errorf("%s: answer %d is, folded\n%s\nand loaded\n%s", name, i, folded[i], loaded[i])
			break
		}
	}
	if !deep {
		return false
	}
	whole := f.l.Verify(ctx, nil)
	f.writes()
	if err := f.l.Verify(ctx, nil); whole == nil && err != nil {
		t.Errorf("%s: writing on top damaged the ledger: %v", name, err)
	}
	return false
}
