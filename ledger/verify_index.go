package ledger

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"runtime"

	"github.com/arche-ledger/arche/internal/fault"
)

// index makes every stretch of the index of resolve again and compares bytes.
func (v *verification) index() error {
	there, err := v.l.index.there(v.ctx, v.db)
	if err != nil || !there {
		return err
	}
	type group struct{ entityType, form string }
	var groups []group
	have := map[group][]*indexPart{}
	err = v.db.Query(v.ctx, `SELECT entity_type, form, first, n FROM index_parts ORDER BY ALL`, nil, func(x []driver.Value) error {
		var g group
		g.entityType, _ = x[0].(string)
		g.form, _ = x[1].(string)
		first, _ := x[2].(int64)
		n, _ := x[3].(int64)
		if len(have[g]) == 0 {
			groups = append(groups, g)
		}
		have[g] = append(have[g], &indexPart{first: int(first), n: int(n)})
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range groups {
		key, known := keyOfForm(g.form)
		if !known {
			v.report.Notes = append(v.report.Notes, fmt.Sprintf("%d stretches of the index of resolve are another version's and were not compared", len(have[g])))
			continue
		}
		typ := v.state.words.index[g.entityType]
		if err := v.parts(key, v.state.byType[typ], g.entityType, g.form, have[g]); err != nil {
			return err
		}
	}
	return nil
}

// parts compares the stretches of one form.
func (v *verification) parts(key corpusKey, list []int32, entityType, form string, have []*indexPart) error {
	wrong := func(x *indexPart, what string) {
		v.report.add(Finding{Table: "index_parts", Field: "part", What: fmt.Sprintf("records %d to %d of type %s: %s", x.first, x.first+x.n, clip(entityType), what)})
	}
	var good []*indexPart
	for n, x := range have {
		switch {
		case x.first < 0 || x.n <= 0 || x.first+x.n > len(list):
			wrong(x, "there are not so many")
		case n > 0 && x.first < have[n-1].first+have[n-1].n:
			wrong(x, "another stretch holds some of them")
		default:
			good = append(good, x)
		}
	}
	r := v.l.reader(v.ctx, v.db, v.state)
	for step := max(1, runtime.GOMAXPROCS(0)); len(good) > 0; good = good[min(step, len(good)):] {
		some := good[:min(step, len(good))]
		if _, err := r.makeParts(key, list, some); err != nil {
			if f := fault.As(err); f != nil && f.Kind == fault.Damaged {
				v.report.Notes = append(v.report.Notes, "the index of resolve was not compared: stored records are damaged")
				return nil
			}
			return err
		}
		for _, x := range some {
			same := false
			err := v.db.Query(v.ctx, `SELECT part FROM index_parts WHERE entity_type = ? AND form = ? AND first = ?`, []any{entityType, form, int64(x.first)},
				func(c []driver.Value) error {
					b, _ := c[0].([]byte)
					same = bytes.Equal(b, x.bytes)
					return nil
				})
			if err != nil {
				return err
			}
			if !same {
				wrong(x, "it differs from what they give")
			}
			x.bytes, x.part = nil, nil
		}
	}
	return nil
}
