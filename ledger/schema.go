package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// formatVersion is the version of the tables. A file with a greater one is
// refused: its projections may mean something else.
const formatVersion = 1

// schema are the tables of a ledger file. events and blobs are the ledger;
// the rest are projections, made again by rebuild at any time. No table has a
// constraint or an index: the one writer guarantees what they would, verify
// checks it, and the event table sees INSERT only.
var schema = []string{
	`CREATE TABLE meta(key VARCHAR, value VARCHAR)`,
	`CREATE TABLE events(log VARCHAR, seq BIGINT, v INTEGER, id VARCHAR, kind VARCHAR, subject VARCHAR,
		supersedes VARCHAR, body VARCHAR, actor VARCHAR, recorded_at TIMESTAMP, link VARCHAR)`,
	`CREATE TABLE blobs(address VARCHAR, bytes BLOB, seq BIGINT)`,
	`CREATE TABLE records(seq BIGINT, record_id VARCHAR, entity_type VARCHAR, content VARCHAR,
		label_field VARCHAR, label_position BIGINT)`,
	`CREATE TABLE decisions(seq BIGINT, event_id VARCHAR, decision_id VARCHAR, record_a VARCHAR, record_b VARCHAR,
		verb VARCHAR, identity VARCHAR, action VARCHAR, score DOUBLE, links BOOLEAN, withheld VARCHAR,
		run_id VARCHAR, supersedes VARCHAR, recorded_at TIMESTAMP, sameness VARCHAR)`,
	`CREATE TABLE members(seq BIGINT, record_id VARCHAR, entity_id VARCHAR, entity_type VARCHAR)`,
	indexTable,
	// Views for people and other programs; arche itself never reads them. What
	// an event says by itself needs no table: each table written costs a unit of
	// work 0.2 ms.
	`CREATE VIEW runs AS SELECT seq, subject AS run_id, body ->> '$.verb' AS verb, actor, recorded_at
		FROM events WHERE kind = 'run.recorded'`,
	`CREATE VIEW observations AS SELECT seq, substr(subject, 5) AS record_id, body ->> '$.new_record' AS new_record, recorded_at
		FROM events WHERE kind = 'evidence.observed'`,
	`CREATE VIEW live_decisions AS SELECT d.* FROM decisions d
		WHERE NOT EXISTS (SELECT 1 FROM decisions s WHERE s.supersedes = d.event_id)`,
	`CREATE VIEW cases AS SELECT * FROM live_decisions WHERE identity = 'review'`,
	// One event may move a record twice, so the place of a row counts too. Files
	// made earlier keep a view that looks at seq alone; v_entity is right in all.
	`CREATE VIEW entities AS SELECT entity_id, any_value(entity_type) AS entity_type, list(record_id ORDER BY seq, record_id) AS records
		FROM (SELECT *, rowid AS place FROM members
			QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY seq DESC, place DESC) = 1)
		WHERE coalesce(entity_id, '') <> '' GROUP BY entity_id`,
}

// projections are the tables that rebuild empties and fills again, with the
// order in which their rows are compared.
var projections = []string{"records", "decisions", "members"}

// prepareFile makes the tables of a new file and refuses a file that is not a
// ledger. Tables are made while nothing else is in the write-ahead log, and
// checkpointed at once.
func (l *Ledger) prepareFile(ctx context.Context, db *duck.DB) error {
	if l.prepared { // seen by this process before: its format is all that is asked again
		if err := checkFormat(ctx, db); err == nil || fault.As(err) != nil {
			return err
		}
	}
	err := l.lookAtFile(ctx, db)
	l.prepared = err == nil
	return err
}

func (l *Ledger) lookAtFile(ctx context.Context, db *duck.DB) error {
	var tables int64
	var meta bool
	err := db.Query(ctx, `SELECT count(*), coalesce(bool_or(table_name = 'meta'), false), coalesce(bool_or(table_name = 'events'), false)
		FROM information_schema.tables WHERE table_schema = 'main' AND table_type = 'BASE TABLE'`, nil,
		func(v []driver.Value) error {
			tables, meta = v[0].(int64), v[1].(bool) && v[2].(bool)
			return nil
		})
	switch {
	case err != nil:
		return err
	case tables == 0:
		return l.createTables(ctx, db)
	case !meta:
		return fault.Wrap(duck.ErrForeign, fault.Invalid, "the file is a DuckDB database but no arche ledger").
			WithHint("name a file of its own for the ledger; arche does not add its tables to another program's file")
	}
	return checkFormat(ctx, db)
}

func (l *Ledger) createTables(ctx context.Context, db *duck.DB) error {
	err := l.store.Write(ctx, db, 0, func() error {
		for _, sql := range slices.Concat(schema, views) {
			if err := db.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return db.Insert(ctx, "meta", [][]driver.Value{{"format", strconv.Itoa(formatVersion)}})
	})
	if err != nil {
		return err
	}
	_, err = l.store.Settle(ctx, db, true)
	return err
}

// ErrNewerFormat means that a newer arche wrote the ledger.
var ErrNewerFormat = errors.New("ledger has a newer format")

func checkFormat(ctx context.Context, db *duck.DB) error {
	var format string
	err := db.Query(ctx, `SELECT value FROM meta WHERE key = 'format'`, nil, func(v []driver.Value) error {
		format, _ = v[0].(string)
		return nil
	})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(format)
	switch {
	case err != nil:
		return fault.New(fault.Damaged, "the ledger does not say which format it has").WithHint("run: arche ledger verify")
	case n > formatVersion:
		return fault.Wrap(ErrNewerFormat, fault.Invalid, "the ledger has format %d and this arche reads formats up to %d", n, formatVersion).
			WithHint("use a newer arche")
	}
	return nil
}
