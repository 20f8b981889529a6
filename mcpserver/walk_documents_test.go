package mcpserver_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

// TestWalk is a day with the knowledge base as a client of the SDK sees it:
// set up, create, link, search, edit by hand, update, look at the history,
// restore; with the history in the project's own ledger.
func TestWalk(t *testing.T) {
	root := t.TempDir()
	base, err := documents.Open(documents.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	server := mcpserver.New(mcpserver.Options{Groups: mcpserver.DocumentsTools, Documents: mcpserver.DocumentTools(base, hosts.Wirer{Root: root}, nil)})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.ServeStdio(t.Context(), inR, outW); outW.Close() }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "walker", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, args map[string]any) map[string]any {
		t.Helper()
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError {
			return map[string]any{"error": text}
		}
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return out
	}
	expect := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	tools, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	expect("tools", len(tools.Tools), 11)

	expect("initialised", call("init_project", map[string]any{"language": "de"})["already_initialized"], false)
	expect("adr", call("create_document", map[string]any{"type": "adr", "filename": "use-postgres", "directory": "db",
		"content": "## Context\n\nSee @src/db/pool.go.\n", "tags": []string{"db"}})["path"], ".archcore/db/use-postgres.adr.md")
	second := call("create_document", map[string]any{"type": "rule", "filename": "one-pool", "directory": "db"})
	expect("nearby", second["nearby_documents"].([]any)[0], ".archcore/db/use-postgres.adr.md")
	expect("linked", call("add_relation", map[string]any{"source": "db/one-pool.rule.md", "target": "db/use-postgres.adr.md", "type": "implements"})["added"], true)
	found := call("search_documents", map[string]any{"path_ref": "src/db/"})["results"].([]any)
	expect("found", found[0].(map[string]any)["incoming_relations"].([]any)[0].(map[string]any)["path"], ".archcore/db/one-pool.rule.md")

	file := filepath.Join(root, ".archcore", "db", "use-postgres.adr.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	byHand := strings.Replace(string(data), "status: draft\n", "status: draft\nowner: Ada # since May\n", 1)
	if err := os.WriteFile(file, []byte(byHand), 0o644); err != nil {
		t.Fatal(err)
	}
	expect("read after the hand edit", call("get_document", map[string]any{"path": ".archcore/db/use-postgres.adr.md"})["content"], byHand)
	expect("accepted", call("update_document", map[string]any{"path": ".archcore/db/use-postgres.adr.md", "status": "accepted"})["status"], "accepted")
	now := call("get_document", map[string]any{"path": ".archcore/db/use-postgres.adr.md"})["content"].(string)
	expect("the hand-written key", strings.Contains(now, "owner: Ada # since May\n"), true)

	versions, err := base.Versions(t.Context(), "db/use-postgres.adr.md")
	if err != nil {
		t.Fatal(err)
	}
	var who []string
	for _, v := range versions {
		who = append(who, v.Actor+" "+v.Tool)
	}
	expect("history", strings.Join(who, "; "), "mcp:walker create_document; filesystem ; mcp:walker update_document")
	if _, err := base.Restore(t.Context(), "db/use-postgres.adr.md", "#2"); err != nil {
		t.Fatal(err)
	}
	expect("restored", call("get_document", map[string]any{"path": ".archcore/db/use-postgres.adr.md"})["content"], byHand)

	removed := call("remove_document", map[string]any{"path": ".archcore/db/use-postgres.adr.md"})
	expect("relations removed", removed["relations_removed"], 1.0)
	expect("gone", call("get_document", map[string]any{"path": ".archcore/db/use-postgres.adr.md"})["error"], "document not found: .archcore/db/use-postgres.adr.md")
	if _, err := base.Restore(t.Context(), "db/use-postgres.adr.md", "#3"); err != nil {
		t.Fatal(err)
	}
	expect("back", call("list_documents", map[string]any{"status": "accepted"})["total"], 1.0)
	wired := call("install_host_config", map[string]any{"host": "claude-code"})["agents"].([]any)[0].(map[string]any)
	expect("wired", wired["mcp_config_path"], ".mcp.json")
	expect("unknown argument", call("list_documents", map[string]any{"typ": "adr"})["error"],
		"unknown argument \"typ\"\nlist_documents takes: types, category, status, tags, limit, offset, source")

	if err := client.Close(); err != nil {
		t.Error(err)
	}
	inW.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
