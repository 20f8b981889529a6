package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/mcpserver"
)

func version() string { return mcpserver.Version }

// newVersion prints what this program is.
func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of arche and of the contract it serves",
		Example: "  arche version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !asJSON {
				a.printf("arche %s\n", version())
				return nil
			}
			return a.printJSON(canon.Obj(
				"arche_version", version(),
				"contract_version", mcpserver.ContractVersion,
				"revision", revision(),
				"go", runtime.Version(),
				"platform", runtime.GOOS+"/"+runtime.GOARCH,
			))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// revision is the commit the program was built from, "" when unknown.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
