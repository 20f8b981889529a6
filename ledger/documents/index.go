package documents

import (
	"strings"
	"unsafe"
)

// prepared is what a search needs of a document besides its text. It is made
// when the first search comes by: most runs never search.
type prepared struct {
	lowTitle string     // lower-cased title
	headings string     // lower-cased lines of the body that start with #, one a line
	words    wordCounts // of the searched part
	refs     []ref
}

// opened is a document's text read again, for what an index cannot say: the
// words around a hit, phrases, whole bodies.
type opened struct {
	text    text
	lowBody int // where the searched part starts in the lowered text
}

// prepare makes the document ready to be searched. One that cannot be read is a
// row of its name, there is nothing to search but that; the next search tries
// again.
func (d *document) prepare(v *lexicon, l *loader) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.ready.Load() != nil {
		return
	}
	o, ok := l.open(d)
	if !ok {
		return
	}
	body := o.text.low[o.lowBody:]
	d.ready.Store(&prepared{
		lowTitle: strings.Clone(strings.ToLower(d.title)),
		headings: headingLines(body),
		words:    v.index(body),
		refs:     findRefs(o.text.slice(0, o.text.size())),
	})
}

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

// loader reads documents, keeping the folder of the last one open: documents
// come in the order of folders. It serves one goroutine.
type loader struct {
	tops map[*mount]*folder
	of   *mount
	rel  string
	dir  *folder
}

func (l *loader) close() {
	if l.dir != nil && l.dir != l.tops[l.of] {
		l.dir.close()
	}
	for _, f := range l.tops {
		f.close()
	}
}

// read returns the bytes of a document as they are on the disk now.
func (l *loader) read(d *document) ([]byte, bool) {
	if d.unread {
		return nil, false
	}
	dir, name := "", d.rel
	if i := strings.LastIndexByte(d.rel, '/'); i >= 0 {
		dir, name = d.rel[:i], d.rel[i+1:]
	}
	f := l.enter(d.source, dir)
	if f == nil {
		return nil, false
	}
	data, _, err := f.readAll(name)
	return data, err == nil
}

// enter opens a folder of a mount, or returns the one that is open.
func (l *loader) enter(m *mount, rel string) *folder {
	if l.dir != nil && l.of == m && l.rel == rel {
		return l.dir
	}
	top := l.tops[m]
	if top == nil {
		f, err := openFolder(m.dir, m.ask)
		if err != nil {
			return nil
		}
		if l.tops == nil {
			l.tops = map[*mount]*folder{}
		}
		top, l.tops[m] = f, f
	}
	if l.dir != nil && l.dir != l.tops[l.of] {
		l.dir.close()
	}
	l.dir, l.of, l.rel = top, m, rel
	if rel == "" {
		return top
	}
	f, err := top.open(rel)
	if err != nil {
		l.dir = nil
		return nil
	}
	l.dir = f
	return f
}

// open reads a document and makes its text ready.
func (l *loader) open(d *document) (*opened, bool) {
	data, ok := l.read(d)
	if !ok {
		return nil, false
	}
	raw := unsafe.String(unsafe.SliceData(data), len(data)) // data is not changed any more
	o := &opened{text: newText(raw)}
	o.lowBody = o.text.lowered(d.searchFrom(len(raw)))
	return o, true
}

// searchFrom is where the searched part of a document of size bytes starts:
// the body, or the beginning when nothing of the metadata block was understood.
func (d *document) searchFrom(size int) int {
	if d.parseErr {
		return 0
	}
	return min(d.bodyAt, size)
}

// body is the document without its metadata block, line ends folded.
func (o *opened) body(d *document) string {
	return fold(o.text.slice(min(d.bodyAt, o.text.size()), o.text.size()))
}
