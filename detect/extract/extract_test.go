package extract_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/detect/extract"
	"github.com/arche-ledger/arche/internal/fault"
)

// pdfOf makes a PDF with one page for each content stream.
func pdfOf(trailer string, pages ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	obj := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.4\n")
	var kids []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 5+2*i))
	}
	obj("<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [ << /FT /Tx /V (Form Value) >> ] >> >>")
	obj("<< /Type /Pages /Count %d /Kids [ %s ] >>", len(pages), strings.Join(kids, " "))
	obj("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	const form = "BT /F1 9 Tf 10 10 Td (From a form object) Tj ET"
	obj("<< /Type /XObject /Subtype /Form /Resources << /Font << /F1 3 0 R >> >> /Length %d >>\nstream\n%s\nendstream", len(form), form)
	for i, content := range pages {
		obj("<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> /XObject << /X1 4 0 R >> >> >>", 6+2*i)
		obj("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, trailer, xref)
	return b.Bytes()
}

func zipOf(t *testing.T, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	docxBody   = `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Dear Grace</w:t><w:tab/><w:t>Mwangi,</w:t></w:r></w:p><w:p><w:r><w:t>call 0803 </w:t></w:r><w:r><w:t>555 7890 &amp; ask</w:t></w:r></w:p></w:body></w:document>`
	docxHeader = `<w:hdr xmlns:w="w"><w:p><w:r><w:t>Private</w:t></w:r></w:p></w:hdr>`
	docxCore   = `<p:core xmlns:p="p" xmlns:dc="d"><dc:creator>Musa Bello</dc:creator></p:core>`
	letterHTML = `<!DOCTYPE html><html><head><title>Letter</title><style>p{color:red}</style></head><body>
<p>Dear <b>Grace</b>&nbsp;Mwangi</p><!-- nin 12345678901 --><div>tel&#58; 0803<br>next <a href="mailto:a@b.example">mail</a></div><script>var who="x"</script>2 < 3</body>`
)

func emailOf(attachment []byte) []byte {
	return []byte("From: Grace Mwangi <grace@example.com>\r\nTo: =?utf-8?B?" + base64.StdEncoding.EncodeToString([]byte("Adébáyọ̀ <a@b.example>")) + "?=\r\n" +
		"Subject: =?iso-8859-1?Q?caf=E9?=\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n" +
		"--B\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nF=E1tima called=\r\n today\r\n" +
		"--B\r\nContent-Type: text/html\r\n\r\n<p>Call <i>0803 555 7890</i></p>\r\n" +
		"--B\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=photo.png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgoAAAANSUhEUgAA\r\n" +
		"--B\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=cv.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
		base64.StdEncoding.EncodeToString(attachment) + "\r\n--B--\r\n")
}

func read(t *testing.T, name string, data []byte) *extract.Document {
	t.Helper()
	d, err := extract.Read(t.Context(), name, data, extract.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// parts lists a document's parts as "name: text".
func parts(d *extract.Document) []string {
	var out []string
	for _, p := range d.Parts {
		out = append(out, p.Name+": "+strings.TrimSuffix(d.Text[p.Start:p.End], "\n"))
	}
	return out
}

func TestReadParts(t *testing.T) {
	onePage := pdfOf("", "BT /F1 12 Tf 72 700 Td [(Gra) -20 (ce) -300 (Mwangi)] TJ 0 -14 Td (call 0803 555 7890) Tj ET /X1 Do")
	for _, c := range []struct {
		name string
		data []byte
		kind extract.Kind
		want []string
	}{
		{"note.txt", []byte("\ufeffFátima\r\ncame"), extract.Plain, []string{": \ufeffFátima\r\ncame"}},
		{"letter.docx", zipOf(t, "word/document.xml", docxBody, "word/header1.xml", docxHeader, "docProps/core.xml", docxCore, "word/media/a.png", "x"), extract.DOCX, []string{
			"paragraph 1: Dear Grace\tMwangi,", "paragraph 2: call 0803 555 7890 & ask", "header1 paragraph 1: Private", "property 1: Musa Bello"}},
		{"letter", []byte(letterHTML), extract.HTML, []string{
			"paragraph 1: Letter", "paragraph 2: p{color:red}", "paragraph 3: Dear Grace\u00a0Mwangi", "paragraph 4: nin 12345678901",
			"paragraph 5: tel: 0803", "paragraph 6: next", "paragraph 7: mailto:a@b.example", "paragraph 8: mail",
			"paragraph 9: var who=\"x\"", "paragraph 10: 2 < 3"}},
		{"two.pdf", pdfOf("", "BT /F1 12 Tf (One) Tj ET", "BT /F1 12 Tf 1 0 0 1 72 700 Tm (Two) Tj 1 0 0 1 90 700 Tm (words) Tj 1 0 0 1 72 680 Tm (line) Tj ET"), extract.PDF, []string{
			"page 1: One", "page 2: Two words\nline", "form: Form Value"}},
		{"one.pdf", onePage, extract.PDF, []string{"page 1: Grace Mwangi\ncall 0803 555 7890\nFrom a form object", "form: Form Value"}},
		{"mail.eml", emailOf(onePage), extract.Email, []string{
			"header from: Grace Mwangi <grace@example.com>", "header to: Adébáyọ̀ <a@b.example>", "header subject: café",
			"body: Fátima called today", "html body, paragraph 1: Call 0803 555 7890", "attachment 1 name: photo.png",
			"attachment 2 name: cv.pdf", "attachment 2, page 1: Grace Mwangi\ncall 0803 555 7890\nFrom a form object", "attachment 2, form: Form Value"}},
	} {
		d := read(t, c.name, c.data)
		if d.Kind != c.kind {
			t.Errorf("%s is read as %s, want %s", c.name, d.Kind, c.kind)
		}
		if diff := cmp.Diff(c.want, parts(d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSkippedIsNamed(t *testing.T) {
	d := read(t, "mail.eml", emailOf(pdfOf("", "BT /F1 9 Tf (x) Tj ET", "")))
	if diff := cmp.Diff([]string{"attachment 1 (image/png)", "attachment 2, page 2 (no text layer)"}, d.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func TestWhere(t *testing.T) {
	d := read(t, "letter.docx", zipOf(t, "word/document.xml", docxBody))
	part, offset := d.Where(strings.Index(d.Text, "555"))
	if part != "paragraph 2" || offset != 10 {
		t.Errorf("Where = %q, %d, want paragraph 2, 10", part, offset)
	}
}

func TestReadRefuses(t *testing.T) {
	empty := pdfOf("", "", "")
	empty = bytes.Replace(empty, []byte("/V (Form Value)"), []byte("/V null        "), 1)
	encrypted := pdfOf("/ID [(0123456789abcdef)] /Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /O (" + strings.Repeat("o", 32) + ") /U (" + strings.Repeat("u", 32) + ") /P 0 >>")
	nested := "Subject: x\r\nContent-Type: message/rfc822\r\n\r\n"
	for _, c := range []struct {
		name string
		data []byte
		kind fault.Kind
		says string
	}{
		{"scan.pdf", empty, fault.Refused, "no text layer"},
		{"locked.pdf", encrypted, fault.Refused, "encrypted"},
		{"cut.pdf", []byte("%PDF-1.4\nnothing"), fault.Invalid, "damaged"},
		{"many.pdf", []byte("%PDF-1.4\nxref\n0 99999999999\ntrailer"), fault.Invalid, "damaged"},
		{"size.pdf", []byte("%PDF-1.4\n1 0 obj << /Type /XRef /Index [ 0 99999999 ] >>"), fault.Invalid, "damaged"},
		{"old.doc", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest"), fault.Refused, "encrypted or old"},
		{"a.rtf", []byte(`{\rtf1 x}`), fault.Refused, "RTF"},
		{"a.zip", zipOf(t, "readme.txt", "x"), fault.Refused, "no Word document"},
		{"a.docx", []byte("PK\x03\x04 and no more"), fault.Invalid, "damaged"},
		{"b.docx", zipOf(t, "word/document.xml", "<w:p><w:t>x"), fault.Invalid, "damaged"},
		{"deep.docx", zipOf(t, "word/document.xml", strings.Repeat("<a>", 300)), fault.Limit, "nested"},
		{"a.bin", []byte("abc\x00def"), fault.Invalid, "not text"},
		{"a.txt", []byte("caf\xe9"), fault.Invalid, "not UTF-8 at 3"},
		{"a.eml", []byte("no header here"), fault.Invalid, "no header"},
		{"deep.eml", []byte(strings.Repeat(nested, 12) + "end"), fault.Limit, "deep"},
		{"secret.eml", []byte("Subject: x\r\nContent-Type: application/pkcs7-mime; name=smime.p7m\r\n\r\nabc"), fault.Refused, "encrypted"},
	} {
		_, err := extract.Read(t.Context(), c.name, c.data, extract.Limits{})
		f := fault.As(err)
		if f == nil || f.Kind != c.kind || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: got %v, want a %s fault saying %q", c.name, err, c.kind, c.says)
		}
	}
}

func TestLimits(t *testing.T) {
	bomb := zipOf(t, "word/document.xml", "<w:p><w:t>"+strings.Repeat("a", 1<<20)+"</w:t></w:p>")
	for name, l := range map[string]extract.Limits{
		"input": {Input: 10}, "text": {Text: 1 << 10},
	} {
		if _, err := extract.Read(t.Context(), "a.docx", bomb, l); !fault.Is(err, fault.Limit) {
			t.Errorf("%s limit: got %v", name, err)
		}
	}
	many := []byte("<p>" + strings.Repeat("a<p>", 50))
	if _, err := extract.Read(t.Context(), "a.html", many, extract.Limits{Parts: 10}); !fault.Is(err, fault.Limit) {
		t.Errorf("parts limit: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := extract.Read(ctx, "a.pdf", pdfOf("", "BT (x) Tj ET"), extract.Limits{}); err == nil {
		t.Error("a cancelled context: no error")
	}
}

func TestDecodeCharsets(t *testing.T) {
	for _, c := range []struct{ data, charset, want string }{
		{"caf\xe9", "windows-1252", "café"}, {"\xff\xfeA\x00\xe9\x00", "", "Aé"}, {"\xfe\xff\x00A", "", "A"}, {"é", "", "é"},
	} {
		if got, err := extract.Decode([]byte(c.data), c.charset); err != nil || got != c.want {
			t.Errorf("Decode(%q, %q) = %q, %v, want %q", c.data, c.charset, got, err, c.want)
		}
	}
	if _, err := extract.Decode([]byte("x"), "klingon"); !fault.Is(err, fault.Invalid) {
		t.Errorf("unknown charset: %v", err)
	}
}

// FuzzRead feeds every reader; whatever the bytes, it answers text in whole
// parts or a fault.
func FuzzRead(f *testing.F) {
	onePage := pdfOf("", "BT /F1 12 Tf 72 700 Td [(Gra) -300 (ce)] TJ ET /X1 Do")
	f.Add("a.pdf", onePage)
	f.Add("a.eml", emailOf(onePage))
	f.Add("a.html", []byte(letterHTML))
	f.Add("a.txt", []byte("caf\xe9"))
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.Create("word/document.xml")
	_, _ = w.Write([]byte(docxBody))
	_ = z.Close()
	f.Add("a.docx", b.Bytes())
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		d, err := extract.Read(t.Context(), name, data, extract.Limits{Input: 1 << 20, Text: 1 << 20, Parts: 1000, Time: time.Second})
		if err != nil {
			if fault.As(err) == nil {
				t.Errorf("not a fault: %v", err)
			}
			return
		}
		if !utf8.ValidString(d.Text) {
			t.Error("the text is not UTF-8")
		}
		end := 0
		for _, p := range d.Parts {
			if p.Start != end || p.End < p.Start {
				t.Fatalf("part %q is [%d, %d) after %d", p.Name, p.Start, p.End, end)
			}
			end = p.End
		}
		if end != len(d.Text) {
			t.Errorf("the parts end at %d of %d", end, len(d.Text))
		}
	})
}
