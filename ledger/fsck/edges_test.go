package fsck_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/fsck"
)

// sqlOn changes a ledger file as another program could.
func sqlOn(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := duck.OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func(c *sql.Conn) { _ = c.Close() }(conn)
	for _, s := range append(append([]string{"ATTACH " + duck.Quote(path) + " AS l", "USE l"}, statements...), "CHECKPOINT l", "USE memory", "DETACH l") {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// TestRepairTellsTheHead: what the log of a file that opens is against the head
// that was remembered, and what repair does about it.
func TestRepairTellsTheHead(t *testing.T) {
	path, links := withLog(t, t.TempDir(), 4)
	last := int64(len(links))
	head := func(seq int64, link string) func(p string) error {
		return func(p string) error {
			return duck.WriteHead(disk.Disk{}, duck.HeadPath(p), duck.Head{Log: "main", Seq: seq, Link: link})
		}
	}
	for name, x := range map[string]struct {
		lay       func(p string) error
		state     string
		lost      int64
		installed bool
	}{
		"fits":      {func(string) error { return nil }, "fits", 0, false},
		"behind":    {head(2, links[1]), "behind", 0, true},
		"lost":      {head(last+3, links[0]), "lost", 3, true},
		"rewritten": {head(2, links[0]), "rewritten", 0, true},
		"damaged":   {func(p string) error { return os.WriteFile(duck.HeadPath(p), make([]byte, 512), 0o600) }, "damaged", 0, true},
		"absent":    {func(p string) error { return os.Remove(duck.HeadPath(p)) }, "absent", 0, true},
	} {
		p := clone(t, path)
		if err := x.lay(p); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(duck.HeadPath(p))
		res, err := fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second})
		if err != nil || res.HeadState != x.state || res.Lost != x.lost || !res.Opened || !res.Verified || res.Events != last || res.CutAt != -1 || res.Installed {
			t.Errorf("%s: %+v %v", name, res, err)
		}
		if after, _ := os.ReadFile(duck.HeadPath(p)); !bytes.Equal(before, after) {
			t.Errorf("%s: the head was touched without consent", name)
		}
		res, err = fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second, AcceptLoss: true})
		if err != nil || res.Installed != x.installed || (res.Quarantine != "") != x.installed {
			t.Errorf("%s: %+v %v", name, res, err)
		}
		checkPrefix(t, p, links)
		if h, _, err := duck.ReadHead(duck.HeadPath(p)); err != nil || h.Seq != last+1 {
			t.Errorf("%s: the head says %d (%v)", name, h.Seq, err)
		}
	}
}

// TestRepairOfAlteredRows: what does not verify is told and never put in place.
func TestRepairOfAlteredRows(t *testing.T) {
	path, _ := withLog(t, t.TempDir(), 4)
	sqlOn(t, path, "UPDATE events SET actor = 'mallory' WHERE seq = 2")
	res, err := fsck.Repair(t.Context(), path, fsck.Options{Wait: time.Second})
	if err != nil || res.Verified || !strings.Contains(res.Problem, "event 2") {
		t.Errorf("%+v %v", res, err)
	}
	if err := os.Remove(duck.HeadPath(path)); err != nil {
		t.Fatal(err)
	}
	res, err = fsck.Repair(t.Context(), path, fsck.Options{Wait: time.Second, AcceptLoss: true})
	if !fault.Is(err, fault.Damaged) || res.Installed || res.Quarantine != "" {
		t.Errorf("%+v %v", res, err)
	}
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 900)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fsck.Repair(t.Context(), text, fsck.Options{Wait: time.Second, AcceptLoss: true}); !errors.Is(err, duck.ErrForeign) {
		t.Errorf("a text: %v", err)
	}
}

// TestDoctorNamesEachProblem: and says what to do about it.
func TestDoctorNamesEachProblem(t *testing.T) {
	path, links := withLog(t, t.TempDir(), 3)
	state := func(p string) *fsck.State {
		t.Helper()
		s, err := fsck.Doctor(t.Context(), p, ledger.Options{Wait: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range s.Problems {
			if x.Do == "" || x.What == "" {
				t.Errorf("a problem without words: %+v", x)
			}
		}
		return s
	}
	if s := state(clone(t, path)); len(s.Problems) != 0 || !s.Exists || s.Events != int64(len(links)) || s.Link != links[len(links)-1] || s.LastEvent.IsZero() ||
		s.HeadSeq != s.Events || !s.HeadFound || s.FreeBytes == 0 || s.Storage < 64 || s.Engine == "" || s.Mode != "-rw-------" || s.LogBytes == 0 || s.FileBytes == 0 || s.Holder != "" {
		t.Errorf("%+v", s)
	}
	for want, lay := range map[string]func(p string) error{
		"others on this machine can read":      func(p string) error { return os.Chmod(p, 0o644) },
		"the head file is damaged":             func(p string) error { return os.WriteFile(duck.HeadPath(p), make([]byte, 512), 0o600) },
		"no head file":                         func(p string) error { return os.Remove(duck.HeadPath(p)) },
		"the file is no DuckDB database":       func(p string) error { return os.WriteFile(p, make([]byte, 20000), 0o600) },
		"1 folders of repairs or restores":     func(p string) error { return os.Mkdir(p+".repair-1", 0o700) },
		"the ledger file is gone and its head": func(p string) error { return errors.Join(os.Remove(p), os.Remove(p+".wal")) },
		"the ledger lost events":               func(p string) error { return os.Remove(p + ".wal") },
		"the ledger is busy": func(p string) error {
			l, err := ledger.Open(p, ledger.Options{})
			if err != nil {
				return err
			}
			t.Cleanup(func() { l.Close() })
			return nil
		},
	} {
		p := clone(t, path)
		if err := lay(p); err != nil {
			t.Fatal(err)
		}
		check := func() {
			s := state(p)
			found := false
			for _, x := range s.Problems {
				found = found || strings.Contains(x.What, want)
			}
			if !found {
				t.Errorf("%q is not among %+v", want, s.Problems)
			}
			if (s.Holder != "") != (want == "the ledger is busy") {
				t.Errorf("%q: held by %q", want, s.Holder)
			}
		}
		if want != "the ledger is busy" {
			check()
			continue
		}
		err := duck.Hold(t.Context(), disk.Disk{}, p, time.Second, func() error { check(); return nil })
		if err != nil {
			t.Error(err)
		}
	}
	if s := state(filepath.Join(t.TempDir(), "none.duckdb")); s.Exists || len(s.Problems) != 0 {
		t.Errorf("no ledger: %+v", s)
	}
	if _, err := fsck.Doctor(t.Context(), filepath.Join(path, "below"), ledger.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("below a file: %v", err)
	}
}
