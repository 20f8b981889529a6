package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/zeebo/blake3"
	"golang.org/x/sync/errgroup"

	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// indexTable holds the index of resolve: for stretches of the stored records of
// a type, in their order, what a corpus needs of them. It is a projection that
// nothing depends on: a stretch that is not there, or does not fit, is made
// from the contents. A part says the digest of the content addresses it was made
// of, so that it is never believed of other records.
const indexTable = `CREATE TABLE index_parts(entity_type VARCHAR, form VARCHAR, first BIGINT, n BIGINT, part BLOB)`

// A stretch is made when so many records are in none; fewer are read one by one
// by the process that asks, which takes a few microseconds each.
const (
	indexLeast = 1 << 14
	indexMost  = 1 << 16
)

// indexPart is a stretch of the index: records first to first+n of a type's list.
type indexPart struct {
	first, n int
	bytes    []byte
	part     *resolve.Part // nil when it is to be made
}

// indexKeeper is what a ledger remembers of its index between units.
type indexKeeper struct {
	least, most int            // indexLeast and indexMost but in tests
	ready       bool           // the table is there
	upTo        map[string]int // records known to be in stretches, by type
}

func newIndexKeeper() indexKeeper {
	return indexKeeper{least: indexLeast, most: indexMost, upTo: map[string]int{}}
}

// prepare makes the table in a file that was written before there was one. The
// write-ahead log is empty before and after, as for every change of tables.
func (x *indexKeeper) prepare(ctx context.Context, l *Ledger, db *duck.DB) error {
	if there, err := x.there(ctx, db); err != nil || there {
		return err
	}
	if _, err := l.store.Settle(ctx, db, true); err != nil {
		return err
	}
	if err := l.store.Write(ctx, db, 0, func() error { return db.Exec(ctx, indexTable) }); err != nil {
		return err
	}
	x.ready = true
	_, err := l.store.Settle(ctx, db, true)
	return err
}

// there reports whether the file has the table.
func (x *indexKeeper) there(ctx context.Context, db *duck.DB) (bool, error) {
	if x.ready {
		return true, nil
	}
	err := db.Query(ctx, `SELECT 1 FROM information_schema.tables WHERE table_schema = 'main' AND table_name = 'index_parts'`, nil,
		func([]driver.Value) error {
			x.ready = true
			return nil
		})
	return x.ready, err
}

// sourceOf is the digest of what a stretch is made of. It grows with the
// erased: a record whose values went, or came back, makes another stretch.
func (s *state) sourceOf(list []int32) (source string, erased []int) {
	h := blake3.New()
	for n, i := range list {
		r := &s.recs[i]
		if r.erased {
			erased = append(erased, n)
			_, _ = h.Write(make([]byte, len(r.content)))
		} else {
			_, _ = h.Write(r.content[:])
		}
	}
	var sum address
	h.Sum(sum[:0])
	return sum.hex(), erased
}

// readParts reads what the file has of an index, in order of the records.
func readParts(ctx context.Context, db *duck.DB, entityType, form string) ([]*indexPart, error) {
	var out []*indexPart
	err := db.Query(ctx, `SELECT first, n, part FROM index_parts WHERE entity_type = ? AND form = ?`, []any{entityType, form},
		func(v []driver.Value) error {
			first, _ := v[0].(int64)
			n, _ := v[1].(int64)
			data, _ := v[2].([]byte)
			out = append(out, &indexPart{first: int(first), n: int(n), bytes: data})
			return nil
		})
	slices.SortStableFunc(out, func(a, b *indexPart) int { return compareInt(int64(a.first), int64(b.first)) })
	return out, err
}

// openAll opens stretches on all cores; one that cannot be opened keeps no part.
func openAll(list []*indexPart) {
	var g errgroup.Group
	g.SetLimit(max(1, runtime.GOMAXPROCS(0)))
	for _, x := range list {
		g.Go(func() error {
			x.part, _ = resolve.OpenPart(x.bytes)
			return nil
		})
	}
	_ = g.Wait() // none fails
}

// plan says how the records of a list are covered: by stretches that fit, and
// by new ones where these leave room for one. wrong are those that do not fit.
func (x *indexKeeper) plan(s *state, list []int32, have []*indexPart) (plan, wrong []*indexPart) {
	at := 0
	for _, h := range have {
		fits := h.part != nil && h.first >= at && h.n > 0 && h.first+h.n <= len(list)
		if fits {
			source, erased := s.sourceOf(list[h.first : h.first+h.n])
			fits = source == h.part.Source() && h.part.Len() == h.n-len(erased)
		}
		if !fits {
			wrong = append(wrong, h)
			continue
		}
		plan = append(x.fill(plan, at, h.first), h)
		at = h.first + h.n
	}
	for len(list)-at >= x.least {
		n := min(x.most, len(list)-at)
		plan = x.fill(plan, at, at+n)
		at += n
	}
	return plan, wrong
}

func (x *indexKeeper) fill(plan []*indexPart, from, to int) []*indexPart {
	for ; from < to; from += x.most {
		plan = append(plan, &indexPart{first: from, n: min(x.most, to-from)})
	}
	return plan
}

// note keeps the content of a record that was stored, so that it need not be
// read back for the index.
func (x *indexKeeper) note(c *cache, i int32, entityType string, content []byte) {
	if !slices.Contains(packTypes, entityType) {
		return
	}
	if len(c.unindexed) >= x.most { // others make the index, or this unit is very long
		clear(c.unindexed)
	}
	c.unindexed[i] = content
}

// packTypes are the types that records can be resolved as.
var packTypes = resolve.Entities()

// contentsFor reads contents, those that are at hand without the file.
func (r *reader) contentsFor(live []int32) ([][]byte, error) {
	data := make([][]byte, len(live))
	var unread []int32
	noted := r.l.cache.unindexed
	for n, i := range live {
		if b, ok := noted[i]; ok && r.s.checkBytes(i, b) == nil {
			data[n] = b
			delete(noted, i)
		} else {
			unread = append(unread, i)
		}
	}
	return data, r.contents(unread, func(i int32, b []byte) error {
		n, _ := slices.BinarySearch(live, i)
		data[n] = b
		return r.ctx.Err()
	})
}

// makeParts makes the stretches of a plan that are not there. One goroutine
// reads, the others parse and sort.
func (r *reader) makeParts(key corpusKey, list []int32, plan []*indexPart) (made []*indexPart, err error) {
	var g errgroup.Group
	g.SetLimit(max(1, runtime.GOMAXPROCS(0)))
	for _, x := range plan {
		if x.part != nil {
			continue
		}
		recs := list[x.first : x.first+x.n]
		var live []int32
		for _, i := range recs {
			if !r.s.recs[i].erased {
				live = append(live, i)
			}
		}
		var data [][]byte
		if data, err = r.contentsFor(live); err != nil {
			break
		}
		made = append(made, x)
		g.Go(func() error {
			return r.s.makePart(key, x, recs, live, data)
		})
	}
	return made, errors.Join(err, g.Wait())
}

// makePart reads records into a part: live are those of recs with values.
func (s *state) makePart(key corpusKey, x *indexPart, recs, live []int32, data [][]byte) error {
	m, err := resolve.NewPartMaker(key.entity, key.packVersion, key.engine)
	if err != nil {
		return err
	}
	for n, i := range live {
		o, err := s.parseContent(i, data[n])
		if err != nil {
			return err
		}
		if err := m.Add(packForm(o)); err != nil {
			return fmt.Errorf("record %s: %w", s.recordID(i), err)
		}
	}
	source, _ := s.sourceOf(recs)
	x.bytes = m.Bytes(source)
	x.part, err = resolve.OpenPart(x.bytes)
	return err
}

// saveParts puts stretches into the file in place of those that are wrong.
func (r *reader) saveParts(entityType, form string, made, wrong []*indexPart) error {
	if len(made)+len(wrong) == 0 {
		return nil
	}
	rows := make([][]driver.Value, len(made))
	for n, x := range made {
		rows[n] = []driver.Value{entityType, form, int64(x.first), int64(x.n), x.bytes}
	}
	return r.l.store.Write(r.ctx, r.db, len(rows), func() error {
		for _, x := range wrong {
			if err := r.db.Exec(r.ctx, `DELETE FROM index_parts WHERE entity_type = ? AND form = ? AND first = ?`, entityType, form, int64(x.first)); err != nil {
				return err
			}
		}
		return r.db.Insert(r.ctx, "index_parts", rows)
	})
}

// keepIndex makes the stretches that the records stored of late fill, for the
// packs that this ledger resolves with. What was asked for is durable already:
// an index that cannot be written is made when it is needed. A unit that stored
// few records makes one small stretch at most: a file of before gets its index
// little by little, or from its first resolve.
func (l *Ledger) keepIndex(ctx context.Context, db *duck.DB, s *state, stored int) {
	for _, name := range packTypes {
		typ, ok := s.words.index[name]
		if !ok || len(s.byType[typ])-l.index.upTo[name] < l.index.least {
			continue
		}
		r := l.reader(ctx, db, s)
		if err := r.growIndex(corpusKey{name, l.opts.PackVersion, l.opts.Engine}, typ, stored); err != nil {
			return
		}
	}
}

// growIndex covers the records behind the last stretch of a type, when they are
// enough for another: about as many as were stored.
func (r *reader) growIndex(key corpusKey, typ word, stored int) error {
	form, err := resolve.Form(key.entity, key.packVersion, key.engine)
	if err != nil {
		return err
	}
	x := &r.l.index
	if err := x.prepare(r.ctx, r.l, r.db); err != nil {
		return err
	}
	at := int64(0)
	err = r.db.Query(r.ctx, `SELECT coalesce(max(first + n), 0) FROM index_parts WHERE entity_type = ? AND form = ?`, []any{key.entity, form},
		func(v []driver.Value) error {
			at, _ = v[0].(int64)
			return nil
		})
	if err != nil {
		return err
	}
	list := r.s.byType[typ]
	x.upTo[key.entity] = int(at)
	var plan []*indexPart
	budget := max(stored, x.least)
	for from := int(at); len(list)-from >= x.least && budget > 0; {
		n := min(x.most, len(list)-from, max(budget, x.least))
		plan = append(plan, &indexPart{first: from, n: n})
		from, budget = from+n, budget-n
	}
	made, err := r.makeParts(key, list, plan)
	if err != nil || len(made) == 0 {
		return err
	}
	if err := r.saveParts(key.entity, form, made, nil); err != nil {
		return err
	}
	last := made[len(made)-1]
	x.upTo[key.entity] = last.first + last.n
	return nil
}

// unindex takes the stretches away that hold a record whose values go.
func (u *unit) unindex(ctx context.Context, id string) error {
	i := u.s.lookupRecord(id)
	if i < 0 {
		return nil
	}
	if there, err := u.l.index.there(ctx, u.db); err != nil || !there {
		return err
	}
	typ := u.s.recs[i].typ
	at, _ := slices.BinarySearch(u.s.byType[typ], i)
	return u.db.Exec(ctx, `DELETE FROM index_parts WHERE entity_type = ? AND first <= ? AND first + n > ?`, u.s.words.get(typ), int64(at), int64(at))
}

// keyOfForm is the pack that a form names, when this program makes that form.
func keyOfForm(form string) (key corpusKey, ok bool) {
	f := strings.Split(form, ":")
	if len(f) != 4 {
		return key, false
	}
	key.engine = f[2]
	if key.entity, key.packVersion, ok = strings.Cut(f[1], "@"); !ok {
		return key, false
	}
	again, err := resolve.Form(key.entity, key.packVersion, key.engine)
	return key, err == nil && again == form
}
