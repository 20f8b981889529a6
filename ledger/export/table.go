package export

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Type is the type of a column in Parquet; CSV and JSON Lines follow the values.
type Type string

// The column types. JSON columns hold their value as JSON text.
const (
	Text    Type = "VARCHAR"
	Float   Type = "DOUBLE"
	Integer Type = "BIGINT"
	Boolean Type = "BOOLEAN"
	Time    Type = "TIMESTAMPTZ"
	JSON    Type = "JSON"
)

// Column is one column of a table.
type Column struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
}

// Rows yields the rows of a table: objects whose keys are column names; an
// absent key is null.
type Rows = iter.Seq2[*canon.Object, error]

// TableFormats are the formats that WriteTable writes.
var TableFormats = []string{"csv", "jsonl", "parquet"}

// FormatOf is the table format that a file name asks for.
func FormatOf(name string) (string, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return "csv", nil
	case ".jsonl", ".ndjson":
		return "jsonl", nil
	case ".parquet", ".pq":
		return "parquet", nil
	}
	return "", fault.New(fault.Invalid, "%s: no table format for this name", name).
		WithHint("end the name in .csv, .jsonl or .parquet")
}

// WriteTable writes rows to path in a format of TableFormats, mode 0600, and
// returns how many there were. The folder must exist. An existing file is
// replaced when the new one is whole.
func WriteTable(ctx context.Context, path, format string, columns []Column, rows Rows) (int64, error) {
	if format == "parquet" {
		return writeParquet(ctx, path, columns, rows)
	}
	var n int64
	err := replaceFile(path, func(w io.Writer) error {
		var err error
		switch format {
		case "csv":
			n, err = writeCSV(ctx, w, columns, rows)
		case "jsonl":
			n, err = writeJSONL(ctx, w, columns, rows)
		default:
			err = fault.New(fault.Invalid, "no table format %q", format).WithHint("formats are %s", strings.Join(TableFormats, ", "))
		}
		return err
	})
	return n, err
}

func writeCSV(ctx context.Context, w io.Writer, columns []Column, rows Rows) (int64, error) {
	out := csv.NewWriter(w)
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.Name
	}
	if err := out.Write(cells); err != nil {
		return 0, err
	}
	var n int64
	for row, err := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return n, err
		}
		for i, c := range columns {
			if cells[i], err = cell(c, row.Value(c.Name)); err != nil {
				return n, err
			}
		}
		if err := out.Write(cells); err != nil {
			return n, err
		}
		n++
	}
	out.Flush()
	return n, out.Error()
}

// cell is a value as CSV holds it: text as it is, null the empty text, anything
// else its JSON.
func cell(c Column, v any) (string, error) {
	switch x := v.(type) {
	case nil:
		return "", nil
	case string:
		if c.Type != JSON {
			return x, nil
		}
	}
	b, err := canon.Compact(v)
	return string(b), err
}

func writeJSONL(ctx context.Context, w io.Writer, columns []Column, rows Rows) (int64, error) {
	var n int64
	for row, err := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return n, err
		}
		full := &canon.Object{}
		for _, c := range columns {
			full.Set(c.Name, row.Value(c.Name))
		}
		line, err := canon.Compact(full)
		if err != nil {
			return n, err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// writeParquet goes through JSON Lines in a private folder, which DuckDB reads
// with the columns' types.
func writeParquet(ctx context.Context, path string, columns []Column, rows Rows) (int64, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".arche-parquet-") // mode 0700
	if err != nil {
		return 0, fileFault(path, err)
	}
	defer os.RemoveAll(dir)
	lines, out := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "rows.parquet")
	var n int64
	if err := replaceFile(lines, func(w io.Writer) error {
		n, err = writeJSONL(ctx, w, columns, rows)
		return err
	}); err != nil {
		return n, err
	}
	db, err := duck.OpenFiles()
	if err != nil {
		return n, err
	}
	defer db.Close()
	types := make([]string, len(columns))
	for i, c := range columns {
		types[i] = fmt.Sprintf("%s: '%s'", duck.Quote(c.Name), c.Type)
	}
	//nolint:gosec // names and paths are quoted, types are ours; COPY takes no parameters
	//nolint:gosec // SQL takes no parameters here; every part is quoted
	query := fmt.Sprintf(`COPY (SELECT * FROM read_json(%s, format = 'newline_delimited', maximum_object_size = 268435456, columns = {%s}))
		TO %s (FORMAT parquet, COMPRESSION zstd)`, duck.Quote(lines), strings.Join(types, ", "), duck.Quote(out))
	if _, err := db.ExecContext(ctx, query); err != nil {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		return n, fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Chmod(out, 0o600); err != nil {
		return n, fileFault(path, err)
	}
	if err := syncFile(out); err != nil {
		return n, fileFault(path, err)
	}
	return n, rename(out, path)
}
