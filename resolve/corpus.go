package resolve

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// Corpus is a growing set of records that newcomers are compared with. Match
// gives what Compare gives for the newcomer against all records in the order
// they came, but looks only at candidates: of other records it holds the words,
// identifiers and map cells they are found by and the values that are compared,
// packed. Records come one at a time (Add) or many at once, read before
// (Attach).
//
// A Corpus serves one goroutine at a time.
type Corpus struct {
	plan *plan
	kept []string // fields that rows keep
	read map[string]bool

	n      int
	parts  []*attached // in the order of their rows
	tail   *growing    // the rows behind them
	base   int         // of the tail
	ids    []string    // of the tail's rows
	seen   map[string]int
	broken error // a record could not be packed

	repeated  int             // records whose id another one has
	coordless int             // records that no map cell finds
	fields    map[string]bool // ignored fields seen

	tally *tally            // of name tokens, when the lists calibrate the rarities
	codes map[string]*tally // by category; nil maps and tallies until the first match
	fresh bool              // the tallies count all records

	placed
	finder
}

// attached is a part with its place in the corpus.
type attached struct {
	*Part
	base int
	id   func(row int) string
}

// NewCorpus makes an empty corpus for a pack.
func NewCorpus(entity, packVersion, engine string) (*Corpus, error) {
	p, err := planFor(entity, packVersion, engine)
	if err != nil {
		return nil, err
	}
	c := &Corpus{plan: p, kept: p.kept(), read: p.reads(), seen: make(map[string]int), fields: make(map[string]bool)}
	c.read[DefaultIDField] = true
	if c.tail, err = newGrowing(p); err != nil {
		return nil, err
	}
	return c, c.reset(p)
}

// Len returns the number of records.
func (c *Corpus) Len() int { return c.n }

// Add puts a record in, under the id that edges name it by. A value too long to
// be compared counts as missing.
func (c *Corpus) Add(id string, rec *canon.Object) {
	if err := c.tail.add(rec); err != nil && c.broken == nil {
		c.broken = err
	}
	if c.fresh {
		c.tail.lastCounts(c.countToken, c.countCode)
	}
	c.ids = append(c.ids, id)
	c.n++
	if c.seen[id]++; c.seen[id] > 1 {
		c.repeated++
	}
}

// Attach puts the rows of a part in, all behind those that are there. id gives
// the id of a row of the part; ids must differ from all others. Records that
// were added one by one stay the last: a part cannot come behind them.
func (c *Corpus) Attach(p *Part, id func(row int) string) error {
	if len(c.ids) > 0 {
		return fmt.Errorf("a part cannot be attached behind %d added records", len(c.ids))
	}
	c.parts = append(c.parts, &attached{Part: p, base: c.n, id: id})
	c.n += p.n
	c.base = c.n
	c.coordless += p.coordless
	for _, f := range p.ignored {
		c.fields[f] = true
	}
	c.fresh = false
	return nil
}

// part is the one that a row lies in, nil for the tail.
func (c *Corpus) part(row int32) *attached {
	if int(row) >= c.base {
		return nil
	}
	at, _ := slices.BinarySearchFunc(c.parts, int(row), func(p *attached, row int) int {
		switch {
		case row < p.base:
			return 1
		case row >= p.base+p.n:
			return -1
		}
		return 0
	})
	return c.parts[at]
}

func (c *Corpus) idOf(row int32) string {
	if p := c.part(row); p != nil {
		return p.id(int(row) - p.base)
	}
	return c.ids[int(row)-c.base]
}

// packed is what a row holds: its sketch and its compared fields.
func (c *Corpus) packed(row int32) (sketch uint64, rec []byte) {
	if p := c.part(row); p != nil {
		n := int(row) - p.base
		return binary.LittleEndian.Uint64(p.sketches[8*n:]), p.rows.at(n)
	}
	n := int(row) - c.base
	return c.tail.sketches[n], c.tail.row(n)
}

// Compared returns what a row holds of its record: the fields that are
// compared, packed. Two records with equal bytes are the same to a match.
func (c *Corpus) Compared(row int) []byte {
	_, rec := c.packed(int32(row)) //nolint:gosec // rows are bounded by maxRows
	return rec
}

// Pack is a record as Compared gives it.
func (c *Corpus) Pack(rec *canon.Object) ([]byte, error) { return appendPacked(nil, rec, c.kept) }

// Match compares a newcomer with every record.
func (c *Corpus) Match(ctx context.Context, newcomer *canon.Object) (*Result, error) {
	if newcomer == nil {
		return nil, fault.New(fault.Invalid, "the record is not an object")
	}
	if c.broken != nil {
		return nil, badText(c.broken)
	}
	if err := c.makeRoom(c.plan); err != nil {
		return nil, err
	}
	c.countAll()
	a := newSide(c.plan)
	c.forgetLong()
	c.store.add(a, newcomer)
	c.extend(a, 0)
	for i := range c.store.cols {
		if col := &c.store.cols[i]; col.long {
			return nil, tooLong(fmt.Sprintf("field %q of the record", col.spec.field))
		}
	}
	pt := a.points[c.plan.blockPoints][0]
	if pt.usable && !pt.finite() {
		return nil, c.plan.notFinite()
	}
	words, ids := c.tail.readKeys(newcomer)
	c.countNewcomer(newcomer, 1)
	defer c.countNewcomer(newcomer, -1)
	pins := c.begin()
	defer pins()
	rows, found, err := c.candidates(ctx, a, words, ids)
	if err != nil {
		return nil, err
	}
	r := c.asRun(a, newcomer, rows, found)
	w, pairs, err := c.score(ctx, r, rows)
	if err != nil {
		return nil, err
	}
	pins() // they were made meanwhile
	return c.answer(r, w, newcomer, pairs)
}

// score screens the candidates.
func (c *Corpus) score(ctx context.Context, r *run, rows []int32) (*scorer, []surfaced, error) {
	rows, err := c.place(ctx, rows, c.ceilingOf(r.a, r.floor))
	if err != nil {
		return nil, nil, err
	}
	w := newScorer(c.store, r.a, c.side, r.floor)
	var pairs []surfaced
	for n, j := range rows {
		if n%ctxRows == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		at := c.slot(j)
		c.weigh(r.a, at)
		score, ok, err := w.screen(0, at)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			pairs = append(pairs, surfaced{0, j, round(score, 4)})
		}
	}
	sortSurfaced(pairs)
	return w, pairs, nil
}

// appendCode writes an entry of a code table.
func appendCode(buf []byte, code string, n int64) []byte {
	buf = append(buf, `, ('`...)
	buf = append(buf, code...)
	buf = append(buf, `', `...)
	buf = strconv.AppendInt(buf, n, 10)
	return append(buf, `.0)`...)
}

// asRun dresses a match as a run, for the parts of the answer they share.
func (c *Corpus) asRun(a *side, newcomer *canon.Object, rows []int32, found found) *run {
	bare := keyed{n: 1}
	if !a.points[c.plan.blockPoints][0].usable {
		bare.coordless = 1
	}
	b := keyed{n: c.n, coordless: c.coordless + c.tail.coordless}
	r := &run{
		req:   Request{A: []*canon.Object{newcomer}, IDField: DefaultIDField, Threshold: DefaultThreshold},
		plan:  c.plan,
		store: c.store, a: a, b: &side{n: c.n}, block: BlockUnion,
		blocker: &blocker{a: &bare, b: &b, overFull: c.overFull},
		pairs:   int64(len(rows)), found: found, skipped: c.skipped,
	}
	r.floor = r.req.Threshold - ReviewMargin
	return r
}

func (c *Corpus) answer(r *run, w *scorer, newcomer *canon.Object, pairs []surfaced) (*Result, error) {
	pins := r.pins()
	seal, err := newSealer(pins)
	if err != nil {
		return nil, err
	}
	res := &Result{Pins: pins, Blocking: r.blocking(), Backend: r.backend(1 + c.n), Edges: make([]Edge, 0, len(pairs))}
	for _, p := range pairs {
		v, err := w.judge(p.i, c.slot(p.j), DefaultThreshold)
		if err != nil {
			return nil, err
		}
		e := v.edge(recordID(newcomer, DefaultIDField, 0), c.idOf(p.j), p)
		if e.DecisionID, err = seal.id(&e); err != nil {
			return nil, err
		}
		res.Edges = append(res.Edges, e)
	}
	if c.repeated > 0 {
		res.Warnings = []string{repeatWarning("list_b", c.repeated, DefaultIDField)}
	}
	ignored := make(map[string]bool, len(c.fields))
	for _, seen := range [...]map[string]bool{c.fields, c.tail.ignored} {
		for f := range seen {
			ignored[f] = true
		}
	}
	for f := range newcomer.All() {
		if !c.read[f] {
			ignored[f] = true
		}
	}
	res.IgnoredFields = sortedKeys(ignored)
	res.ReadAs = c.plan.readAs(res.IgnoredFields)
	return res, nil
}
