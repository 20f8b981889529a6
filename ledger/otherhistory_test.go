package ledger_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
)

// historyOf is a ledger file with some comparisons, let go of.
func historyOf(t *testing.T, pairs ...int) string {
	t.Helper()
	l := open(t, filePath(t), ledger.Options{Clock: arctest.NewClock().Now})
	for _, n := range pairs {
		compare(t, l, pair(n))
	}
	path := filePath(t)
	err := l.Lend(t.Context(), func(from string) error {
		_, err := disk.Disk{}.Copy(from, path)
		if err == nil {
			_, err = disk.Disk{}.Copy(duck.HeadPath(from), duck.HeadPath(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAnotherHistoryUnderneath: an operator puts another whole ledger in the place
// of one that a process has open. The process answers from the new one, whether
// it is longer, shorter or of the same length.
func TestAnotherHistoryUnderneath(t *testing.T) {
	l := open(t, filePath(t), ledger.Options{Clock: arctest.NewClock().Now})
	compare(t, l, pair(1))
	compare(t, l, pair(2))
	for _, x := range []struct {
		name  string
		pairs []int
	}{{"the same length", []int{5, 6}}, {"longer", []int{7, 8, 9}}, {"shorter", []int{5}}} {
		other := historyOf(t, x.pairs...)
		err := l.Lend(t.Context(), func(path string) error {
			var errs []error
			for _, name := range []func(string) string{func(path string) string { return path }, duck.HeadPath} {
				_, err := disk.Disk{}.Copy(name(other), name(path)+".new")
				errs = append(errs, err, os.Rename(name(path)+".new", name(path)))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Entities(t.Context(), "")
		answer := indent(t, got, err)
		want, err := open(t, other, ledger.Options{}).Entities(t.Context(), "")
		if diff := cmp.Diff(indent(t, want, err), answer); diff != "" || countOf(t, want, err) != len(x.pairs) {
			t.Errorf("%s (-the new file +answer)\n%s", x.name, diff)
		}
		if err := l.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if ents, err := l.Entities(t.Context(), ""); countOf(t, ents, err) != len(x.pairs) { // and it has its state again
			t.Errorf("%s: %v", x.name, ents)
		}
	}
}

// TestHeadBehindTheLogUnderFaults: after a crash between commit and head the log
// is longer than the head says. Whatever reading fails at the next opening is
// told, and then the ledger goes on with all of it.
func TestHeadBehindTheLogUnderFaults(t *testing.T) {
	path, fail := filePath(t), false
	l := open(t, path, ledger.Options{Fault: func(op string) error {
		if fail && op == "head.write" {
			return errDisk
		}
		return nil
	}})
	compare(t, l, pair(1))
	fail = true
	if _, err := l.Compare(t.Context(), pair(2)); err == nil {
		t.Fatal("the head was not written and the call was acknowledged")
	}
	_ = l.Close()
	for n := 1; ; n++ {
		f := &arctest.Fault{N: n, Err: errDisk, Match: func(op string) bool { return op == "query" }}
		l := open(t, path, ledger.Options{Fault: f.Ask})
		ents, err := l.Entities(t.Context(), "")
		if f.Hit != "" {
			if err == nil || !strings.Contains(err.Error(), "Input/output error") {
				t.Errorf("query %d: %v", n, err)
			}
			ents, err = l.Entities(t.Context(), "")
		}
		if got := countOf(t, ents, err); got != 2 {
			t.Errorf("query %d: %d entities", n, got)
		}
		h, _, err := duck.ReadHead(duck.HeadPath(path))
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if f.Hit == "" {
			if n < 5 || h.Seq == 0 {
				t.Errorf("%d queries, head %+v", n, h)
			}
			return
		}
	}
}

// TestClosedLedgersSaySo: every verb of a ledger that was closed is refused with
// the same words, and closes nothing more.
func TestClosedLedgersSaySo(t *testing.T) {
	f := furnish(t, filePath(t))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs {
		switch err := v.call(t.Context(), f); {
		case v.name == "suggest" && errors.Is(err, duck.ErrClosed):
		case err == nil || err.Error() != "the ledger was closed":
			t.Errorf("%s: %v", v.name, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestFatalReadingIsGotOver: a reading that the database dies of fails, and the
// next one opens it again.
func TestFatalReadingIsGotOver(t *testing.T) {
	f := furnish(t, filePath(t))
	_, want, _, err := f.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	f.fault = &arctest.Fault{N: 1, Err: errors.New("FATAL Error: the database has been invalidated"), Match: func(op string) bool {
		asked = true
		return op == "query"
	}}
	if _, err := f.SeqBefore(t.Context(), f.event, true); !errors.Is(err, duck.ErrFatal) || !asked {
		t.Errorf("%v", err)
	}
	f.fault = nil
	if _, got, _, err := f.Head(t.Context()); err != nil || got != want {
		t.Errorf("%d events, %v; want %d", got, err, want)
	}
	if _, err := f.Entities(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

// TestPlacesInTime: an event, a moment or a day is the same place however it is
// said, and counts itself when it is asked to.
func TestPlacesInTime(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	l := open(t, "duckdb:///:memory:", ledger.Options{Clock: func() time.Time { return at }})
	for n := range 3 { // a day apart each
		if _, err := l.Append(t.Context(), []ledger.Draft{{Kind: "project.initialised", Subject: "project", Body: canon.Obj("n", n)}}); err != nil {
			t.Fatal(err)
		}
		at = at.AddDate(0, 0, 1)
	}
	var second string
	for e, err := range l.Events(t.Context(), ledger.Filter{After: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		second = e.ID()
		break
	}
	for _, x := range []struct {
		moment      string
		before, and int64
	}{
		{"2026-03-04", 0, 1}, {"2026-03-05", 1, 2}, {"2026-03-07", 3, 3}, {"2026-03-01", 0, 0},
		{"2026-03-05T05:06:07Z", 1, 2}, {"2026-03-05T05:06:07.000001Z", 2, 2}, {"2026-03-05 05:06:07", 1, 2}, {"2026-03-05T06:06:07+01:00", 1, 2},
		{"2026-03-05T05:06", 1, 1}, {second, 1, 2},
	} {
		before, err := l.SeqBefore(t.Context(), x.moment, false)
		and, errAnd := l.SeqBefore(t.Context(), x.moment, true)
		if err != nil || errAnd != nil || before != x.before || and != x.and {
			t.Errorf("%s: %d and %d, %v %v; want %d and %d", x.moment, before, and, err, errAnd, x.before, x.and)
		}
	}
	for moment, kind := range map[string]fault.Kind{
		"yesterday": fault.Invalid, "": fault.Invalid, "2026-13-01": fault.Invalid, "evt:blake3:" + strings.Repeat("0", 64): fault.NotFound, "evt:x": fault.Invalid,
	} {
		if seq, err := l.SeqBefore(t.Context(), moment, true); !fault.Is(err, kind) || seq != 0 {
			t.Errorf("%q: %d %v", moment, seq, err)
		}
	}
}

// TestReadingMakesNoFile: words are completed for a ledger that is not there
// without making it; one in memory has no file to lend.
func TestReadingMakesNoFile(t *testing.T) {
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	for kind := range map[string]bool{"decision": true, "record": true, "entity": true} {
		if ids, err := l.Suggest(t.Context(), kind, ""); err != nil || len(ids) > 0 {
			t.Errorf("%s: %v %v", kind, ids, err)
		}
	}
	if left, err := os.ReadDir(strings.TrimSuffix(path, "ledger.duckdb")); err != nil || len(left) > 0 {
		t.Errorf("made %v, %v", left, err)
	}
	compare(t, l, pair(1))
	for kind, prefix := range map[string]string{"decision": "xwd:", "record": "rec:", "entity": "ent_"} {
		want := map[string]int{"record": 2}[kind] + map[bool]int{true: 1}[kind != "record"]
		if ids, err := l.Suggest(t.Context(), kind, prefix); err != nil || len(ids) != want || !strings.HasPrefix(ids[0], prefix) {
			t.Errorf("%s: %v %v", kind, ids, err)
		}
		if ids, err := l.Suggest(t.Context(), kind, prefix+"zzz"); err != nil || len(ids) != 0 {
			t.Errorf("%s: %v %v", kind, ids, err)
		}
	}
	lent := false
	err := memory(t).Lend(t.Context(), func(string) error { lent = true; return nil })
	if !fault.Is(err, fault.Invalid) || lent {
		t.Errorf("lent %v, %v", lent, err)
	}
}

// TestDamageIsToldBeforeAnythingIsRead: whatever looks at a ledger whose end is
// gone, or whose tables do not fit, says so, also where it takes no state.
func TestDamageIsToldBeforeAnythingIsRead(t *testing.T) {
	kept := historyOf(t, 1, 2)
	damaged := func(statements ...string) *ledger.Ledger {
		path := filePath(t)
		for _, suffix := range []string{"", ".head"} {
			if _, err := (disk.Disk{}).Copy(kept+suffix, path+suffix); err != nil {
				t.Fatal(err)
			}
		}
		alter(t, path, statements...)
		return open(t, path, ledger.Options{})
	}
	asks := map[string]func(ctx context.Context, l *ledger.Ledger) error{
		"head": func(ctx context.Context, l *ledger.Ledger) error { _, _, _, err := l.Head(ctx); return err },
		"lend": func(ctx context.Context, l *ledger.Ledger) error {
			return l.Lend(ctx, func(string) error { t.Error("a damaged file was lent"); return nil })
		},
		"entities": func(ctx context.Context, l *ledger.Ledger) error { return drop(l.Entities(ctx, "")) },
		"rebuild":  func(ctx context.Context, l *ledger.Ledger) error { return l.Rebuild(ctx) },
		"compare":  func(ctx context.Context, l *ledger.Ledger) error { return drop(l.Compare(ctx, pair(3))) },
	}
	for _, x := range []struct {
		sql  string
		want error
		text string
	}{
		{`DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)`, ledger.ErrTruncated, "event 8 was acknowledged and the file ends at event 7"},
		{`UPDATE events SET link = repeat('0', 64) WHERE seq = (SELECT max(seq) FROM events)`, ledger.ErrRewritten, "event 8 is not the one that was acknowledged"},
		{`UPDATE meta SET value = 'x' WHERE key = 'format'`, nil, "does not say which format it has"},
		{`DELETE FROM meta WHERE key = 'format'`, nil, "does not say which format it has"},
	} {
		l := damaged(x.sql)
		for _, large := range []bool{false, true} {
			for name, ask := range asks {
				if large {
					l.LoadProjections() // as of a log that is too long to be folded at opening
				}
				err := ask(t.Context(), l)
				if !fault.Is(err, fault.Damaged) || x.want != nil && !errors.Is(err, x.want) || !strings.Contains(err.Error(), x.text) {
					t.Errorf("%s, %s (large %v): %v", x.sql, name, large, err)
				}
			}
		}
		_ = l.Close()
	}
	l := damaged(`UPDATE members SET record_id = 'rec:x' WHERE record_id = (SELECT min(record_id) FROM members)`)
	ents, err := l.Entities(t.Context(), "")
	if countOf(t, ents, err) != 2 {
		t.Fatal("the log is not what it was")
	}
	told := 0
	for _, x := range ents.Value("entities").([]any) {
		if _, err := l.EntityHistory(t.Context(), x.(*canon.Object).Value("entity_id").(string)); err != nil {
			told++
			if !errors.Is(err, ledger.ErrAltered) || !strings.Contains(err.Error(), "members names a record rec:x that was never stored") {
				t.Error(err)
			}
		}
	}
	if told != 1 {
		t.Errorf("%d histories are refused, want the one whose member is gone", told)
	}
}
