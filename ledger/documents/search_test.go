package documents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/documents"
)

// nested is a project with documents in several folders and two sources, all of
// one age.
func nested(t *testing.T) string {
	t.Helper()
	doc := func(title, body string) string {
		return "---\ntitle: \"" + title + "\"\nstatus: accepted\ntags:\n  - \"" + strings.ToLower(title[:1]) + "\"\n---\n\n" + body
	}
	root := project(t, map[string]string{
		"settings.json": `{"sync":"none","globals":[{"id":"one","path":"one"},{"id":"two","path":"two"}]}`,
		"top.adr.md":    doc("Top", "# Grid\n\nthe blue grid\nof @src/app/main.go and @lib/x.go\n"),
		"x/a.adr.md":    doc("Alpha", "blue grid, see src/app/\n"), "x/b.rule.md": doc("Beta grid", "grey\n"),
		"x/y/c.guide.md": doc("Gamma", "blue\ngrid\n"), "z/d.memo.md": doc("Delta", "a "+strings.Repeat("grid", 30)+"\n"),
		".sync-state.json": `{"version":1,"files":{},"relations":[{"source":"x/a.adr.md","target":"top.adr.md","type":"extends"},` +
			`{"source":"top.adr.md","target":"x/b.rule.md","type":"related"},{"source":"gone.adr.md","target":"x/a.adr.md","type":"related"}]}`,
	})
	write(t, filepath.Join(root, "one", "deep", "o.adr.md"), doc("One", "a grid\n"))
	write(t, filepath.Join(root, "two", "t.adr.md"), doc("Two", "a grid\n"))
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(root, func(full string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(full, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// brief is a search answer in a few words: path, and for each match its kind,
// what it is of and its specificity.
func brief(t *testing.T, b *documents.Base, req documents.SearchRequest) []string {
	t.Helper()
	answer, err := b.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := answer.Value("results").([]any)
	var out []string
	for _, r := range rows {
		o := r.(*canon.Object)
		line := strings.TrimPrefix(o.Value("path").(string), ".archcore/")
		for _, m := range o.Value("matches").([]any) {
			m := m.(*canon.Object)
			line += fmt.Sprintf(" %s:%v:%v", strings.TrimPrefix(m.Value("kind").(string), "path_ref_"), m.Value("ref"), m.Value("specificity"))
		}
		out = append(out, line)
	}
	return out
}

// TestSearchThroughFolders: words, phrases and paths in documents of several
// folders and sources, best first, with why each was found.
func TestSearchThroughFolders(t *testing.T) {
	b := open(t, nested(t))
	for _, c := range []struct {
		req  documents.SearchRequest
		want []string
	}{
		{documents.SearchRequest{Content: "grid"}, []string{"x/b.rule.md content:grid:3", "top.adr.md content:grid:2", "z/d.memo.md content:grid:1", "x/a.adr.md content:grid:1",
			"one/deep/o.adr.md content:grid:1", "two/t.adr.md content:grid:1", "x/y/c.guide.md content:grid:1"}},
		{documents.SearchRequest{Content: "grid", Types: []string{"guide", "rule"}}, []string{"x/b.rule.md content:grid:3", "x/y/c.guide.md content:grid:1"}},
		{documents.SearchRequest{Content: "BLUE grid"}, []string{"top.adr.md content:blue:1 content:grid:2", "x/a.adr.md content:blue:1 content:grid:1", "x/y/c.guide.md content:blue:1 content:grid:1"}},
		{documents.SearchRequest{Content: "grey blue", Match: "any", Source: "local"}, []string{"x/b.rule.md content:grey:1", "top.adr.md content:blue:1", "x/a.adr.md content:blue:1", "x/y/c.guide.md content:blue:1"}},
		{documents.SearchRequest{Content: "blue grid", Match: "exact"}, []string{"top.adr.md content:blue grid:1", "x/a.adr.md content:blue grid:1"}},
		{documents.SearchRequest{Content: "blue\ngrid", Match: "exact"}, []string{"x/y/c.guide.md content:blue\ngrid:1"}},
		{documents.SearchRequest{Content: "grid blue", Match: "exact"}, nil},
		{documents.SearchRequest{Content: "a grid", Match: "exact", Source: "global"}, []string{"one/deep/o.adr.md content:a grid:1", "two/t.adr.md content:a grid:1"}},
		{documents.SearchRequest{Content: "grid", Source: "two"}, []string{"two/t.adr.md content:grid:1"}},
		{documents.SearchRequest{PathRef: "@src/app/main.go"}, []string{"top.adr.md explicit:@src/app/main.go:3", "x/a.adr.md mention:src/app/:2"}},
		{documents.SearchRequest{PathRef: "src/app", Content: "grid", Types: []string{"adr"}}, []string{"top.adr.md explicit:@src/app/main.go:2 content:grid:2", "x/a.adr.md mention:src/app/:2 content:grid:1"}},
		{documents.SearchRequest{Status: "accepted", Types: []string{"memo", "guide"}[1:]}, []string{"x/y/c.guide.md"}},
		{documents.SearchRequest{Status: "draft"}, nil},
		{documents.SearchRequest{Content: "none"}, nil},
		// Every source that has a match keeps a row, as long as there is room.
		{documents.SearchRequest{Content: "grid", Limit: 4}, []string{"x/b.rule.md content:grid:3", "top.adr.md content:grid:2", "one/deep/o.adr.md content:grid:1", "two/t.adr.md content:grid:1"}},
		{documents.SearchRequest{Content: "grid", Limit: 3}, []string{"x/b.rule.md content:grid:3", "one/deep/o.adr.md content:grid:1", "two/t.adr.md content:grid:1"}},
		{documents.SearchRequest{Content: "grid", Limit: 2}, []string{"x/b.rule.md content:grid:3", "one/deep/o.adr.md content:grid:1"}},
		{documents.SearchRequest{Content: "grid", Limit: 1}, []string{"x/b.rule.md content:grid:3"}},
	} {
		if diff := cmp.Diff(c.want, brief(t, b, c.req)); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", c.req, diff)
		}
	}
}

// TestSearchAnswer: a row with its relations and body, what was looked through,
// and that there is more.
func TestSearchAnswer(t *testing.T) {
	b := open(t, nested(t))
	answer, err := b.Search(t.Context(), documents.SearchRequest{Content: "blue", Mode: "full", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	answer.Value("results").([]any)[0].(*canon.Object).Set("mtime", "M")
	text, err := canon.Compact(answer)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"results":[{"path":".archcore/top.adr.md","title":"Top","type":"adr","status":"accepted","mtime":"M","tags":["t"],"source_id":"local","source_kind":"local",` +
		`"matches":[{"kind":"content","ref":"blue","specificity":1,"excerpt":"...le: \"Top\" status: accepted tags: - \"t\" --- # Grid the blue grid of @src/app/main.go and @lib/x.go"}],` +
		`"body":"# Grid\n\nthe blue grid\nof @src/app/main.go and @lib/x.go\n",` +
		`"incoming_relations":[{"path":".archcore/x/a.adr.md","type":"extends"}],"outgoing_relations":[{"path":".archcore/x/b.rule.md","type":"related"}]}],` +
		`"coverage":{"local":5,"one":1,"two":1},"truncated":true,"hits":3}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	for n, limit := range map[int]int{3: 0, 2: 2} {
		if rows := find(t, b, documents.SearchRequest{Content: "blue", Mode: "full", Limit: limit}); len(rows) != n {
			t.Errorf("limit %d: %v", limit, rows)
		}
	}
}

// TestSearchOnABadDisk fails the reading of folders and files in turn: what can
// be read is found, and all of it is when the disk is well again.
func TestSearchOnABadDisk(t *testing.T) {
	root := nested(t)
	req := documents.SearchRequest{Content: "grid", Source: "local"}
	var b *documents.Base
	for op, want := range map[string]int{"look.open y": 4, "look.open z": 4, "look.open x": 2, "look.open ": 0} {
		b = settledBase(t, root)
		list(t, b, documents.ListRequest{})
		armed := false
		documents.SetFault(b, func(o string) error {
			armed = armed || o == "look.entry "+documents.StateDir // the walk is done
			if armed && o == op {
				return syscall.EIO
			}
			return nil
		})
		if rows := find(t, b, req); len(rows) != want {
			t.Errorf("%s: %v", op, rows)
		}
		documents.SetFault(b, nil)
		if rows := find(t, b, req); len(rows) != 5 {
			t.Errorf("%s: afterwards %v", op, rows)
		}
	}
	// A source that cannot be walked is an error and no short answer.
	stop := failOps(b, syscall.EIO, "look.entry t.adr.md")
	if _, err := b.Search(t.Context(), req); fault.As(err) == nil || err.Error() != "scanning documents: file system error" {
		t.Errorf("a source: %v", err)
	}
	stop()
}

// TestDocumentThatShrinks: a document that changed since it was searched shows
// what there is.
func TestDocumentThatShrinks(t *testing.T) {
	b := settledBase(t, project(t, linkedFiles()))
	put(t, b.Root(), "a.adr.md", "x @src/app/main.go and one far behind\n")
	list(t, b, documents.ListRequest{})
	reads := 0
	documents.SetFault(b, func(op string) error {
		if op == "look.bytes a.adr.md" {
			if reads++; reads == 2 { // made ready, and now shown
				return os.WriteFile(filepath.Join(b.Root(), ".archcore", "a.adr.md"), []byte("x"), 0o600)
			}
		}
		return nil
	})
	answer, err := b.Search(t.Context(), documents.SearchRequest{PathRef: "src/app/main.go", Mode: "full"})
	documents.SetFault(b, nil)
	if err != nil || reads < 2 {
		t.Fatalf("%v, %v, read %d times", answer, err, reads)
	}
	row := answer.Value("results").([]any)[0].(*canon.Object)
	match := row.Value("matches").([]any)[0].(*canon.Object)
	if match.Value("excerpt") != "" || match.Value("ref") != "@src/app/main.go" || row.Value("body") != "x" {
		t.Errorf("%v %v", row, match)
	}
}

// TestListRows: filters by tag, and the sources of the rows.
func TestListRows(t *testing.T) {
	b := open(t, nested(t))
	for want, req := range map[string]documents.ListRequest{
		".archcore/top.adr.md two/t.adr.md":              {Tags: []string{"x", "t"}},
		".archcore/x/b.rule.md":                          {Types: []string{"rule"}},
		"one/deep/o.adr.md two/t.adr.md":                 {Source: "global"},
		".archcore/top.adr.md one/deep/o.adr.md":         {Limit: 2},
		".archcore/x/y/c.guide.md .archcore/z/d.memo.md": {Offset: 5},
	} {
		if rows := list(t, b, req); strings.Join(rows, " ") != want {
			t.Errorf("%+v: %v, want %s", req, rows, want)
		}
	}
	answer, err := b.List(t.Context(), documents.ListRequest{Limit: 1, Offset: 1})
	if err != nil {
		t.Fatal(err)
	}
	answer.Value("documents").([]any)[0].(*canon.Object).Set("mtime", "M")
	text, err := canon.Compact(answer)
	const want = `{"documents":[{"path":"one/deep/o.adr.md","category":"vision","type":"adr","filename":"o.adr.md","slug":"o","title":"One","status":"accepted","tags":["o"],"mtime":"M",` +
		`"source_id":"one","source_kind":"global","global":true,"read_only":true}],"total":7,"offset":1,"returned":1,"truncated":true,"by_source":{"local":5,"one":1,"two":1}}`
	if err != nil || cmp.Diff(strings.Replace(want, `"vision"`, `"knowledge"`, 1), string(text)) != "" {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestManyFolders: more folders than are walked at once, and one of them that
// cannot be entered is told wherever it lies.
func TestManyFolders(t *testing.T) {
	files := linkedFiles()
	for i := range 12 {
		files[fmt.Sprintf("f%02d/g/h.adr.md", i)] = "x\n"
	}
	b := open(t, project(t, files))
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 15 || !slices.IsSorted(rows) {
		t.Errorf("rows %v", rows)
	}
	for i := range 12 {
		stop := failOps(b, syscall.EACCES, fmt.Sprintf("look.open f%02d", i))
		if _, err := b.List(t.Context(), documents.ListRequest{}); fault.As(err) == nil || err.Error() != "scanning documents: permission denied" {
			t.Errorf("folder %d: %v", i, err)
		}
		stop()
	}
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 15 {
		t.Errorf("rows %v", rows)
	}
}
