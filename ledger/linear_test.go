package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/arctest/histories"
	"github.com/arche-ledger/arche/ledger"
)

// TestLinearizable: calls of many clients at once, on one ledger and on three
// that share a file, have answers as if they had come one after another.
func TestLinearizable(t *testing.T) {
	rounds, clients, calls := 3, 8, 8
	if long() {
		rounds, calls = 50, 50
	}
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("file=%v", shared), func(t *testing.T) {
			for n := range rounds {
				seed := rand.Uint64()
				ls := []*ledger.Ledger{open(t, "duckdb:///:memory:", ledger.Options{Clock: time.Now})}
				if shared {
					path := filePath(t)
					ls = nil
					for range 3 {
						ls = append(ls, open(t, path, ledger.Options{Clock: time.Now, Wait: time.Minute}))
					}
				}
				seen, err := histories.Record(seed, clients, calls, func(client int, c histories.Call) (string, error) {
					return c.Do(context.Background(), ls[client%len(ls)])
				})
				if err := errors.Join(err, histories.Explained(seen)); err != nil {
					t.Errorf("history %d (seed %d): %v", n, seed, err)
				}
				if err := ls[0].Verify(t.Context(), nil); err != nil {
					t.Error(err)
				}
				for _, l := range ls {
					_ = l.Close()
				}
				if shared && !long() {
					break // turns on a file are slow; the long form takes all
				}
			}
		})
	}
}

// TestThirtyCallsInFlight: thirty comparisons at once on one ledger.
func TestThirtyCallsInFlight(t *testing.T) {
	l := open(t, filePath(t), ledger.Options{Clock: time.Now})
	var wg sync.WaitGroup
	for n := range 30 {
		wg.Go(func() {
			if _, err := (histories.Call{Op: "pair", Key: n}).Do(context.Background(), l); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ents, err := l.Entities(t.Context(), "")
	if n := countOf(t, ents, err); n != 30 {
		t.Errorf("%d entities, want 30", n)
	}
}
