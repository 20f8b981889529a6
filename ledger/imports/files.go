package imports

import (
	"context"
	"database/sql"
	"errors"

	"github.com/arche-ledger/arche/internal/fault"
)

// ended tells an error of a caller who went away as such, whatever it was taken for.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// parquetFault keeps DuckDB's text, which quotes the file, as the cause only.
func parquetFault(name string, err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	return fault.Wrap(err, fault.Invalid, "%s can't be read as Parquet", name)
}

// describe calls each for the columns of a Parquet file, in its order.
func describe(ctx context.Context, conn *sql.Conn, path string, each func(column, kind string) error) error {
	rows, err := conn.QueryContext(ctx, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(?))", path)
	if err != nil {
		return err
	}
	defer rows.Close()
	for err == nil && rows.Next() {
		var column, kind string
		if err = rows.Scan(&column, &kind); err == nil {
			err = each(column, kind)
		}
	}
	return errors.Join(err, rows.Err())
}
