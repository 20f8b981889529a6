package ledger

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/resolve"
)

// TestFindWeak compares with the plain definition: a record or edge is weak when
// the records around it are parted without it.
func TestFindWeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(1, 9).Draw(t, "records")
		nodes := make([]int32, n)
		for i := range nodes {
			nodes[i] = 10 * int32(i+1) //nolint:gosec // below ten
		}
		// Mostly thin graphs: those have weak places.
		dense := rapid.IntRange(2, 6).Draw(t, "one pair in")
		next := map[int32][]int32{}
		var edges [][2]int32
		for i, a := range nodes {
			for _, b := range nodes[i+1:] {
				if rapid.IntRange(1, dense).Draw(t, "edge") == 1 {
					edges = append(edges, [2]int32{a, b})
					next[a], next[b] = append(next[a], b), append(next[b], a)
				}
			}
		}
		shuffled := rapid.Permutation(nodes).Draw(t, "order")
		want := weaknesses{}
		whole := parts(nodes, edges, -1, -1)
		for _, x := range nodes {
			// Without a record its edges go too; if it was alone a part goes with it.
			if parts(nodes, edges, x, -1) > whole {
				want.points = append(want.points, x)
			}
		}
		for k, e := range edges {
			if parts(nodes, edges, -1, k) > whole {
				want.bridges = append(want.bridges, e)
			}
		}
		got := findWeak(shuffled, next)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(weaknesses{})); diff != "" {
			t.Fatalf("%v (-want +got)\n%s", edges, diff)
		}
	})
}

// parts counts the connected parts of a graph without one record or one edge.
func parts(nodes []int32, edges [][2]int32, gone int32, cut int) int {
	group := map[int32]int32{}
	for _, x := range nodes {
		if x != gone {
			group[x] = x
		}
	}
	for k, e := range edges {
		if k == cut || e[0] == gone || e[1] == gone {
			continue
		}
		from, to := group[e[0]], group[e[1]]
		for x, g := range group {
			if g == from {
				group[x] = to
			}
		}
	}
	var seen []int32
	for _, g := range group {
		if !slices.Contains(seen, g) {
			seen = append(seen, g)
		}
	}
	return len(seen)
}

// TestPickNearest: one matched entity is the nearest, of several none; without any
// the highest score is, the first of equal ones.
func TestPickNearest(t *testing.T) {
	type c = candidate
	for _, x := range []struct {
		name       string
		candidates []candidate
		want       int
	}{
		{"nobody", nil, -1},
		{"one review", []c{{identity: "review", score: 0.5}}, 0},
		{"the highest", []c{{identity: "review", score: 0.5}, {identity: "review", score: 0.8}, {identity: "review", score: 0.6}}, 1},
		{"the first of equals", []c{{identity: "review", score: 0.2}, {identity: "review", score: 0.8}, {identity: "review", score: 0.8}}, 1},
		{"zero is a score", []c{{identity: "review"}, {identity: "review"}}, 0},
		{"a match before a higher review", []c{{identity: "review", score: 0.9}, {identity: "match", score: 0.7}}, 1},
		{"two matches", []c{{identity: "match", score: 0.9}, {identity: "match", score: 0.7}, {identity: "review", score: 0.8}}, -1},
	} {
		v := &arrival{candidates: x.candidates}
		if got := v.pickNearest(); got != x.want {
			t.Errorf("%s: %d, want %d", x.name, got, x.want)
		}
	}
}

// TestBetterEdge: a match is better than none, then the score decides, and of
// equal ones the first stays.
func TestBetterEdge(t *testing.T) {
	for _, x := range []struct {
		decision string
		score    float64
		identity string
		has      float64
		want     bool
	}{
		{"match", 0.7, "review", 0.9, true},
		{"review", 0.9, "match", 0.7, false},
		{"match", 0.8, "match", 0.7, true},
		{"match", 0.7, "match", 0.7, false},
		{"review", 0.6, "review", 0.5, true},
		{"review", 0.5, "review", 0.6, false},
	} {
		e, c := &resolve.Edge{Decision: x.decision, Score: x.score}, &candidate{identity: x.identity, score: x.has}
		if got := better(e, c); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
