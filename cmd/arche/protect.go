package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/detect/extract"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/mcpserver"
)

// policyFlags name the law a command runs under. What the environment sets
// stands above them, as it does above an agent's arguments.
type policyFlags struct {
	jurisdiction string
	statute      string
}

func (f *policyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.jurisdiction, "jurisdiction", "", "country code, or EU; ARCHE_JURISDICTION, when set, stands above it")
	cmd.Flags().StringVar(&f.statute, "statute", "", "exact statute id (arche capabilities lists them); ARCHE_STATUTE, when set, stands above it")
}

// policy returns the operator's options with the flags under the ceiling.
func (a *app) policy(f policyFlags) (mcpserver.ProtectOptions, string, string) {
	o := mcpserver.ProtectFromEnv(a.env)
	code, statute := o.Ceiling.Apply(f.jurisdiction, f.statute)
	return o, code, statute
}

// source is one text or document to read.
type source struct {
	name string // as shown: the path, or - for standard input
	rel  string // below the folder it was found in
	kind extract.Kind
	size int64 // bytes, 0 when not known
	raw  io.Reader
	file io.Closer // nil for standard input
}

func (s *source) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
}

// openSource opens a path, or standard input for "-", and tells its kind.
func (a *app) openSource(path string) (*source, error) {
	s := &source{name: path, rel: filepath.Base(path)}
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		info, err := f.Stat()
		if err != nil || info.IsDir() {
			_ = f.Close()
			return nil, fault.New(fault.Invalid, "%s is no file", path)
		}
		s.file, s.size, in = f, info.Size(), f
	}
	buffered := bufio.NewReaderSize(in, 8<<10)
	head, err := buffered.Peek(4 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		s.close()
		return nil, unreadable(path, err)
	}
	s.raw = buffered
	if s.kind, err = extract.KindOf(path, head); err != nil {
		s.close()
		return nil, named(path, err)
	}
	return s, nil
}

func unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.NotFound, "no file %s", path)
	}
	return fault.Wrap(err, fault.Invalid, "%s cannot be read", path)
}

// named puts the file before a fault's message.
func named(path string, err error) error {
	if f := fault.As(err); f != nil {
		return &fault.Error{Kind: f.Kind, Message: path + ": " + f.Message, Hint: f.Hint, Err: f.Err}
	}
	return err
}

// text returns the source's text as a stream, and the document it was taken
// from when the source is not plain text.
func (s *source) text(ctx context.Context, charset string) (io.Reader, *extract.Document, error) {
	if s.kind == extract.Plain {
		r, err := extract.Stream(s.raw, charset)
		return r, nil, err
	}
	raw, err := io.ReadAll(s.raw)
	if err != nil {
		return nil, nil, unreadable(s.name, err)
	}
	d, err := extract.Read(ctx, s.name, raw, extract.Limits{})
	if err != nil {
		return nil, nil, named(s.name, err)
	}
	return strings.NewReader(d.Text), d, nil
}

// files lists what the arguments name: files as they are, folders with all
// regular files below them in order. Hidden folders and links are left out.
func files(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if arg == "-" || err == nil && !info.IsDir() {
			out = append(out, arg)
			continue
		}
		if err != nil {
			return nil, unreadable(arg, err)
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != arg && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			case d.Type().IsRegular():
				out = append(out, path)
			}
			return nil
		})
		if err != nil {
			return nil, unreadable(arg, err)
		}
	}
	return out, nil
}

// counted writes "3 detections", "1 detection".
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// progressReader reports how much was read.
type progressReader struct {
	io.Reader
	done, total int64
	report      func(done, total int64)
}

func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.done += int64(n)
	r.report(r.done, r.total)
	return n, err
}
