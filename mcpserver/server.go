package mcpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is one set of tools, served over any number of sessions at once.
type Server struct {
	opts  Options
	log   *slog.Logger
	tools []Tool         // in the order they are listed
	rank  map[string]int // place of each tool in tools
	mcp   *mcp.Server
}

// New makes a server of the tools that opts gives something to work on.
func New(opts Options) *Server {
	s := &Server{opts: opts, log: opts.Log, rank: map[string]int{}}
	if s.log == nil {
		s.log = discardLogger
	}
	s.tools = s.collect()
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "arche", Title: "arche", Version: Version},
		&mcp.ServerOptions{
			Logger: s.log,
			Capabilities: &mcp.ServerCapabilities{
				Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
			},
			PageSize:          len(s.tools) + 1,
			SetCacheable:      private,
			CompletionHandler: s.complete,
		})
	for i := range s.tools {
		t := &s.tools[i]
		s.rank[t.Name] = i
		s.mcp.AddTool(sdkTool(t), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, t, req)
		})
	}
	s.addResources()
	s.addPrompts()
	s.mcp.AddReceivingMiddleware(s.guard, s.listInOrder, s.nameUnknownTools)
	return s
}

// Tools returns the served tools in their order.
func (s *Server) Tools() []Tool { return slices.Clone(s.tools) }

// collect gathers the groups that are present, in the published order.
func (s *Server) collect() []Tool {
	if s.opts.Groups == DocumentsTools {
		return s.opts.Documents
	}
	all := s.engineTools()
	if s.opts.Protection != nil {
		all = append(all, s.opts.Protection.Tools...)
	}
	all = append(all, s.ledgerTools()...)
	place := func(t Tool) int {
		if i := slices.Index(publishedOrder, t.Name); i >= 0 {
			return i
		}
		return len(publishedOrder)
	}
	slices.SortStableFunc(all, func(a, b Tool) int { return place(a) - place(b) })
	if s.opts.Groups == DecisionTools {
		return all
	}
	return append(all, s.opts.Documents...)
}

// publishedOrder is the order in which clients know the tools; hosts cache
// prompts by it.
var publishedOrder = []string{
	"capabilities", "infer_jurisdiction", "plan_protection", "describe_pack", "detect_pii",
	"detect_entities", "guarded_scan", "why_unresolved", "check_name_equivalence", "compare_records",
	"extract_places", "decision", "explain", "replay", "entities", "path", "cases", "resolve", "observe",
}

// sdkTool is a tool as the protocol lists it.
func sdkTool(t *Tool) *mcp.Tool {
	return &mcp.Tool{
		Name:         t.Name,
		Title:        t.Title,
		Description:  t.Description,
		InputSchema:  inputSchema(t),
		OutputSchema: outputSchema(t),
		Annotations: &mcp.ToolAnnotations{
			Title:           t.Title,
			ReadOnlyHint:    t.Hints.ReadOnly,
			DestructiveHint: &t.Hints.Destructive,
			IdempotentHint:  t.Hints.Idempotent,
			OpenWorldHint:   &t.Hints.OpenWorld,
		},
	}
}

// private keeps shared caches from holding what a ledger answered.
func private(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" }

// listInOrder puts tools/list, which the SDK sorts by name, in our order.
func (s *Server) listInOrder(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
			slices.SortFunc(list.Tools, func(a, b *mcp.Tool) int { return s.rank[a.Name] - s.rank[b.Name] })
		}
		return res, err
	}
}

// nameUnknownTools makes a call of a tool that is not there a result a model
// can read, as the published server does.
func (s *Server) nameUnknownTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && method == "tools/call" {
			if _, known := s.rank[call.Params.Name]; !known {
				return failure("Unknown tool: " + call.Params.Name), nil
			}
		}
		return next(ctx, method, req)
	}
}

// endGrace is how long running calls may take to notice that the server ends.
const endGrace = 500 * time.Millisecond

// ServeStdio serves one client over a pair of pipes until the input ends and
// every answer owed is written, or until ctx is done. It returns nil in both
// cases and closes neither in nor out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	var transport mcp.Transport = &stdioTransport{in: in, out: out, log: s.log, stop: ctx.Done()}
	if s.opts.Trace != nil {
		transport = &mcp.LoggingTransport{Transport: transport, Writer: s.opts.Trace}
	}
	session, err := s.mcp.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- session.Wait() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		// The transport stops reading, which cancels the calls still running.
		select {
		case <-done: //nolint:errcheck // that it ended matters, not how
		case <-time.After(endGrace):
			s.log.Warn("ended with calls still running")
		}
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// protocolError reports whether err is one for the protocol, not for the model.
func protocolError(err error) (*jsonrpc.Error, bool) {
	var e *jsonrpc.Error
	ok := errors.As(err, &e)
	return e, ok
}
