package ledger

import (
	"github.com/arche-ledger/arche/resolve"
)

type corpusKey struct{ entity, packVersion, engine string }

// corpus is the candidate index over the records of a type, extended as records
// are stored.
type corpus struct {
	index  *resolve.Corpus
	n      int   // records of the type that are in it
	erased []int // places of those left out because their values were erased
}

// corpusOf brings the index of a type up to all its stored records.
func (r *reader) corpusOf(key corpusKey, typ word) (*corpus, error) {
	c := r.l.cache.corpora[key]
	if c == nil {
		index, err := resolve.NewCorpus(key.entity, key.packVersion, key.engine)
		if err != nil {
			return nil, err
		}
		c = &corpus{index: index}
		r.l.cache.corpora[key] = c
	}
	return c, r.extend(c, r.s.byType[typ])
}

// extend adds the records behind the first c.n of a list.
func (r *reader) extend(c *corpus, list []int32) error {
	const step = contentCacheMost / 4
	for c.n < len(list) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		part := list[c.n:min(c.n+step, len(list))]
		if err := r.fetch(part); err != nil {
			return err
		}
		for _, i := range part {
			if r.s.recs[i].erased {
				c.erased = append(c.erased, c.n)
			} else {
				o, err := r.contentOf(i)
				if err != nil {
					return err
				}
				c.index.Add(r.s.recordID(i), packForm(o))
			}
			c.n++
		}
	}
	return nil
}

// list is the run's list of the records that are in the index.
func (r *reader) corpusList(c *corpus, typ word) runList {
	if len(c.erased) == 0 {
		return r.s.everyRecord(typ, c.n)
	}
	out := runList{}
	skip := map[int]bool{}
	for _, n := range c.erased {
		skip[n] = true
	}
	for n, i := range r.s.byType[typ][:c.n] {
		if !skip[n] {
			out.ids = append(out.ids, r.s.recordID(i))
		}
	}
	return out
}
