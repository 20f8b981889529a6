package imports_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/imports"
	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, name, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func text(t *testing.T, table *imports.Table) string {
	t.Helper()
	var b strings.Builder
	for _, r := range table.Rows {
		line, err := canon.Compact(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

const three = `{"id":"0012","name":"Kija; \"K\"\n Ltd","city":""}
{"id":"3","name":"Élan, 5","city":"NA"}
`

// TestCSVForms: one table in every spelling gives one list of records.
func TestCSVForms(t *testing.T) {
	comma := "id,name,city\n0012,\"Kija; \"\"K\"\"\n Ltd\",\n3,\"Élan, 5\",NA\n"
	for name, data := range map[string]string{
		"plain.csv":     comma,
		"bom.csv":       "\ufeff" + comma,
		"crlf.csv":      "id,name,city\r\n0012,\"Kija; \"\"K\"\"\n Ltd\",\"\"\r\n3,\"Élan, 5\",NA\r\n",
		"semicolon.csv": "id;name;city\n0012;\"Kija; \"\"K\"\"\n Ltd\";\n3;Élan, 5;NA",
		"pipe.txt":      "\"id\"|name|city\n0012|\"Kija; \"\"K\"\"\n Ltd\"|\n3|Élan, 5|NA\n",
		"tab.tsv":       "\ufeffid\tname\tcity\n0012\t\"Kija; \"\"K\"\"\n Ltd\"\t\n3\tÉlan, 5\tNA\n",
	} {
		table, err := imports.ReadTable(t.Context(), write(t, name, data), "", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(three, text(t, table)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"id", "name", "city"}, table.Columns); diff != "" {
			t.Errorf("%s columns (-want +got)\n%s", name, diff)
		}
	}
	table, err := imports.ReadTable(t.Context(), "-", "", strings.NewReader(comma))
	if err != nil || text(t, table) != three {
		t.Errorf("standard input: %v", err)
	}
}

func TestJSONForms(t *testing.T) {
	want := "{\"id\":7,\"v\":1.0,\"tags\":[\"x\"]}\n{\"id\":\"8\",\"w\":1e3}\n"
	for name, data := range map[string]string{
		"a.json":  "\ufeff[{\"id\":7,\"v\":1.0,\"tags\":[\"x\"]},\n {\"id\":\"8\",\"w\":1e3}]",
		"b.jsonl": "{\"id\":7,\"v\":1.0,\"tags\":[\"x\"]}\r\n\r\n{\"id\":\"8\",\"w\":1e3}",
		"c.data":  "[{\"id\":7,\"v\":1.0,\"tags\":[\"x\"]},{\"id\":\"8\",\"w\":1e3}]",
	} {
		table, err := imports.ReadTable(t.Context(), write(t, name, data), "", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, text(t, table)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"id", "v", "tags", "w"}, table.Columns); diff != "" {
			t.Errorf("%s columns (-want +got)\n%s", name, diff)
		}
	}
}

func TestParquetKeepsTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	db, err := duck.OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `COPY (SELECT 1 AS a, '0012' AS b, 2::DOUBLE AS c, NULL::VARCHAR AS d, DATE '2020-01-02' AS e,
		1.50::DECIMAL(10,2) AS f, [1, 2] AS g, {'x': 1} AS h, true AS i, 9007199254740993::BIGINT AS j) TO `+duck.Quote(path)+` (FORMAT parquet)`)
	if err != nil {
		t.Fatal(err)
	}
	table, err := imports.ReadTable(t.Context(), path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a":1,"b":"0012","c":2.0,"d":null,"e":"2020-01-02","f":"1.50","g":[1,2],"h":{"x":1},"i":true,"j":9007199254740993}` + "\n"
	if diff := cmp.Diff(want, text(t, table)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	const secret = "CANARY-7731"
	utf16 := "\xff\xfei\x00d\x00\n\x001\x00"
	for _, c := range []struct{ name, data, want string }{
		{"empty.csv", "", "is empty"},
		{"u.csv", utf16, "is UTF-16 text"},
		{"u2.csv", "i\x00d\x00,\x00n\x00\n\x001\x00", "is UTF-16 text without a mark"},
		{"u.csv", "\xff\xfe\x00\x00i\x00\x00\x00", "is UTF-32 text"},
		{"x.xlsx", "PK\x03\x04....", "spreadsheet workbook"},
		{"x.csv.gz", "\x1f\x8b\x08", "is compressed"},
		{"l.csv", "id,name\n1,Caf\xe9 " + secret + "\n", "line 2, byte 6: not UTF-8"},
		{"z.csv", "id,name\n1,a\n2,\x00" + secret + "\n", "line 3, byte 3: a zero byte"},
		{"more.csv", "id,name\n1,a\n2," + secret + ",c\n", "line 3, column 3: the row has 3 values, the header 2"},
		{"less.csv", "id,name,city\n1,a,b\n2," + secret + "\n", "line 3, column 2 (city): the row has 2 values, the header 3"},
		{"quote.csv", "id,name\n1,\"" + secret + "\n2,b\n", "line 2"},
		{"twice.csv", "id,name,Name\n1,2,3\n", `line 1, column 3: column "Name" is there already as column 2`},
		{"wide.csv", "id," + strings.Repeat("c", 1<<20) + "\n1,2\n", "the header line is longer than 1 MiB"},
		{"noname.csv", "id,,c\n1,2,3\n", "line 1, column 2: the column has no name"},
		{"s.json", "[{\"id\":1},\n {\"id\":" + secret + "}]", "line 2, column 8: expected a JSON value"},
		{"s.jsonl", "{\"id\":1}\n{\"id\":2\n", "line 2, column 8: expected ',' or '}'"},
		{"a.json", "[{\"id\":1}, \"" + secret + "\"]", "element 2: not an object"},
		{"n.json", "5", "line 1, column 1: expected an object"},
		{"p.parquet", "PAR1 nope", "can't be read as Parquet"},
	} {
		_, err := imports.ReadTable(t.Context(), write(t, c.name, c.data), "", nil)
		f := fault.As(err)
		if f == nil || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
			continue
		}
		if strings.Contains(f.Message+f.Hint, secret) {
			t.Errorf("%s: the message quotes a value: %s", c.name, f.Message)
		}
	}
	if _, err := imports.ReadTable(t.Context(), filepath.Join(t.TempDir(), "none.csv"), "", nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := imports.ReadTable(t.Context(), t.TempDir(), "", nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("folder: %v", err)
	}
}

// TestBadByteAcrossBuffers puts the bad byte, and whole characters, on the
// borders of the reader's buffer.
func TestBadByteAcrossBuffers(t *testing.T) {
	line := "1," + strings.Repeat("é", 500) + "\n" // 1003 bytes
	for _, n := range []int{1045, 1046, 1047, 2092} {
		body := "id,name\n" + strings.Repeat(line, n)
		if _, err := imports.ReadTable(t.Context(), write(t, "ok.csv", body), "", nil); err != nil {
			t.Errorf("%d lines: %v", n, err)
		}
		_, err := imports.ReadTable(t.Context(), write(t, "bad.csv", body+"2,\xe9\n"), "", nil)
		if want := "line " + itoa(n+2) + ", byte 3: not UTF-8"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d lines: %v, want %s", n, err, want)
		}
	}
}

func itoa(n int) string { return canon.Text(n) }

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := imports.ReadTable(ctx, write(t, "a.csv", "id\n1\n"), "", nil); err == nil {
		t.Error("a cancelled reading goes through")
	}
}

func TestOrderIsTheFiles(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,name\n")
	for i := range 200_000 {
		b.WriteString(itoa(i) + ",n\n")
	}
	table, err := imports.ReadTable(t.Context(), write(t, "big.csv", b.String()), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range table.Rows {
		if r.Value("id") != itoa(i) {
			t.Fatalf("row %d has id %v", i, r.Value("id"))
		}
	}
	if len(table.Rows) != 200_000 {
		t.Errorf("%d rows", len(table.Rows))
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add("id,name\n1,\"a\"\"b\"\n", "csv")
	f.Add("{\"a\":1}\n{\"a\":2}", "jsonl")
	f.Add("\ufeffa;b\r\n1;2\r\n", "csv")
	f.Fuzz(func(t *testing.T, data, format string) {
		table, err := imports.ReadTable(t.Context(), "-", format, strings.NewReader(data))
		if err == nil && table == nil {
			t.Fatal("neither a table nor an error")
		}
	})
}
