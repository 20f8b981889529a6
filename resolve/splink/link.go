package splink

import (
	"fmt"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

// rowColumn numbers the rows in the database; no field of a record is read
// under this name.
const rowColumn = `"__row"`

// link runs the model in the database.
func (r *runner) link() error {
	if err := r.db.Query(r.ctx, "SELECT version()", nil, func(v []any) error {
		r.out.Database, _ = v[0].(string)
		return nil
	}); err != nil {
		return err
	}
	if err := r.load(); err != nil {
		return err
	}
	r.stage()
	if err := r.block(); err != nil {
		return err
	}
	r.stage()
	if err := r.compare(); err != nil {
		return err
	}
	r.stage()
	if r.out.Derived {
		if err := r.learn(); err != nil {
			return err
		}
	} else {
		r.out.Converged = true
	}
	r.stage()
	if err := r.predict(); err != nil {
		return err
	}
	r.stage()
	return nil
}

// load fills the tables a and b.
func (r *runner) load() error {
	defs := []string{rowColumn + " BIGINT"}
	for _, c := range r.texts {
		defs = append(defs, quote(c)+" VARCHAR")
	}
	for _, c := range r.reals {
		defs = append(defs, quote(c)+" DOUBLE")
	}
	lists := map[string][]*canon.Object{"a": r.in.A, "b": r.in.B}
	corpus := newCorpusHash(defs)
	defer func() { r.out.Corpus = corpus.sum() }()
	for _, table := range []string{"a", "b"} {
		corpus.list()
		if table == "b" && r.in.Dedupe {
			return r.db.Exec(r.ctx, "CREATE VIEW b AS SELECT * FROM a")
		}
		list, i := lists[table], 0
		row := make([]any, len(defs))
		err := r.db.Load(r.ctx, table, defs, func() ([]any, error) {
			if i == len(list) {
				return nil, nil
			}
			if i%4096 == 0 && r.ctx.Err() != nil {
				return nil, r.ctx.Err()
			}
			r.fill(row, list[i], i)
			corpus.row(row)
			i++
			return row, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) fill(row []any, rec *canon.Object, i int) {
	row[0] = int64(i)
	at := 1
	for _, c := range r.columns {
		if c.shape == shapeDistance {
			continue
		}
		row[at] = nil
		if v := c.value(rec); v != "" {
			row[at] = v
		}
		at++
	}
	for _, f := range r.reals {
		row[at] = coordinate(rec, f)
		at++
	}
}

// block makes the table of candidate pairs.
func (r *runner) block() error {
	var parts []string
	for _, rule := range r.out.Model.Rules {
		sql := "SELECT l." + rowColumn + " AS i, r." + rowColumn + " AS j FROM a l JOIN b r ON " + rule.SQL
		if r.in.Dedupe {
			sql = "SELECT least(l." + rowColumn + ", r." + rowColumn + ") AS i, greatest(l." + rowColumn + ", r." + rowColumn +
				") AS j FROM a l JOIN b r ON " + rule.SQL + " WHERE l." + rowColumn + " <> r." + rowColumn
		}
		parts = append(parts, sql)
	}
	return r.db.Exec(r.ctx, "CREATE TABLE pairs AS SELECT DISTINCT i, j FROM ("+strings.Join(parts, " UNION ALL ")+")")
}

// pairColumns lists the columns of both sides of a pair under the names that
// conditions use.
func (r *runner) pairColumns() string {
	var b strings.Builder
	for _, c := range append(append([]string(nil), r.texts...), r.reals...) {
		fmt.Fprintf(&b, ", l.%s AS %s, r.%s AS %s", quote(c), quote(c+"_l"), quote(c), quote(c+"_r"))
	}
	return b.String()
}

// gammaColumns lists the levels g0, g1, ... of a pair.
func (r *runner) gammaColumns() string {
	var b strings.Builder
	for n, c := range r.out.Model.Comparisons {
		if n > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "CAST(%s AS TINYINT) AS g%d", c.caseSQL(), n)
	}
	return b.String()
}

// compare makes the table of comparison vectors.
func (r *runner) compare() error {
	return r.db.Exec(r.ctx, "CREATE TABLE vectors AS "+r.vectorsSQL("pairs"))
}

// vectorsSQL compares the pairs of a table.
func (r *runner) vectorsSQL(pairs string) string {
	return "SELECT i, j, " + r.gammaColumns() + " FROM (SELECT p.i, p.j" + r.pairColumns() + " FROM " + pairs +
		" p JOIN a l ON l." + rowColumn + " = p.i JOIN b r ON r." + rowColumn + " = p.j)"
}

// count reads how many pairs have each vector from a query that gives gammas.
func (r *runner) count(from string) ([]vector, error) {
	n := len(r.out.Model.Comparisons)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("g%d", i)
	}
	list := strings.Join(names, ", ")
	var out []vector
	err := r.db.Query(r.ctx, "SELECT "+list+", count(*) FROM "+from+" GROUP BY "+list, nil, func(values []any) error {
		v := vector{gamma: make([]int8, n)}
		for i := range n {
			v.gamma[i] = int8(number(values[i]))
		}
		v.count = float64(number(values[n]))
		out = append(out, v)
		return nil
	})
	sortVectors(out)
	return out, err
}

// randomPairs is about how many pairs the levels' chance frequencies are
// counted on.
const randomPairs = 100_000

// learn trains the model.
func (r *runner) learn() error {
	vectors, err := r.count("vectors")
	if err != nil {
		return err
	}
	if err := r.db.Exec(r.ctx, r.randomSQL()); err != nil {
		return err
	}
	random, err := r.count("(" + r.vectorsSQL("chance") + ")")
	if err != nil {
		return err
	}
	for n, c := range r.out.Model.Comparisons {
		counts := make([]float64, len(c.Levels))
		for _, v := range random {
			counts[v.gamma[n]+1] += v.count
		}
		r.pop.random = append(r.pop.random, counts)
	}
	r.out.Rounds, r.out.Converged = r.out.Model.train(vectors, r.pop)
	return nil
}

// randomSQL makes a table that pairs rows of a with rows of b along a fixed
// walk, in which every row takes part about equally often.
func (r *runner) randomSQL() string {
	na, nb := len(r.in.A), len(r.in.B)
	step, turns := 1, randomPairs/na
	if turns < 1 {
		step, turns = na/randomPairs, 1
	}
	turns = min(turns, nb)
	// The stride between turns spreads them over b.
	sql := fmt.Sprintf("SELECT i * %d AS i, (i * 7919 + turn * %d + 104729) %% %d AS j FROM range(%d) x(i), range(%d) y(turn)",
		step, max(1, nb/turns), nb, (na+step-1)/step, turns)
	if r.in.Dedupe {
		sql = "SELECT i, j FROM (" + sql + ") WHERE i <> j"
	}
	return "CREATE TABLE chance AS " + sql
}

func number(v any) int64 {
	switch x := v.(type) {
	case int64:
		return x
	case int32:
		return int64(x)
	case int16:
		return int64(x)
	case int8:
		return int64(x)
	case int:
		return int64(x)
	case uint64:
		return int64(x)
	case float64:
		return int64(x)
	}
	return 0
}
