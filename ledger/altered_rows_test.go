package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// use runs statements on the database of the ledger.
func (f *forge) use(statements ...string) {
	f.t.Helper()
	err := f.l.store.Use(context.Background(), func(db *duck.DB) error {
		for _, sql := range statements {
			if err := db.Exec(context.Background(), sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// unread makes the ledger read contents and events again; its state stays.
func (f *forge) unread() {
	f.l.cache.reset()
	for i := range f.l.state.ents {
		f.l.state.ents[i].forget()
	}
}

// alterations are the ways in which a row is changed under a ledger that has its
// state, with what is told of it. The %d is an event's place.
var alterations = []struct{ name, table, sql, told string }{
	{"gone", "events", `DELETE FROM events WHERE seq = %d`, "gone"},
	{"twice", "events", `INSERT INTO events SELECT * FROM events WHERE seq = %d`, ""},
	{"without a time", "events", `UPDATE events SET recorded_at = NULL WHERE seq = %d`, "it has no time"},
	{"by another", "events", `UPDATE events SET actor = 'mallory' WHERE seq = %d`, "its link does not fit its place, actor or time"},
	{"with another body", "events", `UPDATE events SET body = replace(body, '"score":', '"score":0') WHERE seq = %d`, "its content does not fit its address"},
	{"without its row", "decisions", `DELETE FROM decisions WHERE seq = %d`, "has 0 rows in decisions"},
	{"with two rows", "decisions", `INSERT INTO decisions SELECT * FROM decisions WHERE seq = %d`, "has 2 rows in decisions"},
	{"with another row", "decisions", `UPDATE decisions SET score = score + 0.5 WHERE seq = %d`, "the decisions row of event"},
	{"content gone", "blobs", `DELETE FROM blobs WHERE seq = %d`, "is gone"},
	{"content of none", "blobs", `UPDATE blobs SET address = 'x' WHERE seq = %d`, "is gone"},
	{"another content", "blobs", `UPDATE blobs SET bytes = 'x'::BLOB WHERE seq = %d`, "is not what was stored"},
}

// TestRowsAlteredUnderfootAreNamed changes a row of a ledger that is open and has
// its state: whatever shows what the row says tells the damage by name, all else
// answers as before, and with the row as it was everything does.
func TestRowsAlteredUnderfootAreNamed(t *testing.T) {
	f := newForge(t)
	// What each answer shows, by event: decisions, and the records they are about.
	shown := map[string][]int{}
	for n := range f.events {
		e := &f.events[n]
		switch {
		case e.kind == KindDecisionRecorded && strings.HasPrefix(e.subject, f.decisions[0]):
			shown["events"] = append(shown["events"], n)
			shown["decisions"] = append(shown["decisions"], n)
		case e.kind == KindRecordStored && e.subject == f.record:
			shown["blobs"] = append(shown["blobs"], n)
		}
	}
	if len(shown) != 3 {
		t.Fatalf("nothing is shown: %v", shown)
	}
	const entities, cases, decision, review = 0, 1, 2, 3
	for _, x := range alterations {
		for _, n := range shown[x.table] {
			f.unread()
			f.use("BEGIN TRANSACTION", fmt.Sprintf(x.sql, n+1))
			got := f.answers()
			f.unread()
			if _, err := f.l.Explain(t.Context(), f.decisions[0]); err == nil && x.name != "twice" {
				t.Errorf("event %d %s: the explanation is as if nothing were", n+1, x.name)
			} else if err != nil {
				_ = f.told(nil, err)
			}
			f.use("ROLLBACK")
			for _, at := range []int{entities, decision} {
				if !strings.HasPrefix(got[at], "error: ledger row altered: ") || !strings.Contains(got[at], x.told) {
					t.Errorf("event %d %s: answer %d is %s", n+1, x.name, at, got[at])
				}
			}
			for _, at := range []int{cases, review} {
				if got[at] != f.plain[at] {
					t.Errorf("event %d %s: answer %d, which does not show it, is %s", n+1, x.name, at, got[at])
				}
			}
		}
	}
	f.unread()
	if got := f.answers(); !slices.Equal(got, f.plain) {
		t.Errorf("the rows are as they were, the answers are not: %v", got)
	}
}

// TestAnotherEventInItsPlaceIsNamed puts another whole log under a ledger that
// has its state: an event whose address and link fit and which is another one is
// not believed.
func TestAnotherEventInItsPlaceIsNamed(t *testing.T) {
	f, open := newForge(t), 0
	for n := range f.events {
		e := f.events[n]
		if e.kind != KindDecisionRecorded {
			continue
		}
		state := f.l.state
		f.write(f.changed(n, func(e *Event) { e.body = strings.Replace(e.body, `"action":"`, `"action":"un`, 1) }))
		f.l.state = state
		f.unread()
		id, _, _ := strings.Cut(e.subject, "@")
		if _, err := f.l.Decision(t.Context(), id); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), "it is not the decision that stood there") {
			t.Errorf("event %d: %v", n+1, err)
		}
		if i := state.rowsOf(id)[0]; state.openCase(i) {
			open++
			if o, err := f.l.Cases(t.Context(), ""); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), "it is not the decision that stood there") {
				t.Errorf("event %d: cases %v %v", n+1, o, err)
			}
		}
		f.l.state = state
	}
	if open == 0 {
		t.Error("no case was open")
	}
}

// TestBodiesBehindTheTablesAreRead: a ledger that took its state from its tables
// reads an event before it shows it; one that is no decision is named.
func TestBodiesBehindTheTablesAreRead(t *testing.T) {
	f := newForge(t)
	n := f.place(KindDecisionRecorded)
	for body, told := range map[string]string{"[]": "its body is no JSON object", "{}": "it does not fit what was folded from it", "x": "its body is no JSON object"} {
		events := f.changed(n, func(e *Event) { e.body = body })
		f.write(events)
		var statements []string
		for i := range events { // somebody made the tables fit
			statements = append(statements, fmt.Sprintf(`UPDATE decisions SET event_id = '%s' WHERE seq = %d`, events[i].id, i+1),
				fmt.Sprintf(`UPDATE decisions SET supersedes = '%s' WHERE supersedes = '%s'`, events[i].id, f.events[i].id))
		}
		f.use(statements...)
		f.l.verified = -1
		f.forget()
		if _, err := f.l.Decision(t.Context(), f.decisions[0]); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), told) {
			t.Errorf("%s: %v", body, err)
		}
		f.write(f.events)
		if err := f.l.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForgedContentsAreNamed gives a record another content, which its event
// names rightly: no record at all, or one that has another address.
func TestForgedContentsAreNamed(t *testing.T) {
	f := newForge(t)
	n := slices.IndexFunc(f.events, func(e Event) bool { return e.subject == f.record })
	at := slices.IndexFunc(f.blobs, func(b []driver.Value) bool { return b[0] == f.record })
	own := f.blobs[at][1]
	for _, x := range []struct{ name, bytes, told string }{
		{"a list", `[]`, "is not a record"},
		{"half of one", `{"name":`, "is not a record"},
		{"a name twice", `{"name":"x","name":"y"}`, ""}, // the last counts
		{"text that is none", "{\"name\":\"\xff\"}", "is not a record"},
		{"nothing", ``, "is not a record"},
		{"another record", `{"id":"a","name":"Zentari Mills"}`, ""},
	} {
		sum := address(blake3.Sum256([]byte(x.bytes)))
		f.blobs[at][1] = []byte(x.bytes)
		f.write(f.changed(n, func(e *Event) {
			e.body = string(must8785(t, canon.Obj("content", sum.hex(), "entity_type", "organisation")))
		}))
		if err := f.l.Rebuild(t.Context()); err != nil {
			t.Errorf("%s: the log does not say what contents are: %v", x.name, err)
		}
		var report Report
		if err := f.l.Verify(t.Context(), &report); !fault.Is(err, fault.Damaged) || report.Findings[0].Table != "blobs" {
			t.Errorf("%s: verification found %v", x.name, report.Findings)
		}
		for i, most := range []int{0, 1} { // with a cache that holds all, and one that holds nothing
			f.l.cache.most = most
			f.forget()
			_, head, _, err := f.l.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for k, text := range append(f.answers(), f.writes()...) {
				switch {
				case k == 1 || k == 3: // cases and the decision about others
				case x.told == "":
				case !strings.Contains(text, x.told):
					t.Errorf("%s (%d): answer %d is %s", x.name, i, k, text)
				}
			}
			_, after, _, err := f.l.Head(t.Context())
			if x.told != "" && (err != nil || after > head+2) { // the comparison needs no stored content and is recorded
				t.Errorf("%s: events %d to %d were written, %v", x.name, head, after, err)
			}
			f.l.cache.most = 0
		}
	}
	f.blobs[at][1] = own
}

func must8785(t *testing.T, v any) []byte {
	t.Helper()
	b, err := canon.RFC8785(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
