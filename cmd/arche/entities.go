package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// newEntities lists what decisions have linked.
func newEntities(a *app) *cobra.Command {
	var f readFlags
	var shown listFlags
	var entity, id string
	cmd := &cobra.Command{
		Use:   "entities",
		Short: "List what is linked",
		Long: "List the entities that decisions have linked, largest first, and what holds each together. With --id, say where\n" +
			"one entity's records are now: an entity that was merged or split is still found under its old id.",
		Example: "  arche entities --type organisation --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if id != "" {
				return a.entityHistory(cmd.Context(), id, f)
			}
			return a.tool(cmd.Context(), "entities", typeArgs(entity), f, func(o *canon.Object) { a.showEntities(o, &shown) })
		},
	}
	a.typeFlag(cmd, &entity, "only entities of this type")
	cmd.Flags().StringVar(&id, "id", "", "one entity, by its id of now or before")
	mustComplete(cmd, "id", a.completeEntities)
	f.add(cmd, true)
	shown.add(cmd, "entities")
	return cmd
}

// listFlags say how much of a long list is shown as text.
type listFlags struct {
	limit uint
	all   bool
}

// shownOnTerminal is how much of a list is shown where somebody reads along.
const shownOnTerminal = 50

func (s *listFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().UintVar(&s.limit, "limit", 0, fmt.Sprintf("show the first `N` %s (on a terminal %d unless given)", what, shownOnTerminal))
	cmd.Flags().BoolVar(&s.all, "all", false, "show all "+what+" on a terminal too")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
	cmd.MarkFlagsMutuallyExclusive("limit", "json")
}

// first is what is shown of a list, on a terminal or elsewhere.
func (s *listFlags) first(found []any, terminal bool) []any {
	most := uint(len(found))
	switch {
	case s.limit > 0:
		most = min(most, s.limit)
	case !s.all && terminal:
		most = min(most, shownOnTerminal)
	}
	return found[:most]
}

// rest says how many of a list were not shown.
func (s *listFlags) rest(a *app, found, shown []any) {
	if n := len(found) - len(shown); n > 0 {
		a.printf("\n%d more; --all shows all, --limit N the first N\n", n)
	}
}

// entityHistory says where an entity's records are now.
func (a *app) entityHistory(ctx context.Context, id string, f readFlags) error {
	return a.withLedger(func(l *ledger.Ledger) error {
		h, err := l.EntityHistory(ctx, id)
		if err == nil && f.reveal {
			h, err = revealed(ctx, l, h)
		}
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(h)
		}
		now, loose := list(h, "now"), list(h, "unlinked")
		switch stands, _ := h.Value("stands").(bool); {
		case stands && len(now) == 1 && len(loose) == 0:
			a.printf("%s stands\n", id)
		case len(now) == 1 && len(loose) == 0:
			a.printf("%s was merged\n", id)
		default:
			a.printf("%s was split: its records are in %d %s, %d in none\n", id, len(now), plural(len(now), "entity", "entities"), len(loose))
		}
		for _, v := range now {
			e, _ := v.(*canon.Object)
			a.showEntity(e)
		}
		for _, v := range loose {
			r, _ := v.(*canon.Object)
			a.printf("\nin no entity: %s\n", label(r))
		}
		return nil
	})
}

func (a *app) typeFlag(cmd *cobra.Command, entity *string, usage string) {
	cmd.Flags().StringVar(entity, "type", "", usage)
	mustComplete(cmd, "type", completePackFlag)
}

func typeArgs(entity string) *canon.Object {
	if entity == "" {
		return &canon.Object{}
	}
	return canon.Obj("entity_type", entity)
}

func (a *app) showEntities(answer *canon.Object, flags *listFlags) {
	found := list(answer, "entities")
	a.printf("%d %s\n", len(found), plural(len(found), "entity", "entities"))
	shown := flags.first(found, terminalWidth(a.stdout) > 0)
	for _, v := range shown {
		e, _ := v.(*canon.Object)
		a.showEntity(e)
	}
	flags.rest(a, found, shown)
}

func (a *app) showEntity(e *canon.Object) {
	records := list(e, "records")
	a.printf("\n%s  %s  %d records  %s\n", word(e.Value("entity_id")), word(e.Value("entity_type")), len(records), word(e.Value("held_together_by")))
	for _, v := range records {
		r, _ := v.(*canon.Object)
		a.printf("  %s\n", label(r))
		a.reveal("      ", r, "values")
	}
	a.printf("  shared: %s\n", words(list(e, "shared_fields")))
	a.printf("  conflicting: %s\n", words(list(e, "conflicting_fields")))
	if weak := list(e, "weak_links"); len(weak) > 0 {
		labels := make([]any, len(weak))
		for i, v := range weak {
			r, _ := v.(*canon.Object)
			labels[i] = r.Value("label")
		}
		a.printf("  held together only by: %s\n", words(labels))
	}
}

// newCases lists the open questions.
func newCases(a *app) *cobra.Command {
	var f readFlags
	var shown listFlags
	var entity string
	cmd := &cobra.Command{
		Use:     "cases",
		Short:   "List the open questions and what would settle each",
		Long:    "List the pairs at review that nothing has settled yet, each with the fields that would settle it.",
		Example: "  arche cases --type organisation --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.tool(cmd.Context(), "cases", typeArgs(entity), f, func(o *canon.Object) { a.showCases(o, &shown) })
		},
	}
	a.typeFlag(cmd, &entity, "only cases between records of this type")
	f.add(cmd, true)
	shown.add(cmd, "cases")
	return cmd
}

func (a *app) showCases(answer *canon.Object, flags *listFlags) {
	open := list(answer, "cases")
	a.printf("%d open case%s\n", len(open), plural(len(open), "", "s"))
	shown := flags.first(open, terminalWidth(a.stdout) > 0)
	defer func() { flags.rest(a, open, shown) }()
	for _, v := range shown {
		c, _ := v.(*canon.Object)
		left, right := object(c, "a"), object(c, "b")
		a.printf("\n%s <-> %s  (%s)  %s\n", word(left.Value("label")), word(right.Value("label")), score(c.Value("score")), word(c.Value("explanation")))
		a.printf("  %s\n", word(c.Value("decision_id")))
		a.reveal("    a: ", left, "values")
		a.reveal("    b: ", right, "values")
		would := list(c, "would_resolve")
		a.printf("  would resolve: %s\n", words(would))
		if len(would) > 0 {
			a.printf("  next: arche observe %s --evidence '{\"%s\": \"...\"}'\n", word(left.Value("record_id")), firstField(word(would[0])))
		}
	}
}

// firstField is the field to observe for a label such as "lat + lon".
func firstField(label string) string {
	field, _, _ := strings.Cut(label, " + ")
	return field
}
