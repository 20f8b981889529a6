package ledger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// nthFault fails the n-th operation of the store, once.
type nthFault struct {
	n, at int
	err   error
	hit   bool
}

func (f *nthFault) ask(string) error {
	f.at++
	if f.at == f.n && f.err != nil {
		f.hit = true
		return f.err
	}
	return nil
}

// TestEveryFaultLeavesTheLedgerWhole fails the n-th operation of the store, for
// every n, in a plain and in a fatal way: what was acknowledged stays, what was
// not is whole or absent, and the next call works.
func TestEveryFaultLeavesTheLedgerWhole(t *testing.T) {
	ctx := context.Background()
	for _, x := range []struct {
		name string
		err  error
	}{
		{"input/output error", errors.New("IO Error: Could not write file: Input/output error")},
		{"fatal", errors.New("FATAL Error: Failed to create checkpoint because of error: No space left on device")},
	} {
		t.Run(x.name, func(t *testing.T) {
			hits, stride := 0, 5
			if long() {
				stride = 1
			}
			for n := 1; ; n += stride {
				f := &nthFault{n: n, err: x.err}
				l := open(t, filePath(t), ledger.Options{Fault: f.ask})
				acked := 0
				for k := range 3 {
					if _, err := l.Compare(ctx, reviewed(k)); err == nil {
						acked++
					} else if f.hit && fault.As(err) != nil && fault.As(err).Kind == fault.Damaged && x.name != "fatal" {
						t.Fatalf("fault %d: a plain error is told as damage: %v", n, err)
					}
				}
				f.err = nil
				checkCases(t, l, n, acked)
				if err := l.Close(); err != nil {
					t.Fatalf("fault %d: close: %v", n, err)
				}
				if !f.hit {
					break
				}
				hits++
			}
			if hits < 8 {
				t.Errorf("only %d operations were failed", hits)
			}
		})
	}
}

func checkCases(t *testing.T, l *ledger.Ledger, n, acked int) {
	t.Helper()
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Fatalf("fault %d: %v", n, err)
	}
	cases, err := l.Cases(t.Context(), "")
	if got := countOf(t, cases, err); got < acked || got > 3 {
		t.Fatalf("fault %d: %d cases, %d were acknowledged", n, got, acked)
	}
	if _, err := l.Resolve(t.Context(), canon.Obj("name", "Zentari Mills"), "organisation"); err != nil {
		t.Fatalf("fault %d: the ledger does not go on: %v", n, err)
	}
}

// TestCancelledCallsLeaveNothing: a call whose context ends is not there.
func TestCancelledCallsLeaveNothing(t *testing.T) {
	l := open(t, filePath(t), ledger.Options{})
	compare(t, l, pair(1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Compare(ctx, pair(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ents, err := l.Entities(t.Context(), "")
	if n := countOf(t, ents, err); n != 1 {
		t.Errorf("%d entities", n)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
