package duck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// Options are how a database is opened. The zero value works.
type Options struct {
	Wait     time.Duration // how long a busy file is waited for; 0 fails at once
	MemoryMB int           // memory of the database; 0 = a quarter of the machine's, 128 to 1024
	Threads  int           // threads of the database; 0 = one a core, at most 8
	// Lease is how long the file is kept after a unit of work; 0 = 50 ms.
	Lease time.Duration
	// OnOpen runs after every opening, before the first unit of work; an error
	// closes the file again.
	OnOpen func(ctx context.Context, db *DB) error
	// Fault, when set, is asked before each operation of the database and each
	// change of a file of ours (package disk), and may fail it. Tests reach error
	// branches through it.
	Fault func(op string) error

	spill string // folder that a scratch database may spill to
}

// defaultLease is long enough that calls in a row share one opening (about
// 20 ms) and short enough that others wait less than a person notices.
const defaultLease = 50 * time.Millisecond

// longestTurn bounds how long a process keeps a file that others wait for.
const longestTurn = 250 * time.Millisecond

// A write-ahead log that is kept is replayed at every opening, about 0.09 ms a
// commit; a checkpoint rewrites the last, unfilled group of 122,880 rows of each
// table, which takes 15 ms in a small ledger and half a second in one of a
// hundred thousand events. So a checkpoint is due when the replays since the
// last one, and the next, have cost as much as it would.
const (
	checkpointAfter = 150  // commits that are always worth keeping
	checkpointMost  = 5000 // commits that are never kept: 0.45 s at the next opening
	replayCost      = 90 * time.Microsecond
)

// ErrClosed means that the store was closed.
var ErrClosed = errors.New("store is closed")

// Store is a database file that processes take turns on, or an in-memory
// database that stays open.
type Store struct {
	path string // "" = in memory
	opts Options
	gate *gate

	mu      sync.Mutex // one unit of work at a time
	db      *DB
	since   time.Time // when the file was opened
	used    time.Time // when the last unit of work ended
	timer   *time.Timer
	head    *HeadFile
	last    Head          // what the head file says
	known   bool          // last is a head that was once acknowledged
	fresh   bool          // this opening made the file
	paid    int64         // commits replayed at openings since the last checkpoint
	cost    time.Duration // of the last checkpoint
	longest int64         // longestLog, but for tests
	entry   time.Duration // what taking the file cost last time, behind the gate
	closed  bool

	expected atomic.Int32 // calls that will use the file soon
}

// Expect tells the store that a call will use the file soon, until the returned
// function is called: an open file is then kept beyond its lease, unless another
// process waits for it.
func (s *Store) Expect() (done func()) {
	s.expected.Add(1)
	return func() { s.expected.Add(-1) }
}

// OpenStore makes a store. The folder must exist; the file is opened, or made,
// by the first Use. An empty path is an in-memory database.
func OpenStore(path string, o Options) (*Store, error) {
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	s := &Store{path: path, opts: o, longest: longestLog}
	if path == "" {
		return s, nil
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	s.gate = newGate(path, s.disk())
	return s, nil
}

// checkPath refuses what can never become a ledger file.
func checkPath(path string) error {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || !dir.IsDir() {
		return fault.New(fault.Invalid, "the ledger's folder does not exist").
			WithHint("make the folder first, or name a file in one that exists")
	}
	f, err := os.Stat(path)
	switch {
	case err == nil && f.IsDir():
		return fault.New(fault.Invalid, "the ledger path is a folder").WithHint("name a file in it, for example ledger.duckdb")
	case err == nil && f.Size() == 0:
		return fault.Wrap(ErrForeign, fault.Invalid, "the ledger file is empty, which is no DuckDB database").
			WithHint("remove it; arche makes the file itself")
	}
	return nil
}

// Use runs one unit of work. The file is taken first when this process does
// not hold it; it is let go of later. Units of one store run one after another.
func (s *Store) Use(ctx context.Context, fn func(db *DB) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.db == nil {
		if err := s.take(ctx); err != nil {
			return err
		}
	}
	err := s.run(fn)
	if s.db == nil {
		return err
	}
	s.used = time.Now()
	if s.long() {
		_, _ = s.Settle(context.WithoutCancel(ctx), s.db, true) // tried again after the next unit
	}
	if s.db.fatal {
		// The instance answers nothing any more; what it acknowledged is in the file.
		return errors.Join(err, s.release())
	}
	if s.path != "" {
		s.schedule()
	}
	return err
}

// run shields the store from a panic of the unit: the opening is closed, so
// that no half-done state is met by the next one.
func (s *Store) run(fn func(db *DB) error) error {
	ok := false
	defer func() {
		if !ok && s.db != nil {
			_ = s.release()
		}
	}()
	err := fn(s.db)
	ok = true
	return err
}

func (s *Store) take(ctx context.Context) error {
	if s.path == "" {
		db, err := openDB("", s.opts)
		if err != nil {
			return err
		}
		s.db, s.since = db, time.Now()
		return s.opened(ctx)
	}
	if err := s.gate.enter(ctx, s.opts.Wait); err != nil {
		return err
	}
	entered := time.Now()
	defer func() { s.entry = time.Since(entered) }()
	if err := s.openFile(ctx); err != nil {
		return errors.Join(err, s.gate.leave())
	}
	s.since = time.Now()
	head, last, found, err := OpenHead(HeadPath(s.path), s.opts.Fault)
	if err != nil {
		return errors.Join(headFault(err), s.release())
	}
	if kept, ok := s.gate.remembered(); !found && !s.fresh && ok {
		// The head file is gone; the lock file knows where the log ended.
		if err := head.Write(kept); err != nil {
			return errors.Join(headFault(err), head.Close(), s.release())
		}
		last, found = kept, true
	}
	s.head, s.last, s.known = head, last, found && last.Seq > 0
	s.paid += last.Debt
	return s.opened(ctx)
}

func headFault(err error) error {
	if errors.Is(err, ErrHeadDamaged) {
		return fault.Wrap(err, fault.Damaged, "the ledger's head file is damaged: it no longer says where the log ended").
			WithHint("run: arche ledger verify; if the log is whole, arche ledger repair writes a new head")
	}
	return fault.Wrap(err, fault.Invalid, "the ledger's head file cannot be used").
		WithHint("the head file lies beside the ledger and must be readable and writable by its owner")
}

// openFile opens the file once the gate is passed. Programs that know nothing
// of the gate may still hold it for a while.
func (s *Store) openFile(ctx context.Context) error {
	s.gate.sign(time.Now())
	if err := finish(s.disk(), s.path); err != nil {
		return err
	}
	s.fresh = !there(s.path)
	defer private()()
	if s.fresh {
		if err := s.make(ctx); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(s.opts.Wait)
	for {
		db, err := openRaw(s.path, s.opts)
		if err == nil {
			s.db = db
			return nil
		}
		if !errors.Is(err, ErrLocked) || !time.Now().Before(deadline) {
			return err
		}
		t := time.NewTimer(20 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

func (s *Store) opened(ctx context.Context) error {
	if s.opts.OnOpen == nil {
		return nil
	}
	if err := s.opts.OnOpen(ctx, s.db); err != nil {
		return errors.Join(err, s.release())
	}
	return nil
}

// Write runs fn in a transaction that writes; files that it makes are private.
// Call it within Use. rows is how many rows fn writes, for the checkpoint rule.
func (s *Store) Write(ctx context.Context, db *DB, rows int, fn func() error) error {
	defer private()()
	if err := db.Tx(ctx, fn); err != nil {
		return err
	}
	s.last.Debt += 1 + int64(rows)/50
	return nil
}

// Head is the head that was last remembered; known is false for a new ledger.
func (s *Store) Head() (h Head, known bool) { return s.last, s.known }

// Remember makes an acknowledged head durable beside the file. Call it within
// Use, after the commit and before the answer.
func (s *Store) Remember(log string, seq int64, link string) error {
	s.last.Log, s.last.Seq, s.last.Link = log, seq, link
	s.known = true
	if s.head == nil {
		return nil
	}
	if err := s.nameLog(); err != nil {
		return err
	}
	return s.head.Write(s.last)
}

// Settle makes a checkpoint when enough commits have gathered, always when
// force is set, and reports whether it did. Call it within Use.
func (s *Store) Settle(ctx context.Context, db *DB, force bool) (bool, error) {
	if s.path == "" || !force && !s.due() {
		return false, nil
	}
	defer private()()
	start := time.Now()
	if err := s.checkpoint(ctx, db); err != nil {
		return false, err
	}
	s.cost, s.paid, s.last.Debt = time.Since(start), 0, 0
	if s.head == nil || !s.known {
		return true, nil
	}
	return true, s.head.Write(s.last)
}

// longestLog bounds the write-ahead log of a store that is never idle, in bytes.
const longestLog = 256 << 20

// long reports whether the write-ahead log has reached its bound.
func (s *Store) long() bool {
	if s.path == "" || s.db.fatal {
		return false
	}
	info, err := os.Stat(LogPath(s.path))
	return err == nil && info.Size() >= s.longest
}

// due reports whether a checkpoint saves more than it costs.
func (s *Store) due() bool {
	debt := s.last.Debt
	return debt >= checkpointMost || debt >= checkpointAfter && time.Duration(s.paid+debt)*replayCost >= s.cost
}

// schedule decides how long the file is kept: not at all when another process
// waits and this one had its share, else until it has been idle for a lease.
func (s *Store) schedule() {
	if time.Since(s.since) >= s.turn() && s.gate.waited() {
		s.handOver()
		return
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(s.opts.Lease, s.idle)
	}
}

// turn is how long this process may work on while others wait: twice what a
// change of hands costs, so that several processes get more done than they
// spend on taking turns.
func (s *Store) turn() time.Duration {
	return max(s.opts.Lease, min(2*s.entry, longestTurn))
}

// idle lets go of the file when nothing happened for a lease.
func (s *Store) idle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if s.db == nil || s.closed {
		return
	}
	left := s.opts.Lease - time.Since(s.used)
	if left <= 0 && s.expected.Load() > 0 && !s.gate.waited() {
		left = s.opts.Lease / 4
	}
	if left > 0 {
		s.timer = time.AfterFunc(left, s.idle)
		return
	}
	s.handOver()
}

// LetGo lets go of the file now, and not when its lease ends: for a caller that
// waits for something else that a process may hold which waits for the file.
func (s *Store) LetGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil || s.path == "" {
		return
	}
	s.handOver()
}

// handOver closes the file for others, with a checkpoint when one is due. What
// fails is met by the next opening.
func (s *Store) handOver() {
	_, _ = s.Settle(context.Background(), s.db, false)
	_ = s.release()
}

// release closes the file and opens the gate.
func (s *Store) release() error {
	err := s.db.Close()
	s.db = nil
	if s.head != nil {
		err = errors.Join(err, s.head.Close())
		s.head = nil
		if s.known {
			s.gate.remember(s.last)
		}
	}
	if s.gate != nil {
		err = errors.Join(err, s.gate.leave())
	}
	return err
}

func (s *Store) disk() disk.Disk { return disk.Disk{Fault: s.opts.Fault} }

// Path is the file's path, "" in memory.
func (s *Store) Path() string { return s.path }

// Close lets go of the file for good, after the running unit of work.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.db == nil {
		return nil
	}
	if s.path != "" && !s.db.fatal {
		_, _ = s.Settle(context.Background(), s.db, false)
	}
	return s.release()
}
