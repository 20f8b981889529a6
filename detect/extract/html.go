package extract

import (
	"fmt"
	"html"
	"strings"
)

// blocks are the elements that begin and end a paragraph.
var blocks = set(`address article aside blockquote body br caption dd details dialog div dl dt fieldset figcaption figure
	footer form h1 h2 h3 h4 h5 h6 head header hr html legend li main nav ol option p pre section select summary table
	tbody td textarea tfoot th thead title tr ul`)

// shownAttributes hold text that a reader or a mail program sees.
var shownAttributes = set("alt aria-label content href placeholder title value")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// readHTML appends each paragraph of an HTML text as a part: its words without
// markup, and the attributes that carry text. Scripts, styles and comments are
// text to no reader, but they hold data like any other: they are kept too.
func (w *writer) readHTML(s string) error {
	p := paragraphs{w: w}
	for len(s) > 0 {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			p.text(s)
			break
		}
		p.text(s[:open])
		s = s[open:]
		switch {
		case strings.HasPrefix(s, "<!--"):
			body, rest := cut(s[4:], "-->")
			p.aside(body)
			s = rest
		case strings.HasPrefix(s, "<!"), strings.HasPrefix(s, "<?"):
			_, s = cut(s[2:], ">")
		case len(s) > 1 && (isLetter(s[1]) || s[1] == '/'):
			s = p.tag(s)
		default:
			p.text("<")
			s = s[1:]
		}
		if p.err != nil {
			return p.err
		}
	}
	p.end()
	return p.err
}

// paragraphs gathers text between block elements.
type paragraphs struct {
	w   *writer
	buf strings.Builder
	n   int
	err error
}

func (p *paragraphs) text(s string) {
	if p.buf.Len()+len(s) > p.w.limits.Text {
		p.err = tooLarge("the text of the document", int64(p.w.limits.Text))
		return
	}
	p.buf.WriteString(html.UnescapeString(s))
}

// end writes the paragraph so far.
func (p *paragraphs) end() {
	s := strings.TrimSpace(p.buf.String())
	p.buf.Reset()
	if s == "" || p.err != nil {
		return
	}
	p.n++
	p.err = p.w.part(fmt.Sprintf("paragraph %d", p.n), s)
}

// aside writes text that stands outside the paragraphs.
func (p *paragraphs) aside(s string) {
	p.end()
	p.text(s)
	p.end()
}

// tag reads the tag s begins with and returns what follows it, or what follows
// the element when its content is not markup.
func (p *paragraphs) tag(s string) string {
	closing := s[1] == '/'
	i := 1
	if closing {
		i++
	}
	start := i
	for i < len(s) && (isLetter(s[i]) || s[i] >= '0' && s[i] <= '9') {
		i++
	}
	name := strings.ToLower(s[start:i])
	end, values := attributes(s, i)
	if blocks[name] {
		p.end()
	}
	for _, v := range values {
		p.aside(v)
	}
	s = s[end:]
	if !closing && (name == "script" || name == "style") {
		at := indexFold(s, "</"+name)
		if at < 0 {
			at = len(s)
		}
		p.aside(s[:at])
		s = s[at:]
	}
	return s
}

// attributes returns the end of the tag that stands at byte i within s, and
// the values of its attributes that carry text.
func attributes(s string, i int) (end int, values []string) {
	for i < len(s) && s[i] != '>' {
		start := i
		for i < len(s) && s[i] != '=' && s[i] != '>' && s[i] > ' ' && s[i] != '/' {
			i++
		}
		if i == start {
			i++
			continue
		}
		name := strings.ToLower(s[start:i])
		if i >= len(s) || s[i] != '=' {
			continue
		}
		i++
		var value string
		switch {
		case i < len(s) && (s[i] == '"' || s[i] == '\''):
			close := strings.IndexByte(s[i+1:], s[i])
			if close < 0 {
				close = len(s) - i - 1
			}
			value = s[i+1 : i+1+close]
			i = min(len(s), i+close+2)
		default:
			start := i
			for i < len(s) && s[i] > ' ' && s[i] != '>' {
				i++
			}
			value = s[start:i]
		}
		if shownAttributes[name] && strings.TrimSpace(value) != "" {
			values = append(values, value)
		}
	}
	return min(len(s), i+1), values
}

// indexFold finds an ASCII word in any case.
func indexFold(s, word string) int {
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i] == word[0] && strings.EqualFold(s[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

func cut(s, sep string) (before, after string) {
	before, after, found := strings.Cut(s, sep)
	if !found {
		return s, ""
	}
	return before, after
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
