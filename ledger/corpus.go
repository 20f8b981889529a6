package ledger

import (
	"bytes"
	"errors"
	"log/slog"

	"github.com/arche-ledger/arche/resolve"
)

type corpusKey struct{ entity, packVersion, engine string }

// corpus is the candidate index over the records of a type, extended as records
// are stored.
type corpus struct {
	index  *resolve.Corpus
	form   string // of its parts
	n      int    // records of the type that are in it
	erased []int  // places of those left out because their values were erased
	turns  int    // of the state, when it was made
	behind int    // records in stretches; those behind them were added one by one
}

// corpusOf brings the index of a type up to all its stored records.
func (r *reader) corpusOf(key corpusKey, typ word) (*corpus, error) {
	c := r.l.cache.corpora[key]
	if c != nil && (c.turns != r.s.turns || c.n-c.behind >= 2*r.l.index.least) {
		// Values it holds were erased, or others came back; or the file has the
		// stretches by now that are lighter than what was added.
		c = nil
	}
	if c == nil {
		form, err := resolve.Form(key.entity, key.packVersion, key.engine)
		if err != nil {
			return nil, err
		}
		c = &corpus{form: form, turns: r.s.turns}
		if c.index, err = resolve.NewCorpus(key.entity, key.packVersion, key.engine); err == nil {
			err = r.attachIndex(c, key, typ)
		}
		if err != nil {
			return nil, err
		}
		r.l.cache.corpora[key] = c
	}
	return c, r.extend(c, r.s.byType[typ])
}

// attachIndex gives an empty corpus the stretches of the index, and makes those
// that are missing or wrong.
func (r *reader) attachIndex(c *corpus, key corpusKey, typ word) error {
	list, x := r.s.byType[typ], &r.l.index
	if len(list) < x.least {
		return nil
	}
	entityType := r.s.words.get(typ)
	// Where the file cannot be written to, the stretches serve this process.
	writable := x.prepare(r.ctx, r.l, r.db) == nil
	var have []*indexPart
	if writable {
		var err error
		if have, err = readParts(r.ctx, r.db, entityType, c.form); err != nil {
			return err
		}
	}
	openAll(have)
	plan, wrong := x.plan(r.s, list, have)
	if len(wrong) > 0 {
		r.l.opts.Log.WarnContext(r.ctx, "parts of the index of resolve did not fit the stored records; they are made again",
			slog.String("entity_type", entityType), slog.Int("parts", len(wrong)))
	}
	made, err := r.makeParts(key, list, plan)
	if err != nil {
		return err
	}
	if writable {
		if err := r.saveParts(entityType, c.form, made, wrong); r.ctx.Err() != nil {
			return err
		} else if err != nil {
			r.l.opts.Log.WarnContext(r.ctx, "the index of resolve could not be written", slog.Any("error", err))
		}
	}
	for _, p := range plan {
		if err := r.attach(c, p, list); err != nil {
			return err
		}
	}
	return nil
}

// attach puts a stretch into the corpus.
func (r *reader) attach(c *corpus, p *indexPart, list []int32) error {
	s, recs := r.s, list[p.first:p.first+p.n]
	_, erased := s.sourceOf(recs)
	if len(erased) > 0 {
		left := make([]int32, 0, len(recs))
		for n, i := range recs {
			if s.recs[i].erased {
				c.erased = append(c.erased, p.first+n)
			} else {
				left = append(left, i)
			}
		}
		recs = left
	}
	c.n = p.first + p.n
	c.behind = c.n
	return c.index.Attach(p.part, func(row int) string { return s.recordID(recs[row]) })
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

// match compares a newcomer with all records of a type. What it finds in the
// index is compared with the stored contents: an index that differs is made
// again.
func (r *reader) match(v *arrival) (*corpus, *resolve.Result, error) {
	c, res, err := r.matchOnce(v)
	if errors.Is(err, resolve.ErrPart) {
		if err = r.dropIndex(c, v); err == nil {
			c, res, err = r.matchOnce(v)
		}
	}
	return c, res, err
}

func (r *reader) matchOnce(v *arrival) (*corpus, *resolve.Result, error) {
	c, err := r.corpusOf(v.key, v.typ)
	if err != nil || c.index.Len() == 0 {
		return c, nil, err
	}
	res, err := c.index.Match(r.ctx, v.form)
	if err == nil {
		err = r.checkRows(c, res)
	}
	return c, res, err
}

// checkRows compares what the index holds of the records that matched with
// their contents, which the answer needs anyway.
func (r *reader) checkRows(c *corpus, res *resolve.Result) error {
	for n := range res.Edges {
		if !linkingIdentity(res.Edges[n].Decision) {
			continue
		}
		id, _ := res.Edges[n].BID.(string)
		form, err := r.packed(r.s.lookupRecord(id))
		if err != nil {
			return err
		}
		want, err := c.index.Pack(form)
		if err != nil {
			return err
		}
		if !bytes.Equal(want, c.index.Compared(res.Edges[n].J)) {
			return resolve.ErrPart
		}
	}
	return nil
}

// dropIndex forgets the index of a pack, in memory and in the file.
func (r *reader) dropIndex(c *corpus, v *arrival) error {
	entityType := r.s.words.get(v.typ)
	r.l.opts.Log.WarnContext(r.ctx, "the index of resolve differs from the stored records; it is made again",
		slog.String("entity_type", entityType))
	delete(r.l.cache.corpora, v.key)
	if there, err := r.l.index.there(r.ctx, r.db); err != nil || !there {
		return err
	}
	return r.l.store.Write(r.ctx, r.db, 1, func() error {
		return r.db.Exec(r.ctx, `DELETE FROM index_parts WHERE entity_type = ? AND form = ?`, entityType, c.form)
	})
}

// corpusList is the run's list of the records that are in the index.
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
