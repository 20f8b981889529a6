package extract

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
)

// readDOCX appends each paragraph of a Word document as a part: body, headers,
// footers, notes and comments, and the properties (author, title).
func (w *writer) readDOCX(data []byte) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fault.New(fault.Invalid, "the ZIP container of the document is damaged")
	}
	if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "word/document.xml" }) {
		return fault.New(fault.Refused, "the ZIP file is no Word document").
			WithHint("read are .docx, PDF, HTML, e-mail and plain text")
	}
	left := int64(w.limits.Text)
	for _, f := range z.File {
		what := docxPart(f.Name)
		if what == "" {
			if strings.HasPrefix(f.Name, "word/media/") || strings.HasPrefix(f.Name, "word/embeddings/") {
				w.skip("%s", path.Base(f.Name))
			}
			continue
		}
		if f.Flags&1 != 0 {
			return fault.New(fault.Refused, "the document is encrypted").WithHint("remove the password and pass the result")
		}
		raw, err := unpack(f, left)
		if err != nil {
			return err
		}
		left -= int64(len(raw))
		if err := w.docxText(raw, what); err != nil {
			return err
		}
	}
	return nil
}

// docxPart names the member's text, "" for a member that holds none.
func docxPart(name string) string {
	base := strings.TrimSuffix(path.Base(name), ".xml")
	switch {
	case path.Ext(name) != ".xml":
		return ""
	case name == "word/document.xml":
		return "paragraph"
	case name == "docProps/core.xml" || name == "docProps/app.xml" || name == "docProps/custom.xml":
		return "property"
	case path.Dir(name) == "word" && (strings.HasPrefix(base, "header") || strings.HasPrefix(base, "footer") ||
		strings.HasPrefix(base, "comments") || base == "footnotes" || base == "endnotes"):
		return base + " paragraph"
	}
	return ""
}

// unpack reads a member of at most limit bytes.
func unpack(f *zip.File, limit int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, fault.New(fault.Invalid, "a member of the document cannot be unpacked")
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fault.New(fault.Invalid, "a member of the document is damaged")
	}
	if int64(len(raw)) > limit {
		return nil, tooLarge("the unpacked document", limit)
	}
	return raw, nil
}

// docxText appends the paragraphs of one member. Text that a tracked change
// deleted is text: it travels with the file.
func (w *writer) docxText(raw []byte, what string) error {
	dec := xml.NewDecoder(bytes.NewReader(raw))
	dec.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("not UTF-8") }
	var buf strings.Builder
	n, depth := 0, 0
	flush := func() error {
		s := strings.TrimSpace(buf.String())
		buf.Reset()
		if s == "" {
			return nil
		}
		n++
		return w.part(fmt.Sprintf("%s %d", what, n), s)
	}
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return flush()
		}
		if err != nil {
			return fault.New(fault.Invalid, "the XML of the document is damaged")
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > 256 {
				return fault.New(fault.Limit, "the XML of the document is nested more than 256 deep")
			}
			switch t.Name.Local {
			case "p":
				err = flush()
			case "tab":
				buf.WriteByte('\t')
			case "br", "cr":
				buf.WriteByte('\n')
			}
		case xml.EndElement:
			depth--
			if t.Name.Local == "p" || what == "property" {
				err = flush()
			}
		case xml.CharData:
			buf.Write(t)
		}
		if err != nil {
			return err
		}
	}
}
