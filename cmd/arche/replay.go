package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
)

// newReplay makes a decision again.
func newReplay(a *app) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:   "replay ID",
		Short: "Make a decision again and say what differs",
		Long: "Make a recorded decision again under its own pack and pins. Exit code 0 when the very same decision comes\n" +
			"out, 3 when anything differs.",
		Example:           "  arche replay xwd:sha256:a96f6fd332e6dc13bcc4a60a82d49e205d55daafe292350ce396d0eb4a2775db --ledger work.duckdb",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.replayOne(cmd.Context(), args[0], f)
		},
	}
	f.add(cmd, false)
	return cmd
}

func (a *app) replayOne(ctx context.Context, id string, f readFlags) error {
	answer, err := a.callTool(ctx, "replay", canon.Obj("decision_id", id), false)
	if err != nil {
		return err
	}
	if f.json {
		err = a.printJSON(answer)
	} else {
		a.showReplay(answer)
	}
	if same, _ := answer.Value("reproduced").(bool); err == nil && !same {
		return errFindings
	}
	return err
}

func (a *app) showReplay(r *canon.Object) {
	then, now := object(r, "then"), object(r, "now")
	if same, _ := r.Value("reproduced").(bool); same {
		a.printf("reproduced: %s\n  %s %s: same decision_id, byte for byte\n", a.tint("true"), word(then.Value("identity")), word(then.Value("action")))
		a.showOperator(r)
		return
	}
	a.printf("reproduced: %s\n", a.tint("false"))
	if now != nil {
		a.printf("  %s %s (%s) -> now %s %s (%s)\n", word(then.Value("identity")), word(then.Value("action")), score(then.Value("score")),
			word(now.Value("identity")), word(now.Value("action")), score(now.Value("score")))
	}
	if note := r.Value("note"); note != nil {
		a.printf("  %s\n", word(note))
	}
	changed := object(r, "changed")
	for key, v := range changed.All() {
		c, _ := v.(*canon.Object)
		a.printf("  %s: %s -> %s\n", key, word(c.Value("then")), word(c.Value("now")))
	}
	a.showOperator(r)
}
