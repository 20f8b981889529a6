package ledger

import (
	"context"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// Each answer that is glimpsed scans tables, so whoever goes on asking gets the
// whole state.
func TestGlimpsesEnd(t *testing.T) {
	ctx := context.Background()
	l, err := Open("duckdb:///:memory:", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rec := func(id string) []*canon.Object {
		return []*canon.Object{canon.Obj("id", id, "name", "Kijani Tea Exporters Ltd")}
	}
	res, err := l.Compare(ctx, resolve.Request{A: rec("a"), B: rec("b"), Entity: "organisation", Threshold: 0.7, IDField: "id"})
	if err != nil {
		t.Fatal(err)
	}
	l.Glimpse()
	for n := 1; n <= mostGlimpses+1; n++ {
		if _, err := l.Decision(ctx, res.Edges[0].DecisionID); err != nil {
			t.Fatal(err)
		}
		if whole := l.state != nil; whole != (n > mostGlimpses) {
			t.Errorf("after %d answers the whole state is there: %v", n, whole)
		}
	}
}
