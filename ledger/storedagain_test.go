package ledger

import (
	"context"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// A record whose values were erased can come again between new ones. Its row is
// made at once, while theirs wait for their labels; the table has them in the
// order of their events, and the state is taken from it.
func TestRecordsStoredAgainBetweenNewOnes(t *testing.T) {
	ctx := context.Background()
	l := openInside(t, Options{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rec := func(id, name string) *canon.Object { return canon.Obj("id", id, "name", name) }
	req := resolve.Request{
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
		A: []*canon.Object{rec("1", "Kijani Tea Exporters Ltd")}, B: []*canon.Object{rec("2", "Kijani Tea Exporters Limited")},
	}
	_, err := l.Compare(ctx, req)
	must(err)
	_, err = l.Forget(ctx, ForgetRequest{Addresses: []string{l.state.recordID(0)}, Reason: "asked"})
	must(err)
	req.A = []*canon.Object{rec("3", "Zentari Mills"), rec("1", "Kijani Tea Exporters Ltd"), rec("4", "Harmuko Foods")}
	_, err = l.Compare(ctx, req)
	must(err)
	want, err := l.Entities(ctx, "")
	must(err)
	must(l.Verify(ctx, nil))
	l.verified = -1 // take the state from the tables
	l.state = nil
	got, err := l.Entities(ctx, "")
	must(err)
	a, err := canon.Compact(want)
	must(err)
	b, err := canon.Compact(got)
	must(err)
	if string(a) != string(b) {
		t.Errorf("%s\nfrom the tables\n%s", a, b)
	}
}
