package imports

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/arche-ledger/arche/ledger/duck"
)

func readParquet(ctx context.Context, name, path string) (*Table, error) {
	file, err := plainPath(name, path)
	if err != nil {
		return nil, err
	}
	t := &Table{Name: name}
	err = duck.WithFiles(ctx, func(conn *sql.Conn) error {
		var exact []string
		if err := describe(ctx, conn, file, func(column, kind string) error {
			t.Columns = append(t.Columns, column)
			if strings.HasPrefix(kind, "DECIMAL") || kind == "HUGEINT" || kind == "UHUGEINT" {
				exact = append(exact, fmt.Sprintf("%[1]s::VARCHAR AS %[1]s", duck.QuoteName(column)))
			}
			return nil
		}); err != nil {
			return err
		}
		star := "*"
		if len(exact) > 0 {
			star += " REPLACE (" + strings.Join(exact, ", ") + ")"
		}
		var err error
		t.Rows, err = queryRows(ctx, conn, "SELECT to_json(t)::VARCHAR FROM (SELECT "+star+" FROM read_parquet(?)) t", file)
		return err
	})
	if err != nil {
		return nil, ended(ctx, parquetFault(name, err))
	}
	return t, nil
}
