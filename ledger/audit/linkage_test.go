package audit

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMoved(t *testing.T) {
	l := newLinkage()
	l.add("r1", "r2", "ent_a", true, true)
	l.add("r2", "r3", "ent_a", true, false) // would fall off
	l.add("r4", "r5", "ent_b", true, true)
	l.add("r6", "r7", "ent_c", true, true)
	l.add("r5", "r6", "", false, true) // would join b and c
	merges, splits := l.moved()
	if diff := cmp.Diff([][]string{{"ent_b", "ent_c"}}, merges); diff != "" {
		t.Errorf("merges (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"ent_a"}}, splits); diff != "" {
		t.Errorf("splits (-want +got)\n%s", diff)
	}
}

func TestUpperBound(t *testing.T) {
	for _, c := range []struct {
		k, n int64
		want float64
	}{{0, 300, 0.009936}, {0, 10, 0.258866}, {1, 100, 0.046560}, {5, 5, 1}, {10, 1000, 0.016897}} {
		if got := upperBound(c.k, c.n); math.Abs(got-c.want) > 5e-5 {
			t.Errorf("%d of %d: %v, want %v", c.k, c.n, got, c.want)
		}
	}
}
