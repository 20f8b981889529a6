package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
)

// exportFlags are the flags of every export.
type exportFlags struct {
	format, out          string
	since, until, entity string
	reveal, json, rows   bool
}

// subjectWords say what each export holds.
var subjectWords = map[string]string{
	"decisions":  "every decision with evidence, pins, what superseded it and who made it",
	"events":     "the log itself, with addresses and links",
	"entities":   "what hangs together now, with its records",
	"cases":      "the open questions",
	"documents":  "the documents of the knowledge base as they stand",
	"processing": "what was scanned for personal data, under which statute, with what coverage",
}

// moreWords is what more there is to say of a subject.
var moreWords = map[string]string{
	"decisions": "\n\nAll decisions as jsonl, parquet or dsse have the log beside them, addresses and no values, with which\n" +
		"arche import decisions makes a ledger of them again.",
}

// newExport writes what the ledger holds for others to read and check.
func newExport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Export what the ledger holds, sealed with a manifest",
		Example: "  arche export decisions --format parquet --out decisions-2026 --ledger work.duckdb\n  arche export verify decisions-2026",
	}
	for _, what := range export.Subjects {
		cmd.AddCommand(newExportSubject(a, what))
	}
	cmd.AddCommand(newExportVerify(a))
	return cmd
}

func newExportSubject(a *app, what string) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   what + " --out DIR",
		Short: "Export " + subjectWords[what],
		Long: "Export " + subjectWords[what] + ".\n\n" +
			"The folder gets the file, a manifest with digests, counts, filter and log head, and SHA256SUMS; with\n" +
			"ARCHE_SIGNING_KEY the manifest is signed. Record values stay out unless --reveal is given, where it can be." + moreWords[what],
		Example: "  arche export " + what + " --format parquet --out " + what + "-2026 --ledger work.duckdb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.export(cmd.Context(), what, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "jsonl", strings.Join(export.Formats, ", "))
	flags.StringVar(&f.out, "out", "", "folder to write, new or empty")
	flags.StringVar(&f.since, "since", "", "only from this time or event on")
	flags.StringVar(&f.until, "until", "", "only up to this time or event")
	flags.StringVar(&f.entity, "entity", "", "only this entity type")
	flags.BoolVar(&f.reveal, "reveal", false, "with the values of the records")
	flags.BoolVar(&f.json, "json", false, "print the manifest")
	if what == "decisions" {
		flags.BoolVar(&f.rows, "rows-only", false, "without the log beside them, which importing them needs")
	}
	mustComplete(cmd, "entity", completePackFlag)
	mustComplete(cmd, "format", func(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return withPrefix(export.Formats, prefix), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (a *app) export(ctx context.Context, what string, f exportFlags) error {
	if f.out == "" {
		return usagef("--out is needed: the folder to write")
	}
	signer, err := a.signer()
	if err != nil {
		return err
	}
	return a.withLedger(func(l *ledger.Ledger) error {
		req, err := exportRequest(ctx, l, what, f, signer)
		if err != nil {
			return err
		}
		m, err := export.Write(ctx, l, req)
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(m)
		}
		a.printf("wrote %d %s to %s\n", m.Count, what, f.out)
		a.rowf("head", "%s event %d, %s", m.Head.Log, m.Head.Seq, m.Head.Link)
		for _, file := range m.Files {
			a.rowf("sha256", "%s  %s", file.SHA256, file.Name)
		}
		if m.Signer != nil {
			a.rowf("signer", "%s", *m.Signer)
		} else {
			a.rowf("signer", "none: set ARCHE_SIGNING_KEY to sign the manifest")
		}
		return nil
	})
}

func exportRequest(ctx context.Context, l *ledger.Ledger, what string, f exportFlags, signer *attest.Signer) (export.Request, error) {
	req := export.Request{
		What: what, Format: f.format, Dir: f.out, Program: "arche@" + version(), RowsOnly: f.rows,
		At: time.Now().UTC().Format("2006-01-02T15:04:05+00:00"),
	}
	if signer != nil {
		req.Key = signer.Key()
	}
	given := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	req.Filter = export.Filter{Since: given(f.since), Until: given(f.until), Entity: given(f.entity), Reveal: f.reveal}
	var err error
	if f.since != "" {
		if req.After, err = l.SeqBefore(ctx, f.since, false); err != nil {
			return req, err
		}
	}
	if f.until != "" {
		if req.Until, err = l.SeqBefore(ctx, f.until, true); err == nil && req.Until == 0 {
			req.After = 1 << 62 // nothing is that old; 0 would be no limit
		}
	}
	return req, err
}

// newExportVerify checks an export without the ledger.
func newExportVerify(a *app) *cobra.Command {
	var public string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check an export offline",
		Long: "Check an export without the ledger it came from: the signature of its manifest, the digest of each file, the\n" +
			"number of rows, and that nothing else is in the folder. Without --key the result shows integrity, not who\n" +
			"made it. Exit code 3 when anything is wrong.",
		Example: "  arche export verify decisions-2026 --key did:key:z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := pinnedKey(public)
			if err != nil {
				return err
			}
			r, err := export.Verify(cmd.Context(), args[0], key)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(r.Answer())
			} else {
				a.showVerified(r)
			}
			if err == nil && !r.OK() {
				err = errFindings
			}
			return err
		},
	}
	cmd.Flags().StringVar(&public, "key", "", "the signer's did:key, or a file with its public key")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

func (a *app) showVerified(r *export.Report) {
	if m := r.Manifest; m != nil {
		a.rowf("what", "%d %s as %s", m.Count, m.What, m.Format)
		a.rowf("head", "%s event %d, %s", m.Head.Log, m.Head.Seq, m.Head.Link)
	}
	switch {
	case r.Trusted:
		a.rowf("signer", "%s (the given key)", r.Signer)
	case r.Signed:
		a.rowf("signer", "%s (no key given: integrity shown, authorship not)", r.Signer)
	default:
		a.rowf("signer", "none")
	}
	for _, p := range r.Problems {
		a.printf("  ! %s\n", p)
	}
	if r.OK() {
		a.printf("OK\n")
	} else {
		a.printf("NOT OK\n")
	}
}
