package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// Reply is what one call came to: an answer or a refusal, never both.
type Reply struct {
	Value  any          // *canon.Object, or Plain
	Fault  *fault.Error // what the client is told instead
	Answer []byte       // the value as it is sent
}

// Call runs a tool by name on raw arguments, as the transports do: argument
// layer, recover, attestation. The error is for the protocol (arguments that
// are no object); everything a model should read is in the reply.
func (s *Server) Call(ctx context.Context, name string, arguments json.RawMessage) (*Reply, error) {
	i, ok := s.rank[name]
	if !ok {
		return &Reply{Fault: fault.New(fault.Invalid, "Unknown tool: %s", name)}, nil
	}
	t := &s.tools[i]
	decode := decodeArgs
	if t.Lenient {
		decode = lenientArgs
	}
	args, err := decode(t.Name, t.Args, arguments)
	if err != nil {
		if f := fault.As(err); f != nil {
			return &Reply{Fault: f}, nil
		}
		return nil, err
	}
	value, err := s.run(ctx, t, args)
	if err != nil {
		return &Reply{Fault: s.tell(ctx, t.Name, err)}, nil
	}
	reply, err := s.finish(ctx, t, args, value)
	if err != nil {
		return &Reply{Fault: s.tell(ctx, t.Name, err)}, nil
	}
	return reply, nil
}

// call answers one tools/call.
func (s *Server) call(ctx context.Context, t *Tool, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Extra != nil {
		ctx = withCaller(ctx, req.Extra.Header)
	}
	ctx = s.withActor(ctx, req.Session)
	ctx = withProgress(ctx, req)
	reply, err := s.Call(ctx, t.Name, req.Params.Arguments)
	switch {
	case err != nil:
		return nil, err
	case reply.Fault != nil:
		return failure(faultText(reply.Fault)), nil
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(reply.Answer)}}}
	if o, ok := reply.Value.(*canon.Object); ok {
		structured, err := canon.Compact(o)
		if err != nil {
			return nil, err
		}
		res.StructuredContent = json.RawMessage(structured)
	}
	return res, nil
}

// panicked is a panic of a handler, turned into an error.
type panicked struct {
	kind  string // type of the panic's value; the value itself may hold data
	stack []byte
}

func (p *panicked) Error() string { return "panic in a tool: " + p.kind }

// run calls the handler under a recover: a panic is that call's error.
func (s *Server) run(ctx context.Context, t *Tool, args *Args) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			kind := fmt.Sprintf("%T", p)
			if e, ok := p.(interface{ RuntimeError() }); ok {
				kind = fmt.Sprint(e)
			}
			err = &panicked{kind: kind, stack: debug.Stack()}
		}
	}()
	return t.Handler(ctx, args)
}

// tell turns any error into the fault the client reads, and logs what the
// client is not told.
func (s *Server) tell(ctx context.Context, tool string, err error) *fault.Error {
	f := fault.As(err)
	switch {
	case f != nil && f.Kind != fault.Internal:
		s.log.DebugContext(ctx, "tool refused", slog.String("tool", tool), slog.String("kind", f.Kind.String()))
		return f
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Refused, "%s was cancelled", tool)
	}
	attrs := []any{slog.String("tool", tool), slog.Any("error", err)}
	if p, ok := errors.AsType[*panicked](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	if f != nil && f.Err != nil {
		attrs = append(attrs, slog.Any("cause", f.Err))
	}
	s.log.ErrorContext(ctx, "tool failed", attrs...)
	if f != nil {
		return f
	}
	return fault.New(fault.Internal, "internal error in %s; nothing was changed", tool).
		WithHint("the server's log on standard error says more; please report it")
}

// finish shapes the answer and signs it.
func (s *Server) finish(ctx context.Context, t *Tool, args *Args, value any) (*Reply, error) {
	if p, ok := value.(Plain); ok {
		return &Reply{Value: p, Answer: []byte(p)}, nil
	}
	o, err := answerObject(value)
	if err != nil {
		return nil, fmt.Errorf("shape the answer: %w", err)
	}
	if s.opts.Signer != nil {
		if o, err = s.attest(ctx, t.Name, args, o); err != nil {
			return nil, fmt.Errorf("attest the answer: %w", err)
		}
	}
	text, err := canon.Indent(o)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return &Reply{Value: o, Answer: text}, nil
}

// answerObject is the answer as a JSON object that keeps key order and number
// literals.
func answerObject(value any) (*canon.Object, error) {
	if o, ok := value.(*canon.Object); ok && o != nil {
		return o, nil
	}
	b, err := canon.Compact(value)
	if err != nil {
		return nil, err
	}
	return canon.ParseObject(b, canon.Limits{Depth: 1 << 16})
}

// attest adds the envelope over what remains of the answer without it, so that
// a verifier who takes the envelope away finds what was signed.
func (s *Server) attest(ctx context.Context, tool string, args *Args, answer *canon.Object) (*canon.Object, error) {
	signed := answer.Clone()
	signed.Delete("attestation")
	envelope, err := s.opts.Signer.Attest(tool, args.Filled(), signed, Caller(ctx))
	if err != nil {
		return nil, err
	}
	out := answer.Clone()
	out.Set("attestation", envelope)
	return out, nil
}

func failure(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// faultText is what a client reads of a fault: the reason, then the next step.
func faultText(f *fault.Error) string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "\n" + f.Hint
}

// progressEvery is the least time between two notices of one call.
const progressEvery = 250 * time.Millisecond

// withProgress gives the handler a reporter when the client asked for one.
func withProgress(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	token := req.Params.GetProgressToken()
	if token == nil {
		return ctx
	}
	var mu sync.Mutex
	var last time.Time
	highest := int64(-1)
	report := func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if done <= highest || now.Sub(last) < progressEvery && done != total {
			return
		}
		last, highest = now, done
		// A notice that can't be sent is no reason to fail the call.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(done), Total: float64(total),
		})
	}
	return context.WithValue(ctx, progressKey{}, report)
}

// Ask calls a tool for its answer alone, unsigned, as other surfaces of the
// same program do. The answer is as parsed from its JSON: objects are
// *canon.Object, arrays []any, numbers canon.Number. The error is a
// *fault.Error.
func (s *Server) Ask(ctx context.Context, name string, args *canon.Object) (*canon.Object, error) {
	i, ok := s.rank[name]
	if !ok {
		return nil, fault.New(fault.Invalid, "Unknown tool: %s", name)
	}
	t := &s.tools[i]
	raw, err := canon.Compact(args)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "arguments that can't be encoded")
	}
	decoded, err := decodeArgs(t.Name, t.Args, raw)
	if err != nil {
		return nil, err
	}
	value, err := s.run(ctx, t, decoded)
	if err != nil {
		return nil, s.tell(ctx, name, err)
	}
	b, err := canon.Compact(value)
	if err != nil {
		return nil, s.tell(ctx, name, err)
	}
	o, err := canon.ParseObject(b, canon.Limits{Depth: 1 << 16})
	if err != nil {
		return nil, s.tell(ctx, name, err)
	}
	return o, nil
}

// Serves reports whether a tool is there.
func (s *Server) Serves(name string) bool {
	_, ok := s.rank[name]
	return ok
}
