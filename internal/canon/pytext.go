package canon

import (
	"strconv"
	"strings"
	"unicode"
)

// Text is the text form that comparators and labels use of any JSON value:
// text as it is, null None, true True, floats shortest with a point, arrays
// and objects as a Python program prints them (the form published ids depend
// on).
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	repr(&b, v)
	return b.String()
}

// Repr is Text with text itself in quotes, as in an array or an error message.
func Repr(v any) string {
	var b strings.Builder
	repr(&b, v)
	return b.String()
}

func repr(b *strings.Builder, v any) {
	switch x := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		if x {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case string:
		reprText(b, x)
	case Number:
		if x.IsInt() {
			if x == "-0" {
				x = "0"
			}
			b.WriteString(string(x))
		} else {
			b.WriteString(FloatText(x.Float()))
		}
	case Float:
		b.WriteString(FloatText(float64(x)))
	case float64:
		b.WriteString(FloatText(x))
	case int:
		b.WriteString(strconv.Itoa(x))
	case int64:
		b.WriteString(strconv.FormatInt(x, 10))
	case []any:
		b.WriteByte('[')
		for i, e := range x {
			if i > 0 {
				b.WriteString(", ")
			}
			repr(b, e)
		}
		b.WriteByte(']')
	case *Object:
		b.WriteByte('{')
		first := true
		for k, e := range x.All() {
			if !first {
				b.WriteString(", ")
			}
			first = false
			reprText(b, k)
			b.WriteString(": ")
			repr(b, e)
		}
		b.WriteByte('}')
	}
}

// reprText quotes with ' unless the text has ' and no ".
func reprText(b *strings.Builder, s string) {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || r > 0x20 && r < 0x7f || r >= 0xa1 && unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString(`\x`)
			b.WriteByte(hexDigits[r>>4])
			b.WriteByte(hexDigits[r&15])
		case r < 0x10000:
			b.WriteString(`\u`)
			writeHex(b, r, 4)
		default:
			b.WriteString(`\U`)
			writeHex(b, r, 8)
		}
	}
	b.WriteByte(quote)
}

func writeHex(b *strings.Builder, r rune, n int) {
	h := strconv.FormatInt(int64(r), 16)
	b.WriteString(strings.Repeat("0", n-len(h)))
	b.WriteString(h)
}
