package resolve

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/uber/h3-go/v4"
	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

// PartMaker reads records into a part.
type PartMaker struct{ g *growing }

// NewPartMaker makes an empty one.
func NewPartMaker(entity, packVersion, engine string) (*PartMaker, error) {
	p, err := planFor(entity, packVersion, engine)
	if err != nil {
		return nil, err
	}
	g, err := newGrowing(p)
	return &PartMaker{g}, err
}

// Add reads the next record.
func (m *PartMaker) Add(rec *canon.Object) error { return m.g.add(rec) }

// Bytes is the part: the same for the same records in the same order. source
// says what it was made of, for whoever opens it.
func (m *PartMaker) Bytes(source string) []byte { return m.g.bytes(source) }

// bytes writes the part: magic, sections with their lengths, digest.
func (g *growing) bytes(source string) []byte {
	w := partWriter{out: append(make([]byte, 0, 2*len(g.data)+1024), partMagic...)}
	w.section(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(g.n)), uint64(g.coordless))) //nolint:gosec // not negative
	w.section([]byte(source))
	w.table(func(each func([]byte)) {
		for _, f := range sortedKeys(g.ignored) {
			each([]byte(f))
		}
	})
	w.ends(g.ends)
	w.section(g.data)
	sketches := make([]byte, 0, 8*len(g.sketches))
	for _, b := range g.sketches {
		sketches = binary.LittleEndian.AppendUint64(sketches, b)
	}
	w.section(sketches)
	for kind, lists := range [...]*chains{&g.words, &g.ids} {
		text := [...]*tokens{g.s.toks, g.s.keys}[kind].text
		order := lists.sortedByText(text)
		w.lookup(lists, order, func(i int) string { return text[order[i]] })
	}
	for r := range g.cells {
		cells := &g.cells[r]
		sorted := slices.Sorted(maps.Keys(cells.number))
		order := make([]int32, len(sorted))
		for i, c := range sorted {
			order[i] = cells.number[c]
		}
		w.lookup(&cells.chains, order, func(i int) string { return cellKey(sorted[i]) })
	}
	w.counts(g.tokenCounts())
	categories := make([]string, 0, len(g.codes))
	for c := range g.codes {
		categories = append(categories, c)
	}
	slices.Sort(categories)
	w.table(func(each func([]byte)) {
		for _, c := range categories {
			each([]byte(c))
		}
	})
	for _, c := range categories {
		w.counts(g.codeCounts(c))
	}
	sum := blake3.Sum256(w.out)
	return append(w.out, sum[:]...)
}

func cellKey(c h3.Cell) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(c))) //nolint:gosec // bits of an index
}

// partWriter writes sections, each behind its length.
type partWriter struct{ out []byte }

func (w *partWriter) section(b []byte) {
	w.out = binary.LittleEndian.AppendUint32(w.out, uint32(len(b))) //nolint:gosec // parts are far smaller
	w.out = append(w.out, b...)
}

func (w *partWriter) ends(ends []uint32) {
	b := make([]byte, 0, 4*len(ends))
	for _, e := range ends {
		b = binary.LittleEndian.AppendUint32(b, e)
	}
	w.section(b)
}

func (w *partWriter) table(fill func(each func([]byte))) {
	var data []byte
	var ends []uint32
	fill(func(b []byte) {
		data = append(data, b...)
		ends = append(ends, uint32(len(data))) //nolint:gosec // parts are far smaller
	})
	w.ends(ends)
	w.section(data)
}

func (w *partWriter) lookup(lists *chains, order []int32, key func(i int) string) {
	w.table(func(each func([]byte)) {
		for i := range order {
			each([]byte(key(i)))
		}
	})
	w.table(func(each func([]byte)) {
		var buf []byte
		var rows []int32
		for _, n := range order {
			rows = lists.list(n, rows[:0])
			buf = packRows(buf[:0], rows)
			each(buf)
		}
	})
}

func (w *partWriter) counts(list []counted) {
	w.table(func(each func([]byte)) {
		for _, c := range list {
			each([]byte(c.token))
		}
	})
	n := make([]uint32, len(list))
	for i, c := range list {
		n[i] = uint32(c.n) //nolint:gosec // a part holds fewer words
	}
	w.ends(n)
}

// packRows is what appendRows unpacks.
func packRows(out []byte, rows []int32) []byte {
	out = binary.AppendUvarint(out, uint64(len(rows)))
	last := int32(0)
	for _, r := range rows {
		out = binary.AppendUvarint(out, uint64(r-last)) //nolint:gosec // ascending
		last = r
	}
	return out
}
