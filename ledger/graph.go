package ledger

import (
	"slices"
)

// weaknesses are the records and edges of a connected graph whose loss would
// part it.
type weaknesses struct {
	points  []int32    // articulation points, sorted
	bridges [][2]int32 // bridges, each pair ordered, sorted
}

// findWeak walks a simple graph depth first without recursion: entities may be
// long chains.
func findWeak(nodes []int32, next map[int32][]int32) weaknesses {
	w := weaknesses{}
	depth := make(map[int32]int, len(nodes))
	low := make(map[int32]int, len(nodes))
	point := map[int32]bool{}
	type frame struct {
		node, parent int32
		at, children int
	}
	for _, root := range nodes {
		if depth[root] != 0 {
			continue
		}
		depth[root], low[root] = 1, 1
		stack := []frame{{node: root, parent: -1}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.at < len(next[f.node]) {
				n := next[f.node][f.at]
				f.at++
				switch {
				case n == f.parent:
				case depth[n] != 0:
					low[f.node] = min(low[f.node], depth[n])
				default:
					f.children++
					depth[n] = depth[f.node] + 1
					low[n] = depth[n]
					stack = append(stack, frame{node: n, parent: f.node})
				}
				continue
			}
			done := *f
			stack = stack[:len(stack)-1]
			if done.parent < 0 {
				if done.children > 1 {
					point[done.node] = true
				}
				continue
			}
			up := &stack[len(stack)-1]
			low[up.node] = min(low[up.node], low[done.node])
			if low[done.node] > depth[up.node] {
				w.bridges = append(w.bridges, orderedPair(up.node, done.node))
			}
			if up.parent >= 0 && low[done.node] >= depth[up.node] {
				point[up.node] = true
			}
		}
	}
	for n := range point {
		w.points = append(w.points, n)
	}
	slices.Sort(w.points)
	slices.SortFunc(w.bridges, func(a, b [2]int32) int {
		if c := compareInt(a[0], b[0]); c != 0 {
			return c
		}
		return compareInt(a[1], b[1])
	})
	return w
}
