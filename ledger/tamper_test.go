package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// tampering is one change through SQL.
type tampering struct{ name, sql string }

// changed is a value of a type that differs from the one there.
var changed = map[string]string{
	"VARCHAR": "coalesce(%s, '') || 'x'", "BIGINT": "coalesce(%s, 0) + 1", "INTEGER": "coalesce(%s, 0) + 1",
	"DOUBLE": "coalesce(%s, 0) + 0.01", "BOOLEAN": "NOT %s", "TIMESTAMP": "%s + INTERVAL 1 SECOND", "BLOB": "%s || 'x'::BLOB",
}

// tamperings draws n ways to change a row of the ledger's tables.
func tamperings(t *testing.T, db *duck.DB, random *rand.Rand, n int) []tampering {
	t.Helper()
	type column struct{ table, name, kind string }
	var columns []column
	err := db.Query(t.Context(), `SELECT table_name, column_name, data_type FROM information_schema.columns c
		WHERE table_name IN ('events', 'blobs', 'records', 'decisions', 'members') ORDER BY table_name, ordinal_position`, nil, func(v []driver.Value) error {
		columns = append(columns, column{v[0].(string), v[1].(string), v[2].(string)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	for _, c := range columns {
		err := db.Query(t.Context(), "SELECT count(*) FROM "+c.table, nil, func(v []driver.Value) error {
			rows[c.table] = v[0].(int64)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var out []tampering
	for k := 0; len(out) < n; k++ {
		c := columns[k%len(columns)]
		r := random.Int64N(rows[c.table])
		name := fmt.Sprintf("%s.%s row %d", c.table, c.name, r)
		switch k / len(columns) % 5 {
		case 0:
			out = append(out, tampering{"edit " + name, fmt.Sprintf("UPDATE %s SET %s = %s WHERE rowid = %d", c.table, c.name, fmt.Sprintf(changed[c.kind], c.name), r)})
		case 1:
			out = append(out, tampering{"delete " + name, fmt.Sprintf("DELETE FROM %s WHERE rowid = %d", c.table, r)})
		case 2:
			out = append(out, tampering{"insert " + name, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE rowid = %d", c.table, c.table, r)})
		case 3:
			o := random.Int64N(rows[c.table])
			out = append(out, tampering{fmt.Sprintf("swap %s with row %d", name, o), fmt.Sprintf(
				"UPDATE %[1]s SET %[2]s = (SELECT s.%[2]s FROM %[1]s s WHERE s.rowid = %[3]d + %[4]d - %[1]s.rowid) WHERE rowid IN (%[3]d, %[4]d)", c.table, c.name, r, o)})
		default:
			out = append(out, tampering{"renumber " + name, fmt.Sprintf("UPDATE %s SET seq = seq + 1 WHERE rowid >= %d", c.table, r)})
		}
	}
	return out
}

// tampered is a ledger with every kind of row.
func tampered(t *testing.T) *Ledger {
	t.Helper()
	l, err := Open("duckdb:///:memory:", Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	named := func(id, name string) []*canon.Object { return []*canon.Object{canon.Obj("id", id, "name", name)} }
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	req.A, req.B = named("a", "Kijani Tea Exporters Ltd"), named("b", "Kijani Tea Exporters Limited")
	must(l.Compare(ctx, req))
	req.A, req.B = named("c", "Central Cooperative Society"), named("d", "Central Cooperative Society")
	must(l.Compare(ctx, req))
	req.Entity = "place" // whose evidence holds a phrase of the names
	req.A, req.B = named("e", "Kumasi Central Hospital"), named("f", "Kumasi Central Hospital")
	must(l.Compare(ctx, req))
	req.Entity = "organisation"
	for n := range 120 { // a list that a run keeps as content
		req.A = append(req.A, canon.Obj("id", fmt.Sprintf("z%d", n), "name", strings.Repeat(string(rune('a'+n%26)), 3+n/26)))
	}
	must(l.Compare(ctx, req))
	must(l.Resolve(ctx, canon.Obj("name", "Kijani Tea Exporters"), "organisation"))
	must(l.Observe(ctx, l.state.recordID(2), canon.Obj("registration_id", "CS-1")))
	must(l.Append(ctx, []Draft{{Kind: "document.written", Subject: "doc:a.md", Body: canon.Obj("address", ContentAddress("doc", []byte("hello"))),
		Blobs: []Blob{{ContentAddress("doc", []byte("hello")), []byte("hello")}}}}))
	if err := l.Verify(ctx, nil); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTamperingIsNamed changes one field of one row through SQL, in many ways:
// verification finds each, and names the table.
func TestTamperingIsNamed(t *testing.T) {
	ways := 205
	if os.Getenv("ARCHE_LONG") != "" {
		ways = 3000
	}
	l := tampered(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // rows to change
	var list []tampering
	use := func(fn func(db *duck.DB) error) {
		t.Helper()
		if err := l.store.Use(context.Background(), fn); err != nil {
			t.Fatal(err)
		}
	}
	use(func(db *duck.DB) error { list = tamperings(t, db, random, ways); return nil })
	named := 0
	for _, w := range list {
		before := allRows(t, l)
		use(func(db *duck.DB) error {
			if err := db.Exec(t.Context(), "BEGIN TRANSACTION"); err != nil {
				return err
			}
			return db.Exec(t.Context(), w.sql)
		})
		if allRows(t, l) != before { // else the change was none: two equal values swapped
			var report Report
			err := l.Verify(t.Context(), &report)
			if err == nil || len(report.Findings) == 0 {
				t.Errorf("%s: nothing was found (%s)", w.name, w.sql)
			} else {
				named++
			}
		}
		use(func(db *duck.DB) error { return db.Exec(t.Context(), "ROLLBACK") })
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Fatalf("undone, and still: %v", err)
	}
	t.Logf("%d of %d changes were named, the others changed nothing", named, len(list))
}

// allRows is a hash over every table.
func allRows(t *testing.T, l *Ledger) string {
	t.Helper()
	var b strings.Builder
	err := l.store.Use(context.Background(), func(db *duck.DB) error {
		for _, table := range []string{"events", "blobs", "records", "decisions", "members"} {
			err := db.Query(t.Context(), "SELECT * FROM "+table+" ORDER BY ALL", nil, func(v []driver.Value) error {
				fmt.Fprintf(&b, "%v\n", v)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
