package duck_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/ledger/duck"
)

// TestUnfinishedFileIsMadeAnew: what a kill or a full disk left of a file that
// was being made is no ledger that nobody can open.
func TestUnfinishedFileIsMadeAnew(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.duckdb")
	exec(t, newStore(t, whole, duck.Options{}), "CREATE TABLE t(x BIGINT)")
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 12, 20, 4096, 5000, 8192, 12287} {
		path := filepath.Join(t.TempDir(), "a.duckdb")
		for name, bytes := range map[string][]byte{path: data[:size], path + ".lock": []byte("1 2026-12-01T00:00:00Z arche\n")} {
			if err := os.WriteFile(name, bytes, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := newStore(t, path, duck.Options{})
		exec(t, s, "CREATE TABLE t(x BIGINT)")
		if n := count(t, s, "t"); n != 0 {
			t.Errorf("%d bytes: %d rows", size, n)
		}
	}
	// A file with a head beside it was a ledger once: it is never removed.
	path := filepath.Join(t.TempDir(), "a.duckdb")
	if err := os.WriteFile(path, data[:5000], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := duck.WriteHead(disk.Disk{}, duck.HeadPath(path), head(3)); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, path, duck.Options{})
	if err := s.Use(t.Context(), func(*duck.DB) error { return nil }); !errors.Is(err, duck.ErrDamaged) {
		t.Errorf("a ledger cut to 5000 bytes: %v", err)
	}
	// Nor is a file that is something else.
	other := filepath.Join(t.TempDir(), "b.duckdb")
	if err := os.WriteFile(other, []byte(strings.Repeat("notes\n", 9)), 0o600); err != nil {
		t.Fatal(err)
	}
	s = newStore(t, other, duck.Options{})
	if err := s.Use(t.Context(), func(*duck.DB) error { return nil }); err == nil {
		t.Error("a text was taken for a ledger")
	}
	if info, err := os.Stat(other); err != nil || info.Size() != 54 {
		t.Errorf("somebody's file is gone: %v", err)
	}
}
