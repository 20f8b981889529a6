package text

import "math/bits"

// lcsLong is the longest common subsequence of two sorted texts that both
// exceed one mask word: the same bit rows with carries between words, so its
// time is the product of the lengths over 64.
func lcsLong(a, b *Prepared) int {
	masks := newLongMasks(a.sortedCodes())
	row := make([]uint64, masks.words)
	for i := range row {
		row[i] = ^uint64(0)
	}
	for _, c := range b.sortedCodes() {
		mask, clean := masks.get(c)
		if mask == nil {
			continue
		}
		var carry uint64
		for i, r := range row {
			u := r & mask[i]
			var sum uint64
			sum, carry = bits.Add64(r, u, carry)
			row[i] = sum | (r - u)
		}
		clean()
	}
	n := 0
	for _, r := range row {
		n += bits.OnesCount64(^r)
	}
	return n
}

// longMasks keeps a mask row only for characters frequent enough to earn one;
// the others are written into a shared row when asked for. So a text of many
// distinct characters costs memory in its length, not in its square.
type longMasks struct {
	words     int
	positions map[uint64][]int32
	rows      map[uint64][]uint64
	shared    []uint64
}

func newLongMasks(codes []uint64) *longMasks {
	m := &longMasks{
		words:     (len(codes) + wordBits - 1) / wordBits,
		positions: make(map[uint64][]int32),
		rows:      make(map[uint64][]uint64),
	}
	for i, c := range codes {
		m.positions[c] = append(m.positions[c], int32(i))
	}
	for c, at := range m.positions {
		if len(at) > m.words {
			row := make([]uint64, m.words)
			setBits(row, at)
			m.rows[c] = row
		}
	}
	m.shared = make([]uint64, m.words)
	return m
}

func setBits(row []uint64, at []int32) {
	for _, i := range at {
		row[i/wordBits] |= 1 << (i % wordBits)
	}
}

// get returns the mask of c, nil when c does not occur, and what to call when
// done with it.
func (m *longMasks) get(c uint64) (mask []uint64, clean func()) {
	if row := m.rows[c]; row != nil {
		return row, func() {}
	}
	at := m.positions[c]
	if at == nil {
		return nil, nil
	}
	setBits(m.shared, at)
	return m.shared, func() {
		for _, i := range at {
			m.shared[i/wordBits] = 0
		}
	}
}

// sortedCodes returns the code points of the sorted form.
func (p *Prepared) sortedCodes() []uint64 {
	if p.wide != nil {
		return p.wide.sorted
	}
	out := make([]uint64, len(p.sorted))
	for i := range out {
		out[i] = uint64(p.sorted[i])
	}
	return out
}
