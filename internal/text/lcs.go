package text

import "math/bits"

// lcsLong is the longest common subsequence of two sorted texts that both
// exceed one mask word: the same bit rows with carries between words, so its
// time is the product of the lengths over 64.
func lcsLong(a, b *Prepared) int {
	ca, cb := a.sortedCodes(), b.sortedCodes()
	words := (len(ca) + wordBits - 1) / wordBits
	masks := make(map[uint64][]uint64)
	for i, c := range ca {
		row := masks[c]
		if row == nil {
			row = make([]uint64, words)
			masks[c] = row
		}
		row[i/wordBits] |= 1 << (i % wordBits)
	}
	row := make([]uint64, words)
	for i := range row {
		row[i] = ^uint64(0)
	}
	for _, c := range cb {
		mask := masks[c]
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
	}
	n := 0
	for _, r := range row {
		n += bits.OnesCount64(^r)
	}
	return n
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
