package ledger

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

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
	if text, ok := v.(string); ok && !strings.Contains(text, ":") { // but addresses
		out = append(out, "no such thing")
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
