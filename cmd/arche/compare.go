package main

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/ledger/imports"
	"github.com/arche-ledger/arche/resolve"
)

// compareFlags are the flags of compare and dedupe.
type compareFlags struct {
	entity, comparators string
	aID, bID            string
	mapping             []string
	threshold           float64
	maxPairs            int64
	backend, block      string
	saveModel           string
	loadModel           string
	format, out         string
	all, json           bool
}

// shown is how many pairs a terminal gets without --all.
const shown = 40

// newCompare compares two tables of records.
func newCompare(a *app) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A B --entity PACK",
		Short: "Compare two lists of records",
		Long: "Compare two lists of records (CSV, TSV, JSON, JSON Lines or Parquet; - is standard input) and list the pairs\n" +
			"that match or need review. Values of CSV are text as written. With a ledger every decision is recorded.",
		Example: "  arche compare suppliers.csv registry.csv --entity organisation --out matches.parquet",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.compare(cmd.Context(), args, f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.aID, "a-id", "", "column of A that names a record (default id)")
	cmd.Flags().StringVar(&f.bID, "b-id", "", "column of B that names a record (default id)")
	return cmd
}

// newDedupe compares one table with itself.
func newDedupe(a *app) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "dedupe A --entity PACK",
		Short: "Find the records of one list that are the same",
		Long: "Compare the records of one list with each other and list the pairs that match or need review.\n" +
			"With a ledger every decision is recorded.",
		Example: "  arche dedupe suppliers.csv --entity organisation",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.compare(cmd.Context(), args, f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.aID, "id", "", "column that names a record (default id)")
	return cmd
}

func (f *compareFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.entity, "entity", "", "pack to compare with (arche packs lists them)")
	flags.StringVar(&f.comparators, "comparators", "", "JSON file with a comparator list of your own, instead of --entity")
	flags.StringSliceVar(&f.mapping, "map", nil, "field=COLUMN pairs: the column that a field of the pack is read from")
	flags.Float64Var(&f.threshold, "threshold", resolve.DefaultThreshold, "least score of a match")
	flags.StringVar(&f.backend, "backend", "", "scorer (default: arche's own)")
	flags.StringVar(&f.saveModel, "save-model", "", "with --backend splink: write the model as settings of the Splink package")
	flags.StringVar(&f.loadModel, "load-model", "", "with --backend splink: use the model of a settings file instead of training one")
	flags.StringVar(&f.block, "block", "", "none compares every pair")
	flags.Int64Var(&f.maxPairs, "max-pairs", 0, "most pairs to score without blocking (default 100 million), or that equal coordinates\nand identifiers may bring with it (default 2 billion)")
	flags.StringVar(&f.format, "format", "", "format of the input: csv, tsv, json, jsonl or parquet (default: by name)")
	flags.StringVar(&f.out, "out", "", "write the pairs to a .csv, .jsonl or .parquet file")
	flags.BoolVar(&f.all, "all", false, "list every pair on a terminal too")
	flags.BoolVar(&f.json, "json", false, "the answer of compare_records as one JSON document")
	mustComplete(cmd, "entity", completePackFlag)
}

func (a *app) compare(ctx context.Context, files []string, f compareFlags) error {
	defer collectSooner()()
	req, err := a.compareRequest(ctx, files, f)
	if err != nil {
		return err
	}
	format := ""
	if f.out != "" {
		if format, err = export.FormatOf(f.out); err != nil {
			return err
		}
	}
	p := a.progress("rows compared")
	req.Progress = p.report
	result, err := a.runCompare(ctx, req)
	p.stop()
	if err != nil {
		return err
	}
	for _, w := range result.Warnings {
		a.notef("warning: %s\n", w)
	}
	if len(result.IgnoredFields) > 0 {
		a.notef("note: no comparator reads %s\n", strings.Join(result.IgnoredFields, ", "))
	}
	if err := a.saveModel(f, result); err != nil {
		return err
	}
	if f.out != "" {
		n, err := export.WriteTable(ctx, f.out, format, edgeColumns, edgeRows(result))
		if err != nil {
			return err
		}
		a.notef("wrote %d pair%s to %s\n", n, plural(int(n), "", "s"), f.out)
	}
	if f.json {
		return a.printJSON(result.Answer())
	}
	if f.out == "" {
		a.showEdges(result, f.all)
	}
	a.showCounts(result)
	return nil
}

// collectSooner makes the garbage collector start at half of what the program
// holds, until the function it returns is called: lists stay to the end, so
// waiting for as much garbage again would double the memory of a long list.
func collectSooner() func() {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(50)
	return func() { debug.SetGCPercent(before) }
}

// runCompare decides, through the ledger when there is one.
func (a *app) runCompare(ctx context.Context, req resolve.Request) (*resolve.Result, error) {
	if a.ledgerURI() == "" {
		return resolve.Compare(ctx, req)
	}
	l, err := a.openLedger("cli")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.Compare(ledger.WithActor(ctx, a.actor("cli")), req)
}

func (a *app) compareRequest(ctx context.Context, files []string, f compareFlags) (resolve.Request, error) {
	req := resolve.Request{Entity: f.entity, Backend: f.backend, Threshold: f.threshold, Block: f.block, MaxPairs: f.maxPairs, Dedupe: len(files) == 1}
	var err error
	if req.PackVersion, req.Engine, err = a.engineDefaults(); err != nil {
		return req, err
	}
	switch {
	case f.entity == "" && f.comparators == "":
		return req, usagef("--entity or --comparators is needed").withHint("packs: %s", strings.Join(resolve.Entities(), ", "))
	case f.entity != "" && f.comparators != "":
		return req, usagef("--entity and --comparators say the same thing; give one")
	case f.block != "" && f.block != "none" && f.block != "union":
		return req, usagef("--block must be union or none")
	case len(files) == 2 && files[0] == "-" && files[1] == "-":
		return req, usagef("only one list can come from standard input")
	case f.maxPairs < 0:
		return req, usagef("--max-pairs must not be negative")
	case f.threshold < 0 || f.threshold > 1:
		return req, usagef("--threshold must be from 0 to 1")
	}
	if err := f.takeModel(&req); err != nil {
		return req, err
	}
	if f.comparators != "" {
		if req.Comparators, err = a.readComparators(f.comparators); err != nil {
			return req, err
		}
	}
	mapping, err := parseMapping(f.mapping)
	if err != nil {
		return req, err
	}
	idA, idB := f.aID, f.bID
	if req.Dedupe {
		idB = idA
	}
	if idA == idB && idA != "" {
		req.IDField, idA, idB = idA, "", ""
	}
	if req.A, err = a.readList(ctx, files[0], f.format, idA, req.IDField, mapping); err != nil || req.Dedupe {
		return req, err
	}
	req.B, err = a.readList(ctx, files[1], f.format, idB, req.IDField, mapping)
	return req, err
}

func (a *app) readComparators(name string) ([]*canon.Object, error) {
	v, err := a.readJSON(name)
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	out := make([]*canon.Object, len(items))
	for i, e := range items {
		if out[i], ok = e.(*canon.Object); !ok {
			break
		}
	}
	if !ok || len(out) == 0 {
		return nil, fault.New(fault.Invalid, "%s: a comparator list is a JSON array of objects", name).
			WithHint(`for example [{"field": "name", "kind": "name", "weight": 3}]`)
	}
	return out, nil
}

// rename is one --map pair.
type rename struct{ field, column string }

func parseMapping(pairs []string) ([]rename, error) {
	var out []rename
	for _, p := range pairs {
		field, column, ok := strings.Cut(p, "=")
		if !ok || field == "" || column == "" {
			return nil, usagef("--map takes field=COLUMN pairs, not %q", p)
		}
		out = append(out, rename{field, column})
	}
	return out, nil
}

// readList reads a table and gives its columns the names the pack reads. idColumn
// becomes "id"; idField, when set, is only checked.
func (a *app) readList(ctx context.Context, name, format, idColumn, idField string, mapping []rename) ([]*canon.Object, error) {
	t, err := imports.ReadTable(ctx, name, format, a.stdin)
	if err != nil {
		return nil, err
	}
	if idField != "" && !slices.Contains(t.Columns, idField) {
		return nil, noColumn(t, idField)
	}
	names := map[string]string{} // column -> field
	if idColumn != "" {
		if !slices.Contains(t.Columns, idColumn) {
			return nil, noColumn(t, idColumn)
		}
		names[idColumn] = "id"
	}
	for _, m := range mapping {
		if slices.Contains(t.Columns, m.column) {
			names[m.column] = m.field
		}
	}
	for _, m := range mapping { // a field may be mapped once for each list
		if !hasField(t, names, m.field) {
			return nil, noColumn(t, m.column)
		}
	}
	if len(names) == 0 {
		return t.Rows, nil
	}
	return renamed(t, names)
}

// hasField reports whether the list will have the field, mapped or its own.
func hasField(t *imports.Table, names map[string]string, field string) bool {
	for _, c := range t.Columns {
		if names[c] == field || c == field {
			return true
		}
	}
	return false
}

// noColumn lists what columns there are; their names are the file's own, and the
// user's.
func noColumn(t *imports.Table, column string) error {
	return fault.New(fault.Invalid, "%s has no column %q", t.Name, column).
		WithHint("its columns are %s", strings.Join(t.Columns, ", "))
}

func renamed(t *imports.Table, names map[string]string) ([]*canon.Object, error) {
	taken := map[string]string{}
	for _, c := range t.Columns {
		field := c
		if to, ok := names[c]; ok {
			field = to
		}
		if other, ok := taken[field]; ok {
			return nil, fault.New(fault.Invalid, "%s: columns %q and %q would both be %q", t.Name, other, c, field).
				WithHint("rename one of them in the file, or map it to another name")
		}
		taken[field] = c
	}
	out := make([]*canon.Object, len(t.Rows))
	for i, row := range t.Rows {
		o := &canon.Object{}
		for key, v := range row.All() {
			if to, ok := names[key]; ok {
				key = to
			}
			o.Set(key, v)
		}
		out[i] = o
	}
	return out, nil
}

// edgeColumns are the columns of compare's --out.
var edgeColumns = []export.Column{
	{Name: "a_id", Type: export.Text}, {Name: "b_id", Type: export.Text}, {Name: "decision", Type: export.Text},
	{Name: "score", Type: export.Float}, {Name: "distinctive_max", Type: export.Float}, {Name: "evidence", Type: export.JSON},
	{Name: "decision_id", Type: export.Text}, {Name: "a_row", Type: export.Integer}, {Name: "b_row", Type: export.Integer},
}

// edgeRows are the pairs as rows; a_row and b_row count the records from 1.
func edgeRows(r *resolve.Result) export.Rows {
	return func(yield func(*canon.Object, error) bool) {
		for _, e := range r.Edges {
			row := canon.Obj("a_id", canon.Text(e.AID), "b_id", canon.Text(e.BID), "decision", e.Decision, "score", canon.Float(e.Score),
				"distinctive_max", canon.Float(e.DistinctiveMax), "evidence", e.Evidence, "decision_id", e.DecisionID,
				"a_row", e.I+1, "b_row", e.J+1)
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (a *app) showEdges(r *resolve.Result, all bool) {
	edges := r.Edges
	if terminalWidth(a.stdout) > 0 && !all && len(edges) > shown {
		edges = edges[:shown]
	}
	rows := [][]string{{"decision", "a", "b", "score", "evidence"}}
	for _, e := range edges {
		rows = append(rows, []string{e.Decision, canon.Text(e.AID), canon.Text(e.BID), canon.FixedText(e.Score, 4), factors(e.Evidence)})
	}
	a.table(rows)
	if hidden := len(r.Edges) - len(edges); hidden > 0 {
		a.printf("... and %d more: --all lists them, --out FILE keeps them\n", hidden)
	}
}

func (a *app) showCounts(r *resolve.Result) {
	matches := 0
	for _, e := range r.Edges {
		if e.Decision == "match" {
			matches++
		}
	}
	n := len(r.Edges)
	a.notef("%d pair%s: %d match, %d review", n, plural(n, "", "s"), matches, n-matches)
	if pairs := r.Blocking.Value("candidate_pairs"); pairs != nil {
		a.notef("; candidates scored: %s", word(pairs))
	}
	a.notef(", threshold %s\n", thresholdText(r.Pins))
	if a.ledgerURI() != "" && n > 0 {
		a.notef("recorded; next: arche explain %s\n", r.Edges[0].DecisionID)
	}
}

func thresholdText(pins *canon.Object) string {
	if v, ok := pins.Value("threshold").(canon.Float); ok {
		return strconv.FormatFloat(float64(v), 'g', -1, 64)
	}
	return word(pins.Value("threshold"))
}
