package duck

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Scratch is a database of its own for work that needs SQL and keeps nothing:
// in memory, spilling to a private folder when that is not enough. It never
// sees a ledger. Its methods may be called from one goroutine at a time.
type Scratch struct {
	mu  sync.Mutex
	db  *DB
	dir string // spill folder, removed at Close
}

// OpenScratch opens an empty scratch database.
func OpenScratch(o Options) (*Scratch, error) {
	dir, err := os.MkdirTemp("", "arche-scratch-*") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	db, err := openDB("", Options{MemoryMB: o.MemoryMB, Threads: o.Threads, Fault: o.Fault, spill: dir})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Scratch{db: db, dir: dir}, nil
}

// Exec runs a statement that returns nothing.
func (s *Scratch) Exec(ctx context.Context, sql string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.db.Exec(ctx, sql, args...)
}

// Load makes a table and fills it with the rows that next gives until it
// returns nil. columns are definitions, for example "id BIGINT"; values are
// int64, int32, float64, string, []byte, bool or nil.
func (s *Scratch) Load(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.db.Exec(ctx, "CREATE TABLE "+table+" ("+strings.Join(columns, ", ")+")"); err != nil {
		return err
	}
	// Rows are copied into the database chunk by chunk, so theirs is the only
	// memory that a load of millions needs.
	const chunk = 2048
	rows := make([][]driver.Value, 0, chunk)
	for n := 0; ; {
		row, err := next()
		if err != nil {
			return err
		}
		if row != nil {
			if n == len(rows) {
				rows = append(rows, make([]driver.Value, 0, len(columns)))
			}
			rows[n] = rows[n][:0]
			for _, v := range row {
				rows[n] = append(rows[n], v)
			}
			n++
		}
		if n == chunk || row == nil && n > 0 {
			if err := s.db.note(s.db.bulk(ctx, table, rows[:n])); err != nil {
				return err
			}
			n = 0
		}
		if row == nil {
			return nil
		}
	}
}

// Query streams the rows of a statement; values are valid during the call only.
func (s *Scratch) Query(ctx context.Context, sql string, args []any, row func(values []any) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []any
	return s.db.Query(ctx, sql, args, func(v []driver.Value) error {
		out = out[:0]
		for _, x := range v {
			out = append(out, x)
		}
		return row(out)
	})
}

// Close drops everything.
func (s *Scratch) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	err := errors.Join(s.db.Close(), os.RemoveAll(s.dir))
	s.db = nil
	return err
}
