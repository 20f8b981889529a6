package fsck_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/fsck"
)

// measuredLog is withLog with the size that the write-ahead log had after each
// unit of work.
func measuredLog(t *testing.T, units int) (path string, ends []int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.duckdb")
	l, err := ledger.Open(path, ledger.Options{Clock: arctest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	for n := range units {
		_, err := l.Append(t.Context(), []ledger.Draft{{
			Kind: "project.initialised", Subject: "project", Body: canon.Obj("note", fmt.Sprintf("%064d", n), "size", n),
		}})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(duck.LogPath(path))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, info.Size())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path, ends
}

// TestRepairLosesOnlyTheDamagedUnit knows where each unit of work lies in the
// log: a bit flipped within the n-th costs that one and those behind it, none
// before it.
func TestRepairLosesOnlyTheDamagedUnit(t *testing.T) {
	path, ends := measuredLog(t, 9)
	tries := 8
	if os.Getenv("ARCHE_LONG") != "" {
		tries = 200
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 6)) //nolint:gosec // places of damage
	damaged := 0
	for n := range tries {
		unit := 1 + random.IntN(len(ends)-1)
		at := ends[unit-1] + random.Int64N(ends[unit]-ends[unit-1])
		if n%2 == 0 { // in the checksum of the unit's first entry
			at = ends[unit-1] + 8 + random.Int64N(8)
		}
		p := clone(t, path)
		damage(t, p, func(log []byte) []byte { log[at] ^= 1 << random.IntN(8); return log })
		if f := fault.As(use(p)); f == nil || f.Kind != fault.Damaged {
			t.Fatalf("a flip at byte %d of unit %d goes unnoticed: %v", at, unit+1, f)
		}
		damaged++
		res, err := fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if res.Events != int64(unit) || !res.Verified || res.Lost != int64(len(ends)-unit) {
			t.Errorf("a flip at byte %d in unit %d: %d events came back, want %d: %+v", at, unit+1, res.Events, unit, res)
		}
	}
	t.Logf("%d damaged logs", damaged)
}
