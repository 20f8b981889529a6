package duck

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// hardening is what every opening is started with: no files but its own, no
// extensions, and no way to change that from SQL.
const hardening = "enable_external_access=false&autoinstall_known_extensions=false" +
	"&autoload_known_extensions=false&allow_community_extensions=false&lock_configuration=true"

// DB is one opening of a database. It is used by one goroutine at a time.
type DB struct {
	connector *duckdb.Connector
	conn      *duckdb.Conn
	stmts     map[string]driver.Stmt
	apps      map[string]*duckdb.Appender
	fault     func(op string) error
	inTx      bool
	fatal     bool
	named     bool     // the name of the write-ahead log is durable
	raw       *os.File // the file of a store, to be read beside the database; see openRaw
}

// openDB opens the file, or an in-memory database when path is "".
func openDB(path string, o Options) (*DB, error) {
	if strings.ContainsAny(path, "?%#") {
		return nil, errPathCharacters
	}
	d := &DB{stmts: map[string]driver.Stmt{}, apps: map[string]*duckdb.Appender{}, fault: o.Fault}
	if err := d.seam("open"); err != nil {
		return nil, translate(err)
	}
	// The database makes no checkpoint of its own: inside a commit it would rewrite
	// up to 122,880 rows a table, and it is not safe from a power cut (see undo).
	// The store makes them where nobody waits, or when the log has grown long.
	bounds := "checkpoint_threshold=1TB&threads=" + strconv.Itoa(o.threads()) + "&memory_limit=" + strconv.Itoa(o.memoryMB()) + "MB"
	dsn := path + "?" + hardening + "&" + bounds
	if o.spill != "" {
		dsn = path + "?" + bounds // hardened below, once the spill folder is set
	}
	c, err := duckdb.NewConnector(dsn, nil)
	if err != nil {
		return nil, translate(err)
	}
	conn, err := c.Connect(context.Background())
	if err != nil {
		return nil, translate(errors.Join(err, c.Close()))
	}
	d.connector, d.conn = c, conn.(*duckdb.Conn)
	if o.spill != "" {
		if err := d.hardenScratch(o.spill); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	// A log that is kept at close costs less than a checkpoint at every close.
	if err := d.Exec(context.Background(), "PRAGMA disable_checkpoint_on_shutdown"); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// hardenScratch does by statements what the connection string cannot: a spill
// folder may only be named while access to files is still open.
func (d *DB) hardenScratch(spill string) error {
	ctx := context.Background()
	for _, set := range []string{
		"SET temp_directory='" + strings.ReplaceAll(spill, "'", "''") + "'",
		"SET allow_community_extensions=false",
		"SET autoinstall_known_extensions=false",
		"SET autoload_known_extensions=false",
		"SET enable_external_access=false",
		"SET lock_configuration=true",
	} {
		if err := d.Exec(ctx, set); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) threads() int {
	if o.Threads > 0 {
		return o.Threads
	}
	return max(1, min(runtime.NumCPU(), 8))
}

func (o Options) memoryMB() int {
	if o.MemoryMB > 0 {
		return o.MemoryMB
	}
	if mb := machineMB(); mb > 0 {
		return max(leastMemoryMB, min(mostMemoryMB, mb/4))
	}
	return mostMemoryMB
}

// The database's own memory is a quarter of the machine's within these bounds:
// enough to checkpoint and sort a ledger of a million events, small beside an
// agent host.
const (
	leastMemoryMB = 128
	mostMemoryMB  = 1024
)

// seam lets tests fail any operation of the database or of our files.
func (d *DB) seam(op string) error {
	if d.fault == nil {
		return nil
	}
	return d.fault(op)
}

func named(args []any) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return out
}

// prepared returns the statement for a text, prepared once an opening. Only
// constant texts come here, so the set is small.
func (d *DB) prepared(ctx context.Context, sql string) (driver.Stmt, error) {
	if s, ok := d.stmts[sql]; ok {
		return s, nil
	}
	s, err := d.conn.PrepareContext(ctx, sql)
	if err != nil {
		return nil, err
	}
	d.stmts[sql] = s
	return s, nil
}

// Exec runs a statement that returns nothing. Arguments are int64, int, string,
// []byte, float64, bool, time.Time or nil.
func (d *DB) Exec(ctx context.Context, sql string, args ...any) error {
	if err := d.seam("exec"); err != nil {
		return d.note(err)
	}
	if len(args) == 0 {
		_, err := d.conn.ExecContext(ctx, sql, nil)
		return d.note(err)
	}
	s, err := d.prepared(ctx, sql)
	if err != nil {
		return d.note(err)
	}
	_, err = s.(driver.StmtExecContext).ExecContext(ctx, named(args))
	return d.note(err)
}

// Query runs a statement and calls row for each row; the values are valid
// during the call only. A row that returns an error ends the query with it.
func (d *DB) Query(ctx context.Context, sql string, args []any, row func(v []driver.Value) error) (err error) {
	if err := d.seam("query"); err != nil {
		return d.note(err)
	}
	var s driver.Stmt
	var planErr error
	if len(args) == 0 {
		// A statement without parameters is planned with the table's statistics
		// of that moment: kept, it would go on answering max, count and constant
		// filters as they were then.
		if s, planErr = d.conn.PrepareContext(ctx, sql); planErr == nil {
			defer s.Close()
		}
	} else {
		s, planErr = d.prepared(ctx, sql)
	}
	if planErr != nil {
		return d.note(planErr)
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, named(args))
	if err != nil {
		return d.note(err)
	}
	defer func() {
		if cerr := rows.Close(); err == nil && cerr != nil {
			err = d.note(cerr)
		}
	}()
	vals := make([]driver.Value, len(rows.Columns()))
	for n := 0; ; n++ {
		if n%1024 == 1023 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch err := rows.Next(vals); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return d.note(err)
		}
		if err := row(vals); err != nil {
			return err
		}
	}
}

// Insert adds rows to a table, all columns in the table's order. The Appender
// is kept for the whole opening: making one costs more than a few rows.
func (d *DB) Insert(ctx context.Context, table string, rows [][]driver.Value) error {
	if len(rows) == 0 {
		return nil
	}
	if err := d.seam("insert"); err != nil {
		return d.note(err)
	}
	return d.note(d.bulk(ctx, table, rows))
}

func (d *DB) bulk(ctx context.Context, table string, rows [][]driver.Value) error {
	app, ok := d.apps[table]
	if !ok {
		var err error
		if app, err = duckdb.NewAppenderFromConn(d.conn, "", table); err != nil {
			return err
		}
		d.apps[table] = app
	}
	for i, r := range rows {
		var err error
		if i%4096 == 4095 {
			err = ctx.Err()
		}
		if err == nil {
			err = app.AppendRow(r...)
		}
		if err != nil {
			return errors.Join(err, d.dropAppender(table))
		}
	}
	if err := app.Flush(); err != nil {
		return errors.Join(err, d.dropAppender(table))
	}
	return nil
}

// dropAppender throws away what an appender holds that failed or was stopped.
func (d *DB) dropAppender(table string) error {
	app := d.apps[table]
	delete(d.apps, table)
	return errors.Join(app.Clear(), app.Close())
}

// Tx runs fn in one transaction: committed when fn returns nil, otherwise
// undone. A commit that fails leaves the outcome to the caller's own check.
func (d *DB) Tx(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A beginning that is cancelled half way may have begun: it is short, and what
	// is left open would stand in the way of every later call.
	d.inTx = true
	defer func() {
		if d.inTx { // a panic or an error on the way
			d.inTx = false
			if !d.fatal {
				_ = d.Exec(context.Background(), "ROLLBACK")
			}
		}
	}()
	if err := d.Exec(context.WithoutCancel(ctx), "BEGIN TRANSACTION"); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	if err := d.seam("commit"); err != nil {
		return d.note(err)
	}
	// A commit is not cancelled half way: it is short, and its outcome matters.
	if err := d.Exec(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	d.inTx = false
	return nil
}

// Checkpoint folds the write-ahead log into the file.
func (d *DB) Checkpoint(ctx context.Context) error {
	if err := d.seam("checkpoint"); err != nil {
		return d.note(err)
	}
	d.named = false // the next commit makes a new log
	return d.Exec(ctx, "CHECKPOINT")
}

// note translates an error and remembers when the database has given up.
func (d *DB) note(err error) error {
	if err == nil {
		return nil
	}
	err = translate(err)
	if errors.Is(err, ErrFatal) {
		d.fatal = true
	}
	return err
}

// Close closes every statement, the connection and the instance. Opening the
// same file again in this process would wait for ever for any of them.
func (d *DB) Close() error {
	var errs []error
	for _, s := range d.stmts {
		errs = append(errs, s.Close())
	}
	for table := range d.apps {
		errs = append(errs, d.dropAppender(table))
	}
	d.stmts, d.apps = nil, nil
	if d.conn != nil {
		errs = append(errs, d.conn.Close())
	}
	if d.connector != nil {
		errs = append(errs, d.connector.Close())
	}
	if d.raw != nil {
		errs = append(errs, d.raw.Close())
	}
	d.conn, d.connector, d.raw = nil, nil, nil
	return errors.Join(errs...)
}
