package fsck_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/fsck"
)

// withLog makes a ledger whose events are in the write-ahead log, as a process
// that was killed leaves it, and returns its path and the link of each event.
func withLog(t testing.TB, dir string, units int) (path string, links []string) {
	t.Helper()
	path = filepath.Join(dir, "ledger.duckdb")
	l, err := ledger.Open(path, ledger.Options{Clock: arctest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	for n := range units {
		_, err := l.Append(context.Background(), []ledger.Draft{{
			Kind: "project.initialised", Subject: "project", Body: canon.Obj("note", fmt.Sprintf("%064d", n), "size", n),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for e, err := range l.Events(context.Background(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, e.Link())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path, links
}

// clone copies a ledger's files to a new folder.
func clone(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "ledger.duckdb")
	for _, suffix := range []string{"", ".wal", ".head"} {
		if _, err := (disk.Disk{}).Copy(path+suffix, to+suffix); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func use(path string) error {
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	_, err = l.Entities(context.Background(), "")
	return err
}

// damage changes the write-ahead log.
func damage(t testing.TB, path string, change func(log []byte) []byte) {
	t.Helper()
	log, err := os.ReadFile(duck.LogPath(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(duck.LogPath(path), change(log), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEveryCutIsReported cuts the log at every byte of its last three entries
// and at random bytes: what was acknowledged and is gone is reported.
func TestEveryCutIsReported(t *testing.T) {
	path, _ := withLog(t, t.TempDir(), 12)
	info, err := os.Stat(duck.LogPath(path))
	if err != nil {
		t.Fatal(err)
	}
	shorter, _ := withLog(t, t.TempDir(), 9)
	before, err := os.Stat(duck.LogPath(shorter))
	if err != nil {
		t.Fatal(err)
	}
	step := int64(41) // the long form takes every byte
	randoms := 8
	if os.Getenv("ARCHE_LONG") != "" {
		step, randoms = 1, 200
	}
	var cuts []int64
	for at := before.Size(); at < info.Size(); at += step {
		cuts = append(cuts, at)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // places of damage
	for range randoms {
		cuts = append(cuts, random.Int64N(info.Size()))
	}
	for _, at := range cuts {
		p := clone(t, path)
		if err := os.Truncate(duck.LogPath(p), at); err != nil {
			t.Fatal(err)
		}
		if err := use(p); !errors.Is(err, ledger.ErrTruncated) && !errors.Is(err, duck.ErrDamagedLog) {
			t.Fatalf("log cut at byte %d of %d: %v", at, info.Size(), err)
		}
	}
}

// TestRepairKeepsTheLongestPrefix damages the log in three ways: the recovered
// ledger is a valid prefix, nothing is touched without consent, and afterwards
// the ledger works.
func TestRepairKeepsTheLongestPrefix(t *testing.T) {
	path, links := withLog(t, t.TempDir(), 10)
	cases := 9
	if os.Getenv("ARCHE_LONG") != "" {
		cases = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // places of damage
	for n := range cases {
		p := clone(t, path)
		damage(t, p, func(log []byte) []byte {
			at := len(log)/4 + random.IntN(len(log)*3/4)
			switch n % 3 {
			case 0:
				log[at] ^= 1 << random.IntN(8)
			case 1:
				clear(log[at:])
			default:
				for i := at; i < len(log); i++ {
					log[i] = byte(random.Uint32())
				}
			}
			return log
		})
		damaged := use(p)
		if damaged == nil {
			continue // the flip fell where replay does not look and every event is there
		}
		if f := fault.As(damaged); f == nil || f.Kind != fault.Damaged {
			t.Fatalf("case %d: %v", n, damaged)
		}
		stored, err := os.ReadFile(duck.LogPath(p))
		if err != nil {
			t.Fatal(err)
		}
		res, err := fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second})
		if err != nil {
			t.Fatalf("case %d: %v", n, err)
		}
		if again, err := os.ReadFile(duck.LogPath(p)); err != nil || string(again) != string(stored) || res.Installed {
			t.Fatalf("case %d: the ledger was touched without consent (%v)", n, err)
		}
		if !res.Verified || res.HeadSeq != int64(len(links)) || res.Events+res.Lost != res.HeadSeq {
			t.Fatalf("case %d: %+v", n, res)
		}
		res, err = fsck.Repair(t.Context(), p, fsck.Options{Wait: time.Second, AcceptLoss: true})
		if err != nil || !res.Installed {
			t.Fatalf("case %d: %+v %v", n, res, err)
		}
		checkPrefix(t, p, links[:res.Events])
		kept, err := os.ReadFile(filepath.Join(res.Quarantine, "ledger.duckdb.wal"))
		if err != nil || string(kept) != string(stored) {
			t.Fatalf("case %d: the damaged log was not kept (%v)", n, err)
		}
	}
}

func checkPrefix(t *testing.T, path string, links []string) {
	t.Helper()
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := 0
	for e, err := range l.Events(t.Context(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n >= len(links) || e.Link() != links[n] {
			t.Fatalf("event %d is not the one that was written", n+1)
		}
		n++
	}
	if n != len(links) {
		t.Fatalf("%d events, want %d", n, len(links))
	}
	if _, err := l.Append(t.Context(), []ledger.Draft{{Kind: "document.written", Subject: "doc:after.md", Body: canon.Obj("size", 1)}}); err != nil {
		t.Fatal(err)
	}
}

func TestRepairOfAWholeLedgerChangesNothing(t *testing.T) {
	path, links := withLog(t, t.TempDir(), 3)
	res, err := fsck.Repair(t.Context(), path, fsck.Options{Wait: time.Second, AcceptLoss: true})
	if err != nil || !res.Opened || !res.Verified || res.HeadState != "fits" || res.Installed || res.Events != int64(len(links)) {
		t.Fatalf("%+v %v", res, err)
	}
	checkPrefix(t, path, links)
	if _, err := fsck.Repair(t.Context(), filepath.Join(t.TempDir(), "none.duckdb"), fsck.Options{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no file: %v", err)
	}
}

// TestFlippedBitsNeverAnswerWrongly flips bits of the data file: either every
// event is as it was, or verification or the opening says so.
func TestFlippedBitsNeverAnswerWrongly(t *testing.T) {
	path, links := withLog(t, t.TempDir(), 40)
	s, err := duck.OpenStore(path, duck.Options{Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Use(t.Context(), func(db *duck.DB) error { return db.Checkpoint(t.Context()) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	flips := 12
	if os.Getenv("ARCHE_LONG") != "" {
		flips = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 4)) //nolint:gosec // places of damage
	whole, err := ledger.Open(clone(t, path), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(whole.Verify(t.Context(), nil), whole.Close()); err != nil {
		t.Fatalf("the copy without a flip: %v", err)
	}
	noticed := 0
	for n := range flips {
		p := clone(t, path)
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		at := random.IntN(len(data))
		data[at] ^= 1 << random.IntN(8)
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ledger.Open(p, ledger.Options{})
		if err != nil {
			noticed++
			continue
		}
		if err := l.Verify(t.Context(), nil); err != nil {
			noticed++
			_ = l.Close()
			continue
		}
		got := 0
		for e, err := range l.Events(t.Context(), ledger.Filter{}) {
			if err != nil || e.Link() != links[got] {
				t.Fatalf("flip %d at byte %d: verified, and event %d differs (%v)", n, at, got+1, err)
			}
			got++
		}
		if got != len(links) {
			t.Fatalf("flip %d at byte %d: verified, and %d of %d events are there", n, at, got, len(links))
		}
		_ = l.Close()
	}
	t.Logf("%d of %d flips were noticed, the others changed nothing", noticed, flips)
}
