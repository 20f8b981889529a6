package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/arche-ledger/arche/ledger/duck"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"arche": main})
}

// TestScript runs the command lines of testdata/script as a user types them.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			golden, err := os.Getwd()
			if err != nil {
				return err
			}
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("ARCHE_ACTOR", "cli:tester")
			e.Setenv("TESTDATA", golden+"/testdata")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"capture": capture,
			"query":   query,
			"flip":    flip,
		},
	})
}

// capture NAME REGEXP sets $NAME to the first group of REGEXP in the last
// command's standard output.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("nothing in standard output matches %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// query SQL WANT runs SQL in a DuckDB with the work folder's files and compares
// its one value, as text.
func query(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: query SQL WANT")
	}
	db, err := duck.OpenFiles()
	ts.Check(err)
	defer db.Close()
	sql := strings.ReplaceAll(args[0], "WORK/", ts.MkAbs(".")+"/")
	var got string
	ts.Check(db.QueryRow("SELECT (" + sql + ")::VARCHAR").Scan(&got))
	if got != args[1] {
		ts.Fatalf("%s\n got %s\nwant %s", args[0], got, args[1])
	}
}

// flip FILE OLD NEW replaces the first OLD in FILE.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: flip FILE OLD NEW")
	}
	data := ts.ReadFile(args[0])
	changed := strings.Replace(data, args[1], args[2], 1)
	if changed == data {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(changed), 0o600))
}
