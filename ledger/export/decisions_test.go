package export_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/resolve"
)

// TestRowsAreTheView: exported decisions are read out of the events in a way of
// their own and say what v_decision says, of every kind of thing that happens to
// a decision, in the order of the log.
func TestRowsAreTheView(t *testing.T) {
	l, ctx := work(t), t.Context()
	must := func(_ *canon.Object, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	row := func(id, name, registration string) *canon.Object {
		return canon.Obj("id", id, "name", name, "registration_id", registration)
	}
	for n := range 3 {
		a, b := row(fmt.Sprintf("a%d", n), "Zentari Mills Ltd", "RC-1"), row(fmt.Sprintf("b%d", n), "Zentari Mills Limited", fmt.Sprintf("RC-%d", n+1))
		for _, entity := range []string{"organisation", "person"} {
			if _, err := l.Compare(ctx, resolve.Request{A: []*canon.Object{a}, B: []*canon.Object{b}, Entity: entity, Threshold: resolve.DefaultThreshold}); err != nil {
				t.Fatal(err)
			}
		}
	}
	must(l.Resolve(ctx, canon.Obj("name", "Zentari Mills"), "organisation"))
	var ids [][2]string
	for e, err := range l.Events(ctx, ledger.Filter{Kinds: []string{ledger.KindDecisionRecorded}}) {
		if err != nil {
			t.Fatal(err)
		}
		_, ends, _ := strings.Cut(e.Subject(), "@")
		a, b, _ := strings.Cut(ends, "|")
		ids = append(ids, [2]string{a, b})
	}
	must(l.Decide(ctx, ids[0][1], ids[0][0], ledger.VerdictDifferent, "seen"))
	must(l.Decide(ctx, ids[3][0], ids[3][1], ledger.VerdictReview, "seen"))
	out, err := l.Decide(ctx, ids[4][0], ids[4][1], ledger.VerdictSame, "seen")
	must(out, err)
	must(l.Undo(ctx, out.Value("event_id").(string), "a slip"))
	must(l.Observe(ctx, ids[3][0], canon.Obj("registration_id", "RC-7")))
	must(l.Forget(ctx, ledger.ForgetRequest{Addresses: []string{ids[5][0]}, Reason: "asked"}))
	if _, err := l.Compare(ctx, resolve.Request{A: []*canon.Object{row("a2", "Zentari Mills Ltd", "RC-1")}, B: []*canon.Object{row("b0", "Zentari Mills Limited", "RC-1")},
		Entity: "organisation", Threshold: resolve.DefaultThreshold}); err != nil {
		t.Fatal(err)
	}
	dir, m := write(t, l, "decisions", "parquet")
	file := filepath.Join(dir, "decisions.parquet")
	if m.Count < 12 {
		t.Fatalf("%d decisions", m.Count)
	}
	list := make([]string, 0, 24)
	for _, c := range export.Columns("decisions") {
		list = append(list, c.Name+"::VARCHAR")
	}
	columns := strings.Join(list, ", ")
	err = l.Lend(ctx, func(path string) error {
		db, err := duck.OpenFiles()
		if err != nil {
			return err
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.ExecContext(ctx, "ATTACH "+duck.Quote(path)+" AS source (READ_ONLY)"); err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, "USE source"); err != nil {
			return err
		}
		for name, query := range map[string]string{
			"rows that the view lacks":            "SELECT count(*) FROM (SELECT " + columns + " FROM read_parquet(?) EXCEPT ALL SELECT " + columns + " FROM v_decision)",
			"rows that the export lacks":          "SELECT count(*) FROM (SELECT " + columns + " FROM v_decision EXCEPT ALL SELECT " + columns + " FROM read_parquet(?))",
			"rows out of order":                   "SELECT count(*) FROM (SELECT seq < lag(seq) OVER (ORDER BY file_row_number) AS back FROM read_parquet(?, file_row_number = true)) WHERE back",
			"verdicts of people that are missing": "SELECT 2 - count(DISTINCT operator_verdict) FROM read_parquet(?)",
			"replaced decisions that are missing": "SELECT count(*) FROM read_parquet(?) HAVING bool_and(live)",
		} {
			var n int64
			if err := db.QueryRowContext(ctx, query, file).Scan(&n); err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if n != 0 {
				t.Errorf("%s: %d", name, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
