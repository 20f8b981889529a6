package documents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

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

// TestGuardTexts: what is wrong with a path is told in the same words by every
// call that checks it the same way.
func TestGuardTexts(t *testing.T) {
	const relative, starts, unresolved = "invalid path: must be relative and within .archcore/", `invalid path: must start with ".archcore/"`, "invalid path: cannot resolve path"
	b := open(t, project(t, linkedFiles()))
	for _, c := range []struct{ path, get, update, log string }{
		{"/x.md", relative, relative, "no history of .archcore/x.md"}, {"C:/x.md", relative, relative, "no history of .archcore/C:/x.md"},
		{".archcore/a\x00.md", unresolved, unresolved, relative}, {"a.adr.md", starts, starts, ""}, {"./a.adr.md", starts, starts, ""},
		{".archcore/../x.md", starts, relative, relative}, {".archcore/", starts, relative, relative}, {".archcore/.", starts, relative, relative},
		{".archcore/.ledger/x.md", "document not found: .archcore/.ledger/x.md", unresolved, relative}, {".archcore/.LEDGER/x.md", "document not found: .archcore/.LEDGER/x.md", unresolved, relative},
		{".archcore/a.txt", "document not found: .archcore/a.txt", "invalid path: not a document — only .md document files can be updated", "no history of .archcore/a.txt"},
		{".archcore/settings.json", "", "invalid path: not a document — only .md document files can be updated", "no history of .archcore/settings.json"},
		{".archcore/none.adr.md", "document not found: .archcore/none.adr.md", "document not found: .archcore/none.adr.md", "no history of .archcore/none.adr.md"},
		{".archcore/x/../a.adr.md", "", "", ""}, {"other.md", starts, starts, "no history of .archcore/other.md"}, {"other.txt", "invalid path: only .md global documents are readable", starts, "no history of .archcore/other.txt"},
	} {
		for name, call := range map[string]struct {
			err  error
			want string
		}{
			"get":    {drop(b.Get(t.Context(), c.path)), c.get},
			"update": {drop(b.Update(t.Context(), documents.UpdateRequest{Path: c.path, Status: "draft"})), c.update},
			"log":    {drop(b.Versions(t.Context(), c.path)), c.log},
		} {
			if got := fmt.Sprint(call.err); got != call.want && (call.want != "" || call.err != nil) {
				t.Errorf("%s %q: %v, want %q", name, c.path, call.err, call.want)
			}
		}
	}
}
