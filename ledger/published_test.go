package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// publishedAt is a time before those of the ledgers that take rows in.
var publishedAt = time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC)

// publishedRecord is a row of the published tables under its right id.
func publishedRecord(t *testing.T, attributes *canon.Object) PublishedRecord {
	t.Helper()
	id, err := publicRecordID(attributes, "organisation")
	if err != nil {
		t.Fatal(err)
	}
	return PublishedRecord{ID: id, EntityType: "organisation", Attributes: attributes, At: publishedAt}
}

// publishedPair is a published ledger of one batch with one decision, and the
// observed record of a later pair decision.
func publishedPair(t *testing.T) *Published {
	t.Helper()
	a := publishedRecord(t, canon.Obj("id", "s1", "name", "Kijani Tea Exporters Ltd"))
	b := publishedRecord(t, canon.Obj("id", "r1", "name", "Kijani Tea Exporters Limited"))
	seen := publishedRecord(t, canon.Obj("id", "s1", "name", "Kijani Tea Exporters Ltd", "city", "Nairobi", "registration_id", "RC-1"))
	seen.Source, seen.At = "observe:"+a.ID, publishedAt.Add(time.Hour)
	pins := canon.Obj("engine", "crosswalk.v1", "threshold", canon.Number("0.7"))
	return &Published{
		Records: []PublishedRecord{a, b, seen},
		Runs: []PublishedRun{{ID: "run:1", Verb: verbReconcile, Call: canon.Obj("entity", "organisation", "threshold", canon.Number("0.7")), Pins: pins,
			A: []string{a.ID}, B: []string{b.ID}, At: publishedAt.Add(time.Minute)}},
		Decisions: []PublishedDecision{
			{ID: "xwd:sha256:" + strings.Repeat("1", 64), Verb: verbReconcile, A: a.ID, B: b.ID, Identity: "review", Action: "hold", Score: 0.75,
				Factors: canon.Obj("name", canon.Number("0.8")), Evidence: canon.Obj("a_id", "s1", "b_id", "r1"), Pins: pins, Run: "run:1",
				SupersededBy: "dec:sha256:" + strings.Repeat("2", 64), At: publishedAt.Add(2 * time.Minute)},
			{ID: "dec:sha256:" + strings.Repeat("2", 64), Verb: verbCompare, A: seen.ID, B: b.ID, Identity: "same_entity", Action: "merge", Score: 0.95,
				Factors: canon.NewObject(), Evidence: canon.Obj("basis", "x"), Pins: canon.Obj("engine", "arche-core@0.9.0"),
				Supersedes: "xwd:sha256:" + strings.Repeat("1", 64), At: publishedAt.Add(2 * time.Hour)},
		},
		Members:  map[string]string{},
		Withheld: map[string]string{},
		Observed: map[string][]string{},
	}
}

func differencesOf(o *canon.Object) string {
	list, _ := o.Value("differences").([]string)
	return strings.Join(list, "\n")
}

// TestPublishedRowsOfEveryKind: what the published program wrote comes in as it
// stood, and what has no place here is listed.
func TestPublishedRowsOfEveryKind(t *testing.T) {
	lastEvent := func(l *Ledger, kind string) (body *canon.Object) {
		for e, err := range l.Events(t.Context(), Filter{Kinds: []string{kind}}) {
			if err != nil {
				t.Fatal(err)
			}
			if body, err = e.Body(); err != nil {
				t.Fatal(err)
			}
		}
		return body
	}
	for _, x := range []struct {
		name   string
		change func(p *Published)
		differ string // what is listed; "" is nothing
		kind   string // of the event that is looked at
		want   string // what its body holds
	}{
		{"as it is", func(*Published) {}, "", KindDecisionRecorded, `"identity":"same_entity"`},
		{"fields are found", func(*Published) {}, "", KindEvidenceObserved, `"fields":["city","registration_id"]`},
		{"fields are told", func(p *Published) {
			p.Observed[p.Records[0].ID] = []string{"registration_id", "city", "city"}
		}, "", KindEvidenceObserved, `"fields":["city","registration_id"]`},
		{"observed of nothing", func(p *Published) { p.Records[2].Source = "observe:rec:x" }, "was observed of rec:x, which is not there", KindRecordStored, "content"},
		{"a whole threshold", func(p *Published) { p.Runs[0].Call.Set("threshold", canon.Number("1")) }, "", KindRunRecorded, ""},
		{"comparators", func(p *Published) {
			p.Runs[0].Call.Set("comparators", []any{canon.Obj("kind", "name", "field", "name")})
		}, "", KindRunRecorded, ""},
		{"a place", func(p *Published) { p.Decisions[1].Verb = "place" }, "is a place, which is no decision about records", KindDecisionRecorded, `"identity":"review"`},
		{"a redaction", func(p *Published) { p.Decisions[1].Verb = "deidentify" }, "is a deidentify, which", KindDecisionRecorded, `"identity":"review"`},
		{"no record", func(p *Published) { p.Decisions[1].B = "rec:x" }, "about a record that is not here", KindDecisionRecorded, `"identity":"review"`},
		{"no run", func(p *Published) { p.Decisions[0].Run, p.Decisions[1].Supersedes = "run:2", "" }, "has no run here", KindDecisionRecorded, `"identity":"same_entity"`},
		{"no row of the run, a", func(p *Published) { p.Runs[0].A, p.Decisions[1].Supersedes = []string{p.Records[1].ID}, "" }, "is not about rows of its run", KindDecisionRecorded, `"identity":"same_entity"`},
		{"no row of the run, b", func(p *Published) { p.Runs[0].B, p.Decisions[1].Supersedes = []string{p.Records[0].ID}, "" }, "is not about rows of its run", KindDecisionRecorded, `"identity":"same_entity"`},
		{"replaces nothing", func(p *Published) { p.Decisions[1].Supersedes = "xwd:x" }, "supersedes xwd:x, which is not here", KindDecisionRecorded, `"identity":"same_entity"`},
		{"replaces itself", func(p *Published) { p.Decisions[1].Supersedes = p.Decisions[1].ID }, "", KindDecisionRecorded, `"identity":"same_entity"`},
		{"a jurisdiction", func(p *Published) { p.Decisions[1].Call = canon.Obj("entity", "organisation", "jurisdiction", "ng") }, "", KindRunRecorded, `"jurisdiction":"ng"`},
		{"newer pins", func(p *Published) { p.Decisions[1].Pins = canon.Obj("engine", "arche-core@0.10.0") }, "", KindRunRecorded, `"pack_version":"0.10"`},
		{"pins with data", func(p *Published) { p.Decisions[1].Pins = canon.Obj("data_assets", "x") }, "", KindRunRecorded, `"pack_version":"0.10"`},
		{"withheld", func(p *Published) {
			p.Decisions[0].Verb, p.Decisions[0].Identity, p.Withheld[p.Records[0].ID] = "resolve", "match", withheldConflict
			p.Decisions = p.Decisions[:1]
		}, "", KindDecisionRecorded, `"link":false`},
		{"withheld of another verb", func(p *Published) {
			p.Decisions[0].Identity, p.Withheld[p.Records[0].ID] = "match", withheldConflict
			p.Decisions = p.Decisions[:1]
		}, "", KindDecisionRecorded, `"link":true`},
	} {
		l, p := openHere(t, Options{}), publishedPair(t)
		x.change(p)
		out, err := l.ImportPublished(t.Context(), p)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if got := differencesOf(out); x.differ == "" && got != "" || !strings.Contains(got, x.differ) {
			t.Errorf("%s: differences %q, want %q", x.name, got, x.differ)
		}
		if body := mustText(t, lastEvent(l, x.kind)); !strings.Contains(body, x.want) {
			t.Errorf("%s: the last %s is %s, want %s", x.name, x.kind, body, x.want)
		}
		switch runs := runCalls(t, l); x.name {
		case "a whole threshold":
			if !strings.Contains(runs[0], `"threshold":"1"`) {
				t.Errorf("%s: %v", x.name, runs)
			}
		case "comparators":
			if !strings.Contains(runs[0], `"comparators":"[{\"kind\"`) || strings.Contains(runs[0], `"entity"`) {
				t.Errorf("%s: %v", x.name, runs)
			}
		case "as it is":
			if !strings.Contains(runs[0], `"threshold":"0.7"`) || strings.Contains(runs[0], "pack_version") {
				t.Errorf("%s: %v", x.name, runs)
			}
			d := mustAsk(t)(l.Decision(t.Context(), p.Decisions[0].ID))
			if d.Value("superseded_by") != p.Decisions[1].ID {
				t.Errorf("%s: %s", x.name, mustText(t, d))
			}
		}
		if err := l.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

func runCalls(t *testing.T, l *Ledger) (out []string) {
	t.Helper()
	for e, err := range l.Events(t.Context(), Filter{Kinds: []string{KindRunRecorded}}) {
		if err != nil {
			t.Fatal(err)
		}
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, mustText(t, body.Value("call")))
	}
	return out
}

// TestPublishedRowsThatAreRefused: what cannot be written down refuses all of it.
func TestPublishedRowsThatAreRefused(t *testing.T) {
	endless := canon.Number("1e999")
	for name, change := range map[string]func(p *Published){
		"a record of no text":     func(p *Published) { p.Records[0].Attributes.Set("name", "\xff") },
		"a type of no text":       func(p *Published) { p.Records[0].EntityType = "\xff" },
		"a field of no text":      func(p *Published) { p.Observed[p.Records[0].ID] = []string{"\xff"} },
		"pins of no number":       func(p *Published) { p.Decisions[0].Pins = canon.Obj("x", endless) },
		"a run's pins":            func(p *Published) { p.Runs[0].Pins = canon.Obj("x", endless) },
		"a run's comparators":     func(p *Published) { p.Runs[0].Call.Set("comparators", []any{"\xff"}) },
		"a run's verb of no text": func(p *Published) { p.Runs[0].Verb = "\xff" },
		"a pair's jurisdiction":   func(p *Published) { p.Decisions[1].Call = canon.Obj("jurisdiction", "\xff") },
		"factors of no number":    func(p *Published) { p.Decisions[1].Factors = canon.Obj("x", endless) },
		"a decision of no text":   func(p *Published) { p.Decisions[1].Explanation = "\xff" },
	} {
		l, p := openHere(t, Options{}), publishedPair(t)
		change(p)
		if out, err := l.ImportPublished(t.Context(), p); err == nil {
			t.Errorf("%s: %s", name, mustText(t, out))
		}
		if _, seq, _, err := l.Head(t.Context()); err != nil || seq != 0 {
			t.Errorf("%s: %d events, %v", name, seq, err)
		}
		if _, err := l.ImportPublished(t.Context(), publishedPair(t)); err != nil {
			t.Errorf("%s: the next import: %v", name, err)
		}
		if _, err := l.ImportPublished(t.Context(), publishedPair(t)); !fault.Is(err, fault.Refused) {
			t.Errorf("%s: over a ledger: %v", name, err)
		}
	}
}

// TestPublishedTimesAreKept: in order, never ahead of the clock, and a row
// without one comes last.
func TestPublishedTimesAreKept(t *testing.T) {
	l, p := openHere(t, Options{}), publishedPair(t)
	p.Records[1].At = time.Time{}
	p.Records[2].At = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	p.Decisions, p.Runs = nil, nil
	if _, err := l.ImportPublished(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var at []string
	for e, err := range l.Events(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, e.RecordedAt().Format("2006"))
	}
	// The row of no time is sorted first and takes the clock's, and no event is
	// before another.
	if !slices.IsSorted(at) || at[len(at)-1] != "2026" {
		t.Errorf("%v", at)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestPublishedImportStops when its context ends, and leaves nothing.
func TestPublishedImportStops(t *testing.T) {
	p := &Published{}
	for n := range 1500 {
		p.Records = append(p.Records, publishedRecord(t, canon.Obj("name", fmt.Sprint("Kijani ", n))))
	}
	l := openHere(t, Options{})
	if _, err := l.Entities(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 100; n++ {
		ctx := arctest.NewCountdown(t.Context(), n)
		_, err := l.ImportPublished(ctx, p)
		if !ctx.Ended() {
			if err != nil || n < 3 {
				t.Errorf("question %d was never asked: %v", n, err)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("question %d: %v", n, err)
		}
		if _, seq, _, err := l.Head(t.Context()); err != nil || seq != 0 {
			t.Fatalf("question %d: %d events, %v", n, seq, err)
		}
	}
	t.Error("the import never came to its end")
}
