package imports_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/imports"
)

// TestOddTables: what is only just a table, and what is only just none.
func TestOddTables(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"one.json", "{\n \"id\": 1,\n \"n\": [\n2]}\n", `{"id":1,"n":[2]}` + "\n"},
		{"one.csv", "id\n", ""},
		{"quoted.csv", "\"a,b\";c\n1;2\n", `{"a,b":"1","c":"2"}` + "\n"},
		{"single.csv", "id\n1\n", `{"id":"1"}` + "\n"},
		{"cr.csv", "id,n\r1,2\r", `{"id":"1","n":"2"}` + "\n"},
		{"none.json", "[]", ""},
		{"blank.jsonl", "\n\n{\"a\":1}\n\n", `{"a":1}` + "\n"},
	} {
		table, err := imports.ReadTable(t.Context(), write(t, c.name, c.data), "", nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, text(t, table)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
	long := strings.Repeat("x", 16<<20)
	for _, c := range []struct{ name, data, want string }{
		{"long.csv", "id,n\n1,a\n2," + long + "\n", "long.csv, line 3: the line is longer than 16 MiB"},
		{"open.csv", "id,\"n\n1,a\n", "line 1: the column names can't be read"},
		{"deep.json", "[" + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "]", "deep.json, line 1, column"},
		{"second.jsonl", "{\"a\":1}\n5\n", "second.jsonl, line 2, column 1: expected an object"},
		{"late.json", "[{\"a\":1},\n{\"b\":2},\n\n  7x]", "late.json, line 4, column 4"},
	} {
		path := write(t, c.name, c.data)
		table, err := imports.ReadTable(t.Context(), path, "", nil)
		if fault.As(err) == nil || !strings.Contains(err.Error(), c.want) || table != nil {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestOddParquet: numbers that a double cannot hold come as text, and a value that
// is nested too deep ends the reading.
func TestOddParquet(t *testing.T) {
	db, err := duck.OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	made := func(query string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "t.parquet")
		if _, err := db.ExecContext(t.Context(), "COPY ("+query+") TO "+duck.Quote(path)+" (FORMAT parquet)"); err != nil {
			t.Fatal(err)
		}
		return path
	}
	table, err := imports.ReadTable(t.Context(), made(`SELECT 12345678901234567890.5::DECIMAL(38,1) AS "a ""b", 1 AS c`), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"a \"b":"12345678901234567890.5","c":1}`+"\n", text(t, table)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{`a "b`, "c"}, table.Columns); diff != "" {
		t.Errorf("columns (-want +got)\n%s", diff)
	}
	deep := made("SELECT 1 AS a, '" + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "'::JSON AS b")
	if table, err := imports.ReadTable(t.Context(), deep, "", nil); !fault.Is(err, fault.Invalid) || table != nil || !strings.HasSuffix(err.Error(), "can't be read as Parquet") {
		t.Errorf("%v", err)
	}
	data, err := os.ReadFile(deep)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := imports.ReadTable(t.Context(), "-", "", strings.NewReader(string(data))); err == nil || err.Error() != "standard input can't be read as Parquet" {
		t.Errorf("%v", err) // and not under the name of the file it is kept in
	}
	for n := 1; n < 60; n += 1 + n/4 {
		ctx := arctest.NewCountdown(t.Context(), n)
		table, err := imports.ReadTable(ctx, made("SELECT 1 AS a"), "", nil)
		if !ctx.Ended() {
			if err != nil || len(table.Rows) != 1 {
				t.Errorf("%v", err)
			}
			break
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("ended at %d: %v", n, err)
		}
	}
}

// TestPlacesThatDoNotRead: a file that opens and does not read, one that is no
// file, and a temporary folder that is not there are told.
func TestPlacesThatDoNotRead(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	for _, format := range []string{"csv", "parquet"} {
		if _, err := imports.ReadTable(t.Context(), "-", format, strings.NewReader("a\n1\n")); !fault.Is(err, fault.Invalid) || !errors.Is(err, os.ErrNotExist) || fault.As(err).Hint != "name another in TMPDIR" {
			t.Errorf("%s without a temporary folder: %v", format, err)
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("no file that does not read on this system")
	}
	const unreadable = "/proc/self/mem" // its first page is mapped nowhere
	if _, err := imports.ReadTable(t.Context(), unreadable, "", nil); !fault.Is(err, fault.Invalid) || err.Error() != unreadable+": input/output error" {
		t.Errorf("%v", err)
	}
}

// TestEveryColumnOfAPublishedLedger leaves out each column that is read of each
// table of a published ledger, and gives it values of other kinds: it is refused
// with table and column, or read, and never takes the program down.
func TestEveryColumnOfAPublishedLedger(t *testing.T) {
	const from = "testdata/published-0.9"
	refusals := 0
	for table, columns := range map[string]string{
		"arche_records":     "record_id entity_type source attributes recorded_at",
		"arche_runs":        "run_id verb call side_a side_b pins recorded_at",
		"arche_decisions":   "decision_id verb record_a record_b identity action score factors explanation evidence pins call recorded_at",
		"arche_memberships": "record_id entity_id",
		"arche_events":      "kind refs",
	} {
		data, err := os.ReadFile(filepath.Join(from, table+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		dir := copied(t, from)
		for column := range strings.FieldsSeq(columns) {
			for _, v := range []any{"(absent)", nil, "x", "", "[1]", "{}", canon.Number("7"), true, "2026-01-01 00:00:00+00:00"} {
				var out strings.Builder
				for line := range strings.Lines(string(data)) {
					row, err := canon.ParseObject([]byte(line), canon.Limits{})
					if err != nil {
						t.Fatal(err)
					}
					if row.Delete(column); v != "(absent)" {
						row.Set(column, v)
					}
					text, err := canon.Compact(row)
					if err != nil {
						t.Fatal(err)
					}
					out.WriteString(string(text) + "\n")
				}
				if err := os.WriteFile(filepath.Join(dir, table+".jsonl"), []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				_, err := imports.ReadPublished(t.Context(), dir)
				want := table + ".jsonl, row 1, column " + column + ": "
				switch {
				case v == "(absent)":
					want = fmt.Sprintf("%s.jsonl has no column %q", table, column)
				case err == nil && accepted(column, v):
					continue
				}
				if refusals++; !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s is %v: %v, want %q", table, column, v, err, want)
				}
			}
		}
	}
	if refusals < 80 {
		t.Errorf("only %d were refused", refusals)
	}
}

// accepted is what a column of a published ledger may hold.
func accepted(column string, v any) bool {
	switch column {
	case "attributes", "call", "pins", "factors", "evidence", "refs":
		return v == "{}"
	case "side_a", "side_b":
		return false
	case "score":
		return v == canon.Number("7")
	case "recorded_at":
		return v == "2026-01-01 00:00:00+00:00"
	}
	return true // texts
}

// TestPublishedWithheldAndObserved: what events of a published ledger say of links
// and observations is read; other events are passed over.
func TestPublishedWithheldAndObserved(t *testing.T) {
	dir := copied(t, "testdata/published-0.9")
	for name, text := range map[string]string{
		"arche_events.jsonl": `{"kind":"link_withheld","refs":"{\"record_id\":\"r1\",\"verdict\":\"review\"}"}
{"kind":"observation_recorded","refs":{"record_id":"r2","fields":["a",7,"b"]}}
{"kind":"observation_recorded","refs":{"record_id":"r2","fields":["c"]}}
{"kind":"other","refs":{"record_id":"r3","verdict":"match"}}
`,
		"arche_records.jsonl": `{"record_id":"r1","entity_type":"document","source":"s","attributes":null,"text":"words","recorded_at":"2026-01-01T00:00:00Z"}
{"record_id":"r2","entity_type":"organisation","source":"s","attributes":"{\"a\":1}","text":"","recorded_at":"2026-01-01 00:00:00.5+02:00"}
`,
		"arche_runs.jsonl": `{"run_id":"x","verb":"v","call":{},"side_a":"[\"a\",\"b\"]","side_b":[],"pins":"{}","recorded_at":"2026-01-01T00:00:00Z"}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := imports.ReadPublished(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"r1": "review"}, p.Withheld); diff != "" {
		t.Errorf("withheld (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"r2": {"a", "b", "c"}}, p.Observed); diff != "" {
		t.Errorf("observed (-want +got)\n%s", diff)
	}
	if r := p.Records; len(r) != 2 || r[0].Attributes != nil || r[1].Attributes.Value("a") != canon.Number("1") || r[1].At.UTC().Format(time.RFC3339Nano) != "2025-12-31T22:00:00.5Z" {
		t.Errorf("%+v", r)
	}
	if len(p.Runs) != 1 || !cmp.Equal(p.Runs[0].A, []string{"a", "b"}) || len(p.Runs[0].B) != 0 {
		t.Errorf("%+v", p.Runs)
	}
}
