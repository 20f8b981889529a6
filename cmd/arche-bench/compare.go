package main

import (
	"context"
	"flag"
	"io"
	"os"
	"runtime"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// engineFlags say which engine a measurement runs.
type engineFlags struct {
	backend, engine, packs string
	threads, repeat        int
}

func (f *engineFlags) add(flags *flag.FlagSet) {
	flags.StringVar(&f.backend, "backend", "", "splink for the trained model; default the engine's own scorer")
	flags.StringVar(&f.engine, "engine", "", "crosswalk.v1 (default) or crosswalk.v2")
	flags.StringVar(&f.packs, "pack-version", "", "0.9 (default) or 0.10")
	flags.IntVar(&f.threads, "threads", 0, "threads (default all processors)")
	flags.IntVar(&f.repeat, "repeat", 1, "runs, of which the quickest is printed")
}

func (f *engineFlags) request(l *lists, entity string) resolve.Request {
	if f.threads > 0 {
		runtime.GOMAXPROCS(f.threads)
	}
	return resolve.Request{A: l.a, B: l.b, Entity: entity, Backend: f.backend, Engine: f.engine, PackVersion: f.packs,
		Threshold: resolve.DefaultThreshold, OpenScratch: ledger.OpenScratch}
}

// runCompare times one whole comparison of the synthetic lists.
func runCompare(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	entity := flags.String("entity", "organisation", "organisation or person")
	n := flags.Int("n", 1000, "records a list")
	answer := flags.String("json", "", "write the answer to a file")
	var f engineFlags
	f.add(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	l, err := generate(*entity, *n)
	if err != nil {
		return err
	}
	warm := f.request(&lists{a: l.a[:min(2, *n)], b: l.b[:min(2, *n)]}, *entity)
	warm.Backend = ""
	if _, err := resolve.Compare(context.Background(), warm); err != nil { // tables, not timed
		return err
	}
	res, wall, cpu, err := timed(f.request(l, *entity), f.repeat)
	if err != nil {
		return err
	}
	if err := printLine(stdout, compareLine(*entity, *n, res, wall, cpu, l.truth)); err != nil || *answer == "" {
		return err
	}
	b, err := canon.Indent(res.Answer())
	if err != nil {
		return err
	}
	return os.WriteFile(*answer, b, 0o600)
}

// timed runs a comparison several times and gives the least times.
func timed(req resolve.Request, repeat int) (res *resolve.Result, wall, cpu float64, err error) {
	for i := range max(1, repeat) {
		runtime.GC()
		watch := start()
		if res, err = resolve.Compare(context.Background(), req); err != nil {
			return nil, 0, 0, err
		}
		w, c := watch.seconds()
		if i == 0 || w < wall {
			wall = w
		}
		if i == 0 || c < cpu {
			cpu = c
		}
	}
	return res, wall, cpu, nil
}

// compareLine has the reference's figures under the reference's names.
func compareLine(entity string, n int, res *resolve.Result, wall, cpu float64, truth [][2]string) *canon.Object {
	q, pairs := grade(res.Edges, truth), candidates(res)
	return canon.Obj("entity", entity, "n", n, "pairs_scored", pairs, "wall_s", fixed(wall, 3), "cpu_s", fixed(cpu, 3),
		"pairs_per_s", rate(pairs, wall), "pairs_per_cpu_s", rate(pairs, cpu), "peak_rss_mb", peakMB(),
		"matches", q.matches, "review", q.review, "true_pairs", len(truth),
		"precision", fixed(q.precision, 4), "recall", fixed(q.recall, 4), "f1", fixed(q.f1, 4), "surfaced_recall", fixed(q.surfaced, 4))
}
