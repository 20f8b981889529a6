package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

const (
	completeMost = 100    // values offered at once, the protocol's limit
	completeScan = 20_000 // events looked through for them
)

func paramsError(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// complete offers values for an argument of a prompt or a resource URI.
func (s *Server) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	p := req.Params
	what := p.Argument.Name
	if p.Ref.Type == "ref/resource" {
		for _, r := range resources {
			if strings.HasPrefix(p.Ref.URI, r.prefix) {
				what = r.name
			}
		}
	}
	values, err := s.candidates(ctx, what, p.Argument.Value)
	if err != nil {
		return nil, err
	}
	slices.Sort(values)
	values = slices.Compact(values)
	details := mcp.CompletionResultDetails{Values: []string{}, Total: len(values)}
	if len(values) > completeMost {
		values, details.HasMore = values[:completeMost], true
	}
	details.Values = append(details.Values, values...)
	return &mcp.CompleteResult{Completion: details}, nil
}

// candidates are the values of one kind that start with prefix.
func (s *Server) candidates(ctx context.Context, what, prefix string) ([]string, error) {
	switch what {
	case "pack", "entity_type":
		return startingWith(resolve.Entities(), prefix), nil
	case "decision", "decision_id":
		return s.decisionIDs(ctx, prefix)
	case "entity":
		return startingWith(s.entityIDs(ctx), prefix), nil
	case "document":
		return startingWith(s.documentPaths(ctx), prefix), nil
	}
	return nil, nil
}

func startingWith(all []string, prefix string) []string {
	var out []string
	for _, v := range all {
		if strings.HasPrefix(v, prefix) {
			out = append(out, v)
		}
	}
	return out
}

// decisionIDs reads ids of recorded decisions out of the log.
func (s *Server) decisionIDs(ctx context.Context, prefix string) ([]string, error) {
	if s.opts.Ledger == nil {
		return nil, nil
	}
	var out []string
	scanned := 0
	for e, err := range s.opts.Ledger.Events(ctx, ledger.Filter{Kinds: []string{"decision.recorded"}}) {
		if err != nil {
			return nil, s.tell(ctx, "completion", err)
		}
		id, _, _ := strings.Cut(e.Subject(), "@")
		if strings.HasPrefix(id, prefix) {
			out = append(out, id)
		}
		if scanned++; scanned == completeScan || len(out) > completeMost {
			break
		}
	}
	return out, nil
}

func (s *Server) entityIDs(ctx context.Context) []string {
	var out []string
	if answer, err := s.Ask(ctx, "entities", canon.Obj()); err == nil {
		for _, e := range objectsOf(answer.Value("entities")) {
			id, _ := e.Value("entity_id").(string)
			out = append(out, id)
		}
	}
	return out
}

func (s *Server) documentPaths(ctx context.Context) []string {
	var out []string
	if answer, err := s.Ask(ctx, "list_documents", canon.Obj("limit", 500)); err == nil {
		for _, e := range objectsOf(answer.Value("documents")) {
			path, _ := e.Value("path").(string)
			out = append(out, path)
		}
	}
	return out
}

// objectsOf is a list of an answer, whatever Go type it was made of.
func objectsOf(v any) []*canon.Object {
	switch list := v.(type) {
	case []*canon.Object:
		return list
	case []any:
		var out []*canon.Object
		for _, e := range list {
			if o, ok := e.(*canon.Object); ok {
				out = append(out, o)
			}
		}
		return out
	}
	return nil
}
