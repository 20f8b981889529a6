package ledger

import (
	"bytes"
	"encoding/hex"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

// entity is a component of records that at least one decision holds together.
type entity struct {
	id      string
	typ     word
	fa, fb  int32 // the founding pair, sides kept
	born    int64 // time of the unit that made it, microseconds
	first   int64 // earliest first link of its members
	members []int32
	answer  *canon.Object // its view, until something changes
	exact   []exactValue  // distinct exact identifiers of the first exactN members
	exactN  int
}

// forget drops what was read from the values of the members.
func (e *entity) forget() { e.answer, e.exact, e.exactN = nil, nil, 0 }

const entityDomain = "arche.entity.v1\x00"

// deriveEntityID names an entity after its founding pair. When another entity
// carries that name still (it kept it through a split), the founding event is
// hashed in too.
func (s *state) deriveEntityID(a, b int32, event address) string {
	r1, r2 := &s.recs[a].id, &s.recs[b].id
	if bytes.Compare(r1[:], r2[:]) > 0 {
		r1, r2 = r2, r1
	}
	text := make([]byte, 0, 320)
	text = append(append(text, entityDomain...), recordPrefix...)
	text = append(hex.AppendEncode(text, r1[:]), "\x00"+recordPrefix...)
	text = hex.AppendEncode(text, r2[:])
	id := entityName(text)
	if _, taken := s.entIdx[id]; taken {
		id = entityName(hex.AppendEncode(append(text, "\x00"+eventPrefix...), event[:]))
	}
	return id
}

func entityName(text []byte) string {
	sum := blake3.Sum256(text)
	name := [36]byte{'e', 'n', 't', '_'}
	hex.Encode(name[4:], sum[:16])
	return string(name[:])
}

// neighbours calls visit for every record that an edge joins to r now.
func (s *state) neighbours(r int32, visit func(int32)) {
	for _, d := range s.recs[r].decs {
		if s.joins(d) {
			visit(s.decs[d].a + s.decs[d].b - r)
		}
	}
	s.quietNeighbours(r, visit)
}

// quietNeighbours are those joined by no decision of an engine: other versions
// of the record and records that an operator said are the same.
func (s *state) quietNeighbours(r int32, visit func(int32)) {
	if len(s.versions) > 0 && s.recs[r].first != 0 {
		for _, v := range s.versions[r] {
			if s.recs[v].first != 0 {
				visit(v)
			}
		}
	}
	if len(s.sameOf) > 0 {
		for _, v := range s.sameOf[r] {
			if op := s.ops[orderedPair(r, v)]; op.verdict == "same" {
				visit(v)
			}
		}
	}
}

// founding is an event that links two records.
type founding struct {
	seq   int64
	a, b  int32
	event address
}

// earliest is the earliest linking event among the members that holds now.
func (s *state) earliest(members []int32) (f founding, ok bool) {
	for _, r := range members {
		for _, i := range s.recs[r].decs {
			if d := &s.decs[i]; d.a == r && s.joins(i) && (!ok || d.seq < f.seq) {
				f, ok = founding{d.seq, d.a, d.b, d.event}, true
			}
		}
		for _, v := range s.sameOf[r] {
			if op := s.ops[orderedPair(r, v)]; op.verdict == "same" && (!ok || op.seq < f.seq) {
				a, b := s.pairOf(op.subject)
				f, ok = founding{op.seq, a, b, eventAddress(op.event)}, true
			}
		}
	}
	return f, ok
}

// change says by what the graph changes.
type change struct {
	seq   int64
	at    int64
	batch bool // by a batch verb, whose merges keep side a's entity
}

// join takes a new edge between x (side a) and y into the entities. The edge
// is in the graph already.
func (s *state) join(x, y int32, c change) {
	ex, ey := s.recs[x].ent, s.recs[y].ent
	switch {
	case x == y:
	case ex >= 0 && ex == ey:
		s.ents[ex].answer = nil
	case ex >= 0 && ey >= 0:
		s.merge(ex, ey, c)
	case ex >= 0:
		s.enter(ex, s.loose(y), c)
	case ey >= 0:
		s.enter(ey, s.loose(x), c)
	default:
		members := s.loose(x)
		if f, ok := s.earliest(members); ok {
			s.found(members, f, c)
		}
	}
}

// loose is the component of a record that is in no entity, sorted.
func (s *state) loose(r int32) []int32 {
	const few = 16 // most are two records: looking through them is quicker than a map
	var seen map[int32]bool
	out := make([]int32, 1, 2)
	out[0] = r
	for i := 0; i < len(out); i++ {
		s.neighbours(out[i], func(n int32) {
			if s.recs[n].ent >= 0 || seen[n] || len(out) <= few && slices.Contains(out, n) {
				return
			}
			out = append(out, n)
			switch {
			case seen != nil:
				seen[n] = true
			case len(out) > few:
				seen = make(map[int32]bool, 2*few)
				for _, x := range out {
					seen[x] = true
				}
			}
		})
	}
	slices.Sort(out)
	return out
}

// found makes an entity.
func (s *state) found(members []int32, f founding, c change) int32 {
	e := int32(len(s.ents)) //nolint:gosec // bounded by the number of events
	s.ents = append(s.ents, entity{
		id: s.deriveEntityID(f.a, f.b, f.event), typ: s.recs[f.a].typ,
		fa: f.a, fb: f.b, born: c.at,
	})
	s.entIdx[s.ents[e].id] = e
	s.entLive++
	s.enter(e, members, c)
	return e
}

// enter puts records into an entity.
func (s *state) enter(e int32, members []int32, c change) {
	ent := &s.ents[e]
	ent.answer = nil
	for _, r := range members {
		s.recs[r].ent = e
		s.member(c.seq, r, e)
		if f := s.recs[r].first; f != 0 && (ent.first == 0 || f < ent.first) {
			ent.first = f
		}
	}
	ent.members = append(ent.members, members...)
}

// merge joins two entities. In a batch side a's survives, unless only b's
// existed before the batch; by a pair verb the one with the earliest link does.
func (s *state) merge(ea, eb int32, c change) {
	keep, lose := ea, eb
	if s.survivor(ea, eb, c) == eb {
		keep, lose = eb, ea
	}
	gone := &s.ents[lose]
	members := gone.members
	s.drop(lose)
	s.enter(keep, members, c)
}

func (s *state) survivor(ea, eb int32, c change) int32 {
	a, b := &s.ents[ea], &s.ents[eb]
	if c.batch {
		if b.born < c.at && a.born >= c.at {
			return eb
		}
		return ea
	}
	if b.first < a.first {
		return eb
	}
	return ea
}

// drop ends an entity; its records are the caller's to place.
func (s *state) drop(e int32) {
	ent := &s.ents[e]
	delete(s.entIdx, ent.id)
	ent.members, ent.answer = nil, nil
	s.entLive--
}

// reshape finds the entities again around an edge that was taken away, and
// around whatever joined in the same event.
func (s *state) reshape(seeds []int32, c change) {
	r := reshaping{s: s, was: map[int32]int32{}}
	for _, x := range seeds {
		r.take(x)
	}
	slices.Sort(r.universe)
	r.split()
	r.settle(c)
}

type reshaping struct {
	s        *state
	was      map[int32]int32 // records taken, with the entity each was in
	universe []int32
	olds     []int32 // entities taken apart
	pieces   []piece
}

type piece struct {
	members []int32
	link    founding
	linked  bool
	claims  []int32 // old entities whose name it may keep
}

// take puts a record, and the entity it is in, into the work.
func (r *reshaping) take(x int32) {
	if _, ok := r.was[x]; ok {
		return
	}
	e := r.s.recs[x].ent
	if e < 0 {
		r.was[x] = -1
		r.universe = append(r.universe, x)
		return
	}
	r.olds = append(r.olds, e)
	for _, m := range r.s.ents[e].members {
		r.was[m] = e
		r.universe = append(r.universe, m)
		r.s.recs[m].ent = -1
	}
}

func (r *reshaping) split() {
	seen := map[int32]bool{}
	for i := 0; i < len(r.universe); i++ {
		start := r.universe[i]
		if seen[start] {
			continue
		}
		seen[start] = true
		members := []int32{start}
		for j := 0; j < len(members); j++ {
			r.s.neighbours(members[j], func(n int32) {
				if !seen[n] {
					r.take(n)
					seen[n] = true
					members = append(members, n)
				}
			})
		}
		slices.Sort(members)
		p := piece{members: members}
		if len(members) > 1 {
			p.link, p.linked = r.s.earliest(members)
		}
		r.pieces = append(r.pieces, p)
	}
}

// settle names the pieces: an old entity's name stays with the piece that holds
// its founding pair, else with the piece of the earliest link.
func (r *reshaping) settle(c change) {
	s := r.s
	at := map[int32]int{}
	for i, p := range r.pieces {
		for _, m := range p.members {
			at[m] = i
		}
	}
	slices.SortFunc(r.olds, func(x, y int32) int { return compareInt(s.ents[x].first, s.ents[y].first) })
	for _, e := range r.olds {
		if i := r.heir(e, at); i >= 0 {
			r.pieces[i].claims = append(r.pieces[i].claims, e)
		}
	}
	names := map[int32]string{}
	for _, e := range r.olds {
		names[e] = s.ents[e].id
	}
	target := make([]int32, len(r.pieces))
	kept := map[int32]bool{}
	for i, p := range r.pieces {
		target[i] = -1
		for _, e := range p.claims {
			if target[i] < 0 || s.survivor(target[i], e, change{}) == e {
				target[i] = e
			}
		}
		if target[i] >= 0 {
			kept[target[i]] = true
		}
	}
	for _, e := range r.olds {
		if kept[e] {
			s.ents[e].members, s.ents[e].first = nil, 0
			s.ents[e].forget()
		} else {
			s.drop(e)
		}
	}
	quiet := s.rows
	s.rows = nil // rows are written below, only for records whose entity changed its name
	for i, p := range r.pieces {
		switch {
		case !p.linked:
		case target[i] >= 0:
			s.enter(target[i], p.members, c)
		default:
			s.found(p.members, p.link, c)
		}
	}
	s.rows = quiet
	slices.Sort(r.universe)
	for _, m := range r.universe {
		before, after := "", ""
		if e := r.was[m]; e >= 0 {
			before = names[e]
		}
		if e := s.recs[m].ent; e >= 0 {
			after = s.ents[e].id
		}
		if before != after {
			s.member(c.seq, m, s.recs[m].ent)
		}
	}
}

// heir is the piece that inherits an entity's name, -1 when none is linked.
func (r *reshaping) heir(e int32, at map[int32]int) int {
	ent := &r.s.ents[e]
	ia, oka := at[ent.fa]
	ib, okb := at[ent.fb]
	if oka && okb && ia == ib && r.pieces[ia].linked && r.was[ent.fa] == e && r.was[ent.fb] == e {
		return ia
	}
	best := -1
	for m, was := range r.was {
		if was != e {
			continue
		}
		i := at[m]
		if p := &r.pieces[i]; p.linked && (best < 0 || p.link.seq < r.pieces[best].link.seq) {
			best = i
		}
	}
	return best
}

func compareInt[T int | int32 | int64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
