package fsck_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/fsck"
)

// TestFailedRepairLeavesTheOldOrTheNew fails every change of a file that a
// repair makes, in turn: the damaged ledger is there untouched, or the repaired
// one, never the one without its log; and repairing again ends it.
func TestFailedRepairLeavesTheOldOrTheNew(t *testing.T) {
	path, links := withLog(t, t.TempDir(), 4)
	damage(t, path, func(log []byte) []byte {
		log[len(log)*3/4] ^= 8
		return log
	})
	stored, err := os.ReadFile(duck.LogPath(path))
	if err != nil {
		t.Fatal(err)
	}
	clock := arctest.NewClock() // each quarantine has a name of its own
	old, fresh := 0, 0
	hits := arctest.Sweep(t, 2, arctest.OfFiles, func(f *arctest.Fault) {
		p := clone(t, path)
		res, failed := fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second, AcceptLoss: true, Now: clock.Now, Fault: f.Ask})
		log, _ := os.ReadFile(duck.LogPath(p))
		if string(log) == string(stored) {
			old++
			if failed == nil {
				t.Errorf("%v: it said it was done", f)
			}
			if err := use(p); err == nil {
				t.Errorf("%v: the damaged log is not told any more", f)
			}
			if res, err = fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second, AcceptLoss: true, Now: clock.Now}); err != nil || !res.Installed {
				t.Fatalf("%v: repaired again: %+v %v", f, res, err)
			}
		} else {
			fresh++
		}
		checkPrefix(t, p, links[:res.Events])
		if res.Events == 0 || res.Lost != int64(len(links))-res.Events {
			t.Errorf("%v: %+v", f, res)
		}
		for _, suffix := range []string{".install", ".install.head", ".head.tmp"} {
			if _, err := os.Stat(p + suffix); err == nil {
				t.Errorf("%v: %s is left", f, filepath.Base(p+suffix))
			}
		}
		kept, err := filepath.Glob(p + ".quarantine-*/ledger.duckdb.wal")
		if err != nil || len(kept) == 0 {
			t.Errorf("%v: no quarantine", f)
		}
	})
	if hits < 15 || old < 5 || fresh < 3 {
		t.Errorf("%d changes were failed: %d times the old file stayed, %d times the new one came", hits, old, fresh)
	}
}
