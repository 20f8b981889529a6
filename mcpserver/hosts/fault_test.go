package hosts_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

// TestFailedWiringLeavesWholeFiles fails every change of a file while hosts are
// wired: each configuration is the old or the new one, a failure is told, and
// wiring again ends it.
func TestFailedWiringLeavesWholeFiles(t *testing.T) {
	const servers = "{\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"other\"\n    }\n  }\n}\n"
	for _, id := range hosts.IDs() {
		t.Run(id, func(t *testing.T) {
			project := func(t *testing.T) string {
				root := t.TempDir()
				lay(t, root, ".mcp.json", servers)
				lay(t, root, "CLAUDE.md", "# Ours\n")
				lay(t, root, "AGENTS.md", "# Theirs\n")
				return root
			}
			clean := project(t)
			old := files(t, clean)
			wire(t, clean, id)
			done := files(t, clean)
			hits := arctest.Sweep(t, 1, arctest.OfFiles, func(f *arctest.Fault) {
				root := project(t)
				report, err := hosts.Wirer{Root: root}.WithFault(f.Ask).Wire(id, false)
				if err != nil {
					t.Fatalf("%v: %v", f, err)
				}
				found := files(t, root)
				temps := 0
				for name, text := range found {
					if strings.HasSuffix(name, ".tmp") {
						temps++
						continue
					}
					if text != old[name] && !slices.ContainsFunc(report.Edits, func(e hosts.Edit) bool {
						return e.Path == name && (text == string(e.Before) || text == string(e.After))
					}) {
						t.Errorf("%v: %s is neither the old nor the new:\n%s", f, name, text)
					}
				}
				if temps > 0 && !f.Onward && f.Hit != "file.remove" {
					t.Errorf("%v: %d temporary files are left", f, temps)
				}
				told := slices.ContainsFunc(report.Agents, func(a hosts.Agent) bool { return len(a.Errors) > 0 })
				if !told && !maps.Equal(found, done) {
					t.Errorf("%v: not done and not told", f)
				}
				wire(t, root, id)
				again := files(t, root)
				for name := range done {
					if again[name] == "" {
						t.Errorf("%v: wired again, there is no %s", f, name)
					}
				}
				if wire(t, root, id); !maps.Equal(files(t, root), again) {
					t.Errorf("%v: a third wiring changes something", f)
				}
			})
			if hits < 8 && len(done) > len(old) {
				t.Errorf("only %d changes were failed", hits)
			}
		})
	}
}
