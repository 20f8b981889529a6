package main

import (
	"flag"
	"io"

	"github.com/arche-ledger/arche/internal/canon"
)

// runScale links the two tables of the scale measurement.
func runScale(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	rows := flags.Int("rows", 100_000, "rows of both tables together")
	var f engineFlags
	f.add(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	l := newCrowd().lists(*rows, f.backend == "")
	before := peakMB()
	res, wall, cpu, err := timed(f.request(l, "person"), f.repeat)
	if err != nil {
		return err
	}
	q, pairs := grade(res.Edges, l.truth), candidates(res)
	return printLine(stdout, canon.Obj("rows", *rows, "backend", f.backend, "engine", f.engine, "pairs_scored", pairs,
		"wall_s", fixed(wall, 2), "cpu_s", fixed(cpu, 2), "rows_per_s", rate(int64(*rows), wall), "pairs_per_cpu_s", rate(pairs, cpu),
		"rss_before_mb", before, "peak_rss_mb", peakMB(), "precision", fixed(q.precision, 4), "recall", fixed(q.recall, 4), "f1", fixed(q.f1, 4),
		"best_f1", fixed(q.best, 4), "best_at", fixed(q.bestAt, 4)))
}
