package extract

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/ledongthuc/pdf"
)

// operand is an argument of an operator of a content stream.
type operand struct {
	text   string    // of a string
	name   string    // of a name
	number float64   //
	list   []operand // of an array
	isText bool
}

// streamBytes returns a content stream, or several one after the other, of at
// most limit bytes unpacked.
func streamBytes(v pdf.Value, limit int) ([]byte, error) {
	var out bytes.Buffer
	streams := []pdf.Value{v}
	if v.Kind() == pdf.Array {
		streams = streams[:0]
		for i := range v.Len() {
			streams = append(streams, v.Index(i))
		}
	}
	for _, s := range streams {
		if s.Kind() != pdf.Stream {
			continue
		}
		if _, err := io.Copy(&out, io.LimitReader(s.Reader(), int64(limit-out.Len())+1)); err != nil {
			return nil, damaged()
		}
		if out.Len() > limit {
			return nil, tooLarge("a page of the PDF", int64(limit))
		}
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// operators reads a content stream and calls do for each operator. What is cut
// short ends the stream; nothing is skipped in between.
func operators(data []byte, do func(op string, args []operand) error) error {
	s := &contentScanner{data: data}
	var args []operand
	for {
		s.space()
		if s.pos >= len(s.data) {
			return nil
		}
		if !s.operandAhead() {
			op := s.word()
			if op == "" { // a delimiter out of place
				s.pos++
				continue
			}
			if op == "BI" {
				s.inlineImage()
			} else if err := do(op, args); err != nil {
				return err
			}
			args = args[:0]
			continue
		}
		args = append(args, s.operand(0))
		if len(args) > 64 { // no operator takes as many
			args = append(args[:0], args[32:]...)
		}
	}
}

type contentScanner struct {
	data []byte
	pos  int
}

func (s *contentScanner) peek(k int) byte {
	if s.pos+k < len(s.data) {
		return s.data[s.pos+k]
	}
	return 0
}

func blank(c byte) bool { return c == ' ' || c >= 9 && c <= 13 || c == 0 }

func delimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

func (s *contentScanner) space() {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case blank(c):
			s.pos++
		case c == '%':
			for s.pos < len(s.data) && s.data[s.pos] != '\n' && s.data[s.pos] != '\r' {
				s.pos++
			}
		default:
			return
		}
	}
}

// word reads up to the next blank or delimiter.
func (s *contentScanner) word() string {
	start := s.pos
	for s.pos < len(s.data) && !blank(s.data[s.pos]) && !delimiter(s.data[s.pos]) {
		s.pos++
	}
	return string(s.data[start:s.pos])
}

func (s *contentScanner) operandAhead() bool {
	c := s.peek(0)
	return c == '(' || c == '<' || c == '[' || c == '/' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.'
}

func (s *contentScanner) operand(depth int) operand {
	switch c := s.peek(0); {
	case c == '(':
		return operand{text: s.literal(), isText: true}
	case c == '<' && s.peek(1) == '<':
		s.dictionary()
		return operand{}
	case c == '<':
		return operand{text: s.hex(), isText: true}
	case c == '/':
		s.pos++
		return operand{name: s.word()}
	case c == '[':
		s.pos++
		var list []operand
		for {
			s.space()
			switch {
			case s.pos >= len(s.data):
				return operand{list: list}
			case s.data[s.pos] == ']':
				s.pos++
				return operand{list: list}
			case s.operandAhead() && depth < 8:
				list = append(list, s.operand(depth+1))
			default:
				if s.word() == "" {
					s.pos++
				}
			}
		}
	}
	word := s.word()
	if word == "" {
		s.pos++
	}
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		n = 0
	}
	return operand{number: n}
}

// literal reads (text) with its escapes and balanced parentheses.
func (s *contentScanner) literal() string {
	var out []byte
	depth := 0
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		s.pos++
		switch c {
		case '(':
			if depth++; depth == 1 {
				continue
			}
		case ')':
			if depth--; depth == 0 {
				return string(out)
			}
		case '\\':
			out = s.escape(out)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

func (s *contentScanner) escape(out []byte) []byte {
	c := s.peek(0)
	s.pos++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b', 'f':
		return append(out, ' ')
	case '\r':
		if s.peek(0) == '\n' {
			s.pos++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	n := int(c - '0')
	for k := 0; k < 2 && s.peek(0) >= '0' && s.peek(0) <= '7'; k++ {
		n = n*8 + int(s.peek(0)-'0')
		s.pos++
	}
	return append(out, byte(n))
}

func (s *contentScanner) hex() string {
	var out []byte
	var half byte
	odd := false
	for s.pos++; s.pos < len(s.data); s.pos++ {
		c := s.data[s.pos]
		if c == '>' {
			s.pos++
			break
		}
		d := bytes.IndexByte([]byte("0123456789abcdefABCDEF"), c)
		if d < 0 {
			continue
		}
		if d > 15 {
			d -= 6
		}
		if odd {
			out = append(out, half<<4|byte(d))
		}
		half, odd = byte(d), !odd
	}
	if odd {
		out = append(out, half<<4)
	}
	return string(out)
}

// dictionary skips <<...>> with what is nested in it.
func (s *contentScanner) dictionary() {
	depth := 0
	for s.pos < len(s.data) {
		switch {
		case s.peek(0) == '<' && s.peek(1) == '<':
			depth++
			s.pos += 2
		case s.peek(0) == '>' && s.peek(1) == '>':
			s.pos += 2
			if depth--; depth == 0 {
				return
			}
		case s.peek(0) == '(':
			s.literal()
		default:
			s.pos++
		}
	}
}

// inlineImage skips the bytes of an image up to its EI.
func (s *contentScanner) inlineImage() {
	for s.pos < len(s.data) {
		i := bytes.Index(s.data[s.pos:], []byte("EI"))
		if i < 0 {
			s.pos = len(s.data)
			return
		}
		at := s.pos + i
		s.pos = at + 2
		if at > 0 && blank(s.data[at-1]) && (s.pos == len(s.data) || blank(s.data[s.pos])) {
			return
		}
	}
}

// mostObjects is the largest number of objects a PDF may have.
const mostObjects = 8_388_607

// tooManyObjects reports whether the cross-reference of a PDF claims more
// objects than there can be: the library would make room for them all.
func tooManyObjects(data []byte) bool {
	for _, key := range []string{"/Size", "/Index"} {
		for rest := data; ; {
			i := bytes.Index(rest, []byte(key))
			if i < 0 {
				break
			}
			rest = rest[i+len(key):]
			if numbersAbove(rest[:min(len(rest), 256)]) {
				return true
			}
		}
	}
	for rest := data; ; {
		i := bytes.Index(rest, []byte("xref"))
		if i < 0 {
			return false
		}
		rest = rest[i+len("xref"):]
		if sectionsAbove(rest) {
			return true
		}
	}
}

// numbersAbove reads the numbers a value begins with.
func numbersAbove(value []byte) bool {
	s := &contentScanner{data: value}
	for {
		for s.pos < len(value) && (blank(value[s.pos]) || value[s.pos] == '[') {
			s.pos++
		}
		n, err := strconv.ParseInt(s.word(), 10, 64)
		if err != nil {
			return errorIsRange(err)
		}
		if n > mostObjects {
			return true
		}
	}
}

// sectionsAbove walks the sections of a cross-reference table: two numbers,
// then as many entries of three words.
func sectionsAbove(table []byte) bool {
	s := &contentScanner{data: table}
	for {
		s.space()
		start, err1 := strconv.ParseInt(s.word(), 10, 64)
		s.space()
		n, err2 := strconv.ParseInt(s.word(), 10, 64)
		if err1 != nil || err2 != nil {
			return errorIsRange(err1) || errorIsRange(err2)
		}
		if start < 0 || n < 0 || start > mostObjects || n > mostObjects-start {
			return true
		}
		for range 3 * n {
			s.space()
			if s.word() == "" {
				return false
			}
		}
	}
}

func errorIsRange(err error) bool {
	return errors.Is(err, strconv.ErrRange)
}
