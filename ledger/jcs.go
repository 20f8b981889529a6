package ledger

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/canon"
)

// rawJSON is text that is already in canonical form.
type rawJSON []byte

// appendJCS appends the RFC 8785 form of a value. It exists beside
// canon.RFC8785 because a batch writes tens of thousands of bodies: this one
// makes a single pass, and a test holds the two equal.
func appendJCS(buf []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case nil:
		return append(buf, "null"...), nil
	case rawJSON:
		return append(buf, x...), nil
	case bool:
		return strconv.AppendBool(buf, x), nil
	case string:
		return appendText(buf, x)
	case int:
		return appendInt(buf, int64(x))
	case int64:
		return appendInt(buf, x)
	case canon.Float:
		return appendFloat(buf, float64(x))
	case float64:
		return appendFloat(buf, x)
	case canon.Number:
		return appendNumber(buf, x)
	case *canon.Object:
		return appendObject(buf, x)
	case []any:
		return appendArray(buf, x)
	case []string:
		return appendArray(buf, x)
	case []*canon.Object:
		return appendArray(buf, x)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode event body: %w", err)
	}
	parsed, err := canon.Parse(text, canon.Limits{})
	if err != nil {
		return nil, fmt.Errorf("encode event body: %w", err)
	}
	return appendJCS(buf, parsed)
}

const maxExact = 1 << 53

func appendInt(buf []byte, n int64) ([]byte, error) {
	if n >= maxExact || n <= -maxExact {
		return nil, fmt.Errorf("encode event body: integer beyond 2^53 must be text")
	}
	return strconv.AppendInt(buf, n, 10), nil
}

func appendNumber(buf []byte, n canon.Number) ([]byte, error) {
	f := n.Float()
	if n.IsInt() && math.Abs(f) >= maxExact {
		return nil, fmt.Errorf("encode event body: integer beyond 2^53 must be text")
	}
	return appendFloat(buf, f)
}

// appendFloat writes a number as ECMAScript does. JSON has no other numbers.
func appendFloat(buf []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("encode event body: number is not finite")
	}
	if f == 0 {
		return append(buf, '0'), nil
	}
	format := byte('f')
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		format = 'e'
	}
	start := len(buf)
	buf = strconv.AppendFloat(buf, f, format, -1, 64)
	if format == 'e' { // e-07 is written e-7
		if n := len(buf); n-start >= 4 && buf[n-2] == '0' && (buf[n-3] == '-' || buf[n-3] == '+') {
			buf[n-2] = buf[n-1]
			buf = buf[:n-1]
		}
	}
	return buf, nil
}

const hexDigits = "0123456789abcdef"

func appendText(buf []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("encode event body: text is not valid UTF-8")
	}
	buf = append(buf, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		buf = append(buf, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			buf = append(buf, '\\', c)
		case '\b':
			buf = append(buf, '\\', 'b')
		case '\t':
			buf = append(buf, '\\', 't')
		case '\n':
			buf = append(buf, '\\', 'n')
		case '\f':
			buf = append(buf, '\\', 'f')
		case '\r':
			buf = append(buf, '\\', 'r')
		default:
			buf = append(buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(buf, s[start:]...), '"'), nil
}

type member struct {
	key   string
	value any
}

func appendObject(buf []byte, o *canon.Object) ([]byte, error) {
	if o == nil {
		return append(buf, "null"...), nil
	}
	members := make([]member, 0, o.Len())
	for k, v := range o.All() {
		members = append(members, member{k, v})
	}
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.key, b.key) })
	var err error
	buf = append(buf, '{')
	for i, m := range members {
		if i > 0 {
			buf = append(buf, ',')
		}
		if buf, err = appendText(buf, m.key); err != nil {
			return nil, err
		}
		buf = append(buf, ':')
		if buf, err = appendJCS(buf, m.value); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}

// compareUTF16 orders texts by UTF-16 code units: as bytes do, but for
// characters beyond the basic plane, whose surrogates sort before U+E000.
func compareUTF16(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		x, y := a[i], b[i]
		// Lead bytes 0xEE and 0xEF start U+E000 to U+FFFF, 0xF0 and above the
		// planes beyond. Elsewhere bytes and units agree.
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		if x < y {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

func appendArray[T any](buf []byte, items []T) ([]byte, error) {
	var err error
	buf = append(buf, '[')
	for i, e := range items {
		if i > 0 {
			buf = append(buf, ',')
		}
		if buf, err = appendJCS(buf, any(e)); err != nil {
			return nil, err
		}
	}
	return append(buf, ']'), nil
}
