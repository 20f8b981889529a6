package detect

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// Sizes of a stream's window, in bytes.
const (
	streamBlock   = 1 << 20  // read at a time
	streamAhead   = 16 << 10 // must follow a place before the text is cut there
	streamContext = 4 << 10  // kept before a cut, for cues and landmarks
)

// Chunk is a piece of a stream with the personal data in it. The pieces of a
// stream joined give its text; no span crosses from one to the next.
type Chunk struct {
	Text      string
	ByteStart int64  // where the piece begins in the stream
	RuneStart int64  // the same in code points
	Spans     []Span // offsets within Text
}

// Stream scans a text of any size in bounded memory. It finds what Scan finds,
// as long as a value and what tells it lie within some kilobytes.
type Stream struct {
	r            io.Reader
	jurisdiction string
	block        int
	ahead        int
	context      int

	buf   []byte // context, then text not yet given out
	done  int    // bytes of buf given out already
	bytes int64
	runes int64
	err   error // why reading ended
}

// NewStream returns a stream over r, which is read a megabyte at a time.
func NewStream(r io.Reader, opts Options) *Stream {
	return &Stream{r: r, jurisdiction: NormalJurisdiction(opts.Jurisdiction), block: streamBlock, ahead: streamAhead, context: streamContext}
}

// Next returns the next piece. At the end of the text the error is io.EOF and
// there is no piece; any other error is the reader's and ends the stream
// without giving out what came before it in the same block.
func (s *Stream) Next() (Chunk, error) {
	s.fill()
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return Chunk{}, s.err
	}
	if s.done == len(s.buf) {
		return Chunk{}, io.EOF
	}
	text := string(s.buf)
	spans := scanAll(text, s.jurisdiction)
	cut := len(text)
	if s.err == nil {
		cut = s.cut(text, spans)
	}
	c := Chunk{Text: text[s.done:cut], ByteStart: s.bytes, RuneStart: s.runes}
	for _, sp := range spans {
		if sp.ByteStart >= s.done && sp.ByteEnd <= cut {
			sp.ByteStart -= s.done
			sp.ByteEnd -= s.done
			c.Spans = append(c.Spans, sp)
		}
	}
	countRunes(c.Text, c.Spans)
	s.bytes += int64(len(c.Text))
	s.runes += int64(utf8.RuneCountInString(c.Text))
	keep := max(cut-s.context, 0)
	for keep > 0 && !utf8.RuneStart(s.buf[keep]) {
		keep--
	}
	s.buf = append(s.buf[:0], s.buf[keep:]...)
	s.done = cut - keep
	return c, nil
}

// fill reads until a block and what must follow it are there, or the end is.
func (s *Stream) fill() {
	want, n := s.done+s.block+s.ahead, len(s.buf)
	if s.err != nil || n >= want {
		return
	}
	if cap(s.buf) < want {
		s.buf = append(make([]byte, 0, want), s.buf...)
	}
	k, err := io.ReadFull(s.r, s.buf[n:want])
	s.buf = s.buf[:n+k]
	if s.err = err; errors.Is(err, io.ErrUnexpectedEOF) {
		s.err = io.EOF
	}
}

// cut returns where the text may be cut: outside every span, after a line end
// or white space, and far enough before the end that nothing unread can change
// what was found before it.
func (s *Stream) cut(text string, spans []Span) int {
	limit := len(text) - s.ahead
	covered := make([]bool, limit+1) // places inside a span
	for _, sp := range spans {
		for p := sp.ByteStart + 1; p < sp.ByteEnd && p <= limit; p++ {
			covered[p] = true
		}
	}
	for _, after := range []string{"\n", " \t\r", ""} {
		for p := limit; p > s.done; p-- {
			if covered[p] || !utf8.RuneStart(text[p]) {
				continue
			}
			if after == "" || strings.IndexByte(after, text[p-1]) >= 0 {
				return p
			}
			if limit-p > s.block/2 {
				break
			}
		}
	}
	return len(text) // one value fills the window
}
