package ledger

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// unchanged runs a call that must be refused, and holds that nothing was written
// and that the ledger goes on.
func unchanged(t *testing.T, l *Ledger, what string, call func() error) error {
	t.Helper()
	before, err := l.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused := call()
	if refused == nil {
		t.Errorf("%s: was taken", what)
	}
	after, err := l.Dump(t.Context())
	if err != nil {
		t.Fatalf("%s: afterwards: %v", what, err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s: rows (-before +after)\n%s", what, diff)
	}
	return refused
}

// nestedBody is an object within objects, deeper than anything is read.
func nestedBody(depth int) *canon.Object {
	o := canon.Obj("verdict", VerdictSame)
	for range depth {
		o = canon.Obj("x", o)
	}
	return o
}

// TestDraftsThatAreRefused: what no event can be made of is refused whole, with
// the drafts before it.
func TestDraftsThatAreRefused(t *testing.T) {
	l := openHere(t, Options{})
	mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
	for _, x := range []struct {
		name, want string
		draft      Draft
	}{
		{"a record", "appended by their verbs", Draft{Kind: KindRecordStored, Subject: "rec:x", Body: canon.NewObject()}},
		{"a run", "appended by their verbs", Draft{Kind: KindRunRecorded, Subject: "run:x", Body: canon.NewObject()}},
		{"a decision", "appended by their verbs", Draft{Kind: KindDecisionRecorded, Subject: "dec:x", Body: canon.NewObject()}},
		{"an observation", "appended by their verbs", Draft{Kind: KindEvidenceObserved, Subject: "obs:x", Body: canon.NewObject()}},
		{"a body of no form", "encode event body", Draft{Kind: "a.b", Subject: "x", Body: func() {}}},
		{"a body that is a list", "is no object", Draft{Kind: "a.b", Subject: "x", Body: []any{}}},
		{"no body", "is no object", Draft{Kind: "a.b", Subject: "x", Body: rawJSON("")}},
		{"a body too deep", "no JSON object", Draft{Kind: KindOperatorDecided, Subject: "pair:x|y", Body: nestedBody(5000)}},
		{"a verdict on nothing", "never stored", Draft{Kind: KindOperatorDecided, Subject: "pair:x|y", Body: canon.Obj("verdict", VerdictSame)}},
	} {
		err := unchanged(t, l, x.name, func() error {
			_, err := l.Append(t.Context(), []Draft{{Kind: "project.initialised", Subject: "project", Body: canon.NewObject()}, x.draft})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// TestDraftsOfOneUnitSeeEachOther: the second of a subject replaces the first,
// and one that changes nothing is the first.
func TestDraftsOfOneUnitSeeEachOther(t *testing.T) {
	l := openHere(t, Options{})
	draft := func(n int) Draft { return Draft{Kind: "note.written", Subject: "note", Body: canon.Obj("n", n)} }
	got, err := l.Append(t.Context(), []Draft{draft(1), draft(1), draft(2), draft(2)})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].ID() != got[1].ID() || got[0].Supersedes() != "" || got[2].ID() == got[0].ID() || got[2].Supersedes() != got[0].ID() || got[3].ID() != got[2].ID() {
		t.Errorf("%+v", got)
	}
	again, err := l.Append(t.Context(), []Draft{draft(2), draft(1)})
	if err != nil || again[0].ID() != got[2].ID() || again[1].Supersedes() != got[2].ID() {
		t.Errorf("%+v %v", again, err)
	}
	pinned := draft(3)
	pinned.Supersedes = again[1].ID()
	last, err := l.Append(t.Context(), []Draft{pinned})
	if err != nil || last[0].Supersedes() != again[1].ID() {
		t.Errorf("%+v %v", last, err)
	}
	if _, seq, _, err := l.Head(t.Context()); err != nil || seq != 4 {
		t.Errorf("%d events, %v", seq, err)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestContentThatDoesNotFitIsNotGiven: bytes are compared with their address.
func TestContentThatDoesNotFitIsNotGiven(t *testing.T) {
	l := openHere(t, Options{})
	for _, prefix := range []string{"doc", "lst", "txt", "row"} {
		address := ContentAddress(prefix, []byte("x"))
		if _, err := l.Append(t.Context(), []Draft{{Kind: "a.b", Subject: prefix, Body: canon.NewObject(), Blobs: []Blob{{address, []byte("x")}}}}); err != nil {
			t.Fatal(err)
		}
		if b, err := l.Blob(t.Context(), address); err != nil || string(b) != "x" {
			t.Errorf("%s: %q %v", prefix, b, err)
		}
		within(t, l, func() {
			if _, err := l.Blob(t.Context(), address); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), "does not fit its address") {
				t.Errorf("%s: %v", prefix, err)
			}
		}, "UPDATE blobs SET bytes = 'y'::BLOB")
		within(t, l, func() {
			if _, err := l.Blob(t.Context(), address); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", prefix, err)
			}
		}, "DELETE FROM blobs")
	}
}

// TestLongArgumentsAreClipped between characters, so that errors stay text.
func TestLongArgumentsAreClipped(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{strings.Repeat("a", 120), strings.Repeat("a", 120)},
		{strings.Repeat("a", 121), strings.Repeat("a", 120) + "..."},
		{strings.Repeat("é", 60), strings.Repeat("é", 60)},
		{"a" + strings.Repeat("é", 60), "a" + strings.Repeat("é", 59) + "..."},
		{"aa" + strings.Repeat("😀", 30), "aa" + strings.Repeat("😀", 29) + "..."},
		{strings.Repeat("\x80", 200), "..."},
	} {
		if got := clip(x.in); got != x.want {
			t.Errorf("%q: %q, want %q", x.in, got, x.want)
		}
	}
}

// TestPairsThatAreRefused: two records that have no address are not recorded, a
// record compared with itself is answered and not recorded.
func TestPairsThatAreRefused(t *testing.T) {
	l := openHere(t, Options{})
	good, bad := canon.Obj("name", "Adaeze Okonkwo"), canon.Obj("name", "Adaeze Okonkwo", "remark", "\xff")
	mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
	for name, req := range map[string]resolve.PairRequest{
		"a": {A: bad, B: good, Entity: "person"},
		"b": {A: good, B: bad, Entity: "person"},
	} {
		err := unchanged(t, l, name, func() error {
			_, recorded, err := l.ComparePair(t.Context(), req)
			if recorded {
				t.Errorf("%s: is said to be recorded", name)
			}
			return err
		})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, before, _, _ := l.Head(t.Context())
	res, recorded, err := l.ComparePair(t.Context(), resolve.PairRequest{A: good, B: good.Clone(), Entity: "person"})
	if err != nil || recorded || res == nil || res.DecisionID == "" {
		t.Errorf("a record and itself: %v %v", recorded, err)
	}
	if _, after, _, _ := l.Head(t.Context()); after != before {
		t.Errorf("%d events were recorded", after-before)
	}
}

// TestContradictingPairsAreWithheld: a pair that matches and would bring two
// national ids into one entity is recorded and does not link.
func TestContradictingPairsAreWithheld(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	person := func(id, number string) *canon.Object {
		o := canon.Obj("id", id, "name", "Adaeze Chidinma Okonkwo", "dob", "1990-03-04", "phone", "+2348012345678", "email", "adaeze.okonkwo@example.org")
		if number != "" {
			o.Set("national_id", number)
		}
		return o
	}
	link := func(a, b *canon.Object) *canon.Object {
		t.Helper()
		res, recorded, err := l.ComparePair(ctx, resolve.PairRequest{A: a, B: b, Entity: "person"})
		if err != nil || !recorded {
			t.Fatalf("%v %v", recorded, err)
		}
		return mustAsk(t)(l.Decision(ctx, res.DecisionID))
	}
	bridge := person("p2", "")
	if d := link(person("p1", "12345678901"), bridge); d.Value("entity_id") == nil || d.Has("withheld") {
		t.Fatalf("the first pair is not linked: %s", mustText(t, d))
	}
	d := link(bridge, person("p3", "98765432109"))
	if d.Value("withheld") != withheldConflict {
		t.Errorf("the second pair: %s", mustText(t, d))
	}
	ents := mustAsk(t)(l.Entities(ctx, ""))
	list := ents.Value("entities").([]any)
	if len(list) != 1 || len(list[0].(*canon.Object).Value("records").([]any)) != 2 {
		t.Errorf("entities: %s", mustText(t, ents))
	}
	// Within one entity there is nothing to contradict.
	if d := link(person("p1", "12345678901"), bridge); d.Has("withheld") {
		t.Errorf("again: %s", mustText(t, d))
	}
	// A record whose content is gone cannot be weighed: nothing is recorded.
	within(t, l, func() {
		l.cache.reset()
		_, seq, _, _ := l.Head(ctx)
		_, recorded, err := l.ComparePair(ctx, resolve.PairRequest{A: bridge, B: person("p4", "11111111111"), Entity: "person"})
		if !errors.Is(err, ErrAltered) || recorded {
			t.Errorf("a content gone: %v %v", recorded, err)
		}
		if _, after, _, err := l.Head(ctx); err != nil || after != seq {
			t.Errorf("%d events before, %d after, %v", seq, after, err)
		}
	}, "DELETE FROM blobs")
}

// TestIdentifiersOfMarks: identifiers are compared by letters and digits; one of
// neither by what it is.
func TestIdentifiersOfMarks(t *testing.T) {
	for _, x := range []struct {
		v    any
		want string
	}{
		{"RC-12 34/a", "rc1234a"}, {canon.Number("77"), "77"}, {"--", "--"}, {" ++  -", "++ -"}, {"", ""}, {nil, ""}, {"№", "№"}, {"azAZ09", "azaz09"},
	} {
		if got := identifier(x.v); got != x.want {
			t.Errorf("%v: %q, want %q", x.v, got, x.want)
		}
	}
}

// TestFeedsStopAtAPanic: whoever makes rows that panic meets the panic at the end,
// and nobody waits for rows that never come.
func TestFeedsStopAtAPanic(t *testing.T) {
	l := openHere(t, Options{})
	err := l.store.Use(t.Context(), func(db *duck.DB) error {
		f := newFeed(t.Context(), db)
		if err := f.give("events", func() [][]driver.Value { panic("x") }); err != nil {
			t.Errorf("given: %v", err)
		}
		for range 8 { // more than the feed holds
			if err := f.settle(); !errors.Is(err, errStopped) {
				t.Errorf("settle: %v", err)
			}
		}
		if err := f.give("events", nil); !errors.Is(err, errStopped) {
			t.Errorf("give: %v", err)
		}
		defer func() {
			if p := recover(); p != "x" {
				t.Errorf("the end: %v", p)
			}
		}()
		return f.end()
	})
	if err != nil {
		t.Error(err)
	}
}
