package duck_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/ledger/duck"
)

// TestLockFileRemembersTheHead: a head file that is removed takes nothing with
// it: the lock file says where the log ended, at every opening until it is
// settled; a new file at the same place begins anew.
func TestLockFileRemembersTheHead(t *testing.T) {
	ctx, link := t.Context(), strings.Repeat("d", 64)
	path := filepath.Join(t.TempDir(), "a.duckdb")
	s := newStore(t, path, duck.Options{})
	err := s.Use(ctx, func(db *duck.DB) error {
		if err := s.Write(ctx, db, 1, func() error { return db.Exec(ctx, "CREATE TABLE t(x BIGINT)") }); err != nil {
			return err
		}
		return s.Remember("main", 9, link)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	known := func() (duck.Head, bool) {
		t.Helper()
		s := newStore(t, path, duck.Options{})
		if err := s.Use(ctx, func(*duck.DB) error { return nil }); err != nil {
			t.Fatal(err)
		}
		h, known := s.Head()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return h, known
	}
	remove := func(suffixes ...string) {
		t.Helper()
		for _, x := range suffixes {
			if err := os.Remove(path + x); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	for round := range 3 {
		if round < 2 {
			remove(".head")
		}
		if h, ok := known(); !ok || h.Seq != 9 || h.Link != link {
			t.Errorf("round %d: %+v %v", round, h, ok)
		}
		if h, _, err := duck.ReadHead(duck.HeadPath(path)); err != nil || h.Seq != 9 {
			t.Errorf("round %d: the head file says %+v %v", round, h, err)
		}
	}
	// What is in the head file counts more than what the lock file says.
	if err := duck.WriteHead(disk.Disk{}, duck.HeadPath(path), head(3)); err != nil {
		t.Fatal(err)
	}
	if h, ok := known(); !ok || h.Seq != 3 {
		t.Errorf("%+v %v", h, ok)
	}
	remove("", ".wal", ".head")
	if h, ok := known(); ok {
		t.Errorf("a new file remembers %+v", h)
	}
	remove(".head", ".lock")
	if h, ok := known(); ok {
		t.Errorf("nothing is left and it remembers %+v", h)
	}
}
