package guard

import (
	"strings"
	"sync"
	"unicode"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/packs"
)

// blank is what the detectors see in place of each byte of a placeholder: no
// letter, digit, space or punctuation, so nothing is found in it, across it, or
// because of the word in it.
const blank = "\x01"

// document is a text on its way to being redacted. Only what begins in
// [from, to) is taken out.
type document struct {
	text     string // with its placeholders
	marks    []mark // by position
	from, to int
	grown    int // bytes of the text as given by which to moved up
	found    int // placeholders of the text as given
}

// mark is a placeholder, or the place of a dropped value (at == end).
type mark struct {
	at, end int    // bytes of the text
	field   *Field // nil for a placeholder of the text as given
}

// newDocument sets the placeholders that a text already holds apart.
func newDocument(text string, from, to int) *document {
	d := &document{text: text, from: from, to: to}
	for pos := 0; ; {
		open := strings.IndexByte(text[pos:], '[')
		if open < 0 {
			return d
		}
		pos += open
		n := placeholderAt(text[pos:])
		if n == 0 {
			pos++
			continue
		}
		d.marks = append(d.marks, mark{at: pos, end: pos + n})
		if pos >= from && pos < to {
			d.found++
		}
		if pos += n; pos-n < d.to && pos > d.to { // what begins before the end is taken whole
			d.grown, d.to = pos-d.to, pos
		}
	}
}

// tokenDigits are shown of a token.
const tokenDigits = 16

// placeholderAt returns the length of the placeholder s begins with, or 0.
// Sixteen digits that a card number could have are read as such: what looks
// like a token must not carry a value out.
func placeholderAt(s string) int {
	colon := strings.IndexByte(s[:min(len(s), 40)], ':')
	end := colon + 1 + tokenDigits
	if colon < 2 || len(s) <= end || s[end] != ']' || !labels()[s[1:colon]] {
		return 0
	}
	letters := false
	for _, c := range []byte(s[colon+1 : end]) {
		switch {
		case c >= '0' && c <= '9':
		case c >= 'a' && c <= 'f':
			letters = true
		default:
			return 0
		}
	}
	if !letters && luhn(s[colon+1:end]) {
		return 0
	}
	return end + 1
}

// luhn reports whether a run of digits ends in the check digit of cards.
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// labels are the words placeholders can begin with: one for each category that
// a statute names, a package claims or a detector reports.
var labels = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	add := func(categories []string) {
		for _, c := range categories {
			set[label(c)] = true
		}
	}
	table := packs.LoadJurisdictions()
	for _, id := range table.StatuteIDs() {
		s, _ := table.Statute(id)
		add(s.Governed())
	}
	add(detect.Categories(""))
	for _, r := range table.Rows() {
		add(detect.Categories(r.Code))
	}
	for _, name := range table.PackageNames() {
		p, _ := table.Package(name)
		add(p.Categories)
	}
	return set
})

// view is the text as the detectors see it.
func (d *document) view() string {
	if len(d.marks) == 0 {
		return d.text
	}
	var b strings.Builder
	b.Grow(len(d.text))
	pos := 0
	for _, m := range d.marks {
		b.WriteString(d.text[pos:m.at])
		b.WriteString(strings.Repeat(blank, m.end-m.at))
		pos = m.end
	}
	b.WriteString(d.text[pos:])
	return b.String()
}

// fields returns what was replaced, by position.
func (d *document) fields() []Field {
	out := []Field{}
	for _, m := range d.marks {
		if m.field != nil {
			out = append(out, *m.field)
		}
	}
	return out
}

// replace takes regions, sorted and apart, out of the text. substitute makes
// what stands in for a stretch that holds a letter or a digit, and its field;
// it is called in order. It reports whether anything was taken out.
func (d *document) replace(regions []region, substitute func(r region, value string) (string, *Field)) bool {
	e := editor{d: d, old: d.marks}
	taken := false
	to, grown := d.to, d.grown
	for _, r := range regions {
		if r.end <= d.from || r.start >= d.to {
			continue
		}
		if r.end > to { // what begins before the end is taken whole
			grown += r.end - to
			to = r.end
		}
		e.copyTo(max(r.start, d.from))
		for e.pos < r.end {
			end, dropped := e.clearUntil(r.end)
			if value := d.text[e.pos:end]; strings.ContainsFunc(value, worthHiding) {
				e.keep(dropped)
				literal, field := substitute(r, value)
				e.put(literal, field)
				e.pos, taken = end, true
			}
			e.copyTo(end)
			if len(e.old) > 0 && e.old[0].at == end && end < r.end {
				e.copyTo(max(end+1, e.old[0].end))
			}
		}
	}
	e.copyTo(to)
	moved := e.out.Len()
	e.copyTo(len(d.text))
	e.keep(len(e.old))
	d.text, d.marks, d.to, d.grown = e.out.String(), e.marks, moved, grown
	return taken
}

// worthHiding reports whether a character can carry personal data.
func worthHiding(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// editor writes the next state of a document.
type editor struct {
	d     *document
	pos   int    // bytes of the old text that are done
	old   []mark // still to be copied
	out   strings.Builder
	marks []mark
}

// copyTo copies the text up to end with its marks. It never stops within one.
func (e *editor) copyTo(end int) {
	for len(e.old) > 0 && e.old[0].at < end {
		m := e.old[0]
		e.out.WriteString(e.d.text[e.pos:m.at])
		e.put(e.d.text[m.at:m.end], m.field)
		e.pos, e.old = m.end, e.old[1:]
	}
	if e.pos < end {
		e.out.WriteString(e.d.text[e.pos:end])
		e.pos = end
	}
}

// clearUntil returns where the text in clear from here to end stops, and how
// many dropped values stand in it.
func (e *editor) clearUntil(end int) (stop, dropped int) {
	for k, m := range e.old {
		if m.at >= end {
			return end, k
		}
		if m.end > m.at {
			return m.at, k
		}
	}
	return end, len(e.old)
}

// keep moves the next n marks, which take no room, to where the output is.
func (e *editor) keep(n int) {
	for _, m := range e.old[:n] {
		e.put("", m.field)
	}
	e.old = e.old[n:]
}

func (e *editor) put(literal string, field *Field) {
	at := e.out.Len()
	e.out.WriteString(literal)
	e.marks = append(e.marks, mark{at, e.out.Len(), field})
}
