package duck_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// rowsFile makes a database with a table of so many rows; with log the last of
// them is in the write-ahead log.
func rowsFile(t *testing.T, rows int, log bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.duckdb")
	s := newStore(t, path, duck.Options{})
	exec(t, s, "CREATE TABLE t(x BIGINT)")
	for n := range rows {
		if n == rows-1 || !log {
			if err := s.Use(t.Context(), func(db *duck.DB) error { return db.Checkpoint(t.Context()) }); err != nil {
				t.Fatal(err)
			}
		}
		exec(t, s, "INSERT INTO t VALUES (1)")
	}
	if !log {
		if err := s.Use(t.Context(), func(db *duck.DB) error { return db.Checkpoint(t.Context()) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(duck.LogPath(path)); (err == nil) != log {
		t.Fatalf("log %v: %v", log, err)
	}
	return path
}

func put(t *testing.T, from, to string) {
	t.Helper()
	if done, err := (disk.Disk{}).Copy(from, to); err != nil || !done {
		t.Fatal(done, err)
	}
}

// TestInterruptedInstallEndsAtTheNextOpening: whatever a kill left of an
// installation, the next opening finds the old file with its log or the new one.
func TestInterruptedInstallEndsAtTheNextOpening(t *testing.T) {
	old, fresh := rowsFile(t, 2, true), rowsFile(t, 5, false)
	for _, x := range []struct {
		name              string
		log, head, staged bool
		want              int64
	}{
		{"before the log went", true, true, true, 2},
		{"the head alone was staged", true, true, false, 2},
		{"after the log went", false, true, true, 5},
		{"the head was renamed", false, false, true, 5},
	} {
		path := filepath.Join(t.TempDir(), "a.duckdb")
		put(t, old, path)
		if x.log {
			put(t, duck.LogPath(old), duck.LogPath(path))
		}
		if x.head {
			put(t, duck.HeadPath(fresh), path+".install.head")
		}
		if x.staged {
			put(t, fresh, path+".install")
		}
		if n := count(t, newStore(t, path, duck.Options{}), "t"); n != x.want {
			t.Errorf("%s: %d rows, want %d", x.name, n, x.want)
		}
		for _, suffix := range []string{".install", ".install.head"} {
			if _, err := os.Stat(path + suffix); err == nil {
				t.Errorf("%s: %s is left", x.name, suffix)
			}
		}
	}
}

// TestFailedInstallIsOldOrNew fails every change that an installation makes.
func TestFailedInstallIsOldOrNew(t *testing.T) {
	old, fresh := rowsFile(t, 2, true), rowsFile(t, 5, false)
	hits := arctest.Sweep(t, 1, arctest.OfFiles, func(f *arctest.Fault) {
		path, made := filepath.Join(t.TempDir(), "a.duckdb"), filepath.Join(t.TempDir(), "b.duckdb")
		for _, suffix := range []string{"", ".head"} {
			put(t, old+suffix, path+suffix)
			put(t, fresh+suffix, made+suffix)
		}
		put(t, duck.LogPath(old), duck.LogPath(path))
		d := disk.Disk{Fault: f.Ask}
		failed := duck.Hold(t.Context(), d, path, time.Second, func() error { return duck.Install(d, made, path) })
		n := count(t, newStore(t, path, duck.Options{}), "t")
		if n != 2 && n != 5 || failed == nil && n != 5 {
			t.Errorf("%v: %d rows, %v", f, n, failed)
		}
	})
	if hits < 10 {
		t.Errorf("only %d changes were failed", hits)
	}
	if err := duck.Install(disk.Disk{}, old, filepath.Join(t.TempDir(), "c.duckdb")); err == nil {
		t.Error("a file was installed without its log")
	}
}

// TestVacant: a new ledger is put where nothing of another lies.
func TestVacant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	if err := duck.Vacant(path); err != nil {
		t.Error(err)
	}
	for _, suffix := range []string{".wal", ".install", ""} {
		other := filepath.Join(t.TempDir(), "a.duckdb")
		if err := os.WriteFile(other+suffix, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := duck.Vacant(other); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", suffix, err)
		}
	}
}
