package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// TestOperatorsRefusals: what a person cannot decide is refused and changes nothing.
func TestOperatorsRefusals(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	d := mustAsk(t)(l.Decision(ctx, mustCompare(t, l, twoRows("organisation", "Central Cooperative Society", "Central Cooperative Society")).Edges[0].DecisionID))
	id, a, b := d.Value("decision_id").(string), d.Value("record_a").(string), d.Value("record_b").(string)
	rest := recordPrefix + zeroLink
	for _, x := range []struct {
		name, want string
		kind       fault.Kind
		call       func() (*canon.Object, error)
	}{
		{"no such verdict", "must be same", fault.Invalid, func() (*canon.Object, error) { return l.Decide(ctx, a, b, verdictUndone, "x") }},
		{"no reason", "a reason is needed", fault.Invalid, func() (*canon.Object, error) { return l.Decide(ctx, a, b, VerdictSame, " \n") }},
		{"a reason too long", "longer than 4096 bytes", fault.Limit, func() (*canon.Object, error) {
			return l.Decide(ctx, a, b, VerdictSame, strings.Repeat("x", maxReason+1))
		}},
		{"no record a", rest, fault.NotFound, func() (*canon.Object, error) { return l.Decide(ctx, rest, b, VerdictSame, "x") }},
		{"no record b", rest, fault.NotFound, func() (*canon.Object, error) { return l.Decide(ctx, a, rest, VerdictSame, "x") }},
		{"one record", "same as itself", fault.Invalid, func() (*canon.Object, error) { return l.Decide(ctx, a, a, VerdictSame, "x") }},
		{"undo without a reason", "a reason is needed", fault.Invalid, func() (*canon.Object, error) { return l.Undo(ctx, id, "") }},
		{"undo what nobody decided", "nobody's decision", fault.NotFound, func() (*canon.Object, error) { return l.Undo(ctx, id, "x") }},
		{"undo no event", "nobody's decision", fault.NotFound, func() (*canon.Object, error) { return l.Undo(ctx, eventPrefix+zeroLink, "x") }},
		{"undo nothing", "no decision", fault.NotFound, func() (*canon.Object, error) { return l.Undo(ctx, "xwd:sha256:x", "x") }},
		{"history of nothing", "no entity", fault.NotFound, func() (*canon.Object, error) { return l.EntityHistory(ctx, "ent_x") }},
	} {
		err := unchanged(t, l, x.name, func() error { _, err := x.call(); return err })
		if !fault.Is(err, x.kind) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
	if _, err := l.Decide(ctx, a, b, VerdictSame, strings.Repeat("x", maxReason)); err != nil {
		t.Errorf("the longest reason: %v", err)
	}
	if _, err := l.Undo(ctx, id, "asked again"); err != nil {
		t.Errorf("undo by the decision: %v", err)
	}
	if err := unchanged(t, l, "undo twice", func() error { _, err := l.Undo(ctx, id, "x"); return err }); !fault.Is(err, fault.NotFound) {
		t.Errorf("undo twice: %v", err)
	}
	// A decision of a person that was exchanged behind the program's back.
	said := mustAsk(t)(l.Decide(ctx, a, b, VerdictDifferent, "two branches"))
	e := eventWithID(t, l, said.Value("event_id").(string))
	forged := *e
	forged.body = strings.Replace(e.body, "two branches", "a bribe", 1)
	forged.id = eventID(e.version, e.kind, e.subject, e.supersedes, forged.body)
	prev := linkBefore(t, l, e.seq)
	within(t, l, func() {
		for name, ask := range map[string]func(context.Context, string) (*canon.Object, error){"decision": l.Decision, "explain": l.Explain, "replay": l.Replay} {
			if o, err := ask(ctx, id); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), "not the decision that stood there") {
				t.Errorf("%s: %v %v", name, o, err)
			}
		}
	}, fmt.Sprintf("UPDATE events SET body = '%s', id = '%s', link = '%s' WHERE seq = %d", forged.body, forged.id, chainLink(prev, &forged), e.seq))
}

func eventWithID(t *testing.T, l *Ledger, id string) *Event {
	t.Helper()
	for e, err := range l.Events(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.id == id {
			return &e
		}
	}
	t.Fatalf("no event %s", id)
	return nil
}

func linkBefore(t *testing.T, l *Ledger, seq int64) string {
	t.Helper()
	link := zeroLink
	for e, err := range l.Events(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.seq == seq-1 {
			link = e.link
		}
	}
	return link
}

// TestReviewsAreTakenWhole: one wrong row and none is taken; each is named, but
// no more than can be read.
func TestReviewsAreTakenWhole(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	var ds []*canon.Object
	for n := range 2 {
		req := twoRows("organisation", "Central Cooperative Society", "Central Cooperative Society")
		req.A[0].Set("id", fmt.Sprint("p", n))
		req.B[0].Set("id", fmt.Sprint("q", n))
		ds = append(ds, mustAsk(t)(l.Decision(ctx, mustCompare(t, l, req).Edges[0].DecisionID)))
	}
	row := func(n int, verdict string) ReviewRow {
		text := func(key string) string { return ds[n].Value(key).(string) }
		return ReviewRow{Line: n + 2, DecisionID: text("decision_id"), RecordA: text("record_a"), RecordB: text("record_b"), Verdict: verdict, Reason: "asked them"}
	}
	good := row(0, VerdictSame)
	with := func(change func(r *ReviewRow)) ReviewRow {
		r := row(1, VerdictSame)
		change(&r)
		return r
	}
	for _, x := range []struct {
		name, want string
		row        ReviewRow
	}{
		{"another verdict", "line 3: the verdict must be same", with(func(r *ReviewRow) { r.Verdict = "undone" })},
		{"no reason", "line 3: a reason is needed", with(func(r *ReviewRow) { r.Reason = "" })},
		{"no record a", "line 3: it does not name two records", with(func(r *ReviewRow) { r.RecordA = "x" })},
		{"no record b", "line 3: it does not name two records", with(func(r *ReviewRow) { r.RecordB = "x" })},
		{"one record", "line 3: it does not name two records", with(func(r *ReviewRow) { r.RecordB = r.RecordA })},
		{"other records", "line 3: the decision is not about these two records", with(func(r *ReviewRow) { r.RecordA = good.RecordA })},
		{"no decision", "line 3: the decision is not about these two records", with(func(r *ReviewRow) { r.DecisionID = "x" })},
	} {
		err := unchanged(t, l, x.name, func() error { _, err := l.Review(ctx, []ReviewRow{good, x.row}); return err })
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
	var many []ReviewRow
	for n := range maxProblems + 3 {
		many = append(many, ReviewRow{Line: 100 + n, Verdict: "x"})
	}
	err := unchanged(t, l, "many wrong rows", func() error { _, err := l.Review(ctx, many); return err })
	if n := strings.Count(err.Error(), "line "); n != maxProblems || !strings.HasSuffix(err.Error(), "; and 3 more") {
		t.Errorf("%d rows are named: %v", n, err)
	}
	err = unchanged(t, l, "as many as are named", func() error { _, err := l.Review(ctx, many[:maxProblems]); return err })
	if n := strings.Count(err.Error(), "line "); n != maxProblems || strings.Contains(err.Error(), "more") {
		t.Errorf("%d rows are named: %v", n, err)
	}
	text := func(rows ...ReviewRow) string { return mustText(t, mustAsk(t)(l.Review(ctx, rows))) }
	turned := good
	turned.RecordA, turned.RecordB = good.RecordB, good.RecordA
	if got, want := text(turned, row(1, "")), `{"decided":1,"unanswered":1,"unchanged":0}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := text(good, row(1, VerdictReview)), `{"decided":1,"unanswered":0,"unchanged":1}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for name, change := range map[string]func(r *ReviewRow){"another reason": func(r *ReviewRow) { r.Reason = "y" }, "another verdict": func(r *ReviewRow) { r.Verdict = VerdictDifferent }} {
		late := good
		change(&late)
		err := unchanged(t, l, name, func() error { _, err := l.Review(ctx, []ReviewRow{late}); return err })
		if !strings.Contains(err.Error(), "settled since") {
			t.Errorf("%s: %v", name, err)
		}
	}
	seq := l.state.ops[orderedPair(l.state.lookupRecord(good.RecordA), l.state.lookupRecord(good.RecordB))].seq
	within(t, l, func() {
		if _, err := l.Review(ctx, []ReviewRow{good}); !errors.Is(err, ErrAltered) {
			t.Errorf("a decision that was exchanged: %v", err)
		}
	}, fmt.Sprintf("UPDATE events SET body = '{}' WHERE seq = %d", seq))
}
