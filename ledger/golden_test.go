package ledger_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// memory opens an in-memory ledger with a clock that moves a second a call.
func memory(t testing.TB) *ledger.Ledger {
	t.Helper()
	return open(t, "duckdb:///:memory:", ledger.Options{})
}

func open(t testing.TB, uri string, o ledger.Options) *ledger.Ledger {
	t.Helper()
	if o.Clock == nil {
		o.Clock = arctest.NewClock().Now
	}
	l, err := ledger.Open(uri, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func objects(v any) []*canon.Object {
	list, _ := v.([]any)
	out := make([]*canon.Object, len(list))
	for i, e := range list {
		out[i], _ = e.(*canon.Object)
	}
	return out
}

// tools calls the ledger's verbs by tool name, as the server does.
func tools(ctx context.Context, l *ledger.Ledger) arctest.Call {
	return func(tool string, args *canon.Object) (any, error) {
		text := func(key string) string { s, _ := args.Value(key).(string); return s }
		switch tool {
		case "compare_records":
			req := resolve.Request{
				A: objects(args.Value("list_a")), B: objects(args.Value("list_b")), Entity: text("entity"),
				Backend: text("backend"), IDField: text("id_field"), Threshold: resolve.DefaultThreshold,
			}
			if args.Value("comparators") != nil {
				req.Comparators = objects(args.Value("comparators"))
			}
			if n, ok := args.Value("threshold").(canon.Number); ok {
				req.Threshold = n.Float()
			}
			res, err := l.Compare(ctx, req)
			if err != nil {
				return nil, err
			}
			return res.Answer(), nil
		case "decision":
			return l.Decision(ctx, text("decision_id"))
		case "explain":
			return l.Explain(ctx, text("decision_id"))
		case "replay":
			return l.Replay(ctx, text("decision_id"))
		case "entities":
			return l.Entities(ctx, text("entity_type"))
		case "cases":
			return l.Cases(ctx, text("entity_type"))
		case "path":
			return l.Path(ctx, text("record_a"), text("record_b"))
		case "resolve":
			rec, ok := args.Value("record").(*canon.Object)
			if !ok {
				return nil, fault.New(fault.Invalid, "record is no object")
			}
			return l.Resolve(ctx, rec, text("entity_type"))
		case "observe":
			ev, ok := args.Value("evidence").(*canon.Object)
			if !ok {
				return nil, fault.New(fault.Invalid, "evidence is no object")
			}
			return l.Observe(ctx, text("record_id"), ev)
		}
		return nil, fmt.Errorf("no tool %s", tool)
	}
}

// TestGoldenScenarios plays every recorded scenario. Those that record a defect
// of the reference are shown by tests of their own (better_test.go).
func TestGoldenScenarios(t *testing.T) {
	agree, all := 0, 0
	for _, v := range arctest.Vectors(t, "ledger.jsonl") {
		if v.Fault != "" {
			continue
		}
		all++
		t.Run(v.ID, func(t *testing.T) {
			if err := v.Run(tools(t.Context(), memory(t))); err != nil {
				t.Error(err)
				return
			}
			agree++
		})
	}
	t.Logf("%d of %d scenarios agree", agree, all)
}
