package fsck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/ledger"
)

// TestLeftoversAreFoundInAnyFolder: what repairs and restores left beside a ledger
// is named, whatever characters its path has, and nothing else is.
func TestLeftoversAreFoundInAnyFolder(t *testing.T) {
	for _, folder := range []string{"plain", "a[b", "what*ever?", `back\slash`} {
		dir := filepath.Join(t.TempDir(), folder)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"l[1].duckdb.restore-7", "l[1].duckdb.quarantine-2026", "l[1].duckdb.wal", "l1.duckdb.repair-1", "l[1].duckdbx.repair-1", "other-thing"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "l[1].duckdb")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		s := &State{}
		s.look(path, info)
		if diff := cmp.Diff([]string{"l[1].duckdb.quarantine-2026", "l[1].duckdb.restore-7"}, s.Unfinished); diff != "" {
			t.Errorf("%s (-want +got)\n%s", folder, diff)
		}
		if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].What, "2 folders") {
			t.Errorf("%s: %+v", folder, s.Problems)
		}
	}
}

// TestLowSpaceIsTold: when less is free than a checkpoint may need.
func TestLowSpaceIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.duckdb")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 2*lowSpace); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for free, told := range map[uint64]bool{0: false, 1: true, lowSpace: true, 2*lowSpace - 1: true, 2 * lowSpace: false} { // 0: nobody knows
		s := &State{FreeBytes: free}
		s.look(path, info)
		if (len(s.Problems) == 1 && strings.Contains(s.Problems[0].What, "MB are free")) != told {
			t.Errorf("%d bytes free: %+v", free, s.Problems)
		}
	}
}

// TestDoctorEndsWithItsContext: a call that is over is told nothing.
func TestDoctorEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Doctor(ctx, filepath.Join(t.TempDir(), "l.duckdb"), ledger.Options{}); !errors.Is(err, context.Canceled) || s != nil {
		t.Errorf("%+v %v", s, err)
	}
}
