package ledger

import (
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

// exactFields are the fields of which one entity has one value.
var exactFields = []string{"national_id", "registration_id", "mbid"}

type exactValue struct{ field, value string }

// entityExact are the distinct exact identifiers of the newest versions of an
// entity's members.
func (r *reader) entityExact(e int32) ([]exactValue, error) {
	ent := &r.s.ents[e]
	if ent.exactN == len(ent.members) {
		return ent.exact, nil
	}
	more, err := r.exactOfAll(ent.members[ent.exactN:])
	if err != nil {
		return nil, err
	}
	for _, v := range more {
		if !slices.Contains(ent.exact, v) {
			ent.exact = append(ent.exact, v)
		}
	}
	ent.exactN = len(ent.members)
	return ent.exact, nil
}

func (r *reader) exactOfAll(recs []int32) ([]exactValue, error) {
	newest := make([]int32, 0, len(recs))
	var unread []int32
	for _, m := range recs {
		n := r.s.newest(m)
		newest = append(newest, n)
		if _, ok := r.l.cache.exact[n]; !ok {
			unread = append(unread, n)
		}
	}
	if err := r.fetch(unread); err != nil {
		return nil, err
	}
	var out []exactValue
	for _, n := range newest {
		v, err := r.exactOf(n)
		if err != nil {
			return nil, err
		}
		out = append(out, v...)
	}
	return out, nil
}

// contradicts reports whether linking two records would bring two values of an
// exact identifier into one entity. Fields that both records carry themselves
// are exempt: the engine weighed them.
func (r *reader) contradicts(a, b int32) (bool, error) {
	ea, eb := r.s.recs[a].ent, r.s.recs[b].ent
	if ea >= 0 && ea == eb {
		return false, nil
	}
	va, err := r.exactAround(a)
	if err != nil {
		return false, err
	}
	vb, err := r.exactAround(b)
	if err != nil || len(va) == 0 || len(vb) == 0 {
		return false, err
	}
	own, err := r.exactOf(a)
	if err != nil {
		return false, err
	}
	other, err := r.exactOf(b)
	if err != nil {
		return false, err
	}
	for _, f := range exactFields {
		if hasField(own, f) && hasField(other, f) {
			continue
		}
		if hasField(va, f) && hasField(vb, f) && !covers(va, vb, f) && !covers(vb, va, f) {
			return true, nil
		}
	}
	return false, nil
}

func (r *reader) exactAround(i int32) ([]exactValue, error) {
	if e := r.s.recs[i].ent; e >= 0 {
		return r.entityExact(e)
	}
	return r.exactOfAll(r.s.loose(i))
}

func hasField(vals []exactValue, field string) bool {
	return slices.ContainsFunc(vals, func(v exactValue) bool { return v.field == field })
}

// covers reports whether a has every value of the field that b has.
func covers(a, b []exactValue, field string) bool {
	for _, v := range b {
		if v.field == field && !slices.Contains(a, v) {
			return false
		}
	}
	return true
}

// exactOf are the exact identifiers of a record, compared as identifiers are:
// letters and digits alone, lower case.
func (r *reader) exactOf(i int32) ([]exactValue, error) {
	if v, ok := r.l.cache.exact[i]; ok {
		return v, nil
	}
	if r.s.recs[i].erased {
		return nil, nil
	}
	o, err := r.contentOf(i)
	if err != nil {
		return nil, err
	}
	v := exactValues(o)
	r.l.cache.exact[i] = v
	return v, nil
}

func exactValues(rec *canon.Object) []exactValue {
	var out []exactValue
	for _, f := range exactFields {
		if v := identifier(rec.Value(f)); v != "" {
			out = append(out, exactValue{f, v})
		}
	}
	return out
}

func identifier(v any) string {
	if blank(v) {
		return ""
	}
	text := canon.Text(v)
	id := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, text)
	if id == "" {
		return foldText(v)
	}
	return id
}
