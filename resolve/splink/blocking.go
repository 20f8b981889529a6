package splink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// key is something of a record that equal records share: a column or a piece of
// it. cut must give what sql gives; only costs depend on it.
type key struct {
	column int // index of the column it comes from
	label  string
	sql    func(side string) string // side is l or r
	cut    func(v string) string    // "" when the value has no such piece
}

func whole(v string) string { return v }

func firstWord(v string) string { w, _, _ := strings.Cut(v, " "); return w }

func lastWord(v string) string { return v[strings.LastIndexByte(v, ' ')+1:] }

// keysOf returns the keys of a column.
func keysOf(i int, c column) []key {
	at := func(side string) string { return side + "." + quote(c.field) }
	simple := key{i, c.field, at, whole}
	word := func(label, format string, cut func(string) string) key {
		return key{i, label + " of " + c.field, func(side string) string { return fmt.Sprintf(format, at(side)) }, cut}
	}
	first := word("first word", "split_part(%s, ' ', 1)", firstWord)
	last := word("last word", "string_split(%s, ' ')[-1]", lastWord)
	prefix := word("first 4 characters", "substr(%s, 1, 4)", func(v string) string {
		n := 0
		for i := range v {
			if n++; n > 4 {
				return v[:i]
			}
		}
		return v
	})
	firstTwo := word("first two words", "list_slice(string_split(%s, ' '), 1, 2)", func(v string) string {
		w := strings.SplitN(v, " ", 3)
		return strings.Join(w[:min(2, len(w))], " ")
	})
	// split_part gives an empty text where there is no second word; as a key
	// it would join all short values.
	second := word("second word", "nullif(split_part(%s, ' ', 2), '')", func(v string) string {
		if w := strings.SplitN(v, " ", 3); len(w) > 1 {
			return w[1]
		}
		return ""
	})
	switch c.shape {
	case shapeName:
		return []key{simple, firstTwo, first, second, last, prefix}
	case shapeNamePart:
		return []key{simple, prefix}
	case shapeAddress:
		lastTwo := word("last two words", "list_slice(string_split(%s, ' '), -2, -1)", func(v string) string {
			w := strings.Split(v, " ")
			return strings.Join(w[max(0, len(w)-2):], " ")
		})
		return []key{simple, firstTwo, lastTwo, first, second, last}
	case shapeDistance:
		grid := func(label, digits string) key {
			return key{i, label, func(side string) string {
				return fmt.Sprintf("round(%s.%s, %s) || ' ' || round(%s.%s, %s)", side, quote(c.field), digits, side, quote(c.lon), digits)
			}, nil}
		}
		// A kilometre and ten; costs come from the rounded pair.
		return []key{grid("coordinates to 2 decimals", "2"), grid("coordinates to 1 decimal", "1")}
	}
	return []key{simple}
}

// Rule proposes pairs whose keys are all equal.
type Rule struct {
	SQL   string // over l and r
	Label string
	Pairs int64 // estimated
}

// Limits of the derived rules.
const (
	maxRules       = 16
	minBudget      = 100_000 // candidate pairs that a list of any size may cost
	budgetPerRow   = 1
	costSampleRows = 50_000 // rows a side that costs are counted on
)

// costed is a rule being considered.
type costed struct {
	keys  []int
	pairs float64
}

// chooseRules picks the blocking rules: single keys where they are nearly
// unique, else pairs of keys of different columns, the cheapest first, until the
// budget of candidate pairs is spent. A pair is lost only when it agrees on no
// chosen combination, so many narrow rules keep more truth than one wide rule.
// What a rule costs is the pairs that the rules before it do not propose.
func chooseRules(keys []key, s *survey) []Rule {
	budget := float64(max(minBudget, budgetPerRow*(s.rows[0]+s.rows[1])))
	singles, pairs := s.combinations(keys)
	var chosen []costed
	proposed := make(map[[2]int32]bool)
	spent := 0.0
	take := func(c costed, limit float64) {
		if len(chosen) == maxRules || c.pairs > limit {
			return
		}
		for _, o := range chosen {
			if containsAll(c.keys, o.keys) {
				return // every pair of it is proposed already
			}
		}
		fresh := s.fresh(c.keys, proposed)
		added := float64(len(fresh)) * s.scale
		if spent+added > budget {
			return
		}
		for _, p := range fresh {
			proposed[p] = true
		}
		spent += added
		c.pairs = added
		chosen = append(chosen, c)
	}
	for _, c := range singles {
		take(c, budget/singleShare)
	}
	for _, c := range widen(keys, pairs) {
		take(c, budget)
	}
	if len(chosen) == 0 {
		// Nothing fits: the cheapest combination is better than no answer.
		if all := append(singles, pairs...); len(all) > 0 {
			slices.SortFunc(all, byCost)
			chosen = all[:1]
		}
	}
	return rulesOf(keys, chosen)
}

func byCost(x, y costed) int {
	return cmp.Or(cmp.Compare(x.pairs, y.pairs), slices.Compare(x.keys, y.keys))
}

// combinations returns single keys and pairs of keys of different columns that
// propose anything, the cheapest first.
func (s *survey) combinations(keys []key) (singles, pairs []costed) {
	cost := func(ids ...int) float64 { return float64(s.matching(ids)) * s.scale }
	for i := range keys {
		if p := cost(i); p > 0 {
			singles = append(singles, costed{[]int{i}, p})
		}
		for j := i + 1; j < len(keys); j++ {
			if keys[i].column == keys[j].column {
				continue
			}
			if p := cost(i, j); p > 0 {
				pairs = append(pairs, costed{[]int{i, j}, p})
			}
		}
	}
	slices.SortFunc(singles, byCost)
	slices.SortFunc(pairs, byCost)
	return singles, pairs
}

// singleShare is the part of the budget that one single key may cost, inverse.
const singleShare = 4

// widen orders pairs of keys so that each pair of columns is tried once, with
// its cheapest keys, before any is tried again with wider ones.
func widen(keys []key, pairs []costed) []costed {
	seen := make(map[[2]int]int)
	round := make([]int, len(pairs))
	for n, p := range pairs {
		columns := [2]int{keys[p.keys[0]].column, keys[p.keys[1]].column}
		round[n] = seen[columns]
		seen[columns]++
	}
	order := make([]int, len(pairs))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(round[x], round[y]) })
	out := make([]costed, len(pairs))
	for n, o := range order {
		out[n] = pairs[o]
	}
	return out
}

func containsAll(in, all []int) bool {
	for _, k := range all {
		if !slices.Contains(in, k) {
			return false
		}
	}
	return true
}

func rulesOf(keys []key, chosen []costed) []Rule {
	rules := make([]Rule, len(chosen))
	for n, c := range chosen {
		var sql, labels []string
		for _, k := range c.keys {
			sql = append(sql, keys[k].sql("l")+" = "+keys[k].sql("r"))
			labels = append(labels, keys[k].label)
		}
		rules[n] = Rule{SQL: strings.Join(sql, " AND "), Label: strings.Join(labels, " and "), Pairs: int64(c.pairs)}
	}
	return rules
}
