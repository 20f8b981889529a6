package main

import (
	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
)

// newDecision shows the receipt of one decision.
func newDecision(a *app) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:               "decision ID",
		Short:             "Show a recorded decision",
		Long:              "Show the receipt of one decision: verdict, score, factors, pins, the two records, what it superseded.",
		Example:           "  arche decision xwd:sha256:a96f6fd332e6dc13bcc4a60a82d49e205d55daafe292350ce396d0eb4a2775db --ledger work.duckdb",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tool(cmd.Context(), "decision", canon.Obj("decision_id", args[0]), f, a.showDecision)
		},
	}
	f.add(cmd, true)
	return cmd
}

func (a *app) showDecision(d *canon.Object) {
	a.printf("%s  %s  (%s, %s)\n", a.tint(word(d.Value("identity"))), word(d.Value("action")), word(d.Value("verb")), score(d.Value("score")))
	a.printf("%s\n", word(d.Value("explanation")))
	a.rowf("decision", "%s", word(d.Value("decision_id")))
	a.rowf("factors", "%s", factors(object(d, "factors")))
	pins := object(d, "pins")
	a.rowf("pinned", "%s", word(pins.Value("engine")))
	a.rowf("recorded", "%s", word(d.Value("recorded_at")))
	for i, v := range list(d, "records") {
		r, ok := v.(*canon.Object)
		if !ok {
			continue
		}
		a.rowf([]string{"a", "b"}[i%2], "%s", label(r))
		a.printf("%14sfields: %s\n", "", words(list(r, "fields")))
		a.reveal("                ", r, "values")
	}
	a.rowf("entity", "%s", word(d.Value("entity_id")))
	for _, key := range []string{"supersedes", "superseded_by", "withheld"} {
		if v := d.Value(key); v != nil {
			a.rowf(key, "%s", word(v))
		}
	}
	a.showOperator(d)
	if also := list(d, "also"); len(also) > 0 {
		a.rowf("also", "%d more pairs of records have this id", len(also))
	}
}

// showOperator tells of a person's decision that outranks the engine's.
func (a *app) showOperator(d *canon.Object) {
	if op := object(d, "operator"); op != nil {
		a.rowf("operator", "%s by %s: %s", word(op.Value("verdict")), word(op.Value("actor")), word(op.Value("reason")))
	}
}

// newExplain shows why a decision fell as it did.
func newExplain(a *app) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:               "explain ID",
		Short:             "Say why a decision fell as it did",
		Long:              "Say which fields supported a decision, which spoke against it, and which were missing.",
		Example:           "  arche explain xwd:sha256:a96f6fd332e6dc13bcc4a60a82d49e205d55daafe292350ce396d0eb4a2775db --ledger work.duckdb",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explain(cmd, args[0], f)
		},
	}
	f.add(cmd, true)
	return cmd
}

// explain asks the tool; with --reveal the shared fields come with their values
// out of the decision's first record.
func (a *app) explain(cmd *cobra.Command, id string, f readFlags) error {
	ctx := cmd.Context()
	args := canon.Obj("decision_id", id)
	answer, err := a.callTool(ctx, "explain", args, false)
	if err != nil {
		return err
	}
	if f.reveal {
		decision, err := a.callTool(ctx, "decision", args, true)
		if err != nil {
			return err
		}
		answer.Set("shared_values", sharedValues(answer, decision))
	}
	if f.json {
		return a.printJSON(answer)
	}
	a.showExplain(answer)
	return nil
}

func sharedValues(explain, decision *canon.Object) *canon.Object {
	out := &canon.Object{}
	for _, v := range list(decision, "records") {
		r, _ := v.(*canon.Object)
		for _, name := range list(explain, "shared") {
			field, _ := name.(string)
			for _, key := range []string{field, "full_" + field} {
				if value, ok := object(r, "values").Get(key); ok && !out.Has(field) {
					out.Set(field, value)
				}
			}
		}
	}
	return out
}

func (a *app) showExplain(e *canon.Object) {
	a.printf("%s  %s  - %s\n", a.tint(word(e.Value("identity"))), word(e.Value("action")), word(e.Value("explanation")))
	for _, key := range []string{"supporting", "refuting", "missing", "shared"} {
		a.rowf(key, "%s", words(list(e, key)))
	}
	a.values("                ", e.Value("shared_values"))
	a.showOperator(e)
}

// newPath shows the chain of decisions between two records.
func newPath(a *app) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:               "path RECORD_A RECORD_B",
		Short:             "Show the chain of decisions between two records",
		Long:              "Show the chain of decisions that makes two records one entity. Takes record ids (rec:sha256:...), not labels.",
		Example:           "  arche path rec:sha256:9c66... rec:sha256:01ab... --ledger work.duckdb",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeRecords,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tool(cmd.Context(), "path", canon.Obj("record_a", args[0], "record_b", args[1]), f, a.showPath)
		},
	}
	f.add(cmd, true)
	return cmd
}

func (a *app) showPath(p *canon.Object) {
	steps := list(p, "decisions")
	same, _ := p.Value("same_entity").(bool)
	switch {
	case !same:
		a.printf("not one entity: %s\n", word(p.Value("note")))
	case len(steps) == 0:
		a.printf("one entity: %s\n", word(p.Value("note")))
	default:
		a.printf("one entity, %d decision%s apart\n", len(steps), plural(len(steps), "", "s"))
	}
	for _, v := range steps {
		d, _ := v.(*canon.Object)
		a.printf("  %s <-> %s  %s  (%s)  %s\n", word(d.Value("from")), word(d.Value("to")), a.tint(word(d.Value("identity"))),
			score(d.Value("score")), word(d.Value("explanation")))
		a.printf("    %s\n", word(d.Value("decision_id")))
		a.reveal("      a: ", d, "values_a")
		a.reveal("      b: ", d, "values_b")
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
