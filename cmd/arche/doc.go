package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// newDoc groups what the log adds to the documents of a project.
func newDoc(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doc",
		Short: "See the history and relations of a project's documents",
		Long: "The documents under .archcore/ are files that people and agents edit; every change is an event of the\n" +
			"ledger (--ledger or ARCHE_LEDGER, else one of the project's own under .archcore/.ledger/).",
	}
	cmd.AddCommand(newDocLog(a), newDocShow(a), newDocRestore(a), newDocGraph(a), newDocCheck(a))
	return cmd
}

// projectFlag adds --project to a command.
func projectFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "project", "", "folder that .archcore/ is in (default: ARCHE_PROJECT, else the working directory)")
}

// projectRoot is the project a run works on; refusal is what its tools answer
// when the folder was only implied and is no project.
func (a *app) projectRoot(flag string) (root string, refusal error) {
	wd, err := os.Getwd()
	if err != nil {
		wd = "."
	}
	return documents.FindRoot(flag, a.env("ARCHE_PROJECT"), wd)
}

// withDocuments opens the documents of a project and its ledger for one
// command.
func (a *app) withDocuments(ctx context.Context, project string, do func(context.Context, *documents.Base) error) error {
	lopts, err := a.ledgerOptions()
	if err != nil {
		return err
	}
	lopts.Actor = a.actor("cli")
	log, err := a.logger("warn", "text")
	if err != nil {
		return err
	}
	root, refusal := a.projectRoot(project)
	opts := documents.Options{Root: root, Refusal: refusal, LedgerOptions: lopts, Logger: log}
	if uri := a.ledgerURI(); uri != "" {
		l, err := ledger.Open(uri, lopts)
		if err != nil {
			return err
		}
		defer closeWell(log, l)
		opts.Ledger = l
	}
	base, err := documents.Open(opts)
	if err != nil {
		return err
	}
	defer closeWell(log, base)
	return do(ledger.WithActor(ctx, lopts.Actor), base)
}

func closeWell(log *slog.Logger, c interface{ Close() error }) {
	if err := c.Close(); err != nil {
		log.Error("close", slog.Any("error", err))
	}
}

// shownTime is how commands print when something happened.
const shownTime = "2006-01-02T15:04:05Z"

// newDocLog lists what happened to a document.
func newDocLog(a *app) *cobra.Command {
	var project string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "log PATH",
		Short: "List who changed a document, when and with what",
		Long: "Lists the versions of a document, oldest first, under its former paths too. Changes that no tool made are\n" +
			"by the actor filesystem.",
		Example: "  arche doc log auth/use-jwt.adr.md",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDocuments(cmd.Context(), project, func(ctx context.Context, b *documents.Base) error {
				versions, err := b.Versions(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return a.printVersions(versions)
				}
				a.table(versionRows(ctx, b, versions))
				return nil
			})
		},
	}
	projectFlag(cmd, &project)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document a line")
	return cmd
}

func (a *app) printVersions(versions []documents.Version) error {
	for i, v := range versions {
		o := canon.Obj("version", i+1, "event", v.Event, "seq", v.Seq, "recorded_at", v.Time.UTC().Format("2006-01-02T15:04:05.000000Z"), "actor", v.Actor)
		if v.Tool != "" {
			o.Set("tool", v.Tool)
		}
		o.Set("change", "written")
		if v.Removed {
			o.Set("change", "removed")
		}
		o.Set("path", v.Path)
		o.Set("address", v.Address)
		if !v.Removed {
			o.Set("size", v.Size)
			o.Set("status", v.Status)
			o.Set("tags", append([]string{}, v.Tags...))
		}
		if v.MovedFrom != "" {
			o.Set("moved_from", ".archcore/"+v.MovedFrom)
		}
		if err := a.printJSONLine(o); err != nil {
			return err
		}
	}
	return nil
}

// versionRows is a table of versions with what each changed.
func versionRows(ctx context.Context, b *documents.Base, versions []documents.Version) [][]string {
	rows := [][]string{}
	for i, v := range versions {
		var before *documents.Version
		if i > 0 {
			before = &versions[i-1]
		}
		tool := v.Tool
		if tool == "" {
			tool = "by hand"
		}
		id := strings.TrimPrefix(v.Event, "evt:blake3:")
		rows = append(rows, []string{"#" + strconv.Itoa(i+1), id[:12], v.Time.UTC().Format(shownTime), v.Actor, tool, b.Describe(ctx, before, v)})
	}
	return rows
}

// newDocShow prints a document as it was.
func newDocShow(a *app) *cobra.Command {
	var project, at string
	cmd := &cobra.Command{
		Use:   "show PATH",
		Short: "Print a document as it is or as it was",
		Long: "Prints the bytes of a document: those on the disk, or with --at those of an event or a time.\n" +
			"--at takes an event id or its beginning, #NUMBER, a time (2026-01-31T12:00:00Z) or a date (the end of that day, UTC).",
		Example: "  arche doc show auth/use-jwt.adr.md --at 2026-01-31",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDocuments(cmd.Context(), project, func(ctx context.Context, b *documents.Base) error {
				var data []byte
				var err error
				if at == "" {
					data, err = b.Bytes(ctx, args[0])
				} else {
					_, data, err = b.At(ctx, args[0], at)
				}
				if err != nil {
					return err
				}
				_, err = a.stdout.Write(data)
				return err
			})
		},
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&at, "at", "", "event id, #NUMBER or time")
	return cmd
}

// newDocRestore brings an earlier version back.
func newDocRestore(a *app) *cobra.Command {
	var project, at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restore PATH --at VERSION",
		Short: "Give a document the bytes it had",
		Long: "Writes an earlier version of a document in its place, also of one that was removed. Nothing is lost: the\n" +
			"restoring is an event of its own. --at takes what arche doc show takes.",
		Example: "  arche doc restore auth/use-jwt.adr.md --at 2026-01-31T12:00:00Z",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at == "" {
				return usagef("--at is missing").withHint("arche doc log %s lists the versions", args[0])
			}
			return a.withDocuments(cmd.Context(), project, func(ctx context.Context, b *documents.Base) error {
				answer, err := b.Restore(ctx, args[0], at)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(answer)
				}
				if answer.Value("changed") == true {
					a.printf("restored %s\n", answer.Value("path"))
				} else {
					a.printf("%s has these bytes already\n", answer.Value("path"))
				}
				return nil
			})
		},
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&at, "at", "", "event id, #NUMBER or time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

// newDocCheck looks for what is wrong.
func newDocCheck(a *app) *cobra.Command {
	var project string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look for broken documents and relations",
		Long: "Names broken metadata, relations that lead nowhere, mounted sources that are missing, accepted documents that\n" +
			"something supersedes, and documents that moved. Exit code 3 when there is anything but moves to tell.",
		Example: "  arche doc check --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDocuments(cmd.Context(), project, func(ctx context.Context, b *documents.Base) error {
				findings, err := documents.Diagnose(ctx, b)
				if err != nil {
					return err
				}
				return a.printFindings(findings, asJSON)
			})
		},
	}
	projectFlag(cmd, &project)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document")
	return cmd
}

func findingObject(f documents.Finding) *canon.Object {
	o := canon.Obj("code", f.Code)
	if f.Path != "" {
		o.Set("path", f.Path)
	}
	o.Set("message", f.Message)
	o.Set("hint", f.Hint)
	return o
}

func findingPlace(f documents.Finding) string {
	if f.Path == "" {
		return "project"
	}
	return f.Path
}

func (a *app) printFindings(findings []documents.Finding, asJSON bool) error {
	bad := false
	list := []any{}
	for _, f := range findings {
		bad = bad || f.Code != "moved"
		list = append(list, findingObject(f))
	}
	switch {
	case asJSON:
		if err := a.printJSON(canon.Obj("findings", list, "count", len(list))); err != nil {
			return err
		}
	case len(findings) == 0:
		a.printf("nothing to tell\n")
	default:
		for _, f := range findings {
			a.printf("%s: %s: %s\n    %s\n", findingPlace(f), f.Code, f.Message, f.Hint)
		}
	}
	if bad {
		return errFindings
	}
	return nil
}

// newDocGraph draws the relations.
func newDocGraph(a *app) *cobra.Command {
	var project, format, out string
	cmd := &cobra.Command{
		Use:   "graph [PATH]",
		Short: "Draw the relations between documents",
		Long: "Writes the relations, all of them or those of one document, as text for Graphviz (dot) or as one HTML page\n" +
			"with an SVG picture in it that needs nothing else.",
		Example: "  arche doc graph --format svg --out graph.html\n  arche doc graph | dot -Tpng -o graph.png",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "dot" && format != "svg" {
				return usagef("--format must be dot or svg")
			}
			return a.withDocuments(cmd.Context(), project, func(ctx context.Context, b *documents.Base) error {
				return a.drawGraph(ctx, b, append(args, "")[0], format, out)
			})
		},
	}
	projectFlag(cmd, &project)
	cmd.Flags().StringVar(&format, "format", "dot", "dot or svg")
	cmd.Flags().StringVar(&out, "out", "", "file to write (default: standard output)")
	return cmd
}

func (a *app) drawGraph(ctx context.Context, b *documents.Base, path, format, out string) error {
	g, err := b.Graph(ctx, path)
	if err != nil {
		return err
	}
	text := ""
	if format == "dot" {
		text = g.DOT()
	} else if text, err = g.Page(); err != nil {
		return err
	}
	if out == "" {
		_, err = a.stdout.Write([]byte(text))
		return err
	}
	err = replaceFile(out, true, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return err
	}
	a.notef("wrote %s (%s)\n", out, g.Summary())
	return nil
}
