package ledger

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/proof"
)

// Options are how a ledger is opened. The zero value works.
type Options struct {
	// Wait is how long a call waits for a file that another process holds;
	// 0 means DefaultWait.
	Wait time.Duration
	// Actor is written into events whose context names none (WithActor).
	Actor string
	// PackVersion and Engine are what resolve and observe decide under; "" is
	// the default of package resolve.
	PackVersion, Engine string
	// Clock gives the time of events; nil is the system's.
	Clock func() time.Time
	// MemoryMB and Threads bound the database; 0 is a quarter of the machine's
	// memory, 1024 at most, and one thread. More threads
	// make small units of work dearer (they wake each other) and only help
	// readings of millions of events.
	MemoryMB, Threads int
	// Signer, when set, signs a checkpoint by itself after every
	// CheckpointEvery events (0 = never).
	Signer          proof.Signer
	CheckpointEvery int64
	// Log, when set, is told what was found wrong and mended without failing a
	// call.
	Log *slog.Logger
	// Fault is the seam through which tests fail any operation of the store.
	Fault func(op string) error
}

// DefaultWait is how long a busy file is waited for when Options say nothing.
const DefaultWait = 10 * time.Second

// Ledger is one ledger. Its methods are safe for concurrent use.
type Ledger struct {
	opts  Options
	store *duck.Store

	mu       sync.Mutex // held for a unit of work: state, caches and file belong to it
	state    *state     // nil when it must be folded again
	cache    cache
	index    indexKeeper
	tree     *proof.Tree // over the links of the log, when checkpoints are made
	prepared bool        // this process has seen the file to be a ledger
	verified int64       // logs of up to this many events are folded and checked at opening
	glimpse  int64       // logs of so many events are glimpsed for a first answer
	long     int         // rows from which a unit is written as it goes
	held     int         // events that such a unit holds at most
	glimpses int         // answers glimpsed since the ledger was opened
	fresh    bool        // the file was opened since the last unit: others may have appended
}

// Open checks the URI and its folder; the file itself is opened, or made, by
// the first call that needs it. A URI is duckdb:///FILE, a path, or
// duckdb:///:memory:.
func Open(uri string, opts Options) (*Ledger, error) {
	path, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	if opts.Wait == 0 {
		opts.Wait = DefaultWait
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Actor == "" {
		opts.Actor = "arche"
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Threads == 0 {
		opts.Threads = 1
	}
	l := &Ledger{opts: opts, verified: verifiedOpening, glimpse: glimpseFrom, long: longUnit, held: unitHeld, index: newIndexKeeper()}
	l.store, err = duck.OpenStore(path, duck.Options{
		Wait: opts.Wait, MemoryMB: opts.MemoryMB, Threads: opts.Threads, Fault: opts.Fault,
		OnOpen: l.opened,
	})
	if err != nil {
		return nil, err
	}
	l.cache.reset()
	return l, nil
}

const uriHint = "use duckdb:///:memory: or duckdb:///arche.duckdb"

// parseURI returns the file of a ledger URI, "" for one in memory.
func parseURI(uri string) (string, error) {
	rest, isURI := strings.CutPrefix(uri, "duckdb://")
	switch {
	case isURI:
		rest = strings.TrimPrefix(rest, "/")
	case strings.Contains(uri, "://") || strings.HasPrefix(uri, "ducklake:"):
		scheme, _, _ := strings.Cut(uri, ":")
		return "", fault.New(fault.Invalid, "unsupported ledger URI %s; %s", canon.Repr(clip(scheme+":...")), uriHint)
	}
	switch rest {
	case "":
		return "", fault.New(fault.Invalid, "the ledger URI needs a database path; %s", uriHint)
	case ":memory:":
		return "", nil
	}
	abs, err := filepath.Abs(rest)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "the ledger path cannot be made absolute")
	}
	return abs, nil
}

// FilePath is the file that a ledger URI names, "" for one in memory.
func FilePath(uri string) (string, error) { return parseURI(uri) }

// File is the ledger's file, "" when it is in memory.
func (l *Ledger) File() string { return l.store.Path() }

// Close lets go of the file. Calls still running end first; later ones fail.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = nil
	return l.store.Close()
}

type actorKey struct{}

// WithActor names who events appended under this context are by, for example
// "mcp:claude-code" or "cli:ada".
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf is who WithActor named for this context, "" when nobody.
func ActorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

func (l *Ledger) actor(ctx context.Context) string {
	return strings.ToValidUTF8(cmp.Or(ActorOf(ctx), l.opts.Actor), "\uFFFD")
}

// opened runs after each opening of the file, before the first unit of work.
func (l *Ledger) opened(ctx context.Context, db *duck.DB) error {
	l.fresh, l.index.ready = true, false
	return l.prepareFile(ctx, db)
}

var errClosed = fault.New(fault.Internal, "the ledger was closed")

// use runs fn with the file open and the state folded up to its end. It is the
// only way to the state.
func (l *Ledger) use(ctx context.Context, fn func(db *duck.DB, s *state) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.store.Use(ctx, func(db *duck.DB) error {
		if l.fresh || l.state == nil {
			if err := l.catchUp(ctx, db); err != nil {
				return err
			}
			l.fresh = false
		}
		return fn(db, l.state)
	})
	if errors.Is(err, duck.ErrFatal) {
		l.state = nil
	}
	if errors.Is(err, duck.ErrClosed) {
		return errClosed
	}
	return err
}
