package documents

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

const (
	manifestFile     = ".sync-state.json"
	maxManifest      = 64 << 20 // bytes
	maxManifestFiles = 10_000
	maxRelations     = 50_000
	maxIssues        = 20 // named in one error
)

// triple is one relation; paths are relative to .archcore/.
type triple struct {
	Source, Target, Type string
}

// manifest is .sync-state.json: hashes that other programs keep, and the
// relations in order of insertion. It is not changed once made.
type manifest struct {
	files     *canon.Object // path -> hash text; may be empty
	relations []triple
	extra     map[triple]*canon.Object // keys of an entry that are not ours, kept on rewrite
	out, in   map[string][]int32       // document -> places in relations
}

var (
	errManifest   = errors.New("manifest is invalid")
	emptyManifest = newManifest(&canon.Object{}, nil, nil)
)

func newManifest(files *canon.Object, rels []triple, extra map[triple]*canon.Object) *manifest {
	m := &manifest{files: files, relations: rels, extra: extra,
		out: make(map[string][]int32, len(rels)), in: make(map[string][]int32, len(rels))}
	for i, r := range rels {
		m.out[r.Source] = append(m.out[r.Source], int32(i))
		m.in[r.Target] = append(m.in[r.Target], int32(i))
	}
	return m
}

// has reports whether the relation is there.
func (m *manifest) has(t triple) bool {
	for _, i := range m.out[t.Source] {
		if m.relations[i] == t {
			return true
		}
	}
	return false
}

// with returns the manifest with one more relation at the end.
func (m *manifest) with(t triple) *manifest {
	return newManifest(m.files, append(slices.Clone(m.relations), t), m.extra)
}

// without returns the manifest without the relations that drop names, and
// those in order.
func (m *manifest) without(drop func(triple) bool) (*manifest, []triple) {
	kept := make([]triple, 0, len(m.relations))
	var gone []triple
	for _, r := range m.relations {
		if drop(r) {
			gone = append(gone, r)
		} else {
			kept = append(kept, r)
		}
	}
	return newManifest(m.files, kept, m.extra), gone
}

// bytes is the manifest as it is written: two spaces, fixed key order, hashes
// sorted by path, no relations key without relations, a final newline.
func (m *manifest) bytes() []byte {
	w := manifestWriter{buf: make([]byte, 0, 64+160*len(m.relations))}
	w.raw("{\n  \"version\": 1,\n  \"files\": {")
	paths := m.files.Keys()
	slices.Sort(paths)
	for i, p := range paths {
		w.next(i, "\n    ")
		w.text(p)
		w.raw(": ")
		w.text(m.files.Value(p))
	}
	if len(paths) > 0 {
		w.raw("\n  ")
	}
	w.raw("}")
	for i, r := range m.relations {
		if i == 0 {
			w.raw(",\n  \"relations\": [")
		}
		w.next(i, "\n    {")
		w.raw("\n      \"source\": ")
		w.text(r.Source)
		w.raw(",\n      \"target\": ")
		w.text(r.Target)
		w.raw(",\n      \"type\": ")
		w.text(r.Type)
		for k, v := range m.extra[r].All() {
			w.raw(",\n      ")
			w.text(k)
			w.raw(": ")
			w.text(v)
		}
		w.raw("\n    }")
	}
	if len(m.relations) > 0 {
		w.raw("\n  ]")
	}
	w.raw("\n}\n")
	return w.buf
}

// manifestWriter writes JSON text piece by piece: a manifest may hold fifty
// thousand relations and is written whole for each new one.
type manifestWriter struct{ buf []byte }

func (w *manifestWriter) raw(s string) { w.buf = append(w.buf, s...) }

func (w *manifestWriter) next(i int, lead string) {
	if i > 0 {
		w.raw(",")
	}
	w.raw(lead)
}

// text writes a value that was read from a manifest, or a path that the guard
// let pass, which always have a form; plain text, the rule, without detour.
func (w *manifestWriter) text(v any) {
	if s, ok := v.(string); ok && isPlainJSON(s) {
		w.buf = append(append(append(w.buf, '"'), s...), '"')
		return
	}
	b, _ := canon.Compact(v)
	w.buf = append(w.buf, b...)
}

func isPlainJSON(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// manifestError is an invalid manifest; its text is for clients.
type manifestError struct{ issues []string }

func (e *manifestError) Error() string {
	shown := e.issues
	more := ""
	if len(shown) > maxIssues {
		shown, more = shown[:maxIssues], fmt.Sprintf("; and %d more", len(e.issues)-maxIssues)
	}
	return "invalid manifest: " + strings.Join(shown, "; ") + more
}
func (e *manifestError) Unwrap() error { return errManifest }

func (e *manifestError) add(format string, args ...any) {
	e.issues = append(e.issues, fmt.Sprintf(format, args...))
}

// parseManifest checks the bytes of a manifest in two stages: its JSON form,
// then what it says. All issues of a stage are told at once.
func parseManifest(data []byte) (*manifest, error) {
	e := &manifestError{}
	if len(data) == 0 {
		e.add("manifest file is empty (0 bytes)")
		return nil, e
	}
	v, err := canon.Parse(data, canon.Limits{Depth: 32})
	if err != nil {
		e.add("invalid JSON: %s", err)
		return nil, e
	}
	if v == nil {
		e.add("unsupported version 0 (expected 1)")
		return nil, e
	}
	root, ok := v.(*canon.Object)
	if !ok {
		e.add("invalid JSON: expected an object")
		return nil, e
	}
	version, files, rels := e.shape(root)
	if len(e.issues) > 0 {
		return nil, e
	}
	if version != 1 {
		e.add("unsupported version %d (expected 1)", version)
	}
	e.checkFiles(files)
	triples, extra := e.checkRelations(rels)
	if len(e.issues) > 0 {
		return nil, e
	}
	return newManifest(files, triples, extra), nil
}

// shape is stage one: the types of the parts.
func (e *manifestError) shape(root *canon.Object) (version int64, files *canon.Object, rels []any) {
	for k := range root.All() {
		if k != "version" && k != "files" && k != "relations" {
			e.add("unknown root field %q", k)
		}
	}
	if v, ok := root.Get("version"); ok {
		n, number := v.(canon.Number)
		switch {
		case v == nil:
			e.add("version is null")
		case !number || !n.IsInt():
			e.add("version has wrong type (expected integer)")
		default:
			var err error
			if version, err = strconv.ParseInt(string(n), 10, 64); err != nil {
				e.add("version has wrong type (expected integer)")
			}
		}
	}
	files = &canon.Object{}
	if v := root.Value("files"); v != nil {
		o, ok := v.(*canon.Object)
		if !ok {
			e.add("invalid JSON: files must be an object")
			o = &canon.Object{}
		}
		files = o
	}
	for k, v := range files.All() {
		if _, text := v.(string); v == nil {
			e.add("null hash in file entry %q", k)
		} else if !text {
			e.add("invalid JSON: hash of file entry %q must be text", k)
		}
	}
	if v, ok := root.Get("relations"); ok {
		list, array := v.([]any)
		if !array {
			e.add("relations must be an array")
		}
		rels = list
	}
	return version, files, rels
}

func (e *manifestError) checkFiles(files *canon.Object) {
	if n := files.Len(); n > maxManifestFiles {
		e.add("too many file entries (%d, max %d)", n, maxManifestFiles)
	}
	keys := files.Keys()
	slices.Sort(keys)
	for _, p := range keys {
		hash, _ := files.Value(p).(string)
		switch {
		case leavesBase(p):
			e.add("file %q: invalid path %q: must be relative and within .archcore/", p, p)
		case strings.Contains(p, "//"):
			e.add("file %q: contains empty path segment (//)", p)
		case strings.HasSuffix(p, "/"):
			e.add("file %q: has trailing slash", p)
		}
		switch {
		case hash == "":
			e.add("file %q: hash is empty", p)
		case !isSHA256(hash):
			e.add("file %q: hash is not valid SHA-256 (expected 64 lowercase hex chars)", p)
		}
	}
}

func (e *manifestError) checkRelations(rels []any) ([]triple, map[triple]*canon.Object) {
	if n := len(rels); n > maxRelations {
		e.add("too many relations (%d, max %d)", n, maxRelations)
	}
	out := make([]triple, 0, len(rels))
	seen := make(map[triple]bool, len(rels))
	var extra map[triple]*canon.Object
	for i, v := range rels {
		t, more, ok := relationEntry(v)
		if !ok {
			e.add("invalid JSON: relation[%d] must be an object of text", i)
			continue
		}
		if !slices.Contains(vocabulary.Relations, t.Type) {
			e.add("relation[%d]: invalid type %q", i, t.Type)
		}
		if leavesBase(t.Source) {
			e.add("relation[%d]: source invalid path %q: must be relative and within .archcore/", i, t.Source)
		}
		if leavesBase(t.Target) {
			e.add("relation[%d]: target invalid path %q: must be relative and within .archcore/", i, t.Target)
		}
		if t.Source == t.Target {
			e.add("relation[%d]: source and target are the same (%q)", i, t.Source)
		}
		if seen[t] {
			e.add("relation[%d]: duplicate relation", i)
		}
		seen[t] = true
		out = append(out, t)
		if more != nil {
			if extra == nil {
				extra = map[triple]*canon.Object{}
			}
			extra[t] = more
		}
	}
	return out, extra
}

func relationEntry(v any) (t triple, extra *canon.Object, ok bool) {
	if v == nil {
		return triple{}, nil, true
	}
	o, ok := v.(*canon.Object)
	if !ok {
		return triple{}, nil, false
	}
	for k, v := range o.All() {
		text, isText := v.(string)
		isText = isText || v == nil
		switch k {
		case "source":
			t.Source, ok = text, ok && isText
		case "target":
			t.Target, ok = text, ok && isText
		case "type":
			t.Type, ok = text, ok && isText
		default:
			if extra == nil {
				extra = &canon.Object{}
			}
			extra.Set(k, v)
		}
	}
	return t, extra, ok
}

// leavesBase reports whether a manifest path is absolute, empty, or climbs out
// of .archcore/.
func leavesBase(p string) bool {
	if p == "" || strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) {
		return true
	}
	c := path.Clean(p)
	return c == "." || c == ".." || strings.HasPrefix(c, "../")
}

func isSHA256(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
