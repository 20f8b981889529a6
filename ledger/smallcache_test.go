package ledger

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
)

// TestSmallCachesAnswerTheSame: a ledger whose caches hold next to nothing reads
// more often and answers and writes the same.
func TestSmallCachesAnswerTheSame(t *testing.T) {
	run := func(most, shelf int) (out []string) {
		f := newForge(t)
		l := f.l
		l.cache.most, l.cache.shelf = most, shelf
		told := func(o *canon.Object, err error) { out = append(out, f.told(o, err)) }
		ctx := t.Context()
		for n := range 4 { // of every kind a few
			name := fmt.Sprintf("%s Tea Exporters", []string{"Kijani", "Zentari", "Harmuko", "Womuba"}[n])
			oneEdge(t, l, registered("a", name+" Ltd", fmt.Sprint(n)), canon.Obj("id", "b", "name", name+" Limited", "city", "Nairobi"))
			oneEdge(t, l, oneNamed("p", "Central Cooperative Society")[0], canon.Obj("id", fmt.Sprint(n), "name", "Central Cooperative Society"))
		}
		for range 2 {
			f.forget()
			told(l.Entities(ctx, ""))
			told(l.Cases(ctx, ""))
			told(l.Resolve(ctx, canon.Obj("name", "Kijani Tea Exporters", "registration_id", "9"), "organisation"))
			told(l.Observe(ctx, f.record, canon.Obj("registration_id", "K-1")))
			f.unread()
			res, err := l.Compare(ctx, byEntity(
				[]*canon.Object{registered("x", "Zentari Tea Exporters", "1"), oneNamed("y", "Harmuko Tea Exporters")[0]},
				[]*canon.Object{registered("z", "Zentari Tea Exporters Plc", "2"), oneNamed("w", "Harmuko Tea Exporters Ltd")[0]}))
			if err != nil {
				t.Fatal(err)
			}
			told(res.Answer(), nil)
			f.unread()
			told(l.Entities(ctx, ""))
			told(l.Cases(ctx, ""))
			told(l.Replay(ctx, f.decisions[0]))
		}
		rows, err := l.Dump(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if l.cache.most != max(most, 0) && most > 0 || l.cache.shelf != shelf && shelf > 0 {
			t.Errorf("the caches hold %d and %d", l.cache.most, l.cache.shelf)
		}
		return append(out, rows...)
	}
	want := run(0, 0)
	for _, x := range [][2]int{{1, 2}, {2, 3}, {5, 4}} {
		if diff := cmp.Diff(want, run(x[0], x[1])); diff != "" {
			t.Errorf("%d contents and %d on the shelf (-plenty +few)\n%s", x[0], x[1], diff)
		}
	}
}

// TestArraysOfAnyOrderAreOneRecord: a record is the same however its objects are
// written, those within arrays too: what is kept of it in memory is what its
// content gives.
func TestArraysOfAnyOrderAreOneRecord(t *testing.T) {
	l := inside(t)
	tagged := func(tags ...any) *canon.Object {
		return canon.Obj("id", "a", "name", "Kijani Tea Exporters Ltd", "tags", tags)
	}
	written, stored := tagged(canon.Obj("z", "1", "a", "2"), "x"), tagged(canon.Obj("a", "2", "z", "1"), "x")
	if !inOrder(stored) || inOrder(written) || inOrder([]any{[]any{canon.Obj("b", "", "a", "")}}) || !inOrder(canon.Obj("a", "1", "b", canon.Obj("c", nil))) {
		t.Error("the order of keys is misread")
	}
	oneEdge(t, l, written, oneNamed("b", "Kijani Tea Exporters Limited")[0])
	r := &reader{ctx: t.Context(), l: l, s: l.state}
	kept, err := r.contentOf(0)
	if err != nil {
		t.Fatal(err)
	}
	l.cache.reset()
	var read *canon.Object
	if _, err := l.Entities(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	read = l.cache.content[0]
	a, errA := canon.Compact(kept)
	b, errB := canon.Compact(read)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("kept %s, read %s", a, b)
	}
	if idOf(t, written) != idOf(t, stored) {
		t.Error("two records of one content")
	}
	oneEdge(t, l, stored, oneNamed("b", "Kijani Tea Exporters Limited")[0])
	if n := len(l.state.recs); n != 2 {
		t.Errorf("%d records", n)
	}
}
