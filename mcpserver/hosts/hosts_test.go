package hosts_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

var update = flag.Bool("update", false, "write the after/ files and reports of testdata anew")

// files are the files of a project by name.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, full)
		data, err := os.ReadFile(full)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func lay(t *testing.T, root, name, text string) {
	t.Helper()
	full := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wire(t *testing.T, root, id string) string {
	t.Helper()
	r, err := hosts.Wirer{Root: root}.Wire(id, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := canon.Indent(r.Answer(false))
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// TestFiles wires each host over files that are absent, empty, hold foreign
// servers and hooks, hold comments, or are malformed, and compares every byte.
// A dry run before tells the same and changes nothing; a second run after
// changes nothing.
func TestFiles(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) < 5*len(hosts.IDs()) {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			id := strings.TrimSpace(strings.TrimPrefix(string(a.Comment), "host:"))
			root := t.TempDir()
			want := map[string]string{}
			for _, f := range a.Files {
				if name, ok := strings.CutPrefix(f.Name, "before/"); ok {
					lay(t, root, name, string(f.Data))
				} else {
					want[f.Name] = string(f.Data)
				}
			}
			before := files(t, root)
			dry, err := hosts.Wirer{Root: root, DryRun: true}.Wire(id, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, files(t, root)); diff != "" {
				t.Fatalf("a dry run changed\n%s", diff)
			}
			report := wire(t, root, id)
			got := files(t, root)
			if *update {
				write(t, file, a, got, report)
				return
			}
			have := map[string]string{"report": report}
			for name, text := range got {
				have["after/"+name] = text
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			told := map[string]string{}
			for name, text := range before {
				told[name] = text
			}
			for _, e := range dry.Edits {
				told[e.Path] = string(e.After)
			}
			if diff := cmp.Diff(got, told); diff != "" {
				t.Errorf("the dry run told otherwise (-done +told)\n%s", diff)
			}
			if again := wire(t, root, id); again != report {
				t.Errorf("a second run answers\n%s", cmp.Diff(report, again))
			}
			if diff := cmp.Diff(got, files(t, root)); diff != "" {
				t.Errorf("a second run changed\n%s", diff)
			}
		})
	}
}

func write(t *testing.T, file string, a *txtar.Archive, got map[string]string, report string) {
	t.Helper()
	kept := slices.DeleteFunc(a.Files, func(f txtar.File) bool { return !strings.HasPrefix(f.Name, "before/") })
	var names []string
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		kept = append(kept, txtar.File{Name: "after/" + name, Data: []byte(got[name])})
	}
	a.Files = append(kept, txtar.File{Name: "report", Data: []byte(report)})
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPermissionsStay: a file that only its owner may read stays so.
func TestPermissionsStay(t *testing.T) {
	root := t.TempDir()
	lay(t, root, ".mcp.json", "{}\n")
	lay(t, root, "CLAUDE.md", "x\n")
	for name, mode := range map[string]fs.FileMode{".mcp.json": 0o600, "CLAUDE.md": 0o640} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	wire(t, root, "claude-code")
	for name, mode := range map[string]fs.FileMode{".mcp.json": 0o600, "CLAUDE.md": 0o640, "AGENTS.md": 0o644} {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestLinksAreRefused: a target that is a link, or lies behind one, is left
// alone and reported, wherever it leads.
func TestLinksAreRefused(t *testing.T) {
	outside := t.TempDir()
	lay(t, outside, "target.json", "{}\n")
	for name, link := range map[string][2]string{
		"file":   {".mcp.json", filepath.Join(outside, "target.json")},
		"inside": {".mcp.json", "real.json"},
		"folder": {".claude", outside},
		"gone":   {"CLAUDE.md", filepath.Join(outside, "nothing.md")},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			lay(t, root, "real.json", "{}\n")
			if err := os.Symlink(link[1], filepath.Join(root, link[0])); err != nil {
				t.Fatal(err)
			}
			before, real := files(t, outside), filepath.Join(root, "real.json")
			report := wire(t, root, "claude-code")
			if !strings.Contains(report, "symbolic link") || strings.Contains(report, outside) {
				t.Errorf("report\n%s", report)
			}
			if diff := cmp.Diff(before, files(t, outside)); diff != "" {
				t.Errorf("changed outside\n%s", diff)
			}
			if data, err := os.ReadFile(real); err != nil || string(data) != "{}\n" {
				t.Errorf("the link's target: %q, %v", data, err)
			}
			if info, err := os.Lstat(filepath.Join(root, link[0])); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the link was replaced: %v", err)
			}
		})
	}
}

// TestOneFileForTwoNames: CLAUDE.md that links to AGENTS.md is one file; it is
// written once and no failure.
func TestOneFileForTwoNames(t *testing.T) {
	root := t.TempDir()
	lay(t, root, "AGENTS.md", "# Rules\n")
	if err := os.Symlink("AGENTS.md", filepath.Join(root, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	report := wire(t, root, "claude-code")
	if strings.Contains(report, "errors") || !strings.Contains(report, `"instructions_path": "AGENTS.md"`) {
		t.Errorf("report\n%s", report)
	}
	if n := strings.Count(files(t, root)["AGENTS.md"], "archcore:start"); n != 1 {
		t.Errorf("%d notes", n)
	}
}

// TestPublishedEntriesStay: servers and hooks of the published program are
// taken for ours; no second one is put beside them.
func TestPublishedEntriesStay(t *testing.T) {
	root := t.TempDir()
	lay(t, root, ".mcp.json", "{\n  \"mcpServers\": {\n    \"archcore\": {\"command\": \"archcore\", \"args\": [\"mcp\"]}\n  }\n}\n")
	lay(t, root, ".claude/settings.json", `{
  "hooks": {
    "SessionStart": [
      {"matcher": "", "hooks": [{"type": "command", "command": "archcore hooks claude-code session-start"}]}
    ]
  }
}
`)
	lay(t, root, ".codex/config.toml", "[mcp_servers]\narche = { command = \"arche\", args = [\"mcp\"] }\n")
	before := files(t, root)
	report := wire(t, root, "claude-code")
	if !strings.Contains(report, "kept the entry archcore") {
		t.Errorf("report\n%s", report)
	}
	wire(t, root, "codex-cli")
	after := files(t, root)
	for _, name := range []string{".mcp.json", ".codex/config.toml"} {
		if diff := cmp.Diff(before[name], after[name]); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
	}
	if n := strings.Count(after[".claude/settings.json"], "session-start"); n != 1 {
		t.Errorf("%d session hooks", n)
	}
}

// TestOwnHooksAreBroughtUpToDate: an older form of our hook is changed in
// place, a duplicate dropped, foreign keys of the entry kept.
func TestOwnHooksAreBroughtUpToDate(t *testing.T) {
	root := t.TempDir()
	lay(t, root, ".claude/settings.json", `{
  "hooks": {
    "PreToolUse": [
      // first
      {"matcher": "Write", "note": 7, "hooks": [{"type": "command", "command": "arche hooks claude-code pre-tool-use"}]},
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "./other.sh"}]},
      {"matcher": "Edit", "hooks": [{"type": "command", "command": "arche hooks claude-code pre-tool-use"}]}
    ]
  }
}
`)
	wire(t, root, "claude-code")
	got := files(t, root)[".claude/settings.json"]
	for what, n := range map[string]int{"hooks claude-code pre-tool-use": 1, `"Write|Edit"`: 1, `"note": 7`: 1, "// first": 1, "./other.sh": 1} {
		if c := strings.Count(got, what); c != n {
			t.Errorf("%d of %q in\n%s", c, what, got)
		}
	}
	if after := wire(t, root, "claude-code"); strings.Contains(after, "errors") {
		t.Error(after)
	}
	if again := files(t, root)[".claude/settings.json"]; again != got {
		t.Errorf("a second run changed\n%s", cmp.Diff(got, again))
	}
}

func TestUnknownHost(t *testing.T) {
	_, err := hosts.Wirer{Root: t.TempDir()}.Wire("vim", false)
	want := `installing host config: unknown agent "vim" — valid agents: [claude-code cursor gemini-cli opencode codex-cli roo-code cline copilot]`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// FuzzServers: whatever a configuration file holds, wiring refuses it and
// leaves it, or writes a file that a second run keeps.
func FuzzServers(f *testing.F) {
	for _, s := range []string{"", "{}", "{ // c\n}", `{"mcpServers":{"x":{}},}`, `{"mcpServers":null}`, "[1]", "{\"a\":1 /* x */}", "\uFEFF{}", "{\r\n\t\"a\": [1,\r\n2,],\r\n}\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root := t.TempDir()
		lay(t, root, ".mcp.json", text)
		first := wire(t, root, "copilot")
		got := files(t, root)
		if strings.Contains(first, "mcp: ") && got[".mcp.json"] != text {
			t.Fatalf("refused and changed: %q to %q", text, got[".mcp.json"])
		}
		wire(t, root, "copilot")
		if again := files(t, root)[".mcp.json"]; again != got[".mcp.json"] {
			t.Fatalf("%q became %q, then %q", text, got[".mcp.json"], again)
		}
	})
}

// FuzzTOML is FuzzServers for the TOML file.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{"", "a = 1\n", "[mcp_servers.archcore]\n", "[mcp_servers.\"archcore\"]\ncommand = \"x\"", "x = \"\"\"\n[mcp_servers.archcore]\n\"\"\"\n", "a = [\n1,\n]\n", "mcp_servers.arche.command = \"arche\"\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root := t.TempDir()
		lay(t, root, ".codex/config.toml", text)
		wire(t, root, "codex-cli")
		got := files(t, root)[".codex/config.toml"]
		if !strings.HasPrefix(got, strings.TrimRight(text, "\r\n")) {
			t.Fatalf("%q became %q", text, got)
		}
		wire(t, root, "codex-cli")
		if again := files(t, root)[".codex/config.toml"]; again != got {
			t.Fatalf("%q became %q, then %q", text, got, again)
		}
	})
}

func Example() {
	fmt.Println(strings.Join(hosts.IDs(), " "))
	// Output: claude-code cursor gemini-cli opencode codex-cli roo-code cline copilot
}
