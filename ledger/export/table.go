package export

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
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
	return writeTable(ctx, disk.Disk{}, path, format, columns, rows)
}

func writeTable(ctx context.Context, d disk.Disk, path, format string, columns []Column, rows Rows) (n int64, err error) {
	switch format {
	case "parquet":
		return writeParquet(ctx, d, path, columns, rows)
	case "csv":
		err = ReplaceOn(d, path, func(w io.Writer) (err error) { n, err = writeCSV(ctx, w, columns, rows); return err })
	case "jsonl":
		err = ReplaceOn(d, path, func(w io.Writer) (err error) { n, err = writeJSONL(ctx, w, columns, rows); return err })
	default:
		err = fault.New(fault.Invalid, "no table format %q", format).WithHint("formats are %s", strings.Join(TableFormats, ", "))
	}
	return n, err
}

func writeCSV(ctx context.Context, w io.Writer, columns []Column, rows Rows) (int64, error) {
	out := csv.NewWriter(w)
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.Name
	}
	_ = out.Write(cells) // a writer keeps its first error, which is told at its end
	var n int64
	for row, err := range rows {
		if err == nil {
			err = ctx.Err()
		}
		for i, c := range columns {
			if err == nil {
				cells[i], err = cell(c, row.Value(c.Name))
			}
		}
		if err == nil {
			err = out.Write(cells)
		}
		if err != nil {
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
		var line []byte
		if err == nil {
			full := &canon.Object{}
			for _, c := range columns {
				full.Set(c.Name, row.Value(c.Name))
			}
			line, err = canon.Compact(full)
		}
		if err == nil {
			_, err = w.Write(append(line, '\n'))
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// writeParquet goes through a private folder beside path.
func writeParquet(ctx context.Context, d disk.Disk, path string, columns []Column, rows Rows) (n int64, err error) {
	dir, err := d.MkdirTemp(filepath.Dir(path), ".arche-parquet-") // mode 0700
	if err != nil {
		return 0, fileFault(path, err)
	}
	f := &folder{disk: d, dir: filepath.Dir(path), work: dir}
	defer func() { err = errors.Join(err, f.clear()) }()
	return f.writeParquet(ctx, filepath.Base(path), columns, rows)
}

// writeParquet goes through JSON Lines in the private folder, which DuckDB reads
// with the columns' types.
func (f *folder) writeParquet(ctx context.Context, name string, columns []Column, rows Rows) (n int64, err error) {
	lines := filepath.Join(f.work, "rows.jsonl")
	err = ReplaceOn(f.disk, lines, func(w io.Writer) (err error) { n, err = writeJSONL(ctx, w, columns, rows); return err })
	if err == nil {
		err = f.parquet(ctx, lines, name, columns)
	}
	if err == nil {
		err = f.keep(name)
	}
	return n, err
}

// parquet makes a Parquet file of JSON Lines.
func (f *folder) parquet(ctx context.Context, lines, name string, columns []Column) error {
	types := make([]string, len(columns))
	for i, c := range columns {
		types[i] = fmt.Sprintf("%s: '%s'", duck.Quote(c.Name), c.Type)
	}
	err := withSession(ctx, f.disk, func(s *session) error {
		_, err := s.exec(fmt.Sprintf(`COPY (SELECT * FROM read_json(%s, format = 'newline_delimited', maximum_object_size = 268435456, columns = {%s}))
			TO %s (FORMAT parquet, COMPRESSION zstd)`, duck.Quote(lines), strings.Join(types, ", "), duck.Quote(filepath.Join(f.work, name))))
		return err
	})
	if err != nil {
		err = errors.Join(ctx.Err(), fmt.Errorf("write %s: %w", name, err))
	}
	return err
}
