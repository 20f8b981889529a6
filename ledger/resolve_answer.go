package ledger

import (
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

func (v *arrival) candidateViews() *canon.Object {
	out := canon.NewObject()
	for _, c := range v.candidates {
		out.Set(v.u.s.ents[c.entity].id, canon.Obj("identity", c.identity, "score", canon.Float(c.score),
			"matched", c.matched, "review", c.review, "members", c.members))
	}
	return out
}

// entityEvidence compares the newcomer with the nearest entity's profile.
func (v *arrival) entityEvidence() (*canon.Object, error) {
	if v.nearest < 0 {
		return nil, nil
	}
	profile, err := v.r.profile(v.u.s.ents[v.candidates[v.nearest].entity].members)
	if err != nil || profile.Len() == 0 {
		return nil, err
	}
	p, err := resolve.ComparePair(v.r.ctx, resolve.PairRequest{
		A: v.form, B: profile, Entity: v.key.entity, PackVersion: v.key.packVersion, Engine: v.key.engine,
	})
	if err != nil {
		return nil, err
	}
	fields := profile.Keys()
	slices.Sort(fields)
	return canon.Obj("identity", p.Identity, "action", p.Action, "score", canon.Float(p.Score), "explanation", p.Explanation,
		"factors", p.Factors, "profile_fields", fields), nil
}

// profile is what an entity says of itself: values all members that carry the
// field agree on, the first member's.
func (r *reader) profile(members []int32) (*canon.Object, error) {
	order := slices.Clone(members)
	slices.SortFunc(order, func(x, y int32) int { return compareInt(r.s.recs[x].first, r.s.recs[y].first) })
	out := canon.NewObject()
	text := map[string]string{}
	var disputed []string
	for _, m := range order {
		form, err := r.packed(m)
		if err != nil {
			return nil, err
		}
		for k, val := range form.All() {
			t := foldText(val)
			if old, ok := text[k]; !ok {
				text[k] = t
				out.Set(k, val)
			} else if old != t {
				disputed = append(disputed, k)
			}
		}
	}
	for _, k := range disputed {
		out.Delete(k)
	}
	return out, nil
}

func (v *arrival) answer(verdict, note string, candidates, evidence *canon.Object, made []int32) (*canon.Object, error) {
	r := v.r
	if candidates == nil {
		candidates = canon.NewObject()
	}
	entity, err := v.entityOf(verdict)
	if err != nil {
		return nil, err
	}
	decisions := make([]any, len(made))
	would := []string{}
	for n, i := range made {
		rec, err := v.u.receiptOf(r, i)
		if err == nil && n == 0 && (verdict == "review" || verdict == "ambiguous") {
			would, err = r.wouldResolve(rec)
		}
		if err != nil {
			return nil, err
		}
		decisions[n] = r.view(rec)
	}
	if v.conflicts == nil {
		v.conflicts = []string{}
	}
	out := canon.Obj("verdict", verdict, "note", note, "record_id", v.row.id, "entity", entity, "candidates", candidates,
		"entity_evidence", objectOrNil(evidence), "conflicting_fields", v.conflicts, "would_resolve", would, "decisions", decisions)
	return out, nil
}

func objectOrNil(o *canon.Object) any {
	if o == nil {
		return nil
	}
	return o
}

// entityOf is the entity that the answer shows.
func (v *arrival) entityOf(verdict string) (any, error) {
	e := int32(-1)
	switch verdict {
	case "found":
		e = v.u.s.recs[v.u.s.lookupRecord(v.row.id)].ent
	case "review", "conflict":
		if v.nearest >= 0 {
			e = v.candidates[v.nearest].entity
		}
	}
	if e < 0 {
		return nil, nil
	}
	return v.r.entityView(e)
}

// receiptOf is a decision's receipt, from this unit when it is part of it.
func (u *unit) receiptOf(r *reader, i int32) (*receipt, error) {
	seq := u.s.decs[i].seq
	if len(u.events) == 0 || seq < u.events[0].seq {
		return r.receipt(i)
	}
	body, err := u.events[seq-u.events[0].seq].Body()
	return &receipt{i: i, body: body}, err
}
