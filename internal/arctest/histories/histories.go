// Package histories makes calls of many clients at once on ledgers that share a
// file, writes down what each saw and when, and looks for an order of the calls,
// one after another, that explains every answer (linearizability, by porcupine).
// Begin with Record, then Explained.
package histories

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// Keys is how many pairs, cases and newcomers calls are about.
const Keys = 6

// Call is what a client does: an operation of Ops, about which pair, case or
// newcomer.
type Call struct {
	Op  string
	Key int
}

// Ops are the operations: a comparison that matches, one that stays open, a
// newcomer, an observation on either side of an open case, and two readings.
var Ops = []string{"pair", "case", "resolve", "number_a", "number_b", "entities", "cases"}

// known is the model: bit k of each word is what is known of key k.
type known struct {
	pairs, cases, newcomers, numberA, numberB uint64
}

func (s known) open() int { return bits.OnesCount64(s.cases &^ (s.numberA & s.numberB)) }
func (s known) entities() int {
	return bits.OnesCount64(s.pairs) + bits.OnesCount64(s.numberA&s.numberB)
}

// step is what a ledger answers in a state, and the state after.
func (s known) step(c Call) (string, known) {
	bit := uint64(1) << c.Key
	switch c.Op {
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
	case "number_a", "number_b":
		if s.cases&bit == 0 {
			return "no record", s
		}
		if c.Op == "number_a" {
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

var model = porcupine.Model{
	Init: func() any { return known{} },
	Step: func(state, input, output any) (bool, any) {
		want, next := state.(known).step(input.(Call))
		return want == output, next
	},
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string {
		c := input.(Call)
		return fmt.Sprintf("%s(%d) -> %v", c.Op, c.Key, output)
	},
}

// Registered is an organisation that has its number alone in common with others.
func Registered(side string, n int) *canon.Object {
	sum := blake3.Sum256(fmt.Append(nil, n))
	return canon.Obj("id", fmt.Sprintf("%s%d", side, n), "name", fmt.Sprintf("%x", sum[:6]), "registration_id", fmt.Sprintf("%x", sum[6:14]))
}

// Ordinary is one of a pair with an ordinary name, which stays open.
func Ordinary(side string, n int) *canon.Object {
	return canon.Obj("id", fmt.Sprintf("%s%d", side, n), "name", "Central Cooperative Society")
}

// Do makes the call on a ledger and puts the answer into the model's words.
func (c Call) Do(ctx context.Context, l *ledger.Ledger) (string, error) {
	count := func(o *canon.Object, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return fmt.Sprint(o.Value("count")), nil
	}
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	switch c.Op {
	case "pair":
		req.A, req.B = []*canon.Object{Registered("a", c.Key)}, []*canon.Object{Registered("b", c.Key)}
	case "case":
		req.A, req.B = []*canon.Object{Ordinary("p", c.Key)}, []*canon.Object{Ordinary("q", c.Key)}
	case "resolve":
		o, err := l.Resolve(ctx, canon.Obj("name", strings.Repeat(string(rune('a'+c.Key)), 9), "tag", c.Key), "artist")
		if err != nil {
			return "", err
		}
		return fmt.Sprint(o.Value("verdict")), nil
	case "number_a", "number_b":
		return c.observe(ctx, l)
	case "entities":
		return count(l.Entities(ctx, "organisation"))
	case "cases":
		return count(l.Cases(ctx, ""))
	default:
		return "", fmt.Errorf("no call is named %q", c.Op)
	}
	res, err := l.Compare(ctx, req)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(len(res.Edges)), nil
}

// observe gives one side of an open case its number.
func (c Call) observe(ctx context.Context, l *ledger.Ledger) (string, error) {
	side := map[string]string{"number_a": "p", "number_b": "q"}[c.Op]
	id, err := canon.PublishedID("rec", canon.Obj("entity_type", "organisation", "attributes", Ordinary(side, c.Key)))
	if err != nil {
		return "", err
	}
	o, err := l.Observe(ctx, id, canon.Obj("registration_id", fmt.Sprintf("N%d", c.Key)))
	if fault.Is(err, fault.NotFound) {
		return "no record", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprint(o.Value("open_cases"), " open"), nil
}

// Record lets clients make calls at once, drawn from the seed, and returns what
// they saw. do makes a call for a client.
func Record(seed uint64, clients, calls int, do func(client int, c Call) (string, error)) ([]porcupine.Operation, error) {
	var mu sync.Mutex
	var history []porcupine.Operation
	var errs []error
	var wg sync.WaitGroup
	start := time.Now()
	for n := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // the order of calls
		wg.Go(func() {
			for range calls {
				c := Call{Ops[random.IntN(len(Ops))], random.IntN(Keys)}
				called := time.Since(start).Nanoseconds()
				out, err := do(n, c)
				returned := time.Since(start).Nanoseconds()
				mu.Lock()
				if err != nil {
					errs = append(errs, fmt.Errorf("%v: %w", c, err))
				} else {
					history = append(history, porcupine.Operation{ClientId: n, Input: c, Call: called, Output: out, Return: returned})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return history, errors.Join(errs...)
}

// Explained reports whether some order of the calls, one after another, explains
// every answer. It gives up after a minute.
func Explained(history []porcupine.Operation) error {
	if result := porcupine.CheckOperationsTimeout(model, history, time.Minute); result != porcupine.Ok {
		return fmt.Errorf("no order of the %d calls explains the answers (%v)", len(history), result)
	}
	return nil
}
