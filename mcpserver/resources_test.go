package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/mcpserver"
)

// rpc sends one request and returns its result or error, decoded.
func (s *session) rpc(method, params string) (result map[string]any, code int, message string) {
	s.t.Helper()
	s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":77,"method":%q,"params":%s}`, method, params))
	var m struct {
		Result map[string]any
		Error  struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(s.hear()), &m); err != nil {
		s.t.Fatal(err)
	}
	return m.Result, m.Error.Code, m.Error.Message
}

// library stands for the knowledge base.
func library() []mcpserver.Tool {
	path := []mcpserver.Arg{{Name: "path", Kind: mcpserver.Text, Required: true}}
	return []mcpserver.Tool{
		{Name: "get_document", Args: path, Hints: mcpserver.Query, Handler: func(_ context.Context, a *mcpserver.Args) (any, error) {
			switch a.Text("path") {
			case ".archcore/a b.adr.md":
				return canon.Obj("path", a.Text("path"), "content", "# A\n<b>"), nil
			case "held":
				return nil, fault.New(fault.Busy, "another process holds it")
			case "broken":
				return nil, errors.New("secret")
			}
			return nil, fault.New(fault.NotFound, "document not found")
		}},
		{Name: "list_documents", Args: []mcpserver.Arg{{Name: "limit", Kind: mcpserver.Integer, Default: 100}}, Handler: func(context.Context, *mcpserver.Args) (any, error) {
			var all []*canon.Object
			for i := range 150 {
				all = append(all, canon.Obj("path", fmt.Sprintf(".archcore/%03d.adr.md", i)))
			}
			return canon.Obj("documents", all), nil
		}},
		{Name: "create_document", Handler: func(context.Context, *mcpserver.Args) (any, error) { return canon.Obj(), nil }},
	}
}

func TestResources(t *testing.T) {
	s := ready(t, mcpserver.Options{Documents: library()})
	list, _, _ := s.rpc("resources/templates/list", `{}`)
	var uris []string
	for _, r := range list["resourceTemplates"].([]any) {
		uris = append(uris, r.(map[string]any)["uriTemplate"].(string))
	}
	if diff := cmp.Diff([]string{"arche://document/{+id}", "arche://pack/{+id}"}, uris); diff != "" {
		t.Errorf("templates without a ledger (-want +got):\n%s", diff)
	}
	tests := []struct{ uri, text, problem string }{
		{"arche://document/.archcore/a%20b.adr.md", "# A\n<b>", ""},
		{"arche://document/nope", "", "Resource not found"},
		{"arche://document/held", "", "another process holds it"},
		{"arche://document/broken", "", "internal error in get_document"},
		{"arche://document/%zz", "", "Resource not found"},
		{"arche://decision/xwd:sha256:00", "", "Resource not found"},
		{"file:///etc/passwd", "", "Resource not found"},
	}
	for _, tt := range tests {
		params, err := json.Marshal(map[string]string{"uri": tt.uri})
		if err != nil {
			t.Fatal(err)
		}
		res, _, problem := s.rpc("resources/read", string(params))
		if tt.problem != "" {
			if !strings.HasPrefix(problem, tt.problem) || strings.Contains(problem, "secret") {
				t.Errorf("%s: %q, want %q", tt.uri, problem, tt.problem)
			}
			continue
		}
		content := res["contents"].([]any)[0].(map[string]any)
		if content["text"] != tt.text || content["mimeType"] != "text/markdown" {
			t.Errorf("%s: %v", tt.uri, content)
		}
	}
}

func TestPrompts(t *testing.T) {
	s := ready(t, mcpserver.Options{Documents: library(), Ledger: memory(t)})
	list, _, _ := s.rpc("prompts/list", `{}`)
	var names []string
	for _, p := range list["prompts"].([]any) {
		names = append(names, p.(map[string]any)["name"].(string))
	}
	if diff := cmp.Diff([]string{"explain-decision", "review-open-cases", "write-adr"}, names); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	res, _, problem := s.rpc("prompts/get", `{"name":"explain-decision","arguments":{"decision_id":"xwd:sha256:00"}}`)
	if problem != "" || !strings.Contains(fmt.Sprint(res["messages"]), "xwd:sha256:00") {
		t.Errorf("explain-decision: %v %s", res, problem)
	}
	if _, code, _ := s.rpc("prompts/get", `{"name":"write-adr","arguments":{}}`); code != -32602 {
		t.Errorf("a missing argument: code %d", code)
	}
	bare := ready(t, mcpserver.Options{})
	if list, _, _ := bare.rpc("prompts/list", `{}`); len(list["prompts"].([]any)) != 0 {
		t.Errorf("prompts without their tools: %v", list)
	}
}

func TestCompletion(t *testing.T) {
	s := ready(t, mcpserver.Options{Documents: library()})
	values := func(params string) ([]any, map[string]any) {
		res, _, problem := s.rpc("completion/complete", params)
		if problem != "" {
			t.Fatalf("%s: %s", params, problem)
		}
		c := res["completion"].(map[string]any)
		return c["values"].([]any), c
	}
	got, _ := values(`{"ref":{"type":"ref/prompt","name":"review-open-cases"},"argument":{"name":"entity_type","value":"product_"}}`)
	if diff := cmp.Diff([]any{"product_electronics", "product_grocery", "product_home_goods"}, got); diff != "" {
		t.Errorf("packs (-want +got):\n%s", diff)
	}
	got, details := values(`{"ref":{"type":"ref/resource","uri":"arche://document/{+id}"},"argument":{"name":"id","value":".archcore/"}}`)
	if len(got) != 100 || details["hasMore"] != true {
		t.Errorf("documents: %d values, %v", len(got), details)
	}
	if got, _ = values(`{"ref":{"type":"ref/prompt","name":"explain-decision"},"argument":{"name":"decision_id","value":"x"}}`); len(got) != 0 {
		t.Errorf("decisions without a ledger: %v", got)
	}
}
