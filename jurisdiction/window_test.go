package jurisdiction

import (
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/fault"
)

// FuzzWindows: the windows of a text joined give the text, whatever it is and
// however little a read returns.
func FuzzWindows(f *testing.F) {
	for _, seed := range []string{"", "a", "one two\nthree", strings.Repeat("é漢", 50), strings.Repeat("word ", 9_000), "\n\n\n", "a\xffb", "\x00"} {
		f.Add(seed, 16, 3)
	}
	f.Fuzz(func(t *testing.T, text string, body, move int) {
		body = 1 + max(body, -body)%4096
		var b strings.Builder
		err := eachWindow(t.Context(), iotest.OneByteReader(strings.NewReader(text)), body, func(w *Window) error {
			if int(w.Base)+w.From != b.Len() || w.To < w.From || w.To > len(w.Text) {
				t.Fatalf("window [%d, %d) of %d at %d, %d written", w.From, w.To, len(w.Text), w.Base, b.Len())
			}
			if want := int64(utf8.RuneCountInString(text[:w.Base])); w.Runes != want {
				t.Fatalf("code point %d at byte %d, want %d", w.Runes, w.Base, want)
			}
			to := w.To
			for n := 0; n < move%5 && to < len(w.Text); n++ { // what begins in a window may reach beyond it
				_, size := utf8.DecodeRuneInString(w.Text[to:])
				to += size
			}
			w.To = to
			b.WriteString(w.Text[w.From:w.To])
			return nil
		})
		whole := utf8.ValidString(text) && !strings.Contains(text, "\x00")
		switch {
		case whole && (err != nil || b.String() != text):
			t.Errorf("windows of %d give %d of %d bytes: %v", body, b.Len(), len(text), err)
		case !whole && !fault.Is(err, fault.Invalid):
			t.Errorf("a text that is none: %v", err)
		}
	})
}
