package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// csvRecords reads the first rows of a table as the arguments of a call: every
// value as text.
func csvRecords(t *testing.T, file string, most int) []map[string]any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, row := range rows[1:min(len(rows), most+1)] {
		r := map[string]any{}
		for i, v := range row {
			r[rows[0][i]] = v
		}
		out = append(out, r)
	}
	return out
}

// TestRealListsThroughMCP compares two published lists of child-care places
// through the server into a fresh file: the log verifies, rebuilding changes
// nothing, a second server sees everything and the same call appends nothing.
// ARCHE_LONG=1 takes the lists whole, 1,684 and 1,653 records.
func TestRealListsThroughMCP(t *testing.T) {
	most := 400
	if os.Getenv("ARCHE_LONG") != "" {
		most = 1 << 20
	}
	data := filepath.Join("..", "..", "testdata", "chicago_childcare")
	file := filepath.Join(t.TempDir(), "l.duckdb")
	env := []string{"ARCHE_LEDGER=" + file}
	operator := func(args ...string) string {
		t.Helper()
		cmd := program(t, env, args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("arche %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	args := map[string]any{
		"list_a": csvRecords(t, filepath.Join(data, "a.csv"), most), "list_b": csvRecords(t, filepath.Join(data, "b.csv"), most),
		"entity": "organisation", "limit": 3,
	}
	first := client(t, program(t, env, "mcp"))
	res := ask(t, first, "compare_records", args)
	if at(t, res, "truncated") != true || len(at(t, res, "matches").([]any)) != 3 {
		t.Errorf("page: %v", show(res))
	}
	verified := operator("ledger", "verify")
	second := client(t, program(t, env, "mcp"))
	if again := ask(t, second, "compare_records", args); show(again) != show(res) {
		t.Errorf("the second server answers %s", show(again))
	}
	page := map[string]any{"limit": 20}
	for _, tool := range []string{"entities", "cases"} {
		if a, b := show(ask(t, first, tool, page)), show(ask(t, second, tool, page)); a != b {
			t.Errorf("%s: two servers differ", tool)
		}
	}
	operator("ledger", "rebuild")
	if after := operator("ledger", "verify"); after != verified {
		t.Errorf("verify after the same call and a rebuild:\n%swant\n%s", after, verified)
	}
}
