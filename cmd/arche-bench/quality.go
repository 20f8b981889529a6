package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// variant is one way to run the program on a set.
type variant struct{ backend, engine, packs string }

func (v variant) label() string {
	if v.backend != "" {
		return v.backend
	}
	name := v.engine
	if v.packs != "" {
		name += ", packs " + v.packs
	}
	return name
}

var variants = []variant{
	{engine: resolve.EngineV1}, {engine: resolve.EngineV1, packs: resolve.PackVersion010}, {engine: resolve.EngineV2}, {backend: "splink"},
}

// runQuality grades every set under every variant.
func runQuality(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("quality", flag.ContinueOnError)
	data := flags.String("data", "", "folder with the labelled sets, one folder each with a.csv, b.csv and truth.csv")
	only := flags.String("sets", "", "comma-separated sets (default all)")
	asJSON := flags.Bool("json", false, "one JSON line a row instead of a table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" {
		return fmt.Errorf("--data is needed; docs/benchmarks.md says where the sets come from")
	}
	if !*asJSON {
		fmt.Fprintln(stdout, "| set | scorer | default P / R / F1 | best P / R / F1 | at score | recall ceiling | candidates | CPU s | wall s |")
		fmt.Fprintln(stdout, "|---|---|---|---|---:|---:|---:|---:|---:|")
	}
	for i := range labelledSets {
		s := &labelledSets[i]
		if *only != "" && !slices.Contains(strings.Split(*only, ","), s.name) {
			continue
		}
		for _, v := range variants {
			if s.entity == "" && (v.backend != "" || v.packs != "") {
				continue // comparators of one's own have no packs and no other backend
			}
			if err := s.grade(*data, v, *asJSON, stdout); err != nil {
				return fmt.Errorf("%s, %s: %w", s.name, v.label(), err)
			}
		}
	}
	return nil
}

func (s *labelled) grade(root string, v variant, asJSON bool, stdout io.Writer) error {
	l, err := s.read(root, v.backend)
	if err != nil {
		return err
	}
	req := resolve.Request{A: l.a, B: l.b, Entity: s.entity, Comparators: s.comparators, Backend: v.backend, Engine: v.engine, PackVersion: v.packs,
		Threshold: resolve.DefaultThreshold, OpenScratch: ledger.OpenScratch}
	res, wall, cpu, err := timed(req, 1)
	if err != nil {
		// A trained model needs two fields; sets with one are not for it.
		if v.backend != "" {
			if !asJSON {
				fmt.Fprintf(stdout, "| %s | %s | not applicable | | | | | | |\n", s.name, v.label())
			}
			return nil
		}
		return err
	}
	q := grade(res.Edges, l.truth)
	if asJSON {
		return printLine(stdout, canon.Obj("set", s.name, "scorer", v.label(),
			"precision", fixed(q.precision, 4), "recall", fixed(q.recall, 4), "f1", fixed(q.f1, 4),
			"best_precision", fixed(q.bestPrecision, 4), "best_recall", fixed(q.bestRecall, 4), "best_f1", fixed(q.best, 4), "best_at", fixed(q.bestAt, 4),
			"recall_ceiling", fixed(q.surfaced, 4), "candidates", candidates(res), "cpu_s", fixed(cpu, 3), "wall_s", fixed(wall, 3)))
	}
	_, err = fmt.Fprintf(stdout, "| %s | %s | %.3f / %.3f / %.3f | %.3f / %.3f / %.3f | %.3f | %.3f | %d | %.2f | %.2f |\n", s.name, v.label(),
		q.precision, q.recall, q.f1, q.bestPrecision, q.bestRecall, q.best, q.bestAt, q.surfaced, candidates(res), cpu, wall)
	return err
}
