package documents

import (
	"encoding/hex"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

// maxDocument is the largest file that is read; a larger one is a row made
// from its name alone.
const maxDocument = 16 << 20

// addressOf is the address of a document's bytes.
func addressOf(data []byte) string {
	sum := blake3.Sum256(data)
	return "doc:blake3:" + hex.EncodeToString(sum[:])
}

// document is one file of the knowledge base as last read. What it says is not
// changed once made.
type document struct {
	path     string // on the wire: .archcore/..., or below a source's own prefix
	rel      string // below the folder it was found in
	filename string
	slug     string
	typ      string
	category string

	title, status string
	tags          []string
	parseErr      bool // the metadata block is not the YAML it should be
	unread        bool // the file could not be read, or is too large

	source *mount
	stamp  stamp
	readAt time.Time
	size   int64
	// address of the bytes; "" when unread
	address string

	bodyAt int                    // where the body starts in the original
	raw    atomic.Pointer[string] // the original until it is prepared, then nil
	once   sync.Once
	ready  prepared
}

// prepared is what a search needs of a document. It is made when the first
// search comes by: most runs never search.
type prepared struct {
	text     text
	lowBody  int        // where the searched part starts in the lowered text
	lowTitle string     // lower-cased title
	headings string     // lower-cased lines of the body that start with #, one a line
	words    wordCounts // of the searched part
	refs     []ref
}

// named is a document known by its name only.
func named(m *mount, rel string) *document {
	filename := rel[strings.LastIndexByte(rel, '/')+1:]
	slug, typ := splitName(filename)
	return &document{path: m.prefix + rel, rel: rel, filename: filename, slug: slug, typ: typ,
		category: categoryOf(typ), source: m}
}

// readDocument makes a document of a file's bytes.
func readDocument(m *mount, rel string, data []byte, st stamp, at time.Time) *document {
	d := named(m, rel)
	d.stamp, d.readAt, d.size = st, at, int64(len(data))
	d.address = addressOf(data)
	raw := string(data)
	p := parseDocument(raw)
	d.title, d.status = own(p.head.Title), own(p.head.Status)
	for _, t := range p.head.Tags {
		d.tags = append(d.tags, own(t))
	}
	d.parseErr = p.err != nil
	_, _, d.bodyAt, _ = headSpan(raw)
	d.raw.Store(&raw)
	return d
}

// prepare makes the document ready to be searched.
func (d *document) prepare(v *lexicon) *prepared {
	d.once.Do(func() {
		raw := d.raw.Load()
		if raw == nil { // a row of its name: there is nothing to search but that
			return
		}
		p := &d.ready
		p.text = newText(*raw)
		searchFrom := d.bodyAt
		if d.parseErr { // nothing of the block was understood, so all of it is searched
			searchFrom = 0
		}
		p.lowBody = p.text.lowered(searchFrom)
		p.lowTitle = strings.Clone(strings.ToLower(d.title))
		p.headings = headingLines(p.text.low[p.lowBody:])
		p.words = v.index(p.text.low[p.lowBody:])
		p.refs = findRefs(*raw)
		d.raw.Store(nil)
	})
	return &d.ready
}

// original is the document's bytes.
func (d *document) original() string {
	if raw := d.raw.Load(); raw != nil {
		return *raw
	}
	return d.ready.text.slice(0, d.ready.text.size())
}

// own is s as valid text that does not hold on to the file it was cut from.
func own(s string) string { return strings.Clone(valid(s)) }

// headingLines collects the lines that start with #, in code blocks too.
func headingLines(body string) string {
	var b strings.Builder
	for i := 0; i < len(body); {
		end := strings.IndexByte(body[i:], '\n')
		if end < 0 {
			end = len(body) - i
		}
		if body[i] == '#' {
			b.WriteString(body[i : i+end])
			b.WriteByte('\n')
		}
		i += end + 1
	}
	return b.String()
}

// body is the document without its metadata block, line ends folded.
func (d *document) body() string { return fold(d.original()[d.bodyAt:]) }

// mtime is the modification time as answers show it.
func (d *document) mtime() string {
	return d.stamp.modified().UTC().Truncate(time.Second).Format(time.RFC3339)
}

// effectiveTime is the modification time as relevance weighs it: a mounted
// document's is when it was cloned, which says nothing.
func (d *document) effectiveTime() int64 {
	if d.source.global {
		return 0
	}
	return d.stamp.mtime
}

// annotate adds where a document comes from.
func (d *document) annotate(o *canon.Object) {
	o.Set("source_id", d.source.id)
	if !d.source.global {
		o.Set("source_kind", "local")
		return
	}
	o.Set("source_kind", "global")
	o.Set("global", true)
	o.Set("read_only", true)
}

// row is the document as list_documents and get_document show it.
func (d *document) row() *canon.Object {
	o := canon.Obj("path", valid(d.path), "category", d.category, "type", valid(d.typ),
		"filename", valid(d.filename), "slug", valid(d.slug))
	if d.title != "" {
		o.Set("title", d.title)
	}
	if d.status != "" {
		o.Set("status", d.status)
	}
	if len(d.tags) > 0 {
		o.Set("tags", d.tags)
	}
	o.Set("mtime", d.mtime())
	d.annotate(o)
	return o
}
