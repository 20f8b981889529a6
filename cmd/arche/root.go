package main

import (
	"fmt"
	"io"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arche-ledger/arche/internal/fault"
)

// app is what every command works with: the streams and environment of this
// run and the flags that all commands share.
type app struct {
	env    func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	ledgerFlag string // --ledger
	actorFlag  string // --actor
	noColor    bool   // --no-color
	memoryMB   int    // --memory; 0 = chosen by the ledger
	threads    int    // --threads; 0 = chosen by the ledger
}

// newRoot builds the whole command tree for one run.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "arche",
		Short: "Keep, explain and replay what your agents decide",
		Long: "arche decides whether messy records are one person, place, organisation or product,\n" +
			"keeps every decision in an append-only DuckDB ledger, and serves it to agents over MCP.",
		Example:       "  arche quickstart\n  ARCHE_LEDGER=duckdb:///work.duckdb arche mcp",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(a.stderr)
			if err := cmd.Help(); err != nil {
				return err
			}
			return usagef("a command is needed")
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("arche {{.Version}}\n")
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err: err} })
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "store" { // the published program's name of the same flag
			name = "ledger"
		}
		return pflag.NormalizedName(name)
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.ledgerFlag, "ledger", "", "ledger to use: duckdb:///FILE or a path (default: ARCHE_LEDGER; alias --store)")
	flags.StringVar(&a.actorFlag, "actor", "", "who is named in the log for what this command writes (default: ARCHE_ACTOR, else your user name)")
	flags.BoolVar(&a.noColor, "no-color", false, "plain text, no colour")
	flags.IntVar(&a.memoryMB, "memory", 0, "memory of the ledger's database in MB, at least 64 (default: a quarter of the machine's, 128 to 1024)")
	flags.IntVar(&a.threads, "threads", 0, "threads of the ledger's database, 1 to 64 (default: 1)")
	for _, c := range commands {
		root.AddCommand(c(a))
	}
	usageOnBadArgs(root)
	return root
}

// knownCommand refuses what is no command, naming near ones.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := usagef("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return err.withHint("did you mean: %s", strings.Join(near, ", "))
	}
	return err.withHint("arche --help lists the commands")
}

// usageOnBadArgs makes a wrong number of arguments a usage error (exit 2) in
// every command of the tree.
func usageOnBadArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || isUsage(err) {
				return err
			}
			return (&usageError{err: err}).withHint("usage: %s", c.UseLine())
		}
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args = knownCommand
		cmd.RunE = func(c *cobra.Command, _ []string) error {
			c.SetOut(c.ErrOrStderr())
			if err := c.Help(); err != nil {
				return err
			}
			return usagef("a command is needed after %q", c.CommandPath())
		}
	}
	for _, sub := range cmd.Commands() {
		usageOnBadArgs(sub)
	}
}

// ledgerURI is the ledger this run works on: the flag, else ARCHE_LEDGER, else "".
func (a *app) ledgerURI() string {
	if a.ledgerFlag != "" {
		return a.ledgerFlag
	}
	return a.env("ARCHE_LEDGER")
}

// needLedgerURI is ledgerURI for commands that can do nothing without one.
func (a *app) needLedgerURI() (string, error) {
	if uri := a.ledgerURI(); uri != "" {
		return uri, nil
	}
	return "", fault.New(fault.Invalid, "no ledger given").
		WithHint("pass --ledger FILE.duckdb or set ARCHE_LEDGER")
}

// actor names who writes: --actor, ARCHE_ACTOR, else prefix and the user name.
func (a *app) actor(prefix string) string {
	if name := a.namedActor(); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return prefix + ":" + u.Username
	}
	return prefix
}

// printf writes to standard output.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }

// notef writes to standard error.
func (a *app) notef(format string, args ...any) { fmt.Fprintf(a.stderr, format, args...) }
