package imports

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/export"
)

// tableRow is a row of an exported table, its values of their columns' types or
// nil. The first thing that is wrong is kept in err.
type tableRow struct {
	where  string
	values map[string]any
	err    error
}

func (r *tableRow) wrong(column, what string) {
	if r.err == nil {
		r.err = fault.New(fault.Invalid, "%s, column %s: %s", r.where, column, what)
	}
}

func (r *tableRow) text(column string) string { s, _ := r.values[column].(string); return s }

func (r *tableRow) integer(column string) int64 {
	n, ok := r.values[column].(canon.Number)
	var i int64
	if _, err := fmt.Sscan(string(n), &i); !ok || err != nil {
		r.wrong(column, "no whole number")
	}
	return i
}

// exportedTime is how exports write times.
const exportedTime = "2006-01-02T15:04:05.000000Z"

func (r *tableRow) time(column string) time.Time {
	at, err := time.Parse(exportedTime, r.text(column))
	if err != nil {
		r.wrong(column, "no time")
	}
	return at
}

// pull gives the rows of a file one by one.
func (b *bringing) pull(name string, columns []export.Column) (next func() (*tableRow, error, bool), stop func()) {
	lines := b.lines
	if strings.HasSuffix(name, ".parquet") {
		lines = b.parquet
	}
	seq := func(yield func(*tableRow, error) bool) {
		n := 0
		err := lines(name, columns, func(text []byte) error {
			n++
			if n%1024 == 0 && b.ctx.Err() != nil {
				return b.ctx.Err()
			}
			row, err := parseRow(fmt.Sprintf("%s, row %d", name, n), text, columns)
			if err == nil && !yield(row, nil) {
				err = errStopped
			}
			return err
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
	return iter.Pull2(seq)
}

var errStopped = errors.New("no more rows are wanted")

// parseRow reads one row: each column once, of its type, and no other.
func parseRow(where string, text []byte, columns []export.Column) (*tableRow, error) {
	o, err := canon.ParseObject(text, canon.Limits{Depth: 1 << 10})
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "%s: no JSON object", where)
	}
	row := &tableRow{where: where, values: make(map[string]any, len(columns))}
	for _, c := range columns {
		v, ok := o.Get(c.Name)
		if !ok {
			return nil, fault.New(fault.Invalid, "%s: the column %s is not there", where, c.Name)
		}
		if !fitsType(c.Type, v) {
			return nil, fault.New(fault.Invalid, "%s, column %s: no %s", where, c.Name, c.Type)
		}
		row.values[c.Name] = v
	}
	if o.Len() != len(columns) {
		for key := range o.All() {
			if !slices.ContainsFunc(columns, func(c export.Column) bool { return c.Name == key }) {
				return nil, fault.New(fault.Invalid, "%s: no column %s is known", where, canon.Repr(key))
			}
		}
	}
	return row, nil
}

func fitsType(t export.Type, v any) bool {
	if v == nil {
		return true
	}
	_, text := v.(string)
	_, truth := v.(bool)
	n, number := v.(canon.Number)
	switch t {
	case export.Text, export.Time:
		return text
	case export.Boolean:
		return truth
	case export.Integer:
		return number && n.IsInt()
	case export.Float:
		return number
	}
	return true
}

// lines reads JSON Lines.
func (b *bringing) lines(name string, _ []export.Column, take func(text []byte) error) error {
	return eachLine(name, filepath.Join(b.dir, name), take)
}

// eachLine calls take for each line of a file, with its end.
func eachLine(name, path string, take func(text []byte) error) error {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		err = eachLineOf(name, f, take)
	}
	return fileFault(name, err)
}

func eachLineOf(name string, f io.Reader, take func(text []byte) error) error {
	in := bufio.NewReaderSize(f, 1<<18)
	for {
		row, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(row) == 0:
			return nil
		case errors.Is(err, io.EOF):
			return fault.New(fault.Invalid, "%s ends within a row", name)
		case err == nil:
			err = take(row)
		}
		if err != nil {
			return err
		}
	}
}

// parquet reads a Parquet file as lines of JSON, through a file, because the rows of
// a large export don't fit memory.
func (b *bringing) parquet(name string, columns []export.Column, take func(text []byte) error) error {
	path, out := filepath.Join(b.dir, name), filepath.Join(b.work, name+".jsonl")
	defer os.Remove(out)
	err := duck.WithFiles(b.ctx, func(conn *sql.Conn) error {
		err := describe(b.ctx, conn, path, func(column, _ string) error {
			if !slices.ContainsFunc(columns, func(c export.Column) bool { return c.Name == column }) {
				return fault.New(fault.Invalid, "%s: no column %s is known", name, canon.Repr(column))
			}
			return nil
		})
		if err != nil {
			return err
		}
		list := make([]string, len(columns))
		for i, c := range columns {
			list[i] = duck.QuoteName(c.Name)
		}
		//nolint:gosec // COPY takes no parameters; every part is quoted
		_, err = conn.ExecContext(b.ctx, "COPY (SELECT "+strings.Join(list, ", ")+" FROM read_parquet("+duck.Quote(path)+")) TO "+duck.Quote(out)+
			" (FORMAT json, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ')")
		return err
	})
	if err != nil {
		return ended(b.ctx, parquetFault(name, err))
	}
	return eachLine(name, out, take)
}
