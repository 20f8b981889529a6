package audit

import (
	"slices"
	"strings"
)

// linkage follows which records hang together by the decisions an audit saw:
// as they stand in the log, and as they would be decided now.
type linkage struct {
	index       map[string]int
	names       []string // record ids
	entity      []string // entity of a record, "" unknown
	then, now   []int    // parents
	differences bool
}

func newLinkage() linkage { return linkage{index: map[string]int{}} }

func (l *linkage) node(record string) int {
	if i, ok := l.index[record]; ok {
		return i
	}
	i := len(l.names)
	l.index[record] = i
	l.names = append(l.names, record)
	l.entity = append(l.entity, "")
	l.then = append(l.then, i)
	l.now = append(l.now, i)
	return i
}

func root(parents []int, i int) int {
	for parents[i] != i {
		parents[i] = parents[parents[i]]
		i = parents[i]
	}
	return i
}

func union(parents []int, a, b int) {
	ra, rb := root(parents, a), root(parents, b)
	if ra > rb {
		ra, rb = rb, ra
	}
	parents[rb] = ra
}

func (l *linkage) add(a, b, entity string, then, now bool) {
	if !then && !now {
		return
	}
	x, y := l.node(a), l.node(b)
	if then {
		union(l.then, x, y)
		l.entity[x], l.entity[y] = entity, entity
	}
	if now {
		union(l.now, x, y)
	}
	l.differences = l.differences || then != now
}

// moved lists the entities (by id, or by record where there is none) that would
// be one, and those whose records would no longer hang together.
func (l *linkage) moved() (merges, splits [][]string) {
	if !l.differences {
		return nil, nil
	}
	return l.spread(l.now, l.then), l.spread(l.then, l.now)
}

// spread names, for each component of one side that lies in several components
// of the other, those several.
func (l *linkage) spread(whole, parts []int) [][]string {
	found := map[int]map[string]bool{}
	roots := map[int]map[int]bool{}
	for i := range l.names {
		w, p := root(whole, i), root(parts, i)
		if roots[w] == nil {
			roots[w], found[w] = map[int]bool{}, map[string]bool{}
		}
		roots[w][p] = true
		name := l.entity[i]
		if name == "" {
			name = l.names[i]
		}
		found[w][name] = true
	}
	var out [][]string
	for w, parts := range roots {
		if len(parts) < 2 {
			continue
		}
		names := make([]string, 0, len(found[w]))
		for n := range found[w] {
			names = append(names, n)
		}
		slices.Sort(names)
		out = append(out, names)
	}
	slices.SortFunc(out, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return out
}
