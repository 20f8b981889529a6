package mcpserver

import (
	"log/slog"
	"net/http"
	"strings"
)

// Protection is the group of tools that find and redact personal data, with
// what capabilities tells of it.
type Protection struct {
	Tools         []Tool
	Statutes      []string // ids of the statutes that can be named, sorted
	WithStatute   []string // jurisdictions that have one, sorted
	Inferable     []string // jurisdictions that text can point at, sorted
	NERConfigured bool     // a model proposes people, organisations and places
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
