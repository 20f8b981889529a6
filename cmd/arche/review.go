package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/ledger/imports"
)

// newReview lets people answer open cases in a table.
func newReview(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "review",
		Short:   "Answer open cases in a table",
		Example: "  arche review export --out cases.csv --ledger work.duckdb\n  arche review import cases.csv --ledger work.duckdb",
	}
	cmd.AddCommand(newReviewExport(a), newReviewImport(a))
	return cmd
}

// reviewColumns are the columns of a review table; the last two are filled in.
var reviewColumns = []export.Column{
	{Name: "decision_id", Type: export.Text}, {Name: "record_a", Type: export.Text}, {Name: "record_b", Type: export.Text},
	{Name: "label_a", Type: export.Text}, {Name: "label_b", Type: export.Text}, {Name: "score", Type: export.Float},
	{Name: "explanation", Type: export.Text}, {Name: "would_resolve", Type: export.Text},
	{Name: "verdict", Type: export.Text}, {Name: "reason", Type: export.Text},
}

func newReviewExport(a *app) *cobra.Command {
	var out, entity string
	var reveal bool
	cmd := &cobra.Command{
		Use:   "export --out FILE",
		Short: "Write the open cases to a table for people to fill in",
		Long: "Write the open cases to a .csv, .jsonl or .parquet file. People fill in verdict (same, different or review) and\n" +
			"reason; rows left empty stay open. With --reveal the records' values stand in it too.",
		Example: "  arche review export --out cases.csv --reveal --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usagef("--out is needed: a .csv, .jsonl or .parquet file")
			}
			format, err := export.FormatOf(out)
			if err != nil {
				return err
			}
			answer, err := a.callTool(cmd.Context(), "cases", typeArgs(entity), reveal)
			if err != nil {
				return err
			}
			columns := reviewColumns
			if reveal {
				columns = append(slices.Clip(columns),
					export.Column{Name: "values_a", Type: export.JSON}, export.Column{Name: "values_b", Type: export.JSON})
			}
			n, err := export.WriteTable(cmd.Context(), out, format, columns, caseRows(answer))
			if err != nil {
				return err
			}
			a.printf("wrote %d open case%s to %s\n", n, plural(int(n), "", "s"), out)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the file to write")
	a.typeFlag(cmd, &entity, "only cases between records of this type")
	cmd.Flags().BoolVar(&reveal, "reveal", false, "with the values of the records")
	return cmd
}

func caseRows(answer *canon.Object) export.Rows {
	return func(yield func(*canon.Object, error) bool) {
		for _, v := range list(answer, "cases") {
			c, _ := v.(*canon.Object)
			x, y := object(c, "a"), object(c, "b")
			row := canon.Obj("decision_id", c.Value("decision_id"), "record_a", x.Value("record_id"), "record_b", y.Value("record_id"),
				"label_a", x.Value("label"), "label_b", y.Value("label"), "score", c.Value("score"), "explanation", c.Value("explanation"),
				"would_resolve", words(list(c, "would_resolve")), "values_a", x.Value("values"), "values_b", y.Value("values"))
			if !yield(row, nil) {
				return
			}
		}
	}
}

func newReviewImport(a *app) *cobra.Command {
	var asJSON bool
	var reason string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Record the answers that people filled in",
		Long: "Record the verdicts of a filled-in table as decisions of a person: all of them, or none when any row is wrong\n" +
			"or its case was settled since. Importing the same file again changes nothing.",
		Example: "  arche review import cases.csv --actor cli:ada --ledger work.duckdb",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := a.reviewRows(cmd.Context(), args[0], reason)
			if err != nil {
				return err
			}
			return a.withLedger(func(l *ledger.Ledger) error {
				out, err := l.Review(cmd.Context(), rows)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(out)
				}
				a.printf("%s decided, %s unchanged, %s unanswered\n", word(out.Value("decided")), word(out.Value("unchanged")), word(out.Value("unanswered")))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the reason of rows that give none")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// reviewRows reads a filled-in table; the lines are counted as if no value held
// a line break.
func (a *app) reviewRows(ctx context.Context, name, reason string) ([]ledger.ReviewRow, error) {
	t, err := imports.ReadTable(ctx, name, "", a.stdin)
	if err != nil {
		return nil, err
	}
	out := make([]ledger.ReviewRow, len(t.Rows))
	for i, row := range t.Rows {
		for _, key := range []string{"decision_id", "record_a", "record_b", "verdict"} {
			if !row.Has(key) {
				return nil, fault.New(fault.Invalid, "%s has no column %q", name, key).WithHint("arche review export writes the table to fill in")
			}
		}
		text := func(key string) string { s, _ := row.Value(key).(string); return s }
		out[i] = ledger.ReviewRow{Line: i + 2, DecisionID: text("decision_id"), RecordA: text("record_a"), RecordB: text("record_b"),
			Verdict: text("verdict"), Reason: text("reason")}
		if out[i].Reason == "" {
			out[i].Reason = reason
		}
	}
	return out, nil
}
