package ledger

import (
	"context"
	"database/sql/driver"
	"strconv"
	"strings"

	"github.com/arche-ledger/arche/ledger/duck"
)

// Many rows of a table are read as one text, a line a row: the driver hands each
// value over by itself, which takes longer than all the rest. Numbers stand
// first, each with a space behind it, then texts of a known length.

// packChunk is how many places of the log one text covers.
const packChunk = 8192

// packedRows reads the rows of a table that belong to the first n places of the
// log, in texts of packChunk places; line is the expression for one row. Each
// text has its rows in the order in which they lie. It ends early when put fails.
func packedRows(ctx context.Context, db *duck.DB, table, line string, n int64, put func(lines string) error) error {
	sql := `SELECT string_agg(` + line + `, '') FROM ` + table + ` WHERE seq >= ? AND seq < ?`
	for from := int64(1); from <= n; from += packChunk {
		var lines string
		err := db.Query(ctx, sql, []any{from, min(from+packChunk, n+1)}, func(v []driver.Value) error {
			lines, _ = v[0].(string)
			return nil
		})
		if err == nil {
			err = put(lines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fields takes a line apart. The first thing that does not fit makes it bad.
type fields struct {
	rest string
	bad  bool
}

func (f *fields) word() string {
	text, rest, ok := strings.Cut(f.rest, " ")
	f.rest, f.bad = rest, f.bad || !ok
	return text
}

func (f *fields) int() int64 {
	n, err := strconv.ParseInt(f.word(), 10, 64)
	f.bad = f.bad || err != nil
	return n
}

func (f *fields) text(n int64) string {
	if n < 0 || n > int64(len(f.rest)) {
		f.bad = true
		return ""
	}
	text := f.rest[:n]
	f.rest = f.rest[n:]
	return text
}

// address reads a prefix and 64 digits.
func (f *fields) address(prefix string) (a address) {
	text, fits := strings.CutPrefix(f.text(int64(len(prefix)+2*len(a))), prefix)
	f.bad = f.bad || !fits || !a.decode(text)
	return a
}

// end reads the end of the line.
func (f *fields) end() { f.bad = f.text(1) != "\n" || f.bad }

// nibbles are the values of hexadecimal digits, lower case alone; 0xff others.
var nibbles = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range 16 {
		t[hexDigits[i]] = byte(i)
	}
	return t
}()

// decode reads 64 digits and reports whether they were.
func (a *address) decode(text string) bool {
	if len(text) != 2*len(a) {
		return false
	}
	bad := byte(0)
	for i := range a {
		hi, lo := nibbles[text[2*i]], nibbles[text[2*i+1]]
		bad |= hi | lo
		a[i] = hi<<4 | lo&15
	}
	return bad < 16
}
