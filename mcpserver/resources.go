package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// resource is one family of things a client can read by URI. Each is a view of
// a tool, so that both say the same: id becomes the tool's argument.
type resource struct {
	prefix, name, title, description, mime string

	tool string
	args func(id string) *canon.Object
	// pick cuts the answer down to what the URI names; nil keeps all of it.
	pick func(answer *canon.Object, id string) (any, bool)
}

func oneArg(name string) func(string) *canon.Object {
	return func(id string) *canon.Object { return canon.Obj(name, id) }
}

// resources are all families; those whose tool is not served are left out.
var resources = []resource{
	{
		prefix: "arche://pack/", name: "pack", title: "Entity pack", mime: "application/json",
		description: "The fields an entity pack reads and how it weighs them.",
		tool:        "describe_pack", args: oneArg("entity"),
	},
	{
		prefix: "arche://decision/", name: "decision", title: "Recorded decision", mime: "application/json",
		description: "The receipt of one decision, by its id.",
		tool:        "decision", args: oneArg("decision_id"),
	},
	{
		prefix: "arche://entity/", name: "entity", title: "Entity", mime: "application/json",
		description: "One entity with its records by label and what holds them together.",
		tool:        "entities", args: func(string) *canon.Object { return canon.Obj() }, pick: pickEntity,
	},
	{
		prefix: "arche://document/", name: "document", title: "Document", mime: "text/markdown",
		description: "The text of one document of the knowledge base, by its path.",
		tool:        "get_document", args: oneArg("path"), pick: pickContent,
	},
}

func pickEntity(answer *canon.Object, id string) (any, bool) {
	for _, o := range objectsOf(answer.Value("entities")) {
		if o.Value("entity_id") == id {
			return o, true
		}
	}
	return nil, false
}

func pickContent(answer *canon.Object, _ string) (any, bool) {
	text, ok := answer.Value("content").(string)
	return Plain(text), ok
}

// addResources registers the families whose tool is served.
func (s *Server) addResources() {
	for _, r := range resources {
		if _, served := s.rank[r.tool]; !served {
			continue
		}
		s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
			URITemplate: r.prefix + "{+id}", Name: r.name, Title: r.title, Description: r.description, MIMEType: r.mime,
		}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return s.read(ctx, r, req)
		})
	}
}

// read answers one resources/read through the tool.
func (s *Server) read(ctx context.Context, r resource, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id, err := url.PathUnescape(strings.TrimPrefix(uri, r.prefix))
	if err != nil || id == "" {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	raw, err := canon.Compact(r.args(id))
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	reply, err := s.Call(s.withActor(ctx, req.Session), r.tool, raw)
	if err != nil {
		return nil, err
	}
	if f := reply.Fault; f != nil {
		if f.Kind == fault.NotFound || f.Kind == fault.Invalid {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: faultText(f)}
	}
	text := reply.Answer
	if answer, ok := reply.Value.(*canon.Object); ok && r.pick != nil {
		part, found := r.pick(answer, id)
		if !found {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		if text, err = partText(part); err != nil {
			return nil, err
		}
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: r.mime, Text: string(text)}}}, nil
}

func partText(part any) ([]byte, error) {
	if p, ok := part.(Plain); ok {
		return []byte(p), nil
	}
	return canon.Indent(part)
}

// guard turns a panic anywhere outside a tool's handler into that request's
// internal error; the SDK would end the process.
func (s *Server) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.ErrorContext(ctx, "request failed", slog.String("method", method),
					slog.String("panic", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		return next(ctx, method, req)
	}
}
