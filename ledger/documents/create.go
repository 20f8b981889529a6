package documents

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// CreateRequest is a document to be made. Status is nil when not given.
type CreateRequest struct {
	Type      string
	Filename  string // the slug
	Title     string
	Status    *string
	Content   string // "" = the type's template
	Directory string // below .archcore/
	Tags      []string
}

// made is a checked request.
type made struct {
	rel   string
	typ   string
	head  head
	bytes []byte
}

// compile checks the request in the published order, up to the settings.
func (r *CreateRequest) compile() (m made, directory, filename string, err error) {
	if _, ok := typesByName[r.Type]; !ok {
		return m, "", "", invalid("invalid document type %q (valid: %s)", r.Type, validTypes)
	}
	slug := strings.TrimSpace(r.Filename)
	switch {
	case slug == "":
		return m, "", "", invalid("filename is required")
	case strings.ContainsAny(slug, `/\`):
		return m, "", "", invalid("invalid filename %q: must not contain path separators", r.Filename)
	case !isSlug(slug):
		return m, "", "", invalid(`invalid filename %q: must be lowercase alphanumeric with hyphens (e.g. "use-postgres")`, r.Filename)
	}
	m.typ = r.Type
	m.head = head{Title: r.Title, Status: "draft", Tags: sortedTags(r.Tags)}
	if m.head.Title == "" {
		m.head.Title = titleFromSlug(slug)
	}
	if r.Status != nil {
		m.head.Status = *r.Status
	}
	if err := checkStatus(m.head.Status); err != nil {
		return m, "", "", err
	}
	if directory, err = cleanDirectory(r.Directory); err != nil {
		return m, "", "", err
	}
	if err := checkTags(r.Tags); err != nil {
		return m, "", "", err
	}
	body := templateOf(r.Type)
	if r.Content != "" {
		body = stripHead(r.Content)
	}
	text, err := compose(m.head, &yaml.Node{}, false, body)
	if err != nil {
		return m, "", "", invalid("invalid title: it cannot be written as metadata")
	}
	if len(text) > maxDocument {
		return m, "", "", fault.New(fault.Limit, "content is larger than %d MiB", maxDocument>>20)
	}
	m.bytes = []byte(text)
	return m, directory, slug + "." + r.Type + ".md", nil
}

// cleanDirectory checks where a document is to be made; "" is .archcore/ itself.
func cleanDirectory(given string) (string, error) {
	dir := strings.TrimSpace(given)
	if dir == "" {
		return "", nil
	}
	clean := path.Clean(dir)
	if strings.HasPrefix(clean, "..") || isAbsolute(clean) || strings.ContainsRune(clean, 0) {
		return "", invalid("invalid directory %q: must be relative and within .archcore/", given)
	}
	for i, part := range strings.Split(clean, "/") {
		hiddenPart := strings.HasPrefix(part, ".") && part != "."
		if hiddenPart && (i > 0 || part != baseDir) { // a leading .archcore is taken as it stands
			return "", invalid("invalid directory %q: hidden directories are not scanned", given)
		}
	}
	if clean == "." {
		return "", nil
	}
	return clean, nil
}

// Create makes a document and answers path, category, type, title, status,
// tags and nearby_documents.
func (b *Base) Create(ctx context.Context, req CreateRequest) (*canon.Object, error) {
	m, directory, filename, err := req.compile()
	if err != nil {
		return nil, err
	}
	err = b.write(ctx, true, func(v *view) (*plan, error) {
		if v.settingsErr != nil {
			return nil, errUnverified
		}
		if m.rel, err = b.guardCreate(directory, filename, v.declared()); err != nil {
			return nil, err
		}
		exists := fault.New(fault.Refused, "file already exists: %s", basePrefix+m.rel)
		if _, err := os.Lstat(filepath.Join(b.root, baseDir, filepath.FromSlash(m.rel))); err == nil {
			return nil, exists
		}
		d := readDocument(&mount{id: localSource, prefix: basePrefix}, m.rel, m.bytes, stamp{}, b.now())
		c := b.hist.writtenChange(d, given(m.bytes))
		c.body.Set("tool", "create_document")
		return &plan{changes: []change{c}, edits: []edit{{file: m.rel, data: m.bytes, create: true, fail: func(err error) error {
			if os.IsExist(err) {
				return exists
			}
			return ioFault(err, "writing", basePrefix+m.rel)
		}}}}, nil
	})
	if err != nil {
		return nil, err
	}
	o := documentAnswer(m.rel, m.typ, m.head)
	if near := b.nearby(m.rel); len(near) > 0 {
		o.Set("nearby_documents", near)
	}
	if hidden(m.rel) {
		o.Set("warnings", []string{"the document lies in a hidden folder: list_documents and search_documents do not show it"})
	}
	return o, nil
}

func documentAnswer(rel, typ string, h head) *canon.Object {
	o := canon.Obj("path", basePrefix+rel, "category", categoryOf(typ), "type", typ, "title", h.Title, "status", h.Status)
	if len(h.Tags) > 0 {
		o.Set("tags", h.Tags)
	}
	return o
}

// nearbyLimit is how many neighbours an answer names.
const nearbyLimit = 5

// nearby is the first other documents of a known type in the same folder.
func (b *Base) nearby(rel string) []string {
	top, err := openFolder(filepath.Join(b.root, baseDir), b.ask)
	if err != nil {
		return nil
	}
	defer top.close()
	dir := path.Dir(rel)
	if dir == "." {
		dir = ""
	}
	f, err := top.open(dir)
	if err != nil {
		return nil
	}
	defer f.close()
	entries, err := f.list()
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		_, typ := splitName(e.name)
		_, known := typesByName[typ]
		if at := join(dir, e.name); e.kind == kindFile && isDocumentName(e.name) && known && at != rel && len(out) < nearbyLimit {
			out = append(out, valid(basePrefix+at))
		}
	}
	return out
}
