package duck_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// withTable makes a store whose files begin with a table.
func withTable(t *testing.T, path string, o duck.Options) *duck.Store {
	t.Helper()
	var s *duck.Store
	o.OnOpen = func(ctx context.Context, db *duck.DB) error {
		return s.Write(ctx, db, 0, func() error { return db.Exec(ctx, "CREATE TABLE IF NOT EXISTS t(x BIGINT)") })
	}
	s = newStore(t, path, o)
	return s
}

func nothing(*duck.DB) error { return nil }

// TestNewFileIsWholeOrNone fails every operation while a file is made: there is
// no file then, or one that has everything, and the next opening makes or takes it.
func TestNewFileIsWholeOrNone(t *testing.T) {
	none := 0
	hits := arctest.Sweep(t, 1, nil, func(f *arctest.Fault) {
		path := filepath.Join(t.TempDir(), "a.duckdb")
		s := withTable(t, path, duck.Options{Fault: f.Ask})
		_ = s.Use(t.Context(), nothing) // fails, or what failed did not matter
		_ = s.Close()
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			none++
		}
		// What is there needs no one to fill it.
		bare := newStore(t, path, duck.Options{})
		if _, err := os.Stat(path); err == nil && count(t, bare, "t") != 0 {
			t.Errorf("%v: rows in a new file", f)
		}
		if err := bare.Close(); err != nil {
			t.Errorf("%v: %v", f, err)
		}
		again := withTable(t, path, duck.Options{})
		if n := count(t, again, "t"); n != 0 {
			t.Errorf("%v: %d rows", f, n)
		}
		if left, _ := filepath.Glob(path + ".new*"); len(left) > 0 {
			t.Errorf("%v: %v is left", f, left)
		}
	})
	if hits < 12 || none < 6 {
		t.Errorf("%d operations were failed, %d times there was no file", hits, none)
	}
}

// TestKilledMakerLeavesNothing: what a process left of a file that it was making
// is cleared away, and is never a part of the new one.
func TestKilledMakerLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	other := newStore(t, filepath.Join(t.TempDir(), "b.duckdb"), duck.Options{})
	exec(t, other, "CREATE TABLE t AS SELECT 1 AS x")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", ".wal"} {
		data, err := os.ReadFile(other.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix == "" {
			data = data[:len(data)/2]
		}
		if err := os.WriteFile(path+".new"+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, withTable(t, path, duck.Options{}), "t"); n != 0 {
		t.Errorf("%d rows of another file", n)
	}
	if left, _ := filepath.Glob(path + ".new*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestLogOutlivesItsFile: the database would remove the write-ahead log that
// lies beside a missing file; nothing is made there.
func TestLogOutlivesItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	s := newStore(t, path, duck.Options{})
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS x")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(duck.LogPath(path))
	if err != nil || len(log) == 0 {
		t.Fatal(len(log), err)
	}
	s = newStore(t, path, duck.Options{})
	if err := s.Use(t.Context(), nothing); !errors.Is(err, duck.ErrDamaged) || !fault.Is(err, fault.Damaged) {
		t.Errorf("%v", err)
	}
	if now, err := os.ReadFile(duck.LogPath(path)); err != nil || !slices.Equal(log, now) {
		t.Errorf("the log was touched: %d bytes, %v", len(now), err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "t"); n != 1 {
		t.Errorf("%d rows once the file is back", n)
	}
}

// TestNameOfTheLogIsDurable: a power cut leaves the name of a new file for sure
// only when its folder was synced, and the database makes a new write-ahead log
// after each checkpoint. The folder is synced before the head is written, once a log.
func TestNameOfTheLogIsDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	var ops []string
	s := withTable(t, path, duck.Options{Fault: func(op string) error {
		if op == "commit" || op == "checkpoint" || arctest.OfFiles(op) {
			ops = append(ops, op)
		}
		return nil
	}})
	seq := int64(0)
	unit := func(db *duck.DB) error {
		err := s.Write(t.Context(), db, 1, func() error { return db.Exec(t.Context(), "INSERT INTO t VALUES (1)") })
		seq++
		return errors.Join(err, s.Remember("main", seq, head(seq).Link))
	}
	undoing := []string{"file.create", "file.write", "file.sync", "file.close", "file.sync"}
	steps := []struct {
		name string
		do   func(db *duck.DB) error
		want []string
	}{
		{"first", unit, []string{"commit", "file.sync", "head.write", "head.sync"}},
		{"second", unit, []string{"commit", "head.write", "head.sync"}},
		{"checkpoint", func(db *duck.DB) error { _, err := s.Settle(t.Context(), db, true); return err }, slices.Concat(undoing, []string{"checkpoint", "file.remove", "head.write", "head.sync"})},
		{"a new log", unit, []string{"commit", "file.sync", "head.write", "head.sync"}},
		{"a checkpoint that the store did not make", func(db *duck.DB) error { return db.Checkpoint(t.Context()) }, []string{"checkpoint"}},
		{"another new log", unit, []string{"commit", "file.sync", "head.write", "head.sync"}},
		{"its second", unit, []string{"commit", "head.write", "head.sync"}},
	}
	if err := s.Use(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		ops = nil
		if err := s.Use(t.Context(), step.do); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, ops); diff != "" {
			t.Errorf("%s (-want +got)\n%s", step.name, diff)
		}
	}
	ops = nil
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A next process does not know whether the one before it came to the sync.
	s = withTable(t, path, duck.Options{Fault: func(op string) error { ops = append(ops, op); return nil }})
	if err := s.Use(t.Context(), unit); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(ops, "file.sync") {
		t.Errorf("after a new opening: %v", ops)
	}
}

// TestLetGo: a file that was let go of is there for the next process at once, and
// for this one whenever it wants it.
func TestLetGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	s, other := newStore(t, path, duck.Options{Lease: time.Hour}), newStore(t, path, duck.Options{Wait: time.Millisecond})
	s.LetGo() // it has nothing
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS x")
	if err := other.Use(t.Context(), nothing); !fault.Is(err, fault.Busy) {
		t.Fatalf("%v", err)
	}
	s.LetGo()
	if n := count(t, other, "t"); n != 1 {
		t.Errorf("%d rows", n)
	}
	other.LetGo()
	if n := count(t, s, "t"); n != 1 {
		t.Errorf("%d rows", n)
	}
	memory := newStore(t, "", duck.Options{})
	exec(t, memory, "CREATE TABLE t AS SELECT 1 AS x")
	memory.LetGo() // what is in memory would be gone
	if n := count(t, memory, "t"); n != 1 {
		t.Errorf("%d rows in memory", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.LetGo()
}

// TestLinkedFile: a ledger may be a link, also one that leads to no file yet.
func TestLinkedFile(t *testing.T) {
	dir := t.TempDir()
	path, real := filepath.Join(dir, "link.duckdb"), filepath.Join(dir, "real.duckdb")
	if err := os.Symlink(real, path); err != nil {
		t.Skip(err)
	}
	for round := range 2 {
		s := withTable(t, path, duck.Options{})
		err := s.Use(t.Context(), func(db *duck.DB) error {
			err := s.Write(t.Context(), db, 1, func() error { return db.Exec(t.Context(), "INSERT INTO t VALUES (1)") })
			_, serr := s.Settle(t.Context(), db, true)
			return errors.Join(err, serr)
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, newStore(t, real, duck.Options{}), "t"); n != int64(round+1) {
			t.Errorf("%d rows where the link leads", n)
		}
	}
}
