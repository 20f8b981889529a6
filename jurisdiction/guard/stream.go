package guard

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
)

// Summary is what redacting a stream came to.
type Summary struct {
	Bytes  int64 // read
	Counts map[string]int
	Found  int    // placeholders that the text as given already held
	Digest string // keyed, of the text as given
}

// Copy redacts a UTF-8 text of any size from src to dst in bounded memory. each,
// when not nil, is called with every field in order. What was written when an
// error ends the copy is redacted, but not whole.
//
// A text is read in windows that see some way beyond their ends, so the result
// is that of Scan but for a value and a cue that lie further apart than that,
// and for a value without its cue that only a later window knows, or that one
// of thousands of values before it was.
func (g *Guard) Copy(ctx context.Context, dst io.Writer, src io.Reader, each func(Field)) (sum Summary, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("panic while scanning")
		}
		if err != nil && fault.As(err) == nil && ctx.Err() == nil {
			err = fault.Wrap(err, fault.Internal, "guard error (fail-closed): the text could not be read, scanned or written")
		}
	}()
	sum.Counts = map[string]int{}
	input := newDigest(g.tokens.key)
	k := &known{most: mostStream}
	err = jurisdiction.EachWindow(ctx, io.TeeReader(src, input), func(w *jurisdiction.Window) error {
		d := newDocument(w.Text, w.From, w.To)
		if err := g.redact(ctx, d, k); err != nil {
			return err
		}
		for _, m := range d.marks {
			if m.field == nil || m.at < d.from || m.at >= d.to && m.end > d.to {
				continue
			}
			sum.Counts[m.field.Category]++
			if each != nil {
				each(*m.field)
			}
		}
		w.To += d.grown
		sum.Bytes = w.Base + int64(w.To)
		sum.Found += d.found
		if !utf8.ValidString(d.text[d.from:d.to]) {
			return fault.New(fault.Internal, "redaction cut a character")
		}
		_, err := io.WriteString(dst, d.text[d.from:d.to])
		return err
	})
	sum.Digest = hex.EncodeToString(input.Sum(nil))
	return sum, err
}
