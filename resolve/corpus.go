package resolve

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/uber/h3-go/v4"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// Corpus is a growing set of records that newcomers are compared with. Match
// gives what Compare gives for the newcomer against all records in the order
// they were added, but looks only at candidates.
//
// A Corpus serves one goroutine at a time.
type Corpus struct {
	plan  *plan
	store *store
	side  *side
	ids   []string
	index corpusIndex

	tally     *tally            // of name tokens, when the lists calibrate the rarities
	codes     map[string]*tally // by category
	epoch     int32
	weighed   []int32 // by token: the epoch its rarity was computed in
	known     map[int64]float64
	fields    map[string]bool // ignored fields seen
	read      map[string]bool
	seen      map[string]int // records by id
	repeated  int            // records whose id another one has
	coordless int
}

// NewCorpus makes an empty corpus for a pack.
func NewCorpus(entity, packVersion, engine string) (*Corpus, error) {
	p, err := planFor(entity, packVersion, engine)
	if err != nil {
		return nil, err
	}
	s, err := newStore(p)
	if err != nil {
		return nil, err
	}
	s.stayOpen()
	c := &Corpus{plan: p, store: s, side: newSide(p), codes: make(map[string]*tally), fields: make(map[string]bool),
		read: p.reads(), seen: make(map[string]int)}
	c.index.init()
	c.read[DefaultIDField] = true
	if p.rarity.table == nil && p.needsTable {
		c.tally = newTally(s.toks, func(buf []byte, token string, n int64) []byte {
			return appendCount(append(buf, ','), token, n)
		})
	}
	for i := range p.comps {
		if cmp := &p.comps[i]; cmp.kind == kindCode && c.codes[cmp.category] == nil {
			c.codes[cmp.category] = newTally(s.codes, appendCode)
		}
	}
	return c, s.findRivalry()
}

// appendCode writes an entry of a code table.
func appendCode(buf []byte, code string, n int64) []byte {
	buf = append(buf, `, ('`...)
	buf = append(buf, code...)
	buf = append(buf, `', `...)
	buf = strconv.AppendInt(buf, n, 10)
	return append(buf, `.0)`...)
}

// Len returns the number of records.
func (c *Corpus) Len() int { return c.side.n }

// Add puts a record in, under the id that edges name it by. A value too long to
// be compared counts as missing.
func (c *Corpus) Add(id string, rec *canon.Object) {
	row := c.side.n
	c.take(c.side, rec, 1)
	c.index.add(c, int32(row))
	c.ids = append(c.ids, id)
	if c.seen[id]++; c.seen[id] > 1 {
		c.repeated++
	}
	c.note(c.fields, rec)
}

// note adds the fields of a record that the pack does not read.
func (c *Corpus) note(fields map[string]bool, rec *canon.Object) {
	for k := range rec.All() {
		if !c.read[k] {
			fields[k] = true
		}
	}
}

// take reads a record into a side and counts what it brings.
func (c *Corpus) take(sd *side, rec *canon.Object, by int64) {
	s := c.store
	row := sd.n
	s.add(sd, rec)
	if t := c.plan.rarity.table; t != nil {
		s.toks.weigh(t)
	}
	if t := c.plan.rarity.population; t != nil {
		s.toks.weighBound(t)
	}
	for len(s.toks.rarity) < len(s.toks.text) {
		s.toks.rarity = append(s.toks.rarity, 0)
	}
	s.words.extend()
	s.findBounds()
	s.sketchRow(sd, int32(row))
	s.findHigh()
	s.extendOrdinary()
	c.count(sd, int32(row), rec, by)
}

// count adds what a row's tokens and codes count for.
func (c *Corpus) count(sd *side, row int32, rec *canon.Object, by int64) {
	s := c.store
	if c.tally != nil {
		for i := range s.cols {
			col := &s.cols[i]
			if !col.spec.counted {
				continue
			}
			ref := sd.ref(i, row)
			if ref < 0 {
				if v, ok := rec.Get(col.spec.field); ok && v == nil {
					c.tally.add(s.toks.id("none"), by)
				}
				continue
			}
			for _, list := range [...][]int32{col.plain.at(ref), col.twice.at(ref)} {
				for _, t := range list {
					c.tally.add(t, by)
				}
			}
		}
	}
	for i := range c.plan.comps {
		cmp := &c.plan.comps[i]
		if cmp.kind != kindCode || c.plan.repeatsCodes(i) {
			continue
		}
		if ref := sd.ref(cmp.column, row); ref >= 0 && !s.cols[cmp.column].blank[ref] {
			for _, id := range s.feats[i].codes.at(ref) {
				c.codes[cmp.category].add(id, by)
			}
		}
	}
}

// Match compares a newcomer with every record.
func (c *Corpus) Match(ctx context.Context, newcomer *canon.Object) (*Result, error) {
	if newcomer == nil {
		return nil, fault.New(fault.Invalid, "the record is not an object")
	}
	a := newSide(c.plan)
	c.forgetLong()
	c.take(a, newcomer, 1)
	defer c.count(a, 0, newcomer, -1)
	for i := range c.store.cols {
		if col := &c.store.cols[i]; col.long {
			return nil, tooLong(fmt.Sprintf("field %q of the record", col.spec.field))
		}
	}
	pt := a.points[c.plan.blockPoints][0]
	if pt.usable && !pt.finite() {
		return nil, c.plan.notFinite()
	}
	c.begin()
	rows, found, err := c.index.candidates(ctx, c, a)
	if err != nil {
		return nil, err
	}
	r := c.asRun(a, newcomer, rows, found)
	w := newScorer(c.store, a, c.side, r.floor)
	var pairs []surfaced
	for n, j := range rows {
		if n%ctxRows == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.weigh(a, j)
		score, ok, err := w.screen(0, j)
		if err != nil {
			return nil, err
		}
		if ok {
			pairs = append(pairs, surfaced{0, j, round(score, 4)})
		}
	}
	sortSurfaced(pairs)
	return c.answer(r, w, newcomer, pairs)
}

func (c *Corpus) forgetLong() {
	for i := range c.store.cols {
		c.store.cols[i].long = false
	}
}

// begin starts a match: calibrated rarities and code tables are those of this
// newcomer together with all records.
func (c *Corpus) begin() {
	s := c.store
	c.epoch++
	c.known = make(map[int64]float64)
	s.tfPin = c.plan.rarity.pin
	if c.tally != nil {
		s.total = c.tally.total
		tail := appendCalibrationTail(nil, s.tableTotal())
		s.tfPin = "self-calibrated@sha256:" + c.tally.digest(`{"counts":{`, len(","), tail)
		if s.english != nil {
			s.ceiling = 1
			if least := c.tally.least(); least > 0 {
				s.ceiling = max(leastCeiling, s.calibrated(least))
			}
		}
	}
	for category, t := range c.codes {
		s.tables[category] = &codeTable{
			tally:    t,
			baseline: max(2, 2*float64(t.quarter())),
			pin:      "codes@sha256:" + t.digest("[", len(", "), []byte("]"))[:16],
		}
	}
}

// weigh brings the rarities of a candidate's and the newcomer's tokens up to
// date.
func (c *Corpus) weigh(a *side, row int32) {
	if c.tally == nil {
		return
	}
	s := c.store
	for len(c.weighed) < len(s.toks.text) {
		c.weighed = append(c.weighed, 0)
	}
	for i := range s.cols {
		if !s.cols[i].spec.tokens {
			continue
		}
		for _, ref := range [...]int32{a.ref(i, 0), c.side.ref(i, row)} {
			if ref < 0 {
				continue
			}
			for _, t := range s.cols[i].plain.at(ref) {
				if c.weighed[t] == c.epoch {
					continue
				}
				c.weighed[t] = c.epoch
				n := c.tally.count(t)
				d, ok := c.known[n]
				if !ok {
					d = s.calibrated(n)
					c.known[n] = d
				}
				s.toks.rarity[t] = d
			}
		}
	}
}

// asRun dresses a match as a run, for the parts of the answer they share.
func (c *Corpus) asRun(a *side, newcomer *canon.Object, rows []int32, found found) *run {
	bare := keyed{n: 1}
	if !a.points[c.plan.blockPoints][0].usable {
		bare.coordless = 1
	}
	b := keyed{n: c.side.n, coordless: c.coordless}
	r := &run{
		req:   Request{A: []*canon.Object{newcomer}, IDField: DefaultIDField, Threshold: DefaultThreshold},
		plan:  c.plan,
		store: c.store, a: a, b: c.side, block: BlockUnion,
		blocker: &blocker{a: &bare, b: &b, overFull: c.index.overFull},
		pairs:   int64(len(rows)), found: found, skipped: c.index.skipped,
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
	res := &Result{Pins: pins, Blocking: r.blocking(), Backend: r.backend(1 + c.side.n), Edges: make([]Edge, 0, len(pairs))}
	for _, p := range pairs {
		v, err := w.judge(p.i, p.j, DefaultThreshold)
		if err != nil {
			return nil, err
		}
		e := v.edge(recordID(newcomer, DefaultIDField, 0), c.ids[p.j], p)
		if e.DecisionID, err = seal.id(&e); err != nil {
			return nil, err
		}
		res.Edges = append(res.Edges, e)
	}
	if c.repeated > 0 {
		res.Warnings = []string{repeatWarning("list_b", c.repeated, DefaultIDField)}
	}
	ignored := make(map[string]bool, len(c.fields))
	for f := range c.fields {
		ignored[f] = true
	}
	c.note(ignored, newcomer)
	res.IgnoredFields = sortedKeys(ignored)
	res.ReadAs = c.plan.readAs(res.IgnoredFields)
	return res, nil
}

// corpusIndex finds candidates for one newcomer at a time.
type corpusIndex struct {
	rows  [][]int32 // by word
	ids   map[int32][]int32
	cells [2]map[h3.Cell][]int32
	stamp []int32 // by row: the last match that took it
	match int32
	out   []int32

	overFull overFull
	skipped  int64
}

func (x *corpusIndex) init() {
	x.ids = make(map[int32][]int32)
	for r := range x.cells {
		x.cells[r] = make(map[h3.Cell][]int32)
	}
}

// add indexes the last row of the corpus.
func (x *corpusIndex) add(c *Corpus, row int32) {
	words, ids := c.store.rowKeys(c.side, int(row))
	for _, w := range words {
		for int(w) >= len(x.rows) {
			x.rows = append(x.rows, nil)
		}
		x.rows[w] = append(x.rows[w], row)
	}
	for _, id := range ids {
		x.ids[id] = append(x.ids[id], row)
	}
	p := c.side.points[c.plan.blockPoints][row]
	if !p.usable {
		c.coordless++
	} else if p.finite() {
		for r, res := range cellResolutions {
			cell := cellOf(p, res)
			x.cells[r][cell] = append(x.cells[r][cell], row)
		}
	}
	x.stamp = append(x.stamp, 0)
}

// candidates returns the rows that the newcomer is compared with, ascending.
func (x *corpusIndex) candidates(ctx context.Context, c *Corpus, a *side) ([]int32, found, error) {
	x.match++
	x.out = x.out[:0]
	x.overFull, x.skipped = overFull{}, 0
	var f found
	words, ids := c.store.rowKeys(a, 0)
	if p := a.points[c.plan.blockPoints][0]; p.usable {
		for r, res := range cellResolutions {
			for _, cell := range cellOf(p, res).GridDisk(1) {
				x.take(x.cells[r][cell])
			}
		}
	}
	f.h3 = int64(len(x.out))
	var common []int32
	for _, w := range words {
		if int(w) >= len(x.rows) {
			continue
		}
		if n := len(x.rows[w]); n > maxPairsPerKey {
			common = append(common, w)
			x.overFull.note(int64(n), &x.overFull.words)
		} else {
			x.take(x.rows[w])
		}
	}
	for i, w := range common {
		if err := ctx.Err(); err != nil {
			return nil, f, err
		}
		for _, v := range common[i+1:] {
			both, n := intersect(x.rows[w], x.rows[v])
			if n > maxPairsPerKey {
				x.overFull.wordPairs++
				continue
			}
			x.take(both)
		}
	}
	f.token = int64(len(x.out)) - f.h3
	for _, id := range ids {
		if n := len(x.ids[id]); c.plan.v2 && n > maxPairsPerKey {
			x.overFull.note(int64(n), &x.overFull.ids)
			continue
		}
		x.take(x.ids[id])
	}
	f.id = int64(len(x.out)) - f.h3 - f.token
	n := len(x.out)
	if x.overFull.pairs > 0 && x.overFull.pairs <= exactBelow {
		for _, w := range common {
			x.take(x.rows[w])
		}
		for _, id := range ids {
			x.take(x.ids[id])
		}
		x.skipped = int64(len(x.out) - n)
		x.out = x.out[:n]
	}
	slices.Sort(x.out)
	return x.out, f, nil
}

func (x *corpusIndex) take(rows []int32) {
	for _, j := range rows {
		if x.stamp[j] != x.match {
			x.stamp[j] = x.match
			x.out = append(x.out, j)
		}
	}
}

// intersect returns the common rows of two ascending lists. It stops counting
// one past the bound on pairs per key: such a key is not used.
func intersect(a, b []int32) (both []int32, n int) {
	if len(a) > len(b) {
		a, b = b, a
	}
	skip := len(b) > 16*len(a)
	for _, x := range a {
		if skip {
			step := 1
			for step < len(b) && b[step] < x {
				step *= 2
			}
			at, _ := slices.BinarySearch(b[:min(step+1, len(b))], x)
			b = b[at:]
		} else {
			for len(b) > 0 && b[0] < x {
				b = b[1:]
			}
		}
		if len(b) == 0 {
			break
		}
		if b[0] == x {
			if n++; n > maxPairsPerKey {
				return nil, n
			}
			both = append(both, x)
		}
	}
	return both, n
}
