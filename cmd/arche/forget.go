package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// forgetFlags are the flags of forget and retention.
type forgetFlags struct {
	where, entity, kind string
	olderThan           string
	reason              string
	yes, compact, json  bool
}

func (f *forgetFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "type", "", "only records of this type")
	flags.StringVar(&f.reason, "reason", "", "why, in words that stay in the log for ever; give no personal data")
	flags.BoolVar(&f.yes, "yes", false, "erase; without it nothing is changed")
	flags.BoolVar(&f.json, "json", false, "one JSON document")
	mustComplete(cmd, "type", completePackFlag)
}

// newForget erases record values.
func newForget(a *app) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget [RECORD...] | --where FIELD=VALUE | --entity ENT",
		Short: "Erase the values of records, keeping ids and verdicts",
		Long: "Erase the stored values of records, with all their versions, and write the file anew so that no byte of them\n" +
			"is left in it. Ids, verdicts and the chain stay, and who erased what and why is in the log. Without --yes it\n" +
			"only lists what would go. Backups and exports made earlier keep what they have.",
		Example:           `  arche forget --where national_id=12345678901 --reason "request 2026-114" --yes --ledger work.duckdb`,
		ValidArgsFunction: a.completeRecords,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.compact {
				return a.withLedger(func(l *ledger.Ledger) error { return l.Compact(cmd.Context()) })
			}
			req := ledger.ForgetRequest{Addresses: args, Entity: f.entity}
			if f.where != "" {
				var ok bool
				if req.Field, req.Value, ok = strings.Cut(f.where, "="); !ok || req.Field == "" || req.Value == "" {
					return usagef("--where takes FIELD=VALUE")
				}
			}
			if len(args) == 0 && f.entity == "" && f.where == "" {
				return usagef("name records, --where FIELD=VALUE or --entity ENT")
			}
			return a.forget(cmd.Context(), req, f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.where, "where", "", "every record whose FIELD has the VALUE, whatever its case and spacing")
	cmd.Flags().StringVar(&f.entity, "entity", "", "every record of an entity")
	mustComplete(cmd, "entity", a.completeEntities)
	cmd.Flags().BoolVar(&f.compact, "compact", false, "only write the file anew, after an erasure that was interrupted")
	return cmd
}

// newRetention erases what is older than a policy allows.
func newRetention(a *app) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "retention --older-than 365d",
		Short: "Erase the values of records older than a policy allows",
		Long: "Erase the stored values of every record whose newest version is older than the limit, as arche forget does.\n" +
			"Without --yes it only lists what would go.",
		Example: `  arche retention --older-than 730d --type person --reason "two-year policy" --yes --ledger work.duckdb`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			limit, err := ageLimit(f.olderThan, time.Now())
			if err != nil {
				return err
			}
			return a.forget(cmd.Context(), ledger.ForgetRequest{OlderThan: limit}, f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.olderThan, "older-than", "", "age as 365d, 12h or 90m, or a time such as 2026-01-31")
	return cmd
}

// ageLimit is the moment that an age or a time names.
func ageLimit(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02"} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usagef("--older-than takes an age such as 365d or a time such as 2026-01-31")
}

func (a *app) forget(ctx context.Context, req ledger.ForgetRequest, f forgetFlags) error {
	req.Type, req.Reason, req.DryRun = f.kind, f.reason, !f.yes
	if f.yes && strings.TrimSpace(f.reason) == "" {
		return usagef("--yes needs --reason").withHint("it stays in the log for ever: give no personal data")
	}
	return a.withLedger(func(l *ledger.Ledger) error {
		out, err := l.Forget(ctx, req)
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(out)
		}
		a.showForgotten(out, req.DryRun)
		return nil
	})
}

func (a *app) showForgotten(out *canon.Object, dry bool) {
	records := list(out, "records")
	verb := "erased"
	if dry {
		verb = "would be erased"
	}
	a.printf("%d record%s %s\n", len(records), plural(len(records), "", "s"), verb)
	for _, v := range records {
		r, _ := v.(*canon.Object)
		a.printf("  %s  %s  fields: %s\n", word(r.Value("record_id")), word(r.Value("entity_type")), words(list(r, "fields")))
	}
	for _, part := range [][2]string{{"rows", "rows handed in again"}, {"pieces", "pieces quoted in evidence"}, {"documents", "old texts of documents"}} {
		if n := len(list(out, part[0])); n > 0 {
			a.printf("%d %s\n", n, part[1])
		}
	}
	for _, path := range list(out, "documents_left") {
		a.printf("still said by document %s: edit or remove it first\n", word(path))
	}
	lost := list(out, "decisions_not_replayable")
	a.printf("%d decision%s can no longer be made again\n", len(lost), plural(len(lost), "", "s"))
	if dry {
		a.notef("nothing was changed; add --yes --reason TEXT to erase\n")
	}
}
