package mcpserver

import (
	"context"
)

// ledgerTools are the tools over recorded decisions; none without a ledger.
func (s *Server) ledgerTools() []Tool {
	if s.opts.Ledger == nil {
		return nil
	}
	return []Tool{
		s.decisionTool(), s.explainTool(), s.replayTool(), s.entitiesTool(),
		s.pathTool(), s.casesTool(), s.resolveTool(), s.observeTool(),
	}
}

func decisionArg() Arg {
	return Arg{Name: "decision_id", Kind: Text, Required: true, Description: "xwd:sha256:... or dec:sha256:..., as compare_records, resolve, cases or path gave it."}
}

func typeArg() Arg {
	return Arg{Name: "entity_type", Kind: Text, Nullable: true, Description: "Only this pack's records; null is all."}
}

func (s *Server) decisionTool() Tool {
	return Tool{
		Name:  "decision",
		Title: "A recorded decision",
		Description: "The receipt of one decision: verdict, score, factors and pins, the two records by label and field names, " +
			"what it superseded and what superseded it. Record values stay in the ledger.",
		Args: []Arg{decisionArg()},
		Output: []Out{
			{Name: "decision_id", Type: "string"},
			{Name: "verb", Type: "string", Description: "reconcile, compare, resolve or observe"},
			{Name: "identity", Type: "string"},
			{Name: "action", Type: "string", Description: "merge, hold or no_op"},
			{Name: "score", Type: "number|null"},
			{Name: "explanation", Type: "string"},
			{Name: "factors", Type: "object|null"},
			{Name: "pins", Type: "object"},
			{Name: "record_a", Type: "string"},
			{Name: "record_b", Type: "string"},
			{Name: "records", Type: "array", Items: "object", Description: "record_id, label, entity_type, fields, from_text"},
			{Name: "entity_id", Type: "string|null"},
			{Name: "recorded_at", Type: "string"},
			{Name: "supersedes", Type: "string|null"},
			{Name: "superseded_by", Type: "string|null"},
		},
		Hints: Query,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			return s.opts.Ledger.Decision(ctx, a.Text("decision_id"))
		},
	}
}

func (s *Server) explainTool() Tool {
	return Tool{
		Name:  "explain",
		Title: "Why a decision fell as it did",
		Description: "Which fields supported a decision, which spoke against it, which were missing, and which both records carry " +
			"with the same value. Names of fields only.",
		Args: []Arg{decisionArg()},
		Output: []Out{
			{Name: "decision_id", Type: "string"},
			{Name: "identity", Type: "string"},
			{Name: "action", Type: "string"},
			{Name: "explanation", Type: "string"},
			{Name: "supporting", Type: "array", Items: "string"},
			{Name: "refuting", Type: "array", Items: "string"},
			{Name: "missing", Type: "array", Items: "string"},
			{Name: "shared", Type: "array", Items: "string"},
		},
		Hints: Query,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			return s.opts.Ledger.Explain(ctx, a.Text("decision_id"))
		},
	}
}

func (s *Server) replayTool() Tool {
	return Tool{
		Name:  "replay",
		Title: "Make a decision again",
		Description: "Decides the recorded records again now. reproduced is true when the very same decision_id comes out; " +
			"otherwise changed names every factor and pin that moved.",
		Args: []Arg{decisionArg()},
		Output: []Out{
			{Name: "decision_id", Type: "string"},
			{Name: "reproduced", Type: "boolean"},
			{Name: "then", Type: "object"},
			{Name: "now", Type: "object|null"},
			{Name: "changed", Type: "object"},
		},
		Hints: Query,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			return s.opts.Ledger.Replay(ctx, a.Text("decision_id"))
		},
	}
}

func (s *Server) entitiesTool() Tool {
	return Tool{
		Name:  "entities",
		Title: "What is linked",
		Description: "The entities that decisions have linked, largest first: their records by label, the fields they share and " +
			"contradict each other in, and what holds them together. Look at transitive ones first: weak_links names the records " +
			"without which they fall apart.",
		Args: append([]Arg{typeArg()}, PageArgs()...),
		Output: []Out{
			{Name: "count", Type: "integer"},
			{Name: "entities", Type: "array", Items: "object"},
			{Name: "truncated", Type: "boolean", Optional: true, Description: "with limit: more follow after this page"},
		},
		Hints: Query,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			answer, err := s.opts.Ledger.Entities(ctx, a.Text("entity_type"))
			if err != nil {
				return nil, err
			}
			return page(answer, "entities", a), nil
		},
	}
}

func (s *Server) pathTool() Tool {
	return Tool{
		Name:  "path",
		Title: "How two records hang together",
		Description: "The chain of decisions between two records. More than one hop means the two were never compared with each " +
			"other; no chain means they are not one entity. Takes record ids, not labels.",
		Args: []Arg{
			{Name: "record_a", Kind: Text, Required: true, Description: "rec:sha256:..., from decision, entities or cases."},
			{Name: "record_b", Kind: Text, Required: true, Description: "The other record id."},
		},
		Output: []Out{
			{Name: "same_entity", Type: "boolean"},
			{Name: "hops", Type: "integer|null"},
			{Name: "decisions", Type: "array", Items: "object"},
			{Name: "note", Type: "string"},
		},
		Hints: Query,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			return s.opts.Ledger.Path(ctx, a.Text("record_a"), a.Text("record_b"))
		},
	}
}

func (s *Server) casesTool() Tool {
	return Tool{
		Name:  "cases",
		Title: "Open questions",
		Description: "The pairs at review that nothing has settled yet, each with the fields that would settle it. Fetch one of " +
			"those fields from wherever you can and hand it to observe.",
		Args: append([]Arg{typeArg()}, PageArgs()...),
		Output: []Out{
			{Name: "count", Type: "integer"},
			{Name: "cases", Type: "array", Items: "object", Description: "decision_id, a, b, score, explanation, supporting, refuting, would_resolve"},
			{Name: "truncated", Type: "boolean", Optional: true, Description: "with limit: more follow after this page"},
		},
		Hints: Query,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			answer, err := s.opts.Ledger.Cases(ctx, a.Text("entity_type"))
			if err != nil {
				return nil, err
			}
			return page(answer, "cases", a), nil
		},
	}
}

func (s *Server) resolveTool() Tool {
	return Tool{
		Name:  "resolve",
		Title: "Place a new record",
		Description: "Compares a record with every stored record of its type and decides at the level of entities: found (linked), " +
			"review (nearest pairs opened as cases), ambiguous (members of two entities match; not linked), conflict (contradicts an " +
			"identifier the entity shares; not linked), not_found (stored on its own). The record is kept in the ledger.",
		Args: []Arg{
			{Name: "record", Kind: Object, Required: true, NonEmpty: true, Description: "The record as an object of field: value."},
			required(packArg("entity_type", "The pack to compare it with.")),
		},
		Output: []Out{
			{Name: "verdict", Type: "string", Description: "found, review, ambiguous, conflict or not_found"},
			{Name: "note", Type: "string", Optional: true},
			{Name: "record_id", Type: "string", Optional: true},
			{Name: "entity", Type: "object|null", Optional: true},
			{Name: "candidates", Type: "object", Optional: true},
			{Name: "entity_evidence", Type: "object|null", Optional: true},
			{Name: "conflicting_fields", Type: "array", Items: "string", Optional: true},
			{Name: "would_resolve", Type: "array", Optional: true},
			{Name: "decisions", Type: "array", Optional: true},
		},
		Hints: Append,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			return s.opts.Ledger.Resolve(ctx, a.Object("record"), a.Text("entity_type"))
		},
	}
}

func (s *Server) observeTool() Tool {
	return Tool{
		Name:  "observe",
		Title: "Add evidence",
		Description: "Adds fields to a stored record and decides its pairs again. Nothing is overwritten: the new version stands " +
			"beside the old one, and each new decision names the one it supersedes. The answer carries field names, not the evidence.",
		Args: []Arg{
			{Name: "record_id", Kind: Text, Required: true, Description: "rec:sha256:..., from cases or decision."},
			{Name: "evidence", Kind: Object, Required: true, NonEmpty: true, Description: "What was learned, as an object of field: value."},
		},
		Output: []Out{
			{Name: "fields", Type: "array", Items: "string"},
			{Name: "decisions", Type: "array", Items: "object"},
			{Name: "open_cases", Type: "integer"},
		},
		Hints: Append,
		Handler: func(ctx context.Context, a *Args) (any, error) {
			return s.opts.Ledger.Observe(ctx, a.Text("record_id"), a.Object("evidence"))
		},
	}
}
