package mcpserver_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/mcpserver"
)

// post sends one body to the MCP endpoint.
func post(t *testing.T, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestHTTPBodies(t *testing.T) {
	caller := mcpserver.Tool{Name: "caller", Handler: func(ctx context.Context, _ *mcpserver.Args) (any, error) {
		c := mcpserver.Caller(ctx)
		if c == nil {
			return canon.Obj("caller", nil), nil
		}
		return canon.Obj("caller", *c), nil
	}}
	panics := mcpserver.Tool{Name: "bad", Handler: func(context.Context, *mcpserver.Args) (any, error) { panic("secret") }}
	srv := httptest.NewServer(mcpserver.New(withTools(echo, caller, panics)).HTTPHandler(mcpserver.HTTPOptions{}))
	defer srv.Close()
	tests := []struct {
		name, body string
		header     []string
		code       int
		want       string
	}{
		{"answer", call(1, "echo", `{"value":"Élène"}`), nil, 200, `"structuredContent":{"value":"Élène"}`},
		{"caller", call(1, "caller", `{}`), []string{"x-arche-caller", " ada "}, 200, `"structuredContent":{"caller":"ada"}`},
		{"no caller", call(1, "caller", `{}`), nil, 200, `"structuredContent":{"caller":null}`},
		{"panic", call(1, "bad", `{}`), nil, 200, `internal error in bad`},
		{"NaN", call(7, "echo", `{"value":NaN,"x":"secret"}`), nil, 400, `"id":7,"error":{"code":-32700,"message":"Parse error: NaN`},
		{"not JSON", `secret`, nil, 400, `"id":null,"error":{"code":-32700`},
		{"batch", `[` + call(1, "echo", `{"value":"secret"}`) + `]`, nil, 400, `batches are not accepted`},
		{"name no text", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":{"a":"secret"}}}`, nil, 400, `name must be text`},
		{"arguments an array", call(1, "echo", `["secret"]`), nil, 200, `"code":-32602,"message":"Invalid request parameters: arguments must be an object"`},
		{"misfit", call(1, "echo", `{"value":1,"secrets":2}`), nil, 200, `argument value must be text; unknown argument`},
		{"foreign host", call(1, "echo", `{"value":"a"}`), []string{"Host", "elsewhere.example"}, 403, ``},
		{"foreign origin", call(1, "echo", `{"value":"a"}`), []string{"Origin", "https://elsewhere.example"}, 403, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, got := post(t, srv.URL+"/mcp", tt.body, tt.header...)
			if code != tt.code || !strings.Contains(got, tt.want) || strings.Contains(got, `"secret"`) {
				t.Errorf("%d %s, want %d with %s", code, got, tt.code, tt.want)
			}
		})
	}
	if code, _ := post(t, srv.URL+"/mcp", strings.Repeat(" ", mcpserver.MaxBody+1)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body beyond the limit: %d", code)
	}
	if code, _ := post(t, srv.URL+"/other", `{}`); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}

// TestServeHTTPEnds: the server ends with its context, also while a call runs,
// and the call is cancelled.
func TestServeHTTPEnds(t *testing.T) {
	tool, running, release := gate()
	defer close(release)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.ServeHTTP(ctx, l, mcpserver.New(withTools(tool)).HTTPHandler(mcpserver.HTTPOptions{Path: "/x"}), nil)
	}()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		req, err := http.NewRequest(http.MethodPost, "http://"+l.Addr().String()+"/x", strings.NewReader(call(1, "gate", `{}`)))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if res, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	<-running
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("end: %v", err)
	}
	<-answered
}
