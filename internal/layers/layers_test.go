// Package layers holds the test that keeps the import directions of the
// project. The table is the design; an arrow against it is a decision record.
package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/arche-ledger/arche/"

// allowed names, for each folder, the folders of ours it may import. A folder
// without an entry of its own takes that of its parent; internal/ is open to
// all but packs may import nothing else of ours.
var allowed = map[string][]string{
	"cmd":              {"*"},
	"mcpserver":        {"mcpserver/hosts", "ledger", "ledger/documents", "resolve", "detect", "jurisdiction", "packs", "attest"},
	"mcpserver/hosts":  {},
	"ledger":           {"ledger/duck", "resolve", "packs", "attest"},
	"ledger/duck":      {},
	"ledger/documents": {"ledger"},
	"ledger/audit":     {"ledger", "ledger/duck", "ledger/export", "resolve", "packs", "attest"},
	"ledger/export":    {"ledger", "ledger/duck", "resolve", "packs", "attest"},
	"ledger/imports":   {"ledger", "ledger/duck", "ledger/export", "resolve", "packs", "attest"},
	"ledger/fsck":      {"ledger", "ledger/duck", "resolve", "packs", "attest"},
	"resolve":          {"packs"},
	"detect":           {"packs"},
	"jurisdiction":     {"detect", "packs"},
	"packs":            {},
	"attest":           {},
	"internal":         {},
	"internal/arctest": {"*"},
	"docs":             {"*"},
	"testdata":         {},
}

// onlyImporters are packages from outside that these folders alone may import;
// test support plays the part of an agent host.
var onlyImporters = map[string][]string{
	"github.com/duckdb/duckdb-go/v2":             {"ledger/duck"},
	"github.com/modelcontextprotocol/go-sdk/mcp": {"mcpserver", "internal/arctest/agents"},
	"github.com/spf13/cobra":                     {"cmd"},
}

// rule is the entry that governs a folder.
func rule(folder string) (string, []string, bool) {
	for f := folder; f != "."; f = filepath.ToSlash(filepath.Dir(f)) {
		if to, ok := allowed[f]; ok {
			return f, to, true
		}
	}
	return "", nil, false
}

func within(folder, parent string) bool {
	return folder == parent || strings.HasPrefix(folder, parent+"/")
}

// mayImport reports whether a file of folder from may import folder to.
func mayImport(from, to string) bool {
	if within(to, "internal") {
		return true
	}
	owner, list, ok := rule(from)
	if !ok {
		return false
	}
	target, _, ok := rule(to)
	if !ok {
		return false
	}
	// Parts of one subject import each other.
	if owner == target && owner != "internal" {
		return true
	}
	return slices.Contains(list, "*") || slices.Contains(list, target)
}

func TestRules(t *testing.T) {
	tests := []struct {
		from, to string
		want     bool
	}{
		{"cmd/arche", "mcpserver", true},
		{"mcpserver", "ledger", true},
		{"ledger", "mcpserver", false},
		{"ledger", "ledger/documents", false},
		{"ledger/documents", "ledger", true},
		{"ledger/documents", "ledger/duck", false},
		{"resolve", "packs", true},
		{"resolve", "ledger/duck", false},
		{"packs", "resolve", false},
		{"packs", "internal/canon", true},
		{"detect/places", "detect", true},
		{"mcpserver/hosts", "ledger", false},
		{"internal/canon", "packs", false},
		{"newfolder", "packs", false},
	}
	for _, tt := range tests {
		if got := mayImport(tt.from, tt.to); got != tt.want {
			t.Errorf("%s -> %s: %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestImportDirections(t *testing.T) {
	root := "../.."
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		checkFile(t, filepath.ToSlash(rel), f.Imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files were looked at", files)
	}
}

func checkFile(t *testing.T, file string, imports []*ast.ImportSpec) {
	t.Helper()
	folder := filepath.ToSlash(filepath.Dir(file))
	test := strings.HasSuffix(file, "_test.go")
	for _, p := range importPaths(imports) {
		if to, ours := strings.CutPrefix(p, module); ours {
			// Tests may build what they need of the rest.
			if !test && !mayImport(folder, to) {
				t.Errorf("%s imports %s, against the direction of the layers", file, to)
			}
			continue
		}
		for outside, homes := range onlyImporters {
			at := func(home string) bool { return within(folder, home) }
			if (p == outside || strings.HasPrefix(p, outside+"/")) && !test && !slices.ContainsFunc(homes, at) {
				t.Errorf("%s imports %s, which only %v may", file, p, homes)
			}
		}
	}
}

func importPaths(specs []*ast.ImportSpec) []string {
	var paths []string
	for _, s := range specs {
		if p, err := strconv.Unquote(s.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}
