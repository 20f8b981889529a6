package main

import (
	"context"
	"crypto/ed25519"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/imports"
)

// newImport brings in what other programs kept.
func newImport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "import",
		Short:   "Bring in what another program kept",
		Example: "  arche import arche-ledger exported/ --ledger new.duckdb\n  arche import decisions decisions-2026 --ledger new.duckdb",
	}
	cmd.AddCommand(newImportPublished(a), newImportEvents(a), newImportDecisions(a))
	return cmd
}

// foundedOn completes a command that makes a ledger file of an export: the key
// its signer is held to, the file, and what found does with them.
func foundedOn(a *app, cmd *cobra.Command, found func(ctx context.Context, name string, key ed25519.PublicKey, path string, opts ledger.Options) error) *cobra.Command {
	var public string
	cmd.Args = cobra.ExactArgs(1)
	cmd.Flags().StringVar(&public, "key", "", "the signer's did:key, or a file with its public key")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		key, err := pinnedKey(public)
		if err != nil {
			return err
		}
		path, opts, err := a.ledgerFile()
		if err != nil {
			return err
		}
		return found(cmd.Context(), args[0], key, path, opts)
	}
	return cmd
}

// newImportEvents makes a ledger of an export of its events.
func newImportEvents(a *app) *cobra.Command {
	return foundedOn(a, &cobra.Command{
		Use:   "events DIR",
		Short: "Make a ledger of an export of all its events",
		Long: "Make the ledger file named by --ledger, which must not exist, of an export that arche export events --reveal\n" +
			"wrote. The export is verified first, then every address, link and content is recomputed.",
		Example: "  arche import events events-2026 --key did:key:z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7 --ledger new.duckdb",
	}, func(ctx context.Context, dir string, key ed25519.PublicKey, path string, opts ledger.Options) error {
		info, err := imports.Events(ctx, dir, key, path, opts)
		if err == nil {
			a.printf("%d events and %d contents, head %s\n", info.Events, info.Blobs, info.Link)
		}
		return err
	})
}

// newImportDecisions makes a ledger of an export of decisions.
func newImportDecisions(a *app) *cobra.Command {
	return foundedOn(a, &cobra.Command{
		Use:   "decisions FILE|DIR",
		Short: "Make a ledger of an export of all decisions",
		Long: "Make the ledger file named by --ledger of an export that arche export decisions wrote as jsonl, parquet or dsse,\n" +
			"given as its folder or as the file of rows in it. Every address and link is recomputed, and every row must be\n" +
			"what the log says; else nothing is made. Values of records are in the ledger only where the export was made\n" +
			"with --reveal. A ledger that holds the export already is left as it is.",
		Example: "  arche import decisions decisions-2026 --key did:key:z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7 --ledger new.duckdb",
	}, func(ctx context.Context, name string, key ed25519.PublicKey, path string, opts ledger.Options) error {
		info, err := imports.Decisions(ctx, name, key, path, opts)
		switch {
		case err != nil:
			return err
		case info.Already:
			a.printf("the ledger holds these %d decisions already; nothing was written\n", info.Decisions)
		default:
			a.printf("%d decisions in %d events, head %s\n", info.Decisions, info.Events, info.Link)
		}
		return nil
	})
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
