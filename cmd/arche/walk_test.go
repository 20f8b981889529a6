package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var updateHelp = flag.Bool("update-help", false, "write the help pages in testdata/help anew")

// leaves are all commands that do something, by their path without "arche".
func leaves(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	root := newRoot(&app{env: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}})
	out := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
				continue
			}
			if len(sub.Commands()) > 0 {
				walk(sub)
				continue
			}
			out[strings.TrimPrefix(sub.CommandPath(), "arche ")] = sub
		}
	}
	walk(root)
	if len(out) < 10 {
		t.Fatalf("%d commands", len(out))
	}
	return out
}

// TestEveryCommandIsDocumented: each has a summary, a description or summary
// that says enough, and an example whose flags exist.
func TestEveryCommandIsDocumented(t *testing.T) {
	for path, cmd := range leaves(t) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("arche %s: the summary %q", path, cmd.Short)
		}
		if !strings.Contains(cmd.Example, "arche "+path) {
			t.Errorf("arche %s: no example of itself in %q", path, cmd.Example)
		}
		for _, line := range strings.Split(cmd.Example, "\n") {
			for _, part := range strings.Fields(line) {
				name, _, _ := strings.Cut(strings.TrimPrefix(part, "--"), "=")
				if strings.HasPrefix(part, "--") && cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
					t.Errorf("arche %s: its example uses --%s, which it does not have", path, name)
				}
			}
		}
	}
}

// TestEveryCommandIsScripted: a script of testdata/script runs each command.
func TestEveryCommandIsScripted(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	for path := range leaves(t) {
		if !strings.Contains(all.String(), "arche "+path) {
			t.Errorf("no script runs arche %s", path)
		}
	}
}

// TestHelpPages compares each help page with the one kept in testdata/help.
func TestHelpPages(t *testing.T) {
	paths := []string{""}
	for path := range leaves(t) {
		paths = append(paths, path)
	}
	for _, path := range paths {
		var out, errs bytes.Buffer
		code := run(t.Context(), append(strings.Fields(path), "--help"), func(string) string { return "" }, strings.NewReader(""), &out, &errs)
		if code != exitDone || errs.Len() > 0 {
			t.Errorf("arche %s --help: exit %d, %s", path, code, errs.String())
		}
		name := "arche"
		if path != "" {
			name = strings.ReplaceAll(path, " ", "-")
		}
		file := filepath.Join("testdata", "help", name+".txt")
		if *updateHelp {
			if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("arche %s: %v (write it with -update-help)", path, err)
			continue
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("arche %s --help (-want +got; write it with -update-help)\n%s", path, diff)
		}
	}
}

// TestUnknownFlagsAreUsage: a flag nobody has ends each command with exit 2 and
// says so on standard error only.
func TestUnknownFlagsAreUsage(t *testing.T) {
	for path := range leaves(t) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append(strings.Fields(path), "--no-such-flag"), func(string) string { return "" }, strings.NewReader(""), &out, &errs)
		if code != exitUsage || out.Len() > 0 || !strings.HasPrefix(errs.String(), "error: unknown flag: --no-such-flag") {
			t.Errorf("arche %s: exit %d, out %q, err %q", path, code, out.String(), errs.String())
		}
	}
}
