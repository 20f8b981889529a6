package jurisdiction

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/fault"
)

// Window is a stretch of a text that is too large to hold. What begins in
// [From, To) of Text is the window's own; the rest is there so that what stands
// around it can be seen.
type Window struct {
	Text     string
	From, To int   // bytes of Text; To may be moved up by whoever works on it
	Base     int64 // byte of the whole text that Text begins at
	Runes    int64 // code point of the whole text that Text begins at
	Last     bool
}

// Sizes of a window in bytes: what it is for, and what it sees before and after.
const (
	windowBody   = 256 << 10
	windowBefore = 4 << 10
	windowAfter  = 16 << 10
)

// EachWindow reads a UTF-8 text in bounded memory and calls f with one window
// after the other. Windows end at a line break where there is one, at white
// space else. f may move To up to the end of what it found there; the next
// window begins at it. A byte that is not UTF-8, or a zero byte, is a fault
// that names its place.
func EachWindow(ctx context.Context, r io.Reader, f func(*Window) error) error {
	return eachWindow(ctx, r, windowBody, f)
}

func eachWindow(ctx context.Context, r io.Reader, body int, f func(*Window) error) error {
	buf := make([]byte, 0, windowBefore+body+windowAfter+utf8.UTFMax)
	w := &Window{}
	from, checked := 0, 0
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		w.Last = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !w.Last {
			return err
		}
		whole := wholeRunes(buf, w.Last)
		if at := badByte(buf[checked:whole]); at >= 0 {
			return fault.New(fault.Invalid, "the text is not UTF-8 at byte %d", w.Base+int64(checked+at)).
				WithHint("name its character set with --charset")
		}
		w.Text, w.From = string(buf[:whole]), from
		w.To = cutAt(w.Text, from, body, w.Last)
		if err := f(w); err != nil {
			return err
		}
		if w.Last && w.To >= whole {
			return nil
		}
		keep := runeStart(w.Text, max(0, w.To-windowBefore))
		w.Base += int64(keep)
		w.Runes += int64(utf8.RuneCountInString(w.Text[:keep]))
		from, checked = w.To-keep, whole-keep
		buf = buf[:copy(buf, buf[keep:])]
	}
}

// wholeRunes returns the length of buf without a rune cut off at its end.
func wholeRunes(buf []byte, last bool) int {
	if last {
		return len(buf)
	}
	for k := 1; k <= utf8.UTFMax && k <= len(buf); k++ {
		if utf8.RuneStart(buf[len(buf)-k]) {
			if !utf8.FullRune(buf[len(buf)-k:]) {
				return len(buf) - k
			}
			break
		}
	}
	return len(buf)
}

func badByte(b []byte) int {
	if zero := bytes.IndexByte(b, 0); zero >= 0 {
		return zero
	}
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// cutAt returns where a window ends: after the last line break of its body, or
// the last space, or where the body is full.
func cutAt(text string, from, body int, last bool) int {
	if last && len(text) <= from+body+windowAfter {
		return len(text)
	}
	end := runeStart(text, min(len(text), from+body))
	stretch := text[from:end]
	for _, c := range []byte{'\n', ' '} {
		if i := strings.LastIndexByte(stretch, c); i > len(stretch)/2 {
			return from + i + 1
		}
	}
	return end
}

func runeStart(text string, i int) int {
	for i < len(text) && i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}
