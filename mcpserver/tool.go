// Package mcpserver serves arche's tools over the Model Context Protocol.
//
// Call New with Options, then Server.ServeStdio or Server.HTTPHandler. A group
// of tools is registered only when what it works on was passed, so a client
// never sees a tool that can only fail. Tools are values of type Tool: raw
// arguments go through one argument layer (args.go), the handler answers a
// value, and the server shapes, signs and sends it. Every handler runs under a
// recover; calls run concurrently; nothing but the protocol reaches stdout.
package mcpserver

import (
	"context"
	"net/http"

	"github.com/arche-ledger/arche/internal/canon"
)

// Tool is one MCP tool.
type Tool struct {
	Name        string // as on the wire
	Title       string // for people, a few words
	Description string // for the model: what it answers, what it never does
	Args        []Arg  // in the order they are listed
	Output      []Out  // the keys of the answer; none = any object
	Hints       Hints
	// Lenient arguments reach the handler as the client sent them (Args.Raw):
	// only unknown names are refused, types are the handler's business.
	Lenient bool
	// Handler answers a *canon.Object or a struct with json tags (sent as
	// JSON text and structured content), or a Plain (sent as it is). A
	// *fault.Error reaches the client as the tool's error; any other error is
	// logged and reported as an internal one.
	Handler func(ctx context.Context, args *Args) (any, error)
}

// Plain is an answer that is text and no JSON.
type Plain string

// Hints are the four hints of a tool; all are sent.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may take something away
	Idempotent  bool // the same call again changes nothing more
	OpenWorld   bool // reaches beyond this machine
}

// Query is the hints of a tool that only reads.
var Query = Hints{ReadOnly: true, Idempotent: true}

// Append is the hints of a tool that adds and, called again, adds nothing.
var Append = Hints{Idempotent: true}

// Kind is the type of an argument.
type Kind int

// The kinds, with the Go value a handler reads.
const (
	Text    Kind = iota // string
	Enum                // string, one of Arg.Enum
	Number              // float64; text that reads as a number is taken
	Integer             // int; 3.0 and "3" are taken
	Bool                // bool; "true", "yes", "on", "1" and their opposites are taken
	Object              // *canon.Object; JSON text of an object is taken
	Objects             // []*canon.Object; JSON text of an array is taken
	Texts               // []string; JSON text of an array is taken
)

// Arg declares one argument.
type Arg struct {
	Name        string
	Kind        Kind
	Description string
	Required    bool
	// Nullable arguments may be null, empty text or the text "null": all three
	// mean absent, as clients send them. Required ones are never nullable.
	Nullable bool
	// Default is filled in when the argument is absent: a string, bool, int,
	// canon.Float (Number), []string, or nil. Attestations cover it.
	Default any
	Enum    []string
	// Accept takes further values of an Enum that the schema does not list.
	Accept func(string) bool
	// Added marks an argument that the published tool lacks: while absent it is
	// left out of what attestations cover, so that they hash as published.
	Added    bool
	NonEmpty bool // text, object or array must not be empty
	MaxLen   int  // bytes of a text, items of an array; 0 = no limit of its own
	Min, Max *float64
}

// Out declares one key of an answer for the output schema. Answers may carry
// more keys than are declared.
type Out struct {
	Name        string
	Type        string // string, number, integer, boolean, object, array; "string|null" and the like
	Items       string // type of an array's items, when Type is array
	Description string
	Optional    bool // not in every answer
}

// Signer attests answers. Attest returns the envelope over a tool's name, its
// arguments with every default filled in, and the answer without the envelope;
// caller is nil over stdio.
type Signer interface {
	Attest(tool string, args, answer any, caller *string) (*canon.Object, error)
	DID() string
}

// progressKey carries the reporter of the running call.
type progressKey struct{}

// Progress returns the function a handler reports work done and work in all
// with. It is never nil, may be called often and from any goroutine, and sends
// at most four notices a second, only to a client that asked for them.
func Progress(ctx context.Context) func(done, total int64) {
	if f, ok := ctx.Value(progressKey{}).(func(done, total int64)); ok {
		return f
	}
	return func(int64, int64) {}
}

// callerKey carries who called over HTTP.
type callerKey struct{}

// Caller returns the X-Arche-Caller of the HTTP request the call came with, or
// nil.
func Caller(ctx context.Context) *string {
	c, _ := ctx.Value(callerKey{}).(*string)
	return c
}

func withCaller(ctx context.Context, h http.Header) context.Context {
	if c := callerOf(h); c != nil {
		return context.WithValue(ctx, callerKey{}, c)
	}
	return ctx
}
