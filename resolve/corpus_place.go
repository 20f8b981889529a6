package resolve

import (
	"context"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
)

// placed are the records that were candidates, read for comparing. Reading one
// takes a few microseconds, so the first match that meets it does it.
type placed struct {
	store *store
	side  *side
	slots []int32 // by row: 1 + its place in side; 0 when it was never a candidate

	epoch   int32
	weighed []int32 // by token: the epoch its rarity was computed in
	counted []int32 // by token: 1 + its number in the tally
	known   map[int64]float64
	columns []int // that weigh tokens
}

// placedMost is how many candidates are kept read between matches: some 1 KB
// each.
const placedMost = 1 << 17

func (x *placed) reset(p *plan) error {
	s, err := newStore(p.withoutKeys())
	if err != nil {
		return err
	}
	s.stayOpen()
	*x = placed{store: s, side: newSide(p), slots: x.slots}
	clear(x.slots)
	for i := range s.cols {
		if s.cols[i].spec.tokens {
			x.columns = append(x.columns, i)
		}
	}
	return s.findRivalry()
}

// withoutKeys is the plan without what candidates are found by and counted for.
// Columns keep their numbers.
func (p *plan) withoutKeys() *plan {
	q := *p
	q.columns = slices.Clone(p.columns)
	for i := range q.columns {
		c := &q.columns[i]
		c.blockWords, c.blockID, c.blockSecond, c.counted = false, false, false, false
	}
	return &q
}

// makeRoom lets go of what was read for earlier matches when it is much.
func (x *placed) makeRoom(p *plan) error {
	if x.side.n < placedMost {
		return nil
	}
	return x.reset(p)
}

func (x *placed) forgetLong() {
	for i := range x.store.cols {
		x.store.cols[i].long = false
	}
}

func (x *placed) slot(row int32) int32 { return x.slots[row] - 1 }

// place reads the rows that no match met before, but for those that the bound
// gives up, and returns the others.
func (c *Corpus) place(ctx context.Context, rows []int32, bound *ceiling) ([]int32, error) {
	if more := c.n - len(c.slots); more > 0 {
		c.slots = append(c.slots, make([]int32, more)...)
	}
	from, left := c.side.n, rows[:0]
	for n, row := range rows {
		if n%ctxRows == 0 && ctx.Err() != nil {
			break
		}
		if c.slots[row] == 0 {
			sketch, packed := c.packed(row)
			if bound != nil && bound.tooLow(sketch, packed) {
				continue
			}
			rec, err := unpack(packed, c.kept)
			if err != nil {
				return nil, err
			}
			c.store.add(c.side, rec)
			c.slots[row] = int32(c.side.n) //nolint:gosec // rows are bounded by maxRows
		}
		left = append(left, row)
	}
	c.extend(c.side, from)
	return left, ctx.Err()
}

// extend prepares what came with the rows of a side from one on.
func (x *placed) extend(sd *side, from int) {
	s := x.store
	if t := s.plan.rarity.table; t != nil {
		s.toks.weigh(t)
	}
	if t := s.plan.rarity.population; t != nil {
		s.toks.weighBound(t)
	}
	for len(s.toks.rarity) < len(s.toks.text) {
		s.toks.rarity = append(s.toks.rarity, 0)
	}
	s.words.extend()
	s.findBounds()
	for row := from; row < sd.n; row++ {
		s.sketchRow(sd, int32(row)) //nolint:gosec // rows are bounded by maxRows
	}
	s.findHigh()
	s.extendOrdinary()
	more := len(s.toks.text) - len(x.weighed)
	x.weighed = append(x.weighed, make([]int32, more)...)
	x.counted = append(x.counted, make([]int32, more)...)
}

// countAll makes the tallies, if they do not count all records yet.
func (c *Corpus) countAll() {
	if c.fresh {
		return
	}
	c.fresh = true
	c.tally, c.codes = nil, make(map[string]*tally)
	if c.plan.rarity.table == nil && c.plan.needsTable {
		c.tally = newTally(func(buf []byte, token string, n int64) []byte {
			return appendCount(append(buf, ','), token, n)
		})
		lists := [][]counted{c.tail.tokenCounts()}
		for _, p := range c.parts {
			lists = append(lists, p.counts.list())
		}
		c.tally.load(merged(lists))
	}
	for i := range c.plan.comps {
		cmp := &c.plan.comps[i]
		if cmp.kind != kindCode || c.codes[cmp.category] != nil {
			continue
		}
		t := newTally(appendCode)
		lists := [][]counted{c.tail.codeCounts(cmp.category)}
		for _, p := range c.parts {
			lists = append(lists, p.codes[cmp.category].list())
		}
		t.load(merged(lists))
		c.codes[cmp.category] = t
	}
	clear(c.counted)
}

func (c *Corpus) countToken(token string, by int64) {
	if c.tally != nil {
		c.tally.add(token, by)
	}
}

func (c *Corpus) countCode(category, code string, by int64) {
	if t := c.codes[category]; t != nil {
		t.add(code, by)
	}
}

// countNewcomer counts the newcomer, whose keys were read last, or takes it out
// again.
func (c *Corpus) countNewcomer(newcomer *canon.Object, by int64) {
	s := c.tail.s
	s.eachCounted(c.tail.sd, newcomer, func(token int32) { c.countToken(s.toks.text[token], by) },
		func(category string, code int32) { c.countCode(category, s.codes.text[code], by) })
}

// eachCounted calls back with what the first row of a side counts for: tokens
// where lists calibrate, and codes.
func (s *store) eachCounted(sd *side, rec *canon.Object, token func(id int32), code func(category string, id int32)) {
	for i := range s.cols {
		col := &s.cols[i]
		if !col.spec.counted {
			continue
		}
		ref := sd.ref(i, 0)
		if ref < 0 {
			if v, ok := rec.Get(col.spec.field); ok && v == nil {
				token(s.toks.id("none"))
			}
			continue
		}
		for _, list := range [...][]int32{col.plain.at(ref), col.twice.at(ref)} {
			for _, t := range list {
				token(t)
			}
		}
	}
	for i := range s.plan.comps {
		cmp := &s.plan.comps[i]
		if cmp.kind != kindCode || s.plan.repeatsCodes(i) {
			continue
		}
		if ref := sd.ref(cmp.column, 0); ref >= 0 && !s.cols[cmp.column].blank[ref] {
			for _, id := range s.feats[i].codes.at(ref) {
				code(cmp.category, id)
			}
		}
	}
}

// begin starts a match: calibrated rarities and code tables are those of the
// newcomer together with all records. Their pins hash every count there is,
// which only the answer needs: they are made beside the match, and the returned
// function waits for them.
func (c *Corpus) begin() (wait func()) {
	s := c.store
	c.epoch++
	c.known = make(map[int64]float64)
	s.tfPin = c.plan.rarity.pin
	if c.tally != nil {
		s.total = c.tally.total
		if s.english != nil {
			s.ceiling = 1
			if least := c.tally.least(); least > 0 {
				s.ceiling = max(leastCeiling, s.calibrated(least))
			}
		}
	}
	for category, t := range c.codes {
		s.tables[category] = &codeTable{tally: t, baseline: max(2, 2*float64(t.quarter()))}
	}
	if c.tally == nil && len(c.codes) == 0 {
		return func() {}
	}
	total, done := s.tableTotal(), make(chan struct{})
	var pin string
	go func() {
		defer close(done)
		if c.tally != nil {
			pin = "self-calibrated@sha256:" + c.tally.digest(`{"counts":{`, len(","), appendCalibrationTail(nil, total))
		}
		for category, t := range c.codes {
			s.tables[category].pin = "codes@sha256:" + t.digest("[", len(", "), []byte("]"))[:16]
		}
	}()
	return func() {
		<-done
		if c.tally != nil {
			s.tfPin = pin
		}
	}
}

// weigh brings the rarities of a candidate's and the newcomer's tokens up to
// date.
func (c *Corpus) weigh(a *side, at int32) {
	if c.tally == nil {
		return
	}
	for _, i := range c.columns {
		col := &c.store.cols[i]
		for _, ref := range [...]int32{a.ref(i, 0), c.side.ref(i, at)} {
			if ref < 0 {
				continue
			}
			for _, t := range col.plain.at(ref) {
				if c.weighed[t] != c.epoch {
					c.weighed[t] = c.epoch
					c.store.toks.rarity[t] = c.rarityOf(t)
				}
			}
		}
	}
}

// rarityOf is a token's rarity among all records and the newcomer.
func (c *Corpus) rarityOf(t int32) float64 {
	if c.counted[t] == 0 {
		c.counted[t] = 1 + c.tally.number(c.store.toks.text[t])
	}
	n := int64(0)
	if at := c.counted[t]; at > 0 {
		n = c.tally.counts[at-1]
	}
	d, ok := c.known[n]
	if !ok {
		d = c.store.calibrated(n)
		c.known[n] = d
	}
	return d
}
