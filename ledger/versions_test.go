package ledger

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
)

// observeOf adds evidence and gives the version that stands for the record now.
func observeOf(t *testing.T, l *Ledger, id string, evidence *canon.Object) (version, appliedTo string) {
	t.Helper()
	out, err := l.Observe(t.Context(), id, evidence)
	if err != nil {
		t.Fatal(err)
	}
	version, ok := out.Value("new_record_id").(string)
	if !ok {
		version = id
	}
	appliedTo, ok = out.Value("applied_to").(string)
	if !ok {
		appliedTo = id
	}
	return version, appliedTo
}

// checkRebuilt holds that a ledger's rows and answers are those that its log
// gives, and that it verifies.
func checkRebuilt(t *testing.T, l *Ledger) {
	t.Helper()
	ctx := t.Context()
	read := func() []string {
		rows, err := l.Dump(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ents, err := l.Entities(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		text, err := canon.Indent(ents)
		if err != nil {
			t.Fatal(err)
		}
		return append(rows, string(text))
	}
	before := read()
	if err := l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := l.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("(-before +rebuilt)\n%s", diff)
	}
	l.verified = -1
	l.state = nil
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("(-before +loaded)\n%s", diff)
	}
}

// TestEvidenceThereAndBack: a value that is observed and then the old one again
// lead back to the first record, which is then the newest; evidence on either
// applies to it.
func TestEvidenceThereAndBack(t *testing.T) {
	l := inside(t)
	a := canon.Obj("id", "a", "name", "Kijani Tea Exporters Ltd", "city", "Nairobi")
	oneEdge(t, l, a, oneNamed("b", "Kijani Tea Exporters Limited")[0])
	first := idOf(t, a)
	second, _ := observeOf(t, l, first, canon.Obj("city", "Nakuru"))
	back, from := observeOf(t, l, second, canon.Obj("city", "Nairobi"))
	if second == first || back != first || from != second {
		t.Fatalf("versions %s, %s, then %s of %s", first, second, back, from)
	}
	for _, given := range []string{first, second} {
		l.state = nil // the state of the log says so too
		version, from := observeOf(t, l, given, canon.Obj("city", "Nakuru"))
		if version != second || from != first && from != second {
			t.Errorf("evidence on %s was applied to %s and made %s", given, from, version)
		}
		if back, _ := observeOf(t, l, given, canon.Obj("city", "Nairobi")); back != first {
			t.Errorf("back from %s came %s", given, back)
		}
	}
	if v := l.state.versions[l.state.lookupRecord(first)]; len(v) != 1 {
		t.Errorf("the first record has %d versions beside it, want one", len(v))
	}
	checkRebuilt(t, l)
}

// TestVersionsThatMeet: two records whose evidence makes them one version have one
// history from then on, whichever of them is named.
func TestVersionsThatMeet(t *testing.T) {
	l := inside(t)
	a := canon.Obj("name", "Kijani Tea Exporters Ltd", "city", "Nairobi")
	c := canon.Obj("name", "Kijani Tea Exporters Ltd", "city", "Nakuru")
	oneEdge(t, l, a, c)
	b, _ := observeOf(t, l, idOf(t, a), canon.Obj("phone", "+254700000001"))
	d, _ := observeOf(t, l, idOf(t, c), canon.Obj("phone", "+254700000001"))
	if b == d {
		t.Fatal("they met too early")
	}
	if met, from := observeOf(t, l, b, canon.Obj("city", "Nakuru")); met != d || from != b {
		t.Fatalf("evidence on %s made %s, want %s", from, met, d)
	}
	for _, given := range []string{idOf(t, a), b, idOf(t, c), d} {
		if n := l.state.newest(l.state.lookupRecord(given)); l.state.recordID(n) != d {
			t.Errorf("the newest version of %s is %s", given, l.state.recordID(n))
		}
	}
	if version, from := observeOf(t, l, idOf(t, a), canon.Obj("city", "Kisumu")); from != d || version == d {
		t.Errorf("evidence on the first was applied to %s and made %s", from, version)
	}
	checkRebuilt(t, l)
}

// TestRecordThatBecomesAVersion: a record without a history whose evidence makes it
// a version of another belongs to that history from then on.
func TestRecordThatBecomesAVersion(t *testing.T) {
	l := inside(t)
	a := canon.Obj("name", "Kijani Tea Exporters Ltd", "city", "Nairobi")
	c := canon.Obj("name", "Kijani Tea Exporters Ltd", "city", "Nakuru")
	oneEdge(t, l, a, c)
	b, _ := observeOf(t, l, idOf(t, a), canon.Obj("city", "Kisumu"))
	if met, from := observeOf(t, l, idOf(t, c), canon.Obj("city", "Kisumu")); met != b || from != idOf(t, c) {
		t.Fatalf("evidence on %s made %s, want %s", from, met, b)
	}
	later, from := observeOf(t, l, idOf(t, c), canon.Obj("phone", "+254700000001"))
	if from != b {
		t.Errorf("evidence on a record was applied to %s, want the version it became", from)
	}
	for _, given := range []string{idOf(t, a), b, idOf(t, c)} {
		if n := l.state.newest(l.state.lookupRecord(given)); l.state.recordID(n) != later {
			t.Errorf("the newest version of %s is %s", given, l.state.recordID(n))
		}
	}
	checkRebuilt(t, l)
}

// TestSecondConfirmationSupersedesTheFirst: evidence that says what is known is
// noted, each time in place of the time before.
func TestSecondConfirmationSupersedesTheFirst(t *testing.T) {
	l := inside(t)
	a := canon.Obj("id", "a", "name", "Kijani Tea Exporters Ltd", "city", "Nairobi")
	oneEdge(t, l, a, oneNamed("b", "Kijani Tea Exporters Limited")[0])
	oneEdge(t, l, a, oneNamed("c", "Kijani Tea Exporters")[0])
	var observed []Event
	for n := range 2 {
		if _, err := l.Observe(t.Context(), idOf(t, a), canon.Obj("city", "Nairobi")); err != nil {
			t.Fatal(err)
		}
		if n == 0 { // a batch decision again, so that there is something to confirm
			oneEdge(t, l, oneNamed("d", "Kijani Tea Exporters Plc")[0], a)
		}
	}
	for e, err := range l.Events(t.Context(), Filter{Kinds: []string{KindEvidenceObserved}}) {
		if err != nil {
			t.Fatal(err)
		}
		observed = append(observed, e)
	}
	if len(observed) != 2 || observed[0].supersedes != "" || observed[1].supersedes != observed[0].id {
		t.Errorf("observations %+v", observed)
	}
	checkRebuilt(t, l)
}

// TestLongHistoriesComeAlong: many versions that a contradiction took out of
// their entity are one thing still, and enter the next entity together.
func TestLongHistoriesComeAlong(t *testing.T) {
	l := inside(t)
	a := registered("a", "Kijani Tea Exporters Ltd", "K-1")
	oneEdge(t, l, a, registered("b", "Kijani Tea Exporters Ltd", "K-1"))
	newest := idOf(t, a)
	const versions = 20
	for n := range versions {
		newest, _ = observeOf(t, l, newest, canon.Obj("remark", fmt.Sprint(n)))
	}
	if got := together(t, l); len(got) != 1 {
		t.Fatalf("entities %v", got)
	}
	if _, err := l.Decide(t.Context(), newest, l.state.recordID(1), VerdictDifferent, "two firms"); err != nil {
		t.Fatal(err)
	}
	if got := together(t, l); len(got) != 0 {
		t.Fatalf("entities after they were parted: %v", got)
	}
	loose := l.state.loose(l.state.lookupRecord(newest))
	if len(loose) != versions+1 || !slices.IsSorted(loose) || len(slices.Compact(slices.Clone(loose))) != len(loose) {
		t.Errorf("the history is %v", loose)
	}
	newcomer := canon.Obj("id", "c", "name", "Kijani Tea Exporters Ltd", "registration_id", "K-1", "city", "Nakuru")
	oneEdge(t, l, canon.Obj("id", newest, "name", "Kijani Tea Exporters Ltd", "registration_id", "K-1"), newcomer)
	o, err := l.Entities(t.Context(), "")
	if err != nil || o.Value("count") != 1 {
		t.Fatalf("%v %v", o, err)
	}
	members := o.Value("entities").([]any)[0].(*canon.Object).Value("records").([]any)
	if len(members) != versions+2 {
		t.Errorf("%d members, want %d", len(members), versions+2)
	}
	checkRebuilt(t, l)
}
