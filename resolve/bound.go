package resolve

import (
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/text"
)

// bag counts the characters of a text in 32 classes of a byte each. What two
// texts have in common, in whatever order, bounds their similarity.
type bag struct {
	counts  [4]uint64
	letters uint16 // of the text
	sorted  uint16 // of its sorted form
	usable  bool   // ASCII, and no class overflows
}

const (
	mostInClass = 127
	highBits    = 0x8080808080808080
	evenBytes   = 0x00ff00ff00ff00ff
)

// classes maps characters to one of 32 classes; letters have one each.
var classes = func() (of [utf8.RuneSelf]uint8) {
	for c := range of {
		switch {
		case c >= 'a' && c <= 'z':
			of[c] = uint8(c - 'a')
		case c >= '0' && c <= '9':
			of[c] = uint8(26 + (c-'0')%4)
		case c == ' ':
			of[c] = 30
		default:
			of[c] = 31
		}
	}
	return of
}()

func bagOf(p *text.Prepared) bag {
	s := p.Text()
	var counts [32]uint8
	if len(s) == 0 || len(s) > 1<<15 {
		return bag{}
	}
	b := bag{letters: uint16(len(s)), usable: true}
	words, spaces := 0, 0
	for i := range len(s) {
		c := s[i]
		if c == ' ' {
			spaces++
		} else if i == 0 || s[i-1] == ' ' {
			words++
		}
		if c >= utf8.RuneSelf {
			return bag{}
		}
		k := classes[c] % 32
		if counts[k]++; counts[k] > mostInClass {
			return bag{}
		}
	}
	b.sorted = uint16(max(0, len(s)-spaces+words-1))
	for k, n := range counts {
		b.counts[k/8] |= uint64(n) << (k % 8 * 8)
	}
	return b
}

// common is the number of characters that two bags have in common.
func (a *bag) common(b *bag) int {
	sum := uint64(0)
	for i, x := range a.counts {
		y := b.counts[i]
		// A byte of the mask is full where x has at least as many as y.
		mask := ((((x | highBits) - y) & highBits) >> 7) * 0xff
		least := y&mask | x&^mask
		sum += least&evenBytes + least>>8&evenBytes
	}
	return int(sum * 0x0001000100010001 >> 48)
}

// prefixBonus is how many leading characters the similarity rewards.
const prefixBonus = 4

// mostSimilar bounds the greater of the two text similarities from above.
func mostSimilar(a, b *bag, x, y string) float64 {
	if !a.usable || !b.usable {
		return 1
	}
	m := float64(a.common(b))
	la, lb := float64(a.letters), float64(b.letters)
	ratio := 2 * m / max(1, float64(a.sorted)+float64(b.sorted))
	j := (m/la + m/lb + 1) / 3
	if j > 0.7 {
		p := 0
		for p < prefixBonus && p < len(x) && p < len(y) && x[p] == y[p] {
			p++
		}
		j += float64(p) * 0.1 * (1 - j)
	}
	return max(ratio, j) + slack
}

// below reports whether a comparator's similarity certainly lies below x, at
// less cost than computing it.
func (w *scorer) below(c int, x float64) bool {
	cmp := &w.p.comps[c]
	switch cmp.kind {
	case kindTFToken:
		return cmp.column == w.p.sketched && !cmp.hausa && w.sharesBelow(x)
	case kindName, kindPlaceName:
	default:
		return false
	}
	col := &w.s.cols[cmp.column]
	ra, rb := w.rowA[cmp.column], w.rowB[cmp.column]
	if ra == rb || len(col.bags) == 0 {
		return false
	}
	if mostSimilar(&col.bags[ra], &col.bags[rb], col.norms[ra].Text(), col.norms[rb].Text()) >= x {
		return false
	}
	return cmp.kind == kindPlaceName || !w.s.words.mayEquate(col, ra, rb)
}

// sharesBelow reports whether the weight that two rows' names share certainly is
// a smaller part than x of the weight they have, by their summaries alone. The
// weight of the row of B is rounded.
func (w *scorer) sharesBelow(x float64) bool {
	if !w.mayShare() {
		return true
	}
	if len(w.wordsA) == 0 {
		return false
	}
	summary := w.rowB[w.cols:]
	if summary[summaryWords] == manyInline {
		return false
	}
	shared := 0.0
	for n, id := range w.wordsA {
		if slices.Contains(summary[summaryWords:], id) {
			shared += w.rareA[n]
		}
	}
	all := w.weighA + float64(math.Float32frombits(uint32(summary[summaryWeight]))) - shared
	const rounding = 1e-6
	return all > 0 && shared/all+rounding < x
}

// sketch prepares what words can lead to, one bit of 64 each: a false bit rules
// a match out.
func (w *nameWords) sketch(id int32) (lead uint8, has uint64) {
	bit := func(n uint64) uint8 { return uint8(n * 0x9e3779b97f4a7c15 >> 58) }
	const groups = 1 << 40 // apart from word numbers
	has = 1 << bit(uint64(id))
	for i, part := range w.member[id] {
		for ; part != 0; part &= part - 1 {
			g := uint64(i*64 + bits.TrailingZeros64(part))
			has |= 1 << bit(groups+g)
		}
	}
	lead = bit(uint64(id))
	if g := w.group[id]; g >= 0 {
		lead = bit(groups + uint64(g))
	}
	return lead, has
}

// mayEquate reports whether enough words of two names can lead to each other
// for the names to be equivalent. It never says no wrongly.
func (w *nameWords) mayEquate(col *column, ra, rb int32) bool {
	a, b := col.words.at(ra), col.words.at(rb)
	longest := max(len(a), len(b))
	if 3*min(len(a), len(b)) < 2*longest {
		return false
	}
	n := 0
	has := col.sketch[rb]
	for _, t := range a {
		n += int(has >> w.lead[t] & 1)
	}
	return 3*n >= 2*longest
}

// findBounds prepares the bounds of columns that hold names.
func (s *store) findBounds() {
	for i := range s.cols {
		c := &s.cols[i]
		if c.spec.lexicon {
			c.sketch = slices.Grow(c.sketch, len(c.formAt)-len(c.sketch))
		}
		for ref := len(c.bags); c.spec.norm && ref < len(c.norms); ref++ {
			c.bags = append(c.bags, bagOf(&c.norms[ref]))
		}
		for ref := len(c.sketch); c.spec.lexicon && ref < len(c.formAt); ref++ {
			has := uint64(0)
			for _, id := range c.words.at(int32(ref)) {
				has |= s.words.has[id]
			}
			c.sketch = append(c.sketch, has)
		}
	}
}
