package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/mcpserver"
)

// session is one client of a server over pipes, speaking raw lines.
type session struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	ended  chan error
	cancel context.CancelFunc
}

const initLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
const readyLine = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// open starts a server; the caller speaks first.
func open(t *testing.T, opts mcpserver.Options) *session {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	s := &session{t: t, in: inW, out: bufio.NewReader(outR), ended: make(chan error, 1), cancel: cancel}
	server := mcpserver.New(opts)
	go func() {
		err := server.ServeStdio(ctx, inR, outW)
		outW.Close()
		s.ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
	})
	return s
}

// ready is open with the handshake done.
func ready(t *testing.T, opts mcpserver.Options) *session {
	t.Helper()
	s := open(t, opts)
	s.say(initLine)
	s.hear()
	s.say(readyLine)
	return s
}

func (s *session) say(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Fatalf("write: %v", err)
	}
}

// hear reads the next line of the server.
func (s *session) hear() string {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		s.t.Fatalf("read: %v (got %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// message is a server line as the tests look at it.
type message struct {
	ID     any `json:"id"`
	Method string
	Params struct {
		ProgressToken any
		Progress      float64
		Total         float64
	}
	Error *struct {
		Code    int
		Message string
	}
	Result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
}

func (s *session) message() message {
	s.t.Helper()
	line := s.hear()
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		s.t.Fatalf("not a message: %v: %q", err, line)
	}
	return m
}

// text is the text of a tool's answer.
func (m *message) text() string {
	if len(m.Result.Content) == 0 {
		return ""
	}
	return m.Result.Content[0].Text
}

// rest reads everything until the server ends and returns its error.
func (s *session) rest() ([]string, error) {
	s.t.Helper()
	all, err := io.ReadAll(s.out)
	if err != nil {
		s.t.Fatalf("read: %v", err)
	}
	text := strings.TrimSuffix(string(all), "\n")
	if text == "" {
		return nil, <-s.ended
	}
	return strings.Split(text, "\n"), <-s.ended
}
