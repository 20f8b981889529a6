package main

import (
	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// newCapabilities says what this installation can do.
func newCapabilities(a *app) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:     "capabilities",
		Short:   "Say what this installation can do",
		Long:    "Say what this installation can do: statutes, countries, entity packs, optional parts, signer, ledger tools.",
		Example: "  arche capabilities --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.tool(cmd.Context(), "capabilities", &canon.Object{}, f, func(answer *canon.Object) {
				for key, v := range answer.All() {
					a.rowf(key, "%s", flat(v))
				}
			})
		},
	}
	f.add(cmd, false)
	return cmd
}

// flat is a value of capabilities on one line.
func flat(v any) string {
	switch x := v.(type) {
	case *canon.Object:
		text := ""
		for key, e := range x.All() {
			if text != "" {
				text += "; "
			}
			text += key + " " + flat(e)
		}
		return text
	case []any:
		return words(x)
	case []string:
		return words(list(canon.Obj("v", x), "v"))
	}
	return word(v)
}

// newPacks lists the entity packs, or describes one.
func newPacks(a *app) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:   "packs [NAME]",
		Short: "List the entity packs, or the fields one reads",
		Long: "List the entity packs. With NAME, say which fields of a record the pack reads, how it compares each and\n" +
			"how much it weighs; any other field is ignored. NAME@0.10 names the newer version of a pack.",
		Example:           "  arche packs organisation",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completePacks,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listPacks(f)
			}
			return a.tool(cmd.Context(), "describe_pack", canon.Obj("entity", args[0]), f, a.showPack)
		},
	}
	f.add(cmd, false)
	return cmd
}

func (a *app) listPacks(f readFlags) error {
	names := resolve.Entities()
	if f.json {
		return a.printJSON(canon.Obj("packs", names, "versions", []string{resolve.PackVersionDefault, resolve.PackVersion010}))
	}
	for _, n := range names {
		a.printf("%s\n", n)
	}
	return nil
}

func (a *app) showPack(p *canon.Object) {
	a.printf("%s\n", word(p.Value("entity")))
	rows := [][]string{{"field", "kinds", "weight", "refutes"}}
	for _, v := range list(p, "fields") {
		f, _ := v.(*canon.Object)
		rows = append(rows, []string{word(f.Value("field")), words(list(f, "kinds")), word(f.Value("weight")), word(f.Value("refutes"))})
	}
	a.table(rows)
	a.printf("every other field is ignored\n")
}
