package ledger_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// observed compares a person with another one of two names, adds evidence and
// gives the ids of the decisions made again.
func observed(t *testing.T, reopen bool) []any {
	t.Helper()
	ctx, path := context.Background(), filePath(t)
	l := open(t, path, ledger.Options{})
	_, err := l.Compare(ctx, resolve.Request{
		Entity: "person", Threshold: resolve.DefaultThreshold, IDField: "id",
		A: []*canon.Object{canon.Obj("id", "a", "name", "Zubairu Kantudu", "national_id", "A1", "full_name", "Ibrahim Musa")},
		B: []*canon.Object{canon.Obj("id", "b", "name", "Zubairu Kantudu", "national_id", "A1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := l.Entities(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	first := joined.Value("entities").([]any)[0].(*canon.Object).Value("records").([]any)[0].(*canon.Object)
	if reopen {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = open(t, path, ledger.Options{})
	}
	out, err := l.Observe(ctx, first.Value("record_id").(string), canon.Obj("phone", "08035557890", "dob", "1990-04-12"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []any
	for _, d := range out.Value("decisions").([]any) {
		ids = append(ids, d.(*canon.Object).Value("decision_id"))
	}
	if len(ids) != 1 {
		t.Fatalf("%d decisions were made again, want 1", len(ids))
	}
	return ids
}

// TestObserveReadsWhatIsStored holds that a record kept in memory is read as one
// from the file: of two names the first in stored order speaks.
func TestObserveReadsWhatIsStored(t *testing.T) {
	if diff := cmp.Diff(observed(t, true), observed(t, false)); diff != "" {
		t.Errorf("decisions after reopening (-) and without (+):\n%s", diff)
	}
}

// TestObserveKeepsTheOrderOfABatch holds that decisions of one batch are made
// again in its order, and those of a later one before them.
func TestObserveKeepsTheOrderOfABatch(t *testing.T) {
	ctx := context.Background()
	l := open(t, filePath(t), ledger.Options{})
	center := canon.Obj("id", "s", "name", "Zentari Mills Ltd")
	var want []any
	compare := func(others ...*canon.Object) *resolve.Result {
		res, err := l.Compare(ctx, resolve.Request{
			Entity: "organisation", Threshold: resolve.DefaultThreshold, IDField: "id", A: []*canon.Object{center}, B: others,
		})
		if err != nil || len(res.Edges) != len(others) {
			t.Fatalf("%d edges, %v", len(res.Edges), err)
		}
		return res
	}
	older := compare(canon.Obj("id", "b1", "name", "Zentari Mill"), canon.Obj("id", "b2", "name", "Zentari Mills Limited"))
	newer := compare(canon.Obj("id", "b3", "name", "Zentari Mills"))
	for _, e := range append(newer.Edges, older.Edges...) {
		want = append(want, e.DecisionID)
	}
	d, err := l.Decision(ctx, newer.Edges[0].DecisionID)
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.Observe(ctx, d.Value("record_a").(string), canon.Obj("registration_id", "RC-1"))
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, d := range out.Value("decisions").([]any) {
		got = append(got, d.(*canon.Object).Value("supersedes"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decisions made again (-want +got):\n%s", diff)
	}
}

// TestObserveWhatIsKnown holds that evidence without news makes a batch's
// decision again as a pair, once, and stores nothing more.
func TestObserveWhatIsKnown(t *testing.T) {
	ctx := context.Background()
	l := open(t, filePath(t), ledger.Options{})
	res, err := l.Compare(ctx, reviewed(1))
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Decision(ctx, res.Edges[0].DecisionID)
	if err != nil {
		t.Fatal(err)
	}
	var answers []*canon.Object
	counts := make([]int, 3)
	for n := range counts {
		out, err := l.Observe(ctx, d.Value("record_a").(string), canon.Obj("name", "Central Cooperative Society"))
		if err != nil {
			t.Fatal(err)
		}
		for range l.Events(ctx, ledger.Filter{}) {
			counts[n]++
		}
		made := out.Value("decisions").([]any)
		if len(made) != 1 || out.Has("new_record_id") || out.Value("open_cases") != 1 {
			t.Fatalf("observation %d: %d decisions, %v open cases, new version %v", n, len(made), out.Value("open_cases"), out.Has("new_record_id"))
		}
		answers = append(answers, made[0].(*canon.Object))
	}
	if got := answers[0].Value("supersedes"); got != res.Edges[0].DecisionID {
		t.Errorf("it supersedes %v, want the decision of the batch", got)
	}
	if counts[0] != counts[1] || counts[1] != counts[2] {
		t.Errorf("events after each observation: %v, want no more after the first", counts)
	}
	if a, b := answers[0].Value("decision_id"), answers[2].Value("decision_id"); a != b {
		t.Errorf("decisions %v and %v, want the same one", a, b)
	}
}

// TestLabelOfEqualRows holds that of equal rows without ids the last one names
// their record.
func TestLabelOfEqualRows(t *testing.T) {
	ctx := context.Background()
	l := open(t, filePath(t), ledger.Options{})
	mills := canon.Obj("name", "Zentari Mills Ltd")
	res, err := l.Compare(ctx, resolve.Request{
		Entity: "organisation", Threshold: resolve.DefaultThreshold, IDField: "id",
		A: []*canon.Object{mills, canon.Obj("name", "Harmuko Foods"), mills}, B: []*canon.Object{canon.Obj("id", "b", "name", "Zentari Mills")},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Decision(ctx, res.Edges[0].DecisionID)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Value("records").([]any)[0].(*canon.Object).Value("label"); got != "2" {
		t.Errorf("label %v, want 2", got)
	}
}

// TestObserveBetweenVersions: a decision that a batch made between two versions
// of one record has nothing to be decided again about; evidence that says what
// is known leaves it out and goes on.
func TestObserveBetweenVersions(t *testing.T) {
	ctx := context.Background()
	l := open(t, filePath(t), ledger.Options{})
	compare := func(a, b *canon.Object) {
		t.Helper()
		if _, err := l.Compare(ctx, resolve.Request{
			Entity: "organisation", Threshold: resolve.DefaultThreshold, IDField: "id", A: []*canon.Object{a}, B: []*canon.Object{b},
		}); err != nil {
			t.Fatal(err)
		}
	}
	first := canon.Obj("id", "a", "name", "Zentari Mills")
	compare(first, canon.Obj("id", "b", "name", "Zentari Mills Ltd"))
	old := pairs(t, l)["a b"].Value("record_a").(string)
	if _, err := l.Observe(ctx, old, canon.Obj("registration_id", "RC-1")); err != nil {
		t.Fatal(err)
	}
	compare(first, canon.Obj("id", "a", "name", "Zentari Mills", "registration_id", "RC-1")) // the version, as a row of its own
	out, err := l.Observe(ctx, old, canon.Obj("registration_id", "RC-1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range out.Value("decisions").([]any) {
		if v := d.(*canon.Object); v.Value("record_a") == v.Value("record_b") {
			t.Errorf("decided about one record: %v", v.Value("decision_id"))
		}
	}
}
