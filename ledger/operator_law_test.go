package ledger_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// operators adds what people do to a random history.
type operators struct {
	history
	seen   map[string]bool // entity ids ever answered
	forgot bool
}

func (o *operators) decide() {
	if len(o.records) < 2 {
		return
	}
	a := rapid.SampledFrom(o.records).Draw(o.t, "a")
	b := rapid.SampledFrom(o.records).Draw(o.t, "b")
	verdict := rapid.SampledFrom([]string{ledger.VerdictSame, ledger.VerdictDifferent, ledger.VerdictReview}).Draw(o.t, "verdict")
	out, err := o.l.Decide(o.ctx, a, b, verdict, "because")
	if a == b {
		if !fault.Is(err, fault.Invalid) {
			o.t.Fatalf("deciding a record against itself: %v", err)
		}
		return
	}
	o.must(err)
	if verdict == ledger.VerdictSame && (out.Value("entity_a") == nil || out.Value("entity_a") != out.Value("entity_b")) {
		o.t.Fatalf("decided the same and in %v and %v", out.Value("entity_a"), out.Value("entity_b"))
	}
	if rapid.Bool().Draw(o.t, "undo at once") {
		_, err := o.l.Undo(o.ctx, out.Value("event_id").(string), "a slip")
		o.must(err)
	}
}

func (o *operators) forget() {
	if len(o.records) == 0 {
		return
	}
	id := rapid.SampledFrom(o.records).Draw(o.t, "forget")
	_, err := o.l.Forget(o.ctx, ledger.ForgetRequest{Addresses: []string{id}, Reason: "asked"})
	o.must(err)
	o.forgot = true
}

// evidence adds a field to a record; one whose newest version lost its values
// can't be added to, and says so.
func (o *operators) evidence() {
	if len(o.records) == 0 {
		return
	}
	id := rapid.SampledFrom(o.records).Draw(o.t, "record")
	out, err := o.l.Observe(o.ctx, id, canon.Obj("registration_id", rapid.SampledFrom(lawIDs).Draw(o.t, "registration")))
	if errors.Is(err, ledger.ErrErased) && o.forgot {
		return
	}
	o.must(err)
	o.checkViews(out)
	if n := out.Value("new_record_id"); n != nil {
		o.remember(n)
	}
}

func (o *operators) note() {
	for id := range o.membersOf() {
		o.seen[id] = true
	}
}

// checkOperators: old entity ids lead on, views say what answers say, and an
// audit calls exactly those decisions unreplayable that lost their values.
func (o *operators) checkOperators() {
	for id := range o.seen {
		if _, err := o.l.EntityHistory(o.ctx, id); err != nil {
			o.t.Fatalf("entity %s does not lead on: %v", id, err)
		}
	}
	count := func(sql string) int {
		n := -1
		o.must(o.l.Query(o.ctx, sql, nil, func(v []driver.Value) error { n = int(v[0].(int64)); return nil }))
		return n
	}
	cases, err := o.l.Cases(o.ctx, "")
	o.must(err)
	if got := count(`SELECT count(*) FROM v_case`); got != cases.Value("count") {
		o.t.Fatalf("v_case has %d rows, cases %v", got, cases.Value("count"))
	}
	entities, err := o.l.Entities(o.ctx, "")
	o.must(err)
	if got := count(`SELECT count(*) FROM v_entity`); got != entities.Value("count") {
		o.t.Fatalf("v_entity has %d rows, entities %v", got, entities.Value("count"))
	}
	gone := map[string]bool{}
	o.must(o.l.Query(o.ctx, `SELECT record_id FROM v_record WHERE erased`, nil, func(v []driver.Value) error { gone[v[0].(string)] = true; return nil }))
	_, err = o.l.Audit(o.ctx, ledger.AuditOptions{}, func(f *ledger.Audited) error {
		lost := gone[f.RecordA] || gone[f.RecordB]
		switch {
		case f.Result == ledger.AuditDiffers:
			return fmt.Errorf("%s differs: %v", f.DecisionID, f.Changed)
		case lost && f.Result != ledger.AuditUnreplayable:
			return fmt.Errorf("%s lost its values and is %s", f.DecisionID, f.Result)
		case len(gone) == 0 && f.Result != ledger.AuditReproduced:
			return fmt.Errorf("%s is %s (%s) and nothing was erased", f.DecisionID, f.Result, f.Reason)
		}
		return nil
	})
	o.must(err)
	o.must(o.l.Verify(o.ctx, nil))
	before := o.answers()
	o.l.LoadProjections() // what follows is answered from the tables, not from the log
	if after := o.answers(); !slices.Equal(before, after) {
		o.t.Fatalf("the tables give other answers\n%s\n%s", before, after)
	}
	for id := range o.seen {
		if _, err := o.l.EntityHistory(o.ctx, id); err != nil {
			o.t.Fatalf("entity %s does not lead on from the tables: %v", id, err)
		}
	}
	o.must(o.l.Rebuild(o.ctx))
	if after := o.answers(); !slices.Equal(before, after) {
		o.t.Fatalf("rebuild changed answers\n%s\n%s", before, after)
	}
}

// TestRandomOperators mixes decisions of people, undoing and erasing into random
// histories.
func TestRandomOperators(t *testing.T) {
	checks(t, "12", "500")
	steps := 25
	if long() {
		steps = 200
	}
	rapid.Check(t, func(rt *rapid.T) {
		l, err := ledger.Open("duckdb:///:memory:", ledger.Options{Clock: arctest.NewClock().Now})
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close()
		o := &operators{history: history{t: rt, ctx: context.Background(), l: l, learnt: map[string]string{}}, seen: map[string]bool{}}
		for range steps {
			switch rapid.IntRange(0, 11).Draw(rt, "call") {
			case 0, 1, 2:
				o.compare()
			case 3, 4:
				o.resolve()
			case 5, 6:
				o.evidence()
			case 7, 8, 9, 10:
				o.decide()
			default:
				o.forget()
			}
			o.note()
			o.checkPaths(o.membersOf())
		}
		o.checkOperators()
	})
}
