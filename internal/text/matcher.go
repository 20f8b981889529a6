package text

import "math/bits"

// wordBits is how many characters one mask word covers. Longer texts take the
// long path, which is exact too and linear for JaroWinkler.
const wordBits = 64

// Matcher compares prepared texts without allocating. It keeps the bit masks of
// the last first operand, so loops should hold that one and vary the second.
// The zero value is ready; a Matcher serves one goroutine at a time, and no
// Prepared that it has seen may be overwritten while it is in use.
type Matcher struct {
	jaro  jaroMasks
	sort  sortMasks
	block *blocks // made when the first longer text is met
}

// blocks holds the masks of a longer first operand.
type blocks struct{ jaro, sort blockMasks }

// JaroWinkler is the similarity of a and b in [0,1] on extended grapheme
// clusters: Jaro with a window of half the longer text less one, plus a bonus of
// a tenth a common leading cluster (at most four) where Jaro exceeds 0.7. An
// empty text gives 0. It is symmetric to the last bit.
func (m *Matcher) JaroWinkler(a, b *Prepared) float64 {
	la, lb := a.clusters(), b.clusters()
	switch {
	case la == 0 || lb == 0:
		return 0
	case a.isLong() || b.isLong():
		return jaroWinklerLists(a.clusterStrings(), b.clusterStrings())
	case (la > wordBits || lb > wordBits) && a.inBlock() && b.inBlock():
		if m.block == nil {
			m.block = new(blocks)
		}
		if m.block.jaro.loaded != a {
			m.block.jaro.load(a, a.text)
		}
		return m.block.jaro.jaroWinkler(b.text)
	case la > wordBits || lb > wordBits:
		return jaroWinklerLists(a.codeList(), b.codeList())
	}
	if m.jaro.loaded != a {
		m.jaro.load(a)
	}
	if b.wide == nil {
		return m.jaro.ascii(la, b.text)
	}
	return m.jaro.wide(la, b.wide.codes)
}

// TokenSortRatio is 1 minus the insertions and deletions between a and b, their
// words sorted, over the sum of their lengths in code points; two empty texts
// give 1. It is symmetric to the last bit.
func (m *Matcher) TokenSortRatio(a, b *Prepared) float64 {
	la, lb := a.sortedLen(), b.sortedLen()
	if la == 0 || lb == 0 {
		return sortRatio(la, lb, 0)
	}
	if la > wordBits {
		if lb > wordBits && a.inBlock() && b.inBlock() {
			if m.block == nil {
				m.block = new(blocks)
			}
			if m.block.sort.loaded != a {
				m.block.sort.load(a, a.sorted)
			}
			return sortRatio(la, lb, m.block.sort.lcs(b.sorted))
		}
		if lb > wordBits {
			return sortRatio(la, lb, lcsLong(a, b))
		}
		a, b = b, a
	}
	if m.sort.loaded != a {
		m.sort.load(a)
	}
	return sortRatio(la, lb, m.sort.lcs(b))
}

// Fuzzy is the greater of JaroWinkler and TokenSortRatio.
func (m *Matcher) Fuzzy(a, b *Prepared) float64 {
	jw := m.JaroWinkler(a, b)
	la, lb := a.sortedLen(), b.sortedLen()
	// The ratio cannot exceed the one where the shorter is wholly contained.
	if jw >= sortRatio(la, lb, min(la, lb)) {
		return jw
	}
	return max(jw, m.TokenSortRatio(a, b))
}

// JaroWinkler compares two texts once; see Matcher.JaroWinkler.
func JaroWinkler(a, b string) float64 {
	pa, pb := Prepare(a), Prepare(b)
	var m Matcher
	return m.JaroWinkler(&pa, &pb)
}

// TokenSortRatio compares two texts once; see Matcher.TokenSortRatio.
func TokenSortRatio(a, b string) float64 {
	pa, pb := Prepare(a), Prepare(b)
	var m Matcher
	return m.TokenSortRatio(&pa, &pb)
}

// Fuzzy compares two texts once; see Matcher.Fuzzy.
func Fuzzy(a, b string) float64 {
	pa, pb := Prepare(a), Prepare(b)
	var m Matcher
	return m.Fuzzy(&pa, &pb)
}

func (p *Prepared) isLong() bool { return p.wide != nil && p.wide.long != nil }

// sortRatio turns a longest common subsequence into the ratio. Multiplying and
// dividing by 100 is part of the definition: it rounds.
func sortRatio(la, lb, lcs int) float64 {
	total := la + lb
	if total == 0 {
		return 1
	}
	distance := float64(total-2*lcs) / float64(total)
	return float64((1.0-distance)*100) / 100.0
}

// winkler turns match counts into the similarity. The conversions keep a
// compiler from fusing the operations, which would round differently.
func winkler(la, lb, matches, mismatches, prefix int) float64 {
	if matches == 0 {
		return 0
	}
	m := float64(matches)
	j := (m/float64(la) + m/float64(lb) + float64(matches-mismatches/2)/m) / 3.0
	if j > 0.7 && prefix > 0 {
		j += float64(float64(float64(prefix)*0.1) * (1.0 - j))
	}
	return j
}

const maxPrefix = 4

// maskTable maps characters to the bit mask of their positions: ASCII by index,
// others by open addressing (at most 64 keys in 128 slots).
type maskTable struct {
	ascii [128]uint64
	keys  [128]uint64
	masks [128]uint64
	used  bool // some other character is in the table
}

func slot(code uint64) uint64 { return (code * 0x9e3779b97f4a7c15) >> 57 }

func (t *maskTable) get(code uint64) uint64 {
	if code < 128 {
		return t.ascii[code]
	}
	if !t.used {
		return 0
	}
	i := slot(code)
	for t.keys[i] != code {
		if t.keys[i] == 0 {
			return 0
		}
		i = (i + 1) & 127
	}
	return t.masks[i]
}

func (t *maskTable) add(code uint64, mask uint64) {
	if code < 128 {
		t.ascii[code] |= mask
		return
	}
	t.used = true
	i := slot(code)
	for t.keys[i] != code && t.keys[i] != 0 {
		i = (i + 1) & 127
	}
	t.keys[i] = code
	t.masks[i] |= mask
}

func (t *maskTable) clearASCII(s string) {
	for i := range len(s) {
		t.ascii[s[i]&127] = 0
	}
}

func (t *maskTable) clearCodes(codes []uint64) {
	for _, c := range codes {
		if c < 128 {
			t.ascii[c] = 0
		}
	}
	if t.used {
		clear(t.keys[:])
		clear(t.masks[:])
		t.used = false
	}
}

// sortMasks holds the masks of one sorted text of at most wordBits code points.
type sortMasks struct {
	maskTable
	loaded *Prepared
}

func (s *sortMasks) load(p *Prepared) {
	if l := s.loaded; l != nil {
		if l.wide == nil {
			s.clearASCII(l.sorted)
		} else {
			s.clearCodes(l.wide.sorted)
		}
	}
	s.loaded = p
	if p.wide == nil {
		for i := range len(p.sorted) {
			s.ascii[p.sorted[i]&127] |= 1 << i
		}
		return
	}
	for i, c := range p.wide.sorted {
		s.add(c, 1<<i)
	}
}

// lcs is the length of the longest common subsequence of the loaded text and b.
// Each zero bit of the row is one step of the subsequence.
func (s *sortMasks) lcs(b *Prepared) int {
	row := ^uint64(0)
	if b.wide == nil {
		for i := range len(b.sorted) {
			u := row & s.ascii[b.sorted[i]&127]
			row = (row + u) | (row - u)
		}
	} else {
		for _, c := range b.wide.sorted {
			u := row & s.get(c)
			row = (row + u) | (row - u)
		}
	}
	return bits.OnesCount64(^row)
}
