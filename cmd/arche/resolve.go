package main

import (
	"sort"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
)

// newResolve places a new record.
func newResolve(a *app) *cobra.Command {
	var f readFlags
	var record, entity string
	cmd := &cobra.Command{
		Use:   "resolve --record JSON --type PACK",
		Short: "Place a new record against what is stored",
		Long: "Compare a record with every stored record of its type and decide at the level of entities: found (linked),\n" +
			"review, ambiguous, conflict or not_found. The record is kept in the ledger.",
		Example: `  arche resolve --record '{"name": "Kijani Tea Exporters", "city": "Nairobi"}' --type organisation --ledger work.duckdb`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if record == "" {
				return usagef("--record is needed").withHint("give a JSON object of field: value, as text, @FILE or -")
			}
			o, err := a.parseObjectArg("record", record)
			if err != nil {
				return err
			}
			return a.tool(cmd.Context(), "resolve", canon.Obj("record", o, "entity_type", entity), f, a.showResolve)
		},
	}
	cmd.Flags().StringVar(&record, "record", "", "the record: a JSON object as text, @FILE or -")
	cmd.Flags().StringVar(&entity, "type", "person", "the pack to compare it with")
	mustComplete(cmd, "type", completePackFlag)
	f.add(cmd, true)
	return cmd
}

func (a *app) showResolve(r *canon.Object) {
	a.printf("%s  - %s\n", a.tint(word(r.Value("verdict"))), word(r.Value("note")))
	a.rowf("record", "%s", word(r.Value("record_id")))
	a.reveal("                ", r, "values")
	if e := object(r, "entity"); e != nil {
		labels := make([]any, 0)
		for _, v := range list(e, "records") {
			m, _ := v.(*canon.Object)
			labels = append(labels, m.Value("label"))
		}
		a.rowf("entity", "%s  (%s)", word(e.Value("entity_id")), words(labels))
	}
	candidates := object(r, "candidates")
	ids := candidates.Keys()
	sort.Strings(ids)
	for _, id := range ids {
		c := object(candidates, id)
		a.rowf("candidate", "%s  %s  (%s)  %s of %s matched", id, a.tint(word(c.Value("identity"))), score(c.Value("score")),
			word(c.Value("matched")), word(c.Value("members")))
	}
	if e := object(r, "entity_evidence"); e != nil {
		a.rowf("as a whole", "%s  (%s)  %s", a.tint(word(e.Value("identity"))), score(e.Value("score")), word(e.Value("explanation")))
	}
	if c := list(r, "conflicting_fields"); len(c) > 0 {
		a.rowf("conflicts", "%s", words(c))
	}
	if w := list(r, "would_resolve"); len(w) > 0 {
		a.rowf("would resolve", "%s", words(w))
	}
	for _, v := range list(r, "decisions") {
		a.decisionLine(v)
	}
}

func (a *app) decisionLine(v any) {
	d, _ := v.(*canon.Object)
	a.rowf("decision", "%s  %s  (%s)  %s", word(d.Value("decision_id")), a.tint(word(d.Value("identity"))), score(d.Value("score")),
		word(d.Value("explanation")))
}

// newObserve adds evidence about a record.
func newObserve(a *app) *cobra.Command {
	var f readFlags
	var evidence string
	cmd := &cobra.Command{
		Use:   "observe RECORD --evidence JSON",
		Short: "Add evidence about a record and decide its pairs again",
		Long: "Add fields to a stored record and decide its pairs again. Nothing is overwritten: the new version stands\n" +
			"beside the old one and each new decision names the one it supersedes.",
		Example:           `  arche observe rec:sha256:9c66... --evidence '{"registration_id": "CS-1188"}' --ledger work.duckdb`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRecords,
		RunE: func(cmd *cobra.Command, args []string) error {
			if evidence == "" {
				return usagef("--evidence is needed").withHint("give a JSON object of field: value, as text, @FILE or -")
			}
			o, err := a.parseObjectArg("evidence", evidence)
			if err != nil {
				return err
			}
			return a.tool(cmd.Context(), "observe", canon.Obj("record_id", args[0], "evidence", o), f, a.showObserve)
		},
	}
	cmd.Flags().StringVar(&evidence, "evidence", "", "what was learned: a JSON object as text, @FILE or -")
	f.add(cmd, true)
	return cmd
}

func (a *app) showObserve(o *canon.Object) {
	made := list(o, "decisions")
	a.printf("%d decision%s made again with %s\n", len(made), plural(len(made), "", "s"), words(list(o, "fields")))
	for _, v := range made {
		a.decisionLine(v)
		d, _ := v.(*canon.Object)
		if was := d.Value("supersedes"); was != nil {
			a.rowf("supersedes", "%s", word(was))
		}
	}
	if id := o.Value("new_record_id"); id != nil {
		a.rowf("new record", "%s", word(id))
	}
	a.printf("open cases now: %s\n", word(o.Value("open_cases")))
}
