package mcpserver_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/mcpserver"
)

// TestStoryIsAttested plays the contract's story and every other worked example
// with a signer and verifies each answer offline, from the bytes a client gets.
func TestStoryIsAttested(t *testing.T) {
	key, err := attest.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	opts := everything(t)
	opts.Protection = mcpserver.NewProtection(mcpserver.ProtectOptions{HashKey: "demo-key"})
	opts.Signer = attest.NewSigner(key, attest.Options{Engine: "arche@test"})
	server := mcpserver.New(opts)
	seen := map[string]bool{}
	for _, v := range arctest.Vectors(t, "seed.jsonl") {
		var answers []any
		for _, step := range v.Steps {
			tool := step.Tool
			got, err := ask(t, server, step, answers)
			if err != nil {
				t.Fatalf("%s %s: %v", v.ID, tool, err)
			}
			answers = append(answers, got)
			answer, ok := got.(*canon.Object)
			if !ok || answer.Has("error") {
				t.Fatalf("%s %s: %v", v.ID, tool, arctest.Show(got))
			}
			seen[tool] = true
			rest := answer.Clone()
			rest.Delete("attestation")
			check := attest.Verify(attest.Question{Envelope: answer, Response: rest, Key: key.Public()})
			if !check.OK() || !check.Trusted || check.Tool != tool || check.ResponseMatch == nil {
				t.Errorf("%s %s: %v", v.ID, tool, arctest.Show(check.Answer()))
			}
			if id, ok := answer.Value("decision_id").(string); ok && len(check.DecisionIDs) == 0 {
				t.Errorf("%s %s: decision %s is not among the signed ids", v.ID, tool, id)
			}
		}
	}
	for _, tool := range server.Tools() {
		if !seen[tool.Name] && tool.Name != "" && !isDocumentTool(tool.Name) {
			t.Errorf("no example of %s was verified", tool.Name)
		}
	}
}

func isDocumentTool(name string) bool {
	for _, n := range []string{"list_documents", "search_documents", "get_document", "create_document", "update_document", "remove_document",
		"add_relation", "remove_relation", "list_relations", "init_project", "install_host_config"} {
		if n == name {
			return true
		}
	}
	return false
}

// TestAttestedArguments: the envelope covers the arguments with every default
// filled in, as published, whatever form they came in.
func TestAttestedArguments(t *testing.T) {
	key, err := attest.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	opts := everything(t)
	opts.Signer = attest.NewSigner(key, attest.Options{})
	server := mcpserver.New(opts)
	tests := []struct{ tool, sent, signed string }{
		{"entities", `{}`, `{"entity_type":null}`},
		{"cases", `null`, `{"entity_type":null}`},
		{"guarded_scan", `{"text":"x"}`, `{"crosses_border":false,"jurisdiction":null,"provider":null,"text":"x"}`},
		{"compare_records", `{"list_a":"[]","list_b":[],"entity":"person","threshold":1}`,
			`{"list_a":[],"list_b":[],"entity":"person","comparators":null,"backend":null,"threshold":1.0,"id_field":"id"}`},
		{"capabilities", `{}`, `{}`},
	}
	for _, tt := range tests {
		reply, err := server.Call(t.Context(), tt.tool, []byte(tt.sent))
		if err != nil || reply.Fault != nil {
			t.Fatalf("%s: %v %v", tt.tool, err, reply.Fault)
		}
		signed, err := canon.Parse([]byte(tt.signed), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := canon.PublishedHash(signed)
		if err != nil {
			t.Fatal(err)
		}
		envelope, _ := reply.Value.(*canon.Object).Value("attestation").(*canon.Object)
		if diff := cmp.Diff(any(want), envelope.Value("inputs_sha256")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.tool, diff)
		}
	}
	if reply, err := server.Call(t.Context(), "decision", []byte(`{"decision_id":"nope"}`)); err != nil || reply.Fault == nil || reply.Answer != nil {
		t.Errorf("an error is attested: %v %v", reply, err)
	}
}
