package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/arche-ledger/arche/internal/disk"
)

// replaceSuffix names the file that Replace fills before it takes the old one's
// place.
const replaceSuffix = ".anew"

// Replace writes the database file anew: prepare makes an empty database with
// the same tables at the path it is given, all rows are copied in their order,
// and the new file takes the old one's place in one step. Other processes wait
// meanwhile. A failure on the way leaves the old file as it was.
func (s *Store) Replace(ctx context.Context, prepare func(path string) error) error {
	return s.Lend(ctx, func(string) error { return s.rewrite(ctx, prepare) })
}

// Lend closes the database, its log folded in, and lends the file to fn, which
// may open it another way (an operator's export). Other processes wait
// meanwhile. fn must let go of the file before it returns.
func (s *Store) Lend(ctx context.Context, fn func(path string) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.db == nil {
		if err := s.take(ctx); err != nil {
			return err
		}
	}
	err := s.checkpoint(ctx, s.db) // so that the write-ahead log is empty
	err = errors.Join(err, s.db.Close())
	s.db = nil
	if err == nil {
		err = fn(s.path)
	}
	if s.head != nil {
		err = errors.Join(err, s.head.Close())
		s.head = nil
	}
	return errors.Join(err, s.gate.leave())
}

// rewrite does the work while the gate is held and the database is closed.
func (s *Store) rewrite(ctx context.Context, prepare func(path string) error) (err error) {
	d := s.disk()
	anew := s.path + replaceSuffix
	if err := removeAll(d, anew); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(d, anew))
		}
	}()
	if there(LogPath(s.path)) {
		return fmt.Errorf("replace the ledger file: %w", errLogLeft)
	}
	if err := prepare(anew); err != nil {
		return err
	}
	if err := copyRows(ctx, d, s.path, anew); err != nil {
		return err
	}
	if err := d.Sync(anew); err != nil {
		return err
	}
	if err := d.Replace(anew, s.path); err != nil {
		return fmt.Errorf("replace the ledger file: %w", err)
	}
	return removeAll(d, anew) // what lay beside the new file while it was made
}

// removeAll removes a database file with everything that lies beside it.
func removeAll(d disk.Disk, path string) error {
	for _, suffix := range []string{"", ".wal", ".lock", ".queue", ".head", ".head.tmp", undoSuffix, newSuffix, newSuffix + ".wal"} {
		if err := d.Clear(path + suffix); err != nil {
			return fmt.Errorf("remove the unfinished copy: %w", err)
		}
	}
	return nil
}

// copyRows copies every table from one file to another that has the same
// tables. Rows keep their order.
func copyRows(ctx context.Context, d disk.Disk, from, to string) error {
	return withFiles(ctx, d, func(run func(sql string) error, conn *sql.Conn) error {
		for _, sql := range []string{
			"ATTACH " + Quote(from) + " AS source (READ_ONLY)",
			"ATTACH " + Quote(to) + " AS target",
		} {
			if err := run(sql); err != nil {
				return fmt.Errorf("copy the ledger: %w", translate(err))
			}
		}
		tables, err := tablesOf(ctx, conn)
		if err != nil {
			return err
		}
		statements := []string{}
		for _, t := range tables {
			name := QuoteName(t)
			statements = append(statements, "DELETE FROM target.main."+name,
				"INSERT INTO target.main."+name+" SELECT * FROM source.main."+name+" ORDER BY rowid")
		}
		for _, sql := range append(statements, "CHECKPOINT target", "DETACH target", "DETACH source") {
			if err := run(sql); err != nil {
				return fmt.Errorf("copy the ledger: %w", translate(err))
			}
		}
		return nil
	})
}

// withFiles gives fn a connection that may reach files, and run, which does one
// statement on it and can be failed.
func withFiles(ctx context.Context, d disk.Disk, fn func(run func(sql string) error, conn *sql.Conn) error) error {
	defer private()()
	return WithFiles(ctx, func(conn *sql.Conn) error {
		return fn(func(sql string) error {
			if d.Fault != nil {
				if err := d.Fault("files.exec"); err != nil {
					return err
				}
			}
			_, err := conn.ExecContext(ctx, sql)
			return err
		}, conn)
	})
}

func tablesOf(ctx context.Context, conn *sql.Conn) ([]string, error) {
	rows, err := conn.QueryContext(ctx, `SELECT table_name FROM duckdb_tables() WHERE database_name = 'source' AND schema_name = 'main' ORDER BY table_name`)
	if err != nil {
		return nil, fmt.Errorf("copy the ledger: %w", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}
