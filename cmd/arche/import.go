package main

import (
	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/imports"
)

// newImport brings in what other programs kept.
func newImport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "import",
		Short:   "Bring in what another program kept",
		Example: "  arche import arche-ledger exported/ --ledger new.duckdb",
	}
	cmd.AddCommand(newImportPublished(a))
	return cmd
}

func newImportPublished(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "arche-ledger DIR",
		Short: "Import the exported tables of a ledger of the published arche",
		Long: "Import the tables of a ledger of the published arche (0.9 or 0.10), exported to DIR as Parquet, CSV or JSON\n" +
			"Lines, into a new ledger. Ids, decisions, supersessions, observations and times are kept; what differs is listed.",
		Example: "  arche import arche-ledger exported/ --ledger new.duckdb",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := imports.ReadPublished(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.withLedger(func(l *ledger.Ledger) error {
				out, err := l.ImportPublished(cmd.Context(), p)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(out)
				}
				for _, key := range []string{"records", "runs", "decisions", "observations"} {
					a.rowf(key, "%s", word(out.Value(key)))
				}
				a.rowf("entities", "%d", len(list(out, "entities")))
				for _, d := range list(out, "differences") {
					a.printf("  differs: %s\n", word(d))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}
