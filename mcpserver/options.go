package mcpserver

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arche-ledger/arche/ledger"
)

// Options say what a server works on. A group whose value is missing is not
// registered. The zero value serves the tools that need nothing.
type Options struct {
	// Ledger records what compare_records decides and adds the eight tools
	// that read and extend it.
	Ledger *ledger.Ledger
	// Protection adds the tools that find and redact personal data.
	Protection *Protection
	// Documents adds the tools of the knowledge base.
	Documents []Tool
	// Groups says which tools are served.
	Groups Groups
	// Signer attests every answer.
	Signer Signer
	// PackVersion and Engine are what comparisons run under; "" is the default
	// of package resolve.
	PackVersion, Engine string
	// Actor is named in events; "" is mcp: and the name the client gave.
	Actor string
	// Trace takes every message of a stdio session, both ways; nil traces
	// nothing. Messages hold record values.
	Trace io.Writer
	// Log takes what happens beside the protocol; nil discards it.
	Log *slog.Logger
}

// Groups says which tools of those present are served.
type Groups int

// The choices of tools.
const (
	AllTools       Groups = iota
	DecisionTools         // all but the knowledge base
	DocumentsTools        // the knowledge base alone
)

// Protection is the group of tools that find and redact personal data, with
// what capabilities tells of it.
type Protection struct {
	Tools         []Tool
	Statutes      []string // ids of the statutes that can be named, sorted
	WithStatute   []string // jurisdictions that have one, sorted
	Inferable     []string // jurisdictions that text can point at, sorted
	NERConfigured bool     // a model proposes people, organisations and places
	Documents     bool     // arche detect and redact read PDF, DOCX, HTML and e-mail
}

// withActor names who events of this call are by.
func (s *Server) withActor(ctx context.Context, session *mcp.ServerSession) context.Context {
	if s.opts.Actor != "" {
		return ledger.WithActor(ctx, s.opts.Actor)
	}
	if c := Caller(ctx); c != nil {
		return ledger.WithActor(ctx, "http:"+Shorten(*c))
	}
	name := "unknown"
	if p := session.InitializeParams(); p != nil && p.ClientInfo != nil && p.ClientInfo.Name != "" {
		name = Shorten(p.ClientInfo.Name)
	}
	return ledger.WithActor(ctx, "mcp:"+name)
}

// Shorten keeps a name that a client chose from filling the log.
func Shorten(name string) string {
	if r := []rune(strings.ToValidUTF8(name, "")); len(r) > 80 {
		return string(r[:80])
	}
	return strings.ToValidUTF8(name, "")
}

func callerOf(h http.Header) *string {
	c := strings.TrimSpace(h.Get("X-Arche-Caller"))
	if c == "" {
		return nil
	}
	return &c
}

// discardLogger is what a server logs to when it was given no logger.
var discardLogger = slog.New(slog.DiscardHandler)
