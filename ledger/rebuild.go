package ledger

import (
	"bytes"
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/arche-ledger/arche/ledger/duck"
)

// Rebuild makes every projection again from the log: the tables are emptied and
// filled in one transaction. A ledger that is whole does not change by a byte.
func (l *Ledger) Rebuild(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = nil
	err := l.store.Use(ctx, func(db *duck.DB) error {
		end, err := l.lastEvent(ctx, db)
		if err != nil {
			return err
		}
		if err := l.checkHead(ctx, db, end); err != nil {
			return err
		}
		s := newState()
		s.rows = newRowSet()
		if err := l.foldFrom(ctx, db, s, true); err != nil {
			return err
		}
		s.flushPending()
		rows := s.rows
		indexed, err := l.index.there(ctx, db)
		if err != nil {
			return err
		}
		err = l.store.Write(ctx, db, rows.n, func() error {
			l.index.upTo = map[string]int{}
			if indexed { // made again when it is needed
				if err := db.Exec(ctx, "DELETE FROM index_parts"); err != nil {
					return err
				}
			}
			for _, table := range projections {
				if err := db.Exec(ctx, "DELETE FROM "+table); err != nil {
					return err
				}
			}
			return rows.insert(ctx, db, s)
		})
		if err != nil {
			return err
		}
		_, err = l.store.Settle(ctx, db, true)
		return err
	})
	if errors.Is(err, duck.ErrClosed) {
		return errClosed
	}
	return err
}

// sortRows puts rows into the one order that tables are compared in.
func sortRows(rows [][]driver.Value) {
	slices.SortFunc(rows, func(a, b []driver.Value) int { return slices.CompareFunc(a, b, compareValues) })
}

// compareValues orders values as the database does, null first.
func compareValues(a, b driver.Value) int {
	if a == nil || b == nil {
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return -1
		}
		return 1
	}
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	case string:
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y)
		}
	case bool:
		if y, ok := b.(bool); ok {
			switch {
			case x == y:
				return 0
			case y:
				return -1
			}
			return 1
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y)
		}
	case []byte:
		if y, ok := b.([]byte); ok {
			return bytes.Compare(x, y)
		}
	}
	return 1 // different types never stand in one column
}

// firstDifference is the first column in which two rows differ, -1 when none.
func firstDifference(a, b []driver.Value) int {
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	for i := range a {
		if compareValues(a[i], b[i]) != 0 {
			return i
		}
	}
	return -1
}
