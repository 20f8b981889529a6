package main

import (
	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// newDecide records what a person decided of two records.
func newDecide(a *app) *cobra.Command {
	var reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "decide RECORD_A RECORD_B same|different|review --reason TEXT",
		Short: "Decide yourself whether two records are the same",
		Long: "Record what a person decided of two records. It outranks the engine until it is undone, entities follow at\n" +
			"once, and replay leaves it alone. The reason stays in the log for ever: give no personal data.",
		Example: `  arche decide rec:sha256:9c66... rec:sha256:01ab... same --reason "one registration number" --ledger work.duckdb`,
		Args:    cobra.ExactArgs(3),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 2 {
				return withPrefix([]string{ledger.VerdictSame, ledger.VerdictDifferent, ledger.VerdictReview}, prefix), cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeRecords(cmd, args, prefix)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLedger(func(l *ledger.Ledger) error {
				out, err := l.Decide(cmd.Context(), args[0], args[1], args[2], reason)
				return a.showDecided(out, err, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, in words that may be read for ever")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// newUndo takes back what a person decided.
func newUndo(a *app) *cobra.Command {
	var reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "undo ID --reason TEXT",
		Short: "Take back what a person decided",
		Long: "Take back an operator's decision, named by its event (evt:...) or by a decision about the same two records.\n" +
			"The engine's decisions stand again. An engine's own decision is overruled with arche decide.",
		Example:           `  arche undo evt:blake3:5d0e... --reason "wrong registry entry" --ledger work.duckdb`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLedger(func(l *ledger.Ledger) error {
				out, err := l.Undo(cmd.Context(), args[0], reason)
				return a.showDecided(out, err, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, in words that may be read for ever")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// withLedger runs fn on the ledger of this run.
func (a *app) withLedger(fn func(*ledger.Ledger) error) error {
	l, err := a.openLedger("cli")
	if err != nil {
		return err
	}
	err = fn(l)
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	return err
}

func (a *app) showDecided(out *canon.Object, err error, asJSON bool) error {
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(out)
	}
	a.printf("%s  - %s\n", a.tint(word(out.Value("verdict"))), word(out.Value("reason")))
	a.rowf("event", "%s", word(out.Value("event_id")))
	a.rowf("by", "%s", word(out.Value("actor")))
	a.rowf("a", "%s  in %s", word(out.Value("record_a")), word(out.Value("entity_a")))
	a.rowf("b", "%s  in %s", word(out.Value("record_b")), word(out.Value("entity_b")))
	if was := out.Value("supersedes"); was != nil {
		a.rowf("supersedes", "%s", word(was))
	}
	return nil
}
