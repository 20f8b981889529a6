package duck

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
)

func storeAt(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := OpenStore(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func touch(*DB) error { return nil }

// TestEveryStepOfAnInstallationIsTold fails each step of an installation: the
// caller hears of it, also where the next opening would carry it out.
func TestEveryStepOfAnInstallationIsTold(t *testing.T) {
	steps := 0
	for n := 1; ; n++ {
		dir := t.TempDir()
		made, path := filepath.Join(dir, "made"), filepath.Join(dir, "a.duckdb")
		for name, text := range map[string]string{made: "new", HeadPath(made): "new head", path: "old", HeadPath(path): "old head", LogPath(path): "log"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := &arctest.Fault{N: n, Err: errors.New("IO Error: Input/output error"), Match: arctest.OfFiles}
		err := Install(disk.Disk{Fault: f.Ask}, made, path)
		if f.Hit == "" {
			data, rerr := os.ReadFile(path)
			head, herr := os.ReadFile(HeadPath(path))
			if err != nil || rerr != nil || herr != nil || string(data) != "new" || string(head) != "new head" || there(LogPath(path)) {
				t.Errorf("installed %q and %q: %v %v %v", data, head, err, rerr, herr)
			}
			break
		}
		steps++
		if err == nil {
			t.Errorf("%v: nobody is told", f)
		}
		// The old log and the new file never meet.
		if data, err := os.ReadFile(path); err != nil || string(data) == "new" && there(LogPath(path)) {
			t.Errorf("%v: %q lies beside the old log (%v)", f, data, err)
		}
		if there(LogPath(path)) && there(path+stagedSuffix) && f.Hit != "file.remove" {
			t.Errorf("%v: the new file was not taken away again", f)
		}
	}
	if steps < 7 {
		t.Errorf("only %d steps", steps)
	}
}

// TestNamesOfHoldersFit: a program of any name signs in one line of the lock
// file, and the end of the log stays where it is.
func TestNamesOfHoldersFit(t *testing.T) {
	args := os.Args
	defer func() { os.Args = args }()
	for _, name := range []string{"arche", strings.Repeat("a", slotSize), strings.Repeat("very long ", 100)} {
		os.Args = []string{name}
		path := filepath.Join(t.TempDir(), "a.duckdb")
		g := newGate(path, disk.Disk{})
		kept := Head{Log: "main", Seq: 7, Link: strings.Repeat("a", 64)}
		g.remember(kept)
		g.sign(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		data, err := os.ReadFile(g.lockPath)
		if err != nil || len(data) != 2*slotSize || data[slotSize-1] != '\n' {
			t.Errorf("%.20s: a lock file of %d bytes (%v)", name, len(data), err)
		}
		h, ok := readHolder(g.lockPath)
		if !ok || h.PID != os.Getpid() || h.Since != "2026-01-02T03:04:05Z" || h.Program == "" || !strings.HasPrefix(name, h.Program) {
			t.Errorf("%.20s: held by %+v", name, h)
		}
		if got, ok := g.remembered(); !ok || got.Seq != kept.Seq || got.Link != kept.Link {
			t.Errorf("%.20s: remembered %+v", name, got)
		}
	}
	for _, text := range []string{"", "x", "7", "7 2026", "seven 2026 arche", " \n7 2026 arche"} {
		path := filepath.Join(t.TempDir(), "l")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, ok := readHolder(path); ok {
			t.Errorf("%q names %+v", text, h)
		}
	}
	if h, ok := readHolder(filepath.Join(t.TempDir(), "none")); ok {
		t.Errorf("no file names %+v", h)
	}
}

// TestLookingForOthersLetsThemIn: the holder looks whether somebody waits without
// standing in the way of who comes next.
func TestLookingForOthersLetsThemIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	holder, next := newGate(path, disk.Disk{}), newGate(path, disk.Disk{})
	if holder.waited() {
		t.Error("nobody waits")
	}
	if err := next.enter(t.Context(), 0); err != nil {
		t.Fatalf("the way is barred: %v", err)
	}
	if ok, err := next.queue.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if !holder.waited() {
		t.Error("somebody waits and is not seen")
	}
	if err := errors.Join(next.queue.Unlock(), next.leave()); err != nil {
		t.Fatal(err)
	}
	if holder.waited() {
		t.Error("nobody waits any more")
	}
	if err := lockFileError(errors.New("no locks here")); err == nil || err.Error() != "lock ledger: no locks here" || fault.As(err) != nil {
		t.Errorf("%v", err)
	}
}

// TestSettledLedgersOweNothing: a checkpoint clears what openings would replay,
// in the head file too; one that cannot be written down is told.
func TestSettledLedgersOweNothing(t *testing.T) {
	ctx, fail, path := context.Background(), false, filepath.Join(t.TempDir(), "a.duckdb")
	s := storeAt(t, path, Options{Lease: time.Hour, Fault: func(op string) error {
		if fail && op == "head.write" {
			return errors.New("IO Error: Input/output error")
		}
		return nil
	}})
	settle := func() (bool, error) {
		var made bool
		err := s.Use(ctx, func(db *DB) (err error) {
			made, err = s.Settle(ctx, db, true)
			return err
		})
		return made, err
	}
	if made, err := settle(); err != nil || !made {
		t.Errorf("made %v, %v", made, err)
	}
	if h, _, err := ReadHead(HeadPath(path)); err != nil || h.Seq != 0 {
		t.Errorf("a ledger that acknowledged nothing has a head: %+v %v", h, err)
	}
	err := s.Use(ctx, func(db *DB) error {
		err := s.Write(ctx, db, 500, func() error { return db.Exec(ctx, "CREATE TABLE t(x BIGINT)") })
		return errors.Join(err, s.Remember("main", 3, strings.Repeat("b", 64)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if h, found, err := ReadHead(HeadPath(path)); err != nil || !found || h.Seq != 3 || h.Debt < 11 {
		t.Errorf("%+v %v %v", h, found, err)
	}
	fail = true
	if made, err := settle(); err == nil {
		t.Errorf("made %v, and nobody is told that the head was not written", made)
	}
	fail = false
	if made, err := settle(); err != nil || !made {
		t.Errorf("made %v, %v", made, err)
	}
	if h, found, err := ReadHead(HeadPath(path)); err != nil || !found || h.Seq != 3 || h.Debt != 0 {
		t.Errorf("%+v %v %v", h, found, err)
	}
}

// TestExpectedUntilDone: a file is kept beyond its lease while a call is expected,
// and let go of when it is not.
func TestExpectedUntilDone(t *testing.T) {
	s := storeAt(t, filepath.Join(t.TempDir(), "a.duckdb"), Options{Lease: time.Hour})
	open := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.db != nil
	}
	lapse := func() { // the lease ends
		s.mu.Lock()
		s.used = time.Now().Add(-2 * time.Hour)
		s.mu.Unlock()
		s.idle()
	}
	if err := s.Use(t.Context(), touch); err != nil {
		t.Fatal(err)
	}
	first, second := s.Expect(), s.Expect()
	lapse()
	first()
	lapse()
	if !open() {
		t.Error("the file was let go of and a call was expected")
	}
	second()
	lapse()
	if open() {
		t.Error("the file is kept and nobody expects to use it")
	}
	if err := s.Use(t.Context(), touch); err != nil || !open() {
		t.Errorf("%v", err)
	}
	s.idle() // within the lease
	if !open() {
		t.Error("the file was let go of within its lease")
	}
}

// TestVersionsAreReadWhole: the header of a database is twenty bytes; less is no
// database, whatever it begins with.
func TestVersionsAreReadWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, x := range []struct {
		text string
		want uint64
	}{
		{"checksumDUCK\x40\x00\x00\x00\x00\x00\x00\x00", 64},
		{"checksumDUCK\x00\x01\x00\x00\x00\x00\x00\x00behind", 256},
		{"checksumDUCK\x40\x00\x00\x00\x00\x00\x00", 0},
		{"checksumDUCK", 0},
		{"checksumduck\x40\x00\x00\x00\x00\x00\x00\x00", 0},
		{strings.Repeat("x", 20), 0},
	} {
		if err := os.WriteFile(path, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := StorageVersion(path)
		if v != x.want || (err != nil) != (x.want == 0) || err != nil && !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %d %v", x.text, v, err)
		}
	}
}

// TestScratchStatementsAreTold: a statement on a scratch database that fails is
// told, and the next one works.
func TestScratchStatementsAreTold(t *testing.T) {
	s, err := OpenScratch(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Exec(t.Context(), "SELECT * FROM nothing"); err == nil {
		t.Error("a table that is not there was read")
	}
	if err := s.Exec(t.Context(), "CREATE TABLE t(x BIGINT)"); err != nil {
		t.Error(err)
	}
	if err := s.Exec(t.Context(), "INSERT INTO t VALUES (?)", int64(4)); err != nil {
		t.Error(err)
	}
	var got []any
	err = s.Query(t.Context(), "SELECT x FROM t", nil, func(v []any) error {
		got = append(got, v...)
		return nil
	})
	if err != nil || len(got) != 1 || got[0] != int64(4) {
		t.Errorf("%v %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Exec(ctx, "INSERT INTO t VALUES (5)"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestRepliesOfTheDatabase: what is told already stays as it is, an encrypted file
// is called one, and memory is a quarter of the machine's within bounds.
func TestRepliesOfTheDatabase(t *testing.T) {
	told := fault.New(fault.Busy, "wait")
	if err := translate(told); !errors.Is(err, error(told)) || fault.As(err).Message != "wait" {
		t.Errorf("%v", err)
	}
	if translate(nil) != nil {
		t.Error("nothing is an error")
	}
	err := translate(errors.New(`Catalog Error: Cannot open encrypted database "a" without a key`))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "encrypted copy") {
		t.Errorf("%v", err)
	}
	if mb := (Options{}).memoryMB(); mb < leastMemoryMB || mb > mostMemoryMB {
		t.Errorf("%d MB", mb)
	}
	if mb := (Options{MemoryMB: 7}).memoryMB(); mb != 7 {
		t.Errorf("%d MB, want what was asked for", mb)
	}
}
