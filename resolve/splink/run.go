package splink

import (
	"context"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// Input is what Run links.
type Input struct {
	A, B        []*canon.Object
	Dedupe      bool // A against itself; B is not read
	Entity      string
	Comparators []Comparator
	Floor       float64 // pairs below this probability are not returned
	Model       *Model  // nil: derive and train one
	Open        func() (Scratch, error)
	Progress    func(done, total int64) // may be nil; counts stages
}

// Pair is one candidate at or above the floor.
type Pair struct {
	I, J        int
	Probability float64
	Gammas      []int8 // by comparison; -1 where the comparison says nothing
}

// Output is what Run found.
type Output struct {
	Pairs      []Pair // by I, then J
	Model      *Model
	Candidates int64
	Derived    bool
	Rounds     int      // of expectation-maximisation
	Converged  bool     // training came to rest
	Columns    []string // of the comparisons, in order
	Corpus     string   // hex SHA-256 of the compared values of both lists
	Database   string   // version of the database whose text functions decided
}

// stages is how many steps Progress counts.
const stages = 5

// Run links the lists.
func Run(ctx context.Context, in Input) (*Output, error) {
	if in.Dedupe {
		in.B = in.A
	}
	r := &runner{ctx: ctx, in: in, out: &Output{Model: in.Model, Derived: in.Model == nil}}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	if len(in.A) == 0 || len(in.B) == 0 || len(r.out.Model.Rules) == 0 {
		r.out.Converged = true
		return r.out, nil
	}
	if in.Open == nil {
		return nil, fault.New(fault.Internal, "the splink backend was called without a scratch database")
	}
	db, err := in.Open()
	if err != nil {
		return nil, err
	}
	r.db = db
	err = r.link()
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, r.blame(err)
	}
	return r.out, nil
}

// blame turns a failure of the database on a given model into the model's. Its
// text may quote a value, so it is kept back.
func (r *runner) blame(err error) error {
	if r.out.Derived || r.ctx.Err() != nil || fault.As(err) != nil {
		return err
	}
	return fault.Wrap(err, fault.Invalid, "the database cannot run a condition or a rule of the model on these lists").
		WithHint("conditions compare texts, but for coordinates; the functions are DuckDB's")
}

// runner is one run.
type runner struct {
	ctx      context.Context
	in       Input
	out      *Output
	db       Scratch
	columns  []column
	together [][]column // by comparison: the columns it compares
	texts    []string   // database columns of type VARCHAR
	reals    []string   // database columns of type DOUBLE
	pop      population
	done     int64
}

func (r *runner) stage() {
	r.done++
	if r.in.Progress != nil {
		r.in.Progress(r.done, stages)
	}
}

// prepare settles the columns and, when none is given, the model's shape.
func (r *runner) prepare() error {
	if r.in.Model != nil {
		r.out.Columns = nil
		for _, c := range r.in.Model.Comparisons {
			r.out.Columns = append(r.out.Columns, c.Name)
		}
		return r.columnsOfModel()
	}
	a, b := carriedFields(r.in.A), carriedFields(r.in.B)
	r.columns = pickColumns(r.in.Comparators, func(f string) bool { return a[f] && b[f] })
	if err := r.checkColumns(); err != nil {
		return err
	}
	m := &Model{Dedupe: r.in.Dedupe}
	r.together = groups(r.columns)
	for _, g := range r.together {
		c := comparisonOf(g[0], partnerOf(g[0], r.columns))
		if len(g) > 1 {
			c = localityOf(g)
		}
		m.Comparisons = append(m.Comparisons, c)
		r.out.Columns = append(r.out.Columns, c.Name)
	}
	for _, c := range r.columns {
		if c.shape == shapeDistance {
			r.reals = append(r.reals, c.field, c.lon)
		} else {
			r.texts = append(r.texts, c.field)
		}
	}
	r.out.Model = m
	r.survey()
	return nil
}

func (r *runner) checkColumns() error {
	switch len(groups(r.columns)) {
	case 0:
		var kinds []string
		for _, c := range r.in.Comparators {
			if !slices.Contains(kinds, c.Kind) {
				kinds = append(kinds, c.Kind)
			}
		}
		return fault.New(fault.Invalid, "no field that both lists carry can be a column of a trained model (comparator kinds: %s)", canon.Repr(kindList(kinds))).
			WithHint("leave backend out to use the engine's own scorer, or rename the fields as describe_pack says")
	case 1:
		return fault.New(fault.Invalid, "a trained model needs at least two fields that both lists carry, and only '%s' is one: how often matches agree on a field is learned from the others", r.columns[0].name()).
			WithHint("leave backend out to use the engine's own scorer")
	}
	return nil
}

func kindList(kinds []string) []any {
	out := make([]any, len(kinds))
	for i, k := range kinds {
		out[i] = k
	}
	return out
}

// partnerOf finds the other part of a name that is given in parts.
func partnerOf(c column, all []column) string {
	given := []string{"given_name", "first_name"}
	family := []string{"surname", "last_name", "family_name"}
	for _, pair := range [][2][]string{{given, family}, {family, given}} {
		if !slices.Contains(pair[0], c.field) {
			continue
		}
		for _, o := range all {
			if slices.Contains(pair[1], o.field) {
				return o.field
			}
		}
	}
	return ""
}

// carriedFields are the fields under which some record has a value.
func carriedFields(list []*canon.Object) map[string]bool {
	out := make(map[string]bool)
	// Most lists have the same fields in the same places: a field that is known
	// at its place costs one comparison.
	var places []string
	for _, rec := range list {
		at := 0
		for k, v := range rec.All() {
			known := at < len(places) && places[at] == k
			at++
			if known || v == nil || v == "" {
				continue
			}
			out[k] = true
			for len(places) < at {
				places = append(places, "")
			}
			places[at-1] = k
		}
	}
	return out
}

// survey reads a sample of the lists for what needs no database: blocking rules
// and how often values are equal by chance.
func (r *runner) survey() {
	var keys []key
	first := make([]int, len(r.columns)) // the key that is the whole column
	for i, c := range r.columns {
		first[i] = len(keys)
		keys = append(keys, keysOf(i, c)...)
	}
	s := r.sample(keys)
	if len(s.values[0][0]) > 0 && len(s.values[1][0]) > 0 {
		r.out.Model.Rules = chooseRules(keys, s)
	}
	r.swapRule()
	r.pop = population{pairs: float64(s.rows[0]) * float64(s.rows[1]), shorter: float64(min(s.rows[0], s.rows[1]))}
	if s.dedupe {
		r.pop.pairs = float64(s.rows[0]) * float64(s.rows[0]-1) / 2
	}
	r.pop.pairs = max(r.pop.pairs, 2)
	for _, g := range r.together {
		r.pop.exact = append(r.pop.exact, r.equalByChance(s, g, first))
	}
}

// equalByChance is the share of pairs with all values of a comparison equal,
// among those that have the values; -1 when the sample does not tell.
func (r *runner) equalByChance(s *survey, group []column, first []int) float64 {
	var ids []int
	for i, c := range r.columns {
		if c.shape == shapeDistance || !slices.Contains(group, c) || len(group) > 1 && localities[c.field] {
			continue
		}
		ids = append(ids, first[i])
	}
	if len(ids) == 0 {
		return -1
	}
	present := s.present(ids)
	if present == 0 {
		return -1
	}
	return float64(s.matching(ids)) / present
}

// sample draws rows of both lists and cuts them into keys.
func (r *runner) sample(keys []key) *survey {
	lists := [2][]*canon.Object{r.in.A, r.in.B}
	s := &survey{rows: [2]int{len(r.in.A), len(r.in.B)}, scale: 1, dedupe: r.in.Dedupe}
	for n, list := range lists {
		if s.dedupe && n == 1 {
			s.values[1] = s.values[0]
		} else {
			s.values[n] = make([][]uint64, len(keys))
			for _, row := range sampleRows(len(list), uint64(n)) {
				for i, c := range r.columns {
					hashKeys(s.values[n], keys, i, c, list[row])
				}
			}
		}
		if sampled := len(s.values[n][0]); sampled > 0 {
			s.scale *= float64(len(list)) / float64(sampled)
		}
	}
	return s
}

// swapRule proposes pairs whose two name parts stand in each other's place.
func (r *runner) swapRule() {
	for _, c := range r.columns {
		partner := partnerOf(c, r.columns)
		if partner == "" || len(r.out.Model.Rules) == 0 {
			continue
		}
		f, p := quote(c.field), quote(partner)
		r.out.Model.Rules = append(r.out.Model.Rules, Rule{
			SQL:   "l." + f + " = r." + p + " AND l." + p + " = r." + f,
			Label: c.field + " and " + partner + " swapped",
		})
		return
	}
}

// hashKeys appends the keys that a record has in column i.
func hashKeys(values [][]uint64, keys []key, i int, c column, rec *canon.Object) {
	v := ""
	if c.shape != shapeDistance {
		v = c.value(rec)
	}
	for k := range keys {
		if keys[k].column != i {
			continue
		}
		h := uint64(0)
		switch {
		case c.shape == shapeDistance:
			h = gridHash(rec, c, k > 0 && keys[k-1].column == i)
		case v != "":
			if cut := keys[k].cut(v); cut != "" {
				h = hashText(cut)
			}
		}
		values[k] = append(values[k], h)
	}
}
