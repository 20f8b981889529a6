package ledger_test

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// What clients do in a history: key is which pair, case or newcomer.
type linearInput struct {
	op  string
	key int
}

// linearState is the model: bit k of each word is what is known of key k.
type linearState struct {
	pairs, cases, newcomers, numberA, numberB uint64
}

func (s linearState) open() int { return bits.OnesCount64(s.cases &^ (s.numberA & s.numberB)) }
func (s linearState) entities() int {
	return bits.OnesCount64(s.pairs) + bits.OnesCount64(s.numberA&s.numberB)
}

// step is what the ledger answers in a state, and the state after.
func (s linearState) step(in linearInput) (string, linearState) {
	bit := uint64(1) << in.key
	switch in.op {
	case "pair":
		s.pairs |= bit
		return "1", s
	case "case":
		s.cases |= bit
		return "1", s
	case "resolve":
		verdict := "not_found"
		if s.newcomers&bit != 0 {
			verdict = "found"
		}
		s.newcomers |= bit
		return verdict, s
	case "number a", "number b":
		if s.cases&bit == 0 {
			return "no record", s
		}
		if in.op == "number a" {
			s.numberA |= bit
		} else {
			s.numberB |= bit
		}
		return fmt.Sprint(s.open(), " open"), s
	case "entities":
		return fmt.Sprint(s.entities()), s
	}
	return fmt.Sprint(s.open()), s // cases
}

var linearModel = porcupine.Model{
	Init: func() any { return linearState{} },
	Step: func(state, input, output any) (bool, any) {
		want, next := state.(linearState).step(input.(linearInput))
		return want == output, next
	},
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string {
		in := input.(linearInput)
		return fmt.Sprintf("%s(%d) -> %v", in.op, in.key, output)
	},
}

func caseRecord(side string, k int) *canon.Object {
	return canon.Obj("id", fmt.Sprintf("%s%d", side, k), "name", "Central Cooperative Society")
}

// do calls the ledger and puts the answer into the model's words.
func (in linearInput) do(ctx context.Context, l *ledger.Ledger) (string, error) {
	count := func(o *canon.Object, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return fmt.Sprint(o.Value("count")), nil
	}
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	switch in.op {
	case "pair":
		req.A, req.B = []*canon.Object{registered("a", in.key)}, []*canon.Object{registered("b", in.key)}
	case "case":
		req.A, req.B = []*canon.Object{caseRecord("p", in.key)}, []*canon.Object{caseRecord("q", in.key)}
	case "resolve":
		o, err := l.Resolve(ctx, canon.Obj("name", strings.Repeat(string(rune('a'+in.key)), 9), "tag", in.key), "artist")
		if err != nil {
			return "", err
		}
		return fmt.Sprint(o.Value("verdict")), nil
	case "number a", "number b":
		side := map[string]string{"number a": "p", "number b": "q"}[in.op]
		id, err := canon.PublishedID("rec", canon.Obj("entity_type", "organisation", "attributes", caseRecord(side, in.key)))
		if err != nil {
			return "", err
		}
		o, err := l.Observe(ctx, id, canon.Obj("registration_id", fmt.Sprintf("N%d", in.key)))
		if fault.Is(err, fault.NotFound) {
			return "no record", nil
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprint(o.Value("open_cases"), " open"), nil
	case "entities":
		return count(l.Entities(ctx, "organisation"))
	case "cases":
		return count(l.Cases(ctx, ""))
	}
	res, err := l.Compare(ctx, req)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(len(res.Edges)), nil
}

var linearOps = []string{"pair", "case", "resolve", "number a", "number b", "entities", "cases"}

// record runs one history of clients over ledgers and returns what they saw.
func recordHistory(t *testing.T, ls []*ledger.Ledger, seed uint64, clients, calls int) []porcupine.Operation {
	t.Helper()
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	start := time.Now()
	for c := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(c))) //nolint:gosec // a test history
		wg.Go(func() {
			for range calls {
				in := linearInput{linearOps[random.IntN(len(linearOps))], random.IntN(6)}
				called := time.Since(start).Nanoseconds()
				out, err := in.do(context.Background(), ls[c%len(ls)])
				returned := time.Since(start).Nanoseconds()
				if err != nil {
					t.Errorf("%v: %v", in, err)
					return
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: c, Input: in, Call: called, Output: out, Return: returned})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history
}

// TestLinearizable: calls of many clients at once, on one ledger and on three
// that share a file, have answers as if they had come one after another.
func TestLinearizable(t *testing.T) {
	histories, clients, calls := 3, 8, 8
	if long() {
		histories, calls = 50, 50
	}
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("file=%v", shared), func(t *testing.T) {
			for n := range histories {
				seed := rand.Uint64()
				ls := []*ledger.Ledger{open(t, "duckdb:///:memory:", ledger.Options{Clock: time.Now})}
				if shared {
					path := filePath(t)
					ls = nil
					for range 3 {
						ls = append(ls, open(t, path, ledger.Options{Clock: time.Now, Wait: time.Minute}))
					}
				}
				history := recordHistory(t, ls, seed, clients, calls)
				if result := porcupine.CheckOperationsTimeout(linearModel, history, time.Minute); result != porcupine.Ok {
					t.Errorf("history %d (seed %d) is not linearizable: %v", n, seed, result)
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
			if _, err := (linearInput{"pair", n}).do(context.Background(), l); err != nil {
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
