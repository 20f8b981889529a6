package documents_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestHeadsOfAllForms takes documents apart whose metadata block is not of the
// plain form.
func TestHeadsOfAllForms(t *testing.T) {
	type head struct {
		Title, Status string
		Tags          []string
		Body          string
		Broken        bool
	}
	for text, want := range map[string]head{
		"---\ntitle: A\n---":                                     {Title: "A"},
		"---\r\ntitle: A\r\n---":                                 {Title: "A"},
		"---\n---":                                               {Body: "---\n---"},
		"---\ntitle: A\n--- ":                                    {Body: "---\ntitle: A\n--- "},
		"\uFEFF---\ntitle: open\n":                               {Body: "---\ntitle: open\n"},
		"\uFEFF---\ntitle: A\n---\n\nx":                          {Title: "A", Body: "x"},
		"\uFEFFplain":                                            {Body: "plain"},
		"---\n\n---\n\nx\n":                                      {Body: "x\n"},
		"---\n \t\n---\nx\n":                                     {Body: "x\n"},
		"---\n# nothing but a word\n---\nx\n":                    {Body: "x\n"},
		"---\nnull\n---\nx\n":                                    {Body: "x\n"},
		"---\n- a\n- b\n---\nx\n":                                {Body: "x\n", Broken: true},
		"---\njust text\n---\nx\n":                               {Body: "x\n", Broken: true},
		"---\ntitle: [\n---\nx\n":                                {Body: "x\n", Broken: true},
		"---\ntitle: A\nstatus: [x]\n---\nx\n":                   {Title: "A", Body: "x\n", Broken: true},
		"---\nstatus: draft\ntitle: \"A\"\n---\nx\n":             {Title: "A", Status: "draft", Body: "x\n"},
		"---\ntitle: \"A\"\ntitle: \"B\"\n---\nx\n":              {Body: "x\n", Broken: true},
		"---\ntitle: \"a\\\"b\"\n---\nx\n":                       {Title: "a\"b", Body: "x\n"},
		"---\ntitle: \"A\"\ntags:\n  - \"x\"\n---\r\n\r\nx\r\n":  {Title: "A", Tags: []string{"x"}, Body: "x\n"},
		"---\ntitle: \"A\"\ntags:\n  - \"x\"\nowner: me\n---\nx": {Title: "A", Tags: []string{"x"}, Body: "x"},
		"---\ntitle: \"\u0085\"\nstatus: draft\n---\nx":          {Title: " ", Status: "draft", Body: "x"},
	} {
		var got head
		var err error
		got.Title, got.Status, got.Tags, got.Body, err = documents.Head(text)
		got.Broken = err != nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

// TestUpdatesKeepWhatIsNotOurs: foreign keys and comments stay where they can,
// and an update that cannot keep them is refused.
func TestUpdatesKeepWhatIsNotOurs(t *testing.T) {
	none, one := []string{}, []string{"x"}
	for _, c := range []struct {
		old  string
		req  documents.UpdateRequest
		want string // "" when it is refused
	}{
		{"---\n# who\n\nowner: x\ntitle: A\n---\n\nB\n", documents.UpdateRequest{Title: "T"}, "---\ntitle: \"T\"\nstatus: \n# who\nowner: x\n---\n\nB\n"},
		{"---\n# who\n\n# why\nowner: x # because\nn: 1\n---\n\nB\n", documents.UpdateRequest{Status: "draft"}, "---\ntitle: \"\"\nstatus: draft\n# who\n# why\nowner: x # because\nn: 1\n---\n\nB\n"},
		{"---\ntitle: A\n# after\n\nstatus: draft\n---\n\nB\n", documents.UpdateRequest{Title: "T"}, "---\ntitle: \"T\"\nstatus: draft\n# after\n---\n\nB\n"},
		{"---\n# top\n\ntitle: A\nstatus: draft\n\n# foot\n---\n\nB\n", documents.UpdateRequest{Title: "T"}, "---\ntitle: \"T\"\nstatus: draft\n# top\n# foot\n---\n\nB\n"},
		{"---\n<<: {tags: [a]}\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Tags: &none}, "---\ntitle: \"B\"\nstatus: draft\ntags: []\n<<: {tags: [a]}\n---\n\nx"},
		{"---\ntitle: B\nstatus: draft\ntags: [a]\n---\nx", documents.UpdateRequest{Tags: &none}, "---\ntitle: \"B\"\nstatus: draft\n---\n\nx"},
		{"---\ntitle: B\nstatus: draft\ntags: [a, b]\n---\nx", documents.UpdateRequest{Tags: &one}, "---\ntitle: \"B\"\nstatus: draft\ntags:\n  - \"x\"\n---\n\nx"},
		{"---\ntitle: &a B\nother: *a\n---\nx", documents.UpdateRequest{Status: "draft"}, ""},
		{"---\ntitle: [\n---\nx", documents.UpdateRequest{Status: "draft"}, ""},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Title: "\xff"}, ""},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Content: "---\ntitle: other\n---\n\nnew\n"}, "---\ntitle: \"B\"\nstatus: draft\n---\n\nnew\n"},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Content: "\uFEFF---\ntitle: other\n---\n\nnew\n"}, "---\ntitle: \"B\"\nstatus: draft\n---\n\n\uFEFF---\ntitle: other\n---\n\nnew\n"},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Content: "no head\r\n"}, "---\ntitle: \"B\"\nstatus: draft\n---\n\nno head\r\n"},
		{"---\ntitle: B\nstatus: draft\n---\nx", documents.UpdateRequest{Content: strings.Repeat("x", 16<<20)}, ""},
	} {
		got, err := documents.Apply(c.old, c.req)
		if c.want == "" && (fault.As(err) == nil || !strings.Contains(err.Error(), "x.md") && !fault.Is(err, fault.Limit)) || c.want != "" && err != nil {
			t.Errorf("%.80q: %v", c.old, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.old, diff)
		}
	}
}

// TestPanicsOfTheReaderAreErrors: what the YAML reader has no error for ends no
// server.
func TestPanicsOfTheReaderAreErrors(t *testing.T) {
	if err := documents.Guarded(func() error { panic("odd") }); err == nil || err.Error() != "metadata block: odd" {
		t.Errorf("%v", err)
	}
	want := errors.New("own")
	if err := documents.Guarded(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}

// TestNamesThatAreNoText: a file whose name is no UTF-8 is listed and told, and
// neither recorded nor changed: an event names text. Everything else works.
func TestNamesThatAreNoText(t *testing.T) {
	const odd = "\xff\xfe.adr.md"
	ctx := t.Context()
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	if err := os.WriteFile(filepath.Join(w.root, ".archcore", odd), []byte("odd\n"), 0o600); err != nil {
		t.Skip("the file system takes no such name")
	}
	if rows := list(t, w.base, documents.ListRequest{}); len(rows) != 4 || rows[3] != ".archcore/\uFFFD.adr.md" {
		t.Errorf("rows %q", rows)
	}
	if got := codes(t, w.base); !slices.Contains(got, "unnamed .archcore/\uFFFD.adr.md") {
		t.Errorf("findings %v", got)
	}
	for name, call := range map[string]func() (*canon.Object, error){
		"update": func() (*canon.Object, error) {
			return w.base.Update(ctx, documents.UpdateRequest{Path: ".archcore/" + odd, Title: "T"})
		},
		"remove": func() (*canon.Object, error) { return w.base.Remove(ctx, ".archcore/"+odd) },
		"create": func() (*canon.Object, error) {
			return w.base.Create(ctx, documents.CreateRequest{Type: "adr", Filename: "x", Directory: "\xff"})
		},
		"source": func() (*canon.Object, error) {
			return w.base.AddRelation(ctx, documents.RelationRequest{Source: odd, Target: "b.adr.md", Type: "related"})
		},
		"target": func() (*canon.Object, error) {
			return w.base.RemoveRelation(ctx, documents.RelationRequest{Source: "b.adr.md", Target: odd, Type: "related"})
		},
	} {
		if _, err := call(); !fault.Is(err, fault.Refused) || err.Error() != "invalid path: is not UTF-8 text" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.base.Init(ctx, documents.InitRequest{SyncMode: "on-prem", ArchcoreURL: "\xff"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("settings: %v", err)
	}
	if _, err := w.base.Create(ctx, documents.CreateRequest{Type: "adr", Filename: "x", Title: "\xff"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("title: %v", err)
	}
	before := w.events(ctx)
	for range 2 {
		w.reopen()
		list(t, w.base, documents.ListRequest{})
	}
	for e, err := range w.log.Events(ctx, ledger.Filter{}) {
		if err != nil || e.Subject() == "" || strings.Contains(e.Subject(), "\uFFFD") {
			t.Errorf("event %d: %q %v", e.Seq(), e.Subject(), err)
		}
	}
	if after := w.events(ctx); after != before || after != 6 {
		t.Errorf("%d events, then %d, want 6", before, after)
	}
	if err := everyWrite["update"](ledger.WithActor(ctx, "mcp:\xff"), w.base); err != nil {
		t.Errorf("a name of a client that is no text: %v", err)
	}
}

// TestFirstDocument: the first document of a folder that has none makes
// .archcore/, and what asks before is told that there is nothing.
func TestFirstDocument(t *testing.T) {
	ctx := t.Context()
	b := open(t, t.TempDir())
	for name, call := range map[string]func() error{
		"get":    func() error { return drop(b.Get(ctx, ".archcore/a.adr.md")) },
		"bytes":  func() error { return drop(b.Bytes(ctx, "a.adr.md")) },
		"remove": func() error { return drop(b.Remove(ctx, ".archcore/a.adr.md")) },
		"update": func() error {
			return drop(b.Update(ctx, documents.UpdateRequest{Path: ".archcore/a.adr.md", Title: "T"}))
		},
		"versions": func() error { return drop(b.Versions(ctx, "a.adr.md")) },
		"restore":  func() error { return drop(b.Restore(ctx, "a.adr.md", "#1")) },
		"hosts":    func() error { return readings["hosts"](ctx, b) },
		"relate": func() error {
			return drop(b.AddRelation(ctx, documents.RelationRequest{Source: "a.adr.md", Target: "b.adr.md", Type: "related"}))
		},
	} {
		if err := call(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 0 {
		t.Errorf("rows %v", rows)
	}
	if got := codes(t, b); len(got) != 0 {
		t.Errorf("findings %v", got)
	}
	if _, err := os.Lstat(filepath.Join(b.Root(), ".archcore")); err == nil {
		t.Error("a call that changes nothing made .archcore/")
	}
	answer, err := b.Create(ctx, documents.CreateRequest{Type: "adr", Filename: "first", Content: "x\n"})
	if err != nil || answer.Value("path") != ".archcore/first.adr.md" || answer.Has("nearby_documents") {
		t.Errorf("%v, %v", answer, err)
	}
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 1 {
		t.Errorf("rows %v", rows)
	}
	for n := range 7 {
		if answer, err = b.Create(ctx, documents.CreateRequest{Type: "adr", Filename: fmt.Sprintf("n%d", n)}); err != nil {
			t.Fatal(err)
		}
	}
	near, _ := answer.Value("nearby_documents").([]string)
	if want := []string{".archcore/first.adr.md", ".archcore/n0.adr.md", ".archcore/n1.adr.md", ".archcore/n2.adr.md", ".archcore/n3.adr.md"}; !slices.Equal(near, want) {
		t.Errorf("nearby %v, want %v", near, want)
	}
}

// TestBaseThatLeadsAway: .archcore may be a link to a folder; one that leads
// nowhere, or round in a circle, is told and not followed.
func TestBaseThatLeadsAway(t *testing.T) {
	for target, want := range map[string]string{"nowhere": "invalid path: cannot resolve .archcore/", ".archcore": "scanning documents: file system error"} {
		root := t.TempDir()
		if err := os.Symlink(target, filepath.Join(root, ".archcore")); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, root).Create(t.Context(), documents.CreateRequest{Type: "adr", Filename: "x"}); fault.As(err) == nil || err.Error() != want {
			t.Errorf("a link to %s: %v, want %s", target, err, want)
		}
		if err := documents.Contain(open(t, root), "x.adr.md"); err == nil || err.Error() != "invalid path: cannot resolve .archcore/" {
			t.Errorf("a link to %s: %v", target, err)
		}
	}
	root, elsewhere := t.TempDir(), project(t, linkedFiles())
	if err := os.Symlink(filepath.Join(elsewhere, ".archcore"), filepath.Join(root, ".archcore")); err != nil {
		t.Fatal(err)
	}
	if err := everyWrite["update"](t.Context(), open(t, root)); err != nil || !strings.Contains(slurp(t, elsewhere, "a.adr.md"), "changed") {
		t.Errorf("a link to a folder: %v", err)
	}
}

// TestLinksInside: a link below .archcore/ is no document wherever it leads.
func TestLinksInside(t *testing.T) {
	root := project(t, linkedFiles())
	base := filepath.Join(root, ".archcore")
	for link, target := range map[string]string{"in.adr.md": "a.adr.md", "deep.adr.md": "../../none/deep.md", "abs.adr.md": filepath.Join(root, "none.md"), "new.adr.md": "none.adr.md"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, root)
	for link, want := range map[string]string{
		"in.adr.md": "invalid path: not a document — only .md document files can be updated", "new.adr.md": "invalid path: not a document — only .md document files can be updated",
		"deep.adr.md": "invalid path: resolves outside .archcore/", "abs.adr.md": "invalid path: resolves outside .archcore/",
	} {
		if _, err := b.Update(t.Context(), documents.UpdateRequest{Path: ".archcore/" + link, Title: "T"}); !fault.Is(err, fault.Refused) || err.Error() != want {
			t.Errorf("%s: %v, want %s", link, err, want)
		}
	}
	if text := slurp(t, root, "a.adr.md"); strings.Contains(text, "T\"") {
		t.Errorf("written through a link: %q", text)
	}
}

// TestSourcesThatCannotBeUsed: each is told with its id and as it was declared,
// and keeps list and search from an answer that is short without saying so.
func TestSourcesThatCannotBeUsed(t *testing.T) {
	for declared, want := range map[string]string{
		`{"id":"x","path":"file/deep"}`:                               `scanning documents: global source "x" at "file/deep" is not readable`,
		`{"id":"x","path":"file"}`:                                    `scanning documents: global source "x" at "file" is not a directory`,
		`{"id":"x","path":"loop"}`:                                    `scanning documents: global source "x" at "loop" is not readable`,
		`{"id":"x","path":".archcore"}`:                               `scanning documents: global source "x" at ".archcore" resolves to the project's own .archcore`,
		`{"id":"x","path":"."}`:                                       `scanning documents: global source "x" at "." resolves to the project's own .archcore`,
		`{"id":"x","path":"near"},{"id":"y","path":"./near/../near"}`: `scanning documents: global sources "x" and "y" resolve to the same path "./near/../near"`,
	} {
		root := project(t, linkedFiles())
		put(t, root, "settings.json", `{"sync":"none","globals":[`+declared+`]}`)
		write(t, filepath.Join(root, "file"), "x")
		write(t, filepath.Join(root, "near", "n.adr.md"), "x")
		if err := os.Symlink("loop", filepath.Join(root, "loop")); err != nil {
			t.Fatal(err)
		}
		b := open(t, root)
		if _, err := b.List(t.Context(), documents.ListRequest{}); fault.As(err) == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", declared, err, want)
		}
		if _, err := b.Search(t.Context(), documents.SearchRequest{Content: "x"}); fault.As(err) == nil || err.Error() != want {
			t.Errorf("%s: search: %v, want %s", declared, err, want)
		}
		if got := codes(t, b); !slices.Contains(got, "unusable_source") {
			t.Errorf("%s: findings %v", declared, got)
		}
		if err := everyWrite["update"](t.Context(), b); err != nil {
			t.Errorf("%s: a local document cannot be changed: %v", declared, err)
		}
	}
}

// TestSourcesInside: a source that lies below .archcore/ is read-only and named.
func TestSourcesInside(t *testing.T) {
	ctx := t.Context()
	files := linkedFiles()
	files["settings.json"] = `{"sync":"none","globals":[{"id":"ven","path":".archcore/vendor/v"},{"id":"ext","path":"ext"}]}`
	files["vendor/v/x.adr.md"], files["vendor/own.adr.md"], files["global/g.adr.md"] = "x\n", "own\n", "g\n"
	root := project(t, files)
	write(t, filepath.Join(root, "ext", "e.adr.md"), "e\n")
	write(t, filepath.Join(root, "ext", "note.md"), "not listed\n")
	for link, target := range map[string]string{"loop": "loop", "out.md": "../../none/x.md"} {
		if err := os.Symlink(target, filepath.Join(root, "ext", link)); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, root)
	want := []string{".archcore/a.adr.md", ".archcore/vendor/v/x.adr.md", "ext/e.adr.md", ".archcore/b.adr.md", ".archcore/c.adr.md", ".archcore/vendor/own.adr.md"}
	if rows := list(t, b, documents.ListRequest{}); !slices.Equal(rows, want) {
		t.Errorf("rows %v\nwant %v", rows, want)
	}
	for p, id := range map[string]string{".archcore/vendor/v/x.adr.md": "ven", ".archcore/VENDOR/v/x.adr.md": "", ".archcore/global/g.adr.md": "__global__", ".archcore/vendor/own.adr.md": "local", "ext/e.adr.md": "ext", "ext/note.md": "ext"} {
		doc, err := b.Get(ctx, p)
		if id == "" {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v, %v", p, doc, err)
			}
			continue
		}
		if err != nil || doc.Value("source_id") != id || doc.Has("read_only") != (id != "local") {
			t.Errorf("%s: %v, %v", p, doc, err)
		}
	}
	for p, want := range map[string]string{
		"ext/loop/x.md": "invalid path: cannot resolve global document", "ext/out.md": "invalid path: resolves outside the global source",
		"ext/none.md": "document not found: ext/none.md", "ext/x.txt": "invalid path: only .md global documents are readable", "other/x.md": `invalid path: must start with ".archcore/"`,
	} {
		if _, err := b.Get(ctx, p); fault.As(err) == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", p, err, want)
		}
	}
	const readOnly = "cannot add a relation involving a read-only global source document — relations connect local documents only"
	for _, end := range []string{"global/g.adr.md", "vendor/v/x.adr.md", "Vendor/V/x.adr.md"} {
		if _, err := b.AddRelation(ctx, documents.RelationRequest{Source: "a.adr.md", Target: end, Type: "related"}); err == nil || err.Error() != readOnly {
			t.Errorf("relate %s: %v", end, err)
		}
		if _, err := b.Update(ctx, documents.UpdateRequest{Path: ".archcore/" + end, Title: "T"}); err == nil || err.Error() != "cannot update a read-only global source document" {
			t.Errorf("update %s: %v", end, err)
		}
		if _, err := b.Create(ctx, documents.CreateRequest{Type: "adr", Filename: "n", Directory: filepath.Dir(end)}); err == nil || err.Error() != "cannot create document in a read-only global source" {
			t.Errorf("create beside %s: %v", end, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "ext")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(ctx, "ext/e.adr.md"); !fault.Is(err, fault.NotFound) || err.Error() != "invalid path: global source is not accessible" {
		t.Errorf("a source that is not there: %v", err)
	}
}

// TestMainCheckouts: what stands in .git says where a source outside is looked
// for.
func TestMainCheckouts(t *testing.T) {
	for git, main := range map[string]bool{"gitdir: ../main/.git/worktrees/wt\n": true, "gitdir: ../main/.git/modules/wt\n": false, "gitdir: ../main/git/worktrees/wt": false, "nothing of the kind": false, "": false} {
		parent := t.TempDir()
		write(t, filepath.Join(parent, "common", "s.adr.md"), "near the main checkout\n")
		write(t, filepath.Join(parent, "deep", "common", "s.adr.md"), "near the worktree\n")
		root := filepath.Join(parent, "deep", "wt")
		put(t, root, "settings.json", `{"sync":"none","globals":[{"id":"sh","path":"../common"}]}`)
		if git != "" {
			write(t, filepath.Join(root, ".git"), strings.Replace(git, "../main", "../../main", 1))
		}
		doc, err := open(t, root).Get(t.Context(), "../common/s.adr.md")
		want := map[bool]string{true: "near the main checkout\n", false: "near the worktree\n"}[main]
		if err != nil || doc.Value("content") != want {
			t.Errorf("%q: %v, %v", git, doc, err)
		}
	}
}

// TestManifestLimits: one entry more than is taken is told with both numbers.
func TestManifestLimits(t *testing.T) {
	entries := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	hash := strings.Repeat("0", 64)
	const rel = `{"source":"%d.md","target":"x.md","type":"related"}`
	for _, c := range []struct {
		text, want string
	}{
		{`{"version":1,"files":{` + entries(10_001, `"%d.md":"`+hash+`"`) + `}}`, "invalid manifest: too many file entries (10001, max 10000)"},
		{`{"version":1,"files":{` + entries(10_000, `"%d.md":"`+hash+`"`) + `}}`, ""},
		{`{"version":1,"relations":[` + entries(50_001, rel) + `]}`, "invalid manifest: too many relations (50001, max 50000)"},
		{`{"version":1,"relations":[` + entries(50_000, rel) + `]}`, ""},
		{`{"version":99999999999999999999}`, "invalid manifest: version has wrong type (expected integer)"},
		{`{"version":2}`, "invalid manifest: unsupported version 2 (expected 1)"},
		{`{"version":1,"files":{"a//b.md":"","../x.md":"` + hash + `","/y.md":"` + strings.Repeat("g", 64) + `"}}`,
			`invalid manifest: file "../x.md": invalid path "../x.md": must be relative and within .archcore/; file "/y.md": invalid path "/y.md": must be relative and within .archcore/; ` +
				`file "/y.md": hash is not valid SHA-256 (expected 64 lowercase hex chars); file "a//b.md": contains empty path segment (//); file "a//b.md": hash is empty`},
		{`{"version":1,"relations":[{"source":"a.md","target":"a.md","type":"related"},{"source":"..","target":"","type":"x"},{"source":"a.md","target":"b.md","type":"related"},{"source":"a.md","target":"b.md","type":"related"}]}`,
			`invalid manifest: relation[0]: source and target are the same ("a.md"); relation[1]: invalid type "x"; relation[1]: source invalid path "..": must be relative and within .archcore/; ` +
				`relation[1]: target invalid path "": must be relative and within .archcore/; relation[3]: duplicate relation`},
	} {
		_, _, err := documents.Manifest([]byte(c.text))
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%.80s: %v, want %s", c.text, err, c.want)
		}
	}
	root := project(t, linkedFiles())
	put(t, root, ".sync-state.json", `{"version":1,"files":{},"relations":[`+entries(50_000, rel)+`]}`)
	b := openWith(t, root, memoryWith(t, ledger.Options{Fault: func(string) error { return errors.New("IO Error: it is not there") }}))
	if _, err := b.AddRelation(t.Context(), documents.RelationRequest{Source: "a.adr.md", Target: "b.adr.md", Type: "related"}); !fault.Is(err, fault.Limit) || !strings.Contains(err.Error(), "too many relations (50001, max 50000)") {
		t.Errorf("one relation too many: %v", err)
	}
}

// TestBrokenFilesAreTold: an invalid manifest or settings file stops what needs
// it, with the reason, and nothing else.
func TestBrokenFilesAreTold(t *testing.T) {
	ctx := t.Context()
	root := project(t, linkedFiles())
	put(t, root, ".sync-state.json", "")
	b := open(t, root)
	const reason = "invalid manifest: manifest file is empty (0 bytes)"
	for name, want := range map[string]string{"get": "loading manifest: " + reason, "search": "loading manifest: " + reason, "relations": "loading manifest: " + reason, "graph": "loading manifest: " + reason} {
		if err := readings[name](ctx, b); !fault.Is(err, fault.Damaged) || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, name := range []string{"relate", "unrelate"} {
		if err := everyWrite[name](ctx, b); !fault.Is(err, fault.Damaged) || err.Error() != "updating manifest: "+reason {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := everyWrite["remove"](ctx, b); err == nil || err.Error() != "file deleted but failed to update manifest: "+reason {
		t.Errorf("remove: %v", err)
	}
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 2 {
		t.Errorf("rows %v", rows)
	}
	if got := codes(t, b); !slices.Equal(got, []string{"invalid_manifest .archcore/.sync-state.json"}) {
		t.Errorf("findings %v", got)
	}
	if err := os.Remove(filepath.Join(root, ".archcore", ".sync-state.json")); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"{}": `existing settings unreadable: invalid settings: missing required field "sync"`,
		"{" + strings.Repeat(" ", 1<<20) + `"sync":"none"}`: "existing settings unreadable: file system error"} {
		put(t, root, "settings.json", text)
		if _, err := b.Init(ctx, documents.InitRequest{}); !fault.Is(err, fault.Refused) || err.Error() != want {
			t.Errorf("init: %v, want %s", err, want)
		}
		if _, err := b.EnsureInitialised(ctx); err == nil || !strings.HasPrefix(err.Error(), "installing host config: existing .archcore/ settings unreadable") {
			t.Errorf("wiring: %v", err)
		}
		for name, call := range map[string]func() error{
			"create": func() error { return everyWrite["create"](ctx, b) }, "relate": func() error { return everyWrite["relate"](ctx, b) },
			"update": func() error {
				return drop(b.Update(ctx, documents.UpdateRequest{Path: ".archcore/b.adr.md", Title: "T"}))
			},
			"remove":  func() error { return drop(b.Remove(ctx, ".archcore/b.adr.md")) },
			"restore": func() error { return drop(b.Restore(ctx, "b.adr.md", "#1")) },
		} {
			if err := call(); !fault.Is(err, fault.Invalid) || err.Error() != "cannot verify global sources: settings.json is unreadable" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := codes(t, b); !slices.Equal(got, []string{"invalid_settings .archcore/settings.json"}) {
			t.Errorf("findings %v", got)
		}
	}
}

// TestListArguments: each wrong one is told before anything is read.
func TestListArguments(t *testing.T) {
	b := open(t, project(t, linkedFiles()))
	for want, req := range map[string]documents.ListRequest{
		`invalid type "x" (valid: `:           {Types: []string{"adr", "x"}},
		`invalid category "x" (valid: `:       {Category: "x"},
		`invalid status "x" (valid: `:         {Status: "x"},
		`invalid tag "1" — must be`:           {Tags: []string{"a", "1"}},
		`invalid tag "A" — did you mean "a"?`: {Tags: []string{"A"}},
		"limit must be non-negative":          {Limit: -1},
		"offset must be non-negative":         {Offset: -1},
		`invalid source "x" (valid: `:         {Source: "x"},
	} {
		if _, err := b.List(t.Context(), req); !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", req, err, want)
		}
	}
	for want, req := range map[int]documents.ListRequest{3: {Limit: 3}, 2: {Limit: 2}, 1: {Offset: 2, Source: "local"}, 0: {Offset: 9, Category: "vision"}} {
		if rows := list(t, b, req); len(rows) != want {
			t.Errorf("%+v: %v", req, rows)
		}
	}
	for _, req := range []documents.ListRequest{{Types: []string{"adr"}}, {Status: "draft"}, {Source: " local "}, {Category: "knowledge"}} {
		if rows := list(t, b, req); len(rows) != 3 {
			t.Errorf("%+v: %v", req, rows)
		}
	}
	for _, req := range []documents.ListRequest{{Types: []string{"rule"}}, {Status: "accepted"}, {Source: "global"}, {Tags: []string{"a"}}} {
		if rows := list(t, b, req); len(rows) != 0 {
			t.Errorf("%+v: %v", req, rows)
		}
	}
}

// TestSearchArguments: bounds of time, orders, and what is wrong.
func TestSearchArguments(t *testing.T) {
	files := linkedFiles()
	files["z.memo.md"] = "---\ntitle: \"A\"\n---\n\none quite \u00c9CLE N\u00c9EDLE\n"
	root := project(t, files)
	now := time.Now()
	for i, name := range []string{"c.adr.md", "a.adr.md", "z.memo.md", "b.adr.md"} {
		if err := os.Chtimes(filepath.Join(root, ".archcore", name), now, now.Add(-time.Duration(i)*48*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, root)
	all := documents.SearchRequest{Content: "o", Match: "any"} // in one, two, and one again
	for _, c := range []struct {
		sort, after, source string
		want                []string
	}{
		{"mtime", "", "", []string{"a.adr.md", "z.memo.md", "b.adr.md"}},
		{"", "", "", []string{"a.adr.md", "b.adr.md", "z.memo.md"}},
		{"mtime", "3d", "", []string{"a.adr.md"}}, {"mtime", "72h", "", []string{"a.adr.md"}}, {"", "1000-01-01T00:00:00Z", "", []string{"a.adr.md", "b.adr.md", "z.memo.md"}},
		{"", "3000-01-01T00:00:00Z", "", nil}, {"", " 100d ", "local", []string{"a.adr.md", "b.adr.md", "z.memo.md"}}, {"", "", "global", nil},
	} {
		req := all
		req.Sort, req.MtimeAfter, req.Source = c.sort, c.after, c.source
		got := find(t, b, req)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], ".archcore/")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
	for want, req := range map[string]documents.SearchRequest{
		"specify at least one filter":                                     {PathRef: " "},
		"limit must be non-negative":                                      {Content: "x", Limit: -1},
		"content must contain at least one word":                          {Content: " "},
		`invalid type "x"`:                                                {Types: []string{"x"}},
		`invalid source "x"`:                                              {Content: "x", Source: "x"},
		"invalid mtime_after: expected RFC3339":                           {Content: "x", MtimeAfter: "d"},
		`invalid mtime_after: unknown duration unit`:                      {Content: "x", MtimeAfter: "1w"},
		"invalid mtime_after: day count too large: 36501 (max 36500)":     {Content: "x", MtimeAfter: "36501d"},
		"invalid mtime_after: hour count too large: 876001 (max 876000)":  {Content: "x", MtimeAfter: "876001h"},
		`invalid mtime_after: expected RFC3339 timestamp or relative dur`: {Content: "x", MtimeAfter: "-1d"},
	} {
		if _, err := b.Search(t.Context(), req); !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", req, err, want)
		}
	}
	for text, want := range map[string]string{"need": "", "n\u00e9edle": "one quite \u00c9CLE N\u00c9EDLE", "\u00c9cle": "one quite \u00c9CLE N\u00c9EDLE"} {
		answer, err := b.Search(t.Context(), documents.SearchRequest{Content: text})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if rows, _ := answer.Value("results").([]any); len(rows) > 0 {
			got, _ = rows[0].(*canon.Object).Value("matches").([]any)[0].(*canon.Object).Value("excerpt").(string)
		}
		if !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: excerpt %q, want %q", text, got, want)
		}
	}
}

// TestExcerpts: cut at the bounds of characters, dots where something is left
// out, white space collapsed, for text whose lowering keeps its length or not.
func TestExcerpts(t *testing.T) {
	pad := strings.Repeat("\u00c9", 60)
	for _, c := range []struct{ raw, word, want string }{
		{"Hit", "hit", "Hit"}, {"a\r\n\tHIT  b", "hit", "a HIT b"}, {"xy", "hit", ""},
		{pad + " Hit " + pad, "hit", "..." + strings.Repeat("\u00c9", 29) + " Hit " + strings.Repeat("\u00c9", 29) + "..."},
		{"\u0130 Hit", "hit", "\u0130 Hit"}, {"\xff\xff Hit", "hit", "\uFFFD Hit"},
		{strings.Repeat("\u212A", 50) + "Hit" + strings.Repeat("\u212A", 50), "hit", "..." + strings.Repeat("\u212A", 20) + "Hit" + strings.Repeat("\u212A", 20) + "..."},
		{strings.Repeat("a", 59) + "Hit", "hit", "..." + strings.Repeat("a", 58) + "Hit"}, {strings.Repeat("A", 58) + "Hit", "hit", strings.Repeat("A", 58) + "Hit"},
		{"Hit" + strings.Repeat("a", 59), "hit", "Hit" + strings.Repeat("a", 58) + "..."}, {"Hit" + strings.Repeat("a", 58), "hit", "Hit" + strings.Repeat("a", 58)},
		{"xx" + strings.Repeat("h", 130) + "yy", strings.Repeat("h", 130), "..." + strings.Repeat("h", 130) + "..."},
	} {
		if got, _ := documents.Excerpt(c.raw, c.word); got != c.want {
			t.Errorf("%q in %q:\n%q, want\n%q", c.word, c.raw, got, c.want)
		}
	}
}

// TestGraphForms: pictures of relations that go in a circle, of long titles, and
// of names that have to be written with care.
func TestGraphForms(t *testing.T) {
	g := &documents.Graph{
		Nodes: []documents.Node{{Path: "a.adr.md", Title: "tab\there \"q\" \\", Type: "adr", Status: "draft"}, {Path: "b.adr.md", Title: strings.Repeat("\u00e9", 31)}, {Path: "c.adr.md", Title: strings.Repeat("\u00e9", 30)}, {Path: "d.adr.md", Missing: true}},
		Edges: []documents.Edge{{"a.adr.md", "b.adr.md", "related"}, {"b.adr.md", "c.adr.md", "extends"}, {"c.adr.md", "a.adr.md", "supports"}, {"a.adr.md", "d.adr.md", "implements"}},
	}
	dot := g.DOT()
	for _, want := range []string{`"a.adr.md" [label="tab here \"q\" \\"];`, `"d.adr.md" [label="d.adr.md", style=dashed];`, `"c.adr.md" -> "a.adr.md" [label="supports", color="#15803d"];`} {
		if !strings.Contains(dot, want) {
			t.Errorf("DOT holds no %s\n%s", want, dot)
		}
	}
	page, err := g.Page()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		strings.Repeat("\u00e9", 29) + "…", strings.Repeat("\u00e9", 30), "adr  draft", "not there",
		"M244,46 C294,46 294,46 344,46", // a to b, one column on
		"M884,46 C954,46 314,46 244,46", // c back to a, around the right side
		"M244,46 C294,46 294,110 344,110",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page holds no %s", want)
		}
	}
	if g.Summary() != "4 documents, 4 relations" {
		t.Error(g.Summary())
	}
}
