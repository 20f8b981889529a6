package main

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// historyCall is what a client asks: a call and which of a few keys it is about.
type historyCall struct {
	op  string
	key int
}

// historyState is what a ledger knows in the model: bit k is about key k.
type historyState struct{ pairs, newcomers uint64 }

// answer is what a ledger in this state says, and the state after.
func (s historyState) answer(c historyCall) (string, historyState) {
	bit := uint64(1) << c.key
	switch c.op {
	case "pair":
		s.pairs |= bit
		return "1", s
	case "resolve":
		verdict := "not_found"
		if s.newcomers&bit != 0 {
			verdict = "found"
		}
		s.newcomers |= bit
		return verdict, s
	case "observe":
		if s.pairs&bit == 0 {
			return "unknown", s
		}
		return "observed", s
	}
	return fmt.Sprint(bits.OnesCount64(s.pairs)), s
}

var historyModel = porcupine.Model{
	Init: func() any { return historyState{} },
	Step: func(state, input, output any) (bool, any) {
		want, next := state.(historyState).answer(input.(historyCall))
		return want == output, next
	},
	Equal: func(a, b any) bool { return a == b },
}

var historyOps = []string{"pair", "resolve", "observe", "entities"}

// checkHistories lets 8 clients call 3 processes at once and looks for an order
// of the calls, one after another, that explains every answer.
func checkHistories(dir string, histories, calls int, random *rand.Rand, stdout io.Writer) error {
	if histories == 0 {
		return nil
	}
	explained := 0
	total := 0
	for n := range histories {
		servers, err := startServers(filepath.Join(dir, fmt.Sprintf("history-%d.duckdb", n)), 3)
		if err != nil {
			return err
		}
		history, err := recordCalls(servers, 8, calls, random.Uint64())
		if err := errors.Join(err, stopServers(servers)); err != nil {
			return err
		}
		total += len(history)
		if result := porcupine.CheckOperationsTimeout(historyModel, history, time.Minute); result != porcupine.Ok {
			return fmt.Errorf("history %d cannot be explained: %v", n+1, result)
		}
		explained++
	}
	fmt.Fprintf(stdout, "%d histories of 8 clients on 3 processes, %d calls: all linearizable\n", explained, total)
	return nil
}

func recordCalls(servers []*server, clients, calls int, seed uint64) ([]porcupine.Operation, error) {
	var mu sync.Mutex
	var history []porcupine.Operation
	var errs []error
	var wg sync.WaitGroup
	start := time.Now()
	for c := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(c))) //nolint:gosec // order of calls
		wg.Go(func() {
			for range calls {
				in := historyCall{historyOps[random.IntN(len(historyOps))], random.IntN(6)}
				called := time.Since(start).Nanoseconds()
				out, err := servers[c%len(servers)].call(in.op, in.key)
				returned := time.Since(start).Nanoseconds()
				mu.Lock()
				if err != nil {
					errs = append(errs, fmt.Errorf("%v: %w", in, err))
				} else {
					history = append(history, porcupine.Operation{ClientId: c, Input: in, Call: called, Output: out, Return: returned})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history, errors.Join(errs...)
}
