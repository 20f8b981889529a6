package ledger_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

const never = 1 << 30 // no stretch is made

// matched is what resolve goes by, from memory as it is or, cold, as a new
// process would see it.
func matched(t interface{ Fatalf(string, ...any) }, l *ledger.Ledger, rec *canon.Object, typ string, cold bool) string {
	if cold {
		l.Forgets()
	}
	out, err := l.Matched(context.Background(), rec, typ)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// checkIndex: what a process has in memory, what a new one takes from the
// index, and what one makes of the contents alone are one answer.
func (h *history) checkIndex(least, most int) {
	for _, typ := range []string{"organisation", "person"} {
		rec := h.record(false)
		warm := matched(h.t, h.l, rec, typ, false)
		cold := matched(h.t, h.l, rec, typ, true)
		h.l.IndexOf(never, never)
		plain := matched(h.t, h.l, rec, typ, true)
		h.l.IndexOf(least, most)
		if diff := cmp.Diff(plain, cold); diff != "" {
			h.t.Fatalf("the index answers differently (-contents +index)\n%s", diff)
		}
		if diff := cmp.Diff(plain, warm); diff != "" {
			h.t.Fatalf("a process that was there answers differently (-contents +warm)\n%s", diff)
		}
	}
}

// forget erases a record, and stores some of them again later by chance.
func (h *history) forget() {
	if len(h.records) == 0 {
		return
	}
	id := rapid.SampledFrom(h.records).Draw(h.t, "forgotten")
	_, err := h.l.Forget(h.ctx, ledger.ForgetRequest{Addresses: []string{id}, Reason: "asked to"})
	h.must(err)
}

// note observes something about a record, if its values are still there.
func (h *history) note() {
	if len(h.records) == 0 {
		return
	}
	id := rapid.SampledFrom(h.records).Draw(h.t, "observed")
	name := rapid.SampledFrom(lawNames).Draw(h.t, "name")
	out, err := h.l.Observe(h.ctx, id, canon.Obj("name", name))
	if errors.Is(err, ledger.ErrErased) {
		return
	}
	h.must(err)
	h.remember(out.Value("new_record_id"))
}

// TestIndexedHistories holds the index to the contents over random calls,
// erasures and records that come back among them.
func TestIndexedHistories(t *testing.T) {
	checks(t, "8", "300")
	for _, o := range []ledger.Options{{}, {PackVersion: resolve.PackVersion010, Engine: resolve.EngineV2}} {
		t.Run(o.PackVersion+o.Engine, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				o.Clock = arctest.NewClock().Now
				l, err := ledger.Open("duckdb:///:memory:", o)
				if err != nil {
					rt.Fatal(err)
				}
				defer l.Close()
				least := rapid.IntRange(1, 4).Draw(rt, "least")
				most := rapid.IntRange(least, 6).Draw(rt, "most")
				l.IndexOf(least, most)
				h := &history{t: rt, ctx: context.Background(), l: l, learnt: map[string]string{}}
				for range 16 {
					switch rapid.IntRange(0, 9).Draw(rt, "call") {
					case 0, 1, 2:
						h.compare()
					case 3, 4, 5, 6:
						h.resolve()
					case 7:
						h.note()
					case 8:
						h.forget()
					default:
						h.checkIndex(least, most)
					}
				}
				h.checkIndex(least, most)
				h.must(l.Verify(h.ctx, nil))
				h.must(l.Rebuild(h.ctx))
				h.checkIndex(least, most)
				h.must(l.Verify(h.ctx, nil))
			})
		})
	}
}

func stretches(t testing.TB, l *ledger.Ledger) (out [][2]int64) {
	t.Helper()
	err := l.Query(t.Context(), `SELECT first, n FROM index_parts ORDER BY first`, nil, func(v []driver.Value) error {
		out = append(out, [2]int64{v[0].(int64), v[1].(int64)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// indexed is a ledger file with some suppliers, a stretch for every four.
func indexed(t testing.TB, path string, o ledger.Options) *ledger.Ledger {
	t.Helper()
	l := open(t, path, o)
	l.IndexOf(4, 6)
	return l
}

// TestIndexGrowsWithTheLog: stretches are made as records are stored, whoever
// stores them, and cover what is there.
func TestIndexGrowsWithTheLog(t *testing.T) {
	path := filePath(t)
	a, b := indexed(t, path, ledger.Options{}), indexed(t, path, ledger.Options{})
	for n := range 3 {
		compare(t, a, pair(2*n))
		compare(t, b, pair(2*n+1))
	}
	if diff := cmp.Diff([][2]int64{{0, 4}, {4, 4}, {8, 4}}, stretches(t, a)); diff != "" {
		t.Errorf("stretches (-want +got)\n%s", diff)
	}
	compare(t, b, supplierLists(0, 10))
	if diff := cmp.Diff([][2]int64{{0, 4}, {4, 4}, {8, 4}, {12, 6}, {18, 6}, {24, 6}}, stretches(t, b)[:6]); diff != "" {
		t.Errorf("stretches (-want +got)\n%s", diff)
	}
	rec := canon.Obj("name", "Kijani3 Tea Exporters")
	want := matched(t, a, rec, "organisation", true)
	if diff := cmp.Diff(want, matched(t, b, rec, "organisation", false)); diff != "" {
		t.Error(diff)
	}
	if err := a.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestLongUnitFillsTheIndex: a unit that hands its contents over while it runs
// is indexed to its end like any other, though only some contents are at hand.
func TestLongUnitFillsTheIndex(t *testing.T) {
	l := indexed(t, filePath(t), ledger.Options{})
	l.LongFrom(1)
	compare(t, l, supplierLists(0, 20))
	covered := int64(0)
	for _, x := range stretches(t, l) {
		if x[0] != covered {
			t.Errorf("a stretch begins at %d, the one before ends at %d", x[0], covered)
		}
		covered += x[1]
	}
	if covered < 35 {
		t.Errorf("%d records are in stretches", covered)
	}
	rec := canon.Obj("name", "Kijani Tea")
	cold := matched(t, l, rec, "organisation", true)
	l.IndexOf(never, never)
	if diff := cmp.Diff(matched(t, l, rec, "organisation", true), cold); diff != "" {
		t.Error(diff)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestForgottenLeavesTheIndex: values that were erased are in no stretch, in no
// process, and the next resolve makes the stretch again without them.
func TestForgottenLeavesTheIndex(t *testing.T) {
	path := filePath(t)
	a, b := indexed(t, path, ledger.Options{}), indexed(t, path, ledger.Options{})
	compare(t, a, resolve.Request{
		A:      []*canon.Object{canon.Obj("name", canary+" Works"), canon.Obj("name", "Zentari Mills"), canon.Obj("name", "Harmuko Foods")},
		B:      []*canon.Object{canon.Obj("name", canary+" Works Ltd"), canon.Obj("name", "Lumora Tea"), canon.Obj("name", "Suraki Cement")},
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
	})
	rec := canon.Obj("name", canary+" Works")
	before := matched(t, b, rec, "organisation", false)
	if len(holds(t, a, canary)) == 0 || len(stretches(t, a)) != 1 {
		t.Fatal("the test does not see what it looks for")
	}
	if _, err := a.Forget(t.Context(), ledger.ForgetRequest{Field: "name", Value: canary + " Works", Reason: "asked to"}); err != nil {
		t.Fatal(err)
	}
	if n := stretches(t, a); len(n) != 0 {
		t.Errorf("stretches %v still hold what was erased", n)
	}
	warm := matched(t, b, rec, "organisation", false)
	if warm == before {
		t.Error("a process that was there still finds what another erased")
	}
	if diff := cmp.Diff(matched(t, b, rec, "organisation", true), warm); diff != "" {
		t.Error(diff)
	}
	if len(stretches(t, a)) != 1 {
		t.Error("the stretch was not made again")
	}
	if _, err := a.Forget(t.Context(), ledger.ForgetRequest{Field: "name", Value: canary + " Works Ltd", Reason: "asked to"}); err != nil {
		t.Fatal(err)
	}
	if found := holds(t, a, "Vortumnus"); len(found) > 0 {
		t.Errorf("erased values are still in %v", found)
	}
	if err := a.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestIndexFaults fails every operation of the store while stretches are made,
// plainly and in a way the database does not outlive: what was acknowledged
// stays, and a process that opens the file after it answers as one without
// index.
func TestIndexFaults(t *testing.T) {
	for _, x := range []error{
		errors.New("IO Error: Could not write file: Input/output error"),
		errors.New("FATAL Error: Failed to create checkpoint because of error: No space left on device"),
	} {
		hits, stride := 0, 3
		if long() {
			stride = 1
		}
		for n := 1; ; n += stride {
			f := &nthFault{n: n}
			path := filePath(t)
			l := open(t, path, ledger.Options{Fault: f.ask})
			l.IndexOf(2, 4)
			compare(t, l, pair(0))
			f.at, f.err = 0, x
			_, _ = l.Compare(t.Context(), pair(1))
			_, _ = l.Resolve(t.Context(), canon.Obj("name", "Kijani1 Tea Exporters"), "organisation")
			f.err = nil
			if !f.hit {
				break
			}
			hits++
			rec := canon.Obj("name", "Kijani0 Tea Exporters")
			warm := matched(t, l, rec, "organisation", false)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = open(t, path, ledger.Options{})
			l.IndexOf(2, 4)
			cold := matched(t, l, rec, "organisation", true)
			l.IndexOf(never, never)
			plain := matched(t, l, rec, "organisation", true)
			if plain != cold || plain != warm {
				t.Fatalf("fault %d (%v): answers differ", n, x)
			}
			if err := l.Verify(t.Context(), nil); err != nil {
				t.Fatalf("fault %d (%v): %v", n, x, err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if hits < 6 {
			t.Errorf("only %d operations were failed", hits)
		}
	}
}

// TestKilledWhileIndexing kills a process that resolves and keeps the index, a
// stretch every third record: what the next process finds answers as the
// contents do.
func TestKilledWhileIndexing(t *testing.T) {
	path, next, kills := filePath(t), 0, 5
	if long() {
		kills = 60
	}
	for k := range kills {
		ack := killOnce(t, "indexed", next, path, 2+5*k%9)
		next = ack.n + 2
		checkAfterKill(t, "resolve", path, ack)
		l := open(t, path, ledger.Options{})
		l.IndexOf(3, 5)
		rec := canon.Obj("name", "Kijani3 Tea Exporters")
		cold := matched(t, l, rec, "organisation", true)
		if len(stretches(t, l)) == 0 {
			t.Fatal("no stretch was kept")
		}
		l.IndexOf(never, never)
		if diff := cmp.Diff(matched(t, l, rec, "organisation", true), cold); diff != "" {
			t.Fatalf("after kill %d (-contents +index)\n%s", k, diff)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIndexInAnOldFile: a file of a format that knew no index gets one when it
// is resolved against.
func TestIndexInAnOldFile(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(formatFolder, "*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no kept ledgers: %v", err)
	}
	for _, dir := range folders {
		path := filePath(t)
		for _, suffix := range []string{"", ".wal", ".head"} {
			unpack(t, filepath.Join(dir, "ledger"+suffix+".gz"), path+suffix)
		}
		l := indexed(t, path, ledger.Options{})
		rec := canon.Obj("name", "Kijani1 Tea Exporters")
		l.IndexOf(never, never)
		want := matched(t, l, rec, "organisation", true)
		l.IndexOf(2, 4)
		for range 2 {
			if diff := cmp.Diff(want, matched(t, l, rec, "organisation", true)); diff != "" {
				t.Error(diff)
			}
		}
		if list := stretches(t, l); !slices.Contains(list, [2]int64{0, 4}) {
			t.Errorf("stretches %v", list)
		}
		if err := l.Verify(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
}
