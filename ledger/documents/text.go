package documents

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// text is what a file says, kept once: lower-cased for searching, with what is
// needed to give back the original.
type text struct {
	low   string
	upper []uint64 // bit i: byte i of the original is the upper-case ASCII of low[i]
	raw   string   // the original, where lowering did more than that
}

func newText(raw string) text {
	low := strings.ToLower(raw)
	if len(low) != len(raw) {
		return text{low: low, raw: raw}
	}
	t := text{low: low}
	for i := range len(raw) {
		switch c := raw[i]; {
		case c == low[i]:
		case c >= 'A' && c <= 'Z' && low[i] == c|0x20:
			if t.upper == nil {
				t.upper = make([]uint64, (len(raw)+63)/64)
			}
			t.upper[i/64] |= 1 << (i % 64)
		default:
			return text{low: low, raw: raw}
		}
	}
	return t
}

// size is the length of the original in bytes.
func (t *text) size() int {
	if t.raw != "" {
		return len(t.raw)
	}
	return len(t.low)
}

// slice is the original's bytes from start to end.
func (t *text) slice(start, end int) string {
	if t.raw != "" {
		return t.raw[start:end]
	}
	if t.upper == nil {
		return t.low[start:end]
	}
	b := []byte(t.low[start:end])
	for i := range b {
		if at := start + i; t.upper[at/64]>>(at%64)&1 == 1 {
			b[i] &^= 0x20
		}
	}
	return string(b)
}

// at is the byte of the original at i.
func (t *text) at(i int) byte {
	if t.raw != "" {
		return t.raw[i]
	}
	c := t.low[i]
	if t.upper != nil && t.upper[i/64]>>(i%64)&1 == 1 {
		c &^= 0x20
	}
	return c
}

// original maps an offset of the lowered text to one of the original.
// Lowering may change how many bytes a character takes.
func (t *text) original(low int) int {
	if t.raw == "" {
		return low
	}
	return originalOffset(t.raw, low)
}

func originalOffset(raw string, low int) int {
	done := 0
	for i := 0; i < len(raw); {
		if done >= low {
			return i
		}
		r, n := utf8.DecodeRuneInString(raw[i:])
		done += loweredLen(r)
		i += n
	}
	return len(raw)
}

// lowered maps an offset of the original to one of the lowered text.
func (t *text) lowered(at int) int {
	if t.raw == "" {
		return at
	}
	return len(strings.ToLower(t.raw[:at]))
}

func loweredLen(r rune) int {
	if r == utf8.RuneError {
		return len("\uFFFD")
	}
	return utf8.RuneLen(unicode.ToLower(r))
}

// excerptWindow is how many bytes of text an excerpt shows.
const excerptWindow = 120

// excerpt is the text around the hit at [start, end) of the original: cut at
// rune boundaries, white space collapsed, dots where something was left out.
func (t *text) excerpt(start, end int) string {
	if end = min(end, t.size()); start > end { // the file changed since it was searched
		return ""
	}
	half := max(0, (excerptWindow-(end-start))/2)
	from, to := max(0, start-half), min(t.size(), end+half)
	for from > 0 && !utf8.RuneStart(t.at(from)) {
		from--
	}
	for to < t.size() && !utf8.RuneStart(t.at(to)) {
		to++
	}
	s := strings.ToValidUTF8(collapse(t.slice(from, to)), "\uFFFD")
	if from > 0 {
		s = "..." + s
	}
	if to < t.size() {
		s += "..."
	}
	return s
}

// collapse makes one space of every run of space, tab, CR and LF, and trims.
func collapse(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == ' ' || r == '\t' || r == '\r' || r == '\n'
	}), " ")
}

// valid is s with bytes that are no text replaced, for answers.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
