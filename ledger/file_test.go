package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// pair is a comparison that matches: the n-th supplier with itself.
func pair(n int) resolve.Request {
	return resolve.Request{
		A:      []*canon.Object{canon.Obj("id", fmt.Sprintf("a%d", n), "name", fmt.Sprintf("Kijani%d Tea Exporters Ltd", n))},
		B:      []*canon.Object{canon.Obj("id", fmt.Sprintf("b%d", n), "name", fmt.Sprintf("Kijani%d Tea Exporters Limited", n))},
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
	}
}

// reviewed is a comparison that stays open: an ordinary name.
func reviewed(n int) resolve.Request {
	return resolve.Request{
		A:      []*canon.Object{canon.Obj("id", fmt.Sprintf("p%d", n), "name", "Central Cooperative Society")},
		B:      []*canon.Object{canon.Obj("id", fmt.Sprintf("q%d", n), "name", "Central Cooperative Society")},
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
	}
}

func compare(t testing.TB, l *ledger.Ledger, req resolve.Request) *resolve.Result {
	t.Helper()
	res, err := l.Compare(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func countOf(t testing.TB, o *canon.Object, err error) int {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	n, _ := o.Value("count").(int)
	return n
}

func indent(t testing.TB, v any, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	b, err := canon.Indent(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func filePath(t testing.TB) string { return filepath.Join(t.TempDir(), "ledger.duckdb") }

func TestURIs(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct{ uri, bad string }{
		{"duckdb:///:memory:", ""},
		{"duckdb:///" + dir + "/a.duckdb", ""},
		{dir + "/a.duckdb", ""},
		{"postgres://x", "unsupported ledger URI"},
		{"ducklake:postgres:x", "unsupported ledger URI"},
		{"duckdb:///", "needs a database path"},
		{"", "needs a database path"},
		{dir + "/none/a.duckdb", "folder does not exist"},
		{dir, "is a folder"},
	} {
		l, err := ledger.Open(x.uri, ledger.Options{})
		switch {
		case x.bad == "" && err != nil:
			t.Errorf("%q: %v", x.uri, err)
		case x.bad != "" && (err == nil || !strings.Contains(err.Error(), x.bad) || strings.Contains(err.Error(), dir)):
			t.Errorf("%q: %v, want %q without the path", x.uri, err, x.bad)
		}
		if l != nil {
			_ = l.Close()
		}
	}
}

func TestReopenedLedgerAnswersTheSame(t *testing.T) {
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	for n := range 5 {
		compare(t, l, pair(n))
		compare(t, l, reviewed(n))
	}
	read := func(l *ledger.Ledger) []string {
		ents, err1 := l.Entities(t.Context(), "")
		cases, err2 := l.Cases(t.Context(), "")
		return []string{indent(t, ents, err1), indent(t, cases, err2)}
	}
	before := read(l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read(open(t, path, ledger.Options{}))); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

func TestTwoLedgersOnOneFileSeeEachOther(t *testing.T) {
	path := filePath(t)
	ls := []*ledger.Ledger{open(t, path, ledger.Options{}), open(t, path, ledger.Options{}), open(t, path, ledger.Options{})}
	var wg sync.WaitGroup
	const each = 12
	for k, l := range ls {
		wg.Go(func() {
			for n := range each {
				if _, err := l.Compare(context.Background(), pair(k*each+n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want := ""
	for k, l := range ls {
		ents, err := l.Entities(t.Context(), "")
		if n := countOf(t, ents, err); n != each*len(ls) {
			t.Errorf("ledger %d sees %d entities, want %d", k, n, each*len(ls))
		}
		text := indent(t, ents, nil)
		if want == "" {
			want = text
		}
		if text != want {
			t.Errorf("ledger %d answers differently", k)
		}
	}
	if err := ls[0].Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestBusyLedgerNamesItsHolder(t *testing.T) {
	path := filePath(t)
	s, err := duck.OpenStore(path, duck.Options{Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := open(t, path, ledger.Options{Wait: time.Millisecond})
	err = s.Use(t.Context(), func(*duck.DB) error {
		_, err := l.Entities(t.Context(), "")
		return err
	})
	if !fault.Is(err, fault.Busy) {
		t.Errorf("got %v, want busy", err)
	}
}

func TestForeignDatabaseIsRefused(t *testing.T) {
	path := filePath(t)
	s, err := duck.OpenStore(path, duck.Options{Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Use(t.Context(), func(db *duck.DB) error { return db.Exec(t.Context(), "CREATE TABLE mine(x INTEGER)") })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, path, ledger.Options{}).Entities(t.Context(), ""); !errors.Is(err, duck.ErrForeign) {
		t.Errorf("got %v", err)
	}
}

func alter(t testing.TB, path string, statements ...string) {
	t.Helper()
	s, err := duck.OpenStore(path, duck.Options{Wait: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Use(t.Context(), func(db *duck.DB) error {
		for _, sql := range statements {
			if err := db.Exec(t.Context(), sql); err != nil {
				return err
			}
		}
		return db.Checkpoint(t.Context())
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	compare(t, l, pair(1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, path, `UPDATE meta SET value = '2' WHERE key = 'format'`)
	if _, err := open(t, path, ledger.Options{}).Entities(t.Context(), ""); !errors.Is(err, ledger.ErrNewerFormat) {
		t.Errorf("got %v", err)
	}
}

func TestLostAndRewrittenEventsAreReported(t *testing.T) {
	for _, x := range []struct {
		name, sql string
		want      error
	}{
		{"last event gone", `DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)`, ledger.ErrTruncated},
		{"all events gone", `DELETE FROM events`, ledger.ErrTruncated},
		{"last link changed", `UPDATE events SET link = repeat('0', 64) WHERE seq = (SELECT max(seq) FROM events)`, ledger.ErrRewritten},
		{"middle event gone", `DELETE FROM events WHERE seq = 3`, ledger.ErrAltered},
		{"actor changed", `UPDATE events SET actor = 'mallory' WHERE seq = 3`, ledger.ErrAltered},
		{"time changed", `UPDATE events SET recorded_at = recorded_at + INTERVAL 1 SECOND WHERE seq = 2`, ledger.ErrAltered},
	} {
		t.Run(x.name, func(t *testing.T) {
			path := filePath(t)
			l := open(t, path, ledger.Options{})
			compare(t, l, pair(1))
			compare(t, l, pair(2))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			alter(t, path, x.sql)
			_, err := open(t, path, ledger.Options{}).Entities(t.Context(), "")
			if !errors.Is(err, x.want) || !fault.Is(err, fault.Damaged) || fault.As(err).Hint == "" {
				t.Errorf("got %v, want %v", err, x.want)
			}
		})
	}
}

func TestCopyWithoutItsLogIsTruncation(t *testing.T) {
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	compare(t, l, pair(1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + ".wal"); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, path, ledger.Options{}).Entities(t.Context(), ""); !errors.Is(err, ledger.ErrTruncated) {
		t.Errorf("got %v", err)
	}
}

// An altered score, wherever it stands, is an error of the tool that meets it.
func TestAlteredScoreIsAnError(t *testing.T) {
	for _, x := range []struct{ name, sql string }{
		{"projection", `UPDATE decisions SET score = 0.12`},
		{"event", `UPDATE events SET body = regexp_replace(body, '"score":[0-9.]+', '"score":0.12') WHERE kind = 'decision.recorded'`},
		{"identity", `UPDATE decisions SET identity = 'match', action = 'merge'`},
		{"content", `UPDATE blobs SET bytes = replace(decode(bytes), 'Central', 'Central2')::BLOB`},
	} {
		t.Run(x.name, func(t *testing.T) {
			path := filePath(t)
			l := open(t, path, ledger.Options{})
			id := compare(t, l, reviewed(1)).Edges[0].DecisionID
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			alter(t, path, x.sql)
			l = open(t, path, ledger.Options{})
			if _, err := l.Decision(t.Context(), id); !errors.Is(err, ledger.ErrAltered) {
				t.Errorf("decision: %v", err)
			}
			if err := l.Verify(t.Context(), nil); err == nil {
				t.Error("verify found nothing")
			}
		})
	}
}

func TestRepeatAppendsNothing(t *testing.T) {
	l := open(t, filePath(t), ledger.Options{})
	events := func() (n int) {
		for _, err := range l.Events(t.Context(), ledger.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	compare(t, l, pair(1))
	compare(t, l, reviewed(1))
	before := events()
	compare(t, l, pair(1))
	compare(t, l, reviewed(1))
	if after := events(); after != before {
		t.Errorf("%d events became %d", before, after)
	}
}
