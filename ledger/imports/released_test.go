package imports_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/imports"
)

// recipe is the one of docs/import.md.
func recipe(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "import.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "```python\n")
	code, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the recipe is gone")
	}
	return code
}

// TestImportOfPublishedPrograms lets each published program that ARCHE_PUBLISHED
// lists (folders with its arche and its python, separated by colons) write a
// ledger, exports it by the recipe of the docs, and imports it: every decision
// keeps its id and is made again.
func TestImportOfPublishedPrograms(t *testing.T) {
	if os.Getenv("ARCHE_PUBLISHED") == "" {
		t.Skip("ARCHE_PUBLISHED lists no folder of a published program")
	}
	code := recipe(t)
	for _, bin := range filepath.SplitList(os.Getenv("ARCHE_PUBLISHED")) {
		dir := t.TempDir()
		ids := publishedCalls(t, bin, filepath.Join(dir, "old.duckdb"))
		if err := os.Mkdir(filepath.Join(dir, "exported"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "python"), "-c", code)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: the recipe: %v\n%s", bin, err, out)
		}
		p, err := imports.ReadPublished(t.Context(), filepath.Join(dir, "exported"))
		if err != nil {
			t.Fatalf("%s: %v", bin, err)
		}
		l := fresh(t)
		got, err := l.ImportPublished(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", bin, err)
		}
		if d := got.Value("differences").([]string); len(d) > 0 || len(ids) < 2 || len(p.Decisions) <= len(ids) {
			t.Errorf("%s: %d ids, %d decisions, differences %v", bin, len(ids), len(p.Decisions), d)
		}
		for _, id := range ids {
			if _, err := l.Decision(t.Context(), id); err != nil {
				t.Errorf("%s: decision %s: %v", bin, id, err)
			}
		}
		n, err := l.Audit(t.Context(), ledger.AuditOptions{}, func(f *ledger.Audited) error {
			if f.Result != ledger.AuditReproduced {
				t.Errorf("%s: %s: %s %s", bin, f.DecisionID, f.Result, f.Reason)
			}
			return nil
		})
		if err != nil || int(n) != len(p.Decisions) {
			t.Errorf("%s: %d audited of %d, %v", bin, n, len(p.Decisions), err)
		}
		if err := l.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: verify: %v", bin, err)
		}
	}
}

// publishedCalls has a published program compare two lists, add evidence to what
// is at review, and settle a newcomer; it returns the ids that the comparison gave.
func publishedCalls(t *testing.T, bin, file string) (ids []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "arche"), "mcp")
	cmd.Env = append(os.Environ(), "ARCHE_LEDGER=duckdb:///"+file)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "walker", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := func(tool string, args map[string]any) *canon.Object {
		t.Helper()
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || res.IsError {
			t.Fatalf("%s: %s: %v %+v", bin, tool, err, res)
		}
		o, err := canon.ParseObject([]byte(res.Content[0].(*mcp.TextContent).Text), canon.Limits{NonFinite: true})
		if err != nil {
			t.Fatalf("%s: %s: %v", bin, tool, err)
		}
		return o
	}
	row := func(id, name string) map[string]any { return map[string]any{"id": id, "name": name, "city": "Nairobi"} }
	res := call("compare_records", map[string]any{"entity": "organisation",
		"list_a": []any{row("s1", "Kijani Tea Exporters Ltd"), row("s2", "Central Cooperative Society")},
		"list_b": []any{row("r1", "Kijani Tea Exporters Limited"), row("r2", "Central Cooperative Society")}})
	for _, m := range res.Value("matches").([]any) {
		id, _ := m.(*canon.Object).Value("decision_id").(string)
		ids = append(ids, id)
		d := call("decision", map[string]any{"decision_id": id})
		if d.Value("identity") == "review" {
			call("observe", map[string]any{"record_id": d.Value("record_a"), "evidence": map[string]any{"registration_id": "CS-1"}})
		}
	}
	call("resolve", map[string]any{"record": map[string]any{"name": "Kijani Tea Exporters", "city": "Nairobi"}, "entity_type": "organisation"})
	return ids
}
