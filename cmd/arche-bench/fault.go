package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/arctest/histories"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
)

// seededFault fails the n-th operation of a store, once.
type seededFault struct {
	n, at int
	err   error
	op    string // the operation that failed, "" while none has
}

func (f *seededFault) ask(op string) error {
	f.at++
	if f.at != f.n {
		return nil
	}
	f.op = op
	return f.err
}

// faultKinds are the ways in which an operation fails.
var faultKinds = []struct {
	name string
	err  error
}{
	{"I/O error", errors.New("IO Error: Could not write file: Input/output error")},
	{"disk full", errors.New("IO Error: Could not write file: No space left on device")},
	{"fatal", errors.New("FATAL Error: Failed to create checkpoint because of error: No space left on device")},
}

// faultWork is a sequence of calls; each is acknowledged when it returns nil.
type faultWork struct {
	name  string
	calls []func(ctx context.Context, l *ledger.Ledger) error
	every int64 // events between signed checkpoints, 0 = none
}

func faultWorks(dir string) []faultWork {
	unit := func(work string, n int) func(context.Context, *ledger.Ledger) error {
		return func(ctx context.Context, l *ledger.Ledger) error { return appendUnit(ctx, l, work, n) }
	}
	backups := 0
	backup := func(ctx context.Context, l *ledger.Ledger) error {
		backups++
		_, err := l.Backup(ctx, filepath.Join(dir, fmt.Sprintf("backup-%d", backups)))
		return err
	}
	forget := func(ctx context.Context, l *ledger.Ledger) error {
		id, err := canon.PublishedID("rec", canon.Obj("entity_type", "organisation", "attributes", histories.Registered("a", 1)))
		if err != nil {
			return err
		}
		_, err = l.Forget(ctx, ledger.ForgetRequest{Addresses: []string{id}, Reason: "asked to"})
		return err
	}
	type list = []func(context.Context, *ledger.Ledger) error
	return []faultWork{
		{"three comparisons", list{unit("single", 1), unit("single", 2), unit("single", 3)}, 0},
		{"batches of ten", list{unit("ten", 1), unit("ten", 2)}, 0},
		{"observations", list{unit("observe", 1), unit("observe", 2)}, 0},
		{"resolves", list{unit("resolve", 1), unit("resolve", 2)}, 0},
		{"signed checkpoints", list{unit("single", 1), unit("single", 2)}, 4},
		{"backup", list{unit("single", 1), backup}, 0},
		{"forgetting", list{unit("single", 1), forget}, 0},
	}
}

// runFault fails every operation in turn, through the seam of the store and,
// where the system can limit the size of files, for real.
func runFault(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("fault", flag.ContinueOnError)
	limits := flags.Int("limits", 40, "processes whose files may not grow beyond a size")
	seed := flags.Uint64("seed", 0, "seed of the sizes; 0 draws one")
	step := flags.Int("step", 1, "take every n-th operation only")
	only := flags.String("only", "", "take only work whose name holds this text")
	if err := flags.Parse(args); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(newSeed(*seed, stdout), 2)) //nolint:gosec // sizes of files
	dir, err := os.MkdirTemp("", "arche-fault-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(stdout, "| work | fault | operations failed | calls refused | acknowledged and lost | not whole | failed reopens |\n|---|---|---|---|---|---|---|\n")
	broken := 0
	for _, w := range faultWorks(dir) {
		if !strings.Contains(w.name, *only) {
			continue
		}
		for _, kind := range faultKinds {
			c, err := everyFault(dir, w, kind.err, max(1, *step))
			if err != nil {
				return fmt.Errorf("%s, %s: %w", w.name, kind.name, err)
			}
			broken += c.broken()
			fmt.Fprintf(stdout, "| %s | %s | %d | %d | %d | %d | %d |\n", w.name, kind.name, c.failed, c.refused, c.lost, c.torn, c.reopen)
		}
	}
	if *limits > 0 {
		c, err := sizeLimits(dir, *limits, random)
		if err != nil {
			return err
		}
		broken += c.broken()
		fmt.Fprintf(stdout, "| appending | files may not grow | %d | %d | %d | %d | %d |\n", c.failed, c.refused, c.lost, c.torn, c.reopen)
		if c, err = sizeLimitedExports(dir, *limits, random); err != nil {
			return err
		}
		broken += c.broken()
		fmt.Fprintf(stdout, "| exporting | files may not grow | %d | %d | %d | %d | %d |\n", c.failed, c.refused, c.lost, c.torn, c.reopen)
	}
	if broken > 0 {
		return fmt.Errorf("%d promises were broken", broken)
	}
	return nil
}

type faultCount struct{ failed, refused, lost, torn, reopen int }

func (c *faultCount) broken() int { return c.lost + c.torn + c.reopen }

// everyFault runs the work once for every operation it makes, or every step-th,
// failing that one.
func everyFault(dir string, w faultWork, cause error, step int) (*faultCount, error) {
	key, err := attest.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		return nil, err
	}
	c := &faultCount{}
	for n := 1; ; n += step {
		run, err := os.MkdirTemp(dir, "run-*")
		if err != nil {
			return nil, err
		}
		f := &seededFault{n: n, err: cause}
		opts := ledger.Options{Fault: f.ask}
		if w.every > 0 {
			opts.Signer, opts.CheckpointEvery = key, w.every
		}
		path := filepath.Join(run, "ledger.duckdb")
		ack, err := faultyRun(path, w, opts, c)
		if err != nil {
			return nil, fmt.Errorf("operation %d (%s): %w", n, f.op, err)
		}
		if f.op == "" {
			return c, os.RemoveAll(run)
		}
		c.failed++
		c.reopened(path, ack)
		if err := os.RemoveAll(run); err != nil {
			return nil, err
		}
	}
}

// faultyRun makes the calls, and one more that must work, and returns where the
// log ended at the last acknowledgement.
func faultyRun(path string, w faultWork, opts ledger.Options, c *faultCount) (ack lastAck, err error) {
	ctx := context.Background()
	l, err := ledger.Open(path, opts)
	if err != nil {
		return ack, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	calls := append(append([]func(context.Context, *ledger.Ledger) error{}, w.calls...),
		func(ctx context.Context, l *ledger.Ledger) error { return appendUnit(ctx, l, "single", 99) })
	for _, call := range calls {
		if err := call(ctx, l); err != nil {
			c.refused++
			continue
		}
		_, seq, link, err := l.Head(ctx)
		if err != nil {
			c.refused++
			continue
		}
		ack.seq, ack.link = seq, link
	}
	return ack, nil
}

// reopened checks a file as the next process finds it.
func (c *faultCount) reopened(path string, ack lastAck) {
	ctx := context.Background()
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		c.reopen++
		return
	}
	defer l.Close()
	var report ledger.Report
	if err := l.Verify(ctx, &report); err != nil {
		if len(report.Findings) > 0 {
			c.torn++
		} else {
			c.reopen++
		}
		return
	}
	if report.Events < ack.seq {
		c.lost++
		return
	}
	if ack.seq > 0 {
		for e, err := range l.Events(ctx, ledger.Filter{After: ack.seq - 1}) {
			if err != nil || e.Link() != ack.link {
				c.lost++
			}
			break
		}
	}
	if err := appendUnit(ctx, l, "single", 100); err != nil {
		c.reopen++
	}
}

// sizeLimits lets processes append whose files may not grow beyond a size, drawn
// anew for each: the operating system refuses the write, wherever the database
// makes it.
func sizeLimits(dir string, n int, random *rand.Rand) (*faultCount, error) {
	c := &faultCount{}
	path := filepath.Join(dir, "limited.duckdb")
	next := 0
	for range n {
		size := int64(0)
		for _, suffix := range []string{"", ".wal"} {
			if info, err := os.Stat(path + suffix); err == nil {
				size = max(size, info.Size())
			}
		}
		limit := size + random.Int64N(60_000)
		ack, refused, err := limitedChild(fmt.Sprintf("limited%s%d", "@", limit), next, path)
		if err != nil {
			return nil, err
		}
		c.refused += refused
		c.failed++
		c.reopened(path, ack)
		next = max(next, ack.n) + 2
	}
	return c, nil
}

// sizeLimitedExports lets processes export a ledger into files that may not grow
// beyond a size. What is there afterwards is an export that verifies, and was told
// as made, or none; the ledger is as it was.
func sizeLimitedExports(dir string, n int, random *rand.Rand) (*faultCount, error) {
	c := &faultCount{}
	ctx := context.Background()
	path := filepath.Join(dir, "exported.duckdb")
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		return nil, err
	}
	if err := appendUnit(ctx, l, "thousand", 0); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	_, seq, link, err := l.Head(ctx)
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	for k := range n {
		to := filepath.Join(dir, fmt.Sprintf("export-%d", k))
		cmd, err := newChild(ctx, fmt.Sprintf("export@%d", 1+random.Int64N(600_000)), 0, path)
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, exportFolder+"="+to)
		said, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		told := string(said) == "exported\n"
		if !told {
			c.refused++
		}
		report, err := export.Verify(ctx, to, nil)
		if whole := err == nil && report.OK(); whole != told {
			c.torn++
		}
		c.failed++
		c.reopened(path, lastAck{seq: seq, link: link})
		if err := os.RemoveAll(to); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// exportFolder names the environment variable that tells a child where to export.
const exportFolder = "ARCHE_BENCH_EXPORT"

func exportUnderLimit(l *ledger.Ledger, limit int64, out io.Writer) error {
	ctx := context.Background()
	if _, _, _, err := l.Head(ctx); err != nil {
		return err
	}
	if err := limitFiles(limit); err != nil {
		return err
	}
	format := []string{"jsonl", "csv", "parquet"}[limit%3]
	_, err := export.Write(ctx, l, export.Request{
		What: "decisions", Format: format, Dir: os.Getenv(exportFolder), Program: "arche-bench", At: "2026-12-01T00:00:00+00:00",
	})
	word := "exported"
	if err != nil {
		word = "refused"
	}
	_ = l.Close() // may fail for the same reason; what counts is the file
	_, err = fmt.Fprintln(out, word)
	return err
}

// limitedChild runs one such process to its end.
func limitedChild(work string, first int, path string) (ack lastAck, refused int, err error) {
	cmd, err := newChild(context.Background(), work, first, path)
	if err != nil {
		return ack, 0, err
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return ack, 0, err
	}
	if err := cmd.Start(); err != nil {
		return ack, 0, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "refused" {
			refused++
		} else if _, err := fmt.Sscanf(lines.Text(), "ack %d %s %d", &ack.seq, &ack.link, &ack.n); err != nil {
			return ack, refused, fmt.Errorf("the writer said %q", lines.Text())
		}
	}
	return ack, refused, cmd.Wait()
}

// appendUnderLimit appends until units were refused three times.
func appendUnderLimit(l *ledger.Ledger, limit int64, first int, out io.Writer) error {
	if err := limitFiles(limit); err != nil {
		return err
	}
	ctx := context.Background()
	for n, refused := first, 0; refused < 3 && n < first+300; n++ {
		err := appendUnit(ctx, l, []string{"single", "ten"}[n%2], n)
		if err == nil {
			err = acknowledge(ctx, l, n, out)
		}
		if err != nil {
			refused++
			fmt.Fprintln(out, "refused")
		}
	}
	// Closing may fail for the same reason; what counts is the file.
	_ = l.Close()
	return nil
}
