package imports

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// delimiters are tried in this order; the one that the header line has most of
// outside quotes wins. DuckDB's own sniffing looks at values, and so reads two
// files of one form differently.
var delimiters = []rune{',', ';', '\t', '|'}

// readCSV reads the table at path, which DuckDB opens itself; in is the same file.
func readCSV(ctx context.Context, name, path string, in io.ReaderAt, format string) (*Table, error) {
	if err := checkText(ctx, name, io.NewSectionReader(in, 0, math.MaxInt64)); err != nil {
		return nil, err
	}
	columns, delimiter, err := readHeader(name, io.NewSectionReader(in, 0, math.MaxInt64), format)
	if err != nil {
		return nil, err
	}
	file, err := plainPath(name, path)
	if err != nil {
		return nil, err
	}
	t := &Table{Name: name, Columns: columns}
	err = duck.WithFiles(ctx, func(conn *sql.Conn) error { // the table of rejects belongs to one connection
		if t.Rows, err = queryRows(ctx, conn, csvQuery(columns, delimiter), file); err != nil {
			return csvFault(name, err)
		}
		return rejected(ctx, conn, name)
	})
	if err != nil {
		return nil, ended(ctx, err)
	}
	return t, nil
}

func csvQuery(columns []string, delimiter rune) string {
	types := make([]string, len(columns))
	names := make([]string, len(columns))
	for i, c := range columns {
		types[i] = duck.Quote(c) + ": 'VARCHAR'"
		names[i] = duck.Quote(c)
	}
	return fmt.Sprintf(`SELECT to_json(t)::VARCHAR FROM read_csv(?, delim = %s, quote = '"', escape = '"', header = true,
		auto_detect = false, strict_mode = true, null_padding = false, max_line_size = 16777216, buffer_size = 33554432,
		columns = {%s}, force_not_null = [%s], store_rejects = true, rejects_limit = 1) t`,
		duck.Quote(string(delimiter)), strings.Join(types, ", "), strings.Join(names, ", "))
}

// queryRows reads rows that the query gives as JSON text.
func queryRows(ctx context.Context, conn *sql.Conn, query string, args ...any) ([]*canon.Object, error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []*canon.Object{}
	var text sql.RawBytes
	for err == nil && rows.Next() {
		err = rows.Scan(&text)
		var o *canon.Object
		if err == nil {
			o, err = canon.ParseObject(text, canon.Limits{NonFinite: true})
		}
		if err != nil {
			err = fmt.Errorf("row %d: %w", len(out)+1, err)
		}
		out = append(out, o)
	}
	return out, errors.Join(err, rows.Err())
}

// rejected turns the first row that did not fit into an error with its place.
func rejected(ctx context.Context, conn *sql.Conn, name string) error {
	var line int64
	var column sql.NullInt64 // a line that is too long has none
	var columnName sql.NullString
	var kind, detail string
	err := conn.QueryRowContext(ctx, `SELECT line, column_idx, column_name, error_type::VARCHAR, coalesce(error_message, '')
		FROM reject_errors ORDER BY line, column_idx LIMIT 1`).Scan(&line, &column, &columnName, &kind, &detail)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	}
	where := fmt.Sprintf("%s, line %d", name, line)
	if column.Valid {
		where += fmt.Sprintf(", column %d", column.Int64)
	}
	if columnName.Valid {
		where += " (" + columnName.String + ")"
	}
	f := fault.New(fault.Invalid, "%s: the row does not fit the header", where)
	switch kind {
	case "TOO MANY COLUMNS", "MISSING COLUMNS":
		var want, got int
		if _, err := fmt.Sscanf(detail, "Expected Number of Columns: %d Found: %d", &want, &got); err == nil {
			f = fault.New(fault.Invalid, "%s: the row has %d values, the header %d", where, got, want)
		}
		f.Hint = "a value that holds the delimiter or a line break must stand in double quotes"
	case "UNQUOTED VALUE":
		f = fault.New(fault.Invalid, "%s: a quote is opened and not closed, or closed inside the value", where)
		f.Hint = "a double quote inside a quoted value is written twice"
	case "LINE SIZE OVER MAXIMUM":
		f = fault.New(fault.Limit, "%s: the line is longer than 16 MiB", where)
	}
	return f
}

// csvFault keeps DuckDB's text, which quotes the file, as the cause only.
func csvFault(name string, err error) error {
	const place = "CSV Error on Line: "
	var line int
	_, text, _ := strings.Cut(err.Error(), place)
	if _, none := fmt.Sscan(text, &line); none == nil {
		return fault.Wrap(err, fault.Invalid, "%s, line %d: the row is not CSV", name, line).
			WithHint("check the quotes: a double quote inside a quoted value is written twice")
	}
	return fault.Wrap(err, fault.Invalid, "%s can't be read as CSV", name)
}

// readHeader reads the first record: the column names and what divides them.
func readHeader(name string, file io.Reader, format string) ([]string, rune, error) {
	in := bufio.NewReaderSize(file, 1<<16)
	if b, err := in.Peek(len(bom)); err == nil && string(b) == bom {
		_, _ = in.Discard(len(bom)) // which are there
	}
	line, err := headerLine(in)
	if err != nil {
		return nil, 0, fileFault(name, err)
	}
	delimiter := '\t'
	if format == CSV {
		delimiter = mostFrequent(line)
	}
	r := csv.NewReader(strings.NewReader(line))
	r.Comma = delimiter
	columns, err := r.Read()
	if err != nil {
		return nil, 0, fault.Wrap(err, fault.Invalid, "%s, line 1: the column names can't be read", name)
	}
	seen := map[string]int{}
	for i, c := range columns {
		switch first, again := seen[strings.ToLower(c)]; {
		case strings.TrimSpace(c) == "":
			return nil, 0, fault.New(fault.Invalid, "%s, line 1, column %d: the column has no name", name, i+1)
		case again:
			return nil, 0, fault.New(fault.Invalid, "%s, line 1, column %d: column %q is there already as column %d", name, i+1, c, first+1)
		}
		seen[strings.ToLower(c)] = i
	}
	return columns, delimiter, nil
}

// headerLine reads up to the first line end outside quotes.
func headerLine(in *bufio.Reader) (string, error) {
	const limit = 1 << 20
	var line []byte
	quoted := false
	for len(line) < limit {
		c, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if c == '"' {
			quoted = !quoted
		}
		if !quoted && (c == '\n' || c == '\r') {
			break
		}
		line = append(line, c)
	}
	if len(line) == limit && !quoted { // an open quote is named by whoever splits the line
		return "", errors.New("the header line is longer than 1 MiB")
	}
	return string(line), nil
}

func mostFrequent(line string) rune {
	best, most := delimiters[0], 0
	for _, d := range delimiters {
		n, quoted := 0, false
		for _, r := range line {
			switch {
			case r == '"':
				quoted = !quoted
			case r == d && !quoted:
				n++
			}
		}
		if n > most {
			best, most = d, n
		}
	}
	return best
}

// checkText finds the first byte that is not UTF-8 text, which DuckDB would
// only name as a file.
func checkText(ctx context.Context, name string, f io.Reader) error {
	buf := make([]byte, 1<<20)
	kept, line, lineStart, offset := 0, 1, 0, 0
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, readErr := f.Read(buf[kept:])
		data := buf[:kept+n]
		bad := firstBad(data, readErr != nil)
		if bad >= 0 {
			line += bytes.Count(data[:bad], []byte{'\n'})
			if i := bytes.LastIndexByte(data[:bad], '\n'); i >= 0 {
				lineStart = offset + i + 1
			}
			return badByte(name, data[bad], line, offset+bad-lineStart+1)
		}
		whole := len(data) - incomplete(data)
		line += bytes.Count(data[:whole], []byte{'\n'})
		if i := bytes.LastIndexByte(data[:whole], '\n'); i >= 0 {
			lineStart = offset + i + 1
		}
		offset += whole
		kept = copy(buf, data[whole:])
		if errors.Is(readErr, io.EOF) {
			return nil
		}
		if readErr != nil {
			return fileFault(name, readErr)
		}
	}
}

func badByte(name string, b byte, line, column int) error {
	if b == 0 {
		return fault.New(fault.Invalid, "%s, line %d, byte %d: a zero byte; the file is not text", name, line, column)
	}
	return fault.New(fault.Invalid, "%s, line %d, byte %d: not UTF-8", name, line, column).
		WithHint("save it as UTF-8, for example: iconv -f WINDOWS-1252 -t UTF-8 FILE")
}

// firstBad is the index of the first byte that is zero or no UTF-8, or -1. A
// character cut off by the end of data counts only at the end of the file.
func firstBad(data []byte, last bool) int {
	if !last {
		data = data[:len(data)-incomplete(data)]
	}
	if bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) {
		return -1
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(data[i:])
		if r == 0 || r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}

// incomplete is the number of bytes at the end that begin a character.
func incomplete(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if c := data[len(data)-n]; utf8.RuneStart(c) {
			if c >= 0xc0 && !utf8.FullRune(data[len(data)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// plainPath is the path for DuckDB, which reads a pattern where it can.
func plainPath(name, path string) (string, error) {
	full, err := filepath.Abs(path)
	if err == nil && strings.ContainsAny(full, "*?[") {
		err = fault.New(fault.Invalid, "%s: a path with *, ? or [ is read as a pattern", name).WithHint("rename the file, or its folder")
	}
	return full, fileFault(name, err)
}
