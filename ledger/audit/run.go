package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
)

// Names of the files in an audit's folder.
const (
	ResultsName = "results.jsonl"
	ReportName  = "report.html"
	SummaryName = "summary.json"
)

const schema = "arche.audit.v1"

// Options say what to audit and where to write.
type Options struct {
	ledger.AuditOptions
	Dir     string    // folder for lines and report, "" = none; it must exist
	Program string    // who audits, for the report
	Lines   io.Writer // also write the lines here; nil = no
	Disk    disk.Disk // where files are written; the zero value is the system's
}

// Run makes the decisions again. In a folder that holds the lines of the same
// audit, stopped on the way, it goes on behind the last whole line.
func Run(ctx context.Context, l *ledger.Ledger, o Options) (*Summary, error) {
	_, last, link, err := l.Head(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{summary: newSummary(), also: o.Lines}
	if o.Until == 0 {
		o.Until = last
	}
	if o.Dir != "" {
		if err := w.open(o); err != nil {
			return nil, err
		}
		defer w.file.Close()
		o.Until = w.until
	}
	inner, already := o.AuditOptions, w.summary.Total
	inner.After = max(o.After, w.after)
	if p := o.Progress; p != nil {
		inner.Progress = func(done, total int64) {
			w.summary.Population = max(w.summary.Population, already+total)
			p(already+done, already+total)
		}
	}
	// Of a sample, which is of the smallest addresses, the smallest of the rest are left.
	if inner.Sample = o.Sample - int(already); o.Sample == 0 || inner.Sample > 0 {
		inner.Sample = max(inner.Sample, 0)
		if _, err := l.Audit(ctx, inner, w.take); err != nil {
			return nil, errors.Join(err, w.flush())
		}
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	w.summary.trim()
	w.summary.Population, err = population(ctx, l, o)
	if err != nil || o.Dir == "" {
		return w.summary, err
	}
	return w.summary, w.finish(o, link)
}

// population is how many decisions the options ask for without the sample.
func population(ctx context.Context, l *ledger.Ledger, o Options) (int64, error) {
	if o.Sample == 0 {
		return 0, nil
	}
	return l.CountDecisions(ctx, o.AuditOptions)
}

// writer writes lines and counts them.
type writer struct {
	summary *Summary
	file    *disk.File
	out     *bufio.Writer
	also    io.Writer
	until   int64 // last event that the audit in the folder looks at
	after   int64 // last event that it has seen
	pending int
}

// flushEvery is how many lines may be lost with the process.
const flushEvery = 1000

func (w *writer) take(f *ledger.Audited) error {
	o := line(f)
	w.summary.add(o)
	text, err := canon.Compact(o)
	text = append(text, '\n')
	if err == nil && w.also != nil {
		_, err = w.also.Write(text)
	}
	if err != nil || w.out == nil {
		return err
	}
	_, _ = w.out.Write(text) // a writer keeps its first error, which flush tells
	if w.pending++; w.pending >= flushEvery {
		return w.flush()
	}
	return nil
}

func (w *writer) flush() error {
	w.pending = 0
	if w.out == nil {
		return nil
	}
	return fileFault(w.out.Flush())
}

// header is the first line of the results: which audit this is. Until makes a
// stopped audit end where it would have, whatever was appended since.
func header(o Options, until int64) *canon.Object {
	return canon.Obj("audit", schema, "after", o.After, "until", until, "entity", o.Entity, "verb", o.Verb,
		"sample", int64(o.Sample), "today", o.Today)
}

func (w *writer) open(o Options) error {
	path := filepath.Join(o.Dir, ResultsName)
	f, err := o.Disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fileFault(err)
	}
	w.file, w.until = f, o.Until
	end, err := w.resume(f, o)
	if err == nil {
		err = o.Disk.Truncate(path, end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	w.out = bufio.NewWriterSize(f, 1<<16)
	if err == nil && end == 0 {
		var first []byte
		first, err = canon.Compact(header(o, o.Until))
		_, _ = w.out.Write(append(first, '\n'))
	}
	if err != nil {
		return errors.Join(fileFault(err), f.Close())
	}
	return nil
}

// resume reads what an earlier run wrote and returns the end of its last whole
// line. An audit of today's packs starts anew: its findings depend on all.
func (w *writer) resume(f io.Reader, o Options) (end int64, err error) {
	in := bufio.NewReaderSize(f, 1<<20)
	for first := true; ; first = false {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil // a line cut off on the way is written again
		}
		if err != nil {
			return 0, err
		}
		row, err := canon.ParseObject(bytes.TrimSpace(text), canon.Limits{})
		if err != nil {
			return 0, fault.New(fault.Invalid, "%s holds no lines of an audit", ResultsName).WithHint("name an empty folder")
		}
		if first {
			until, err := sameAudit(row, o)
			if err != nil || o.Today {
				return 0, err
			}
			w.until = until
		} else {
			w.summary.add(row)
			w.after = seqOf(row)
		}
		end += int64(len(text))
	}
}

func sameAudit(row *canon.Object, o Options) (until int64, err error) {
	if n, ok := row.Value("until").(canon.Number); ok {
		until = int64(n.Float())
	}
	want, err1 := canon.Compact(header(o, until))
	got, err2 := canon.Compact(row)
	if err1 != nil || err2 != nil || !bytes.Equal(got, want) {
		return 0, fault.New(fault.Invalid, "%s holds another audit", ResultsName).WithHint("name an empty folder, or the options that it was begun with")
	}
	return until, nil
}

// finish writes the summary and the report.
func (w *writer) finish(o Options, link string) error {
	sum, err := canon.Indent(w.summary.Answer())
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = export.ReplaceOn(o.Disk, filepath.Join(o.Dir, SummaryName), func(out io.Writer) error {
			_, err := out.Write(append(sum, '\n'))
			return err
		})
	}
	if err == nil {
		err = export.ReplaceOn(o.Disk, filepath.Join(o.Dir, ReportName), func(out io.Writer) error {
			return export.WriteHTML(out, w.summary.page(o, link))
		})
	}
	return fileFault(err)
}

// Digest is the hash of an audit's lines, for the event that records it.
func Digest(dir string) (string, error) {
	f, err := os.Open(filepath.Join(dir, ResultsName))
	if err != nil {
		return "", fileFault(err)
	}
	defer f.Close()
	h := blake3.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fileFault(err)
	}
	return fmt.Sprintf("blake3:%x", h.Sum(nil)), nil
}

// fileFault words errors of the file system without the full path.
func fileFault(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && fault.As(err) == nil {
		return fault.Wrap(err, fault.Invalid, "%s: %v", filepath.Base(p.Path), p.Err)
	}
	return err
}
