package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Entities answers all entities of a type, of every type when it is "", largest
// first. A type nobody used has none.
func (l *Ledger) Entities(ctx context.Context, entityType string) (*canon.Object, error) {
	var out *canon.Object
	err := l.use(ctx, func(db *duck.DB, s *state) error {
		r := l.reader(ctx, db, s)
		list := s.entitiesOf(entityType)
		if err := r.makeEntityViews(s.inLogOrder(list)); err != nil {
			return err
		}
		views := make([]any, len(list))
		for n, e := range list {
			v, err := r.entityView(e)
			if err != nil {
				return err
			}
			views[n] = v
		}
		out = canon.Obj("count", len(views), "entities", views)
		return nil
	})
	return out, err
}

// entitiesOf lists entities by size descending, then id.
func (s *state) entitiesOf(entityType string) []int32 {
	list := make([]int32, 0, s.entLive)
	for i := range s.ents {
		e := &s.ents[i]
		if len(e.members) > 0 && (entityType == "" || s.words.get(e.typ) == entityType) {
			list = append(list, int32(i)) //nolint:gosec // bounded by the number of events
		}
	}
	slices.SortFunc(list, func(x, y int32) int {
		a, b := &s.ents[x], &s.ents[y]
		if c := compareInt(len(b.members), len(a.members)); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	})
	return list
}

// inLogOrder puts entities in the order in which their records came: neighbours
// then lie together in the log.
func (s *state) inLogOrder(list []int32) []int32 {
	order := slices.Clone(list)
	slices.SortFunc(order, func(x, y int32) int {
		a, b := s.ents[x].members[0], s.ents[y].members[0]
		return cmp.Or(cmp.Compare(s.recs[a].seq, s.recs[b].seq), cmp.Compare(x, y))
	})
	return order
}

// makeEntityViews makes the views that are missing, part by part.
func (r *reader) makeEntityViews(list []int32) error {
	list = slices.DeleteFunc(list, func(e int32) bool { return r.s.ents[e].answer != nil })
	if err := r.checkAll(list); err != nil {
		return err
	}
	defer func() { r.shelf = nil }()
	for len(list) > 0 {
		n, err := r.stockEntities(list)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(list[:n], 512) {
			if err := r.viewsOf(some); err != nil {
				return err
			}
		}
		list = list[n:]
	}
	return nil
}

// viewsOf makes the views of some entities whose contents lie on the shelf.
func (r *reader) viewsOf(list []int32) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	var recs []int32
	for _, e := range list {
		if len(recs)+len(r.s.ents[e].members) < r.l.cache.most/2 {
			recs = append(recs, r.s.ents[e].members...)
		}
	}
	if err := r.parseShelf(recs); err != nil {
		return err
	}
	for _, e := range list {
		if _, err := r.entityView(e); err != nil {
			return err
		}
	}
	return nil
}

// stockEntities reads at once the contents that the views of the first entities
// of a list need, as many as the shelf holds, and says how many entities those
// are. A reading of its own for each would look through the log each time.
func (r *reader) stockEntities(list []int32) (n int, err error) {
	var recs []int32
	for _, e := range list {
		n++
		if recs = append(recs, r.s.ents[e].members...); len(recs) > r.l.cache.shelf {
			break
		}
	}
	return n, r.stock(recs)
}

// checkAll compares the decisions that entities show with their events, those
// not compared before, in one reading.
func (r *reader) checkAll(list []int32) error {
	var decs []int32
	for _, e := range list {
		for _, m := range r.s.ents[e].members {
			for _, d := range r.s.recs[m].decs {
				if r.s.decs[d].a == m && r.s.linking(d) && !r.l.cache.checked.has(d) {
					decs = append(decs, d)
				}
			}
		}
	}
	const few = 4
	if len(decs) > few {
		return r.receiptsAhead(decs, func(*receipt) error { return nil })
	}
	for _, i := range decs {
		if _, err := r.receipt(i); err != nil {
			return err
		}
	}
	return nil
}

// entityView is an entity as the tools show it, made once until it changes.
func (r *reader) entityView(e int32) (*canon.Object, error) {
	ent := &r.s.ents[e]
	if ent.answer != nil {
		return ent.answer, nil
	}
	members := slices.Clone(ent.members)
	slices.SortFunc(members, func(x, y int32) int {
		return cmp.Or(cmp.Compare(r.s.recs[x].first, r.s.recs[y].first), cmp.Compare(x, y))
	})
	if r.shelf == nil {
		if err := r.fetch(members); err != nil {
			return nil, err
		}
	}
	records := make([]any, len(members))
	for i, m := range members {
		v, err := r.named(m)
		if err != nil {
			return nil, err
		}
		records[i] = v
	}
	shared, conflicting, err := r.agreement(members)
	if err != nil {
		return nil, err
	}
	out := canon.Obj(
		"entity_id", ent.id, "entity_type", r.s.words.get(ent.typ), "held_together_by", "direct", "records", records,
		"shared_fields", shared, "conflicting_fields", conflicting,
		"weak_links", []any{}, "bridges", []string{}, "decisions", 0, "members_digest", r.s.membersDigest(members),
	)
	if err := r.addStructure(out, e, members); err != nil {
		return nil, err
	}
	ent.answer = out
	return out, nil
}

func (s *state) membersDigest(members []int32) string {
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = s.recordID(m)
	}
	slices.Sort(ids)
	return "blake3:" + blake3Hex([]byte(strings.Join(ids, "\x00")))
}

// agreement sorts the fields that at least two members carry into those with
// one value and those with several.
func (r *reader) agreement(members []int32) (shared, conflicting []string, err error) {
	type field struct {
		value   string
		count   int
		differs bool
	}
	fields := map[string]*field{}
	for _, m := range members {
		if r.s.recs[m].erased {
			continue
		}
		o, err := r.contentOf(m)
		if err != nil {
			return nil, nil, err
		}
		for k, v := range o.All() {
			if k == "id" || strings.HasPrefix(k, "_") || blank(v) {
				continue
			}
			text := foldText(v)
			f, ok := fields[k]
			if !ok {
				fields[k] = &field{value: text, count: 1}
				continue
			}
			f.count++
			f.differs = f.differs || f.value != text
		}
	}
	shared, conflicting = []string{}, []string{}
	for k, f := range fields {
		switch {
		case f.count < 2:
		case f.differs:
			conflicting = append(conflicting, k)
		default:
			shared = append(shared, k)
		}
	}
	slices.Sort(shared)
	slices.Sort(conflicting)
	return shared, conflicting, nil
}

// addStructure fills in what holds the entity together. It counts every
// decision with a linking identity, superseded and withheld ones included.
func (r *reader) addStructure(out *canon.Object, e int32, members []int32) error {
	type key struct {
		public address
		a, b   int32
	}
	seen := map[key]bool{}
	last := map[[2]int32]int32{} // pair -> last recorded decision
	next := map[int32][]int32{}
	var withheld []any
	for _, m := range members {
		for _, i := range r.s.recs[m].decs {
			d := &r.s.decs[i]
			if !r.s.linking(i) {
				continue
			}
			if d.withheld != 0 && r.s.live(i) {
				withheld = append(withheld, r.withheldView(i, m))
			}
			if d.a != m || r.s.recs[d.b].ent != e {
				continue
			}
			if err := r.checkDecision(i); err != nil {
				return err
			}
			seen[key{d.public, d.a, d.b}] = true
			pair := orderedPair(d.a, d.b)
			old, ok := last[pair]
			if !ok {
				next[d.a] = append(next[d.a], d.b)
				next[d.b] = append(next[d.b], d.a)
			}
			if !ok || d.seq > r.s.decs[old].seq {
				last[pair] = i
			}
		}
	}
	out.Set("decisions", len(seen))
	if len(withheld) > 0 {
		out.Set("withheld_links", withheld)
	}
	n := len(members)
	if len(last) >= n*(n-1)/2 {
		return nil
	}
	out.Set("held_together_by", "transitive")
	if n <= 2 {
		return nil
	}
	return r.addWeak(out, findWeak(members, next), last)
}

func (r *reader) withheldView(i, member int32) *canon.Object {
	d := &r.s.decs[i]
	return canon.Obj("decision_id", r.s.publicID(i), "record_id", r.s.recordID(d.a+d.b-member), "reason", r.s.words.get(d.withheld))
}

func (r *reader) addWeak(out *canon.Object, w weaknesses, last map[[2]int32]int32) error {
	ids := make([]string, 0, len(w.bridges))
	for _, pair := range w.bridges {
		ids = append(ids, r.s.publicID(last[pair]))
	}
	slices.Sort(ids)
	slices.SortFunc(w.points, func(x, y int32) int { return strings.Compare(r.s.recordID(x), r.s.recordID(y)) })
	points := make([]any, 0, len(w.points))
	for _, p := range w.points {
		v, err := r.named(p)
		if err != nil {
			return err
		}
		points = append(points, v)
	}
	out.Set("weak_links", points)
	out.Set("bridges", ids)
	return nil
}
