package documents_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestInit: the settings that were asked for are written, answered and told the
// ledger once; a second time answers what is there.
func TestInit(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		req  documents.InitRequest
		want string
	}{
		{documents.InitRequest{}, "{\n  \"sync\": \"none\"\n}\n"},
		{documents.InitRequest{Language: " en ", SyncMode: " none "}, "{\n  \"sync\": \"none\"\n}\n"},
		{documents.InitRequest{Language: "de", SyncMode: "cloud"}, "{\n  \"sync\": \"cloud\",\n  \"language\": \"de\"\n}\n"},
		{documents.InitRequest{SyncMode: "on-prem", ArchcoreURL: "https://x.test"}, "{\n  \"sync\": \"on-prem\",\n  \"archcore_url\": \"https://x.test\"\n}\n"},
	} {
		w := &world{t: t, root: t.TempDir(), log: memory(t)}
		w.reopen()
		for _, already := range []bool{false, true} {
			answer, err := w.base.Init(ctx, c.req)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := canon.Indent(answer.Value("settings"))
			if err != nil || answer.Value("initialized") != true || answer.Value("already_initialized") != already || string(shown)+"\n" != c.want || slurp(t, w.root, "settings.json") != c.want {
				t.Errorf("%+v: %v %s, %v", c.req, answer, shown, err)
			}
		}
		if created, err := w.base.EnsureInitialised(ctx); created || err != nil {
			t.Errorf("%+v: made again: %v", c.req, err)
		}
		w.check(ctx)
		if n := w.events(ctx); n != 1 {
			t.Errorf("%+v: %d events", c.req, n)
		}
	}
	w := &world{t: t, root: t.TempDir(), log: memory(t)}
	w.reopen()
	for _, want := range []bool{true, false} {
		if created, err := w.base.EnsureInitialised(ctx); created != want || err != nil {
			t.Errorf("made: %v, %v", created, err)
		}
	}
	if got := slurp(t, w.root, "settings.json"); got != "{\n  \"sync\": \"none\"\n}\n" {
		t.Errorf("settings %q", got)
	}
}

// TestSettingsThatCannotBeSaved: a disk that fails is told, and no half of the
// file stays.
func TestSettingsThatCannotBeSaved(t *testing.T) {
	root := project(t, unsetFiles())
	b := open(t, root)
	list(t, b, documents.ListRequest{})
	wrote := 0
	documents.SetFault(b, func(op string) error {
		if op == "file.write" {
			if wrote++; wrote == 2 { // after the intent
				return syscall.ENOSPC
			}
		}
		return nil
	})
	if err := initialise(t.Context(), b); !fault.Is(err, fault.Refused) || err.Error() != "saving settings: file system error" {
		t.Errorf("%v", err)
	}
	documents.SetFault(b, nil)
	if _, err := os.Stat(filepath.Join(root, ".archcore", "settings.json")); err == nil {
		t.Error("it is there")
	}
	if err := initialise(t.Context(), b); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestSettingsOfAnother: settings that another program makes at the same moment
// stay.
func TestSettingsOfAnother(t *testing.T) {
	b := open(t, project(t, unsetFiles()))
	during(b, "temporary file of settings.json", func() error {
		put(t, b.Root(), "settings.json", `{"sync":"none"}`)
		return nil
	})
	if err := initialise(t.Context(), b); !fault.Is(err, fault.Refused) || err.Error() != "saving settings: file already exists" {
		t.Errorf("%v", err)
	}
	if got := slurp(t, b.Root(), "settings.json"); got != `{"sync":"none"}` {
		t.Errorf("settings %q", got)
	}
	if answer, err := b.Init(t.Context(), documents.InitRequest{}); err != nil || answer.Value("already_initialized") != true {
		t.Errorf("%v, %v", answer, err)
	}
}

// TestProjectInAFile: what stands where the folder should be is told.
func TestProjectInAFile(t *testing.T) {
	root := project(t, nil)
	write(t, filepath.Join(root, ".archcore"), "a file")
	for name, call := range map[string]func(*documents.Base) error{"create": func(b *documents.Base) error { return everyWrite["create"](t.Context(), b) },
		"list": func(b *documents.Base) error { return readings["list"](t.Context(), b) }, "versions": func(b *documents.Base) error { return readings["versions"](t.Context(), b) },
		"hosts": func(b *documents.Base) error { return readings["hosts"](t.Context(), b) }} {
		if err := call(open(t, root)); fault.As(err) == nil || strings.Contains(err.Error(), root) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(root, ".archcore")); err != nil || string(data) != "a file" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestStateFolderThatCannotBeMade fails each change that the first contact with
// a project makes: readers go on, and the next call makes what is missing.
func TestStateFolderThatCannotBeMade(t *testing.T) {
	logs := &logs{t: t}
	for n := 1; ; n++ {
		w := &world{t: t, root: project(t, linkedFiles()), log: logs.next()}
		w.reopen()
		met := 0
		documents.SetFault(w.base, func(op string) error {
			if strings.HasPrefix(op, "file.") {
				if met++; met >= n {
					return syscall.ENOSPC
				}
			}
			return nil
		})
		if rows := list(t, w.base, documents.ListRequest{}); len(rows) != 3 {
			t.Errorf("change %d: rows %v", n, rows)
		}
		if met < n {
			if n < 8 {
				t.Errorf("only %d changes", met)
			}
			break
		}
		if err := everyWrite["update"](t.Context(), w.base); fault.As(err) == nil {
			t.Errorf("change %d: %v", n, err)
		}
		documents.SetFault(w.base, nil)
		if err := everyWrite["update"](t.Context(), w.base); err != nil {
			t.Errorf("change %d: afterwards: %v", n, err)
		}
		w.check(t.Context())
		if got := slurp(t, w.root, ".ledger/.gitignore"); !strings.HasSuffix(got, "\n*\n") {
			t.Errorf("change %d: .gitignore is %q", n, got)
		}
	}
}

// TestNewDocuments: where a document goes, what it holds, and who its neighbours
// are.
func TestNewDocuments(t *testing.T) {
	ctx := t.Context()
	files := linkedFiles()
	files["x/note.txt"], files["x/odd.memo.md"], files["x/b.adr.md"], files["x/y/deep.adr.md"] = "", "", "", ""
	root := project(t, files)
	b := open(t, root)
	accepted := "accepted"
	for _, c := range []struct {
		req          documents.CreateRequest
		want, text   string
		status, near string
	}{
		{documents.CreateRequest{Type: "adr", Filename: " new ", Directory: " ./ ", Title: "T \"q\"", Content: "x\n"}, "new.adr.md", "---\ntitle: \"T \\\"q\\\"\"\nstatus: draft\n---\n\nx\n", "draft", "a b c"},
		{documents.CreateRequest{Type: "rule", Filename: "n", Directory: "x/./", Status: &accepted, Content: "---\ntitle: theirs\n---\n\nx\r\n"}, "x/n.rule.md", "---\ntitle: \"N\"\nstatus: accepted\n---\n\nx\n", "accepted", "x/b"},
		{documents.CreateRequest{Type: "plan", Filename: "p", Directory: "q/r"}, "q/r/p.plan.md", "---\ntitle: \"P\"\nstatus: draft\n---\n\n" + documents.TemplateOf("plan"), "draft", ""},
	} {
		answer, err := b.Create(ctx, c.req)
		if err != nil || answer.Value("path") != ".archcore/"+c.want || slurp(t, root, c.want) != c.text || answer.Value("status") != c.status || answer.Has("warnings") || answer.Has("tags") {
			t.Errorf("%+v: %v, %v", c.req, answer, err)
		}
		near, _ := answer.Value("nearby_documents").([]string)
		got := strings.ReplaceAll(strings.ReplaceAll(strings.Join(near, " "), ".archcore/", ""), ".adr.md", "")
		if got != c.near {
			t.Errorf("%+v: nearby %q, want %q", c.req, got, c.near)
		}
	}
	if answer, err := b.Get(ctx, ".archcore/q/r/p.plan.md"); err != nil || answer.Value("category") != "vision" {
		t.Errorf("%v, %v", answer, err)
	}
	// Neighbours that cannot be looked at are left out; the document is made.
	for i, op := range []string{"look.open ", "look.open x", "look.list "} {
		during(b, "committed", func() error {
			documents.SetFault(b, func(o string) error {
				if o == op {
					return syscall.EIO
				}
				return nil
			})
			return nil
		})
		answer, err := b.Create(ctx, documents.CreateRequest{Type: "adr", Filename: "late" + string(rune('a'+i)), Directory: "x"})
		documents.SetFault(b, nil)
		if err != nil || answer.Has("nearby_documents") {
			t.Errorf("%s: %v, %v", op, answer, err)
		}
	}
}

// TestVocabulary: the lists that programs show are the schema's, and a caller's
// changes to one stay its own.
func TestVocabulary(t *testing.T) {
	for name, f := range map[string]func() []string{"types": documents.Types, "categories": documents.Categories, "statuses": documents.Statuses, "relations": documents.RelationTypes} {
		want := map[string]int{"types": 23, "categories": 3, "statuses": 3, "relations": 7}[name]
		got := f()
		if len(got) != want {
			t.Errorf("%d %s: %v", len(got), name, got)
		}
		got[0] = "changed"
		if slices.Contains(f(), "changed") {
			t.Errorf("%s can be changed from outside", name)
		}
	}
}

// TestDanglingRelationHints: a relation of a document that was moved says where
// it is now.
func TestDanglingRelationHints(t *testing.T) {
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	w.check(t.Context())
	base := filepath.Join(w.root, ".archcore")
	if err := errors.Join(os.Rename(filepath.Join(base, "b.adr.md"), filepath.Join(base, "moved.adr.md")), os.Remove(filepath.Join(base, "c.adr.md"))); err != nil {
		t.Fatal(err)
	}
	list(t, w.base, documents.ListRequest{})
	findings, err := documents.Diagnose(t.Context(), w.base)
	if err != nil {
		t.Fatal(err)
	}
	told := []documents.Finding{
		{Code: "dangling_relation", Path: ".archcore/b.adr.md", Message: "a.adr.md related b.adr.md: the document is not there", Hint: "the document is now .archcore/moved.adr.md: add the relation there and remove this one"},
		{Code: "dangling_relation", Path: ".archcore/c.adr.md", Message: "c.adr.md extends a.adr.md: the document is not there", Hint: "remove it with remove_relation, or bring the document back with arche doc restore"},
		{Code: "moved", Path: ".archcore/moved.adr.md", Message: "it was moved from .archcore/b.adr.md", Hint: "nothing to do unless relations name the old path"},
	}
	if diff := cmp.Diff(told, findings); diff != "" {
		t.Error(diff)
	}
	if err := os.Rename(filepath.Join(base, "moved.adr.md"), filepath.Join(base, "b.adr.md")); err != nil {
		t.Fatal(err)
	}
	want := []string{"dangling_relation .archcore/c.adr.md", "moved .archcore/b.adr.md"}
	if got := codes(t, w.base); !slices.Equal(got, want) {
		t.Errorf("moved back: findings %v", got)
	}
}
