package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

func named(prefix string, names ...string) []*canon.Object {
	out := make([]*canon.Object, len(names))
	for i, n := range names {
		out[i] = canon.Obj("id", fmt.Sprint(prefix, i), "name", n)
	}
	return out
}

func numbered(prefix string, n int) []*canon.Object {
	out := make([]*canon.Object, n)
	for i := range out {
		out[i] = canon.Obj("id", fmt.Sprint(prefix, i), "name", fmt.Sprintf("Kijani %d Tea %d", i%97, i))
	}
	return out
}

// Faults name the argument and what is accepted, and never a record's value.
func TestFaults(t *testing.T) {
	a, b := named("a", "Secretname Obi"), named("b", "Secretname Obi")
	spec := func(pairs ...any) []*canon.Object { return []*canon.Object{canon.Obj(pairs...)} }
	for name, c := range map[string]struct {
		req  resolve.Request
		want string
	}{
		"both":             {resolve.Request{Entity: "person", Comparators: spec("kind", "name", "field", "name")}, "both"},
		"neither":          {resolve.Request{}, "neither"},
		"entity":           {resolve.Request{Entity: "people"}, "available: artist, organisation"},
		"version":          {resolve.Request{Entity: "person@0.1"}, "0.9, 0.10"},
		"engine":           {resolve.Request{Entity: "person", Engine: "crosswalk.v7"}, "unknown engine"},
		"backend":          {resolve.Request{Entity: "person", Backend: "dedupe"}, "'splink'"},
		"kind":             {resolve.Request{Comparators: spec("kind", "names", "field", "name")}, "known kinds: address"},
		"second kind":      {resolve.Request{Comparators: spec("kind", "numbers", "field", "name")}, "known kinds: address"},
		"field":            {resolve.Request{Comparators: spec("kind", "name")}, "'field'"},
		"weight":           {resolve.Request{Comparators: spec("kind", "name", "field", "name", "weight", "heavy")}, "'heavy'"},
		"floor":            {resolve.Request{Comparators: spec("kind", "name", "field", "name", "refutes_below", canon.Number("1.5"))}, "(0.0, 1.0]"},
		"floor text":       {resolve.Request{Comparators: spec("kind", "name", "field", "name", "refutes_below", "high")}, "must be a number"},
		"rival":            {resolve.Request{Comparators: spec("kind", "rival", "field", "name")}, "rare"},
		"category":         {resolve.Request{Comparators: spec("kind", "code", "field", "name", "category", "toys")}, "electronics"},
		"blocking":         {resolve.Request{Entity: "person", Block: "soundex"}, "soundex"},
		"too many pairs":   {resolve.Request{Comparators: spec("kind", "name", "field", "name"), MaxPairs: -1}, "would score 1 pairs"},
		"too many edges":   {resolve.Request{Entity: "person", MaxEdges: 1, A: slices.Concat(a, named("c", "Secretname Obi"))}, "more than 1 pairs match or need review"},
		"one coordinate":   {resolve.Request{Entity: "place", MaxPairs: -1, A: []*canon.Object{canon.Obj("lat", "6.5", "lon", "3.3")}}, "near coordinates bring 0 pairs"},
		"admin path":       {resolve.Request{Comparators: spec("kind", "containment", "field", "name")}, "administrative path"},
		"absent record":    {resolve.Request{Entity: "person", A: []*canon.Object{nil}}, "not an object"},
		"endless distance": {resolve.Request{Entity: "place", A: []*canon.Object{canon.Obj("lat", "inf", "lon", "1")}}, "not finite"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.req.A == nil {
				c.req.A = a
			}
			c.req.B, c.req.Threshold = b, resolve.DefaultThreshold
			_, err := resolve.Compare(t.Context(), c.req)
			f := fault.As(err)
			if f == nil {
				t.Fatalf("%v is no fault", err)
			}
			if text := f.Message + " " + f.Hint; !strings.Contains(text, c.want) || strings.Contains(text, "Secretname") {
				t.Errorf("fault %q", text)
			}
		})
	}
}

// A batch whose lists are empty answers, even where a pair would be an error.
func TestEmptyLists(t *testing.T) {
	res, err := resolve.Compare(t.Context(), resolve.Request{Comparators: []*canon.Object{canon.Obj("kind", "name", "field", "name", "weight", "heavy")}, Threshold: 0.7})
	if err != nil || len(res.Edges) != 0 {
		t.Fatal(res, err)
	}
}

func TestCancel(t *testing.T) {
	list := numbered("a", 4000)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := resolve.Compare(ctx, resolve.Request{A: list, B: list, Comparators: []*canon.Object{canon.Obj("kind", "name", "field", "name")},
		Threshold: 0.7, Progress: func(done, total int64) {
			if calls++; calls == 2 {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if calls > 20 {
		t.Errorf("%d rows of chunks after the call was cancelled", calls)
	}
	if _, err := resolve.Compare(ctx, resolve.Request{A: list, B: list, Entity: "organisation", Threshold: 0.7}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call under a cancelled context: %v", err)
	}
}

func TestProgress(t *testing.T) {
	list := numbered("a", 500)
	last := int64(0)
	_, err := resolve.Compare(t.Context(), resolve.Request{A: list, B: list, Entity: "person", Threshold: 0.7, Progress: func(done, total int64) {
		if done <= last || total != 500 {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	}})
	if err != nil || last != 500 {
		t.Errorf("ended at %d: %v", last, err)
	}
}

// Streaming gives the edges and the rest of what Compare gives.
func TestStreamEqualsCompare(t *testing.T) {
	req := resolve.Request{A: numbered("a", 300), B: numbered("b", 300), Entity: "organisation", Threshold: 0.6}
	whole, err := resolve.Compare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var edges []resolve.Edge
	head, err := resolve.Stream(t.Context(), req, func(e *resolve.Edge) error {
		edges = append(edges, *e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	head.Edges = edges
	if diff := cmp.Diff(encode(t, whole.Answer()), encode(t, head.Answer())); diff != "" {
		t.Errorf("(-compare +stream):\n%s", diff)
	}
	stop := errors.New("enough")
	if _, err := resolve.Stream(t.Context(), req, func(*resolve.Edge) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

// One list against itself: each pair once, the earlier row first, no row with
// itself.
func TestDedupe(t *testing.T) {
	list := named("r", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters", "Zungeru Clinic", "Zungeru Clinic")
	for _, req := range []resolve.Request{{Entity: "organisation"}, {Comparators: []*canon.Object{canon.Obj("kind", "name", "field", "name")}}} {
		req.A, req.Dedupe, req.Threshold = list, true, 0.7
		res, err := resolve.Compare(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range res.Edges {
			got = append(got, fmt.Sprint(e.AID, "-", e.BID))
			if e.I >= e.J {
				t.Errorf("pair %d, %d", e.I, e.J)
			}
		}
		if want := "r0-r1 r2-r3"; len(got) != 2 || strings.Join([]string{min(got[0], got[1]), max(got[0], got[1])}, " ") != want {
			t.Errorf("pairs %v", got)
		}
	}
}

// What the bound on pairs per key leaves out is counted.
func TestNotCompared(t *testing.T) {
	var a, b []*canon.Object
	for i := range 60 {
		a = append(a, canon.Obj("id", fmt.Sprint("a", i), "name", "Central Primary School", "address", "Kano"))
		b = append(b, canon.Obj("id", fmt.Sprint("b", i), "name", "Central Primary School", "address", "Kano"))
	}
	for _, engine := range []string{resolve.EngineV1, resolve.EngineV2} {
		res, err := resolve.Compare(t.Context(), resolve.Request{A: a, B: b, Entity: "place", Engine: engine, Threshold: 0.7})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Blocking.Value("pairs_not_compared"); got != int64(3600) {
			t.Errorf("%s: %v pairs not compared", engine, got)
		}
		if text := encode(t, res.Blocking); strings.Contains(text, "central") {
			t.Errorf("%s: blocking names a value: %s", engine, text)
		}
	}
}

func TestWarnings(t *testing.T) {
	res, err := resolve.Compare(t.Context(), resolve.Request{A: named("", "Zarya Mills", "Kobo"), B: []*canon.Object{canon.Obj("id", "y", "name", "Zarya Mills", "city", "x"), canon.Obj("id", "y", "name", "Kobo")},
		Entity: "organisation", Threshold: 0.7})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Warnings) != 1 || !strings.HasPrefix(res.Warnings[0], "list_b: 1 ") {
		t.Errorf("warnings %q", res.Warnings)
	}
	if diff := cmp.Diff([]string{"city"}, res.IgnoredFields); diff != "" {
		t.Error(diff)
	}
}

// A name of 200,000 characters is compared in time linear in it.
func TestVeryLongNames(t *testing.T) {
	for _, engine := range []string{resolve.EngineV1, resolve.EngineV2} {
		got, err := resolve.CheckNamesWith(engine, strings.Repeat("x", 200_000), strings.Repeat("y", 200_000))
		if err != nil || got.Value("decision") != "no_match" {
			t.Errorf("%s: %v, %v", engine, got, err)
		}
	}
}

// Long names of many words neither take long nor more than their kind allows.
func TestManyWords(t *testing.T) {
	many := strings.Repeat("ali kijani ", 10_000)
	rec := []*canon.Object{canon.Obj("name", many), canon.Obj("name", many+" tea")}
	for _, entity := range []string{"person", "organisation", "product_grocery"} {
		if _, err := resolve.Compare(t.Context(), resolve.Request{A: rec, B: rec, Entity: entity, Threshold: 0.7}); err != nil {
			t.Error(entity, err)
		}
	}
	endless := []*canon.Object{canon.Obj("name", strings.Repeat("x", 300_000))}
	_, err := resolve.Compare(t.Context(), resolve.Request{A: rec, B: endless, Entity: "person", Threshold: 0.7})
	if f := fault.As(err); f == nil || f.Kind != fault.Limit || strings.Contains(f.Message, "xx") {
		t.Errorf("a name of 300,000 characters: %v", err)
	}
}

func TestWouldResolve(t *testing.T) {
	rec := canon.Obj("name", "Central Cooperative Society")
	low, high, threshold := 0.594, 0.86, 0.7
	labels, ok, err := resolve.WouldResolve("organisation", "", rec, rec, 1, &low, &threshold)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if diff := cmp.Diff([]string{"registration_id", "entity_class", "address", "lat + lon"}, labels); diff != "" {
		t.Error(diff)
	}
	if _, ok, _ := resolve.WouldResolve("organisation", "", rec, rec, 1, &high, &threshold); ok {
		t.Error("a contradiction is answered with fields")
	}
	if _, ok, _ := resolve.WouldResolve("organisation", "", rec, rec, 0.6, &high, &threshold); !ok {
		t.Error("a low score is answered without fields")
	}
	// Under the second engine a filler is no value, and dob is the birth date.
	a, b := canon.Obj("name", "Ali Musa", "dob", "1990-01-02", "phone", "N/A"), canon.Obj("name", "Ali Musa", "birth_date", "1990-01-02", "phone", "0801 234 5678")
	labels, ok, err = resolve.WouldResolveWith("person", "", resolve.EngineV2, a, b, 0.6, &low, &threshold)
	if diff := cmp.Diff([]string{"national_id", "email", "phone", "address"}, labels); diff != "" || !ok || err != nil {
		t.Error(diff, ok, err)
	}
	if labels, _, _ = resolve.WouldResolve("person", "", a, b, 0.6, &low, &threshold); !slices.Contains(labels, "birth_date") || slices.Contains(labels, "phone") {
		t.Errorf("the first engine asks for %v", labels)
	}
	if _, _, err := resolve.WouldResolveWith("person", "", "crosswalk.v3", a, b, 0.6, &low, &threshold); err == nil {
		t.Error("an engine that is none is no error")
	}
	if _, _, err := resolve.WouldResolve("record", "", rec, rec, 1, nil, nil); err == nil {
		t.Error("a type that is no pack is no error")
	}
}

// Why names the true cause.
func TestWhyNamesTheCause(t *testing.T) {
	n := func(s string) canon.Number { return canon.Number(s) }
	for _, c := range []struct {
		entity, want, not string
		a, b              *canon.Object
	}{
		{"organisation", "below the match threshold", "hard constraint", canon.Obj("name", "Brelmann Aktiengesellschaft"), canon.Obj("name", "Brelmann AG")},
		{"place", "geo disagree", "threshold", canon.Obj("name", "Karfi Health Post", "lat", n("11.8"), "lon", n("8.5")), canon.Obj("name", "Karfi Health Post", "lat", n("9"), "lon", n("4.5"))},
		{"organisation", "ordinary", "contradict", canon.Obj("name", "Central Cooperative Society"), canon.Obj("name", "Central Cooperative Society")},
	} {
		got, err := resolve.WhyUnresolved(t.Context(), c.a, c.b, c.entity, "")
		if err != nil {
			t.Fatal(err)
		}
		why, _ := got.Value("why").(string)
		if got.Value("decision") != "review" || !strings.Contains(why, c.want) || strings.Contains(why, c.not) {
			t.Errorf("%s: %s", c.entity, encode(t, got))
		}
	}
}
