package ledger

import (
	"database/sql/driver"
)

// rowSet gathers the projection rows of one unit of work.
type rowSet struct {
	tables map[string][][]driver.Value
	n      int
}

func newRowSet() *rowSet { return &rowSet{tables: map[string][][]driver.Value{}} }

func (r *rowSet) add(table string, vals ...any) {
	row := make([]driver.Value, len(vals))
	for i, v := range vals {
		row[i] = v
	}
	r.tables[table] = append(r.tables[table], row)
	r.n++
}
