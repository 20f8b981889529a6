package imports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// readJSON reads an array of objects, one object, or one object a line.
func readJSON(ctx context.Context, name string, in io.Reader) (*Table, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fileFault(name, err)
	}
	data = bytes.TrimPrefix(data, []byte(bom))
	t := &Table{Name: name, Rows: []*canon.Object{}}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); bytes.HasPrefix(trimmed, []byte("[")) {
		err = t.addArray(data)
	} else {
		err = t.addLines(ctx, data)
	}
	if err != nil {
		return nil, err
	}
	t.Columns = columnsOf(t.Rows)
	return t, nil
}

func (t *Table) addArray(data []byte) error {
	v, err := canon.Parse(data, canon.Limits{})
	if err != nil {
		return jsonFault(t.Name, data, 0, err)
	}
	for i, e := range v.([]any) {
		o, ok := e.(*canon.Object)
		if !ok {
			return fault.New(fault.Invalid, "%s, element %d: not an object of field: value", t.Name, i+1)
		}
		t.Rows = append(t.Rows, o)
	}
	return nil
}

// addLines takes one object a line; an object over several lines alone in its
// file is taken too.
func (t *Table) addLines(ctx context.Context, data []byte) error {
	if o, err := canon.ParseObject(data, canon.Limits{}); err == nil {
		t.Rows = append(t.Rows, o)
		return nil
	}
	for line, start := 1, 0; start < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i
		}
		text := bytes.TrimSpace(data[start:end])
		if len(text) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			o, err := canon.ParseObject(text, canon.Limits{})
			if err != nil {
				return jsonFault(t.Name, text, line, err)
			}
			t.Rows = append(t.Rows, o)
		}
		start = end + 1
	}
	return nil
}

// jsonFault gives the place of a syntax error as line and column; line is the
// line that data stands on, 0 when data is the whole file.
func jsonFault(name string, data []byte, line int, err error) error {
	syntax := &canon.SyntaxError{}
	errors.As(err, &syntax) // canon parses with no other error
	before := data[:min(syntax.Offset, len(data))]
	column := len(before) - bytes.LastIndexByte(before, '\n')
	if line == 0 {
		line = 1 + bytes.Count(before, []byte{'\n'})
	}
	return fault.Wrap(err, fault.Invalid, "%s", fmt.Sprintf("%s, line %d, column %d: %s", name, line, column, syntax.Reason))
}

func columnsOf(rows []*canon.Object) []string {
	seen := map[string]bool{}
	var out []string
	for _, r := range rows {
		for key := range r.All() {
			if !seen[key] {
				seen[key] = true
				out = append(out, key)
			}
		}
	}
	return out
}
