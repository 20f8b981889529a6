package duck

import (
	"context"
	"database/sql"
	"fmt"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// filesDSN opens a database in memory that may read and write files. Nothing
// is downloaded: extensions are neither installed nor loaded by themselves.
const filesDSN = "?autoinstall_known_extensions=false&autoload_known_extensions=false&allow_community_extensions=false"

// OpenFiles opens an empty in-memory database for one operator's command that
// reads tables from files or writes them. It never holds a ledger: the file
// access that a ledger's own connections are denied is what it is for. Paths go
// in as bound parameters, or through Quote where SQL takes no parameter. The
// caller closes it.
func OpenFiles() (*sql.DB, error) {
	connector, err := duckdb.NewConnector(filesDSN, nil)
	if err != nil {
		return nil, fmt.Errorf("open a database for files: %w", err)
	}
	return sql.OpenDB(connector), nil
}

// WithFiles lends one connection of OpenFiles: attachments, settings and tables of
// rejects are its own.
func WithFiles(ctx context.Context, fn func(conn *sql.Conn) error) error {
	db, err := OpenFiles()
	var conn *sql.Conn
	if err == nil {
		defer db.Close()
		conn, err = db.Conn(ctx)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	return fn(conn)
}

// Quote writes s as an SQL text literal.
func Quote(s string) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '\'')
	for i := range len(s) {
		if s[i] == '\'' {
			out = append(out, '\'')
		}
		out = append(out, s[i])
	}
	return string(append(out, '\''))
}

// QuoteName writes s as an SQL identifier.
func QuoteName(s string) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for i := range len(s) {
		if s[i] == '"' {
			out = append(out, '"')
		}
		out = append(out, s[i])
	}
	return string(append(out, '"'))
}
