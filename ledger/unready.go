package ledger

import (
	"context"
	"iter"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

var errUnready = fault.New(fault.Internal, "the ledger is being assembled")

// Compare compares two lists and records what was decided as one unit of work.
func (l *Ledger) Compare(ctx context.Context, req resolve.Request) (*resolve.Result, error) {
	return nil, errUnready
}

// Decision answers the receipt of a decision.
func (l *Ledger) Decision(ctx context.Context, id string) (*canon.Object, error) {
	return nil, errUnready
}

// Explain answers why a decision fell as it did.
func (l *Ledger) Explain(ctx context.Context, id string) (*canon.Object, error) {
	return nil, errUnready
}

// Replay makes a decision again and answers what differs.
func (l *Ledger) Replay(ctx context.Context, id string) (*canon.Object, error) {
	return nil, errUnready
}

// Entities answers all entities of a type, of every type when it is "".
func (l *Ledger) Entities(ctx context.Context, entityType string) (*canon.Object, error) {
	return nil, errUnready
}

// Cases answers all open cases of a type, of every type when it is "".
func (l *Ledger) Cases(ctx context.Context, entityType string) (*canon.Object, error) {
	return nil, errUnready
}

// Path answers the chain of decisions that joins two records.
func (l *Ledger) Path(ctx context.Context, a, b string) (*canon.Object, error) {
	return nil, errUnready
}

// Resolve compares a newcomer with every stored record of a type.
func (l *Ledger) Resolve(ctx context.Context, record *canon.Object, entityType string) (*canon.Object, error) {
	return nil, errUnready
}

// Observe adds evidence about a stored record and decides its pairs again.
func (l *Ledger) Observe(ctx context.Context, recordID string, evidence *canon.Object) (*canon.Object, error) {
	return nil, errUnready
}

// Append appends the drafts as one unit of work under the append rule. The
// result has one event a draft: the appended one, or the current one where the
// draft changed nothing.
func (l *Ledger) Append(ctx context.Context, drafts []Draft) ([]Event, error) {
	return nil, errUnready
}

// Events iterates over events in fold order.
func (l *Ledger) Events(ctx context.Context, f Filter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(Event{}, errUnready) }
}

// Blob returns the bytes stored under an address.
func (l *Ledger) Blob(ctx context.Context, address string) ([]byte, error) {
	return nil, errUnready
}
