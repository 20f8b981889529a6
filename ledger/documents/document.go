package documents

import (
	"cmp"
	"encoding/hex"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

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

	bodyAt int // where the body starts

	preparing sync.Mutex
	ready     atomic.Pointer[prepared] // nil before the first search, and while the file cannot be read
}

// unsearched stands for what is not known of a document.
var unsearched prepared

// searched is what a search knows of the document besides its row.
func (d *document) searched() *prepared { return cmp.Or(d.ready.Load(), &unsearched) }

// named is a document known by its name only.
func named(m *mount, rel string) *document {
	filename := rel[strings.LastIndexByte(rel, '/')+1:]
	slug, typ := splitName(filename)
	return &document{path: m.prefix + rel, rel: rel, filename: filename, slug: slug, typ: typ,
		category: categoryOf(typ), source: m}
}

// readDocument makes a document of a file's bytes, which it does not keep: the
// disk does.
func readDocument(m *mount, rel string, data []byte, st stamp, at time.Time) *document {
	d := named(m, rel)
	d.stamp, d.readAt, d.size = st, at, int64(len(data))
	d.address = addressOf(data)
	raw := unsafe.String(unsafe.SliceData(data), len(data)) // data is not changed any more
	p := parseDocument(raw)
	d.title, d.status = own(p.head.Title), own(p.head.Status)
	for _, t := range p.head.Tags {
		d.tags = append(d.tags, own(t))
	}
	d.parseErr = p.err != nil
	_, _, d.bodyAt, _ = headSpan(raw)
	return d
}

// own is s as valid text that does not hold on to the file it was cut from.
func own(s string) string { return strings.Clone(valid(s)) }

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
