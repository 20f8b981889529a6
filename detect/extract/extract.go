// Package extract reads the text of a document: PDF, DOCX, HTML, e-mail and
// plain text, with the page or paragraph each stretch came from.
//
// Call [Read]. What cannot be read whole is refused, never answered in part: a
// page that fails, a container past a limit, an encrypted file, a scan without
// a text layer. A refusal is a fault that says why and what to do. All readers
// run under the limits of [Limits] and survive hostile files. The package
// touches no file and no network; it is safe for concurrent use.
package extract

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/fault"
)

// Kind is a form of document.
type Kind string

// The kinds that are read.
const (
	Plain Kind = "text"
	HTML  Kind = "html"
	Email Kind = "email"
	DOCX  Kind = "docx"
	PDF   Kind = "pdf"
)

// Limits bound what a document may cost. A zero field means its default.
type Limits struct {
	Input int64         // bytes of the file; default 256 MiB
	Text  int           // bytes of text and of unpacked content; default 64 MiB
	Depth int           // documents in documents, elements in elements of a PDF; default 8
	Parts int           // pages, paragraphs, members; default 200 000
	Time  time.Duration // for one PDF; default a minute
}

func (l Limits) withDefaults() Limits {
	if l.Input == 0 {
		l.Input = 256 << 20
	}
	if l.Text == 0 {
		l.Text = 64 << 20
	}
	if l.Depth == 0 {
		l.Depth = 8
	}
	if l.Parts == 0 {
		l.Parts = 200_000
	}
	if l.Time == 0 {
		l.Time = time.Minute
	}
	return l
}

// Document is the text of a document. Parts cover it in order.
type Document struct {
	Kind    Kind
	Text    string // UTF-8
	Parts   []Part
	Skipped []string // what holds no text that could be read, an image for example

	attachments int // so far
}

// Part is a page, a paragraph, a header field: a named piece of the text.
type Part struct {
	Name  string // "page 3", "paragraph 12", "header subject", "attachment 1, page 2"
	Start int    // bytes of Document.Text
	End   int
}

// Where returns the part that byte i of the text lies in and the offset in it
// in code points.
func (d *Document) Where(i int) (part string, offset int) {
	k := sort.Search(len(d.Parts), func(k int) bool { return d.Parts[k].Start > i }) - 1
	if k < 0 {
		return "", utf8.RuneCountInString(d.Text[:i])
	}
	return d.Parts[k].Name, utf8.RuneCountInString(d.Text[d.Parts[k].Start:i])
}

// Read returns the text of a document. name is the file's name, of which only
// the ending is looked at, and only where the content does not tell.
func Read(ctx context.Context, name string, data []byte, limits Limits) (*Document, error) {
	limits = limits.withDefaults()
	if int64(len(data)) > limits.Input {
		return nil, tooLarge("the file", limits.Input)
	}
	kind, err := KindOf(name, data)
	if err != nil {
		return nil, err
	}
	w := &writer{ctx: ctx, limits: limits, doc: &Document{Kind: kind}}
	if err := w.read(kind, data, 0); err != nil {
		return nil, err
	}
	w.doc.Text = w.text.String()
	if kind != Plain && strings.TrimSpace(w.doc.Text) == "" && len(w.doc.Skipped) > 0 {
		return nil, noText(kind)
	}
	return w.doc, nil
}

// KindOf tells the kind of a document by its first bytes and its name's
// ending. The error is a fault for what is never read.
func KindOf(name string, head []byte) (Kind, error) {
	ending := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	lead := bytes.TrimLeft(head[:min(len(head), 1024)], "\ufeff \t\r\n")
	switch {
	case bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")):
		return PDF, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return DOCX, nil
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return "", fault.New(fault.Refused, "the file is an encrypted or old binary Office document, which is not read").
			WithHint("remove the password, or save it as .docx, and pass that")
	case bytes.HasPrefix(head, []byte("{\\rtf")):
		return "", fault.New(fault.Refused, "the file is RTF, which is not read").WithHint("save it as .docx or plain text")
	case ending == "eml" || ending == "mht" || ending == "mhtml":
		return Email, nil
	case ending == "html" || ending == "htm" || ending == "xhtml",
		hasFold(lead, "<!doctype html"), hasFold(lead, "<html"):
		return HTML, nil
	}
	return Plain, nil
}

func hasFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && strings.EqualFold(string(b[:len(prefix)]), prefix)
}

// writer collects the text of a document and of those within it.
type writer struct {
	ctx    context.Context
	limits Limits
	doc    *Document
	text   strings.Builder
	prefix string // of part names, for a document in a document
	parts  int
}

// read appends the text of a document of a kind.
func (w *writer) read(kind Kind, data []byte, depth int) error {
	if depth > w.limits.Depth {
		return fault.New(fault.Limit, "the document holds documents more than %d deep", w.limits.Depth)
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	switch kind {
	case PDF:
		return w.readPDF(data)
	case DOCX:
		return w.readDOCX(data)
	case HTML:
		s, err := Decode(data, "")
		if err != nil {
			return err
		}
		return w.readHTML(s)
	case Email:
		return w.readEmail(data, depth)
	default:
		s, err := Decode(data, "")
		if err != nil {
			return err
		}
		return w.readPlain(s)
	}
}

// part appends a piece of text as a part of its own. Parts end in a line
// break, so that nothing is read across two of them.
func (w *writer) part(name, text string) error {
	if w.parts++; w.parts > w.limits.Parts {
		return fault.New(fault.Limit, "the document has more than %d parts", w.limits.Parts)
	}
	if w.text.Len()+len(text) > w.limits.Text {
		return tooLarge("the text of the document", int64(w.limits.Text))
	}
	start := w.text.Len()
	w.text.WriteString(strings.ToValidUTF8(text, "\uFFFD"))
	if !strings.HasSuffix(text, "\n") {
		w.text.WriteByte('\n')
	}
	w.doc.Parts = append(w.doc.Parts, Part{Name: w.prefix + name, Start: start, End: w.text.Len()})
	return w.ctx.Err()
}

func (w *writer) skip(format string, args ...any) {
	w.doc.Skipped = append(w.doc.Skipped, w.prefix+fmt.Sprintf(format, args...))
}

// readPlain keeps the text as it is: its offsets are those of the file.
func (w *writer) readPlain(s string) error {
	if len(s) > w.limits.Text {
		return tooLarge("the text of the document", int64(w.limits.Text))
	}
	start := w.text.Len()
	w.text.WriteString(s)
	w.doc.Parts = append(w.doc.Parts, Part{Name: strings.TrimSuffix(w.prefix, ", "), Start: start, End: w.text.Len()})
	return nil
}

func tooLarge(what string, limit int64) error {
	return fault.New(fault.Limit, "%s is larger than %d bytes", what, limit).
		WithHint("split it, or convert it to plain text, which is read as a stream")
}

func noText(kind Kind) error {
	if kind == PDF {
		return fault.New(fault.Refused, "the PDF has no text layer: it is probably a scan").
			WithHint("run character recognition on it and pass the result")
	}
	return fault.New(fault.Refused, "no text could be read from the document")
}
