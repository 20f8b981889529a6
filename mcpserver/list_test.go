package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

var update = flag.Bool("update", false, "write the snapshots and transcripts that the tests compare with")

// memory is a fresh ledger in memory.
func memory(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open("duckdb:///:memory:", ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close the ledger: %v", err)
		}
	})
	return l
}

// listed is tools/list of a server, one raw JSON object a tool.
func listed(t *testing.T, opts mcpserver.Options) []json.RawMessage {
	t.Helper()
	s := ready(t, opts)
	s.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var m struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(s.hear()), &m); err != nil {
		t.Fatal(err)
	}
	return m.Result.Tools
}

func toolName(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var tool struct{ Name string }
	if err := json.Unmarshal(raw, &tool); err != nil {
		t.Fatal(err)
	}
	return tool.Name
}

func names(t *testing.T, raw []json.RawMessage) []string {
	t.Helper()
	var all []string
	for _, r := range raw {
		all = append(all, toolName(t, r))
	}
	return all
}

// everything is a server with all groups.
func everything(t *testing.T) mcpserver.Options {
	t.Helper()
	dir := t.TempDir()
	base, err := documents.Open(documents.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	return mcpserver.Options{
		Ledger:     memory(t),
		Protection: mcpserver.NewProtection(mcpserver.ProtectOptions{}),
		Documents:  mcpserver.DocumentTools(base, hosts.Wirer{Root: dir}, nil),
	}
}

var engineNames = []string{"capabilities", "describe_pack", "why_unresolved", "check_name_equivalence", "compare_records"}
var ledgerNames = []string{"decision", "explain", "replay", "entities", "path", "cases", "resolve", "observe"}

func TestListOrder(t *testing.T) {
	all := []string{"capabilities", "infer_jurisdiction", "plan_protection", "describe_pack", "detect_pii", "detect_entities",
		"guarded_scan", "why_unresolved", "check_name_equivalence", "compare_records", "extract_places",
		"decision", "explain", "replay", "entities", "path", "cases", "resolve", "observe",
		"list_documents", "search_documents", "get_document", "create_document", "update_document", "remove_document",
		"add_relation", "remove_relation", "list_relations", "init_project", "install_host_config"}
	tests := []struct {
		name string
		opts mcpserver.Options
		want []string
	}{
		{"nothing given", mcpserver.Options{}, engineNames},
		{"ledger", mcpserver.Options{Ledger: memory(t)}, slices.Concat(engineNames, ledgerNames)},
		{"everything", everything(t), all},
		{"decisions", mcpserver.Options{Documents: []mcpserver.Tool{echo}, Groups: mcpserver.DecisionTools}, engineNames},
		{"documents", mcpserver.Options{Ledger: memory(t), Documents: []mcpserver.Tool{echo}, Groups: mcpserver.DocumentsTools}, []string{"echo"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, names(t, listed(t, tt.opts))); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
		})
	}
}

// TestToolSnapshots pins what hosts and models see of each tool.
func TestToolSnapshots(t *testing.T) {
	for _, raw := range listed(t, everything(t)) {
		name := toolName(t, raw)
		t.Run(name, func(t *testing.T) {
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			file := filepath.Join("testdata", "tools", name+".json")
			if *update {
				if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// TestToolForm holds what every tool of every group must have.
func TestToolForm(t *testing.T) {
	for _, raw := range listed(t, everything(t)) {
		var tool struct {
			Name, Title, Description string
			InputSchema              map[string]any
			OutputSchema             map[string]any
			Annotations              map[string]any
		}
		if err := json.Unmarshal(raw, &tool); err != nil {
			t.Fatal(err)
		}
		if tool.Title == "" || tool.Description == "" {
			t.Errorf("%s: no title or description", tool.Name)
		}
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := tool.Annotations[hint].(bool); !ok {
				t.Errorf("%s: hint %s is not sent", tool.Name, hint)
			}
		}
		for where, schema := range map[string]map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema} {
			if schema["type"] != "object" {
				t.Errorf("%s: %s schema is no object", tool.Name, where)
			}
			for _, union := range []string{"anyOf", "oneOf", "allOf"} {
				if _, ok := schema[union]; ok {
					t.Errorf("%s: %s schema has %s at the top", tool.Name, where, union)
				}
			}
		}
		properties, ok := tool.InputSchema["properties"].(map[string]any)
		if !ok || tool.InputSchema["title"] != tool.Name+"Arguments" {
			t.Errorf("%s: input schema without properties or with another title", tool.Name)
		}
		for arg, p := range properties {
			if p, ok := p.(map[string]any); !ok || p["title"] == "" || p["description"] == nil {
				t.Errorf("%s: argument %s has no title or description", tool.Name, arg)
			}
		}
		if strings.Contains(string(raw), ":null,\"title\"") && !strings.Contains(string(raw), "anyOf") {
			t.Errorf("%s: a null default on an argument that can't be null", tool.Name)
		}
	}
}
