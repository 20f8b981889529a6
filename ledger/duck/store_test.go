package duck_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

func newStore(t *testing.T, path string, o duck.Options) *duck.Store {
	t.Helper()
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	s, err := duck.OpenStore(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func exec(t *testing.T, s *duck.Store, sql string) {
	t.Helper()
	err := s.Use(t.Context(), func(db *duck.DB) error { return db.Exec(t.Context(), sql) })
	if err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, s *duck.Store, table string) (n int64) {
	t.Helper()
	err := s.Use(t.Context(), func(db *duck.DB) error {
		return db.Query(t.Context(), "SELECT count(*) FROM "+table, nil, func(v []driver.Value) error {
			n = v[0].(int64)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestHardeningRefusesTheOutside(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "a.duckdb"), duck.Options{})
	for _, sql := range []string{
		"SELECT * FROM read_text('/etc/hostname')",
		"COPY (SELECT 1) TO '/tmp/x.csv'",
		"ATTACH '/tmp/other.duckdb'",
		"INSTALL httpfs",
		"LOAD httpfs",
		"SET enable_external_access=true",
		"SET threads=1",
	} {
		err := s.Use(t.Context(), func(db *duck.DB) error { return db.Exec(t.Context(), sql) })
		if err == nil {
			t.Errorf("%s was not refused", sql)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.duckdb")
	s := newStore(t, path, duck.Options{})
	err := s.Use(t.Context(), func(db *duck.DB) error {
		return s.Write(t.Context(), db, 1, func() error { return db.Exec(t.Context(), "CREATE TABLE t(x BIGINT)") })
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 4 {
		t.Errorf("expected file, log, lock and head, found %d files", len(entries))
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode().Perm())
		}
	}
}

func TestTwoStoresTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	a := newStore(t, path, duck.Options{})
	b := newStore(t, path, duck.Options{})
	exec(t, a, "CREATE TABLE t(x BIGINT)")
	const each = 40
	done := make(chan error, 2)
	for _, s := range []*duck.Store{a, b} {
		go func() {
			for range each {
				err := s.Use(context.Background(), func(db *duck.DB) error {
					return s.Write(context.Background(), db, 1, func() error {
						return db.Exec(context.Background(), "INSERT INTO t SELECT count(*) FROM t WHERE x >= ?", int64(0))
					})
				})
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, a, "(SELECT DISTINCT x FROM t)"); n != 2*each {
		t.Errorf("%d distinct values, want %d: two units ran at once", n, 2*each)
	}
}

func TestBusyNamesTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	a := newStore(t, path, duck.Options{})
	b := newStore(t, path, duck.Options{Wait: time.Millisecond})
	err := a.Use(t.Context(), func(*duck.DB) error {
		return b.Use(t.Context(), func(*duck.DB) error { return nil })
	})
	if !fault.Is(err, fault.Busy) || !errors.Is(err, duck.ErrLocked) {
		t.Fatalf("got %v, want a busy fault", err)
	}
	if !strings.Contains(err.Error(), "process") || strings.Contains(err.Error(), path) {
		t.Errorf("message %q must name the process and no path", err)
	}
	if _, held := duck.HeldBy(path); !held {
		t.Error("HeldBy sees nobody while the file is held")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, held := duck.HeldBy(path); held {
		t.Error("HeldBy sees somebody after close")
	}
}

func TestIdleFileIsLetGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	a := newStore(t, path, duck.Options{Lease: time.Millisecond})
	exec(t, a, "CREATE TABLE t(x BIGINT)")
	b := newStore(t, path, duck.Options{})
	if n := count(t, b, "t"); n != 0 { // waits until a lets go by itself
		t.Errorf("%d rows", n)
	}
}

func TestRollbackAndPanicLeaveNothing(t *testing.T) {
	s := newStore(t, filepath.Join(t.TempDir(), "a.duckdb"), duck.Options{})
	exec(t, s, "CREATE TABLE t(x BIGINT)")
	boom := errors.New("boom")
	insert := func(db *duck.DB) error {
		rows := make([][]driver.Value, 100)
		for i := range rows {
			rows[i] = []driver.Value{int64(i)}
		}
		return db.Insert(t.Context(), "t", rows)
	}
	err := s.Use(t.Context(), func(db *duck.DB) error {
		return s.Write(t.Context(), db, 100, func() error { return errors.Join(insert(db), boom) })
	})
	if !errors.Is(err, boom) {
		t.Fatalf("got %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.Use(t.Context(), func(db *duck.DB) error {
			return s.Write(t.Context(), db, 100, func() error {
				if err := insert(db); err != nil {
					return err
				}
				panic("boom")
			})
		})
	}()
	if n := count(t, s, "t"); n != 0 {
		t.Errorf("%d rows stayed", n)
	}
}

func TestFatalClosesAndTheNextCallWorks(t *testing.T) {
	fail, opens := false, 0
	s := newStore(t, filepath.Join(t.TempDir(), "a.duckdb"), duck.Options{Lease: time.Hour, Fault: func(op string) error {
		if op == "open" {
			opens++
		}
		if fail && op == "commit" {
			return errors.New("FATAL Error: Failed to create checkpoint because of error: Could not write file: No space left on device")
		}
		return nil
	}})
	exec(t, s, "CREATE TABLE t(x BIGINT)")
	fail, opens = true, 0
	err := s.Use(t.Context(), func(db *duck.DB) error {
		return s.Write(t.Context(), db, 1, func() error { return db.Exec(t.Context(), "INSERT INTO t VALUES (?)", 1) })
	})
	if !errors.Is(err, duck.ErrFatal) || !errors.Is(err, duck.ErrDiskFull) || fault.As(err).Hint == "" {
		t.Fatalf("got %v", err)
	}
	fail = false
	if n := count(t, s, "t"); n != 0 {
		t.Errorf("%d rows after a failed commit", n)
	}
	if opens != 1 {
		t.Errorf("the file was opened %d times, want again after the fatal error", opens)
	}
}

func TestForeignAndMissing(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 600)), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, text, duck.Options{})
	if err := s.Use(t.Context(), func(*duck.DB) error { return nil }); !errors.Is(err, duck.ErrForeign) || strings.Contains(err.Error(), dir) {
		t.Errorf("text file: %v", err)
	}
	for _, p := range []string{empty, dir, filepath.Join(dir, "no", "a.duckdb")} {
		if _, err := duck.OpenStore(p, duck.Options{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestScratch(t *testing.T) {
	s, err := duck.OpenScratch(duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	i := int64(0)
	err = s.Load(t.Context(), "r", []string{"id BIGINT", "name VARCHAR"}, func() ([]any, error) {
		if i == 20000 {
			return nil, nil
		}
		i++
		return []any{i, "n" + string(rune('a'+i%26))}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var groups int
	err = s.Query(t.Context(), "SELECT name, count(*) FROM r WHERE id > ? GROUP BY name ORDER BY name", []any{int64(0)}, func(v []any) error {
		groups++
		return nil
	})
	if err != nil || groups != 26 {
		t.Errorf("%d groups, %v", groups, err)
	}
	if err := s.Query(t.Context(), "SELECT * FROM read_text('/etc/hostname')", nil, func([]any) error { return nil }); err == nil {
		t.Error("scratch reads files")
	}
}

func TestScratchSpills(t *testing.T) {
	s, err := duck.OpenScratch(duck.Options{MemoryMB: 24, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var n int64
	err = s.Query(t.Context(), "SELECT count(*) FROM (SELECT md5(i::VARCHAR) AS k, i FROM range(600000) r(i) ORDER BY k)", nil, func(v []any) error {
		n = v[0].(int64)
		return nil
	})
	if err != nil || n != 600000 {
		t.Errorf("%d rows, %v", n, err)
	}
}

func BenchmarkInsertEvents(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16, 32, 100, 1000} {
		b.Run(strings.Repeat("", 0)+"rows="+itoa(n), func(b *testing.B) {
			s, err := duck.OpenStore(filepath.Join(b.TempDir(), "a.duckdb"), duck.Options{Wait: time.Second})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			ctx := b.Context()
			rows := make([][]driver.Value, n)
			for i := range rows {
				rows[i] = []driver.Value{"main", int64(i), strings.Repeat("a", 75), "decision.recorded", strings.Repeat("s", 200), nil, strings.Repeat("b", 600), time.Now().UTC()}
			}
			err = s.Use(ctx, func(db *duck.DB) error {
				if err := db.Exec(ctx, "CREATE TABLE e(log VARCHAR, seq BIGINT, id VARCHAR, kind VARCHAR, subject VARCHAR, sup VARCHAR, body VARCHAR, t TIMESTAMP)"); err != nil {
					return err
				}
				for b.Loop() {
					if err := s.Write(ctx, db, n, func() error { return db.Insert(ctx, "e", rows) }); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

func itoa(n int) string {
	if n == 0 {
		return ""
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
