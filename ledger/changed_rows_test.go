package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// openHere is a ledger in memory whose clock goes by seconds.
func openHere(t *testing.T, o Options) *Ledger {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o.Clock = func() time.Time { at = at.Add(time.Second); return at }
	l, err := Open("duckdb:///:memory:", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// twoPlaces are compared by a phrase that their evidence quotes.
func twoPlaces(n int) resolve.Request {
	req := twoRows("place", "London Bridge Health Post", "London Bridge Health Post")
	for k, rec := range []*canon.Object{req.A[0], req.B[0]} {
		rec.Set("id", fmt.Sprint(n, "-", k))
		rec.Set("lat", canon.Float(51.505+float64(k)*0.0002))
		rec.Set("lon", canon.Float(-0.086))
	}
	return req
}

// lived is a ledger with decisions of every kind, and the questions about them.
func lived(t *testing.T) (*Ledger, []ask) {
	t.Helper()
	l, ctx := openHere(t, Options{}), t.Context()
	must := mustAsk(t)
	first := mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited")).Edges[0].DecisionID
	d := must(l.Decision(ctx, first))
	again := twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters (K) Ltd")
	again.A[0].Set("id", d.Value("record_a"))
	again.A[0].Set("city", "Nairobi")
	handed := mustCompare(t, l, again).Edges[0].DecisionID
	pair, _, err := l.ComparePair(ctx, resolve.PairRequest{
		A: canon.Obj("id", "p1", "name", "Adaeze Okonkwo", "national_id", "12345678901"), B: canon.Obj("id", "p2", "name", "A. Okonkwo", "national_id", "12345678901"),
		Entity: "person",
	})
	if err != nil {
		t.Fatal(err)
	}
	place := mustCompare(t, l, twoPlaces(0)).Edges[0].DecisionID
	newcomer := resolvedAs(t, l, canon.Obj("name", "Kijani Tea Exporters", "remark", "n"))
	open := mustCompare(t, l, twoRows("organisation", "Central Cooperative Society", "Central Cooperative Society")).Edges[0].DecisionID
	o := must(l.Decision(ctx, open))
	must(l.Observe(ctx, o.Value("record_a").(string), canon.Obj("city", "Nakuru")))
	must(l.Decide(ctx, o.Value("record_a").(string), o.Value("record_b").(string), VerdictSame, "one number"))
	entity := must(l.Decision(ctx, first)).Value("entity_id").(string)
	one := func(call func(ctx context.Context, id string) (*canon.Object, error), id string) func(ctx context.Context, l *Ledger) (*canon.Object, error) {
		return func(ctx context.Context, _ *Ledger) (*canon.Object, error) { return call(ctx, id) }
	}
	return l, []ask{
		{name: "replay of a batch", of: one(l.Replay, first)},
		{name: "replay of what was handed in", of: one(l.Replay, handed)},
		{name: "replay of a pair", of: one(l.Replay, pair.DecisionID)},
		{name: "replay of a newcomer", of: one(l.Replay, newcomer)},
		{name: "replay of what a person decided", of: one(l.Replay, open)},
		{name: "explain", of: one(l.Explain, first)},
		{name: "explain a pair", of: one(l.Explain, pair.DecisionID)},
		{name: "explain a place", of: one(l.Explain, place)},
		{name: "history", of: one(l.EntityHistory, entity)},
		{name: "path", of: func(ctx context.Context, l *Ledger) (*canon.Object, error) {
			return l.Path(ctx, d.Value("record_b").(string), d.Value("record_a").(string))
		}},
		{name: "forget", of: func(ctx context.Context, l *Ledger) (*canon.Object, error) {
			return l.Forget(ctx, ForgetRequest{Field: "name", Value: "London Bridge Health Post", DryRun: true})
		}},
		{name: "audit", of: func(ctx context.Context, l *Ledger) (*canon.Object, error) { return audited(ctx, l, false) }},
	}
}

// TestRowsThatChangeUnderALedger changes one row at a time while a ledger has its
// state: each question is answered as before, or the row is named.
func TestRowsThatChangeUnderALedger(t *testing.T) {
	l, asks := lived(t)
	inside := func(sql ...string) {
		t.Helper()
		err := l.store.Use(t.Context(), func(db *duck.DB) error {
			for _, s := range sql {
				if err := db.Exec(t.Context(), s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	type row struct{ name, change string }
	var rows []row
	for _, x := range [][2]string{{"events", "kind"}, {"blobs", "left(address, 3)"}, {"decisions", "verb"}} {
		table, key := x[0], x[1]
		err := l.Query(t.Context(), `SELECT rowid, seq, `+key+` FROM `+table+` ORDER BY rowid`, nil, func(v []driver.Value) error {
			name := fmt.Sprintf("%s %v of event %v", table, v[2], v[1])
			at := fmt.Sprintf(" WHERE rowid = %v", v[0])
			switch table {
			case "events":
				rows = append(rows, row{"another body: " + name, "UPDATE events SET body = 'x' || body" + at})
			case "blobs":
				rows = append(rows, row{"other bytes: " + name, "UPDATE blobs SET bytes = bytes || 'x'::BLOB" + at})
			default:
				rows = append(rows, row{"another score: " + name, "UPDATE decisions SET score = score + 1" + at})
			}
			gone := row{"gone: " + name, "DELETE FROM " + table + at}
			if long {
				rows = append(rows, gone)
			} else if len(rows)%2 == 1 { // one of both will do
				rows[len(rows)-1] = gone
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tell := func(a ask) (string, error) {
		l.cache.reset()
		o, err := a.of(t.Context(), l)
		if err != nil {
			return "", err
		}
		return mustText(t, o), nil
	}
	before := map[string]string{}
	for _, a := range asks {
		text, err := tell(a)
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		before[a.name] = text
	}
	for _, r := range rows {
		inside("BEGIN TRANSACTION", r.change)
		noticed := false
		for _, a := range asks {
			text, err := tell(a)
			told := err == nil && (strings.Contains(text, "ledger row altered") || strings.Contains(text, "content of this ledger")) // by an audit
			switch {
			case told || errors.Is(err, ErrAltered) || errors.Is(err, ErrErased):
				noticed = true
			case err != nil || text != before[a.name]:
				t.Errorf("%s: %s is answered otherwise: %v %s", r.name, a.name, err, text)
			}
		}
		if !noticed && mustBeNoticed(r.name) {
			t.Errorf("%s: nobody notices", r.name)
		}
		inside("ROLLBACK")
	}
	for _, a := range asks {
		if text, err := tell(a); err != nil || text != before[a.name] {
			t.Errorf("%s: after all was put back: %v %s", a.name, err, text)
		}
	}
	t.Logf("%d rows, %d questions", len(rows), len(asks))
}

// mustBeNoticed leaves aside what no answer is made of while the state is there,
// and what belongs to decisions that nobody asks about.
func mustBeNoticed(name string) bool {
	for _, part := range []string{"record.stored", "evidence.observed", "blobs txt", "decisions "} {
		if strings.Contains(name, part) {
			return false
		}
	}
	return true
}
