package ledger_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

func readCSV(t testing.TB, name string) []*canon.Object {
	t.Helper()
	f, err := os.Open(filepath.Join(arctest.Root(t), "testdata", "chicago_childcare", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []*canon.Object
	for _, row := range rows[1:] {
		o := canon.NewObject()
		for i, key := range rows[0] {
			o.Set(key, row[i])
		}
		out = append(out, o)
	}
	return out
}

// TestChicagoLists records two real lists: the ledger verifies, a rebuild
// changes no byte, the same call again appends nothing, and a second ledger on
// the file answers the same.
func TestChicagoLists(t *testing.T) {
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	req := resolve.Request{A: readCSV(t, "a.csv"), B: readCSV(t, "b.csv"), Entity: "organisation", Threshold: resolve.DefaultThreshold}
	res := compare(t, l, req)
	if len(res.Edges) < 3000 {
		t.Fatalf("only %d edges", len(res.Edges))
	}
	_, seq, link, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var report ledger.Report
	if err := l.Verify(t.Context(), &report); err != nil {
		t.Fatalf("%v\n%+v", err, report.Findings[:min(5, len(report.Findings))])
	}
	before, err := l.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := l.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("rebuild changed rows (-before +after)\n%s", diff)
	}
	compare(t, l, req)
	if _, seq2, link2, err := l.Head(t.Context()); err != nil || seq2 != seq || link2 != link {
		t.Errorf("the same call again appended events %d to %d (%v)", seq+1, seq2, err)
	}
	ents, err1 := l.Entities(t.Context(), "")
	cases, err2 := l.Cases(t.Context(), "")
	want := []string{indent(t, ents, err1), indent(t, cases, err2)}
	second := open(t, path, ledger.Options{})
	ents, err1 = second.Entities(t.Context(), "")
	cases, err2 = second.Cases(t.Context(), "")
	if diff := cmp.Diff(want, []string{indent(t, ents, err1), indent(t, cases, err2)}); diff != "" {
		t.Errorf("a second ledger answers differently (-first +second)\n%s", diff)
	}
	t.Logf("%d edges, %d events, %v entities, %v cases", len(res.Edges), report.Events, ents.Value("count"), cases.Value("count"))
}
