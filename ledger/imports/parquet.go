package imports

import (
	"context"
	"fmt"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

func readParquet(ctx context.Context, name string) (*Table, error) {
	file, err := plainPath(name, name)
	if err != nil {
		return nil, err
	}
	db, err := duck.OpenFiles()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer conn.Close()
	foreign := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Wrap(err, fault.Invalid, "%s can't be read as Parquet", name)
	}
	rows, err := conn.QueryContext(ctx, "DESCRIBE SELECT * FROM read_parquet(?)", file)
	if err != nil {
		return nil, foreign(err)
	}
	defer rows.Close()
	t := &Table{Name: name}
	var exact []string
	for rows.Next() {
		var column, kind string
		var rest [4]any
		if err := rows.Scan(&column, &kind, &rest[0], &rest[1], &rest[2], &rest[3]); err != nil {
			return nil, foreign(err)
		}
		t.Columns = append(t.Columns, column)
		if strings.HasPrefix(kind, "DECIMAL") || kind == "HUGEINT" || kind == "UHUGEINT" {
			exact = append(exact, fmt.Sprintf("%[1]s::VARCHAR AS %[1]s", duck.QuoteName(column)))
		}
	}
	if err := rows.Err(); err != nil {
		return nil, foreign(err)
	}
	rows.Close()
	star := "*"
	if len(exact) > 0 {
		star += " REPLACE (" + strings.Join(exact, ", ") + ")"
	}
	query := "SELECT to_json(t)::VARCHAR FROM (SELECT " + star + " FROM read_parquet(?)) t"
	if t.Rows, err = queryRows(ctx, conn, query, file); err != nil {
		return nil, foreign(err)
	}
	return t, nil
}
