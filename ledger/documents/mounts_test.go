package documents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/documents"
)

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
