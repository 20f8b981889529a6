package guard

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/packs"
)

// stand is what the detectors see in place of a placeholder: no letter, digit,
// space or punctuation of any language, so nothing is found in it, across it,
// or because of the word in it.
const stand = '\uFFFC'

// document is a text on its way to being redacted: what is still in clear,
// with a mark where something was taken out.
type document struct {
	clear string // a placeholder is one stand, a dropped value is nothing
	marks []mark // by position
	found int    // placeholders of the text as given
}

// mark is one replaced or dropped value, or a placeholder that was there.
type mark struct {
	at      int    // byte of clear
	literal string // the placeholder; "" for a dropped value, which takes no room
	field   *Field // nil for a placeholder of the text as given
}

func (m mark) size() int {
	if m.literal == "" {
		return 0
	}
	return utf8.RuneLen(stand)
}

// newDocument sets the placeholders that a text already holds apart.
func newDocument(doc string) *document {
	d := &document{}
	if !strings.Contains(doc, "[") {
		d.clear = doc
		return d
	}
	var b builder
	for pos := 0; pos < len(doc); {
		open := strings.IndexByte(doc[pos:], '[')
		if open < 0 {
			b.WriteString(doc[pos:])
			break
		}
		b.WriteString(doc[pos : pos+open])
		pos += open
		if n := placeholderAt(doc[pos:]); n > 0 {
			b.mark(mark{literal: doc[pos : pos+n]})
			d.found++
			pos += n
			continue
		}
		b.WriteByte('[')
		pos++
	}
	d.clear, d.marks = b.String(), b.marks
	return d
}

// placeholderAt returns the length of the placeholder s begins with, or 0.
// Sixteen digits that a card number could have are read as such: what looks
// like a token must not carry a value out.
func placeholderAt(s string) int {
	const digits = 16
	colon := strings.IndexByte(s[:min(len(s), 40)], ':')
	if colon < 2 || len(s) < colon+1+digits+1 || s[colon+1+digits] != ']' || !labels()[s[1:colon]] {
		return 0
	}
	letters := false
	for _, c := range []byte(s[colon+1 : colon+1+digits]) {
		switch {
		case c >= '0' && c <= '9':
		case c >= 'a' && c <= 'f':
			letters = true
		default:
			return 0
		}
	}
	if !letters && luhn(s[colon+1:colon+1+digits]) {
		return 0
	}
	return colon + 1 + digits + 1
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
	codes := []string{""}
	for _, r := range table.Rows() {
		codes = append(codes, r.Code)
	}
	for _, code := range codes {
		add(detect.Categories(code))
	}
	for _, name := range table.PackageNames() {
		p, _ := table.Package(name)
		add(p.Categories)
	}
	return set
})

// text returns the text with its placeholders.
func (d *document) text() string {
	var b strings.Builder
	pos := 0
	for _, m := range d.marks {
		b.WriteString(d.clear[pos:m.at])
		b.WriteString(m.literal)
		pos = m.at + m.size()
	}
	b.WriteString(d.clear[pos:])
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
// the mark for a stretch that holds a letter or a digit; it is called in order.
// It reports whether anything was taken out.
func (d *document) replace(regions []region, substitute func(r region, value string) mark) bool {
	b := builder{}
	old := d.marks
	pos, taken := 0, false
	copyTo := func(end int) { // what stays, with its marks
		for len(old) > 0 && old[0].at < end {
			b.WriteString(d.clear[pos:old[0].at])
			pos = old[0].at + old[0].size()
			b.mark(old[0])
			old = old[1:]
		}
		if pos < end {
			b.WriteString(d.clear[pos:end])
			pos = end
		}
	}
	for _, r := range regions {
		copyTo(r.start)
		for pos < r.end {
			end, stop := r.end, len(old)
			for k, m := range old {
				if m.at >= r.end || m.size() > 0 && m.at >= pos {
					end, stop = min(end, m.at), k
					break
				}
			}
			value := d.clear[pos:end]
			if strings.ContainsFunc(value, worthHiding) {
				for _, m := range old[:stop] { // dropped before, inside
					b.mark(m)
				}
				old = old[stop:]
				b.mark(substitute(r, value))
				pos, taken = end, true
			}
			copyTo(end)
			if end < r.end {
				copyTo(min(r.end, end+utf8.RuneLen(stand)))
			}
		}
	}
	copyTo(len(d.clear))
	for _, m := range old {
		b.mark(m)
	}
	d.clear, d.marks = b.String(), b.marks
	return taken
}

// worthHiding reports whether a character can carry personal data.
func worthHiding(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// builder writes a document.
type builder struct {
	strings.Builder
	marks []mark
}

func (b *builder) mark(m mark) {
	m.at = b.Len()
	b.marks = append(b.marks, m)
	if m.literal != "" {
		b.WriteRune(stand)
	}
}
