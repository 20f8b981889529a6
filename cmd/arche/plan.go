package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/jurisdiction"
)

// newPlan says what a scan could find, before one is made.
func newPlan(a *app) *cobra.Command {
	var policy policyFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Say what a scan can and cannot find under a law",
		Long: "Lists which categories a statute governs, which the installed detectors count on finding, and which nothing looks for.\n" +
			"partial is the usual verdict; none means that a clean scan would say nothing.",
		Example: "  arche plan --jurisdiction NG\n  arche plan --jurisdiction US --statute HIPAA-SAFE-HARBOR --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			o, code, statute := a.policy(policy)
			plan, err := jurisdiction.Plan(code, statute, o.Coverage)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(plan)
			}
			a.printPlan(plan)
			return nil
		},
	}
	policy.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "the tool's answer as one JSON document")
	return cmd
}

func (a *app) printPlan(plan *jurisdiction.Coverage) {
	or := func(s *string, none string) string {
		if s == nil {
			return none
		}
		return *s
	}
	a.printf("%s  %s for %s\n", plan.Verdict, or(plan.StatuteID, "no statute"), or(plan.Jurisdiction, "no jurisdiction"))
	rows := [][]string{
		{"detectors", strings.Join(plan.DetectorPackages, ", ")},
		{"governed", counted(len(plan.Governed), "name")},
		{"covered", listed(plan.Covered)},
		{"uncovered", listed(plan.Uncovered)},
		{"degraded", listed(plan.DegradedCategories)},
		{"also found", listed(plan.AlsoDetected)},
	}
	for _, r := range rows {
		a.printf("%-12s%s\n", r[0], r[1])
	}
	a.printf("%s\n", plan.Note)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
