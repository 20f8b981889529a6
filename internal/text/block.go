package text

import "math/bits"

// Texts of ASCII up to four mask words are compared over a block of words:
// titles and lists of names are mostly that long.
const (
	blockWords = 4
	blockBits  = blockWords * wordBits
)

// blockMasks holds the masks of one ASCII text of at most blockBits bytes.
type blockMasks struct {
	loaded *Prepared
	text   string
	masks  [128][blockWords]uint64
}

func (m *blockMasks) load(p *Prepared, text string) {
	for i := range len(m.text) {
		m.masks[m.text[i]&127] = [blockWords]uint64{}
	}
	m.loaded, m.text = p, text
	for i := range len(text) {
		m.masks[text[i]&127][i/wordBits] |= 1 << (i % wordBits)
	}
}

// inBlock reports whether a text is compared over a block of words.
func (p *Prepared) inBlock() bool { return p.wide == nil && len(p.text) <= blockBits }

// jaroWinkler compares the loaded text with b; see jaroMasks for why the scan
// may run over the second text.
func (m *blockMasks) jaroWinkler(b string) float64 {
	la := len(m.text)
	w := jaroWindow(la, len(b))
	var takenA, takenB [blockWords]uint64
	matches := 0
	for j := range len(b) {
		i := m.firstFree(&takenA, b[j], max(0, j-w), min(j+w, la-1))
		if i < 0 {
			continue
		}
		takenA[i/wordBits] |= 1 << (i % wordBits)
		takenB[j/wordBits] |= 1 << (j % wordBits)
		matches++
	}
	mismatches := 0
	restA, at := takenA, 0
	for k, rest := range takenB {
		for ; rest != 0; rest &= rest - 1 {
			for restA[at] == 0 {
				at++
			}
			i := at*wordBits + bits.TrailingZeros64(restA[at])
			restA[at] &= restA[at] - 1
			if m.text[i] != b[k*wordBits+bits.TrailingZeros64(rest)] {
				mismatches++
			}
		}
	}
	prefix := 0
	for prefix < min(maxPrefix, la, len(b)) && m.text[prefix] == b[prefix] {
		prefix++
	}
	return winkler(la, len(b), matches, mismatches, prefix)
}

// firstFree returns the first position in [from, to] where the loaded text has
// c and is not taken, -1 without one.
func (m *blockMasks) firstFree(taken *[blockWords]uint64, c byte, from, to int) int {
	if from > to {
		return -1
	}
	row := &m.masks[c&127]
	first, last := from/wordBits, to/wordBits
	for k := first; k <= last; k++ {
		free := row[k] &^ taken[k]
		if k == first {
			free &= ^uint64(0) << (from % wordBits)
		}
		if k == last {
			free &= ^uint64(0) >> (wordBits - 1 - to%wordBits)
		}
		if free != 0 {
			return k*wordBits + bits.TrailingZeros64(free)
		}
	}
	return -1
}

// lcs is the length of the longest common subsequence of the loaded text and b.
func (m *blockMasks) lcs(b string) int {
	words := (len(m.text) + wordBits - 1) / wordBits
	row := [blockWords]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	for j := range len(b) {
		mask := &m.masks[b[j]&127]
		var carry uint64
		for k := range words {
			u := row[k] & mask[k]
			var sum uint64
			sum, carry = bits.Add64(row[k], u, carry)
			row[k] = sum | (row[k] - u)
		}
	}
	n := 0
	for k := range words {
		n += bits.OnesCount64(^row[k])
	}
	return n
}
