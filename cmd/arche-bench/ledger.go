package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// batchSize is how many pairs of suppliers one call of the fill compares.
const batchSize = 400

// runLedger fills a fresh ledger and times every verb on it.
func runLedger(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("ledger", flag.ContinueOnError)
	n := flags.Int("records", 10_000, "records to store")
	events := flags.Int("events", 0, "fill a ledger with so many events instead and take the figures of a long one")
	seed := flags.Int64("seed", 7, "seed of the lists")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *events > 0 {
		return runEvents(*events, *seed, stdout)
	}
	dir, err := os.MkdirTemp("", "arche-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &ledgerBench{ctx: context.Background(), path: filepath.Join(dir, "l.duckdb"), made: newSuppliers(*seed), out: canon.Obj("records", *n)}
	if err := b.fill(*n); err != nil {
		return err
	}
	defer func() { _ = b.ledger.Close() }()
	if err := b.verbs(); err != nil {
		return err
	}
	b.out.Set("peak_rss_mb", peakMB())
	return printLine(stdout, b.out)
}

type ledgerBench struct {
	ctx    context.Context
	path   string
	made   *suppliers
	ledger *ledger.Ledger
	out    *canon.Object
	edges  []resolve.Edge
	names  []string // of matched records on side a
}

func (b *ledgerBench) open() (err error) {
	b.ledger, err = ledger.Open(b.path, ledger.Options{})
	return err
}

func (b *ledgerBench) fill(n int) error {
	if err := b.open(); err != nil {
		return err
	}
	var bareCPU, fullCPU, fullWall float64
	for done := 0; done < n/2; done += batchSize {
		req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
		req.A, req.B = b.made.batch(done, min(batchSize, n/2-done))
		_, _, cpu, err := timed(req, 1)
		if err != nil {
			return err
		}
		bareCPU += cpu
		watch := start()
		res, err := b.ledger.Compare(b.ctx, req)
		if err != nil {
			return err
		}
		w, c := watch.seconds()
		fullWall, fullCPU = fullWall+w, fullCPU+c
		b.edges = append(b.edges, res.Edges...)
		for _, e := range res.Edges {
			if e.Decision == "match" && len(b.names) < 200 {
				name, _ := req.A[e.I].Value("name").(string)
				b.names = append(b.names, name)
			}
		}
	}
	decisions := int64(len(b.edges))
	b.out.Set("decisions", decisions)
	b.out.Set("fill_wall_s", fixed(fullWall, 3))
	b.out.Set("fill_cpu_s", fixed(fullCPU, 3))
	b.out.Set("compare_only_cpu_s", fixed(bareCPU, 3))
	b.out.Set("decisions_per_cpu_s_recording_only", rate(decisions, fullCPU-bareCPU))
	b.out.Set("decisions_per_cpu_s", rate(decisions, fullCPU))
	if err := b.ledger.Close(); err != nil {
		return err
	}
	info, err := os.Stat(b.path)
	if err != nil {
		return err
	}
	b.out.Set("file_bytes", info.Size())
	b.out.Set("bytes_per_decision", info.Size()/max(1, decisions))
	return nil
}

// verbs times the reading verbs, then the writing ones, on a ledger just opened.
func (b *ledgerBench) verbs() error {
	watch := start()
	if err := b.open(); err != nil {
		return err
	}
	ids := b.spread(200)
	if _, err := b.ledger.Decision(b.ctx, ids[0]); err != nil {
		return err
	}
	wall, cpu := watch.seconds()
	b.out.Set("first_answer_ms", fixed(wall*1000, 1))
	b.out.Set("first_answer_cpu_ms", fixed(cpu*1000, 1))
	each := func(name string, n int, call func(i int) error) error {
		var took []float64
		for i := range n {
			from := time.Now()
			if err := call(i); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			took = append(took, time.Since(from).Seconds()*1000)
		}
		slices.Sort(took)
		b.out.Set(name, canon.Obj("n", n, "p50_ms", fixed(took[n/2], 3), "p99_ms", fixed(took[min(n-1, n*99/100)], 3), "max_ms", fixed(took[n-1], 3)))
		return nil
	}
	steps := []struct {
		name string
		n    int
		call func(i int) error
	}{
		{"decision", len(ids), func(i int) error { _, err := b.ledger.Decision(b.ctx, ids[i]); return err }},
		{"explain", len(ids), func(i int) error { _, err := b.ledger.Explain(b.ctx, ids[i]); return err }},
		{"replay", min(10, len(ids)), func(i int) error { _, err := b.ledger.Replay(b.ctx, ids[i]); return err }},
		{"entities", 5, func(int) error { _, err := b.ledger.Entities(b.ctx, ""); return err }},
		{"cases", 5, func(int) error { _, err := b.ledger.Cases(b.ctx, ""); return err }},
		{"resolve_new", 100, func(i int) error { return b.resolve(b.made.name(0) + " Ltd") }},
		{"resolve_known", min(100, len(b.names)), func(i int) error { return b.resolve(b.names[i]) }},
		{"one_pair_a_call", 40, b.onePair},
	}
	for _, s := range steps {
		if err := each(s.name, s.n, s.call); err != nil {
			return err
		}
	}
	return nil
}

// spread picks decision ids evenly.
func (b *ledgerBench) spread(n int) []string {
	var out []string
	for i := range min(n, len(b.edges)) {
		out = append(out, b.edges[i*len(b.edges)/min(n, len(b.edges))].DecisionID)
	}
	return out
}

func (b *ledgerBench) resolve(name string) error {
	_, err := b.ledger.Resolve(b.ctx, canon.Obj("name", name, "ward", "new"), "organisation")
	return err
}

func (b *ledgerBench) onePair(i int) error {
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	req.A, req.B = b.made.batch(10_000_000+i, 1)
	_, err := b.ledger.Compare(b.ctx, req)
	return err
}
