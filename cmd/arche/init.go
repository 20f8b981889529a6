package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

// initFlags are the flags of arche init.
type initFlags struct {
	project, agent, language string
	detected, dryRun, json   bool
}

// newInit sets a project up and wires agents.
func newInit(a *app) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up a project's documents and wire an agent",
		Long: "Creates .archcore/ with its settings; with --agent also writes this server, its hooks and a usage note into the\n" +
			"agent's configuration in the project. What is not ours in those files stays as it is, comments included; a second\n" +
			"run changes nothing. --dry-run shows the changes and makes none.\n\n" +
			"Agents: " + strings.Join(hosts.IDs(), ", ") + ".",
		Example: "  arche init\n  arche init --agent claude-code --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runInit(cmd.Context(), f) },
	}
	projectFlag(cmd, &f.project)
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "", "agent to wire")
	flags.BoolVar(&f.detected, "all-detected", false, "also wire every agent whose folder is in the project")
	flags.StringVar(&f.language, "language", "", "language of the documents, for example de (default: en)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would change and change nothing")
	flags.BoolVar(&f.json, "json", false, "one JSON document")
	return cmd
}

func (a *app) runInit(ctx context.Context, f initFlags) error {
	if f.agent != "" && !hosts.Known(f.agent) {
		return usagef("unknown agent %q", f.agent).withHint("one of: %s", strings.Join(hosts.IDs(), ", "))
	}
	if f.agent == "" && f.detected {
		return usagef("--all-detected needs --agent")
	}
	if f.dryRun {
		return a.previewInit(f)
	}
	return a.withDocuments(ctx, f.project, func(ctx context.Context, b *documents.Base) error {
		answer, err := b.Init(ctx, documents.InitRequest{Language: f.language})
		if err != nil {
			return err
		}
		if f.agent != "" {
			wired, err := mcpserver.WireHost(ctx, b, hosts.Wirer{Root: b.Root()}, f.agent, f.detected, nil)
			if err != nil {
				return err
			}
			answer.Set("agents", wired.Value("agents"))
		}
		if f.json {
			return a.printJSON(answer)
		}
		a.showInit(answer)
		return nil
	})
}

func (a *app) showInit(answer *canon.Object) {
	if answer.Value("already_initialized") == true {
		a.printf("the project has its documents in .archcore/ already\n")
	} else {
		a.printf("created .archcore/\n")
	}
	agents, _ := answer.Value("agents").([]any)
	for _, item := range agents {
		o, _ := item.(*canon.Object)
		a.printf("%s\n", o.Value("agent"))
		for _, line := range []struct{ key, label string }{
			{"mcp_config_path", "server"}, {"mcp_manual_hint", "by hand"}, {"instructions_path", "usage note"},
			{"instructions_extra_paths", "usage note"}, {"notes", "note"}, {"errors", "failed"},
		} {
			switch v := o.Value(line.key).(type) {
			case string:
				a.printf("  %s: %s\n", line.label, v)
			case []string:
				for _, s := range v {
					a.printf("  %s: %s\n", line.label, s)
				}
			}
		}
	}
}

// previewInit shows what wiring would change.
func (a *app) previewInit(f initFlags) error {
	root, refusal := a.projectRoot(f.project)
	if refusal != nil {
		return refusal
	}
	report := &hosts.Report{}
	if f.agent != "" {
		var err error
		if report, err = (hosts.Wirer{Root: root, DryRun: true}).Wire(f.agent, f.detected); err != nil {
			return err
		}
	}
	if f.json {
		edits := []any{}
		for _, e := range merged(report.Edits) {
			edits = append(edits, canon.Obj("path", e.Path, "change", changeOf(e), "before", text(e.Before), "after", text(e.After)))
		}
		answer := report.Answer(false)
		answer.Delete("archcore_initialized")
		answer.Set("edits", edits)
		return a.printJSON(answer)
	}
	edits := merged(report.Edits)
	for _, e := range edits {
		a.printf("%s %s\n%s", changeOf(e), e.Path, lineDiff(e.Before, e.After))
	}
	for _, agent := range report.Agents {
		for _, s := range slices.Concat(agent.Errors, agent.Notes) {
			a.notef("%s: %s\n", agent.ID, s)
		}
	}
	if len(edits) == 0 {
		a.printf("nothing would change\n")
	}
	return nil
}

func text(b []byte) any {
	if b == nil {
		return nil
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func changeOf(e hosts.Edit) string {
	switch {
	case e.Before == nil:
		return "create"
	case e.After == nil:
		return "remove"
	}
	return "change"
}

// merged makes one edit of several edits of one file.
func merged(edits []hosts.Edit) []hosts.Edit {
	var out []hosts.Edit
	for _, e := range edits {
		i := slices.IndexFunc(out, func(o hosts.Edit) bool { return o.Path == e.Path })
		if i < 0 {
			out = append(out, e)
			continue
		}
		out[i].After = e.After
	}
	return out
}

// lineDiff shows what lies between the lines both texts begin and end with.
func lineDiff(before, after []byte) string {
	a, b := bytes.SplitAfter(before, []byte("\n")), bytes.SplitAfter(after, []byte("\n"))
	head := 0
	for head < len(a) && head < len(b) && bytes.Equal(a[head], b[head]) {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && bytes.Equal(a[len(a)-1-tail], b[len(b)-1-tail]) {
		tail++
	}
	var out strings.Builder
	show := func(mark string, lines [][]byte) {
		for _, l := range lines {
			if len(l) > 0 {
				fmt.Fprintf(&out, "  %s %s\n", mark, strings.TrimRight(strings.ToValidUTF8(string(l), "\uFFFD"), "\r\n"))
			}
		}
	}
	show("-", a[head:len(a)-tail])
	show("+", b[head:len(b)-tail])
	return out.String()
}
