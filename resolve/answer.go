package resolve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

// head is the result without its edges.
func (r *run) head() *Result {
	res := &Result{Pins: r.pinned, Blocking: r.blocking(), Warnings: r.warnings(), IgnoredFields: sortedKeys(r.ignored)}
	if r.plan.entity == "" {
		res.IgnoredFields = nil
	}
	if r.req.Backend == "" {
		res.Backend = r.backend(len(r.req.A) + len(r.req.B))
	}
	res.ReadAs = r.plan.readAs(res.IgnoredFields)
	return res
}

// edges judges pairs on all processors, in the order given.
func (r *run) edges(ctx context.Context, pins *canon.Object, pairs []surfaced) ([]Edge, error) {
	const chunk = 256
	out := make([]Edge, len(pairs))
	var tasks []func() error
	for from := 0; from < len(pairs); from += chunk {
		tasks = append(tasks, func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return r.write(pins, pairs[from:min(len(pairs), from+chunk)], out[from:])
		})
	}
	run := atOnce
	if len(tasks) == 1 {
		run = inTurn
	}
	if err := run(tasks); err != nil {
		return nil, err
	}
	return out, nil
}

func (r *run) write(pins *canon.Object, pairs []surfaced, out []Edge) error {
	w := newScorer(r.store, r.a, r.b, r.floor)
	seal, err := newSealer(pins)
	if err != nil {
		return err
	}
	for n, p := range pairs {
		v, err := w.judge(p.i, p.j, r.req.Threshold)
		if err != nil {
			return err
		}
		out[n] = v.edge(r.idA(p.i), r.idB(p.j), p)
		if out[n].DecisionID, err = seal.id(&out[n]); err != nil {
			return err
		}
	}
	return nil
}

// idA is the id of a record of A.
func (r *run) idA(i int32) any { return recordID(r.req.A[i], r.req.IDField, int(i)) }

// idB is the id of a record of B, which is A when a list is compared with itself.
func (r *run) idB(j int32) any {
	if r.req.Dedupe {
		return recordID(r.req.A[j], r.req.IDField, int(j))
	}
	return recordID(r.req.B[j], r.req.IDField, int(j))
}

// edge rounds a verdict; the id is still to be computed.
func (v *judged) edge(aID, bID any, p surfaced) Edge {
	return Edge{AID: aID, BID: bID, I: int(p.i), J: int(p.j), Score: round(v.score, 4),
		Decision: v.decision, Evidence: v.evidence, DistinctiveMax: round(v.distinctive, 3)}
}

// recordID is the record's id as given, null included, else its position.
func recordID(rec *canon.Object, field string, position int) any {
	if v, ok := rec.Get(field); ok {
		return v
	}
	return position
}

// pins is what decides an answer beside the records.
func (r *run) pins() *canon.Object {
	p := canon.Obj("engine", r.plan.engine(), "comparators_sha256", r.plan.listHash, "block", r.block,
		"threshold", r.threshold(), "review_margin", canon.Float(ReviewMargin),
		"distinctive_floor", canon.Float(DistinctiveFloor), "tf", nil)
	if r.store.tfPin != "" {
		p.Set("tf", r.store.tfPin)
	}
	if r.plan.rarity.populationPin != "" {
		p.Set("population", r.plan.rarity.populationPin)
	}
	if len(r.store.tables) > 0 {
		codes := canon.NewObject()
		for _, category := range slices.Sorted(maps.Keys(r.store.tables)) {
			name := category
			if name == "" {
				name = "default"
			}
			codes.Set(name, r.store.tables[category].pin)
		}
		p.Set("code_tf", codes)
	}
	if assets := r.store.assets(); assets.Len() > 0 {
		p.Set("data_assets", assets)
	}
	return p
}

func (r *run) threshold() any {
	if r.req.ThresholdInt {
		return int64(r.req.Threshold)
	}
	return canon.Float(r.req.Threshold)
}

func (p *plan) engine() string {
	if p.v2 {
		return EngineV2
	}
	return EngineV1
}

// assets are the vocabularies that the comparators read; the first version did
// not pin them.
func (s *store) assets() *canon.Object {
	out := canon.NewObject()
	if s.plan.packVersion == PackVersionDefault && !s.plan.v2 {
		return out
	}
	forms := false
	for i := range s.plan.comps {
		c := &s.plan.comps[i]
		forms = forms || c.kind == kindLegalForm
		for _, d := range [...]string{c.stripType, c.domain} {
			if v := s.domains[d]; v != nil {
				out.Set("type_tokens:"+d, v.pin)
			}
		}
	}
	if forms {
		out.Set("legal_form", s.forms.pin)
	}
	if s.plan.v2 {
		out.Set("reading", s.plan.reading.forms.pin)
	}
	return out
}

// blocking says how many pairs were scored, why, and which were not.
func (r *run) blocking() *canon.Object {
	possible := float64(r.a.n) * float64(r.b.n)
	if r.req.Dedupe {
		possible = float64(r.a.n) * float64(r.a.n-1) / 2
	}
	ratio := 0.0
	if possible > 0 {
		ratio = canon.Round(1-float64(r.pairs)/possible, 4)
	}
	out := canon.Obj("candidate_pairs", r.pairs, "reduction_ratio", canon.Float(ratio))
	if r.blocker == nil {
		return out
	}
	out.Set("strategies", canon.Obj("h3", r.found.h3, "token", r.found.token, "id", r.found.id,
		"coordless_a", r.blocker.a.coordless, "coordless_b", r.blocker.b.coordless))
	r.notCompared(out, int64(min(possible, 1<<62)))
	return out
}

// notCompared names the keys that had too many pairs, and how many pairs they
// alone would have brought.
func (r *run) notCompared(out *canon.Object, possible int64) {
	full := &r.blocker.overFull
	if full.words+full.ids == 0 {
		return
	}
	pairs, exact := r.skipped, full.pairs <= exactBelow
	if !exact {
		pairs = min(full.pairs, possible-r.pairs)
	}
	if pairs <= 0 {
		return
	}
	fields := slices.Clone(r.plan.blockText)
	slices.Sort(fields)
	var keys []any
	if full.words > 0 {
		keys = append(keys, canon.Obj("strategy", "token", "fields", fields, "over_full", full.words, "most_pairs", full.most))
	}
	if full.wordPairs > 0 {
		keys = append(keys, canon.Obj("strategy", "token_pair", "fields", fields, "over_full", full.wordPairs))
	}
	if full.ids > 0 {
		ids := slices.Clone(r.plan.blockID)
		slices.Sort(ids)
		keys = append(keys, canon.Obj("strategy", "id", "fields", ids, "over_full", full.ids))
	}
	out.Set("pairs_not_compared", pairs)
	out.Set("not_compared", canon.Obj("pairs", pairs, "exact", exact, "pairs_per_key", maxPairsPerKey, "keys", keys))
}

// backend says which scorer ran and why no other did.
func (r *run) backend(records int) *canon.Object {
	// The contract's answers print this sentence.
	reason := fmt.Sprintf("%d records is below the floor of %d", records, backendFloor)
	if records >= backendFloor {
		reason = r.recipeReason()
	}
	return canon.Obj("floor", backendFloor, "records", records, "chosen", "arche", "reason", reason)
}

func (r *run) recipeReason() string {
	if recipe := recipes[r.plan.entity]; recipe != "" {
		return recipe
	}
	asked := "None"
	if r.plan.entity != "" {
		asked = canon.Repr(r.plan.entity)
	}
	return "no recipe of another scorer is shipped for entity " + asked
}

var recipes = map[string]string{
	"product_electronics": "the recipe for this pack did worse than the engine's own scorer",
	"place":               "another scorer runs only when asked for by backend",
	"person":              "another scorer runs only when asked for by backend",
}

// warnings names lists whose ids are not unique.
func (r *run) warnings() []string {
	var out []string
	for n, name := range [...]string{"list_a", "list_b"} {
		if r.repeated[n] > 0 {
			out = append(out, repeatWarning(name, r.repeated[n], r.req.IDField))
		}
	}
	return out
}

// survey looks through the records for what the answer says about the lists: a
// task for each list.
func (r *run) survey() []func() error {
	r.ignored = make(map[string]bool)
	var tasks []func() error
	for n, list := range [2][]*canon.Object{r.req.A, r.req.B} {
		tasks = append(tasks, func() error {
			r.repeated[n] = repeatedIDs(list, r.req.IDField)
			fields := fieldsOf(list)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ignore(fields)
			return nil
		})
	}
	return tasks
}

// ignore notes fields that no comparator of the pack reads.
func (r *run) ignore(fields map[string]bool) {
	read := r.plan.reads()
	read[r.req.IDField] = true
	for f := range fields {
		if !read[f] {
			r.ignored[f] = true
		}
	}
}

// fieldsOf is the set of the fields that records have. Most have the fields of
// the one before.
func fieldsOf(list []*canon.Object) map[string]bool {
	fields := make(map[string]bool)
	var before []string
	for _, rec := range list {
		n := 0
		for k := range rec.All() {
			if n >= len(before) {
				before = append(before, k)
				fields[k] = true
			} else if before[n] != k {
				before[n] = k
				fields[k] = true
			}
			n++
		}
	}
	return fields
}

func repeatWarning(list string, n int, field string) string {
	return fmt.Sprintf("%s: %d records repeat an id (%q) that another record of the list has; their pairs cannot be told apart by id", list, n, field)
}

func repeatedIDs(list []*canon.Object, field string) int {
	var texts textIndex
	texts.room(len(list))
	others := make(map[string]struct{})
	for i, rec := range list {
		id, ok := recordID(rec, field, i).(string)
		if !ok {
			others[canon.Repr(recordID(rec, field, i))] = struct{}{}
			continue
		}
		hash := textHash(id)
		if _, found := texts.findBy(hash, func(row int32) bool { return recordID(list[row], field, int(row)) == any(id) }); !found {
			texts.add(int32(i), hash)
		}
	}
	return len(list) - texts.n - len(others)
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// readAs says which fields that the pack does not name are read as one that it
// names.
func (p *plan) readAs(ignored []string) *canon.Object {
	out := canon.NewObject()
	if !p.v2 {
		return out
	}
	for _, f := range ignored {
		for field, names := range p.reading.aliases[p.entity] {
			if slices.Contains(names, f) {
				out.Set(f, field)
			}
		}
	}
	return out
}

// reads are the fields that the comparators look at.
func (p *plan) reads() map[string]bool {
	out := make(map[string]bool)
	for i := range p.comps {
		if c := &p.comps[i]; c.kind != kindGeo && !c.noField && !strings.HasPrefix(c.field, "\x00") {
			out[c.field] = true
		}
	}
	for _, g := range p.geoPairs {
		out[g.lat], out[g.lon] = true, true
	}
	return out
}

// Answer is the result as compare_records answers it.
func (r *Result) Answer() *canon.Object {
	matches := make([]any, len(r.Edges))
	for i := range r.Edges {
		matches[i] = r.Edges[i].Object()
	}
	out := canon.Obj("matches", matches, "count", len(matches), "pins", r.Pins, "blocking", r.Blocking)
	if r.Backend != nil {
		out.Set("backend", r.Backend)
	}
	if len(r.Warnings) > 0 {
		out.Set("warnings", r.Warnings)
	}
	if len(r.IgnoredFields) > 0 {
		out.Set("ignored_fields", r.IgnoredFields)
	}
	if r.ReadAs.Len() > 0 {
		out.Set("read_as", r.ReadAs)
	}
	return out
}

// Object is the edge as an answer lists it.
func (e *Edge) Object() *canon.Object {
	return canon.Obj("a_id", e.AID, "b_id", e.BID, "score", canon.Float(e.Score), "decision", e.Decision,
		"evidence", e.Evidence, "distinctive_max", canon.Float(e.DistinctiveMax), "decision_id", e.DecisionID)
}
