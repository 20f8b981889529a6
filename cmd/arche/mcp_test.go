package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arche-ledger/arche/internal/canon"
)

// program is the command line of the built program: this test binary, which
// runs main when it is called arche.
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Args = append([]string{"arche"}, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + cmd.Dir}, env...)
	return cmd
}

// client connects the SDK's client to the program over stdio.
func client(t *testing.T, cmd *exec.Cmd) *mcp.ClientSession {
	t.Helper()
	cmd.Stderr = os.Stderr
	c := mcp.NewClient(&mcp.Implementation{Name: "walker", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// ask calls a tool and returns its answer; the text block and the structured
// content must say the same.
func ask(t *testing.T, s *mcp.ClientSession, tool string, args any) *canon.Object {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		t.Fatalf("%s: %s", tool, text)
	}
	o, err := canon.ParseObject([]byte(text), canon.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal(structured, &b) != nil || !cmp.Equal(a, b) {
		t.Errorf("%s: text and structured content differ", tool)
	}
	return o
}

// at is the value at a dotted path of an answer.
func at(t *testing.T, o *canon.Object, path string) any {
	t.Helper()
	var cur any = o
	for part := range strings.SplitSeq(path, ".") {
		switch x := cur.(type) {
		case *canon.Object:
			cur = x.Value(part)
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(x) {
				t.Fatalf("nothing at %s", path)
			}
			cur = x[i]
		default:
			t.Fatalf("nothing at %s", path)
		}
	}
	return cur
}

var (
	suppliersArg = []map[string]any{
		{"id": "s1", "name": "Kijani Tea Exporters Ltd", "city": "Nairobi"},
		{"id": "s2", "name": "Central Cooperative Society", "city": "Nakuru"},
	}
	registryArg = []map[string]any{
		{"id": "r1", "name": "Kijani Tea Exporters Limited", "city": "Nairobi"},
		{"id": "r2", "name": "Central Cooperative Society", "city": "Nakuru"},
	}
)

// TestWalk is an agent's first conversation, over stdio with the built program:
// compare, read, explain, replay, settle a case, and find all of it again in a
// second server on the same file.
func TestWalk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "work.duckdb")
	env := []string{"ARCHE_LEDGER=duckdb:///" + file}
	s := client(t, program(t, env, "mcp"))

	res := ask(t, s, "compare_records", map[string]any{"list_a": suppliersArg, "list_b": registryArg, "entity": "organisation"})
	did := at(t, res, "matches.0.decision_id").(string)
	wantIDs := []string{"xwd:sha256:a96f6fd332e6d", "xwd:sha256:81709217510d8"}
	for i, want := range wantIDs {
		if got := at(t, res, fmt.Sprintf("matches.%d.decision_id", i)).(string); !strings.HasPrefix(got, want) {
			t.Errorf("decision %d is %s, want %s...", i, got, want)
		}
	}
	dec := ask(t, s, "decision", map[string]any{"decision_id": did})
	recA, recB := at(t, dec, "record_a").(string), at(t, dec, "record_b").(string)
	why := ask(t, s, "explain", map[string]any{"decision_id": did})
	if diff := cmp.Diff([]any{"name", "name_tftoken", "name_type"}, at(t, why, "supporting")); diff != "" {
		t.Errorf("supporting (-want +got):\n%s", diff)
	}
	if rp := ask(t, s, "replay", map[string]any{"decision_id": did}); at(t, rp, "reproduced") != true || at(t, rp, "now.decision_id") != did {
		t.Errorf("replay: %v", show(rp))
	}
	ents := ask(t, s, "entities", nil)
	if at(t, ents, "count") != canon.Number("1") || at(t, ents, "entities.0.records.1.label") != "r1" {
		t.Errorf("entities: %v", show(ents))
	}
	if p := ask(t, s, "path", map[string]any{"record_a": recA, "record_b": recB}); at(t, p, "hops") != canon.Number("1") {
		t.Errorf("path: %v", show(p))
	}
	open := ask(t, s, "cases", nil)
	side := func(name string) string { return at(t, open, "cases.0."+name+".record_id").(string) }
	r := ask(t, s, "resolve", map[string]any{"record": map[string]any{"name": "Kijani Tea Exporters", "city": "Nairobi"}, "entity_type": "organisation"})
	if at(t, r, "verdict") != "found" {
		t.Errorf("resolve: %v", show(r))
	}
	ask(t, s, "observe", map[string]any{"record_id": side("a"), "evidence": map[string]any{"registration_id": "CS-1188"}})
	last := ask(t, s, "observe", map[string]any{"record_id": side("b"), "evidence": map[string]any{"registration_id": "CS-1188"}})
	if at(t, last, "open_cases") != canon.Number("0") || at(t, last, "decisions.0.identity") != "same_entity" {
		t.Errorf("observe: %v", show(last))
	}

	// Both servers live; the second sees what the first decided.
	other := client(t, program(t, env, "mcp"))
	if again := ask(t, other, "decision", map[string]any{"decision_id": did}); show(again) != show(ask(t, s, "decision", map[string]any{"decision_id": did})) {
		t.Errorf("another server answers %s", show(again))
	}
	if n := at(t, ask(t, other, "cases", nil), "count"); n != canon.Number("0") {
		t.Errorf("another server has %v open cases", n)
	}
}

func show(v any) string {
	b, err := canon.Compact(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

const shake = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestStdoutIsProtocol: whatever comes in, every line out is a message, and the
// end of input ends the program with 0 after the last answer.
func TestStdoutIsProtocol(t *testing.T) {
	cmd := program(t, []string{"ARCHE_LEDGER=:memory:"}, "mcp", "--log-level", "debug")
	cmd.Stdin = strings.NewReader(shake + "not json\n\xff\xfe\n" +
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_name_equivalence","arguments":{"name_a":"A B","name_b":"B A"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"cases"}}`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n"), "\n") {
		var m struct {
			JSONRPC string
			Result  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			t.Errorf("not a message: %q", line)
		}
		if m.Result != nil {
			answered++
		}
	}
	if answered != 3 {
		t.Errorf("%d answers, want 3", answered)
	}
}

// TestSignalEnds: SIGTERM ends the program with 0 and leaves a ledger that
// opens.
func TestSignalEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l.duckdb")
	cmd := program(t, []string{"ARCHE_LEDGER=" + file}, "mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, shake+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"entities"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for range 2 {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("end: %v", err)
	}
	s := client(t, program(t, []string{"ARCHE_LEDGER=" + file}, "mcp"))
	if n := at(t, ask(t, s, "entities", nil), "count"); n != canon.Number("0") {
		t.Errorf("count %v", n)
	}
}

// TestHTTP: the same tools over streamable HTTP, with a token, a caller, and
// foreign origins refused.
func TestHTTP(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, nil, "mcp", "--http", "127.0.0.1:0", "--token-file", token)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(errs).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(first, "serving MCP at "))

	post := func(header map[string]string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for k, v := range header {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if code := post(nil); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	if code := post(map[string]string{"Authorization": "Bearer 0123456789abcdeF"}); code != http.StatusUnauthorized {
		t.Errorf("with a wrong token: %d", code)
	}
	if code := post(map[string]string{"Authorization": "Bearer 0123456789abcdef", "Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}); code != http.StatusForbidden {
		t.Errorf("from a foreign origin: %d", code)
	}

	c := mcp.NewClient(&mcp.Implementation{Name: "walker", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withHeader{"Bearer 0123456789abcdef"}}}
	session, err := c.Connect(context.WithoutCancel(t.Context()), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := at(t, ask(t, session, "check_name_equivalence", map[string]any{"name_a": "Fatima Abdullahi", "name_b": "Fatuma Abdulahi"}), "decision"); got != "match" {
		t.Errorf("decision %v", got)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("end: %v", err)
	}
}

// withHeader adds the token to each request.
type withHeader struct{ authorization string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", h.authorization)
	return http.DefaultTransport.RoundTrip(r)
}
