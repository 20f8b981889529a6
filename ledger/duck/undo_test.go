package duck

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/disk"
)

// undoStore is a store over one table t(x), whose rows are 1, 2 and so on.
func undoStore(t *testing.T, path string, fault func(op string) error) *Store {
	t.Helper()
	var s *Store
	s, err := OpenStore(path, Options{Wait: time.Second, Lease: time.Hour, Fault: fault, OnOpen: func(ctx context.Context, db *DB) error {
		return s.Write(ctx, db, 0, func() error { return db.Exec(ctx, "CREATE TABLE IF NOT EXISTS t(x BIGINT, s VARCHAR)") })
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (s *Store) addRows(t *testing.T, from, to int) {
	t.Helper()
	err := s.Use(t.Context(), func(db *DB) error {
		return s.Write(t.Context(), db, to-from, func() error {
			return db.Exec(t.Context(), fmt.Sprintf("INSERT INTO t SELECT i, 'row ' || i FROM range(%d, %d) r(i)", from, to))
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *Store) sum(t *testing.T) (n int64, err error) {
	t.Helper()
	err = s.Use(t.Context(), func(db *DB) error {
		return db.Query(t.Context(), "SELECT count(*) + sum(x)::BIGINT FROM t WHERE s = 'row ' || x", nil, func(v []driver.Value) error {
			n, _ = v[0].(int64)
			return nil
		})
	})
	return n, err
}

func (s *Store) settled(t *testing.T) error {
	t.Helper()
	return s.Use(t.Context(), func(db *DB) error {
		_, err := s.Settle(t.Context(), db, true)
		return err
	})
}

func readAll(t *testing.T, path string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, suffix := range []string{"", ".wal", undoSuffix} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			out[suffix] = data
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return out
}

// TestTornCheckpointIsUndone plays a power cut within a checkpoint: the metadata
// is neither old nor new, in various ways, and the header was not turned over. All
// rows are there again; without the kept blocks the file would not open.
func TestTornCheckpointIsUndone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	var during map[string][]byte
	watch := false
	s := undoStore(t, path, func(op string) error {
		if watch && op == "checkpoint" {
			during = readAll(t, path)
		}
		return nil
	})
	s.addRows(t, 1, 1000)
	if err := s.settled(t); err != nil {
		t.Fatal(err)
	}
	s.addRows(t, 1000, 2000)
	watch = true
	if err := s.settled(t); err != nil {
		t.Fatal(err)
	}
	want := int64(1999 + 1999*2000/2)
	after := readAll(t, path)
	if len(during[undoSuffix]) == 0 || len(during[".wal"]) == 0 || len(after) != 1 {
		t.Fatalf("during: %v, after: %v", slices.Collect(maps.Keys(during)), slices.Collect(maps.Keys(after)))
	}
	u, ok := decodeUndo(during[undoSuffix])
	if !ok || len(u.blocks) == 0 {
		t.Fatal(ok)
	}
	torn := func(mix func(dst, src []byte)) []byte {
		out := append(bytes.Clone(during[""]), make([]byte, max(0, len(after[""])-len(during[""])))...)
		copy(out[len(during[""]):], after[""][len(during[""]):]) // new blocks arrived
		differ := false
		for _, b := range u.blocks {
			src := after[""][b.at : b.at+u.size]
			differ = differ || !bytes.Equal(src, b.bytes)
			mix(out[b.at:b.at+u.size], src)
		}
		if !differ {
			t.Fatal("the checkpoint wrote no metadata over")
		}
		return out
	}
	broken := 0
	for name, mix := range map[string]func(dst, src []byte){
		"nothing":         func(_, _ []byte) {},
		"all":             func(dst, src []byte) { copy(dst, src) },
		"first sector":    func(dst, src []byte) { copy(dst[:512], src) },
		"all but first":   func(dst, src []byte) { copy(dst[512:], src[512:]) },
		"nothing but end": func(dst, src []byte) { copy(dst[len(dst)/2:], src[len(dst)/2:]) },
		"zeros":           func(dst, _ []byte) { clear(dst[4096:]) },
	} {
		for _, kept := range []bool{true, false} {
			at := filepath.Join(t.TempDir(), "b.duckdb")
			files := map[string][]byte{"": torn(mix), ".wal": during[".wal"]}
			if kept {
				files[undoSuffix] = during[undoSuffix]
			}
			for suffix, data := range files {
				if err := os.WriteFile(at+suffix, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			again := undoStore(t, at, nil)
			n, err := again.sum(t)
			if !kept {
				if err != nil {
					broken++
				}
				continue
			}
			if err != nil || n != want {
				t.Errorf("%s written: %d, %v", name, n, err)
			}
			if there(at + undoSuffix) {
				t.Errorf("%s written: the kept blocks are left", name)
			}
		}
	}
	if broken < 3 {
		t.Errorf("%d of the torn files do not open by themselves: this shows nothing", broken)
	}
}

// TestUndoOfAFinishedCheckpoint: once the header is turned over the kept blocks
// are old, and go; so do blocks that were not kept whole.
func TestUndoOfAFinishedCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	var undoing []byte
	s := undoStore(t, path, func(op string) error {
		if op == "checkpoint" && there(path+undoSuffix) {
			undoing = readAll(t, path)[undoSuffix]
		}
		return nil
	})
	s.addRows(t, 1, 1000)
	if err := errors.Join(s.settled(t), s.Close()); err != nil {
		t.Fatal(err)
	}
	whole := readAll(t, path)[""]
	flipped := bytes.Clone(undoing)
	flipped[len(flipped)/2] ^= 1
	for name, data := range map[string][]byte{
		"whole": undoing, "cut": undoing[:len(undoing)-1], "a bit flipped": flipped, "empty": {}, "another text": []byte("notes\n"),
	} {
		if err := os.WriteFile(path+undoSuffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
		again := undoStore(t, path, nil)
		n, err := again.sum(t)
		if err := errors.Join(err, again.Close()); err != nil || n != 999+999*1000/2 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if there(path+undoSuffix) || !bytes.Equal(whole[:blocksAt], readAll(t, path)[""][:blocksAt]) {
			t.Errorf("%s: it is left, or the file changed", name)
		}
	}
	// Where the file itself is gone nothing is made of its blocks.
	gone := filepath.Join(t.TempDir(), "b.duckdb")
	if err := os.WriteFile(gone+undoSuffix, undoing, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := finishUndo(disk.Disk{}, gone); err != nil || there(gone) || there(gone+undoSuffix) {
		t.Error(err)
	}
}

// TestFailedCheckpointLosesNothing fails every operation around a checkpoint.
func TestFailedCheckpointLosesNothing(t *testing.T) {
	hits := arctest.Sweep(t, 1, nil, func(f *arctest.Fault) {
		path := filepath.Join(t.TempDir(), "a.duckdb")
		f.Off = true
		s := undoStore(t, path, f.Ask)
		s.addRows(t, 1, 100)
		if err := s.settled(t); err != nil {
			t.Fatal(err)
		}
		s.addRows(t, 100, 200)
		f.Off = false
		_ = s.settled(t) // may fail
		f.Off = true
		_ = s.Close()
		again := undoStore(t, path, nil)
		if n, err := again.sum(t); err != nil || n != 199+199*200/2 {
			t.Errorf("%v: %d, %v", f, n, err)
		}
		if there(path + undoSuffix) {
			t.Errorf("%v: kept blocks are left", f)
		}
	})
	if hits < 8 {
		t.Errorf("only %d operations were failed", hits)
	}
}

// TestUndoThatFails: blocks that can't be put back stay where they are, and the
// next opening puts them back.
func TestUndoThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	stop := errors.New("IO Error: Input/output error")
	s := undoStore(t, path, nil)
	s.addRows(t, 1, 100)
	s.opts.Fault = nil
	err := s.Use(t.Context(), func(db *DB) error {
		db.fault = func(op string) error {
			if op == "checkpoint" {
				return stop
			}
			return nil
		}
		return s.checkpoint(t.Context(), db)
	})
	if err := errors.Join(s.Close()); err != nil {
		t.Fatal(err)
	}
	if err == nil || !there(path+undoSuffix) {
		t.Fatalf("%v; the kept blocks are there: %v", err, there(path+undoSuffix))
	}
	for n := 1; ; n++ {
		f := &arctest.Fault{N: n, Err: stop, Match: arctest.OfFiles}
		err := finishUndo(disk.Disk{Fault: f.Ask}, path)
		if f.Hit == "" {
			if err != nil || n < 5 {
				t.Errorf("%d operations, %v", n-1, err)
			}
			break
		}
		if err == nil || !there(path+undoSuffix) {
			t.Errorf("%v: %v", f, err)
		}
	}
	again := undoStore(t, path, nil)
	if n, err := again.sum(t); err != nil || n != 99+99*100/2 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestLongLogIsFolded: a store that is never idle folds its log in when it has
// reached its bound.
func TestLongLogIsFolded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.duckdb")
	s := undoStore(t, path, nil)
	s.longest = 20_000
	most := int64(0)
	for n := range 40 {
		s.addRows(t, 1+100*n, 101+100*n)
		if info, err := os.Stat(LogPath(path)); err == nil {
			most = max(most, info.Size())
		}
	}
	if most == 0 || most >= s.longest {
		t.Errorf("the log reached %d bytes", most)
	}
	if n, err := s.sum(t); err != nil || n != 4000+4000*4001/2 {
		t.Errorf("%d, %v", n, err)
	}
}

// FuzzUndo: no bytes are anything but a whole undo or none.
func FuzzUndo(f *testing.F) {
	u := &undo{headers: bytes.Repeat([]byte("h"), headersBytes), size: 16, blocks: []undoBlock{{12288, bytes.Repeat([]byte("b"), 16)}, {99, make([]byte, 16)}}}
	f.Add(u.encode())
	f.Add(u.encode()[:9000])
	f.Add((&undo{headers: make([]byte, headersBytes)}).encode())
	f.Add([]byte(undoMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, ok := decodeUndo(data)
		if !ok {
			return
		}
		if !bytes.Equal(data, u.encode()) {
			t.Errorf("%d bytes are read as something else", len(data))
		}
	})
}
