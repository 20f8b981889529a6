package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/mcpserver"
)

// readFlags are the flags of every command that shows what a tool answers.
type readFlags struct {
	json   bool
	reveal bool
}

func (f *readFlags) add(cmd *cobra.Command, reveal bool) {
	cmd.Flags().BoolVar(&f.json, "json", false, "the tool's answer as one JSON document")
	if reveal {
		cmd.Flags().BoolVar(&f.reveal, "reveal", false, "show the values of the records too")
	}
}

// tool calls an MCP tool as a client would and prints its answer: as JSON, or
// with text. The answer is the tool's own, so that both surfaces say the same.
func (a *app) tool(ctx context.Context, name string, args *canon.Object, f readFlags, text func(*canon.Object)) error {
	answer, err := a.callTool(ctx, name, args, f.reveal)
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSON(answer)
	}
	text(answer)
	return nil
}

// ledgerTools are the tools that need a ledger.
var ledgerTools = map[string]bool{"decision": true, "explain": true, "replay": true, "entities": true, "path": true,
	"cases": true, "resolve": true, "observe": true}

func (a *app) callTool(ctx context.Context, name string, args *canon.Object, reveal bool) (*canon.Object, error) {
	if ledgerTools[name] {
		if _, err := a.needLedgerURI(); err != nil {
			return nil, err
		}
	}
	log, err := a.logger("warn", "text")
	if err != nil {
		return nil, err
	}
	opts, closeAll, err := a.serverOptions(".", "decisions", log)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	opts.Actor = a.actor("cli")
	raw, err := canon.Compact(args)
	if err != nil {
		return nil, err
	}
	reply, err := mcpserver.New(opts).Call(ledger.WithActor(ctx, opts.Actor), name, raw)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case reply.Fault != nil:
		return nil, reply.Fault
	}
	answer, ok := reply.Value.(*canon.Object)
	if !ok {
		return nil, fault.New(fault.Internal, "%s answered no object", name)
	}
	if reveal {
		return revealed(ctx, opts.Ledger, answer)
	}
	return answer, nil
}

// revealed adds the record values to an answer: "values" beside each record_id,
// "values_a" and "values_b" beside the two records of a decision. A record whose
// values were erased gets null.
func revealed(ctx context.Context, l *ledger.Ledger, answer *canon.Object) (*canon.Object, error) {
	if l == nil {
		return answer, nil
	}
	r := revealer{ctx: ctx, ledger: l, known: map[string]any{}}
	v, err := r.walk(answer)
	if err != nil {
		return nil, err
	}
	return v.(*canon.Object), nil
}

type revealer struct {
	ctx    context.Context
	ledger *ledger.Ledger
	known  map[string]any
}

// pairs of a key that names a record and the key its values come under.
var revealKeys = [][2]string{{"record_id", "values"}, {"record_a", "values_a"}, {"record_b", "values_b"}}

func (r *revealer) walk(v any) (any, error) {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			w, err := r.walk(e)
			if err != nil {
				return nil, err
			}
			out[i] = w
		}
		return out, nil
	case []*canon.Object:
		out := make([]any, len(x))
		for i, e := range x {
			w, err := r.walk(e)
			if err != nil {
				return nil, err
			}
			out[i] = w
		}
		return out, nil
	case *canon.Object:
		return r.object(x)
	}
	return v, nil
}

func (r *revealer) object(o *canon.Object) (any, error) {
	if o == nil {
		return nil, nil
	}
	out := &canon.Object{}
	for key, v := range o.All() {
		w, err := r.walk(v)
		if err != nil {
			return nil, err
		}
		out.Set(key, w)
	}
	for _, keys := range revealKeys {
		id, ok := o.Value(keys[0]).(string)
		if !ok || !strings.HasPrefix(id, "rec:") {
			continue
		}
		values, err := r.values(id)
		if err != nil {
			return nil, err
		}
		out.Set(keys[1], values)
	}
	return out, nil
}

func (r *revealer) values(id string) (any, error) {
	if v, ok := r.known[id]; ok {
		return v, nil
	}
	data, err := r.ledger.Blob(r.ctx, id)
	var v any
	switch f := fault.As(err); {
	case f != nil && f.Kind == fault.NotFound: // erased
	case err != nil:
		return nil, err
	default:
		if v, err = canon.Parse(data, canon.Limits{Depth: 1 << 12, NonFinite: true}); err != nil {
			return nil, errors.Join(errors.New("a stored record is not JSON"), err)
		}
	}
	r.known[id] = v
	return v, nil
}
