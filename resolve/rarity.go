package resolve

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/packs"
)

// Rates and cuts of token rarity.
const (
	calibratedFloor = 5e-05 // rate of a token that calibration never saw
	rareFrom        = 0.75  // a token this rare can carry a name by itself
	leastCeiling    = 0.2
	leastRarity     = 0.02  // in the second engine: two lists of one equal name agree on it
	ordinaryRate    = 1e-05 // rate in English text from which a token is a plain word
)

// seal fixes everything that depends on all records: rarities, their pin, the
// tables of codes; and puts tokens in byte order.
func (s *store) seal(sides ...*side) error {
	s.merge()
	if s.plan.rarity.table != nil {
		s.toks.weigh(s.plan.rarity.table)
		s.tfPin = s.plan.rarity.pin
	} else if s.plan.needsTable {
		s.count()
		s.weighCounted()
	} else {
		s.toks.rarity = make([]float64, len(s.toks.text))
	}
	if t := s.plan.rarity.population; t != nil {
		s.toks.weighBound(t)
	}
	s.order()
	s.words.extend()
	s.findBounds()
	for _, sd := range sides {
		for row := range sd.n {
			s.sketchRow(sd, int32(row))
		}
	}
	if s.plan.rarity.table == nil && s.plan.needsTable {
		s.tfPin = s.calibrationPin()
	}
	s.findHigh()
	if err := s.findRivalry(); err != nil {
		return err
	}
	s.countCodes(sides)
	return nil
}

// merge brings the numberings of the columns together.
func (s *store) merge() {
	for i := range s.cols {
		c := &s.cols[i]
		if len(c.toks.text) > 0 {
			if len(s.toks.text) == 0 {
				*s.toks = *c.toks
			} else {
				to := s.toks.join(c.toks)
				for _, list := range [...]*spans{&c.plain, &c.joint, &c.twice, &c.words, &c.block} {
					list.relabel(to)
				}
			}
		}
		to := s.phrases.join(c.phrases)
		c.pairs.relabel(to)
		for id, d := range c.phrases.rarity {
			if n := int(to[id]); n == len(s.phrases.rarity) {
				s.phrases.rarity = append(s.phrases.rarity, d)
			}
		}
		if c.spec.blockID {
			to = s.keys.join(c.keys)
			for n, id := range c.blockIDs {
				if id >= 0 {
					c.blockIDs[n] = to[id]
				}
			}
		}
		to = s.codes.join(c.codes)
		for f := range s.plan.comps {
			if cmp := &s.plan.comps[f]; cmp.kind == kindCode && cmp.column == i {
				s.feats[f].codes.relabel(to)
			}
		}
		c.toks, c.phrases, c.keys, c.codes = nil, nil, nil, nil
	}
}

// join numbers the tokens of another numbering and returns their numbers.
func (t *tokens) join(from *tokens) []int32 {
	to := make([]int32, len(from.text))
	for id, s := range from.text {
		to[id] = t.id(s)
	}
	return to
}

// spells reports whether some comparator looks spellings of tokens up.
func (s *store) spells() bool {
	return slices.ContainsFunc(s.plan.columns, func(c columnSpec) bool { return c.hausa })
}

// order renumbers tokens, phrases and codes in byte order.
func (s *store) order() {
	rank := s.toks.seal(s.spells())
	for i := range s.cols {
		c := &s.cols[i]
		c.plain.renumber(rank)
		c.joint.renumber(rank)
		c.twice.renumber(rank)
		c.block.renumber(rank)
		c.words.relabel(rank)
	}
	if s.counts != nil {
		counts := make([]int64, len(rank))
		for id, r := range rank {
			counts[r] = s.counts[id]
		}
		s.counts = counts
	}
	rank = s.phrases.seal(false)
	for i := range s.cols {
		s.cols[i].pairs.renumber(rank)
	}
	rank = s.codes.seal(false)
	for i := range s.feats {
		s.feats[i].codes.renumber(rank)
	}
}

// count sums up the tokens of the counted columns over all records.
func (s *store) count() {
	none := int32(-1)
	for i := range s.cols {
		if s.cols[i].nulls > 0 {
			none = s.toks.id("none")
		}
	}
	s.counts = make([]int64, len(s.toks.text))
	s.total = 0
	for i := range s.cols {
		c := &s.cols[i]
		if !c.spec.counted {
			continue
		}
		for ref, uses := range c.uses {
			for _, list := range [...][]int32{c.plain.at(int32(ref)), c.twice.at(int32(ref))} {
				for _, t := range list {
					s.counts[t] += uses
					s.total += uses
				}
			}
		}
		if c.nulls > 0 {
			s.counts[none] += c.nulls
			s.total += c.nulls
		}
	}
}

// tableTotal is the total that calibrated rates are taken of.
func (s *store) tableTotal() float64 { return max(1, float64(s.total)) }

func (s *store) weighCounted() {
	s.toks.rarity = slices.Grow(s.toks.rarity[:0], len(s.counts))
	known := make(map[int64]float64) // most tokens share a few counts
	for _, n := range s.counts {
		d, ok := known[n]
		if !ok {
			d = s.calibrated(n)
			known[n] = d
		}
		s.toks.rarity = append(s.toks.rarity, d)
	}
}

func (s *store) calibrated(n int64) float64 {
	if n == 0 {
		return distinctiveness(calibratedFloor)
	}
	d := distinctiveness(float64(n) / s.tableTotal())
	if s.plan.v2 {
		return max(d, leastRarity)
	}
	return d
}

// calibrationPin hashes the calibrated table.
func (s *store) calibrationPin() string {
	h := sha256.New()
	const block = 1 << 13
	buf := append(make([]byte, 0, min(block, 32*len(s.counts))+512), `{"counts":{`...)
	first := true
	for id, n := range s.counts {
		if n == 0 {
			continue
		}
		if !first {
			buf = append(buf, ',')
		}
		first = false
		buf = appendCount(buf, s.toks.text[id], n)
		if len(buf) > block {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(appendCalibrationTail(buf, s.tableTotal()))
	return "self-calibrated@sha256:" + hex.EncodeToString(h.Sum(nil))
}

// appendCount writes one token and its count. Tokens are letters and digits, so
// nothing needs escaping.
func appendCount(buf []byte, token string, n int64) []byte {
	buf = append(buf, '"')
	buf = append(buf, token...)
	buf = append(buf, `":"`...)
	buf = strconv.AppendInt(buf, n, 10)
	return append(buf, `.0000"`...)
}

func appendCalibrationTail(buf []byte, total float64) []byte {
	buf = append(buf, `},"format":"arche-tf/1","token_rule":"plain","total":"`...)
	buf = append(buf, canon.FixedText(total, 4)...)
	buf = append(buf, `","unknown_floor":"`...)
	buf = append(buf, canon.FixedText(calibratedFloor, 4)...)
	return append(buf, `"}`...)
}

// ruleSets are a column's token sets under the table's own rule.
func (s *store) ruleSets(c *column) *spans {
	if s.plan.rarity.possessive {
		return &c.joint
	}
	return &c.plain
}

// findHigh notes each raw value's rarest token, if that is rare.
func (s *store) findHigh() {
	for i := range s.cols {
		c := &s.cols[i]
		if !c.spec.rarity {
			continue
		}
		for ref := len(c.high); ref < int(c.size()); ref++ {
			best := 0.0
			for _, t := range s.ruleSets(c).at(int32(ref)) {
				if d := s.toks.gate()[t]; d >= rareFrom {
					best = max(best, d)
				}
			}
			c.high = append(c.high, best)
		}
	}
}

// commonRarity is how much the agreement of two raw values of a column can
// mean: the rarity of the rarest common token or phrase, or of the rarest token
// on the poorer side.
func (s *store) commonRarity(c *column, a, b int32) float64 {
	shared := s.sharedRarity(c, a, b)
	return max(shared, min(c.high[a], c.high[b]))
}

func (s *store) sharedRarity(c *column, a, b int32) float64 {
	sets := s.ruleSets(c)
	best := s.toks.rarestShared(sets.at(a), sets.at(b))
	if _, d := s.bestPhrase(c, a, b); d > best {
		best = d
	}
	return best
}

// bestPhrase is the rarest common phrase of the phrase table, the smallest of
// equally rare ones; -1 when there is none.
func (s *store) bestPhrase(c *column, a, b int32) (id int32, rarity float64) {
	id = -1
	if len(c.pairs.ends) == 0 {
		return id, 0
	}
	s.phrases.shared(c.pairs.at(a), c.pairs.at(b), func(p int32) {
		if d := s.phrases.rarity[p]; id < 0 || d > rarity {
			id, rarity = p, d
		}
	})
	return id, rarity
}

// countCodes builds the code table of each category: every record counts once
// for each field that codes of the category are read from.
func (s *store) countCodes(sides []*side) {
	for i := range s.plan.comps {
		c := &s.plan.comps[i]
		if c.kind != kindCode || s.plan.repeatsCodes(i) {
			continue
		}
		t := s.tables[c.category]
		if t == nil {
			t = &codeTable{df: make(map[string]int)}
			s.tables[c.category] = t
		}
		f, col := &s.feats[i], &s.cols[c.column]
		for _, sd := range sides {
			for row := range sd.n {
				ref := sd.ref(c.column, int32(row))
				if ref < 0 || col.blank[ref] {
					continue
				}
				for _, id := range f.codes.at(ref) {
					t.df[s.codes.text[id]]++
				}
			}
		}
	}
	for _, t := range s.tables {
		t.finish()
	}
}

// repeatsCodes reports whether an earlier comparator reads codes of the same
// category from the same field.
func (p *plan) repeatsCodes(i int) bool {
	for _, c := range p.comps[:i] {
		if c.kind == kindCode && c.category == p.comps[i].category && c.column == p.comps[i].column {
			return true
		}
	}
	return false
}

// findRivalry prepares the comparator kind rival, if it is used.
func (s *store) findRivalry() error {
	used := false
	for i := range s.plan.comps {
		used = used || s.plan.comps[i].kind == kindRival
	}
	if !used {
		return nil
	}
	var err error
	if s.english, err = packs.FrequencyTable("english"); err != nil {
		return err
	}
	s.extendOrdinary()
	s.ceiling = s.rarestRarity()
	return nil
}

// extendOrdinary looks up which tokens that came since are English words.
func (s *store) extendOrdinary() {
	if s.english == nil {
		return
	}
	for id := len(s.ordinary); id < len(s.toks.text); id++ {
		ordinary := int8(0)
		if n, ok := s.english.Count(s.toks.text[id]); ok && n/s.english.Total >= ordinaryRate {
			ordinary = 1
		}
		s.ordinary = append(s.ordinary, ordinary)
	}
}

// rarestRarity is the rarity of the rarest token that was counted.
func (s *store) rarestRarity() float64 {
	if t := s.plan.rarity.table; t != nil {
		return max(leastCeiling, distinctiveness(t.RarestCount/t.Total))
	}
	least := int64(0)
	for _, n := range s.counts {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if least == 0 {
		return 1
	}
	return max(leastCeiling, s.calibrated(least))
}
