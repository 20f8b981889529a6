package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	err := s.db.Checkpoint(ctx) // so that the write-ahead log is empty
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
func (s *Store) rewrite(ctx context.Context, prepare func(path string) error) error {
	anew := s.path + replaceSuffix
	if err := removeAll(anew); err != nil {
		return err
	}
	defer func() { _ = removeAll(anew) }()
	if err := prepare(anew); err != nil {
		return err
	}
	if err := copyRows(ctx, s.path, anew); err != nil {
		return err
	}
	if err := syncPath(anew); err != nil {
		return err
	}
	if err := os.Rename(anew, s.path); err != nil {
		return fmt.Errorf("replace the ledger file: %w", err)
	}
	return syncPath(filepath.Dir(s.path))
}

// removeAll removes a database file with everything that lies beside it.
func removeAll(path string) error {
	for _, suffix := range []string{"", ".wal", ".lock", ".queue", ".head", ".head.tmp"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the unfinished copy: %w", err)
		}
	}
	return nil
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}

// copyRows copies every table from one file to another that has the same
// tables. Rows keep their order.
func copyRows(ctx context.Context, from, to string) error {
	defer private()()
	db, err := OpenFiles()
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx) // attachments are seen by every connection; one is enough
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, sql := range []string{
		"ATTACH " + Quote(from) + " AS source (READ_ONLY)",
		"ATTACH " + Quote(to) + " AS target",
	} {
		if _, err := conn.ExecContext(ctx, sql); err != nil {
			return fmt.Errorf("copy the ledger: %w", err)
		}
	}
	tables, err := tablesOf(ctx, conn)
	if err != nil {
		return err
	}
	for _, t := range tables {
		name := QuoteName(t)
		for _, sql := range []string{
			"DELETE FROM target.main." + name,
			"INSERT INTO target.main." + name + " SELECT * FROM source.main." + name + " ORDER BY rowid",
		} {
			if _, err := conn.ExecContext(ctx, sql); err != nil {
				return fmt.Errorf("copy the ledger: %w", err)
			}
		}
	}
	for _, sql := range []string{"CHECKPOINT target", "DETACH target", "DETACH source"} {
		if _, err := conn.ExecContext(ctx, sql); err != nil {
			return fmt.Errorf("copy the ledger: %w", err)
		}
	}
	return nil
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
