package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

// Resolve compares a newcomer with every stored record of a type, decides at
// the level of entities, stores the newcomer and links it when that is safe.
func (l *Ledger) Resolve(ctx context.Context, record *canon.Object, entityType string) (*canon.Object, error) {
	if record.Len() == 0 {
		return nil, fault.New(fault.Invalid, "record must be a non-empty object of field: value")
	}
	if err := checkPack(entityType); err != nil {
		return nil, err
	}
	given := record.Clone()
	given.Delete("id")
	entering, err := newRow(given, baseEntity(entityType))
	if err != nil {
		return nil, err
	}
	var out *canon.Object
	err = l.write(ctx, func(u *unit) error {
		v := &arrival{
			u: u, r: u.reader(), row: entering, form: packForm(given),
			key: corpusKey{entityType, l.opts.PackVersion, l.opts.Engine}, typ: u.s.words.put(baseEntity(entityType)),
		}
		out, err = v.resolve(ctx)
		return err
	})
	return out, err
}

// checkPack refuses a type that no pack exists for.
func checkPack(entityType string) error {
	if names := resolve.Entities(); !slices.Contains(names, baseEntity(entityType)) {
		return fault.New(fault.Invalid, "no entity pack named %s; have %s", canon.Repr(clip(entityType)), strings.Join(names, ", "))
	}
	return nil
}

// arrival is a newcomer on its way in.
type arrival struct {
	u    *unit
	r    *reader
	row  row
	form *canon.Object
	key  corpusKey
	typ  word

	self       int32 // the stored record that the newcomer is equal to, -1 none
	candidates []candidate
	loose      []int // edges to records that are in no entity
	nearest    int   // place in candidates, -1 none
	conflicts  []string
}

// candidate is an entity that edges lead to.
type candidate struct {
	entity          int32
	identity        string
	score           float64
	matched, review int
	members         int
}

func (v *arrival) resolve(ctx context.Context) (*canon.Object, error) {
	s := v.u.s
	v.self = s.lookupRecord(v.row.id)
	if v.self >= 0 && s.recs[v.self].erased {
		v.self = -1
	}
	c, res, err := v.r.match(v)
	if err != nil {
		return nil, err
	}
	if c.index.Len() == 0 {
		if _, err := v.u.store(&v.row, s.words.get(v.typ)); err != nil {
			return nil, err
		}
		return v.answer("not_found", "no records of this type in the ledger yet", nil, nil, nil)
	}
	list := v.r.corpusList(c, v.typ)
	v.group(res.Edges)
	if err := v.findConflicts(); err != nil {
		return nil, err
	}
	verdict, note := v.decide(len(res.Edges))
	return v.record(res, list, verdict, note)
}

// target is the stored record that an edge leads to.
func (v *arrival) target(e *resolve.Edge) int32 {
	id, _ := e.BID.(string)
	return v.u.s.lookupRecord(id)
}

// group gathers the edges by the entity of their candidate.
func (v *arrival) group(edges []resolve.Edge) {
	place := map[int32]int{}
	for n := range edges {
		e := &edges[n]
		ent := v.u.s.recs[v.target(e)].ent
		if ent < 0 {
			v.loose = append(v.loose, n)
			continue
		}
		at, ok := place[ent]
		if !ok {
			at = len(v.candidates)
			place[ent] = at
			v.candidates = append(v.candidates, candidate{entity: ent, identity: e.Decision, score: e.Score})
		}
		c := &v.candidates[at]
		c.members++
		if e.Decision == "match" {
			c.matched++
		} else {
			c.review++
		}
		if better(e, c) {
			c.identity, c.score = e.Decision, e.Score
		}
	}
	v.nearest = v.pickNearest()
	v.looseMatches(edges)
}

func better(e *resolve.Edge, c *candidate) bool {
	if (e.Decision == "match") != (c.identity == "match") {
		return e.Decision == "match"
	}
	return e.Score > c.score
}

// looseMatches keeps only those loose edges that match.
func (v *arrival) looseMatches(edges []resolve.Edge) {
	v.loose = slices.DeleteFunc(v.loose, func(n int) bool { return edges[n].Decision != "match" })
}

func (v *arrival) matchedEntities() int {
	n := 0
	for _, c := range v.candidates {
		if c.identity == "match" {
			n++
		}
	}
	return n
}

// pickNearest is the one matched entity, without any the highest score, with
// several none.
func (v *arrival) pickNearest() int {
	matched := v.matchedEntities()
	best := -1
	for n, c := range v.candidates {
		switch {
		case matched == 1 && c.identity == "match":
			return n
		case matched == 0 && (best < 0 || c.score > v.candidates[best].score):
			best = n
		}
	}
	return best
}

// packIDs are the fields that a pack compares as identifiers.
var packIDs = map[string][]string{
	"person": {"national_id"}, "organisation": {"registration_id"}, "organization": {"registration_id"}, "artist": {"isni", "mbid"},
}

// findConflicts names the identifiers that the nearest entity agrees on and
// the newcomer contradicts.
func (v *arrival) findConflicts() error {
	v.conflicts = []string{}
	if v.nearest < 0 {
		return nil
	}
	members := v.u.s.ents[v.candidates[v.nearest].entity].members
	for _, field := range packIDs[baseEntity(v.key.entity)] {
		own := v.form.Value(field)
		if blank(own) {
			continue
		}
		value, shared, err := v.r.sharedValue(members, field)
		if err != nil {
			return err
		}
		if shared && value != foldText(own) {
			v.conflicts = append(v.conflicts, field)
		}
	}
	return nil
}

// sharedValue is the folded value of a field that at least two members carry
// and no member disputes.
func (r *reader) sharedValue(members []int32, field string) (value string, shared bool, err error) {
	count := 0
	for _, m := range members {
		form, err := r.packed(m)
		if err != nil {
			return "", false, err
		}
		x, ok := form.Get(field)
		if !ok {
			continue
		}
		text := foldText(x)
		if count > 0 && text != value {
			return "", false, nil
		}
		value = text
		count++
	}
	return value, count > 1, nil
}

func (v *arrival) decide(edges int) (verdict, note string) {
	matched := v.matchedEntities()
	switch {
	case matched > 1:
		return "ambiguous", fmt.Sprintf("members of %d entities matched; the record may bridge entities that are one thing, or one match is wrong. Link withheld.", matched)
	case len(v.conflicts) > 0:
		return "conflict", conflictNote(v.conflicts, matched == 1)
	case matched == 1:
		return "found", fmt.Sprintf("matched %d member(s) of one entity", v.candidates[v.nearest].matched)
	case len(v.loose) > 0:
		return "found", "matched a stored record that was not yet in any entity"
	case edges > 0:
		return "review", "no member matched outright; the nearest pairs are open cases"
	}
	return "not_found", "no stored record came close"
}

func conflictNote(fields []string, matched bool) string {
	note := "the nearest entity agrees on " + strings.Join(fields, ", ") + " and this record contradicts it"
	if matched {
		return note + ". Link withheld."
	}
	return note + "; nothing was linked."
}

// record stores the newcomer, the run and the decisions, links on found, and
// makes the answer.
func (v *arrival) record(res *resolve.Result, list runList, verdict, note string) (*canon.Object, error) {
	u := v.u
	// Candidates are shown as they were before the newcomer came.
	shown := v.candidateViews()
	evidence, err := v.entityEvidence()
	if err != nil {
		return nil, err
	}
	me, err := u.store(&v.row, u.s.words.get(v.typ))
	if err != nil {
		return nil, err
	}
	pins, err := appendJCS(nil, res.Pins)
	if err != nil {
		return nil, err
	}
	run, err := u.recordRun("resolve", v.call(), rawJSON(pins), runList{ids: []string{v.row.id}}, list)
	if err != nil {
		return nil, err
	}
	made, kept, err := v.recordEdges(res.Edges, run, pins, me, verdict)
	if err != nil {
		return nil, err
	}
	if verdict == "found" && kept == 0 && v.self < 0 {
		verdict, note = "conflict", "what matched belongs to an entity with another exact identifier. Link withheld."
	}
	return v.answer(verdict, note, shown, evidence, made)
}

func (v *arrival) call() *canon.Object {
	call := canon.Obj("entity", v.key.entity, "id_field", "id")
	if v.key.packVersion != "" {
		call.Set("pack_version", v.key.packVersion)
	}
	if v.key.engine != "" {
		call.Set("engine", v.key.engine)
	}
	return call
}

// recordEdges records the edges in the engine's order; kept counts the links
// that hold.
func (v *arrival) recordEdges(edges []resolve.Edge, run string, pins rawJSON, me int32, verdict string) (made []int32, kept int, err error) {
	for n := range edges {
		e := &edges[n]
		to := v.target(e)
		if to == me {
			continue // the newcomer is stored already and matches itself
		}
		d := edgeVerdict(e, "resolve", pins, me, to)
		withheld := ""
		if linkingIdentity(d.identity) {
			switch verdict {
			case "ambiguous":
				withheld = withheldAmbiguous
			case "conflict":
				withheld = withheldConflict
			default:
				bad, err := v.r.contradicts(me, to)
				if err != nil {
					return nil, 0, err
				}
				if bad {
					withheld = withheldConflict
				}
			}
		}
		i, err := v.u.recordVerdict(&d, run, withheld)
		if err != nil {
			return nil, 0, err
		}
		if v.u.s.joins(i) {
			kept++
		}
		made = append(made, i)
	}
	s := v.u.s
	slices.SortStableFunc(made, func(x, y int32) int {
		if lx, ly := s.linking(x), s.linking(y); lx != ly {
			if lx {
				return -1
			}
			return 1
		}
		switch a, b := s.decs[x].score, s.decs[y].score; {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	return made, kept, nil
}
