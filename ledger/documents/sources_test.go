package documents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/documents"
)

func write(t *testing.T, full, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMissingSourceIsTold: a source that is not there keeps nobody from the
// rest, and is named so that its silence is not taken for absence.
func TestMissingSourceIsTold(t *testing.T) {
	root := project(t, map[string]string{"a.adr.md": "alpha\n", "settings.json": `{"sync":"none","globals":[{"id":"far","path":"far"},{"id":"near","path":"near"}]}`})
	write(t, filepath.Join(root, "near", "n.adr.md"), "alpha\n")
	b := open(t, root)
	list, err := b.List(t.Context(), documents.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(list); !slices.Equal(got, []string{".archcore/a.adr.md", "near/n.adr.md"}) {
		t.Errorf("rows %v", got)
	}
	found, err := b.Search(t.Context(), documents.SearchRequest{Content: "alpha", Source: "far"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*canon.Object{list, found} {
		if m, _ := o.Value("unavailable_sources").([]string); !slices.Equal(m, []string{"far"}) {
			t.Errorf("unavailable_sources %v", o.Value("unavailable_sources"))
		}
	}
	findings, err := documents.Diagnose(t.Context(), b)
	if err != nil || !slices.ContainsFunc(findings, func(f documents.Finding) bool { return f.Code == "missing_source" }) {
		t.Errorf("%v, %v", findings, err)
	}
	write(t, filepath.Join(root, "far", "f.adr.md"), "alpha\n")
	if list, err = b.List(t.Context(), documents.ListRequest{Source: "global"}); err != nil || len(paths(list)) != 2 || list.Has("unavailable_sources") {
		t.Errorf("after it came: %v, %v", list, err)
	}
}

// TestAbsoluteSourceShowsNoAbsolutePath: rows and errors of a source declared
// by an absolute path are relative to the project.
func TestAbsoluteSourceShowsNoAbsolutePath(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "company")
	write(t, filepath.Join(outside, "x.rule.md"), "beta\n")
	root := project(t, map[string]string{"settings.json": `{"sync":"none","globals":[{"id":"co","path":` + quote(outside) + `}]}`})
	b := open(t, root)
	list, err := b.List(t.Context(), documents.ListRequest{})
	if err != nil || len(paths(list)) != 1 || !strings.HasPrefix(paths(list)[0], "../") {
		t.Fatalf("%v, %v", paths(list), err)
	}
	if doc, err := b.Get(t.Context(), paths(list)[0]); err != nil || doc.Value("source_id") != "co" || doc.Value("content") != "beta\n" {
		t.Errorf("%v, %v", doc, err)
	}
	if err := os.RemoveAll(outside); err != nil {
		t.Fatal(err)
	}
	write(t, outside, "a file")
	if _, err := b.List(t.Context(), documents.ListRequest{}); err == nil || strings.Contains(err.Error(), outside) {
		t.Errorf("%v", err)
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"` }

// TestWorktreeResolvesFromTheMainCheckout: a source beside the main checkout is
// found from a linked worktree too.
func TestWorktreeResolvesFromTheMainCheckout(t *testing.T) {
	parent := t.TempDir()
	write(t, filepath.Join(parent, "common", "s.adr.md"), "gamma\n")
	if err := os.MkdirAll(filepath.Join(parent, "main", ".git", "worktrees", "wt"), 0o755); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(parent, "elsewhere", "deep", "wt")
	write(t, filepath.Join(root, ".git"), "gitdir: "+filepath.Join(parent, "main", ".git", "worktrees", "wt")+"\n")
	put(t, root, "settings.json", `{"sync":"none","globals":[{"id":"sh","path":"../common"}]}`)
	list, err := open(t, root).List(t.Context(), documents.ListRequest{})
	if err != nil || !slices.Equal(paths(list), []string{"../common/s.adr.md"}) {
		t.Errorf("%v, %v", paths(list), err)
	}
}

// TestSameLengthEditInTheSameTick: an edit that changes neither length nor
// time is seen while the file is fresh.
func TestSameLengthEditInTheSameTick(t *testing.T) {
	root := project(t, map[string]string{"a.adr.md": "one\n", "settings.json": `{"sync":"none"}`})
	file := filepath.Join(root, ".archcore", "a.adr.md")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, root)
	if _, err := b.Search(t.Context(), documents.SearchRequest{Content: "one"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("two\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.Chtimes(file, time.Now(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	found, err := b.Search(t.Context(), documents.SearchRequest{Content: "two"})
	if err != nil || len(paths(found)) != 1 {
		t.Errorf("%v, %v", paths(found), err)
	}
	versions, err := b.Versions(t.Context(), "a.adr.md")
	if err != nil || len(versions) != 2 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
}

// TestTwoProjectsInOneLedger: projects that share a ledger do not undo each
// other, though their files have the same names.
func TestTwoProjectsInOneLedger(t *testing.T) {
	l := memory(t)
	var bases []*documents.Base
	for range 2 {
		root := project(t, map[string]string{"settings.json": `{"sync":"none"}`})
		bases = append(bases, openWith(t, root, l))
	}
	for i, b := range bases {
		if _, err := b.Create(t.Context(), documents.CreateRequest{Type: "adr", Filename: "same", Content: strings.Repeat("x", i+1) + "\n"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for _, b := range bases {
			if _, err := b.List(t.Context(), documents.ListRequest{}); err != nil {
				t.Fatal(err)
			}
			versions, err := b.Versions(t.Context(), "same.adr.md")
			if err != nil || len(versions) != 1 {
				t.Errorf("%d versions, %v", len(versions), err)
			}
		}
	}
}

// TestReadersGoOnWithoutALedger: a ledger that cannot be had keeps nobody from
// reading; a write is refused before anything is changed.
func TestReadersGoOnWithoutALedger(t *testing.T) {
	root := project(t, map[string]string{"a.adr.md": "one\n", "settings.json": `{"sync":"none"}`})
	put(t, root, ".ledger/ledger.duckdb", "this is no database, and long enough to be looked at as one")
	b, err := documents.Open(documents.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if list, err := b.List(t.Context(), documents.ListRequest{}); err != nil || len(paths(list)) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}
	if found, err := b.Search(t.Context(), documents.SearchRequest{Content: "one"}); err != nil || len(paths(found)) != 1 {
		t.Errorf("search: %v, %v", found, err)
	}
	if _, err := b.Update(t.Context(), documents.UpdateRequest{Path: ".archcore/a.adr.md", Title: "T"}); err == nil {
		t.Error("a write was acknowledged without a ledger")
	}
	if got := slurp(t, root, "a.adr.md"); got != "one\n" {
		t.Errorf("the file is %q", got)
	}
	findings, err := documents.Diagnose(t.Context(), b)
	if err != nil || !slices.ContainsFunc(findings, func(f documents.Finding) bool { return f.Code == "ledger_behind" }) {
		t.Errorf("%v, %v", findings, err)
	}
}

// TestDiagnose finds each kind of trouble once.
func TestDiagnose(t *testing.T) {
	manifest := `{"version":1,"files":{},"relations":[{"source":"new.adr.md","target":"old.adr.md","type":"supersedes"},{"source":"new.adr.md","target":"ghost.adr.md","type":"related"}]}`
	root := project(t, map[string]string{
		"settings.json": `{"sync":"none"}`, ".sync-state.json": manifest,
		"new.adr.md": "---\ntitle: \"N\"\nstatus: accepted\n---\n\nx\n", "old.adr.md": "---\ntitle: \"O\"\nstatus: accepted\n---\n\nx\n",
		"broken.adr.md": "---\ntitle: a: b\n---\n", "odd.adr.md": "---\ntitle: \"Odd\"\nstatus: done\n---\n", "notes.memo.md": "x\n",
	})
	if err := os.Truncate(filepath.Join(root, ".archcore", "notes.memo.md"), documents.MaxDocument+1); err != nil {
		t.Fatal(err)
	}
	findings, err := documents.Diagnose(t.Context(), open(t, root))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, f.Code+" "+f.Path)
		if f.Message == "" || f.Hint == "" {
			t.Errorf("%s says nothing", f.Code)
		}
	}
	want := []string{"broken_frontmatter .archcore/broken.adr.md", "too_large .archcore/notes.memo.md", "unknown_type .archcore/notes.memo.md",
		"unknown_status .archcore/odd.adr.md", "superseded_accepted .archcore/old.adr.md", "dangling_relation .archcore/ghost.adr.md"}
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// TestImpliedRoot: a working directory inside a plugin cache is refused, a
// named one and a look-alike are not.
func TestImpliedRoot(t *testing.T) {
	for _, c := range []struct {
		flag, env, wd string
		refused       bool
	}{
		{"", "", "/home/a/.copilot/installed-plugins/_direct/kb", true}, {"", "", "/home/a/my.copilot/installed-plugins/kb", false},
		{"/p", "", "/home/a/.claude/plugins/kb", false}, {"", "/p", "/home/a/.claude/plugins/kb", false}, {"", "", "/home/a/.claude/plugins", false},
		{"", "", "/home/a/work", false}, {"", "", "/x/.gemini/extensions/kb/sub", true},
	} {
		root, refusal := documents.FindRoot(c.flag, c.env, c.wd)
		if (refusal != nil) != c.refused || root == "" {
			t.Errorf("%+v: %q, %v", c, root, refusal)
		}
		if f := fault.As(refusal); c.refused && (f == nil || !strings.Contains(f.Hint, "--project") || !strings.Contains(f.Hint, "ARCHE_PROJECT")) {
			t.Errorf("%+v: the refusal names no way out", c)
		}
	}
}

// TestLostStateFolder: when the project's own ledger is taken away under a
// running program, the next call begins a new history and goes on.
func TestLostStateFolder(t *testing.T) {
	root := project(t, map[string]string{"a.adr.md": "one\n", "settings.json": `{"sync":"none"}`})
	b, err := documents.Open(documents.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for range 2 {
		if _, err := b.Update(t.Context(), documents.UpdateRequest{Path: ".archcore/a.adr.md", Status: "draft", Title: "T"}); err != nil {
			t.Fatal(err)
		}
		if versions, err := b.Versions(t.Context(), "a.adr.md"); err != nil || len(versions) == 0 {
			t.Fatalf("%d versions, %v", len(versions), err)
		}
		if err := os.RemoveAll(filepath.Join(root, ".archcore", ".ledger")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.List(t.Context(), documents.ListRequest{}); err != nil {
		t.Fatal(err)
	}
	versions, err := b.Versions(t.Context(), "a.adr.md")
	if err != nil || len(versions) != 1 || versions[0].Actor != "filesystem" {
		t.Errorf("%+v, %v", versions, err)
	}
}
