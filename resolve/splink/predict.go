package splink

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// frequencies is one column whose value frequencies refine a level.
type frequencies struct {
	column string
	both   bool  // the level holds for different values too: look up both sides
	total  int64 // present values in both lists
	least  int64 // the smallest count, for the bound
}

// predict scores the candidates and keeps those at or above the floor. The
// database drops pairs that cannot reach it, with a margin for its different
// arithmetic; the exact sum is made here.
func (r *runner) predict() error {
	freqs, err := r.countValues()
	if err != nil {
		return err
	}
	if err := r.db.Query(r.ctx, "SELECT count(*) FROM pairs", nil, func(v []any) error {
		r.out.Candidates = number(v[0])
		return nil
	}); err != nil {
		return err
	}
	m := r.out.Model
	n := len(m.Comparisons)
	weights, prior := m.weights(), m.prior()
	var pairs []Pair
	err = r.db.Query(r.ctx, r.predictSQL(freqs), nil, func(values []any) error {
		p := Pair{I: int(number(values[0])), J: int(number(values[1])), Gammas: make([]int8, n)}
		w := prior
		for k := range n {
			g := int8(number(values[2+k]))
			p.Gammas[k] = g
			w += weights[k][g+1]
			if g < 0 {
				continue
			}
			l := m.Comparisons[k].Levels[m.Comparisons[k].level(int(g))]
			if f := slices.IndexFunc(freqs, func(f frequencies) bool { return f.column == l.TF }); f >= 0 {
				count := max(number(values[2+n+2*f]), number(values[2+n+2*f+1]))
				w += l.adjustment(float64(count) / float64(freqs[f].total))
			}
		}
		if p.Probability = probability(w); p.Probability >= r.in.Floor {
			pairs = append(pairs, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(pairs, func(x, y Pair) int { return cmp.Or(cmp.Compare(x.I, y.I), cmp.Compare(x.J, y.J)) })
	r.out.Pairs = pairs
	return nil
}

// countValues makes a table of value counts for each column a level is refined
// by.
func (r *runner) countValues() ([]frequencies, error) {
	var out []frequencies
	for _, c := range r.out.Model.Comparisons {
		for _, l := range c.Levels {
			if l.TF == "" || l.TFWeight == 0 {
				continue
			}
			equal := l.Condition == quote(l.TF+"_l")+" = "+quote(l.TF+"_r")
			if i := slices.IndexFunc(out, func(f frequencies) bool { return f.column == l.TF }); i >= 0 {
				out[i].both = out[i].both || !equal
				continue
			}
			out = append(out, frequencies{column: l.TF, both: !equal})
		}
	}
	for i := range out {
		q := quote(out[i].column)
		rows := "SELECT " + q + " AS v FROM a UNION ALL SELECT " + q + " FROM b"
		if r.in.Dedupe {
			rows = "SELECT " + q + " AS v FROM a"
		}
		table := fmt.Sprintf("tf%d", i)
		if err := r.db.Exec(r.ctx, "CREATE TABLE "+table+" AS SELECT v, count(*) AS n FROM ("+rows+") WHERE v IS NOT NULL GROUP BY v"); err != nil {
			return nil, err
		}
		err := r.db.Query(r.ctx, "SELECT CAST(coalesce(sum(n), 0) AS BIGINT), coalesce(min(n), 1) FROM "+table, nil, func(v []any) error {
			out[i].total, out[i].least = max(1, number(v[0])), max(1, number(v[1]))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// boundMargin, in bits, covers what the database's rounding may differ by.
const boundMargin = 0.001

func (r *runner) predictSQL(freqs []frequencies) string {
	m := r.out.Model
	var cols, bound, joins strings.Builder
	bound.WriteString(literal(m.prior()))
	for k, c := range m.Comparisons {
		fmt.Fprintf(&cols, ", v.g%d", k)
		fmt.Fprintf(&bound, " + CASE v.g%d", k)
		for i, l := range c.Levels {
			w := l.weight()
			if f := slices.IndexFunc(freqs, func(f frequencies) bool { return f.column == l.TF }); f >= 0 {
				w += max(0, l.adjustment(float64(freqs[f].least)/float64(freqs[f].total)))
			}
			fmt.Fprintf(&bound, " WHEN %d THEN %s", c.gamma(i), literal(w))
		}
		bound.WriteString(" ELSE 0 END")
	}
	if len(freqs) > 0 {
		fmt.Fprintf(&joins, " JOIN a l ON l.%s = v.i JOIN b r ON r.%s = v.j", rowColumn, rowColumn)
	}
	for i, f := range freqs {
		fmt.Fprintf(&joins, " LEFT JOIN tf%[1]d f%[1]d ON f%[1]d.v = l.%[2]s", i, quote(f.column))
		other := "0"
		if f.both {
			fmt.Fprintf(&joins, " LEFT JOIN tf%[1]d h%[1]d ON h%[1]d.v = r.%[2]s", i, quote(f.column))
			other = fmt.Sprintf("coalesce(h%d.n, 0)", i)
		}
		fmt.Fprintf(&cols, ", coalesce(f%d.n, 0), %s", i, other)
	}
	return "SELECT v.i, v.j" + cols.String() + " FROM (SELECT * FROM vectors v WHERE " + bound.String() + " >= " +
		literal(floorWeight(r.in.Floor)-boundMargin) + ") v" + joins.String()
}

// floorWeight is the weight that has the given probability.
func floorWeight(p float64) float64 {
	switch {
	case p <= 0:
		return -1e9
	case p >= 1:
		return 1e9
	}
	return math.Log2(p) - math.Log2(1-p)
}

func literal(x float64) string { return "(" + strconv.FormatFloat(x, 'e', 17, 64) + "::DOUBLE)" }
