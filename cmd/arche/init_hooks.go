package main

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

// newHooks is what the hooks that arche init writes call. It is quick, changes
// no document and, when anything goes wrong, stays silent and exits 0: a hook
// that fails would keep the agent from working.
func newHooks(a *app) *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use:       "hooks AGENT EVENT",
		Short:     "Answer a hook of a coding agent",
		Long:      "Called by the hooks that arche init --agent writes. Events: session-start, pre-tool-use, post-tool-use.",
		Example:   "  arche hooks claude-code session-start",
		Hidden:    true,
		Args:      cobra.ExactArgs(2),
		ValidArgs: hosts.IDs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !hosts.Known(args[0]) {
				return usagef("unknown agent %q", args[0]).withHint("one of: %s", strings.Join(hosts.IDs(), ", "))
			}
			switch args[1] {
			case "session-start":
				return a.hookSessionStart(cmd.Context(), project)
			case "pre-tool-use":
				return a.hookPreToolUse()
			case "post-tool-use":
				return a.hookPostToolUse(cmd.Context(), project)
			}
			return usagef("unknown event %q", args[1]).withHint("one of: session-start, pre-tool-use, post-tool-use")
		},
	}
	projectFlag(cmd, &project)
	return cmd
}

// hookSessionStart tells the agent what the project knows.
func (a *app) hookSessionStart(ctx context.Context, project string) error {
	quiet := a.quietly(ctx, project, func(ctx context.Context, b *documents.Base) {
		page, err := b.List(ctx, documents.ListRequest{Limit: 1})
		total, ok := page.Value("total").(int)
		if err != nil || !ok || total == 0 {
			return
		}
		a.printf("This project has %d documents under .archcore/ (decisions, rules, guides, plans). Before you change code, call search_documents with path_ref set to the path; change documents with the tools, not by editing the files.\n", total)
	})
	return quiet
}

// maxHookInput is how much of what an agent sends is read.
const maxHookInput = 4 << 20

// hookPreToolUse refuses direct edits of documents: exit 2 with a reason on
// standard error, which agents show the model.
func (a *app) hookPreToolUse() error {
	data, err := io.ReadAll(io.LimitReader(a.stdin, maxHookInput))
	if err != nil {
		return nil
	}
	if slices.ContainsFunc(editedPaths(data), isDocumentPath) {
		return usagef("documents under .archcore/ are changed with the tools, not by editing files").
			withHint("use create_document, update_document or remove_document of the archcore server")
	}
	return nil
}

// editedPaths finds the files that a tool call names, however the agent calls
// the argument.
func editedPaths(data []byte) []string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return nil
	}
	var out []string
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch x := v.(type) {
		case map[string]any:
			for k, e := range x {
				walk(k, e)
			}
		case []any:
			for _, e := range x {
				walk(key, e)
			}
		case string:
			switch strings.ToLower(key) {
			case "file_path", "filepath", "path", "target_file", "filename":
				out = append(out, x)
			case "input", "patch": // an apply_patch text names its files in header lines
				for line := range strings.Lines(x) {
					for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: "} {
						if p, ok := strings.CutPrefix(line, head); ok {
							out = append(out, strings.TrimSpace(p))
						}
					}
				}
			}
		}
	}
	walk("", v)
	return out
}

func isDocumentPath(p string) bool {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(p)), "/")
	return slices.Contains(parts[:len(parts)-1], ".archcore") && strings.HasSuffix(p, ".md")
}

// hookPostToolUse looks at the documents after a tool wrote and tells what is
// broken.
func (a *app) hookPostToolUse(ctx context.Context, project string) error {
	return a.quietly(ctx, project, func(ctx context.Context, b *documents.Base) {
		findings, err := documents.Diagnose(ctx, b)
		if err != nil {
			return
		}
		shown := 0
		for _, f := range findings {
			if f.Code == "moved" || shown == 5 {
				continue
			}
			shown++
			a.printf("%s\n", canon.Text(f.Path+": "+f.Message))
		}
	})
}

// quietly opens the documents for a hook. Whatever fails, the hook succeeds.
func (a *app) quietly(ctx context.Context, project string, do func(context.Context, *documents.Base)) error {
	silent := *a
	silent.stderr = io.Discard
	_ = silent.withDocuments(ctx, project, func(ctx context.Context, b *documents.Base) error {
		do(ctx, b)
		return nil
	})
	return nil
}
