package imports

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// Formats that tables are read in.
const (
	CSV     = "csv"
	TSV     = "tsv"
	JSON    = "json"
	JSONL   = "jsonl"
	Parquet = "parquet"
)

// Table is a list of records read from a file.
type Table struct {
	Name    string   // as the user gave it
	Columns []string // in the file's order; for JSON the keys in order of first sight
	Rows    []*canon.Object
}

// ReadTable reads a table of records from the file name; "-" is stdin, which
// may hold CSV, TSV, JSON or JSON Lines. format is one of the formats above, ""
// tells it by the file's name, else by its first bytes.
//
// Values of CSV and TSV are text, exactly as written, an empty cell the empty
// text. JSON keeps its number literals. Parquet gives numbers, booleans, arrays
// and objects as they are typed, times as text, and numbers that a double can't
// hold exactly as text.
func ReadTable(ctx context.Context, name, format string, stdin io.Reader) (*Table, error) {
	if name == "-" {
		return readStdin(ctx, format, stdin)
	}
	head, err := peek(name)
	if err != nil {
		return nil, err
	}
	if err := refuseForeign(name, head); err != nil {
		return nil, err
	}
	if format == "" {
		if format, err = formatOf(name, head); err != nil {
			return nil, err
		}
	}
	switch format {
	case CSV, TSV:
		return readCSV(ctx, name, name, format)
	case Parquet:
		return readParquet(ctx, name)
	case JSON, JSONL:
		f, err := os.Open(name)
		if err != nil {
			return nil, fileFault(name, err)
		}
		defer f.Close()
		return readJSON(ctx, name, f)
	}
	return nil, fault.New(fault.Invalid, "no table format %q", format).WithHint("formats are csv, tsv, json, jsonl, parquet")
}

// readStdin spools what DuckDB can only read from a file.
func readStdin(ctx context.Context, format string, stdin io.Reader) (*Table, error) {
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "standard input: %v", err)
	}
	const name = "standard input"
	if err := refuseForeign(name, data); err != nil {
		return nil, err
	}
	if format == "" {
		if format, err = formatOf("-", data); err != nil {
			return nil, err
		}
	}
	if format == JSON || format == JSONL {
		return readJSON(ctx, name, bytes.NewReader(data))
	}
	dir, err := os.MkdirTemp("", "arche-stdin-") // mode 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "table")
	if err := spool(path, data); err != nil {
		return nil, err
	}
	switch format {
	case CSV, TSV:
		return readCSV(ctx, name, path, format)
	case Parquet:
		t, err := readParquet(ctx, path)
		if t != nil {
			t.Name = name
		}
		return t, err
	}
	return nil, fault.New(fault.Invalid, "no table format %q", format).WithHint("formats are csv, tsv, json, jsonl, parquet")
}

// spool puts bytes where DuckDB can read them for a moment; nothing needs them
// to be durable.
func spool(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// peek returns the first bytes of a file.
func peek(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fileFault(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileFault(name, err)
	}
	if info.IsDir() {
		return nil, fault.New(fault.Invalid, "%s is a folder, not a table", name)
	}
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fileFault(name, err)
	}
	return head[:n], nil
}

func fileFault(name string, err error) error {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(err, fault.NotFound, "no file %s", name)
	case errors.As(err, &p):
		return fault.Wrap(err, fault.Invalid, "%s: %v", name, p.Err)
	}
	return fault.Wrap(err, fault.Invalid, "%s: %v", name, err)
}

// refuseForeign names what a file is when it is no table we read.
func refuseForeign(name string, head []byte) error {
	is := func(what, hint string) error {
		return fault.New(fault.Invalid, "%s is %s", name, what).WithHint("%s", hint)
	}
	const toUTF8 = "save it as UTF-8, for example: iconv -f UTF-16 -t UTF-8 FILE"
	switch {
	case len(head) == 0:
		return is("empty", "a table needs at least a line of column names, or a JSON array")
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return is("UTF-32 text", strings.ReplaceAll(toUTF8, "UTF-16", "UTF-32"))
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return is("UTF-16 text", toUTF8)
	case looksUTF16(head):
		return is("UTF-16 text without a mark", strings.Replace(toUTF8, "-f UTF-16 ", "-f UTF-16LE ", 1))
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return is("a zip archive or a spreadsheet workbook", "save the sheet as CSV (UTF-8)")
	case bytes.HasPrefix(head, []byte("\x1f\x8b")), bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return is("compressed", "unpack it first")
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return is("an SQLite database", "export the table as CSV")
	case len(head) >= 12 && bytes.Equal(head[8:12], []byte("DUCK")):
		return is("a DuckDB database", "export the table as CSV or Parquet")
	}
	return nil
}

// looksUTF16: Latin text in UTF-16 has a zero in every second byte.
func looksUTF16(head []byte) bool {
	if len(head) < 8 || bytes.HasPrefix(head, []byte("PAR1")) {
		return false
	}
	var zero [2]int
	n := min(len(head), 64)
	for i := range n {
		if head[i] == 0 {
			zero[i%2]++
		}
	}
	return zero[0] > n/4 || zero[1] > n/4
}

func formatOf(name string, head []byte) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".csv":
		return CSV, nil
	case ".tsv", ".tab":
		return TSV, nil
	case ".json":
		return JSON, nil
	case ".jsonl", ".ndjson":
		return JSONL, nil
	case ".parquet", ".pq":
		return Parquet, nil
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(bom)), " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet, nil
	case bytes.HasPrefix(text, []byte("[")), bytes.HasPrefix(text, []byte("{")):
		return JSON, nil
	}
	return CSV, nil
}

const bom = "\ufeff"
