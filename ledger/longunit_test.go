package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// longLists are lists some of whose records match, contradict each other, come
// twice or are handed back under their address.
func longLists(n int, back []string) resolve.Request {
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	for i := range n {
		name := fmt.Sprintf("%s%d Tea Exporters", []string{"Kijani", "Zentari", "Harmuko"}[i%3], i/2)
		req.A = append(req.A, canon.Obj("id", fmt.Sprintf("a%d", i), "name", name+" Ltd", "registration_id", fmt.Sprintf("R%d", i%5)))
		req.B = append(req.B, canon.Obj("id", fmt.Sprintf("b%d", i), "name", name+" Limited", "city", "Nairobi"))
	}
	for _, id := range back {
		req.A = append(req.A, canon.Obj("id", id, "name", "Kijani0 Tea Exporters"))
	}
	return req
}

// A long unit, written as it goes, leaves what a short one leaves.
func TestLongUnitsLeaveTheSame(t *testing.T) {
	ctx := context.Background()
	var dumps [2][]string
	var heads [2]string
	for n, long := range []int{longUnit, 1} {
		l := openInside(t, Options{})
		l.long, l.held = long, 3
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := l.Compare(ctx, longLists(12, nil))
		must(err)
		back := []string{l.state.recordID(0), l.state.recordID(5)}
		clear(l.cache.content) // contents and identifiers are read from the file again
		clear(l.cache.exact)
		_, err = l.Compare(ctx, longLists(20, back))
		must(err)
		_, err = l.Compare(ctx, longLists(20, back)) // a repeat
		must(err)
		must(l.Verify(ctx, nil))
		dumps[n], err = l.Dump(ctx)
		must(err)
		_, _, heads[n], err = l.Head(ctx)
		must(err)
	}
	if heads[0] != heads[1] || !slices.Equal(dumps[0], dumps[1]) {
		t.Errorf("heads %s and %s\n%s\n\n%s", heads[0], heads[1], strings.Join(dumps[0], "\n"), strings.Join(dumps[1], "\n"))
	}
}

// openInside opens a file of its own under a clock that every run has.
func openInside(t *testing.T, o Options) *Ledger {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o.Clock = func() time.Time { at = at.Add(time.Second); return at }
	l, err := Open(filepath.Join(t.TempDir(), "a.duckdb"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// A long unit that fails anywhere leaves nothing, and the next goes through.
func TestFailedLongUnitLeavesNothing(t *testing.T) {
	ctx := context.Background()
	broken := errors.New("broken")
	ops, failAt := 0, -1
	l := openInside(t, Options{Fault: func(op string) error {
		if op != "insert" {
			return nil
		}
		ops++
		if ops-1 == failAt {
			return broken
		}
		return nil
	}})
	l.long, l.held = 1, 3
	if _, err := l.Compare(ctx, longLists(2, nil)); err != nil {
		t.Fatal(err)
	}
	_, before, _, err := l.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for at := 0; ; at++ {
		ops, failAt = 0, at
		_, err := l.Compare(ctx, longLists(8, nil))
		failAt = -1
		_, after, _, herr := l.Head(ctx)
		if herr != nil {
			t.Fatal(herr)
		}
		if err == nil { // it has no more inserts
			if failed < 5 || after == before {
				t.Errorf("%d inserts failed, then events %d to %d", failed, before+1, after)
			}
			break
		}
		failed++
		if after != before {
			t.Fatalf("operation %d failed and left events %d to %d", at, before+1, after)
		}
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}
