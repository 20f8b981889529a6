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
	"github.com/arche-ledger/arche/internal/disk"
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
	f, err := os.Open(name)
	if err != nil {
		return nil, fileFault(name, err)
	}
	defer f.Close()
	head, err := peek(name, f)
	if err != nil {
		return nil, err
	}
	if err := refuseForeign(name, head); err != nil {
		return nil, err
	}
	if format == "" {
		format = formatOf(name, head)
	}
	switch format {
	case CSV, TSV:
		return readCSV(ctx, name, name, f, format)
	case Parquet:
		return readParquet(ctx, name, name)
	case JSON, JSONL:
		return readJSON(ctx, name, io.MultiReader(bytes.NewReader(head), f)) // what is no file is read once
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
		format = formatOf("-", data)
	}
	if format == JSON || format == JSONL {
		return readJSON(ctx, name, bytes.NewReader(data))
	}
	dir, err := os.MkdirTemp("", "arche-stdin-") // mode 0700
	path := filepath.Join(dir, "table")
	if err == nil {
		defer os.RemoveAll(dir)
		err = spool(path, data)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "standard input can't be kept in the folder for temporary files").WithHint("name another in TMPDIR")
	}
	switch format {
	case CSV, TSV:
		return readCSV(ctx, name, path, bytes.NewReader(data), format)
	case Parquet:
		return readParquet(ctx, name, path)
	}
	return nil, fault.New(fault.Invalid, "no table format %q", format).WithHint("formats are csv, tsv, json, jsonl, parquet")
}

// spool puts bytes where DuckDB can read them for a moment; nothing needs them
// to be durable.
func spool(path string, data []byte) error {
	f, err := disk.Disk{}.Create(path) // mode 0600
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	return err
}

// peek returns the first bytes of a file.
func peek(name string, f *os.File) ([]byte, error) {
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fault.New(fault.Invalid, "%s is a folder, not a table", name)
	}
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fileFault(name, err)
	}
	return head[:n], nil
}

// fileFault words errors of the file system; others go through.
func fileFault(name string, err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.NotFound, "no file %s", name)
	}
	cause := err
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		cause = p.Err
	}
	return fault.Wrap(err, fault.Invalid, "%s: %v", name, cause)
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

func formatOf(name string, head []byte) string {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".csv":
		return CSV
	case ".tsv", ".tab":
		return TSV
	case ".json":
		return JSON
	case ".jsonl", ".ndjson":
		return JSONL
	case ".parquet", ".pq":
		return Parquet
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(bom)), " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet
	case bytes.HasPrefix(text, []byte("[")), bytes.HasPrefix(text, []byte("{")):
		return JSON
	}
	return CSV
}

const bom = "\ufeff"
