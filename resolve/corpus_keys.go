package resolve

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uber/h3-go/v4"

	"github.com/arche-ledger/arche/internal/canon"
)

// growing is what a corpus knows of records before they are candidates: the
// keys they are found by, what they count for, and their compared fields,
// packed. Reading a record this far takes a third of reading it for comparing.
type growing struct {
	s      *store // of a plan that reads keys only
	sd     *side  // the row being added
	needed []int  // columns that hold keys or are counted
	kept   []string
	read   map[string]bool

	n, coordless int
	data         []byte // packed rows, end to end
	ends         []uint32
	sketches     []uint64 // by row
	ignored      map[string]bool
	words, ids   chains // by their numbers
	cells        [2]cellRows
	counts       []int64            // by token
	codes        map[string][]int64 // by category and code

	lastTokens []int32 // what the last row counts for
	lastCodes  []codeUse
}

// chains are lists of rows by key, in two pieces of memory however many keys
// there are: each entry leads to the one before it.
type chains struct {
	last       []int32 // by key: 1 + its last entry
	rows, prev []int32 // by entry
}

func (c *chains) add(key, row int32) {
	c.last = grown(c.last, key)
	c.rows, c.prev = append(c.rows, row), append(c.prev, c.last[key])
	c.last[key] = int32(len(c.rows)) //nolint:gosec // rows and keys of a part are far fewer
}

// list appends the rows of a key, ascending.
func (c *chains) list(key int32, out []int32) []int32 {
	from := len(out)
	if int(key) < len(c.last) {
		for e := c.last[key]; e > 0; e = c.prev[e-1] {
			out = append(out, c.rows[e-1])
		}
	}
	slices.Reverse(out[from:])
	return out
}

// cellRows are rows by hexagon.
type cellRows struct {
	number map[h3.Cell]int32
	chains
}

func (c *cellRows) addAt(cell h3.Cell, row int32) {
	n, ok := c.number[cell]
	if !ok {
		n = int32(len(c.number)) //nolint:gosec // at most one a row
		c.number[cell] = n
	}
	c.add(n, row)
}

type codeUse struct {
	category string
	id       int32
}

func newGrowing(p *plan) (*growing, error) {
	q := p.keysOnly()
	s, err := newKeyStore(q)
	if err != nil {
		return nil, err
	}
	g := &growing{s: s, sd: newSide(q), kept: p.kept(), read: p.reads(), ignored: make(map[string]bool), codes: make(map[string][]int64)}
	g.read[DefaultIDField] = true
	g.sd.refs, g.sd.n = make([]int32, g.sd.width), 1
	for i := range g.sd.points {
		g.sd.points[i] = make([]point, 1)
	}
	for r := range g.cells {
		g.cells[r].number = make(map[h3.Cell]int32)
	}
	for i := range q.columns {
		g.sd.refs[i] = -1
		used := q.columns[i].tokens || slices.Contains(q.wordCols, i) || slices.Contains(q.idCols, i)
		for c := range q.comps {
			used = used || q.comps[c].column == i
		}
		if used {
			g.needed = append(g.needed, i)
		}
	}
	return g, nil
}

// keysOnly is the plan without what only comparing needs. Columns keep their
// numbers.
func (p *plan) keysOnly() *plan {
	q := *p
	q.comps = nil
	for i := range p.comps {
		if p.comps[i].kind == kindCode {
			q.comps = append(q.comps, p.comps[i])
		}
	}
	q.columns = slices.Clone(p.columns)
	for i := range q.columns {
		c := &q.columns[i]
		c.norm, c.lexicon, c.rarity, c.hausa, c.tokens = false, false, false, false, c.counted || i == p.sketched
	}
	return &q
}

// newKeyStore is a store that reads the values of such a plan.
func newKeyStore(p *plan) (*store, error) {
	s := &store{plan: p, toks: newTokens(), phrases: newTokens(), keys: newTokens(), codes: newTokens(),
		feats: make([]features, len(p.comps))}
	var err error
	if s.domains, err = p.vocabularies(); err != nil {
		return nil, err
	}
	if p.v2 {
		s.domains["organization"] = p.reading.organisation
	}
	for _, spec := range p.columns {
		s.cols = append(s.cols, column{spec: spec, strip: s.domains[spec.stripType]})
	}
	s.stayOpen()
	s.toks.open, s.codes.open = false, false // sets need no order here
	return s, nil
}

// kept are the fields that a comparison can read, sorted.
func (p *plan) kept() []string {
	fields := p.reads()
	if p.v2 {
		for field := range maps.Clone(fields) {
			for _, alias := range p.reading.aliases[p.entity][field] {
				fields[alias] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// add reads a record.
func (g *growing) add(rec *canon.Object) error {
	var err error
	if g.data, err = appendPacked(g.data, rec, g.kept); err != nil {
		return err
	}
	g.ends = append(g.ends, uint32(len(g.data))) //nolint:gosec // parts are far smaller
	row := int32(g.n)                            //nolint:gosec // rows are bounded by maxRows
	g.n++
	s := g.s
	words, ids := g.readKeys(rec)
	g.sketches = append(g.sketches, g.sketchOf())
	for _, w := range words {
		g.words.add(w, row)
	}
	for _, id := range ids {
		g.ids.add(id, row)
	}
	if p := s.plan.point(rec, s.plan.geoPairs[s.plan.blockPoints]); !p.usable {
		g.coordless++
	} else if p.finite() {
		for r, res := range cellResolutions {
			g.cells[r].addAt(cellOf(p, res), row)
		}
	}
	g.countLast(rec)
	for k := range rec.All() {
		if !g.read[k] {
			g.ignored[k] = true
		}
	}
	return nil
}

// readKeys reads what a record is found by and counts for; the lists are valid
// until the next call.
func (g *growing) readKeys(rec *canon.Object) (words, ids []int32) {
	for _, col := range g.needed {
		g.sd.refs[col] = g.s.readAlone(col, rec)
	}
	return g.s.rowKeys(g.sd, 0)
}

// readAlone is ref for a value that is needed for one row: what the column held
// before is forgotten.
func (s *store) readAlone(col int, rec *canon.Object) int32 {
	c := &s.cols[col]
	c.blank, c.uses, c.blockIDs = c.blank[:0], c.uses[:0], c.blockIDs[:0]
	c.block.clear()
	c.plain.clear()
	c.joint.clear()
	c.twice.clear()
	for i := range s.plan.comps {
		if s.plan.comps[i].column == col {
			s.feats[i].codes.clear()
		}
	}
	v, ok := s.plan.value(rec, c.spec.field)
	if !ok {
		return -1
	}
	str, isText := v.(string)
	if !isText {
		str = canon.Text(v)
	}
	if c.spec.similar && len(str) > maxText {
		return -1
	}
	stripped := c.stripped(str)
	if stripped == "" && (c.spec.stripType != "" || c.spec.stripQualifier) {
		return -1
	}
	return s.read(col, v, stripped)
}

func (s *spans) clear() { s.ids, s.ends = s.ids[:0], s.ends[:0] }

// countLast counts what the row that was read brings.
func (g *growing) countLast(rec *canon.Object) {
	g.lastTokens, g.lastCodes = g.lastTokens[:0], g.lastCodes[:0]
	g.s.eachCounted(g.sd, rec, func(t int32) {
		g.counts = grown(g.counts, t)
		g.counts[t]++
		g.lastTokens = append(g.lastTokens, t)
	}, func(category string, id int32) {
		counts := grown(g.codes[category], id)
		counts[id]++
		g.codes[category] = counts
		g.lastCodes = append(g.lastCodes, codeUse{category, id})
	})
}

// lastCounts calls back with what the last row counts for.
func (g *growing) lastCounts(token func(string, int64), code func(category, code string, n int64)) {
	for _, t := range g.lastTokens {
		token(g.s.toks.text[t], 1)
	}
	for _, c := range g.lastCodes {
		code(c.category, g.s.codes.text[c.id], 1)
	}
}

// grown makes a list long enough to hold place i.
func grown[T any](list []T, i int32) []T {
	if more := int(i) + 1 - len(list); more > 0 {
		return append(list, make([]T, more)...)
	}
	return list
}

func (g *growing) row(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = g.ends[i-1]
	}
	return g.data[start:g.ends[i]]
}

// rowsWith appends the rows that a key finds, ascending.
func (g *growing) rowsWith(kind keyKind, key string, out []int32) []int32 {
	switch kind {
	case keyWord:
		if id, ok := g.s.toks.ids[key]; ok {
			return g.words.list(id, out)
		}
	case keyID:
		if id, ok := g.s.keys.ids[key]; ok {
			return g.ids.list(id, out)
		}
	case keyFineCell, keyWideCell:
		cells := &g.cells[kind-keyFineCell]
		if n, ok := cells.number[h3.Cell(binary.BigEndian.Uint64([]byte(key)))]; ok {
			return cells.list(n, out)
		}
	}
	return out
}

// tokenCounts lists the counted tokens in byte order.
func (g *growing) tokenCounts() []counted { return listCounts(g.counts, g.s.toks) }

func (g *growing) codeCounts(category string) []counted {
	return listCounts(g.codes[category], g.s.codes)
}

func listCounts(counts []int64, toks *tokens) []counted {
	var out []counted
	for id, n := range counts {
		if n > 0 {
			out = append(out, counted{toks.text[id], n})
		}
	}
	slices.SortFunc(out, func(a, b counted) int { return cmp.Compare(a.token, b.token) })
	return out
}

// A packed record is, for each kept field that has a value: the number of the
// field times two, plus one when the value is no text; its length; the text, or
// the value as JSON with its keys and literals as they were.

func appendPacked(out []byte, rec *canon.Object, kept []string) ([]byte, error) {
	for i, f := range kept {
		v, ok := rec.Get(f)
		if !ok || v == nil || v == "" {
			continue
		}
		if s, ok := v.(string); ok {
			out = binary.AppendUvarint(out, uint64(2*i)) //nolint:gosec // a handful of fields
			out = binary.AppendUvarint(out, uint64(len(s)))
			out = append(out, s...)
			continue
		}
		b, err := canon.Compact(v)
		if err != nil {
			return out, fmt.Errorf("field %q: %w", f, err)
		}
		out = binary.AppendUvarint(out, uint64(2*i+1)) //nolint:gosec // a handful of fields
		out = binary.AppendUvarint(out, uint64(len(b)))
		out = append(out, b...)
	}
	return out, nil
}

func unpack(b []byte, kept []string) (*canon.Object, error) {
	rec := canon.NewObject()
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag/2 >= uint64(len(kept)) {
			return nil, ErrPart
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, ErrPart
		}
		value := b[n : n+int(size)]
		b = b[n+int(size):]
		if tag%2 == 0 {
			rec.Set(kept[tag/2], string(value))
			continue
		}
		v, err := canon.Parse(value, canon.Limits{Depth: 1 << 16, NonFinite: true})
		if err != nil {
			return nil, ErrPart
		}
		rec.Set(kept[tag/2], v)
	}
	return rec, nil
}

// sortedByText are the numbers of the keys that have rows, by text.
func (c *chains) sortedByText(text []string) []int32 {
	ids := make([]int32, 0, len(c.last))
	for id, e := range c.last {
		if e > 0 {
			ids = append(ids, int32(id)) //nolint:gosec // memory ends first
		}
	}
	slices.SortFunc(ids, func(a, b int32) int { return strings.Compare(text[a], text[b]) })
	return ids
}
