package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/detect/extract"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction/guard"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/mcpserver"
)

// redactFlags are the flags of arche redact.
type redactFlags struct {
	policyFlags
	out, charset, provider string
	inPlace, force, border bool
	asText, json           bool
}

// newRedact writes redacted copies.
func newRedact(a *app) *cobra.Command {
	var f redactFlags
	cmd := &cobra.Command{
		Use:   "redact FILE|-|DIR",
		Short: "Write a redacted copy of a text, document or folder",
		Long: "Replaces each stretch of personal data by a token that is the same everywhere under your key (ARCHE_HASH_KEY),\n" +
			"and refuses when that is not safe, as the tool guarded_scan does. The copy of notes.txt is notes.redacted.txt, of a folder\n" +
			"DIR.redacted, of standard input standard output; the copy of a PDF, DOCX, HTML or e-mail is its text. Nothing is written over\n" +
			"unless --in-place or --force says so. Plain text of any size is read as a stream. With a ledger each scan is recorded, never its text.",
		Example: "  ARCHE_HASH_KEY=secret arche redact note.txt --jurisdiction NG\n" +
			"  ARCHE_HASH_KEY=secret arche redact inbox/ --jurisdiction GB --out clean/\n" +
			"  cat note.txt | ARCHE_HASH_KEY=secret arche redact - --jurisdiction KE",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.newRedaction(f)
			if err != nil {
				return err
			}
			defer r.close()
			return r.run(cmd.Context(), args[0])
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "file, or folder for a folder, to write to; - is standard output")
	flags.BoolVar(&f.inPlace, "in-place", false, "write over the source (plain text only)")
	flags.BoolVar(&f.force, "force", false, "write over a copy that is there")
	flags.BoolVar(&f.asText, "text", false, "the argument is the text itself")
	flags.StringVar(&f.provider, "provider", "", "model provider the text is meant for; checked against ARCHE_ALLOWED_PROVIDERS")
	flags.BoolVar(&f.border, "crosses-border", false, "the text leaves the jurisdiction; checked against ARCHE_TRANSFER_BASIS")
	flags.StringVar(&f.charset, "charset", "", "character set of plain text that is not UTF-8, windows-1252 for example; the copy is UTF-8")
	flags.BoolVar(&f.json, "json", false, "sum up as one JSON document on standard output; with --text, the tool's answer")
	cmd.MarkFlagsMutuallyExclusive("in-place", "out")
	return cmd
}

// redaction is one run of arche redact.
type redaction struct {
	a     *app
	f     redactFlags
	req   guard.Request // without a text
	guard *guard.Guard  // nil after a refusal
	book  *ledger.Ledger
}

func (a *app) newRedaction(f redactFlags) (*redaction, error) {
	o, code, statute := a.policy(f.policyFlags)
	r := &redaction{a: a, f: f, req: guard.Request{
		Jurisdiction: code, Statute: statute, Key: o.HashKey, Allowed: o.Providers, CrossesBorder: f.border,
		TransferBasis: o.TransferBasis, Coverage: o.Coverage, Scheme: o.TokenScheme,
	}}
	if f.provider != "" {
		r.req.Provider = &f.provider
	}
	if a.ledgerURI() != "" {
		l, err := a.openLedger("cli")
		if err != nil {
			return nil, err
		}
		r.book = l
	}
	return r, nil
}

func (r *redaction) close() {
	if r.book != nil {
		if err := r.book.Close(); err != nil {
			r.a.notef("error: close the ledger: %v\n", err)
		}
	}
}

func (r *redaction) run(ctx context.Context, arg string) error {
	if r.f.asText {
		return r.literal(ctx, arg)
	}
	g, refusal := guard.New(r.req)
	if refusal != nil {
		return r.refused(ctx, refusal)
	}
	r.guard = g
	if arg == "-" {
		return r.one(ctx, arg, r.f.out)
	}
	info, err := os.Stat(arg)
	if err != nil {
		return unreadable(arg, err)
	}
	if info.IsDir() {
		return r.folder(ctx, filepath.Clean(arg))
	}
	return r.one(ctx, arg, r.f.out)
}

// literal redacts a text given as the argument and prints it.
func (r *redaction) literal(ctx context.Context, text string) error {
	r.req.Text = text
	res := guard.Scan(ctx, r.req)
	if res.Denied {
		return r.refused(ctx, res)
	}
	if err := mcpserver.RecordScan(r.actor(ctx), r.book, r.req, res, time.Now()); err != nil {
		return err
	}
	if r.f.json {
		return r.a.printJSON(res.Answer())
	}
	r.a.printf("%s\n", res.Text)
	r.a.notef("%s under %s\n", replaced(res.Counts()), *res.Coverage.StatuteID)
	return nil
}

func (r *redaction) actor(ctx context.Context) context.Context {
	return ledger.WithActor(ctx, r.a.actor("cli"))
}

// refused records and reports a refusal.
func (r *redaction) refused(ctx context.Context, res *guard.Result) error {
	if err := mcpserver.RecordScan(r.actor(ctx), r.book, r.req, res, time.Now()); err != nil {
		return err
	}
	if r.f.json {
		if err := r.a.printJSON(res.Answer()); err != nil {
			return err
		}
		return errFailed
	}
	return fault.New(fault.Refused, "%s", res.Reason)
}

// one redacts one file, or standard input.
func (r *redaction) one(ctx context.Context, path, out string) error {
	sum, err := r.file(ctx, path, out)
	if err != nil {
		return err
	}
	if r.f.json && sum.out != "-" {
		o := sum.answer()
		o.Set("statute_id", r.guard.StatuteID())
		o.Set("coverage", r.guard.Coverage())
		return r.a.printJSON(o)
	}
	r.a.notef("%s\n", sum.line(r.guard))
	return nil
}

// folder redacts every file below a folder. A file that is refused is not
// copied; the others are, and the exit code tells.
func (r *redaction) folder(ctx context.Context, dir string) error {
	if r.f.out == "-" {
		return usagef("a folder cannot be written to standard output")
	}
	out := r.f.out
	if out == "" && !r.f.inPlace {
		out = dir + ".redacted"
	}
	paths, err := files([]string{dir})
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(dir, out); err == nil && out != "" && !strings.HasPrefix(inside, "..") {
		return usagef("the copy of a folder cannot lie within it")
	}
	shown := r.a.progress("redacting, files")
	var done []any
	refused := []any{}
	for i, path := range paths {
		shown.report(int64(i), int64(len(paths)))
		target := ""
		if out != "" {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			target = filepath.Join(out, rel)
		}
		sum, err := r.file(ctx, path, target)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			shown.stop()
			r.a.report(ctx, err)
			refused = append(refused, path)
			continue
		}
		done = append(done, sum.answer())
		if !r.f.json {
			shown.stop()
			r.a.notef("%s\n", sum.line(r.guard))
		}
	}
	shown.stop()
	if r.f.json {
		if err := r.a.printJSON(canon.Obj("denied", false, "source", dir, "output", out, "files", append([]any{}, done...), "refused", refused,
			"statute_id", r.guard.StatuteID(), "coverage", r.guard.Coverage())); err != nil {
			return err
		}
	}
	r.a.notef("%s redacted, %d refused\n", counted(len(done), "file"), len(refused))
	if len(refused) > 0 {
		return errFailed
	}
	return nil
}

// fileSum is what redacting one file came to.
type fileSum struct {
	guard.Summary
	name, out string
	kind      extract.Kind
	skipped   []string
}

func (s *fileSum) answer() *canon.Object {
	counts := &canon.Object{}
	for _, c := range slices.Sorted(maps.Keys(s.Counts)) {
		counts.Set(c, s.Counts[c])
	}
	return canon.Obj("denied", false, "source", s.name, "output", s.out, "kind", string(s.kind), "bytes", s.Bytes,
		"counts", counts, "placeholders_in_input", s.Found, "skipped", append([]string{}, s.skipped...))
}

func (s *fileSum) line(g *guard.Guard) string {
	out := s.out
	if out == "-" {
		out = "standard output"
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%s: %s under %s", out, replaced(s.Counts), g.StatuteID())
	for _, what := range s.skipped {
		line.WriteString("\nnot read and not in the copy: " + what)
	}
	return line.String()
}

// replaced counts what was taken out by category.
func replaced(counts map[string]int) string {
	total := 0
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		total += counts[c]
		parts = append(parts, fmt.Sprintf("%s %d", c, counts[c]))
	}
	if total == 0 {
		return "0 values replaced"
	}
	return counted(total, "value") + " replaced (" + strings.Join(parts, ", ") + ")"
}

// file redacts one source to a target; "" is the default beside it.
func (r *redaction) file(ctx context.Context, path, target string) (*fileSum, error) {
	s, err := r.a.openSource(path)
	if err != nil {
		return nil, err
	}
	defer s.close()
	text, doc, err := s.text(ctx, r.f.charset)
	if err != nil {
		return nil, err
	}
	sum := &fileSum{name: s.name, kind: s.kind, out: target}
	if doc != nil {
		sum.skipped = doc.Skipped
	}
	switch {
	case r.f.inPlace && s.kind != extract.Plain:
		return nil, fault.New(fault.Refused, "%s: only plain text can be redacted in place", path).
			WithHint("leave --in-place out; the copy is the document's text")
	case r.f.inPlace && path == "-":
		return nil, usagef("standard input cannot be redacted in place")
	case r.f.inPlace:
		sum.out = path
	case sum.out == "" && path == "-":
		sum.out = "-"
	case sum.out == "":
		sum.out = copyName(path, s.kind)
	case sum.out != "-" && s.kind != extract.Plain && filepath.Ext(sum.out) == filepath.Ext(path):
		sum.out += ".txt"
	}
	shown := r.a.progress("redacting " + s.name + ", bytes")
	defer shown.stop()
	if doc == nil {
		text = &progressReader{Reader: text, total: s.size, report: shown.report}
	}
	record := func() error {
		if r.book == nil {
			return nil
		}
		subject, body := r.guard.RecordCopy(sum.Summary, time.Now())
		_, err := r.book.Append(r.actor(ctx), []ledger.Draft{{Kind: "protection.scanned", Subject: subject, Body: body}})
		return err
	}
	if sum.out == "-" {
		if sum.Summary, err = r.guard.Copy(ctx, r.a.stdout, text, nil); err != nil {
			return nil, named(path, err)
		}
		return sum, record()
	}
	err = replaceFile(sum.out, r.f.force || r.f.inPlace, func(w io.Writer) error {
		if sum.Summary, err = r.guard.Copy(ctx, w, text, nil); err != nil {
			return named(path, err)
		}
		return record()
	})
	return sum, err
}

// copyName is where the copy of a file goes by itself.
func copyName(path string, kind extract.Kind) string {
	ext := filepath.Ext(path)
	if base := strings.TrimSuffix(path, ext); filepath.Base(base) != "" && filepath.Base(base) != "." {
		path = base
	}
	if kind != extract.Plain {
		ext = ".txt"
	}
	return path + ".redacted" + ext
}

// replaceFile writes a file whole or not at all. A file that is there is only
// written over when over is set.
func replaceFile(path string, over bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil && !over {
		return fault.New(fault.Refused, "%s is there already", path).WithHint("pass --force to write over it, or --out to write elsewhere")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Invalid, "the folder of %s cannot be made", path)
	}
	tmp, err := os.CreateTemp(dir, ".arche-redact-*")
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "%s cannot be written", path)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already after a rename
	err = write(tmp)
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		if info, statErr := os.Stat(path); statErr == nil {
			err = os.Chmod(tmp.Name(), info.Mode().Perm())
		}
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if f := fault.As(err); err != nil && f == nil {
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			return fault.Wrap(err, fault.Invalid, "%s cannot be written", path)
		}
	}
	return err
}
