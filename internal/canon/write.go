package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// writer renders values compactly; the fields say how forms differ.
type writer struct {
	buf    []byte
	sorted bool
	pretty bool // two spaces a level, one member or item a line
	depth  int
	// number renders a float; nil keeps literals and writes Float shortest.
	number func(buf []byte, f float64) []byte
}

// Published returns the canonical form that public ids are hashed over: keys
// sorted by code point, compact, floats as text with exactly four decimals,
// integers as written, only '"', '\' and U+0000 to U+001F escaped.
// Text that is not valid UTF-8 is an error.
func Published(v any) ([]byte, error) {
	w := &writer{sorted: true, number: func(buf []byte, f float64) []byte {
		return append(append(append(buf, '"'), FixedText(f, 4)...), '"')
	}}
	err := w.write(v)
	return w.buf, err
}

// FixedText is f with exactly n decimals, correctly rounded; non-finite values
// give nan, inf and -inf.
func FixedText(f float64, n int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return FloatText(f)
	}
	return strconv.FormatFloat(f, 'f', n, 64)
}

// PublishedHash returns the lower-case hex SHA-256 of the published form.
func PublishedHash(v any) (string, error) {
	b, err := Published(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// PublishedID returns prefix + ":sha256:" + PublishedHash(v).
func PublishedID(prefix string, v any) (string, error) {
	h, err := PublishedHash(v)
	if err != nil {
		return "", err
	}
	return prefix + ":sha256:" + h, nil
}

// Sorted returns the form that record blobs are stored in: keys sorted by code
// point, compact, number literals as written (NaN and the infinities too, which
// only Limits.NonFinite reads back), text as in Published.
func Sorted(v any) ([]byte, error) {
	w := &writer{sorted: true}
	err := w.write(v)
	return w.buf, err
}

// Compact returns the value in its own key order without white space.
func Compact(v any) ([]byte, error) {
	w := &writer{}
	err := w.write(v)
	return w.buf, err
}

// Indent returns an answer as clients read it: two spaces a level, keys in
// their own order, non-ASCII text raw. Structs are written by their tags.
func Indent(v any) ([]byte, error) {
	w := &writer{pretty: true} // in one go: answers have hundreds of megabytes
	err := w.write(v)
	return w.buf, err
}

// maxExact is the largest integer that RFC 8785 (float64) holds exactly.
const maxExact = 1 << 53

// RFC8785 returns the JSON Canonicalization Scheme form of v, the form event
// addresses are computed over. Integers beyond 2^53 are refused, because the
// scheme would round them without a word; write them as text.
func RFC8785(v any) ([]byte, error) {
	c, err := Compact(v)
	if err != nil {
		return nil, err
	}
	parsed, err := Parse(c, Limits{Depth: 1 << 16})
	if err != nil {
		return nil, err
	}
	if err := checkExact(parsed); err != nil {
		return nil, err
	}
	out, err := jcs.Transform(c)
	if err != nil {
		return nil, fmt.Errorf("canonicalise: %w", err)
	}
	return out, nil
}

func checkExact(v any) error {
	switch x := v.(type) {
	case Number:
		if f := x.Float(); x.IsInt() && math.Abs(f) >= maxExact {
			return fmt.Errorf("canonicalise: integer beyond 2^53 must be text")
		}
	case []any:
		for _, e := range x {
			if err := checkExact(e); err != nil {
				return err
			}
		}
	case *Object:
		for _, e := range x.All() {
			if err := checkExact(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) write(v any) error {
	switch x := v.(type) {
	case nil:
		w.buf = append(w.buf, "null"...)
	case bool:
		w.buf = strconv.AppendBool(w.buf, x)
	case string:
		return w.text(x)
	case int:
		w.buf = strconv.AppendInt(w.buf, int64(x), 10)
	case int64:
		w.buf = strconv.AppendInt(w.buf, x, 10)
	case Number:
		w.literal(x)
	case Float:
		w.float(float64(x))
	case float64:
		w.float(x)
	case *Object:
		return w.object(x)
	case []any:
		return array(w, x)
	case []string:
		return array(w, x)
	case []*Object:
		return array(w, x)
	default:
		return w.other(v)
	}
	return nil
}

// other writes a struct, map or named type through its JSON encoding, so that
// answers may be plain Go structs.
func (w *writer) other(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	parsed, err := Parse(b.Bytes(), Limits{Depth: 1 << 16})
	if err != nil {
		return err
	}
	return w.write(parsed)
}

func (w *writer) literal(n Number) {
	if n.IsInt() {
		if n == "-0" && w.number != nil {
			n = "0"
		}
		w.buf = append(w.buf, n...)
		return
	}
	if w.number != nil {
		w.buf = w.number(w.buf, n.Float())
		return
	}
	if !w.sorted && (n == "NaN" || n == "Infinity" || n == "-Infinity") {
		n = "null" // answers are JSON, blobs keep what was given
	}
	w.buf = append(w.buf, n...)
}

func (w *writer) float(f float64) {
	if w.number != nil {
		w.buf = w.number(w.buf, f)
		return
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.buf = append(w.buf, "null"...)
		return
	}
	w.buf = append(w.buf, FloatText(f)...)
}

func (w *writer) object(o *Object) error {
	if o == nil {
		w.buf = append(w.buf, "null"...)
		return nil
	}
	members := o.members
	if w.sorted {
		members = slices.Clone(members)
		// UTF-8 bytes sort as code points do.
		slices.SortFunc(members, func(a, b Member) int {
			switch {
			case a.Key < b.Key:
				return -1
			case a.Key > b.Key:
				return 1
			}
			return 0
		})
	}
	w.open('{')
	for i, m := range members {
		w.next(i)
		if err := w.text(m.Key); err != nil {
			return err
		}
		w.buf = append(w.buf, ':')
		if w.pretty {
			w.buf = append(w.buf, ' ')
		}
		if err := w.write(m.Value); err != nil {
			return err
		}
	}
	w.close('}', len(members))
	return nil
}

func (w *writer) open(c byte) {
	w.buf = append(w.buf, c)
	w.depth++
}

// next goes to the i-th member or item.
func (w *writer) next(i int) {
	if i > 0 {
		w.buf = append(w.buf, ',')
	}
	if w.pretty {
		w.line()
	}
}

func (w *writer) line() {
	w.buf = append(w.buf, '\n')
	for range w.depth {
		w.buf = append(w.buf, ' ', ' ')
	}
}

// close ends an object or array of n members or items.
func (w *writer) close(c byte, n int) {
	w.depth--
	if w.pretty && n > 0 {
		w.line()
	}
	w.buf = append(w.buf, c)
}

func array[T any](w *writer, items []T) error {
	w.open('[')
	for i, e := range items {
		w.next(i)
		if err := w.write(any(e)); err != nil {
			return err
		}
	}
	w.close(']', len(items))
	return nil
}

const hexDigits = "0123456789abcdef"

func (w *writer) text(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("text is not valid UTF-8")
	}
	w.buf = append(w.buf, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		w.buf = append(w.buf, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			w.buf = append(w.buf, '\\', c)
		case '\b':
			w.buf = append(w.buf, '\\', 'b')
		case '\t':
			w.buf = append(w.buf, '\\', 't')
		case '\n':
			w.buf = append(w.buf, '\\', 'n')
		case '\f':
			w.buf = append(w.buf, '\\', 'f')
		case '\r':
			w.buf = append(w.buf, '\\', 'r')
		default:
			w.buf = append(w.buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	w.buf = append(append(w.buf, s[start:]...), '"')
	return nil
}
