package ledger_test

import (
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// suppliers is a ledger with one matched pair (s1, r1), one case (s2, r2) and a
// third record s3 that matches r1.
func suppliers(t *testing.T) *ledger.Ledger {
	t.Helper()
	at := time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.duckdb"), ledger.Options{
		Actor: "cli:tester", Clock: func() time.Time { at = at.Add(time.Second); return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	rec := func(id, name, city string) *canon.Object { return canon.Obj("id", id, "name", name, "city", city) }
	_, err = l.Compare(t.Context(), resolve.Request{
		A: []*canon.Object{rec("s1", "Kijani Tea Exporters Ltd", "Nairobi"), rec("s2", "Central Cooperative Society", "Nakuru"),
			rec("s3", "Kijani Tea Exporters (K) Limited", "Nairobi")},
		B:      []*canon.Object{rec("r1", "Kijani Tea Exporters Limited", "Nairobi"), rec("r2", "Central Cooperative Society", "Nakuru")},
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// pairs maps "s1 r1" to the decision of that pair, by labels.
func pairs(t *testing.T, l *ledger.Ledger) map[string]*canon.Object {
	t.Helper()
	out := map[string]*canon.Object{}
	for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{ledger.KindDecisionRecorded}}) {
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(e.Subject(), "@")
		d, err := l.Decision(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, r := range d.Value("records").([]any) {
			labels = append(labels, r.(*canon.Object).Value("label").(string))
		}
		out[strings.Join(labels, " ")] = d
	}
	return out
}

func count(t *testing.T, f func() (*canon.Object, error)) int {
	t.Helper()
	o, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return o.Value("count").(int)
}

func TestOperatorOutranksTheEngine(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	made := pairs(t, l)
	match, review := made["s1 r1"], made["s2 r2"]
	if match == nil || review == nil {
		t.Fatalf("decisions: %v", made)
	}
	id := func(o *canon.Object, key string) string { s, _ := o.Value(key).(string); return s }
	entities := func() int { return count(t, func() (*canon.Object, error) { return l.Entities(ctx, "") }) }
	cases := func() int { return count(t, func() (*canon.Object, error) { return l.Cases(ctx, "") }) }
	before := entities()
	if cases() != 1 {
		t.Fatalf("%d cases", cases())
	}

	// A person settles the case: it is linked and no question any more.
	got, err := l.Decide(ctx, id(review, "record_a"), id(review, "record_b"), ledger.VerdictSame, "seen at the registry")
	if err != nil {
		t.Fatal(err)
	}
	if entities() != before+1 || cases() != 0 || got.Value("entity_a") == nil || got.Value("entity_a") != got.Value("entity_b") {
		t.Errorf("same: %d entities, %d cases, %v", entities(), cases(), got.Value("entity_a"))
	}
	d, err := l.Decision(ctx, id(review, "decision_id"))
	if err != nil {
		t.Fatal(err)
	}
	if op, _ := d.Value("operator").(*canon.Object); op == nil || op.Value("reason") != "seen at the registry" || op.Value("actor") != "cli:tester" {
		t.Errorf("decision does not show the operator: %v", op)
	}
	if p, err := l.Path(ctx, id(review, "record_a"), id(review, "record_b")); err != nil || p.Value("same_entity") != true {
		t.Errorf("path: %v %v", p, err)
	}
	// Replay leaves the engine's decision alone and says so.
	rp, err := l.Replay(ctx, id(review, "decision_id"))
	if err != nil || rp.Value("reproduced") != true || !rp.Has("operator") {
		t.Errorf("replay: %v, %v", rp, err)
	}
	// The same again adds nothing.
	again, err := l.Decide(ctx, id(review, "record_b"), id(review, "record_a"), ledger.VerdictSame, "seen at the registry")
	if err != nil || again.Value("event_id") != got.Value("event_id") {
		t.Errorf("repeat: %v, %v", again, err)
	}
	// Undone, everything is as the engine left it.
	undone, err := l.Undo(ctx, id(got, "event_id"), "wrong registry")
	if err != nil || undone.Value("supersedes") != got.Value("event_id") {
		t.Fatalf("undo: %v, %v", undone, err)
	}
	if entities() != before || cases() != 1 {
		t.Errorf("undone: %d entities, %d cases", entities(), cases())
	}
	if _, err := l.Undo(ctx, id(review, "decision_id"), "again"); !fault.Is(err, fault.NotFound) {
		t.Errorf("undoing twice: %v", err)
	}

	// A match that a person rejects falls apart; its old id leads on.
	old := id(match, "entity_id")
	if _, err := l.Decide(ctx, id(match, "record_a"), id(match, "record_b"), ledger.VerdictDifferent, "two companies"); err != nil {
		t.Fatal(err)
	}
	h, err := l.EntityHistory(ctx, old)
	if err != nil || h.Value("entity_id") != old {
		t.Errorf("history: %v, %v", h, err)
	}
	if p, err := l.Path(ctx, id(match, "record_a"), id(match, "record_b")); err != nil || p.Value("same_entity") != false {
		t.Errorf("path after different: %v, %v", p, err)
	}
	// Sent to review it is a case, whatever the engine said.
	if _, err := l.Decide(ctx, id(match, "record_a"), id(match, "record_b"), ledger.VerdictReview, "look again"); err != nil {
		t.Fatal(err)
	}
	if cases() != 2 {
		t.Errorf("%d cases after review", cases())
	}
	if _, err := l.Undo(ctx, id(match, "decision_id"), "engine was right"); err != nil {
		t.Fatal(err)
	}
	if entities() != before || cases() != 1 {
		t.Errorf("at the end: %d entities, %d cases", entities(), cases())
	}
}

func TestOperatorRefusals(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	d := pairs(t, l)["s1 r1"]
	a, b := d.Value("record_a").(string), d.Value("record_b").(string)
	for _, c := range []struct{ a, b, verdict, reason, want string }{
		{a, b, "merge", "x", "must be same, different or review"},
		{a, b, "undone", "x", "must be same, different or review"},
		{a, b, "same", " ", "a reason is needed"},
		{a, b, "same", strings.Repeat("x", 5000), "longer than"},
		{a, a, "same", "x", "always the same as itself"},
		{a, "rec:sha256:nope", "same", "x", "no record 'rec:sha256:nope'"},
	} {
		if _, err := l.Decide(ctx, c.a, c.b, c.verdict, c.reason); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.verdict, c.reason, err, c.want)
		}
	}
	for id, want := range map[string]string{"nope": "no decision 'nope'", d.Value("decision_id").(string): "nobody's decision stands at"} {
		if _, err := l.Undo(ctx, id, "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("undo %s: %v, want %q", id, err, want)
		}
	}
	if _, err := l.EntityHistory(ctx, "ent_nope"); !fault.Is(err, fault.NotFound) {
		t.Errorf("history of nothing: %v", err)
	}
}

// TestViews reads every view and compares it with the answers.
func TestViews(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	d := pairs(t, l)["s2 r2"]
	one := func(sql string) string {
		t.Helper()
		got := ""
		if err := l.Query(ctx, sql, nil, func(v []driver.Value) error { got = canon.Text(v[0]); return nil }); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return got
	}
	for sql, want := range map[string]string{
		`SELECT count(*) FROM v_record WHERE NOT erased AND list_contains(fields, 'city')`:                        "5",
		`SELECT string_agg(decision_id) FROM v_case`:                                                              d.Value("decision_id").(string),
		`SELECT count(*) FROM v_entity`:                                                                           "1",
		`SELECT sum(size)::BIGINT FROM v_entity`:                                                                  "3",
		`SELECT count(*) FROM v_decision WHERE live AND engine = 'crosswalk.v1' AND entity_type = 'organisation'`: one(`SELECT count(*) FROM v_decision`),
		`SELECT max(seq) FROM v_event`:                                                                            one(`SELECT count(*) FROM v_event`),
		`SELECT count(*) FROM v_operator`:                                                                         "0",
		`SELECT count(*) FROM v_document`:                                                                         "0",
		`SELECT count(*) FROM v_relation`:                                                                         "0",
		`SELECT count(*) FROM v_scan`:                                                                             "0",
		`SELECT count(*) FROM v_membership`:                                                                       "3",
		`SELECT count(*) FROM duckdb_views() WHERE starts_with(view_name, 'v_') AND comment IS NULL`:              "0",
	} {
		if got := one(sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	if _, err := l.Decide(ctx, d.Value("record_a").(string), d.Value("record_b").(string), "different", "x"); err != nil {
		t.Fatal(err)
	}
	if got := one(`SELECT count(*) FROM v_case`); got != "0" {
		t.Errorf("%s cases after a person decided", got)
	}
	if got := one(`SELECT operator_verdict FROM v_decision WHERE operator_verdict IS NOT NULL`); got != "different" {
		t.Errorf("operator_verdict %s", got)
	}
}

// TestKnowledgeViews reads documents and relations as the knowledge base writes
// them, in a project's own ledger and in a shared one.
func TestKnowledgeViews(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	draft := func(kind, subject string, body *canon.Object) ledger.Draft {
		return ledger.Draft{Kind: kind, Subject: subject, Body: body}
	}
	doc := func(status string) *canon.Object {
		return canon.Obj("address", "doc:blake3:00", "size", 5, "type", "adr", "status", status, "tags", []any{"a"}, "batch", nil, "parse_error", nil, "moved_from", nil)
	}
	for _, d := range []ledger.Draft{
		draft("document.written", "doc:adr/0001.md", doc("draft")), draft("document.written", "doc:adr/0001.md", doc("accepted")),
		draft("document.written", "doc:adr/0002.md", doc("draft")), draft("document.removed", "doc:adr/0002.md", canon.Obj("address", "doc:blake3:00", "batch", nil)),
		draft("relation.added", "rel:implements:adr/0001|plans/a%7Cb", canon.Obj("batch", nil)),
		draft("relation.added", "rel:shop/extends:x|y", canon.Obj("batch", nil)),
		draft("relation.added", "rel:extends:gone|y", canon.Obj("batch", nil)), draft("relation.removed", "rel:extends:gone|y", canon.Obj("batch", nil)),
	} {
		if _, err := l.Append(ctx, []ledger.Draft{d}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, sql := range []string{
		`SELECT path || ' ' || status || ' ' || size || ' ' || tags::VARCHAR FROM v_document ORDER BY path`,
		`SELECT type || ' ' || source || ' ' || target FROM v_relation ORDER BY seq`,
	} {
		if err := l.Query(ctx, sql, nil, func(v []driver.Value) error { got = append(got, canon.Text(v[0])); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`adr/0001.md accepted 5 ["a"]`, "implements adr/0001 plans/a|b", "extends x y"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUndoTakesBackOne: of many people's decisions the one that is named is taken
// back, by its event or by its pair's decision, and the others stand.
func TestUndoTakesBackOne(t *testing.T) {
	l, ctx := memory(t), t.Context()
	type decided struct{ a, b, decision, event string }
	var all []decided
	for n := range 8 {
		id := compare(t, l, pair(n)).Edges[0].DecisionID
		d, err := l.Decision(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := d.Value("record_a").(string)
		b, _ := d.Value("record_b").(string)
		got, err := l.Decide(ctx, a, b, ledger.VerdictDifferent, "two of them")
		if err != nil {
			t.Fatal(err)
		}
		event, _ := got.Value("event_id").(string)
		all = append(all, decided{a, b, id, event})
	}
	for n, d := range all {
		by := d.event
		if n%2 == 0 {
			by = d.decision
		}
		got, err := l.Undo(ctx, by, "one after all")
		if err != nil || got.Value("supersedes") != d.event {
			t.Fatalf("%d by %s: %v, %v", n, by, got, err)
		}
		for _, again := range []string{d.event, d.decision} {
			if _, err := l.Undo(ctx, again, "once more"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "nobody's decision stands") {
				t.Errorf("%d is undone twice by %s: %v", n, again, err)
			}
		}
		for m, other := range all {
			p, err := l.Path(ctx, other.a, other.b)
			if err != nil {
				t.Fatal(err)
			}
			if same := p.Value("same_entity") == true; same != (m <= n) {
				t.Errorf("after %d: pair %d is one: %v", n, m, same)
			}
		}
	}
	if _, err := l.Undo(ctx, "xwd:sha256:"+strings.Repeat("0", 64), "who"); !fault.Is(err, fault.NotFound) || strings.Contains(err.Error(), "stands") {
		t.Errorf("of a decision that is not there: %v", err)
	}
}
