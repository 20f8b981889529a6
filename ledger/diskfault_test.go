package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Each test here fails every change of a file of ours in turn (arctest.Sweep):
// what is there afterwards is the old content or the new one, and the next
// opening works.

// TestFailedHeadLeavesALedger: a ledger that is made and written to while its
// head, lock or folder fails keeps what it acknowledged.
func TestFailedHeadLeavesALedger(t *testing.T) {
	hits := arctest.Sweep(t, 1, arctest.OfFiles, func(f *arctest.Fault) {
		path, acked := filePath(t), 0
		l := open(t, path, ledger.Options{Fault: f.Ask})
		for n := range 2 {
			if _, err := l.Compare(t.Context(), pair(n)); err == nil {
				acked++
			}
		}
		_ = l.Close() // may fail for the same reason
		again := open(t, path, ledger.Options{})
		defer again.Close()
		ents, err := again.Entities(t.Context(), "")
		if n := countOf(t, ents, err); n < acked || n > 2 {
			t.Errorf("%v: %d entities, %d were acknowledged", f, n, acked)
		}
		if err := again.Verify(t.Context(), nil); err != nil {
			t.Errorf("%v: %v", f, err)
		}
		compare(t, again, pair(7))
	})
	if hits < 12 {
		t.Errorf("only %d changes were failed", hits)
	}
}

// TestFailedBackupIsNone: a backup is whole or is refused, and the ledger that
// it was made of goes on.
func TestFailedBackupIsNone(t *testing.T) {
	var f *arctest.Fault
	l := open(t, filePath(t), ledger.Options{Fault: func(op string) error {
		if f == nil {
			return nil
		}
		return f.Ask(op)
	}})
	compare(t, l, pair(1))
	want := dump(t, l)
	dirs := t.TempDir()
	n, whole := 0, 0
	hits := arctest.Sweep(t, 1, arctest.OfFiles, func(next *arctest.Fault) {
		n++
		dir := filepath.Join(dirs, fmt.Sprint(n))
		f = next
		_, made := l.Backup(t.Context(), dir)
		f = nil
		path := filepath.Join(dirs, fmt.Sprint(n, ".duckdb"))
		_, err := ledger.Restore(t.Context(), dir, path, ledger.Options{})
		switch {
		case err == nil:
			whole++
			m := open(t, path, ledger.Options{})
			if diff := cmp.Diff(want, dump(t, m)); diff != "" {
				t.Errorf("%v: (-ledger +restored)\n%s", next, diff)
			}
			_ = m.Close()
		case made == nil:
			t.Errorf("%v: a backup that was made is not there: %v", next, err)
		case fault.As(err) == nil:
			t.Errorf("%v: %v", next, err)
		}
	})
	if hits < 20 || whole < 2 {
		t.Errorf("%d changes were failed, %d backups were whole", hits, whole)
	}
	compare(t, l, pair(2))
}

// beside lists what lies beside a ledger file but what belongs to it.
func beside(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), filepath.Base(path)); !ok || !slices.Contains([]string{"", ".wal", ".head", ".lock", ".queue"}, rest) {
			out = append(out, e.Name())
		}
	}
	return out
}

// TestFailedRestoreIsNoneOrWhole: after a restore that failed there is no ledger
// file or the whole one, with its head.
func TestFailedRestoreIsNoneOrWhole(t *testing.T) {
	l := memory(t)
	compare(t, l, pair(1))
	want := dump(t, l)
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := l.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	noneOrWhole(t, 6, want, func(ctx context.Context, path string, f *arctest.Fault) error {
		_, err := ledger.Restore(ctx, dir, path, ledger.Options{Fault: f.Ask})
		return err
	})
}

// TestFailedDecryptIsNoneOrWhole is the same for a ledger made of an encrypted
// copy.
func TestFailedDecryptIsNoneOrWhole(t *testing.T) {
	const key = "a key of some length"
	l := open(t, filePath(t), ledger.Options{})
	compare(t, l, pair(1))
	want := dump(t, l)
	from := filepath.Join(t.TempDir(), "off.duckdb")
	if err := l.Lend(t.Context(), func(path string) error { return encryptedForTest(t, path, from, key) }); err != nil {
		t.Fatal(err)
	}
	noneOrWhole(t, 5, want, func(ctx context.Context, path string, f *arctest.Fault) error {
		return ledger.Decrypt(ctx, from, key, path, ledger.Options{Fault: f.Ask})
	})
	if err := ledger.Decrypt(t.Context(), from, "another key of length", filePath(t), ledger.Options{}); !fault.Is(err, fault.Refused) {
		t.Errorf("another key: %v", err)
	}
}

// encryptedForTest writes an encrypted copy with DuckDB's own cipher code, which
// it calls unsafe for writing and which is there without an extension.
func encryptedForTest(t *testing.T, from, to, key string) error {
	t.Helper()
	db, err := duck.OpenFiles()
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, sql := range []string{
		"SET force_mbedtls_unsafe = 'true'", "ATTACH " + duck.Quote(from) + " AS source (READ_ONLY)",
		"ATTACH " + duck.Quote(to) + " AS target (ENCRYPTION_KEY " + duck.Quote(key) + ")",
		"COPY FROM DATABASE source TO target", "CHECKPOINT target", "DETACH target",
	} {
		if _, err := conn.ExecContext(t.Context(), sql); err != nil {
			return err
		}
	}
	return nil
}

// noneOrWhole sweeps a command that makes a ledger file: its changes of files and
// what it asks of the database.
func noneOrWhole(t *testing.T, stride int, want []string, make func(ctx context.Context, path string, f *arctest.Fault) error) {
	t.Helper()
	none, whole := 0, 0
	hits := arctest.Sweep(t, stride, nil, func(f *arctest.Fault) {
		path := filePath(t)
		made := make(t.Context(), path, f)
		again := open(t, path, ledger.Options{})
		defer again.Close()
		rows := dump(t, again)
		switch {
		case cmp.Equal(rows, want):
			whole++
			if h, known, err := duck.ReadHead(duck.HeadPath(path)); err != nil || !known || h.Seq == 0 {
				t.Errorf("%v: the head says %+v %v", f, h, err)
			}
		case made == nil:
			t.Errorf("%v: it succeeded and %d of %d rows are there", f, len(rows), len(want))
		case len(rows) > 0:
			t.Errorf("%v: %d of %d rows are there", f, len(rows), len(want))
		default:
			none++
		}
		if !f.Onward && f.Hit != "file.remove" {
			if left := beside(t, path); len(left) > 0 {
				t.Errorf("%v: left %v", f, left)
			}
		}
		compare(t, again, pair(9))
	})
	if hits < 10 || none < 5 || whole < 1 {
		t.Errorf("%d changes were failed: %d times nothing was there, %d times all", hits, none, whole)
	}
}

// TestFailedCopyIsNone: an encrypted copy appears whole or not at all; a plain
// one goes the same way.
func TestFailedCopyIsNone(t *testing.T) {
	l := open(t, filePath(t), ledger.Options{})
	compare(t, l, pair(1))
	want := dump(t, l)
	every := func(op string) bool { return arctest.OfFiles(op) || op == "files.exec" }
	hits := arctest.Sweep(t, 1, every, func(f *arctest.Fault) {
		to := filepath.Join(t.TempDir(), "copy.duckdb")
		made := l.Lend(t.Context(), func(path string) error {
			return duck.CopyDatabase(t.Context(), disk.Disk{Fault: f.Ask}, path, "", to, "")
		})
		if _, err := os.Stat(to); errors.Is(err, os.ErrNotExist) {
			if made == nil {
				t.Errorf("%v: no copy and no error", f)
			}
			return
		}
		again := open(t, to, ledger.Options{})
		defer again.Close()
		if diff := cmp.Diff(want, dump(t, again)); diff != "" {
			t.Errorf("%v: (-ledger +copy)\n%s", f, diff)
		}
	})
	if hits < 12 {
		t.Errorf("only %d operations were failed", hits)
	}
}

// TestFailedForgetLeavesAWholeFile: erasing writes the file anew; whatever fails
// on the way, the file is the old or the new one, and the values are out of
// reach. Said again, forgetting ends what it began.
func TestFailedForgetLeavesAWholeFile(t *testing.T) {
	every := func(op string) bool { return arctest.OfFiles(op) || op == "files.exec" }
	hits := arctest.Sweep(t, 4, every, func(f *arctest.Fault) {
		f.Off = true
		path := filePath(t)
		l := open(t, path, ledger.Options{Fault: f.Ask})
		compare(t, l, pair(1))
		compare(t, l, pair(2))
		_, before, _, err := l.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id, err := canon.PublishedID("rec", canon.Obj("entity_type", "organisation", "attributes", pair(1).A[0]))
		if err != nil {
			t.Fatal(err)
		}
		req := ledger.ForgetRequest{Addresses: []string{id}, Reason: "asked to"}
		f.Off = false
		_, forgot := l.Forget(t.Context(), req)
		f.Off = true
		_ = l.Close()
		again := open(t, path, ledger.Options{})
		defer again.Close()
		_, seq, _, err := again.Head(t.Context())
		if err != nil || forgot == nil && seq == before {
			t.Fatalf("%v: %d events, %v", f, seq, err)
		}
		if err := again.Verify(t.Context(), nil); err != nil {
			t.Errorf("%v: %v", f, err)
		}
		ents, err := again.Entities(t.Context(), "")
		if n := countOf(t, ents, err); n != 2 {
			t.Errorf("%v: %d entities", f, n)
		}
		if seq > before { // erased: out of the answers at once, out of the file when it is compacted
			if err := again.Compact(t.Context()); err != nil {
				t.Errorf("%v: %v", f, err)
			}
			if found := holds(t, again, "Kijani1 Tea Exporters Ltd"); len(found) > 0 {
				t.Errorf("%v: the value is in %v", f, found)
			}
		}
		if left := beside(t, path); len(left) > 0 {
			t.Errorf("%v: left %v", f, left)
		}
	})
	if hits < 10 {
		t.Errorf("only %d operations were failed", hits)
	}
}

// TestForeignLogIsNeverReplayed: the database would replay any write-ahead log
// that lies beside a file. A ledger is not put beside one.
func TestForeignLogIsNeverReplayed(t *testing.T) {
	l := memory(t)
	compare(t, l, pair(1))
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := l.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	other := open(t, filePath(t), ledger.Options{})
	compare(t, other, pair(2))
	path := filePath(t)
	if _, err := (disk.Disk{}).Copy(duck.LogPath(other.File()), duck.LogPath(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Restore(t.Context(), dir, path, ledger.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("restored beside another ledger's log: %v", err)
	}
	if err := ledger.Decrypt(t.Context(), path, strings.Repeat("k", 20), path, ledger.Options{}); !fault.Is(err, fault.Refused) {
		t.Errorf("decrypted beside another ledger's log: %v", err)
	}
	if err := other.Encrypt(t.Context(), path, strings.Repeat("k", 20)); !fault.Is(err, fault.Refused) {
		t.Errorf("encrypted beside another ledger's log: %v", err)
	}
}

// TestFullDiskIsSaidSo: while a disk is full appending fails with a clear
// error, and everything that was acknowledged can still be read.
func TestFullDiskIsSaidSo(t *testing.T) {
	full := false
	l := open(t, filePath(t), ledger.Options{Fault: func(op string) error {
		switch {
		case !full:
			return nil
		case op == "commit", op == "checkpoint":
			return errors.New("IO Error: Could not write file: No space left on device")
		case arctest.OfFiles(op):
			return syscall.ENOSPC
		}
		return nil
	}})
	compare(t, l, pair(1))
	full = true
	for range 2 {
		_, err := l.Compare(t.Context(), pair(2))
		if !errors.Is(err, duck.ErrDiskFull) || !strings.Contains(fault.As(err).Message, "disk is full") {
			t.Errorf("append: %v", err)
		}
		ents, err := l.Entities(t.Context(), "")
		if n := countOf(t, ents, err); n != 1 {
			t.Errorf("%d entities can be read", n)
		}
	}
	if _, err := l.Backup(t.Context(), filepath.Join(t.TempDir(), "b")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("backup: %v", err)
	}
	full = false
	compare(t, l, pair(2))
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
