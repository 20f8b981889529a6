package duck_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// holderOf names the environment variable that makes this test binary a program
// which opens a database file without asking for its gate, until its standard
// input ends.
const holderOf = "ARCHE_DUCK_HOLD"

func TestMain(m *testing.M) {
	path := os.Getenv(holderOf)
	if path == "" {
		os.Exit(m.Run())
	}
	db, err := duck.OpenFiles()
	if err == nil {
		_, err = db.Exec("ATTACH " + duck.Quote(path) + " AS held")
	}
	fmt.Println("holding", err)
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// TestOtherProgramsHoldTheFile: a program that knows nothing of the gate is
// waited for, then named.
func TestOtherProgramsHoldTheFile(t *testing.T) {
	path := rowsFile(t, 3, false)
	cmd := osexec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), holderOf+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 64)
	n, err := out.Read(said)
	if err != nil || !strings.HasPrefix(string(said[:n]), "holding <nil>") {
		t.Fatalf("%s %v", said[:n], err)
	}
	s := newStore(t, path, duck.Options{Wait: time.Millisecond})
	err = s.Use(t.Context(), func(*duck.DB) error { return nil })
	if !errors.Is(err, duck.ErrLocked) || !fault.Is(err, fault.Busy) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", cmd.Process.Pid)) {
		t.Errorf("held: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	patient := newStore(t, path, duck.Options{Wait: time.Minute, Fault: func(op string) error {
		if op == "open" {
			cancel() // while it waits
		}
		return nil
	}})
	if err := patient.Use(ctx, func(*duck.DB) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
	opens := 0
	waits := newStore(t, path, duck.Options{Wait: time.Minute, Fault: func(op string) error {
		if op == "open" {
			if opens++; opens == 2 { // it was refused once
				in.Close()
				_ = cmd.Wait()
			}
		}
		return nil
	}})
	if n := count(t, waits, "t"); n != 3 || opens < 2 {
		t.Errorf("%d rows after %d openings", n, opens)
	}
}

// TestMessagesOfTheDatabase: each becomes the fault that says what to do, and
// none lets a path out.
func TestMessagesOfTheDatabase(t *testing.T) {
	said := ""
	s := newStore(t, "", duck.Options{Fault: func(op string) error {
		if op == "query" {
			return errors.New(said)
		}
		return nil
	}})
	for _, x := range []struct {
		text string
		is   error
		kind fault.Kind
		says string
	}{
		{`IO Error: Could not set lock on file "/home/x/l.duckdb": Conflicting lock is held in /usr/bin/python3 (PID 12)`, duck.ErrLocked, fault.Busy, "python3 (process 12)"},
		{`IO Error: Could not set lock on file "/home/x/l.duckdb"`, duck.ErrLocked, fault.Busy, "held by another program"},
		{`Failure while replaying WAL file "/home/x/l.duckdb.wal": entry at byte position 77 is bad`, duck.ErrDamagedLog, fault.Damaged, "at byte 77"},
		{`Failure while replaying WAL file "/home/x/l.duckdb.wal"`, duck.ErrDamagedLog, fault.Damaged, "log is damaged and cannot"},
		{`FATAL Error: no more`, duck.ErrFatal, fault.Damaged, "fatal error"},
		{`database has been invalidated because of: No space left on device`, duck.ErrDiskFull, fault.Damaged, "the disk is full"},
		{`The file "/home/x/l.duckdb" exists, but it is not a valid DuckDB database file!`, duck.ErrForeign, fault.Invalid, "not a DuckDB database"},
		{`Trying to read a database file with version number 99, but we can only read versions between 64 and 65.`, duck.ErrNewerFormat, fault.Invalid, "newer DuckDB"},
		{`Corrupt database file: computed checksum`, duck.ErrDamaged, fault.Damaged, "checksum"},
		{`IO Error: Could not write file "/home/x/l.duckdb": No space left on device`, duck.ErrDiskFull, fault.Damaged, "disk is full"},
		{`INTERRUPT Error: Interrupted!`, context.Canceled, -1, "INTERRUPT"},
		{`Catalog Error: no such table`, nil, -1, "database: Catalog Error"},
	} {
		said = x.text
		err := s.Use(t.Context(), func(db *duck.DB) error { return db.Query(t.Context(), "SELECT 1", nil, nil) })
		if err == nil || x.is != nil && !errors.Is(err, x.is) || x.kind >= 0 && !fault.Is(err, x.kind) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", x.text, err)
		}
		if f := fault.As(err); f != nil && strings.Contains(f.Message+f.Hint, "/home/") {
			t.Errorf("%s: a path gets out: %v %s", x.text, f, f.Hint)
		}
	}
	for _, err := range []error{nil, errors.New("other"), fmt.Errorf("log is damaged at byte 7: %w", errors.New("x"))} {
		if at, ok := duck.DamagedAt(err); ok || at != 0 {
			t.Errorf("%v: %d", err, at)
		}
	}
	if _, ok := duck.DamagedAt(duck.ErrDamagedLog); ok {
		t.Error("a damaged log without a place has one")
	}
	if at, ok := duck.DamagedAt(fmt.Errorf("the log is damaged at byte 77: %w", duck.ErrDamagedLog)); !ok || at != 77 {
		t.Errorf("%d %v", at, ok)
	}
}

// TestStatementsThatFail: an error in the middle of rows, in a row's own
// function or in the making of an appender is told, and the store goes on.
func TestStatementsThatFail(t *testing.T) {
	ctx := t.Context()
	s := newStore(t, filepath.Join(t.TempDir(), "a.duckdb"), duck.Options{})
	exec(t, s, "CREATE TABLE t(x BIGINT PRIMARY KEY)")
	cancelled, cancel := context.WithCancel(ctx)
	rows := func(n int, value any) [][]driver.Value {
		out := make([][]driver.Value, n)
		for i := range out {
			out[i] = []driver.Value{int64(i)}
		}
		out[n-1] = []driver.Value{value}
		return out
	}
	mine := errors.New("mine")
	for name, fn := range map[string]func(db *duck.DB) error{
		"rows": func(db *duck.DB) error {
			return db.Query(ctx, "SELECT CASE WHEN i = 150000 THEN error('late') ELSE i END FROM range(200000) t(i)", nil, func([]driver.Value) error { return nil })
		},
		"own": func(db *duck.DB) error {
			return db.Query(ctx, "SELECT 1", nil, func([]driver.Value) error { return mine })
		},
		"syntax":    func(db *duck.DB) error { return db.Query(ctx, "SELEC", nil, nil) },
		"prepared":  func(db *duck.DB) error { return db.Query(ctx, "SELEC ?", []any{1}, nil) },
		"executed":  func(db *duck.DB) error { return db.Exec(ctx, "SELEC ?", 1) },
		"arguments": func(db *duck.DB) error { return db.Query(ctx, "SELECT ? + x FROM t", []any{struct{}{}}, nil) },
		"no table":  func(db *duck.DB) error { return db.Insert(ctx, "none", rows(1, int64(1))) },
		"type":      func(db *duck.DB) error { return db.Insert(ctx, "t", rows(3, struct{}{})) },
		"twice":     func(db *duck.DB) error { return db.Insert(ctx, "t", rows(3, int64(1))) },
		"cancelled rows": func(db *duck.DB) error {
			return db.Query(cancelled, "SELECT i FROM range(5000) t(i)", nil, func([]driver.Value) error { cancel(); return nil })
		},
		"cancelled insert": func(db *duck.DB) error { cancel(); return db.Insert(cancelled, "t", rows(9000, int64(9000))) },
	} {
		if err := s.Use(ctx, fn); err == nil {
			t.Errorf("%s: no error", name)
		}
		if n := count(t, s, "t"); n != 0 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
	if err := s.Use(ctx, func(db *duck.DB) error { return db.Insert(ctx, "t", rows(3, int64(7))) }); err != nil || count(t, s, "t") != 3 {
		t.Errorf("%d rows, %v", count(t, s, "t"), err)
	}
}

// TestOpeningsThatFail fails each operation of an opening; the next one works.
func TestOpeningsThatFail(t *testing.T) {
	if err := newStore(t, filepath.Join(t.TempDir(), "a?b.duckdb"), duck.Options{}).Use(t.Context(), func(*duck.DB) error { return nil }); !fault.Is(err, fault.Invalid) {
		t.Errorf("a path with a question mark: %v", err)
	}
	io := errors.New("IO Error: Input/output error")
	for _, path := range []string{"", filepath.Join(t.TempDir(), "a.duckdb")} {
		for _, op := range []string{"open", "exec"} {
			fail := true
			s := newStore(t, path, duck.Options{Fault: func(o string) error {
				if fail && o == op {
					return io
				}
				return nil
			}})
			if err := s.Use(t.Context(), func(*duck.DB) error { return nil }); !errors.Is(err, io) {
				t.Errorf("%q %s: %v", path, op, err)
			}
			fail = false
			exec(t, s, "CREATE TABLE IF NOT EXISTS t(x BIGINT)")
		}
	}
	refuse := errors.New("not this one")
	s := newStore(t, filepath.Join(t.TempDir(), "a.duckdb"), duck.Options{OnOpen: func(context.Context, *duck.DB) error { return refuse }})
	if err := s.Use(t.Context(), func(*duck.DB) error { return nil }); !errors.Is(err, refuse) {
		t.Errorf("%v", err)
	}
	inMemory := newStore(t, "", duck.Options{OnOpen: func(context.Context, *duck.DB) error { return refuse }})
	if err := inMemory.Use(t.Context(), func(*duck.DB) error { return nil }); !errors.Is(err, refuse) {
		t.Errorf("in memory: %v", err)
	}
	if err := s.Lend(t.Context(), func(string) error { return nil }); !errors.Is(err, refuse) {
		t.Errorf("lent: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Lend(t.Context(), func(string) error { return nil }); !errors.Is(err, duck.ErrClosed) {
		t.Errorf("lent after closing: %v", err)
	}
	if err := s.Use(t.Context(), func(*duck.DB) error { return nil }); !errors.Is(err, duck.ErrClosed) {
		t.Errorf("used after closing: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestScratchLeavesNothing: a scratch database's folder goes with it, and closing
// twice is no mistake.
func TestScratchLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, err := duck.OpenScratch(duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) != 1 {
		t.Fatalf("%v, %v: this shows nothing", made, err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	}
}

// TestScratchThatFails fails each operation of a scratch database.
func TestScratchThatFails(t *testing.T) {
	io := errors.New("IO Error: Input/output error")
	hits := 0
	for n := 1; ; n++ {
		f := &arctest.Fault{N: n, Err: io}
		s, err := duck.OpenScratch(duck.Options{Fault: f.Ask})
		if err == nil {
			err = s.Load(t.Context(), "r", []string{"id BIGINT"}, func() ([]any, error) { return nil, nil })
			if cerr := s.Close(); cerr != nil {
				t.Error(cerr)
			}
			if cerr := s.Close(); cerr != nil {
				t.Errorf("closed twice: %v", cerr)
			}
		}
		if f.Hit == "" {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if hits++; !errors.Is(err, io) {
			t.Errorf("%v: %v", f, err)
		}
	}
	if hits < 8 {
		t.Errorf("only %d operations were failed", hits)
	}
	s, err := duck.OpenScratch(duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(t.Context(), "r", []string{"id BIGINT"}, func() ([]any, error) { return nil, io }); !errors.Is(err, io) {
		t.Errorf("rows that fail: %v", err)
	}
	if err := s.Load(t.Context(), "q", []string{"id BIGINT"}, func() ([]any, error) { return []any{struct{}{}}, nil }); err == nil {
		t.Error("a row of no type is taken")
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := duck.OpenScratch(duck.Options{}); err == nil {
		t.Error("a scratch database without a folder")
	}
}

// TestLockFilesThatCannotBe: a folder in the place of a lock file is told; so is
// the end of a context while waiting at the gate.
func TestLockFilesThatCannotBe(t *testing.T) {
	for _, suffix := range []string{".queue", ".lock"} {
		path := filepath.Join(t.TempDir(), "a.duckdb")
		if err := os.Mkdir(path+suffix, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := newStore(t, path, duck.Options{}).Use(t.Context(), func(*duck.DB) error { return nil }); !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", suffix, err)
		}
		if _, held := duck.HeldBy(path); held {
			t.Errorf("%s: held", suffix)
		}
	}
	path := filepath.Join(t.TempDir(), "a.duckdb")
	if _, held := duck.HeldBy(path); held {
		t.Error("no file is held")
	}
	s := newStore(t, path, duck.Options{})
	err := s.Use(t.Context(), func(*duck.DB) error {
		if h, held := duck.HeldBy(path); !held || h.PID != os.Getpid() || h.Program == "" || h.Since == "" {
			t.Errorf("%+v %v", h, held)
		}
		for _, text := range []string{"", "x", "one two three"} { // what a full disk leaves
			if err := os.WriteFile(path+".lock", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			other := newStore(t, path, duck.Options{Wait: time.Millisecond})
			if err := other.Use(t.Context(), func(*duck.DB) error { return nil }); !errors.Is(err, duck.ErrLocked) || !strings.Contains(err.Error(), "another process holds it") {
				t.Errorf("%q: %v", text, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		other := newStore(t, path, duck.Options{Wait: time.Minute})
		if err := other.Use(ctx, func(*duck.DB) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := other.Use(ctx, func(*duck.DB) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended while waiting: %v", err)
		}
		if err := duck.Hold(t.Context(), disk.Disk{}, path, 0, func() error { return nil }); !errors.Is(err, duck.ErrLocked) {
			t.Errorf("held twice: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := duck.Hold(t.Context(), disk.Disk{}, filepath.Join(path, "none", "a"), 0, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("no folder: %v", err)
	}
}

// TestHeadsThatCannotBe: what is in a head's place and is none is an error, and
// stays.
func TestHeadsThatCannotBe(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a.head")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, found, err := duck.ReadHead(folder); found || err == nil {
		t.Errorf("a folder: %v %v", found, err)
	}
	if _, _, err := duck.ReadHead(filepath.Join(folder, "\x00")); err == nil {
		t.Error("no name")
	}
	path := filepath.Join(t.TempDir(), "a.head")
	hf, _, _, err := duck.OpenHead(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := hf.Close(); err != nil {
		t.Fatal(err)
	}
	if err := hf.Write(head(1)); err == nil {
		t.Error("a closed head was written")
	}
	for _, line := range []string{
		"0 main 0 " + strings.Repeat("0", 64) + " 0", "x main 0 " + strings.Repeat("0", 64) + " 0", "3 main x " + strings.Repeat("0", 64) + " 0",
		"3 main 0 " + strings.Repeat("0", 63) + " 0", "3 main 0 " + strings.Repeat("0", 64) + " x",
	} {
		if _, _, ok := duck.ParseSummed("arche.head.v1 " + line); ok {
			t.Errorf("%q is a head", line)
		}
	}
	if h, n, ok := duck.ParseSummed("arche.head.v1 3 main 9 " + strings.Repeat("a", 64) + " 2"); !ok || n != 3 || h.Seq != 9 || h.Debt != 2 {
		t.Errorf("%+v %d %v", h, n, ok)
	}
	if _, _, ok := duck.ParseSummed("arche.head.v2 3 main 9 " + strings.Repeat("a", 64) + " 2"); ok {
		t.Error("another version is a head")
	}
}

func TestQuoting(t *testing.T) {
	if got := duck.Quote("it's") + duck.QuoteName(`a"b`); got != `'it''s'"a""b"` {
		t.Errorf("%s", got)
	}
}

func TestStorageVersionOfWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := duck.StorageVersion(filepath.Join(dir, "none")); err == nil {
		t.Error("no file has a version")
	}
	short := filepath.Join(dir, "short")
	for _, text := range []string{"", "DUCK", strings.Repeat("x", 64)} {
		if err := os.WriteFile(short, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := duck.StorageVersion(short); !errors.Is(err, duck.ErrForeign) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if v, err := duck.StorageVersion(rowsFile(t, 1, false)); err != nil || v < 64 {
		t.Errorf("%d %v", v, err)
	}
}

// TestLeftoversInTheWay: what cannot be cleared away is told.
func TestLeftoversInTheWay(t *testing.T) {
	full := func(path string) {
		if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "a.duckdb")
	full(path + ".install.head")
	if err := newStore(t, path, duck.Options{}).Use(t.Context(), func(*duck.DB) error { return nil }); err == nil {
		t.Error("a folder was cleared away")
	}
	fresh := rowsFile(t, 1, false)
	if err := duck.Install(disk.Disk{}, fresh, path); err == nil {
		t.Error("installed over a folder")
	}
	s := newStore(t, rowsFile(t, 1, false), duck.Options{})
	full(s.Path() + ".anew")
	if err := s.Replace(t.Context(), func(string) error { return nil }); err == nil {
		t.Error("replaced over a folder")
	}
	if n := count(t, s, "t"); n != 1 {
		t.Errorf("%d rows", n)
	}
	other := newStore(t, rowsFile(t, 1, false), duck.Options{})
	mine := errors.New("mine")
	if err := other.Replace(t.Context(), func(string) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
	if err := other.Replace(t.Context(), func(string) error { return nil }); err == nil { // nothing was prepared
		t.Error("a file without tables took the place")
	}
	if n := count(t, other, "t"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestNeverBothWrite: two stores on one file, 200 rounds: while one is in its
// unit of work the other is not, and one that may not wait is told who holds the
// file within 200 ms.
func TestNeverBothWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	holder, loser := newStore(t, path, duck.Options{}), newStore(t, path, duck.Options{Wait: time.Millisecond})
	exec(t, holder, "CREATE TABLE t(x BIGINT)")
	slowest := time.Duration(0)
	for round := range 200 {
		if round == 100 { // the other one holds it for the second half
			if err := holder.Close(); err != nil {
				t.Fatal(err)
			}
			holder = newStore(t, path, duck.Options{})
		}
		err := holder.Use(t.Context(), func(db *duck.DB) error {
			start := time.Now()
			inside := false
			err := loser.Use(t.Context(), func(*duck.DB) error { inside = true; return nil })
			if took := time.Since(start); took > slowest {
				slowest = took
			}
			if inside || !errors.Is(err, duck.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
				return fmt.Errorf("round %d: inside %v, %w", round, inside, err)
			}
			return db.Exec(t.Context(), "INSERT INTO t VALUES (1)")
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, holder, "t"); n != 200 {
		t.Errorf("%d rows, want 200", n)
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, loser, "t"); n != 200 {
		t.Errorf("the other one sees %d rows", n)
	}
	t.Logf("told after %v at most", slowest)
}
