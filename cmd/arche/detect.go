package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/detect/extract"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/jurisdiction"
)

// newDetect shows where personal data stands.
func newDetect(a *app) *cobra.Command {
	var policy policyFlags
	var asJSON bool
	var charset string
	cmd := &cobra.Command{
		Use:   "detect FILE|-|DIR...",
		Short: "Show where personal data stands, never the values",
		Long: "Reads text, PDF, DOCX, HTML and e-mail and prints a line for each stretch of personal data: where it stands, its category,\n" +
			"how sensitive it is and the rule it falls under. Plain text of any size is read as a stream.\n" +
			"A file that cannot be read whole is named and ends the command with exit code 1.",
		Example: "  arche detect note.txt --jurisdiction NG\n  arche detect inbox/ --jurisdiction GB --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := files(args)
			if err != nil {
				return err
			}
			failed := false
			for _, path := range paths {
				if err := a.detectFile(cmd.Context(), path, policy, charset, asJSON); err != nil {
					if len(paths) == 1 || cmd.Context().Err() != nil {
						return err
					}
					a.report(cmd.Context(), err)
					failed = true
				}
			}
			if failed {
				return errFailed
			}
			return nil
		},
	}
	policy.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "JSON Lines: a line for each detection, then one that sums up, for each file")
	cmd.Flags().StringVar(&charset, "charset", "", "character set of plain text that is not UTF-8, windows-1252 for example")
	return cmd
}

func (a *app) detectFile(ctx context.Context, path string, policy policyFlags, charset string, asJSON bool) error {
	s, err := a.openSource(path)
	if err != nil {
		return err
	}
	defer s.close()
	text, doc, err := s.text(ctx, charset)
	if err != nil {
		return err
	}
	shown := a.progress("reading " + s.name + ", bytes")
	defer shown.stop()
	if doc == nil {
		text = &progressReader{Reader: text, total: s.size, report: shown.report}
	}
	o, code, statute := a.policy(policy)
	n := 0
	plan, err := jurisdiction.DetectStream(ctx, text, code, statute, o.Coverage, func(l jurisdiction.Located) error {
		n++
		return a.printDetection(s.name, doc, l, asJSON)
	})
	if err != nil {
		return named(path, err)
	}
	var skipped []string
	if doc != nil {
		skipped = doc.Skipped
	}
	if asJSON {
		return a.printJSONLine(canon.Obj("source", s.name, "kind", string(s.kind), "count", n, "skipped", append([]string{}, skipped...), "coverage", plan))
	}
	shown.stop()
	a.notef("%s in %s; coverage %s: %s\n", counted(n, "detection"), s.name, plan.Verdict, plan.Note)
	for _, what := range skipped {
		a.notef("not read: %s\n", what)
	}
	return nil
}

// printDetection prints one line: a place a reader can go to, and what is there.
func (a *app) printDetection(name string, doc *extract.Document, l jurisdiction.Located, asJSON bool) error {
	where := fmt.Sprintf("%s:%d:%d", name, l.Line, l.Column)
	o := canon.Obj("source", name, "category", l.Category, "start", l.Start, "end", l.End, "confidence", l.Confidence,
		"citation", l.Citation, "tier", l.Tier)
	if doc != nil {
		part, offset := doc.Where(int(l.Byte))
		where = fmt.Sprintf("%s: %s+%d", name, part, offset)
		o.Set("part", part)
		o.Set("offset", offset)
	} else {
		o.Set("line", l.Line)
		o.Set("column", l.Column)
	}
	if asJSON {
		return a.printJSONLine(o)
	}
	citation := "no statute"
	if l.Citation != nil {
		citation = *l.Citation
	}
	a.printf("%s  %s  %s  %s  %s\n", where, l.Category, l.Tier, canon.FixedText(float64(l.Confidence), 2), citation)
	return nil
}
