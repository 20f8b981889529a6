package duck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// gate is who may open a file. FILE.lock is held while the file is open;
// FILE.queue is held by the one process that waits for it, so that the holder
// can see that somebody waits and nobody overtakes the waiting one for long.
// Both are advisory locks that the system releases when a process dies.
type gate struct {
	lock, queue *flock.Flock
	lockPath    string
	disk        disk.Disk
}

const (
	pollMin = 500 * time.Microsecond
	pollMax = 4 * time.Millisecond
)

func newGate(path string, d disk.Disk) *gate {
	return &gate{
		lock:     flock.New(path+".lock", flock.SetPermissions(0o600)),
		queue:    flock.New(path+".queue", flock.SetPermissions(0o600)),
		lockPath: path + ".lock",
		disk:     d,
	}
}

// enter waits for the file until the deadline.
func (g *gate) enter(ctx context.Context, wait time.Duration) error {
	start := time.Now()
	deadline := start.Add(wait)
	if err := g.poll(ctx, g.queue, deadline, wait); err != nil {
		return err
	}
	err := g.poll(ctx, g.lock, deadline, wait)
	return errors.Join(err, g.queue.Unlock())
}

// poll tries a lock until it is had. Locks of this kind cannot be waited for
// with a deadline.
func (g *gate) poll(ctx context.Context, l *flock.Flock, deadline time.Time, wait time.Duration) error {
	pause := pollMin
	for {
		ok, err := l.TryLock()
		if err != nil {
			return lockFileError(err)
		}
		if ok {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !time.Now().Before(deadline) {
			return g.busy(wait)
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		pause = min(pause*2, pollMax)
	}
}

func lockFileError(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return fault.Wrap(err, fault.Invalid, "the ledger's lock file cannot be opened: %v", pe.Err).
			WithHint("the ledger's folder must exist and be writable")
	}
	return fmt.Errorf("lock ledger: %w", err)
}

// busy names who holds the file.
func (g *gate) busy(wait time.Duration) error {
	who := "another process"
	if h, ok := readHolder(g.lockPath); ok {
		who = fmt.Sprintf("%s (process %d, since %s)", h.Program, h.PID, h.Since)
	}
	return fault.Wrap(ErrLocked, fault.Busy, "the ledger is busy: %s holds it and did not let go within %s", who, wait).
		WithHint("wait and call again, end that process, or raise ARCHE_LEDGER_WAIT")
}

// waited reports whether another process waits for the file.
func (g *gate) waited() bool {
	ok, err := g.queue.TryLock()
	if err != nil || !ok {
		return err == nil
	}
	_ = g.queue.Unlock()
	return false
}

// The lock file holds, in slots of the head file's size, who has the file and
// where the log ended when it was last let go of. The lock is held on this very
// file, so it is written in place.

// sign writes who holds the file. It is for the message to others alone: on a
// full disk they are told of "another process".
func (g *gate) sign(now time.Time) {
	line := fmt.Sprintf("%d %s %s", os.Getpid(), now.UTC().Format(time.RFC3339), filepath.Base(os.Args[0]))
	line = line[:min(len(line), slotSize-1)]
	g.note([]byte(line+strings.Repeat(" ", slotSize-len(line)-1)+"\n"), 0)
}

// remember notes where the log ends, without waiting for the disk: it is what
// is left when the head file is removed.
func (g *gate) remember(h Head) { g.note(formatSlot(h, 1), slotSize) }

func (g *gate) note(slot []byte, at int64) {
	f, err := g.disk.OpenFile(g.lockPath, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteAt(slot, at)
	_ = f.Close()
}

// remembered is what remember noted last.
func (g *gate) remembered() (Head, bool) {
	data, err := os.ReadFile(g.lockPath)
	if err != nil || len(data) != 2*slotSize {
		return Head{}, false
	}
	h, _, ok := parseSlot(data[slotSize:])
	return h, ok
}

func (g *gate) leave() error { return g.lock.Unlock() }

// Holder is who holds a ledger file, as its lock file says.
type Holder struct {
	PID     int
	Program string // base name of the program
	Since   string // RFC 3339, UTC
}

func readHolder(lockPath string) (Holder, bool) {
	data, err := os.ReadFile(lockPath) //nolint:gosec // the operator's ledger path with a fixed suffix
	if err != nil {
		return Holder{}, false
	}
	line, _, _ := strings.Cut(string(data), "\n")
	f := strings.SplitN(strings.TrimSpace(line), " ", 3)
	if len(f) != 3 {
		return Holder{}, false
	}
	pid, err := strconv.Atoi(f[0])
	if err != nil {
		return Holder{}, false
	}
	return Holder{PID: pid, Since: f[1], Program: f[2]}, true
}

// HeldBy reports who holds a ledger file at this moment; held is false when
// nobody of ours does.
func HeldBy(path string) (h Holder, held bool) {
	l := flock.New(path + ".lock")
	if _, err := os.Stat(path + ".lock"); err != nil {
		return Holder{}, false
	}
	ok, err := l.TryLock()
	if err != nil {
		return Holder{}, false
	}
	if ok {
		_ = l.Unlock()
		return Holder{}, false
	}
	h, _ = readHolder(path + ".lock")
	return h, true
}
