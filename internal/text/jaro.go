package text

import "math/bits"

// jaroMasks holds the masks of one text of at most wordBits clusters.
//
// Jaro matching is defined as a greedy walk: each character of the first text,
// in order, takes the first free equal character of the second inside the
// window. For one character the windows are equally wide, so the walk pairs
// occurrences in order and comes out the same from either side; that is why the
// loaded text may be the first operand and the scan run over the second.
type jaroMasks struct {
	maskTable
	loaded *Prepared
}

func (m *jaroMasks) load(p *Prepared) {
	if l := m.loaded; l != nil {
		if l.wide == nil {
			m.clearASCII(l.text)
		} else {
			m.clearCodes(l.wide.codes)
		}
	}
	m.loaded = p
	if p.wide == nil {
		for i := range len(p.text) {
			m.maskTable.ascii[p.text[i]&127] |= 1 << i
		}
		return
	}
	for i, c := range p.wide.codes {
		m.add(c, 1<<i)
	}
}

func jaroWindow(la, lb int) int { return max(0, max(la, lb)/2-1) }

// ascii compares the loaded text of la clusters with b, one byte a cluster.
func (m *jaroMasks) ascii(la int, b string) float64 {
	table := &m.maskTable.ascii
	w := jaroWindow(la, len(b))
	window := uint64(1)<<(w+1) - 1
	var takenA, takenB uint64
	// Whether a character finds a match is a toss, so nothing branches on it:
	// the low bit taken, negated or not, has its sign set when there is one.
	head := min(w, len(b)) // here the window still starts at the first position
	for j := range head {
		free := table[b[j]&127] & window &^ takenA
		take := free & -free
		takenA |= take
		takenB |= (take | -take) >> 63 << (uint(j) & 63)
		window = window<<1 | 1
	}
	for j := head; j < len(b); j++ {
		free := table[b[j]&127] & window &^ takenA
		take := free & -free
		takenA |= take
		takenB |= (take | -take) >> 63 << (uint(j) & 63)
		window <<= 1
	}
	matches := bits.OnesCount64(takenA)
	mismatches := matches
	for rest := takenA; takenB != 0; takenB &= takenB - 1 {
		first := rest & -rest
		rest ^= first
		same := table[b[bits.TrailingZeros64(takenB)]&127] & first
		mismatches -= int((same | -same) >> 63)
	}
	prefix := 0
	for prefix < min(maxPrefix, len(b)) && m.maskTable.ascii[b[prefix]&127]&(1<<prefix) != 0 {
		prefix++
	}
	return winkler(la, len(b), matches, mismatches, prefix)
}

// wide is ascii for a text of packed clusters.
func (m *jaroMasks) wide(la int, b []uint64) float64 {
	w := jaroWindow(la, len(b))
	window := uint64(1)<<(w+1) - 1
	var takenA, takenB uint64
	for j, c := range b {
		free := m.get(c) & window &^ takenA
		take := free & -free
		takenA |= take
		if take != 0 {
			takenB |= 1 << j
		}
		window <<= 1
		if j < w {
			window |= 1
		}
	}
	matches := bits.OnesCount64(takenA)
	mismatches := 0
	for rest := takenA; takenB != 0; takenB &= takenB - 1 {
		first := rest & -rest
		rest ^= first
		if m.get(b[bits.TrailingZeros64(takenB)])&first == 0 {
			mismatches++
		}
	}
	prefix := 0
	for prefix < min(maxPrefix, len(b)) && m.get(b[prefix])&(1<<prefix) != 0 {
		prefix++
	}
	return winkler(la, len(b), matches, mismatches, prefix)
}

// codeList returns the clusters as packed numbers; only for texts without
// clusters of more than three code points.
func (p *Prepared) codeList() []uint64 {
	if p.wide != nil {
		return p.wide.codes
	}
	out := make([]uint64, len(p.text))
	for i := range out {
		out[i] = uint64(p.text[i])
	}
	return out
}

// jaroWinklerLists compares cluster lists of any length in time linear in their
// sum: occurrences of each cluster in a are chained, and because matches of one
// cluster never cross, a chain is only ever walked forward.
func jaroWinklerLists[T comparable](a, b []T) float64 {
	w := jaroWindow(len(a), len(b))
	next := make([]int32, len(a)) // next occurrence of the same cluster, -1 at the end
	head := make(map[T]int32, min(len(a), 1024))
	for i := len(a) - 1; i >= 0; i-- {
		if h, ok := head[a[i]]; ok {
			next[i] = h
		} else {
			next[i] = -1
		}
		head[a[i]] = int32(i)
	}
	takenA := make([]bool, len(a))
	matchedB := make([]int32, 0, min(len(a), len(b)))
	for j := range b {
		i, ok := head[b[j]]
		if !ok {
			continue
		}
		for i >= 0 && int(i) < j-w {
			i = next[i]
		}
		if i >= 0 && int(i) <= j+w {
			takenA[i] = true
			matchedB = append(matchedB, int32(j))
			i = next[i]
		}
		head[b[j]] = i
	}
	mismatches, k := 0, 0
	for i, taken := range takenA {
		if taken {
			if a[i] != b[matchedB[k]] {
				mismatches++
			}
			k++
		}
	}
	prefix := 0
	for prefix < min(maxPrefix, len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	return winkler(len(a), len(b), len(matchedB), mismatches, prefix)
}
