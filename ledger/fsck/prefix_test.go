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

// TestRepairOfATornTail: a power cut may leave the last unit in part, some of its
// sectors never written. Whatever byte replay names, every unit before it comes
// back.
func TestRepairOfATornTail(t *testing.T) {
	const sector = 512
	path, ends := measuredLog(t, 9)
	damaged := 0
	for _, unit := range []int{2, 8} {
		begin, end := ends[unit-1], ends[unit]
		for name, tear := range map[string]func(log []byte) []byte{
			"nothing of it written": func(log []byte) []byte { clear(log[begin:end]); return log[:end] },
			"its first sector missing": func(log []byte) []byte {
				clear(log[begin:min(end, begin+sector-begin%sector)])
				return log[:end]
			},
			"its head missing":     func(log []byte) []byte { clear(log[begin : begin+16]); return log[:end] },
			"its size damaged":     func(log []byte) []byte { log[begin+2]++; return log[:end] },
			"its size far too big": func(log []byte) []byte { log[begin+6] = 0x7f; return log[:end] },
			"its middle missing":   func(log []byte) []byte { clear(log[begin+24 : begin+(end-begin)/2]); return log[:end] },
			"its end missing":      func(log []byte) []byte { clear(log[end-16 : end]); return log[:end] },
		} {
			p := clone(t, path)
			damage(t, p, tear)
			if f := fault.As(use(p)); f == nil || f.Kind != fault.Damaged {
				t.Fatalf("unit %d with %s goes unnoticed: %v", unit+1, name, f)
			}
			if _, err := os.Stat(duck.LogPath(p)); err == nil {
				damaged++
			}
			res, err := fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if res.Events != int64(unit) || !res.Verified || res.Lost != int64(len(ends)-unit) {
				t.Errorf("unit %d with %s: %d events came back, want %d: %+v", unit+1, name, res.Events, unit, res)
			}
		}
	}
	t.Logf("%d logs", damaged)
}

// TestRepairOfALogWithoutAUnit: where nothing of the log can be replayed, what
// the file holds comes back.
func TestRepairOfALogWithoutAUnit(t *testing.T) {
	path, ends := measuredLog(t, 2)
	for _, from := range []int{0, 8, 40, 62, 80} {
		p := clone(t, path)
		damage(t, p, func(log []byte) []byte {
			for i := from; i < len(log); i++ {
				log[i] = 0xa5
			}
			return log
		})
		if f := fault.As(use(p)); f == nil || f.Kind != fault.Damaged {
			t.Fatalf("garbage from byte %d goes unnoticed: %v", from, f)
		}
		res, err := fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second, AcceptLoss: true})
		if err != nil || !res.Installed || res.Events != 0 || res.Lost != int64(len(ends)) {
			t.Fatalf("garbage from byte %d: %+v, %v", from, res, err)
		}
		checkPrefix(t, p, nil)
	}
}
