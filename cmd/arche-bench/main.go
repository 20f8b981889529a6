// Command arche-bench makes the synthetic lists that figures are taken on, runs
// the engine on them and on public labelled sets, and prints what it cost and
// how good the answers are. docs/benchmarks.md says how to run other programs
// beside it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// command is one subcommand.
type command struct {
	name, what string
	run        func(args []string, stdout io.Writer) error
}

var commands = []command{
	{"gen", "write the synthetic lists to files", runGen},
	{"compare", "time one comparison of synthetic organisations or persons", runCompare},
	{"ledger", "fill a ledger and time every verb on it", runLedger},
	{"quality", "grade every scorer on public labelled sets", runQuality},
	{"crash", "kill writers at random moments and check what is there", runCrash},
	{"powercut", "record what a writer puts on the disk and open what power cuts would leave of it", runPowercut},
	{"fault", "fail every operation of the store in turn", runFault},
	{"soak", "make mixed calls for a while and watch memory and files", runSoak},
	{"contend", "let several processes share one file", runContend},
	{"defects", "show that each seeded defect is caught by its test", runDefects},
	{"mutate", "make small mistakes in a package and count those its tests notice", runMutate},
	{"scale", "time and grade the linkage of two large synthetic tables", runScale},
}

func main() {
	childMain()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line: 0 done, 1 failed, 2 usage.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name != args[0] {
				continue
			}
			err := profiled(args[1:], func(args []string) error { return c.run(args, stdout) })
			switch {
			case err == nil:
				return 0
			case errors.Is(err, flag.ErrHelp):
				return 0
			}
			fmt.Fprintf(stderr, "error: %s: %v\n", c.name, err)
			return 1
		}
	}
	fmt.Fprintln(stderr, "usage: arche-bench COMMAND [flags]; arche-bench COMMAND -h lists the flags")
	fmt.Fprintln(stderr, "any command: --profile PREFIX first writes PREFIX.cpu and PREFIX.heap for go tool pprof")
	for _, c := range commands {
		fmt.Fprintf(stderr, "  %-9s %s\n", c.name, c.what)
	}
	return 2
}
