package export

import (
	"context"
	"database/sql"
	"errors"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/ledger/duck"
)

// session is one connection to an empty database in memory that may reach files.
// Its statements can be failed like the changes of a disk, as "files.exec" and
// "files.query".
type session struct {
	ctx  context.Context //nolint:containedctx // lives for one call
	conn *sql.Conn
	disk disk.Disk
}

func withSession(ctx context.Context, d disk.Disk, fn func(s *session) error) error {
	return duck.WithFiles(ctx, func(conn *sql.Conn) error { return fn(&session{ctx, conn, d}) })
}

func (s *session) ask(op string) error {
	if s.disk.Fault == nil {
		return nil
	}
	return s.disk.Fault("files." + op)
}

// exec runs a statement and returns how many rows it was about.
func (s *session) exec(statement string, args ...any) (int64, error) {
	if err := s.ask("exec"); err != nil {
		return 0, err
	}
	res, err := s.conn.ExecContext(s.ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls row for each row; the values are valid during the call only.
func (s *session) query(text string, args []any, row func(v []any)) error {
	if err := s.ask("query"); err != nil {
		return err
	}
	rows, err := s.conn.QueryContext(s.ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var values, places []any
	for err == nil && rows.Next() {
		if places == nil {
			columns, _ := rows.Columns() // fails of closed rows only
			values, places = make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				places[i] = &values[i]
			}
		}
		if err = rows.Scan(places...); err == nil {
			row(values)
		}
	}
	return errors.Join(err, rows.Err())
}
