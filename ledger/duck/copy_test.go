package duck_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// sameTables makes the table of rowsFile in a new file.
func sameTables(t *testing.T) func(path string) error {
	return func(path string) error {
		s := newStore(t, path, duck.Options{})
		exec(t, s, "CREATE TABLE t(x BIGINT)")
		exec(t, s, "INSERT INTO t VALUES (77)") // must not stay
		return s.Close()
	}
}

// TestReplaceWritesAnew: the same rows in a new file, with nothing beside it.
func TestReplaceWritesAnew(t *testing.T) {
	s := newStore(t, rowsFile(t, 4, true), duck.Options{})
	before, err := os.Stat(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(t.Context(), sameTables(t)); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(s.Path())
	if err != nil || os.SameFile(before, after) || after.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", after, err)
	}
	if n := count(t, s, "t WHERE x = 1"); n != 4 {
		t.Errorf("%d rows", n)
	}
	if n := count(t, s, "t"); n != 4 {
		t.Errorf("%d rows in all", n)
	}
	left, err := filepath.Glob(s.Path() + ".anew*")
	if err != nil || len(left) > 0 {
		t.Errorf("left %v %v", left, err)
	}
	every := func(op string) bool { return arctest.OfFiles(op) || op == "files.exec" }
	hits := arctest.Sweep(t, 2, every, func(f *arctest.Fault) {
		path := rowsFile(t, 3, true)
		f.Off = true
		s := newStore(t, path, duck.Options{Fault: f.Ask})
		if n := count(t, s, "t"); n != 3 {
			t.Fatal(n)
		}
		f.Off = false
		failed := s.Replace(t.Context(), sameTables(t))
		f.Off = true
		if n := count(t, newStore(t, path, duck.Options{}), "t"); n != 3 {
			t.Errorf("%v: %d rows", f, n)
		}
		if f.Hit != "" && failed == nil && f.Hit != "file.create" && f.Hit != "file.write" && f.Hit != "file.close" { // of the lock file
			t.Errorf("%v: told as done", f)
		}
	})
	if hits < 8 {
		t.Errorf("only %d operations were failed", hits)
	}
}

// TestCopyDatabaseOpensWithItsKeyAlone: plain and encrypted copies hold the same
// rows; the wrong key, no key and a key for a plain file are told apart.
func TestCopyDatabaseOpensWithItsKeyAlone(t *testing.T) {
	ctx, d := t.Context(), disk.Disk{}
	const key = "a key of some length"
	from, dir := rowsFile(t, 5, false), t.TempDir()
	plain, secret, again := filepath.Join(dir, "plain"), filepath.Join(dir, "secret"), filepath.Join(dir, "again")
	if err := duck.CopyDatabase(ctx, d, from, "", plain, ""); err != nil {
		t.Fatal(err)
	}
	if n := count(t, newStore(t, plain, duck.Options{}), "t"); n != 5 {
		t.Errorf("%d rows", n)
	}
	db, err := duck.OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, sql := range []string{
		"SET force_mbedtls_unsafe = 'true'", "ATTACH " + duck.Quote(from) + " AS source (READ_ONLY)",
		"ATTACH " + duck.Quote(secret) + " AS target (ENCRYPTION_KEY " + duck.Quote(key) + ")", "COPY FROM DATABASE source TO target", "CHECKPOINT target", "DETACH target",
	} {
		if _, err := conn.ExecContext(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := duck.CopyDatabase(ctx, d, secret, key, again, ""); err != nil {
		t.Fatal(err)
	}
	if n := count(t, newStore(t, again, duck.Options{}), "t"); n != 5 {
		t.Errorf("%d rows", n)
	}
	for name, x := range map[string]struct {
		from, key string
		kind      fault.Kind
	}{
		"the wrong key":          {secret, "another key of length", fault.Refused},
		"no key":                 {secret, "", fault.Refused},
		"a key for a plain file": {plain, key, fault.Invalid},
	} {
		to := filepath.Join(t.TempDir(), "x")
		err := duck.CopyDatabase(ctx, d, x.from, x.key, to, "")
		if !fault.Is(err, x.kind) || strings.Contains(err.Error(), x.key) && x.key != "" {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) > 0 {
			t.Errorf("%s: %d files are left, %v", name, len(left), err)
		}
	}
	if err := duck.CopyDatabase(ctx, d, from, "", plain, ""); !fault.Is(err, fault.Refused) {
		t.Errorf("over a file: %v", err)
	}
}

// TestHeadsAreRemembered: what was acknowledged is known to the next opening, a
// checkpoint pays the debt, and a file in memory has no head.
func TestHeadsAreRemembered(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a.duckdb")
	s := newStore(t, path, duck.Options{})
	link := strings.Repeat("b", 64)
	write := func(s *duck.Store, rows int) {
		t.Helper()
		err := s.Use(ctx, func(db *duck.DB) error {
			if err := s.Write(ctx, db, rows, func() error { return db.Exec(ctx, "CREATE TABLE IF NOT EXISTS t(x BIGINT)") }); err != nil {
				return err
			}
			return s.Remember("main", 7, link)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, known := s.Head(); known {
		t.Error("a new file has a head")
	}
	write(s, 100)
	if h, known := s.Head(); !known || h.Seq != 7 || h.Link != link || h.Debt != 3 {
		t.Errorf("%+v %v", h, known)
	}
	if err := s.Use(ctx, func(db *duck.DB) error {
		if done, err := s.Settle(ctx, db, false); done || err != nil {
			t.Errorf("a checkpoint that was not due: %v %v", done, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	next := newStore(t, path, duck.Options{})
	if err := next.Use(ctx, func(db *duck.DB) error {
		if h, known := next.Head(); !known || h.Seq != 7 || h.Debt != 3 {
			t.Errorf("%+v %v", h, known)
		}
		done, err := next.Settle(ctx, db, true)
		if h, _ := next.Head(); !done || h.Debt != 0 {
			t.Errorf("settled %v, debt %d", done, h.Debt)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if h, _, err := duck.ReadHead(duck.HeadPath(path)); err != nil || h.Debt != 0 || h.Seq != 7 {
		t.Errorf("%+v %v", h, err)
	}
	if _, err := os.Stat(duck.LogPath(path)); err == nil {
		t.Error("the log is left after a checkpoint")
	}
	m := newStore(t, "", duck.Options{})
	write(m, 1)
	if err := m.Use(ctx, func(db *duck.DB) error {
		if done, err := m.Settle(ctx, db, true); done || err != nil {
			t.Errorf("%v %v", done, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if m.Path() != "" || next.Path() != path {
		t.Errorf("%q %q", m.Path(), next.Path())
	}
}

// TestDueCheckpointsAreMade: after so many commits the file is settled when it
// is let go of.
func TestDueCheckpointsAreMade(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a.duckdb")
	s := newStore(t, path, duck.Options{Lease: time.Hour})
	exec(t, s, "CREATE TABLE t(x BIGINT)")
	err := s.Use(ctx, func(db *duck.DB) error {
		for n := range 160 {
			if err := s.Write(ctx, db, 1, func() error { return db.Exec(ctx, "INSERT INTO t VALUES (?)", n) }); err != nil {
				return err
			}
		}
		return s.Remember("main", 160, strings.Repeat("c", 64))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if h, _, err := duck.ReadHead(duck.HeadPath(path)); err != nil || h.Debt != 0 {
		t.Errorf("%+v %v", h, err)
	}
	if _, err := os.Stat(duck.LogPath(path)); err == nil {
		t.Error("the log is left")
	}
	if n := count(t, newStore(t, path, duck.Options{}), "t"); n != 160 {
		t.Errorf("%d rows", n)
	}
}

// TestHeadsInTheWay: a damaged head, and one that cannot be opened, stop the
// opening and are told.
func TestHeadsInTheWay(t *testing.T) {
	for name, lay := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.WriteFile(duck.HeadPath(path), make([]byte, 512), 0o600) },
		"a folder": func(path string) error {
			return errors.Join(os.Remove(duck.HeadPath(path)), os.Mkdir(duck.HeadPath(path), 0o700))
		},
	} {
		path := rowsFile(t, 2, false)
		if err := lay(path); err != nil {
			t.Fatal(err)
		}
		s := newStore(t, path, duck.Options{})
		for range 2 {
			err := s.Use(t.Context(), func(*duck.DB) error { return nil })
			if f := fault.As(err); f == nil || f.Hint == "" || errors.Is(err, duck.ErrHeadDamaged) != (name == "damaged") || fault.Is(err, fault.Damaged) != (name == "damaged") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, held := duck.HeldBy(path); held {
			t.Errorf("%s: the gate stays closed", name)
		}
	}
}

// TestExpectedCallsKeepTheFile: beyond its lease, unless somebody waits.
func TestExpectedCallsKeepTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	opens := 0
	s := newStore(t, path, duck.Options{Lease: 2 * time.Millisecond, Fault: func(op string) error {
		if op == "open" {
			opens++
		}
		return nil
	}})
	done := s.Expect()
	exec(t, s, "CREATE TABLE t(x BIGINT)")
	other := newStore(t, path, duck.Options{Wait: time.Minute})
	if n := count(t, other, "t"); n != 0 { // it waited, so the file was let go of
		t.Errorf("%d rows", n)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	done()
	exec(t, s, "INSERT INTO t VALUES (1)")
	if opens < 2 {
		t.Errorf("opened %d times", opens)
	}
}

func TestEngineAndSpace(t *testing.T) {
	if v, err := duck.EngineVersion(t.Context()); err != nil || !strings.HasPrefix(v, "v1.") {
		t.Errorf("%q %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := duck.EngineVersion(ctx); err == nil {
		t.Error("an ended context has a version")
	}
	if n, err := duck.FreeSpace(t.TempDir()); err != nil || n == 0 {
		t.Errorf("%d %v", n, err)
	}
	if _, err := duck.FreeSpace(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no folder has space")
	}
}
