package extract

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/arche-ledger/arche/internal/fault"
)

// Decode returns bytes as text. Without a charset they must be UTF-8, or
// UTF-16 with a byte-order mark; the mark of UTF-8 stays, because offsets
// count it. A charset is one of the names the web knows.
func Decode(data []byte, charset string) (string, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return decodeUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return decodeUTF16(data[2:], binary.BigEndian)
	}
	if charset != "" {
		enc, err := htmlindex.Get(charset)
		if err != nil {
			return "", unknownCharset()
		}
		out, err := enc.NewDecoder().Bytes(data)
		if err != nil {
			return "", fault.New(fault.Invalid, "the text does not fit its character set")
		}
		return string(out), nil
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return "", notText("a zero byte", int64(i))
	}
	if i := InvalidUTF8(data); i >= 0 {
		return "", notText("a byte that is not UTF-8", int64(i))
	}
	return string(data), nil
}

// Stream returns a reader of the text that r holds, as UTF-8. Without a charset
// r holds UTF-8, or UTF-16 with a byte-order mark.
func Stream(r io.Reader, charset string) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	if mark, _ := buffered.Peek(2); len(mark) == 2 && (mark[0] == 0xff && mark[1] == 0xfe || mark[0] == 0xfe && mark[1] == 0xff) {
		return transform.NewReader(buffered, unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()), nil
	}
	if charset == "" {
		return buffered, nil
	}
	enc, err := htmlindex.Get(charset)
	if err != nil {
		return nil, unknownCharset()
	}
	return transform.NewReader(buffered, enc.NewDecoder()), nil
}

func unknownCharset() error {
	return fault.New(fault.Invalid, "the character set of the text is not known").
		WithHint("known are utf-8, windows-1252, iso-8859-1 and the other names of the web")
}

// InvalidUTF8 returns the place of the first byte that is not UTF-8, or -1.
func InvalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func notText(what string, at int64) error {
	return fault.New(fault.Invalid, "the file is not text: it has %s at %d", what, at).
		WithHint("pass --charset windows-1252 (or its own name) for text in another encoding")
}

func decodeUTF16(data []byte, order binary.ByteOrder) (string, error) {
	if len(data)%2 != 0 {
		return "", fault.New(fault.Invalid, "the UTF-16 text ends in half a character")
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units)), nil
}
