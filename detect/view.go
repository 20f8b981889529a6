package detect

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/arche-ledger/arche/internal/text"
)

// view is a text as the scanners read it, with the way back to the text as it
// was given. Positions of scanners are byte offsets of s.
type view struct {
	orig string
	s    string
	segs []seg // nil when s is orig

	// joined is true when dropping a format character brought two word
	// characters together: what it separated is then scanned apart as well.
	joined bool

	work int // bytes looked at outside the single pass, for tests of linearity
}

// seg says that from v on the view came from o on: byte for byte, or, when
// oend is not zero, as one replaced piece of the original that ends at oend.
type seg struct{ v, o, oend int }

// newView folds a text; with drop false format characters stay where they are.
func newView(src string, drop bool) *view {
	w := &view{orig: src, s: src}
	i := firstFold(src, 0, drop)
	if i == len(src) {
		return w
	}
	b := &viewBuilder{drop: drop, src: src, segs: []seg{{}}}
	b.out.Grow(len(src))
	done := 0
	for i < len(src) {
		b.out.WriteString(src[done:i])
		done = b.fold(i)
		i = firstFold(src, done, drop)
	}
	b.out.WriteString(src[done:])
	w.s, w.segs, w.joined = b.out.String(), b.segs, b.joined
	return w
}

// firstFold returns the first position from i on whose cluster the view
// changes, or the text's length.
func firstFold(s string, i int, drop bool) int {
	for i < len(s) {
		if s[i] < utf8.RuneSelf {
			if i+1 < len(s) && s[i+1] >= 0xcc && clusterEnd(s, i+1) > i+1 {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if drop && droppable(r) || foldRune(r) != r {
			return i
		}
		if end := clusterEnd(s, i+n); end > i+n || r >= 0x300 && !norm.NFC.IsNormalString(s[i:i+n]) {
			return i
		}
		i += n
	}
	return len(s)
}

// clusterEnd returns the end of the characters from i on that may compose with
// the one before i.
func clusterEnd(s string, i int) int {
	for i < len(s) && s[i] >= 0xcc {
		p := norm.NFC.PropertiesString(s[i:])
		if p.Size() == 0 || p.BoundaryBefore() {
			break
		}
		i += p.Size()
	}
	return i
}

type viewBuilder struct {
	drop   bool
	src    string
	out    strings.Builder
	segs   []seg
	joined bool
}

// fold writes the view of the cluster at i and returns the position after it.
func (b *viewBuilder) fold(i int) int {
	r, n := utf8.DecodeRuneInString(b.src[i:])
	if b.drop && droppable(r) {
		end := i + n
		for end < len(b.src) {
			r, n := utf8.DecodeRuneInString(b.src[end:])
			if !droppable(r) {
				break
			}
			end += n
		}
		b.noteJoin(i, end)
		b.segs = append(b.segs, seg{b.out.Len(), end, 0})
		return end
	}
	end := clusterEnd(b.src, i+n)
	v := b.out.Len()
	f := foldRune(r)
	switch {
	case f != r && f < utf8.RuneSelf && f >= '0' && f <= '9', class[byte(r)]&cDigit != 0 && r < utf8.RuneSelf:
		b.out.WriteByte(byte(f)) // a mark on a digit is decoration
	case f != r:
		b.out.WriteString(norm.NFC.String(string(f) + b.src[i+n:end]))
	default:
		b.out.WriteString(norm.NFC.String(b.src[i:end]))
	}
	b.segs = append(b.segs, seg{v, i, end}, seg{b.out.Len(), end, 0})
	return end
}

func (b *viewBuilder) noteJoin(i, end int) {
	if b.joined || i == 0 || end == len(b.src) {
		return
	}
	p, _ := utf8.DecodeLastRuneInString(b.src[:i])
	q, _ := utf8.DecodeRuneInString(b.src[end:])
	b.joined = isWordRune(p) && isWordRune(q)
}

// droppable tells whether r says nothing: format characters, marks that only
// select a glyph, and frames around a character.
func droppable(r rune) bool {
	if r < 0xad {
		return false
	}
	return unicode.Is(unicode.Cf, r) || r == 0x34f || r >= 0x20dd && r <= 0x20e4 || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef
}

// foldRune maps decimal digits and full-width forms to ASCII.
func foldRune(r rune) rune {
	if r < 0x660 {
		return r
	}
	if r >= 0xff01 && r <= 0xff5e {
		return r - 0xff01 + '!'
	}
	if !unicode.Is(unicode.Nd, r) {
		return r
	}
	return '0' + digitValue(r)
}

// digitValue relies on decimal digits standing in ascending runs of ten.
func digitValue(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}

func (w *view) seg(p int) seg {
	i := sort.Search(len(w.segs), func(i int) bool { return w.segs[i].v > p })
	return w.segs[i-1]
}

// origStart returns where the view's position p lies in the original.
func (w *view) origStart(p int) int {
	if w.segs == nil {
		return p
	}
	g := w.seg(p)
	if g.oend != 0 {
		return g.o
	}
	return g.o + p - g.v
}

// origEnd returns where a stretch that ends at p ends in the original; marks
// on its last character belong to it.
func (w *view) origEnd(p int) int {
	if w.segs == nil || p == 0 {
		return w.pastMarks(p)
	}
	g := w.seg(p - 1)
	if g.oend != 0 {
		return w.pastMarks(g.oend)
	}
	return w.pastMarks(g.o + p - g.v)
}

// viewStart returns the position in the view of an offset of the original.
func (w *view) viewStart(o int) int {
	if w.segs == nil {
		return o
	}
	i := sort.Search(len(w.segs), func(i int) bool { return w.segs[i].o > o })
	g := w.segs[i-1]
	p := g.v
	if g.oend == 0 {
		p += o - g.o
	}
	if i < len(w.segs) {
		p = min(p, w.segs[i].v)
	}
	return min(p, len(w.s))
}

func (w *view) pastMarks(p int) int {
	for p < len(w.orig) && w.orig[p] >= 0xcc {
		r, n := utf8.DecodeRuneInString(w.orig[p:])
		if !isMark(r) {
			break
		}
		p += n
	}
	return p
}

// runeAt and runeBefore return the characters around a position; 0 at the
// edges of the text.
func (w *view) runeAt(p int) rune {
	if p >= len(w.s) {
		return 0
	}
	if b := w.s[p]; b < utf8.RuneSelf {
		return rune(b)
	}
	r, _ := utf8.DecodeRuneInString(w.s[p:])
	return r
}

func (w *view) runeBefore(p int) rune {
	if p <= 0 {
		return 0
	}
	if b := w.s[p-1]; b < utf8.RuneSelf {
		return rune(b)
	}
	r, _ := utf8.DecodeLastRuneInString(w.s[:p])
	return r
}

// wordBefore and wordAt tell whether a word character stands on that side;
// a boundary is where they differ.
func (w *view) wordBefore(p int) bool { return isWordRune(w.runeBefore(p)) }
func (w *view) wordAt(p int) bool     { return isWordRune(w.runeAt(p)) }

func (w *view) boundary(p int) bool { return w.wordBefore(p) != w.wordAt(p) }

// alnumBefore and alnumAt are the ASCII fences of identifiers.
func (w *view) alnumBefore(p int) bool { return p > 0 && is(w.s[p-1], cAlnum) }
func (w *view) alnumAt(p int) bool     { return p < len(w.s) && is(w.s[p], cAlnum) }

func (w *view) digitBefore(p int) bool { return p > 0 && is(w.s[p-1], cDigit) }
func (w *view) digitAt(p int) bool     { return p < len(w.s) && is(w.s[p], cDigit) }

// spaceAt returns the size of the white-space character at p, 0 when it is
// another.
func (w *view) spaceAt(p int) int {
	if p >= len(w.s) {
		return 0
	}
	if b := w.s[p]; b < utf8.RuneSelf {
		return int(class[b]&cSpace) / cSpace
	}
	r, n := utf8.DecodeRuneInString(w.s[p:])
	if text.IsSpace(r) {
		return n
	}
	return 0
}

// skipSpace returns the first position from p on that is no white space.
func (w *view) skipSpace(p int) int {
	for n := w.spaceAt(p); n > 0; n = w.spaceAt(p) {
		p += n
	}
	return p
}

// back and ahead move n characters from p, stopping at the edges.
func (w *view) back(p, n int) int {
	for ; n > 0 && p > 0; n-- {
		_, k := utf8.DecodeLastRuneInString(w.s[:p])
		p -= k
	}
	return p
}

func (w *view) ahead(p, n int) int {
	for ; n > 0 && p < len(w.s); n-- {
		_, k := utf8.DecodeRuneInString(w.s[p:])
		p += k
	}
	return p
}
