package canon

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Limits bounds what Parse accepts. The zero value is strict JSON of at most
// DefaultDepth levels.
type Limits struct {
	Depth     int  // levels of arrays and objects; 0 means DefaultDepth
	NonFinite bool // accept the words NaN, Infinity and -Infinity as numbers
	Unique    bool // refuse an object that names a key twice, with ErrRepeated
}

// ErrRepeated says that an object names a key twice: readers disagree on which
// of the two counts.
var ErrRepeated = errors.New("an object in the JSON names a key twice")

// DefaultDepth is the nesting that Parse accepts when told nothing else.
const DefaultDepth = 512

// SyntaxError says where a text stops being acceptable JSON. It never quotes
// the text: the text may be personal data.
type SyntaxError struct {
	Offset int // byte offset
	Reason string
}

// Error names the offset and the reason.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// Parse reads one JSON value that fills data but for white space. Key order and
// number literals are kept; a repeated key keeps its first place and its last
// value. Invalid UTF-8, lone surrogates and trailing bytes are errors
// (*SyntaxError).
func Parse(data []byte, lim Limits) (any, error) {
	if lim.Depth == 0 {
		lim.Depth = DefaultDepth
	}
	p := &parser{data: data, lim: lim}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos != len(data) {
		return nil, p.fail("unexpected bytes after the value")
	}
	return v, nil
}

// ParseObject is Parse for a text that must be an object.
func ParseObject(data []byte, lim Limits) (*Object, error) {
	v, err := Parse(data, lim)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*Object)
	if !ok {
		return nil, &SyntaxError{0, "expected an object"}
	}
	return o, nil
}

type parser struct {
	data []byte
	pos  int
	lim  Limits
}

func (p *parser) fail(reason string) error { return &SyntaxError{p.pos, reason} }

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *parser) word(w string) bool {
	if len(p.data)-p.pos >= len(w) && string(p.data[p.pos:p.pos+len(w)]) == w {
		p.pos += len(w)
		return true
	}
	return false
}

func (p *parser) value(depth int) (any, error) {
	if p.pos >= len(p.data) {
		return nil, p.fail("unexpected end of the text")
	}
	switch c := p.data[p.pos]; {
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c == '"':
		return p.text()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case p.word("true"):
		return true, nil
	case p.word("false"):
		return false, nil
	case p.word("null"):
		return nil, nil
	case p.lim.NonFinite && p.word("NaN"):
		return Number("NaN"), nil
	case p.lim.NonFinite && p.word("Infinity"):
		return Number("Infinity"), nil
	}
	return nil, p.fail("expected a JSON value")
}

func (p *parser) object(depth int) (any, error) {
	if depth > p.lim.Depth {
		return nil, p.fail(fmt.Sprintf("more than %d levels of nesting", p.lim.Depth))
	}
	p.pos++
	o := &Object{}
	p.space()
	if p.peek() == '}' {
		p.pos++
		return o, nil
	}
	for {
		p.space()
		if p.peek() != '"' {
			return nil, p.fail("expected an object key")
		}
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		p.space()
		if p.peek() != ':' {
			return nil, p.fail("expected ':'")
		}
		if p.lim.Unique && o.Has(key) {
			return nil, ErrRepeated
		}
		p.pos++
		p.space()
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		o.Set(key, v)
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return o, nil
		default:
			return nil, p.fail("expected ',' or '}'")
		}
	}
}

func (p *parser) array(depth int) (any, error) {
	if depth > p.lim.Depth {
		return nil, p.fail(fmt.Sprintf("more than %d levels of nesting", p.lim.Depth))
	}
	p.pos++
	a := []any{}
	p.space()
	if p.peek() == ']' {
		p.pos++
		return a, nil
	}
	for {
		p.space()
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return a, nil
		default:
			return nil, p.fail("expected ',' or ']'")
		}
	}
}

func (p *parser) digits() int {
	n := 0
	for p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '9' {
		p.pos++
		n++
	}
	return n
}

func (p *parser) number() (any, error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
		if p.lim.NonFinite && p.word("Infinity") {
			return Number("-Infinity"), nil
		}
	}
	if p.peek() == '0' {
		p.pos++
	} else if p.digits() == 0 {
		return nil, p.fail("expected a digit")
	}
	if p.peek() == '.' {
		p.pos++
		if p.digits() == 0 {
			return nil, p.fail("expected a digit after the point")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if p.digits() == 0 {
			return nil, p.fail("expected a digit in the exponent")
		}
	}
	return Number(p.data[start:p.pos]), nil
}

func (p *parser) text() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			s := p.data[start:p.pos]
			if !utf8.Valid(s) {
				p.pos = start
				return "", p.fail("text is not valid UTF-8")
			}
			p.pos++
			return string(s), nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.fail("control character in text must be escaped")
		}
		p.pos++
	}
	return "", p.fail("text does not end")
}

var shortEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escaped(start int) (string, error) {
	buf := append([]byte(nil), p.data[start:p.pos]...)
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		switch {
		case c == '"':
			if !utf8.Valid(buf) {
				p.pos = start
				return "", p.fail("text is not valid UTF-8")
			}
			p.pos++
			return string(buf), nil
		case c == '\\':
			p.pos++
			e := p.peek()
			if s, ok := shortEscapes[e]; ok {
				buf = append(buf, s)
				p.pos++
				continue
			}
			if e != 'u' {
				return "", p.fail("unknown escape")
			}
			r, err := p.unicodeEscape()
			if err != nil {
				return "", err
			}
			buf = utf8.AppendRune(buf, r)
		case c < 0x20:
			return "", p.fail("control character in text must be escaped")
		default:
			buf = append(buf, c)
			p.pos++
		}
	}
	return "", p.fail("text does not end")
}

// unicodeEscape reads uXXXX, and the second half of a surrogate pair with it.
func (p *parser) unicodeEscape() (rune, error) {
	r, err := p.hex4()
	if err != nil {
		return 0, err
	}
	switch {
	case r >= 0xDC00 && r <= 0xDFFF:
		return 0, p.fail("lone surrogate")
	case r >= 0xD800 && r <= 0xDBFF:
		if p.peek() != '\\' {
			return 0, p.fail("lone surrogate")
		}
		p.pos++
		if p.peek() != 'u' {
			return 0, p.fail("lone surrogate")
		}
		lo, err := p.hex4()
		if err != nil {
			return 0, err
		}
		if lo < 0xDC00 || lo > 0xDFFF {
			return 0, p.fail("lone surrogate")
		}
		return 0x10000 + (r-0xD800)<<10 + (lo - 0xDC00), nil
	}
	return r, nil
}

func (p *parser) hex4() (rune, error) {
	p.pos++
	var r rune
	for range 4 {
		c := p.peek()
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, p.fail("expected four hexadecimal digits")
		}
		p.pos++
	}
	return r, nil
}
