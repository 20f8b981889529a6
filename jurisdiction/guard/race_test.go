package guard_test

import (
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestOneGuardManyScans: a guard is shared by concurrent calls.
func TestOneGuardManyScans(t *testing.T) {
	g := newGuard(t)
	doc := document(7, 8<<10)
	want := g.Scan(t.Context(), doc).Text
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			if got := g.Scan(t.Context(), doc).Text; got != want {
				t.Errorf("a concurrent scan differs at %d", firstDifference(got, want))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}
