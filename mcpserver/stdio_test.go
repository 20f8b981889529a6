package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/mcpserver"
)

// echo answers its argument.
var echo = mcpserver.Tool{
	Name:  "echo",
	Args:  []mcpserver.Arg{{Name: "value", Kind: mcpserver.Text, Required: true}},
	Hints: mcpserver.Query,
	Handler: func(_ context.Context, a *mcpserver.Args) (any, error) {
		return canon.Obj("value", a.Text("value")), nil
	},
}

// gate is a tool that tells when it runs and ends when told, or when cancelled.
func gate() (tool mcpserver.Tool, running chan struct{}, release chan struct{}) {
	running, release = make(chan struct{}, 100), make(chan struct{})
	return mcpserver.Tool{
		Name:  "gate",
		Hints: mcpserver.Query,
		Handler: func(ctx context.Context, _ *mcpserver.Args) (any, error) {
			running <- struct{}{}
			select {
			case <-release:
				return canon.Obj("done", true), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}, running, release
}

func withTools(tools ...mcpserver.Tool) mcpserver.Options {
	return mcpserver.Options{Documents: tools}
}

func call(id int, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func TestBadLines(t *testing.T) {
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	tests := []struct{ name, line, want string }{
		{"not JSON", `not json`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: expected a JSON value at byte 0"}}`},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not accepted: send one message a line"}}`},
		{"scalar", `7`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be a JSON object"}}`},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"\xff\xfe\"}", `{"jsonrpc":"2.0","id":9,"error":{"code":-32700,"message":"Parse error: text is not valid UTF-8 at byte 34"}}`},
		{"lone surrogate", call(2, "echo", `{"value":"\ud800"}`), `{"jsonrpc":"2.0","id":2,"error":{"code":-32700,"message":"Parse error: lone surrogate at byte 98"}}`},
		{"NaN", call(3, "echo", `{"value":NaN}`), `{"jsonrpc":"2.0","id":3,"error":{"code":-32700,"message":"Parse error: NaN and Infinity are not JSON; send null or leave the field out"}}`},
		{"Infinity", call(3, "echo", `{"value":-Infinity}`), `{"jsonrpc":"2.0","id":3,"error":{"code":-32700,"message":"Parse error: NaN and Infinity are not JSON; send null or leave the field out"}}`},
		{"1000 levels", call(4, "echo", `{"value":`+deep+`}`), `{"jsonrpc":"2.0","id":4,"error":{"code":-32700,"message":"Parse error: more than 512 levels of nesting at byte 600"}}`},
		{"cut off", `{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"na`, `{"jsonrpc":"2.0","id":"a\"b","error":{"code":-32700,"message":"Parse error: text does not end at byte 64"}}`},
		{"raw NUL", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\x00\"}", `{"jsonrpc":"2.0","id":5,"error":{"code":-32700,"message":"Parse error: control character in text must be escaped at byte 34"}}`},
		{"no version", `{"id":6,"method":"ping"}`, `{"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}`},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be text or an integer below 2^53"}}`},
		{"id too large", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be text or an integer below 2^53"}}`},
		{"no method", `{"jsonrpc":"2.0","id":7,"metod":"ping"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"not a JSON-RPC request, notification or response"}}`},
		{"method no text", `{"jsonrpc":"2.0","id":8,"method":5}`, `{"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"method must be text"}}`},
		{"params an array", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[1]}`, `{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"Invalid request parameters"}}`},
		{"tool name no text", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":5}}`, `{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"Invalid request parameters: name must be text"}}`},
		{"arguments an array", call(8, "echo", `[]`), `{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"Invalid request parameters: arguments must be an object"}}`},
		{"unknown method", `{"jsonrpc":"2.0","id":8,"method":"no/such"}`, `{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method not found: \"no/such\""}}`},
	}
	s := ready(t, withTools(echo))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.say(tt.line)
			if diff := cmp.Diff(tt.want, s.hear()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			// The next line is served all the same.
			s.say(call(99, "echo", `{"value":"ok"}`))
			if m := s.message(); m.ID != 99.0 || m.Result.IsError {
				t.Errorf("after the bad line: %+v", m)
			}
		})
	}
}

func TestLineForms(t *testing.T) {
	s := open(t, withTools(echo))
	s.say("\ufeff"+initLine+"\r", "", "   ", readyLine+"\r")
	if m := s.message(); m.ID != 0.0 || m.Error != nil {
		t.Fatalf("initialize with a mark and CR LF: %+v", m)
	}
	s.say(call(1, "echo", `{"value":"a\u0000b Élène 😀"}`))
	m := s.message()
	if want := "{\n  \"value\": \"a\\u0000b Élène 😀\"\n}"; m.text() != want {
		t.Errorf("text = %q, want %q", m.text(), want)
	}
	if want := `{"value":"a\u0000b Élène 😀"}`; string(m.Result.StructuredContent) != want {
		t.Errorf("structured content = %s, want %s", m.Result.StructuredContent, want)
	}
}

func TestIDInUse(t *testing.T) {
	tool, running, release := gate()
	s := ready(t, withTools(tool))
	s.say(call(1, "gate", `{}`))
	<-running
	s.say(call(1, "gate", `{}`))
	if m := s.message(); m.ID != nil || m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("second use of an id: %+v", m)
	}
	close(release)
	if m := s.message(); m.ID != 1.0 || m.Result.IsError {
		t.Errorf("first use of the id: %+v", m)
	}
}

func TestAnswersBeforeEnd(t *testing.T) {
	tool, running, release := gate()
	s := ready(t, withTools(echo, tool))
	for i := range 20 {
		s.say(call(i+1, "gate", `{}`))
	}
	s.in.Close()
	for range 20 {
		<-running
	}
	close(release)
	lines, err := s.rest()
	if err != nil {
		t.Errorf("end: %v", err)
	}
	if len(lines) != 20 {
		t.Errorf("%d answers, want 20", len(lines))
	}
}

func TestCancelledIsSilent(t *testing.T) {
	tool, running, release := gate()
	defer close(release)
	s := ready(t, withTools(echo, tool))
	s.say(call(1, "gate", `{}`))
	<-running
	s.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	s.say(call(2, "echo", `{"value":"ok"}`))
	if m := s.message(); m.ID != 2.0 {
		t.Errorf("a cancelled call was answered: %+v", m)
	}
	s.in.Close()
	if lines, err := s.rest(); err != nil || len(lines) != 0 {
		t.Errorf("after the end: %q, %v", lines, err)
	}
}

func TestContextEndsRunningCalls(t *testing.T) {
	tool, running, release := gate()
	defer close(release)
	s := ready(t, withTools(tool))
	s.say(call(1, "gate", `{}`))
	<-running
	s.cancel()
	if err := <-s.ended; err != nil {
		t.Errorf("end by context: %v", err)
	}
}

func TestPanicIsOneCallsError(t *testing.T) {
	secret := "Amina of Kano"
	tools := map[string]func() (any, error){
		"text":     func() (any, error) { panic(secret) },
		"error":    func() (any, error) { panic(errors.New(secret)) },
		"runtime":  func() (any, error) { return []byte(secret)[len(secret)+1], nil },
		"plain":    func() (any, error) { return nil, errors.New(secret) },
		"no value": func() (any, error) { return make(chan int), nil },
		"bad text": func() (any, error) { return canon.Obj("a", "\xff"), nil },
	}
	for name, body := range tools {
		t.Run(name, func(t *testing.T) {
			bad := mcpserver.Tool{Name: "bad", Handler: func(context.Context, *mcpserver.Args) (any, error) { return body() }}
			s := ready(t, withTools(echo, bad))
			s.say(call(1, "bad", `{}`))
			m := s.message()
			if !m.Result.IsError || !strings.HasPrefix(m.text(), "internal error in bad") || strings.Contains(m.text(), secret) {
				t.Errorf("answer: %+v", m)
			}
			s.say(call(2, "echo", `{"value":"ok"}`))
			if m := s.message(); m.Result.IsError {
				t.Errorf("the server after a panic: %+v", m)
			}
		})
	}
}

func TestFaultReachesClient(t *testing.T) {
	tool := mcpserver.Tool{Name: "refuse", Handler: func(context.Context, *mcpserver.Args) (any, error) {
		cause := errors.New("/secret/path")
		return nil, fmt.Errorf("outer: %w", fault.Wrap(cause, fault.Busy, "the ledger is held by another process").WithHint("try again later"))
	}}
	s := ready(t, withTools(tool))
	s.say(call(1, "refuse", `{}`))
	m := s.message()
	if want := "the ledger is held by another process\ntry again later"; m.text() != want || !m.Result.IsError {
		t.Errorf("answer %+v, want %q", m, want)
	}
}

func TestProgress(t *testing.T) {
	tool := mcpserver.Tool{Name: "count", Handler: func(ctx context.Context, _ *mcpserver.Args) (any, error) {
		for i := range int64(1000) {
			mcpserver.Progress(ctx)(i+1, 1000)
		}
		return canon.Obj("done", true), nil
	}}
	s := ready(t, withTools(tool))
	s.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{},"_meta":{"progressToken":"p"}}}`)
	var notices int
	last := 0.0
	for {
		m := s.message()
		if m.Method != "notifications/progress" {
			if m.ID != 1.0 {
				t.Fatalf("unexpected %+v", m)
			}
			break
		}
		notices++
		if m.Params.ProgressToken != "p" || m.Params.Progress <= last || m.Params.Total != 1000 {
			t.Errorf("notice %+v after %v", m.Params, last)
		}
		last = m.Params.Progress
	}
	if last != 1000 || notices > 100 {
		t.Errorf("%d notices, last %v: want the last and few others", notices, last)
	}
	s.say(call(2, "count", `{}`))
	if m := s.message(); m.ID != 2.0 {
		t.Errorf("a notice nobody asked for: %+v", m)
	}
}
