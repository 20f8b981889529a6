package documents

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// How long a call waits for another process to finish with the project: a
// write waits long; a look that merely has hand edits to tell the ledger can
// leave that to the next one.
const (
	writeWait = 30 * time.Second
	lookWait  = time.Second
	lockPoll  = 2 * time.Millisecond
)

// ignoreAll keeps the state folder out of git.
const ignoreAll = "# kept by arche beside the documents: locks, intents, history; not for git\n*\n"

// store is the project's .archcore/ opened for writing. Everything is opened
// below root, which no path and no link can leave.
type store struct {
	root *disk.Root
	lock *flock.Flock
	ask  asker
	// waits is called when the lock must be waited for.
	waits func()
}

// openStore opens .archcore/ and takes the project's lock; create makes the
// folder when it is not there.
func (b *Base) openStore(ctx context.Context, create bool, wait time.Duration) (*store, error) {
	base := filepath.Join(b.root, baseDir)
	if create {
		if err := os.MkdirAll(base, 0o755); err != nil { //nolint:gosec // G301: documents are for everybody who may read the project
			return nil, ioFault(err, "creating", baseDir)
		}
	}
	root, err := b.disk.OpenRoot(base)
	if err != nil {
		return nil, ioFault(err, "opening", baseDir)
	}
	s := &store{root: root, ask: b.ask, waits: b.letGo}
	if err := s.prepare(); err != nil {
		root.Close()
		return nil, err
	}
	s.lock = flock.New(filepath.Join(base, stateDir, "lock"), flock.SetPermissions(0o600))
	if err := s.take(ctx, min(wait, b.patience)); err != nil {
		root.Close()
		return nil, err
	}
	s.sweep(stateDir)
	return s, nil
}

// take waits for the project's lock.
func (s *store) take(ctx context.Context, wait time.Duration) error {
	limit, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := s.ask("lock", "")
	got := false
	if err == nil {
		got, err = s.lock.TryLock()
	}
	if err == nil && !got {
		s.waits()
		_, err = s.lock.TryLockContext(limit, lockPoll)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Busy, "another process is writing to this project's documents").
			WithHint("try again; if it persists, see which arche process works in this project")
	}
	return ioFault(err, "locking", basePrefix+stateDir)
}

// letGo lets other processes have the ledger: the one that holds the project may
// need it, and this one does nothing with it meanwhile.
func (b *Base) letGo() {
	if l := b.hist.opened(); l != nil {
		l.LetGo()
	}
}

// sweep removes temporary files that a killed process left in a folder. The
// lock is held, so nobody is writing them.
func (s *store) sweep(dir string) {
	f, err := s.root.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // those it could read
	for _, n := range names {
		if isTemp(n) {
			_ = s.root.Remove(path.Join(dir, n)) // tried again next time
		}
	}
}

func (s *store) close() {
	_ = s.lock.Unlock() // closing the file lets go of it too
	s.root.Close()
}

// prepare makes the state folder. A link in its place is refused: it would
// lead the lock and the ledger out of the project.
func (s *store) prepare() error {
	err := s.root.Mkdir(stateDir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return ioFault(err, "creating", basePrefix+stateDir)
	}
	fresh := err == nil
	info, err := s.root.Lstat(stateDir)
	if err != nil || !info.IsDir() {
		return fault.Wrap(err, fault.Refused, "%s is not a folder of its own", basePrefix+stateDir).
			WithHint("remove it; arche makes it again")
	}
	for _, name := range []string{"lock", intentFile, ownLedger, projectFile} {
		if info, err := s.root.Lstat(stateDir + "/" + name); err == nil && !info.Mode().IsRegular() {
			return fault.New(fault.Refused, "%s is not a file of its own", basePrefix+stateDir+"/"+name).
				WithHint("remove it; arche makes it again")
		}
	}
	if _, err := s.root.Lstat(stateDir + "/.gitignore"); fresh || errors.Is(err, fs.ErrNotExist) {
		if err := s.writeFile(stateDir+"/.gitignore", []byte(ignoreAll), 0o644, nil); err != nil {
			return ioFault(err, "writing", basePrefix+stateDir)
		}
	}
	return nil
}
