package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// TestComparePair: a recorded pair is answered as the engine answers it, is an
// entity at once, is made again alone and in an audit, and is decided again when
// something is observed.
func TestComparePair(t *testing.T) {
	l := memory(t)
	req := resolve.PairRequest{
		A: canon.Obj("id", "p1", "name", "Adaeze Okonkwo", "national_id", "12345678901"), B: canon.Obj("id", "p2", "name", "A. Okonkwo", "national_id", "12345678901"),
		Entity: "person",
	}
	want, err := resolve.ComparePair(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	got, recorded, err := l.ComparePair(t.Context(), req)
	if err != nil || !recorded {
		t.Fatalf("%v, %v", recorded, err)
	}
	if diff := cmp.Diff(want.DecisionID, got.DecisionID); diff != "" {
		t.Error(diff)
	}
	entities, err := l.Entities(t.Context(), "")
	if n := entities.Value("count"); err != nil || canon.Text(n) != "1" {
		t.Fatalf("entities %v, %v", n, err)
	}
	if again, err := l.Replay(t.Context(), got.DecisionID); err != nil || again.Value("reproduced") != true {
		t.Fatalf("replay %v, %v", again, err)
	}
	if differ, err := l.Audit(t.Context(), ledger.AuditOptions{}, func(a *ledger.Audited) error {
		if a.Result != ledger.AuditReproduced {
			t.Errorf("audit of %s: %s, %s", a.DecisionID, a.Result, a.Reason)
		}
		return nil
	}); err != nil || differ != 1 {
		t.Fatalf("audit looked at %v, %v", differ, err)
	}
	decision, err := l.Decision(t.Context(), got.DecisionID)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := l.Observe(t.Context(), canon.Text(decision.Value("record_a")), canon.Obj("birth_date", "1990-03-04"))
	if err != nil || len(seen.Value("decisions").([]any)) != 1 {
		t.Fatalf("observe %v, %v", seen, err)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}
