package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest/agents"
)

// The values below are planted in records; each is rare enough to be looked for.
var canaries = []string{"Quizzacious", "Vortumnus", "Zorblatt", "0722-555-0199", "CANARY-88213"}

// leaks reports which canaries a text holds, in whatever case.
func leaks(t *testing.T, where, text string) {
	t.Helper()
	low := strings.ToLower(text)
	for _, c := range canaries {
		if i := strings.Index(low, strings.ToLower(c)); i >= 0 {
			t.Errorf("%s holds %s: ...%s...", where, c, text[max(0, i-60):min(len(text), i+40)])
		}
	}
}

// TestNoValueLeaves plants values in records and looks for them in everything
// that comes out: answers and refusals of the server, its log, head and lock
// files, checkpoints, proofs, and what operators' commands and exports say
// without --reveal.
func TestNoValueLeaves(t *testing.T) {
	dir := t.TempDir()
	path, key := filepath.Join(dir, "l.duckdb"), filepath.Join(dir, "key.pem")
	env := []string{"ARCHE_LEDGER=duckdb:///" + path, "ARCHE_SIGNING_KEY=" + key}
	run := func(args ...string) string {
		t.Helper()
		cmd := program(t, env, args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // some are meant to fail; what counts is what they say
		return out.String()
	}
	leaks(t, "attest keygen", run("attest", "keygen", key))
	cmd := program(t, env, "mcp")
	server, err := agents.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	a := map[string]any{"id": "a1", "name": "Quizzacious Vortumnus Ltd", "phone": "0722-555-0199", "registration_id": "CANARY-88213"}
	b := map[string]any{"id": "b1", "name": "Quizzacious Vortumnus Limited", "phone": "0722-555-0199"}
	open1, open2 := map[string]any{"id": "p1", "name": "Zorblatt"}, map[string]any{"id": "q1", "name": "Zorblatt"}
	calls := 0
	call := func(tool string, args map[string]any) map[string]any {
		t.Helper()
		calls++
		raw, err := server.Raw(t.Context(), tool, args)
		if err != nil {
			leaks(t, tool+"'s error", err.Error())
		}
		leaks(t, tool, raw)
		return agents.Object(raw)
	}
	matched := call("compare_records", map[string]any{"list_a": []any{a, open1}, "list_b": []any{b, open2}, "entity": "organisation"})
	list, _ := matched["matches"].([]any)
	if len(list) == 0 {
		t.Fatalf("no match: %v", matched)
	}
	record := ""
	var ids []string
	for _, m := range list {
		id, _ := m.(map[string]any)["decision_id"].(string)
		ids = append(ids, id)
		d := call("decision", map[string]any{"decision_id": id})
		record, _ = d["record_a"].(string)
		call("explain", map[string]any{"decision_id": id})
		call("replay", map[string]any{"decision_id": id})
	}
	call("observe", map[string]any{"record_id": record, "evidence": map[string]any{"registration_id": "CANARY-88213", "remark": "Vortumnus"}})
	call("resolve", map[string]any{"record": map[string]any{"name": "Quizzacious Vortumnus", "phone": "0722-555-0199"}, "entity_type": "organisation"})
	call("why_unresolved", map[string]any{"record_a": open1, "record_b": open2, "entity": "organisation"})
	for _, tool := range []string{"entities", "cases", "capabilities"} {
		call(tool, map[string]any{})
	}
	// Wrong calls: what is refused is not said again.
	call("compare_records", map[string]any{"list_a": "Quizzacious", "list_b": []any{b}, "entity": "organisation"})
	call("compare_records", map[string]any{"list_a": []any{"Quizzacious"}, "list_b": []any{b}, "entity": "organisation"})
	call("resolve", map[string]any{"record": "Vortumnus", "entity_type": "organisation"})
	call("resolve", map[string]any{"record": map[string]any{"name": map[string]any{"Zorblatt": 1}}, "entity_type": "organisation"})
	call("observe", map[string]any{"record_id": "rec:sha256:" + strings.Repeat("0", 64), "evidence": map[string]any{"phone": "0722-555-0199"}})
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	leaks(t, "the server's log", server.Log())
	for _, suffix := range []string{".head", ".lock", ".queue"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Error(err)
		}
		leaks(t, suffix, string(data))
	}
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"ledger", "verify"}, {"ledger", "log"}, {"doctor"}, {"entities"}, {"cases"}, {"replay", "--all"}, {"ledger", "checkpoint"}, {"ledger", "prove", ids[0]},
		{"decision", ids[0]}, {"explain", ids[0]}, {"replay", ids[0]}, {"ledger", "rebuild"}, {"decide", "Quizzacious", "Zorblatt", "same", "--reason", "x"},
		{"resolve", "--record", `{"name": "Zorblatt"`, "--type", "organisation"},
	} {
		text := run(args...)
		if text == "" {
			t.Errorf("%v says nothing", args)
		}
		if args[0] != "decide" { // it names the arguments that it was given
			leaks(t, strings.Join(args, " "), text)
		}
	}
	for _, what := range []string{"decisions", "events", "entities", "cases", "processing"} {
		for _, format := range []string{"jsonl", "csv", "html"} {
			to := filepath.Join(out, what+format)
			leaks(t, "export "+what, run("export", what, "--format", format, "--out", to))
			entries, err := os.ReadDir(to)
			if err != nil || len(entries) < 2 {
				t.Errorf("export %s as %s: %d files, %v", what, format, len(entries), err)
			}
			for _, e := range entries {
				data, err := os.ReadFile(filepath.Join(to, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				leaks(t, e.Name()+" of "+what, string(data))
			}
		}
	}
	t.Logf("%d calls", calls)
}
