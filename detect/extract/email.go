package extract

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/arche-ledger/arche/internal/fault"
)

// shownHeaders are the header fields whose text is kept, in this order.
var shownHeaders = []string{"From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Subject", "Comments", "Keywords"}

// readEmail appends a message: its header fields, bodies and attachments.
func (w *writer) readEmail(data []byte, depth int) error {
	msg, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return fault.New(fault.Invalid, "the e-mail has no header that can be read")
	}
	words := mime.WordDecoder{CharsetReader: func(charset string, r io.Reader) (io.Reader, error) {
		enc, err := htmlindex.Get(charset)
		if err != nil {
			return nil, err
		}
		return enc.NewDecoder().Reader(r), nil
	}}
	for _, name := range shownHeaders {
		for _, value := range msg.Header[name] {
			if s, err := words.DecodeHeader(value); err == nil {
				value = s
			}
			if err := w.part("header "+strings.ToLower(name), value); err != nil {
				return err
			}
		}
	}
	return w.entity(header(msg.Header), msg.Body, depth)
}

// header is the header of a message or of a part of one.
type header map[string][]string

func (h header) get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// entity appends a body: the parts of a multipart one each by itself.
func (w *writer) entity(h header, body io.Reader, depth int) error {
	if depth > w.limits.Depth {
		return fault.New(fault.Limit, "the e-mail is nested more than %d deep", w.limits.Depth)
	}
	media, params, err := mime.ParseMediaType(h.get("Content-Type"))
	if err != nil {
		media, params = "text/plain", nil
	}
	switch {
	case media == "multipart/encrypted", media == "application/pkcs7-mime", media == "application/x-pkcs7-mime":
		return fault.New(fault.Refused, "the e-mail is encrypted").WithHint("decrypt it in the mail program and pass the result")
	case strings.HasPrefix(media, "multipart/"):
		return w.multipart(body, params["boundary"], depth)
	}
	raw, err := w.content(h.get("Content-Transfer-Encoding"), body)
	if err != nil {
		return err
	}
	return w.leaf(h, media, params, raw, depth)
}

func (w *writer) multipart(body io.Reader, boundary string, depth int) error {
	if boundary == "" {
		return fault.New(fault.Invalid, "the e-mail names no boundary for its parts")
	}
	parts := multipart.NewReader(body, boundary)
	for {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fault.New(fault.Invalid, "the parts of the e-mail are damaged or cut short")
		}
		if err := w.entity(header(p.Header), p, depth+1); err != nil {
			return err
		}
	}
}

// content undoes the transfer encoding.
func (w *writer) content(encoding string, body io.Reader) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	raw, err := io.ReadAll(io.LimitReader(body, int64(w.limits.Text)+1))
	var corrupt base64.CorruptInputError
	if errors.As(err, &corrupt) || err != nil {
		return nil, fault.New(fault.Invalid, "a part of the e-mail is damaged or cut short")
	}
	if len(raw) > w.limits.Text {
		return nil, tooLarge("a part of the e-mail", int64(w.limits.Text))
	}
	return raw, nil
}

// leaf appends one body or attachment.
func (w *writer) leaf(h header, media string, params map[string]string, raw []byte, depth int) error {
	name := params["name"]
	disposition, about, err := mime.ParseMediaType(h.get("Content-Disposition"))
	if err == nil && about["filename"] != "" {
		name = about["filename"]
	}
	attached := disposition == "attachment" || name != ""
	if !attached && (media == "text/plain" || media == "text/html") {
		s, err := Decode(raw, params["charset"])
		if err != nil {
			return err
		}
		if media == "text/html" {
			return w.within("html body", func() error { return w.readHTML(s) })
		}
		return w.part("body", s)
	}
	w.doc.attachments++
	label := fmt.Sprintf("attachment %d", w.doc.attachments)
	if name != "" {
		if err := w.part(label+" name", name); err != nil {
			return err
		}
	}
	kind, err := KindOf(name, raw)
	switch {
	case err != nil:
		return err
	case media == "message/rfc822":
		kind = Email
	case kind == Plain && !strings.HasPrefix(media, "text/") && (bytes.IndexByte(raw, 0) >= 0 || InvalidUTF8(raw) >= 0),
		kind == DOCX && !bytes.Contains(raw, []byte("word/document.xml")):
		w.skip("%s (%s)", label, media)
		return nil
	}
	if kind == Plain {
		s, err := Decode(raw, params["charset"])
		if err != nil {
			return err
		}
		return w.part(label, s)
	}
	return w.within(label, func() error { return w.read(kind, raw, depth+1) })
}

// within names the parts that f appends after where they are.
func (w *writer) within(label string, f func() error) error {
	before := w.prefix
	w.prefix += label + ", "
	err := f()
	w.prefix = before
	return err
}
