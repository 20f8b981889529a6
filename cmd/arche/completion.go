package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/resolve"
)

const (
	completeMost = 100                    // ids offered at once
	completeTime = 500 * time.Millisecond // a shell waits for us
)

type completer = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

// mustComplete registers a flag's values; a wrong flag name is our mistake.
func mustComplete(cmd *cobra.Command, flag string, f completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

func completePacks(_ *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return withPrefix(resolve.Entities(), prefix), cobra.ShellCompDirectiveNoFileComp
}

func withPrefix(all []string, prefix string) []cobra.Completion {
	out := []cobra.Completion{}
	for _, s := range all {
		if strings.HasPrefix(s, prefix) && len(out) < completeMost {
			out = append(out, s)
		}
	}
	return out
}

// completeDecisions offers ids of recorded decisions.
func (a *app) completeDecisions(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.suggest(cmd.Context(), "decision", prefix), cobra.ShellCompDirectiveNoFileComp
}

// completeRecords offers addresses of stored records.
func (a *app) completeRecords(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.suggest(cmd.Context(), "record", prefix), cobra.ShellCompDirectiveNoFileComp
}

// completeEntities offers ids of entities, of now and before.
func (a *app) completeEntities(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.suggest(cmd.Context(), "entity", prefix), cobra.ShellCompDirectiveNoFileComp
}

// suggest reads ids out of the ledger. Nothing is said when there is none or it
// is busy: a completion must not disturb what the user types.
func (a *app) suggest(ctx context.Context, kind, prefix string) []cobra.Completion {
	if a.ledgerURI() == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	l, err := a.openLedger("cli")
	if err != nil {
		return nil
	}
	defer l.Close()
	ids, err := l.Suggest(ctx, kind, prefix)
	if err != nil {
		return nil
	}
	return ids
}

// completePackFlag offers packs as a flag's value.
func completePackFlag(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return withPrefix(resolve.Entities(), prefix), cobra.ShellCompDirectiveNoFileComp
}
