package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/jurisdiction"
)

// newInfer names the law a text falls under.
func newInfer(a *app) *cobra.Command {
	var asJSON bool
	var charset string
	cmd := &cobra.Command{
		Use:   "infer FILE|-",
		Short: "Name the country whose data-protection law governs a text",
		Long: "Reads the signs of a country in a text or document (registration numbers, regulators, currencies, forms of address)\n" +
			"and names it, or abstains when they are weak or split. What was matched is not shown.",
		Example: "  arche infer contract.pdf\n  cat note.txt | arche infer - --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			inf, err := a.infer(cmd.Context(), args[0], charset)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(inf)
			}
			a.printInference(inf)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the tool's answer as one JSON document")
	cmd.Flags().StringVar(&charset, "charset", "", "character set of plain text that is not UTF-8, windows-1252 for example")
	return cmd
}

func (a *app) infer(ctx context.Context, path, charset string) (*jurisdiction.Inference, error) {
	s, err := a.openSource(path)
	if err != nil {
		return nil, err
	}
	defer s.close()
	text, _, err := s.text(ctx, charset)
	if err != nil {
		return nil, err
	}
	inf, err := jurisdiction.InferStream(ctx, text, a.env("ARCHE_RULESET"))
	if err != nil {
		return nil, named(path, err)
	}
	return inf, nil
}

func (a *app) printInference(inf *jurisdiction.Inference) {
	country, statute := "no country", "none: "+inf.PolicyReason
	if inf.Country != nil {
		country = *inf.Country
	}
	if inf.StatuteID != nil {
		statute = *inf.StatuteID
	}
	a.printf("%s  - %s\n", country, inf.Reason)
	a.table([][]string{
		{"confidence", canon.FixedText(float64(inf.Confidence), 4)},
		{"margin", canon.FixedText(float64(inf.Margin), 4)},
		{"statute", statute},
	})
	for _, e := range inf.Evidence {
		a.printf("evidence    %s  %s  tier %s, %s\n", e.Signal, e.Country, e.Tier, counted(e.Count, "sign"))
	}
}
