package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/audit"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	readFlags
	all, today, record, lines bool
	since, until              string
	entity, verb, out         string
	sample                    int
}

// newReplay makes a decision again, or all of them.
func newReplay(a *app) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay ID | replay --all",
		Short: "Make decisions again and say what differs",
		Long: "Make a recorded decision again under its own pack and pins; with --all every decision, each batch once, on\n" +
			"all cores. Exit code 0 when the very same decisions come out, 3 when anything differs. With --out an audit\n" +
			"that was stopped goes on where it was, and ends with a report as one HTML file.",
		Example: "  arche replay xwd:sha256:a96f6fd332e6dc13bcc4a60a82d49e205d55daafe292350ce396d0eb4a2775db --ledger work.duckdb\n" +
			"  arche replay --all --out audit --ledger work.duckdb",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeDecisions,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return usagef("--all replays every decision; leave the id out")
			case f.all:
				return a.replayAll(cmd.Context(), f)
			case len(args) == 0:
				return usagef("a decision id or --all is needed")
			case f.narrowed():
				return usagef("--since, --until, --entity, --verb, --sample, --today, --out, --lines and --record go with --all")
			}
			return a.replayOne(cmd.Context(), args[0], f.readFlags)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "make every decision again")
	flags.StringVar(&f.since, "since", "", "only decisions from this time or event on")
	flags.StringVar(&f.until, "until", "", "only decisions up to this time or event")
	flags.StringVar(&f.entity, "entity", "", "only decisions about records of this type")
	flags.StringVar(&f.verb, "verb", "", "only decisions of this verb: reconcile, dedupe, resolve or compare")
	flags.IntVar(&f.sample, "sample", 0, "make this many decisions again, chosen at random once and for all, and state the error bound")
	flags.BoolVar(&f.today, "today", false, "decide under today's packs and engine: what would an upgrade change")
	flags.StringVar(&f.out, "out", "", "folder for the lines, a summary and the HTML report; an audit stopped there goes on")
	flags.BoolVar(&f.lines, "lines", false, "print one JSON line a decision")
	flags.BoolVar(&f.record, "record", false, "record the outcome in the ledger")
	f.add(cmd, false)
	mustComplete(cmd, "entity", completePackFlag)
	return cmd
}

func (f *replayFlags) narrowed() bool {
	return f.since != "" || f.until != "" || f.entity != "" || f.verb != "" || f.sample != 0 || f.today || f.out != "" || f.lines || f.record
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
	for key, v := range object(r, "changed").All() {
		c, _ := v.(*canon.Object)
		a.printf("  %s: %s -> %s\n", key, word(c.Value("then")), word(c.Value("now")))
	}
	a.showOperator(r)
}

func (a *app) replayAll(ctx context.Context, f replayFlags) error {
	if f.sample < 0 {
		return usagef("--sample must be above 0")
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o700); err != nil {
			return fileFault(f.out, err)
		}
	}
	return a.withLedger(func(l *ledger.Ledger) error {
		s, err := a.audit(ctx, l, f)
		if err != nil {
			return err
		}
		if f.record {
			if err := recordAudit(ctx, l, s, f.out); err != nil {
				return err
			}
		}
		switch {
		case f.lines: // standard output has the lines
			err = nil
		case f.json:
			err = a.printJSON(s.Answer())
		default:
			a.showAudit(s, f)
		}
		if err == nil && !s.Clean() {
			return errFindings
		}
		return err
	})
}

func (a *app) audit(ctx context.Context, l *ledger.Ledger, f replayFlags) (*audit.Summary, error) {
	o := audit.Options{Dir: f.out, Program: "arche@" + version()}
	o.Entity, o.Verb, o.Sample, o.Today = f.entity, f.verb, f.sample, f.today
	var err error
	if f.since != "" {
		if o.After, err = l.SeqBefore(ctx, f.since, false); err != nil {
			return nil, err
		}
	}
	if f.until != "" {
		if o.Until, err = l.SeqBefore(ctx, f.until, true); err != nil {
			return nil, err
		}
		o.Until = max(o.Until, 1) // 0 would be no limit; event 1 is no decision
	}
	if f.lines {
		o.Lines = a.stdout
	}
	p := a.progress("decisions made again:")
	o.Progress = p.report
	defer p.stop()
	return audit.Run(ctx, l, o)
}

// recordAudit keeps the outcome in the log; report is the digest of the lines.
func recordAudit(ctx context.Context, l *ledger.Ledger, s *audit.Summary, dir string) error {
	var report any
	if dir != "" {
		digest, err := audit.Digest(dir)
		if err != nil {
			return err
		}
		report = digest
	}
	_, err := l.Append(ctx, []ledger.Draft{{
		Kind: "audit.recorded", Subject: fmt.Sprintf("audit:%d-%d", s.First, s.Last),
		Body: canon.Obj("reproduced", s.Reproduced, "differing", s.Differing, "unreplayable", s.Unreplayable, "report", report),
	}})
	if f := fault.As(err); f != nil && f.Kind == fault.Internal {
		return fmt.Errorf("record the audit: %w", err)
	}
	return err
}

func (a *app) showAudit(s *audit.Summary, f replayFlags) {
	a.rowf("decisions", "%d", s.Total)
	a.rowf("reproduced", "%d", s.Reproduced)
	a.rowf("differing", "%d", s.Differing)
	a.rowf("unreplayable", "%d", s.Unreplayable)
	if s.Overruled > 0 {
		a.rowf("overruled", "%d by a person, left alone", s.Overruled)
	}
	if f.today {
		a.rowf("appearing", "%d", s.Appearing)
	}
	if s.Population > s.Total {
		a.rowf("bound", "of all %d at most %.2f %% differ (95 %% confidence)", s.Population, 100*s.Bound())
	}
	answer := s.Answer()
	for _, part := range []string{"changes", "verdicts", "reasons"} {
		for name, n := range object(answer, part).All() {
			a.printf("  %s: %s\n", name, word(n))
		}
	}
	for _, v := range list(answer, "entities_merging") {
		a.printf("  would become one: %s\n", word(v))
	}
	for _, v := range list(answer, "entities_falling_apart") {
		a.printf("  would fall apart: %s\n", word(v))
	}
	for _, w := range s.Worst[:min(len(s.Worst), 20)] {
		o := w.Line
		a.printf("%s  %s  %s\n", a.tint(word(o.Value("result"))), word(o.Value("decision_id")), auditLine(o))
	}
	if f.out != "" {
		a.notef("wrote %s/%s, %s/%s and %s/%s\n", f.out, audit.ReportName, f.out, audit.ResultsName, f.out, audit.SummaryName)
	}
}

func auditLine(o *canon.Object) string {
	if r := o.Value("reason"); r != nil {
		return word(r)
	}
	then, now := object(o, "then"), object(o, "now")
	if then == nil {
		return word(now.Value("identity")) + " " + score(now.Value("score"))
	}
	return fmt.Sprintf("%s %s -> %s %s", word(then.Value("identity")), score(then.Value("score")), word(now.Value("identity")), score(now.Value("score")))
}
