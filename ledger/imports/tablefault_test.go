package imports_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/imports"
)

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }

// TestWhatIsNoTable: each kind of thing that is no table is told in one line,
// from a file and from standard input.
func TestWhatIsNoTable(t *testing.T) {
	duck := append([]byte("\x12\x34\x56\x78\x9a\xbc\xde\xf0"), []byte("DUCK\x40\x00\x00\x00\x00\x00\x00\x00")...)
	for name, x := range map[string]struct {
		data   []byte
		format string
		want   string
	}{
		"sqlite":      {[]byte("SQLite format 3\x00 and more"), "", "SQLite"},
		"duckdb":      {duck, "", "DuckDB"},
		"format":      {[]byte("a,b\n1,2\n"), "xls", "no table format"},
		"parquet":     {[]byte("PAR1 nothing PAR1"), "", "Parquet"},
		"parquet too": {[]byte("PAR1 nothing PAR1"), "parquet", "Parquet"},
		"csv":         {[]byte("a,b\n\"1,2\n"), "csv", "line"},
		"json":        {[]byte("{\"a\": "), "json", "line 1, column 6"},
	} {
		path := filepath.Join(t.TempDir(), "table")
		if err := os.WriteFile(path, x.data, 0o600); err != nil {
			t.Fatal(err)
		}
		for from, read := range map[string]func() (*imports.Table, error){
			"file": func() (*imports.Table, error) { return imports.ReadTable(t.Context(), path, x.format, nil) },
			"stdin": func() (*imports.Table, error) {
				return imports.ReadTable(t.Context(), "-", x.format, bytes.NewReader(x.data))
			},
		} {
			table, err := read()
			if fault.As(err) == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(x.want)) || table != nil && len(table.Rows) > 0 {
				t.Errorf("%s from %s: %v, want %q", name, from, err, x.want)
			}
		}
	}
	if _, err := imports.ReadTable(t.Context(), "-", "csv", brokenReader{}); err == nil || !strings.Contains(err.Error(), "the pipe broke") {
		t.Errorf("a broken pipe: %v", err)
	}
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none.csv"), dir, filepath.Join(dir, "none", "x.jsonl")} {
		if _, err := imports.ReadTable(t.Context(), path, "csv", nil); fault.As(err) == nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	odd := filepath.Join(dir, "a*b.csv")
	if err := os.WriteFile(odd, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := imports.ReadTable(t.Context(), odd, "csv", nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("a name that is a pattern: %v", err)
	}
}

// TestReadingEndsAtAnyMoment ends the context of a reading at each question.
func TestReadingEndsAtAnyMoment(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("a,b\n")
	for range 3000 {
		rows.WriteString("1,\"two\nlines\"\n")
	}
	for _, format := range []string{"csv", "jsonl"} {
		text := rows.String()
		if format == "jsonl" {
			text = strings.Repeat("{\"a\": 1}\n", 3000)
		}
		for n := 1; n < 400; n += 1 + n/2 {
			ctx := arctest.NewCountdown(t.Context(), n)
			table, err := imports.ReadTable(ctx, "-", format, io.Reader(strings.NewReader(text)))
			if !ctx.Ended() || err == nil {
				if err != nil || len(table.Rows) != 3000 {
					t.Errorf("%s: %v", format, err)
				}
				break
			}
		}
	}
}
