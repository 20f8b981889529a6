package extract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"

	"github.com/arche-ledger/arche/internal/fault"
)

// readPDF appends each page of a PDF as a part, and its form values and
// annotations. The library takes no context and can be led in circles by a
// hostile file: the walk runs aside under a time limit, and a file that holds
// it up costs a refusal and no more.
func (w *writer) readPDF(data []byte) error {
	aside := &writer{ctx: w.ctx, limits: w.limits, doc: &Document{}, prefix: w.prefix, parts: w.parts}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- damaged()
			}
		}()
		done <- aside.pages(data)
	}()
	timer := time.NewTimer(w.limits.Time)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return err
		}
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-timer.C:
		return fault.New(fault.Limit, "the PDF takes longer than %s to read", w.limits.Time)
	}
	base := w.text.Len()
	if base+aside.text.Len() > w.limits.Text {
		return tooLarge("the text of the document", int64(w.limits.Text))
	}
	w.text.WriteString(aside.text.String())
	for _, p := range aside.doc.Parts {
		w.doc.Parts = append(w.doc.Parts, Part{p.Name, base + p.Start, base + p.End})
	}
	w.doc.Skipped = append(w.doc.Skipped, aside.doc.Skipped...)
	w.parts = aside.parts
	return nil
}

func damaged() error {
	return fault.New(fault.Invalid, "the PDF is damaged or uses a form that is not read").
		WithHint("print it to a new PDF, or pass its text")
}

func (w *writer) pages(data []byte) error {
	if tooManyObjects(data) {
		return damaged()
	}
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if errors.Is(err, pdf.ErrInvalidPassword) || err != nil && strings.Contains(strings.ToLower(err.Error()), "encrypt") {
		return fault.New(fault.Refused, "the PDF is encrypted").WithHint("remove the password and pass the result")
	}
	if err != nil {
		return damaged()
	}
	n := 0
	err = w.eachPage(r.Trailer().Key("Root").Key("Pages"), w.limits.Depth*4, func(page pdf.Page) error {
		n++
		return w.page(page, n)
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return damaged()
	}
	return w.formValues(r.Trailer().Key("Root").Key("AcroForm").Key("Fields"), w.limits.Depth*4)
}

// eachPage walks the page tree in order.
func (w *writer) eachPage(node pdf.Value, depth int, f func(pdf.Page) error) error {
	if depth == 0 {
		return damaged()
	}
	kids := node.Key("Kids")
	for i := range kids.Len() {
		kid := kids.Index(i)
		var err error
		if kid.Key("Kids").Kind() == pdf.Array {
			err = w.eachPage(kid, depth-1, f)
		} else {
			err = f(pdf.Page{V: kid})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// page appends the text of one page, or notes that it has none.
func (w *writer) page(page pdf.Page, n int) error {
	run := &pageText{w: w}
	if err := run.content(page.V.Key("Contents"), page.Resources(), w.limits.Depth); err != nil {
		return err
	}
	annotations := page.V.Key("Annots")
	for i := range annotations.Len() {
		for _, key := range []string{"Contents", "T"} {
			if s := annotations.Index(i).Key(key); s.Kind() == pdf.String {
				run.line()
				run.buf.WriteString(s.Text())
			}
		}
		if s := annotations.Index(i).Key("A").Key("URI"); s.Kind() == pdf.String {
			run.line()
			run.buf.WriteString(s.RawString())
		}
	}
	text := strings.TrimSpace(run.buf.String())
	if text == "" {
		w.skip("page %d (no text layer)", n)
		return w.ctx.Err()
	}
	return w.part(fmt.Sprintf("page %d", n), text)
}

// formValues appends what was filled into a form.
func (w *writer) formValues(fields pdf.Value, depth int) error {
	if depth == 0 {
		return damaged()
	}
	for i := range fields.Len() {
		field := fields.Index(i)
		if v := field.Key("V"); v.Kind() == pdf.String {
			if err := w.part("form", v.Text()); err != nil {
				return err
			}
		}
		if err := w.formValues(field.Key("Kids"), depth-1); err != nil {
			return err
		}
	}
	return nil
}

// pageText gathers the text a content stream shows, with a line break where
// the line changes and a space where a gap is left.
type pageText struct {
	w         *writer
	buf       strings.Builder
	enc       pdf.TextEncoding
	y         float64 // of the current line
	operators int
}

// asIs shows bytes as they are, until a font is chosen.
type asIs struct{}

func (asIs) Decode(raw string) string { return raw }

// content appends what a stream shows. Forms it draws follow it.
func (t *pageText) content(stream, resources pdf.Value, depth int) error {
	if stream.IsNull() || depth == 0 {
		return nil
	}
	raw, err := streamBytes(stream, t.w.limits.Text)
	if err != nil {
		return err
	}
	t.enc = asIs{}
	fonts := map[string]pdf.TextEncoding{}
	var forms []string
	err = operators(raw, func(op string, args []operand) error {
		if t.operators++; t.operators%4096 == 0 && t.w.ctx.Err() != nil {
			return t.w.ctx.Err()
		}
		if t.buf.Len() > t.w.limits.Text {
			return tooLarge("the text of the document", int64(t.w.limits.Text))
		}
		switch op {
		case "Tf":
			name := arg(args, 0).name
			if fonts[name] == nil {
				fonts[name] = fontEncoding(resources, name)
			}
			t.enc = fonts[name]
		case "Do":
			if name := arg(args, 0).name; !slices.Contains(forms, name) {
				forms = append(forms, name)
			}
		default:
			t.show(op, args)
		}
		return nil
	})
	for _, name := range forms {
		if err != nil {
			return err
		}
		x := resources.Key("XObject").Key(name)
		if x.Key("Subtype").Name() != "Form" {
			continue
		}
		inner := x.Key("Resources")
		if inner.IsNull() {
			inner = resources
		}
		t.line()
		err = t.content(x, inner, depth-1)
	}
	return err
}

// show handles the operators that move the text position and show text.
func (t *pageText) show(op string, args []operand) {
	switch op {
	case "BT", "ET", "T*":
		t.line()
	case "Td", "TD":
		if arg(args, 1).number != 0 {
			t.line()
		} else {
			t.gap()
		}
	case "Tm":
		if y := arg(args, 5).number; y != t.y {
			t.y = y
			t.line()
		} else {
			t.gap()
		}
	case "'", "\"":
		t.line()
		t.write(arg(args, len(args)-1))
	case "Tj":
		t.write(arg(args, 0))
	case "TJ":
		for _, x := range arg(args, 0).list {
			if x.isText {
				t.write(x)
			} else if x.number < -180 { // thousandths of the font size: wider than the gap between letters
				t.gap()
			}
		}
	}
}

func (t *pageText) write(o operand) {
	if o.isText {
		t.buf.WriteString(t.enc.Decode(o.text))
	}
}

func (t *pageText) line() { t.breakWith('\n') }
func (t *pageText) gap()  { t.breakWith(' ') }

func (t *pageText) breakWith(c byte) {
	if s := t.buf.String(); s != "" && s[len(s)-1] != '\n' && (c == '\n' || s[len(s)-1] != ' ') {
		t.buf.WriteByte(c)
	}
}

func arg(args []operand, i int) operand {
	if i < 0 || i >= len(args) {
		return operand{}
	}
	return args[i]
}

// fontEncoding returns how a font's bytes read as text.
func fontEncoding(resources pdf.Value, name string) pdf.TextEncoding {
	font := pdf.Font{V: resources.Key("Font").Key(name)}
	if font.V.IsNull() {
		return asIs{}
	}
	return font.Encoder()
}
