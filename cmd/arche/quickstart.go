package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

//go:embed samples/suppliers.json
var sampleSuppliers []byte

//go:embed samples/registry.json
var sampleRegistry []byte

// quickstartFile is the ledger that quickstart makes when none is named.
const quickstartFile = "arche.duckdb"

// newQuickstart shows the main job from nothing.
func newQuickstart(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "quickstart",
		Short: "Make a ledger, compare two sample lists, and wire an agent",
		Long: "Makes arche.duckdb in the current folder (or uses the ledger you name), compares a list of suppliers with\n" +
			"a company register, shows the matches, the open cases and a replay, and prints what to paste into an\n" +
			"MCP client. Running it again records nothing twice.",
		Example: "  arche quickstart",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.quickstart(cmd.Context()) },
	}
}

func (a *app) quickstart(ctx context.Context) error {
	uri := a.ledgerURI()
	if uri == "" {
		uri = quickstartFile
	}
	a.ledgerFlag = uri
	l, err := a.openLedger("cli")
	if err != nil {
		return err
	}
	err = a.quickstartOn(ctx, l, uri)
	if closeErr := l.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (a *app) quickstartOn(ctx context.Context, l *ledger.Ledger, uri string) error {
	suppliers, err := sampleRecords(sampleSuppliers)
	if err != nil {
		return err
	}
	registry, err := sampleRecords(sampleRegistry)
	if err != nil {
		return err
	}
	res, err := l.Compare(ctx, resolve.Request{
		A: suppliers, B: registry, Entity: "organisation",
		Threshold: resolve.DefaultThreshold, IDField: resolve.DefaultIDField,
	})
	if err != nil {
		return err
	}
	a.printf("%d suppliers compared with %d register entries; every decision is in %s.\n\n", len(suppliers), len(registry), uri)
	a.printSampleEdges(res, suppliers, registry)
	if err := a.printOpenCases(ctx, l); err != nil {
		return err
	}
	first := firstMatch(res)
	if first == "" {
		return fmt.Errorf("the sample lists gave no match")
	}
	if err := a.printReplay(ctx, l, first); err != nil {
		return err
	}
	return a.printWiring(uri, first)
}

// sampleRecords reads an embedded list.
func sampleRecords(data []byte) ([]*canon.Object, error) {
	v, err := canon.Parse(data, canon.Limits{})
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("a sample list is no array")
	}
	out := make([]*canon.Object, len(items))
	for i, item := range items {
		if out[i], ok = item.(*canon.Object); !ok {
			return nil, fmt.Errorf("a sample record is no object")
		}
	}
	return out, nil
}

// printSampleEdges shows what was decided. The samples are ours, so their names
// may be shown.
func (a *app) printSampleEdges(res *resolve.Result, left, right []*canon.Object) {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "decision\tscore\tsupplier\tregister entry")
	for _, e := range res.Edges {
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s %s\n", e.Decision, canon.FixedText(e.Score, 2),
			canon.Text(e.AID), canon.Text(left[e.I].Value("name")), canon.Text(e.BID), canon.Text(right[e.J].Value("name")))
	}
	w.Flush()
	a.printf("\nmatch links the two records; review means they agree on nothing rare enough to say so.\n")
}

func firstMatch(res *resolve.Result) string {
	for _, e := range res.Edges {
		if e.Decision == "match" {
			return e.DecisionID
		}
	}
	return ""
}

func (a *app) printOpenCases(ctx context.Context, l *ledger.Ledger) error {
	cases, err := l.Cases(ctx, "organisation")
	if err != nil {
		return err
	}
	open := list(cases, "cases")
	a.printf("\n%d open case(s):\n", len(open))
	for _, item := range open {
		c, ok := item.(*canon.Object)
		if !ok {
			continue
		}
		a.printf("  %s <-> %s  any of these would settle it: %s\n",
			word(object(c, "a").Value("label")), word(object(c, "b").Value("label")), words(list(c, "would_resolve")))
	}
	return nil
}

func (a *app) printReplay(ctx context.Context, l *ledger.Ledger, id string) error {
	again, err := l.Replay(ctx, id)
	if err != nil {
		return err
	}
	a.printf("\nreplay of %s: reproduced %s\n", id, word(again.Value("reproduced")))
	return nil
}

// printWiring prints what to paste into an MCP client and what to type next.
func (a *app) printWiring(uri, decision string) error {
	ledgerAt, err := absoluteLedger(uri)
	if err != nil {
		return err
	}
	program, note, err := programPath()
	if err != nil {
		return err
	}
	a.printf("\nTo give an agent these tools, paste this into your MCP client's configuration:\n\n")
	if err := a.printJSON(canon.Obj("mcpServers", canon.Obj("arche", canon.Obj(
		"command", program, "args", []string{"mcp"}, "env", canon.Obj("ARCHE_LEDGER", ledgerAt),
	)))); err != nil {
		return err
	}
	if note != "" {
		a.printf("\n%s\n", note)
	}
	word := "arche"
	if _, err := exec.LookPath(word); err != nil {
		word = program
	}
	a.printf("\nnext: %s explain %s --ledger %s\n", word, decision, uri)
	a.printf("      %s cases --ledger %s\n", word, uri)
	a.printf("      %s compare YOURS.csv THEIRS.csv --entity organisation --ledger %s\n", word, uri)
	return nil
}

// absoluteLedger is the ledger as a client started in any folder must name it.
func absoluteLedger(uri string) (string, error) {
	path, isFile := strings.CutPrefix(uri, "duckdb:///")
	if !isFile {
		path = uri
	}
	if path == ":memory:" || strings.Contains(path, "://") || strings.HasPrefix(path, "ducklake:") {
		return uri, nil
	}
	return filepath.Abs(path)
}

// programPath is where clients find this program, and what must be done first
// when it was run from a temporary place.
func programPath() (path, note string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	if !strings.Contains(exe, string(filepath.Separator)+"go-build") {
		return exe, "", nil
	}
	path, err = filepath.Abs("arche")
	return path, "The program ran from a temporary place: build it first with  go build -o arche ./cmd/arche", err
}
