package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// within runs statements in a transaction of the ledger's file, then fn, and
// takes all of it back.
func within(t *testing.T, l *Ledger, fn func(), sql ...string) {
	t.Helper()
	exec := func(list ...string) {
		t.Helper()
		err := l.store.Use(context.Background(), func(db *duck.DB) error {
			for _, s := range list {
				if err := db.Exec(context.Background(), s); err != nil {
					return fmt.Errorf("%s: %w", s, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	exec(append([]string{"BEGIN TRANSACTION"}, sql...)...)
	defer exec("ROLLBACK")
	fn()
}

// resealed is the statement that gives an event another body, with an address
// that fits; the state is loaded without comparing links.
func resealed(e *Event, kind, subject, body string) string {
	return fmt.Sprintf("UPDATE events SET kind = '%s', subject = '%s', body = '%s', id = '%s' WHERE seq = %d",
		kind, subject, body, eventID(e.version, kind, subject, e.supersedes, body), e.seq)
}

// eventOfKind is the first event of a kind.
func eventOfKind(t *testing.T, l *Ledger, kind string) *Event {
	t.Helper()
	for e, err := range l.Events(t.Context(), Filter{Kinds: []string{kind}}) {
		if err != nil {
			t.Fatal(err)
		}
		return &e
	}
	t.Fatalf("no event of kind %s", kind)
	return nil
}

// TestTablesThatDoNotFitAreNotLoaded changes the tables behind the program's back
// in every way that loading looks at: a state that differs is never made of them.
func TestTablesThatDoNotFitAreNotLoaded(t *testing.T) {
	l, _ := lived(t)
	w := &bodyWorld{l: l}
	want := w.opened(t, "before", verifiedOpening)
	if got := w.opened(t, "before", -1); got != want {
		t.Fatalf("the tables tell otherwise\n%s", differingLines(want, got))
	}
	observed, decided := eventOfKind(t, l, KindEvidenceObserved), eventOfKind(t, l, KindOperatorDecided)
	const first = "(SELECT min(seq) FROM %[1]s)"
	of := func(table, format string) string {
		return fmt.Sprintf("UPDATE %[1]s SET %[2]s WHERE seq = "+first, table, format)
	}
	move := func(table string) []string { // the first row behind all others
		return []string{fmt.Sprintf("INSERT INTO %[1]s SELECT * FROM %[1]s WHERE seq = "+first, table),
			fmt.Sprintf("DELETE FROM %[1]s WHERE rowid = (SELECT min(rowid) FROM %[1]s)", table)}
	}
	for _, x := range []struct {
		name, want string // "": the state is right
		sql        []string
	}{
		{"an event less", "the log has", []string{"DELETE FROM events WHERE seq = 2"}},
		{"the first event less", "the log has", []string{"DELETE FROM events WHERE seq = 1"}},
		{"an event twice", "the log has", []string{"INSERT INTO events SELECT * FROM events WHERE seq = 2"}},
		{"a record less", "records has", []string{"DELETE FROM records WHERE seq = 1"}},
		{"a record more", "records has", []string{"INSERT INTO records SELECT * FROM records WHERE seq = 1"}},
		{"a decision less", "decisions has", []string{"DELETE FROM decisions WHERE seq = (SELECT min(seq) FROM decisions)"}},
		{"a decision more", "decisions has", []string{"INSERT INTO decisions SELECT * FROM decisions LIMIT 1"}},
		{"a run of no address", "it is no run", []string{"UPDATE events SET subject = 'run:x' WHERE kind = 'run.recorded'"}},
		{"a run of no verb", "it is no run", []string{"UPDATE events SET body = '{}' WHERE kind = 'run.recorded'"}},
		{"a record of no id", "has no address", []string{of("records", "record_id = 'rec:x'")}},
		{"a record of an id of another form", "has no address", []string{of("records", "record_id = replace(record_id, 'rec:', 'RE2:')")}},
		{"a record of no content", "has no address", []string{of("records", "content = NULL")}},
		{"a record of a content of no hash", "has no address", []string{of("records", "content = replace(content, left(content, 1), 'z')")}},
		{"two records of one event", "two rows of records belong to event", []string{of("records", "seq = (SELECT max(seq) FROM records)")}},
		{"a record behind the log", "rows of records belong to no event", []string{of("records", "seq = 1000000")}},
		{"a record before the log", "rows of records belong to no event", []string{of("records", "seq = 0")}},
		{"records in another order", "", move("records")},
		{"decisions in another order", "", move("decisions")},
		{"two decisions of one event", "two rows of decisions belong to event", []string{of("decisions", "seq = (SELECT max(seq) FROM decisions)")}},
		{"a decision behind the log", "rows of decisions belong to no event", []string{of("decisions", "seq = 1000000")}},
		{"a decision of no event", "does not fit its event", []string{of("decisions", "event_id = 'x'")}},
		{"a decision of no time", "does not fit its event", []string{of("decisions", "recorded_at = 'infinity'")}},
		{"a decision of no score", "does not fit its event", []string{of("decisions", "score = NULL")}},
		{"a decision on another record", "does not fit its event", []string{of("decisions", "record_a = replace(record_a, left(right(record_a, 1), 1), 'f') || ''")}},
		{"a decision on a record of another form", "does not fit its event", []string{of("decisions", "record_b = replace(record_b, 'rec:', 'RE2:')")}},
		{"a decision that replaces no address", "does not fit its event", []string{of("decisions", "supersedes = 'x'")}},
		{"a sameness of no number", "does not fit its event", []string{of("decisions", "sameness = 'zzzzzzzzzzzzzzzz'")}},
		{"a sameness too short", "does not fit its event", []string{of("decisions", "sameness = 'ff'")}},
		{"another body", "does not fit its address", []string{fmt.Sprintf("UPDATE events SET body = body || ' ' WHERE seq = %d", observed.seq)}},
		{"no time", "it has no time", []string{fmt.Sprintf("UPDATE events SET recorded_at = NULL WHERE seq = %d", observed.seq)}},
		{"a body of no object", "no JSON object", []string{resealed(observed, observed.kind, observed.subject, "[]")}},
		{"a version of nothing", "never stored", []string{resealed(observed, observed.kind, observed.subject, "{}")}},
		{"a verdict on nothing", "never stored", []string{resealed(observed, KindOperatorDecided, "pair:x|y", "{}")}},
		{"a verdict on nothing behind all decisions", "never stored", []string{resealed(decided, decided.kind, "pair:x|y", decided.body)}},
	} {
		within(t, l, func() {
			got := w.opened(t, x.name, -1)
			if x.want == "" && got != want {
				t.Errorf("%s: another state\n%s", x.name, differingLines(want, got))
			}
			if strings.Contains(got, "event 0") {
				t.Errorf("%s: no event is named: %s", x.name, got)
			}
			if x.want != "" && !(strings.HasPrefix(got, "refused: ") && strings.Contains(got, x.want)) {
				t.Errorf("%s: %.200s, want %q", x.name, got, x.want)
			}
		}, x.sql...)
	}
	// What the tables do not hold of a run is compared when it is read: here for
	// the second decision of a newcomer, whose link is not behind the run's.
	w.read(t)
	at := slices.IndexFunc(w.events, func(e Event) bool { return e.kind == KindRunRecorded && strings.HasSuffix(e.body, `"verb":"resolve"}`) })
	run := &w.events[at]
	public, _, _ := strings.Cut(w.events[at+2].subject, "@")
	for name, x := range map[string]struct{ kind, subject, body string }{
		"a run of no object":    {run.kind, run.subject, `x"verb":"resolve"}`},
		"a run of another kind": {"run.forged", run.subject, run.body},
		"another run":           {run.kind, ContentAddress("run", []byte(`{"verb":"resolve"}`)), `{"verb":"resolve"}`},
	} {
		e := *run
		e.kind, e.subject, e.body = x.kind, x.subject, x.body
		e.id = eventID(e.version, e.kind, e.subject, "", e.body)
		w.opened(t, name, verifiedOpening)
		within(t, l, func() {
			l.cache.reset()
			if _, err := l.Replay(t.Context(), public); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), "not the run that stood there") {
				t.Errorf("%s: %v", name, err)
			}
		}, resealed(run, x.kind, x.subject, x.body), fmt.Sprintf("UPDATE events SET link = '%s' WHERE seq = %d", chainLink(w.events[at-1].link, &e), run.seq))
	}
	if got := w.opened(t, "after", -1); got != want {
		t.Errorf("after all was put back: another state\n%s", differingLines(want, got))
	}
}

// TestLoadedDecisionsAreCompared: the tables may say something else of a decision
// than its event does. Whoever is told of the decision hears of that instead.
func TestLoadedDecisionsAreCompared(t *testing.T) {
	l := openHere(t, Options{})
	mustCompare(t, l, twoRows("organisation", "Zentari Mills Ltd", "Zentari Mills Limited"))
	id := mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited")).Edges[0].DecisionID
	for _, change := range []string{
		"supersedes = (SELECT event_id FROM decisions ORDER BY seq LIMIT 1)",
		"verb = 'x'", "identity = 'review'", "action = 'hold'", "withheld = 'conflict'", "links = NOT links", "score = 0.5", "decision_id = decision_id || 'x'",
		"record_a = record_b", "record_b = record_a", "run_id = NULL", "recorded_at = recorded_at - INTERVAL 1 SECOND",
	} {
		within(t, l, func() {
			l.state, l.verified = nil, -1
			l.cache.reset()
			for name, ask := range map[string]func(context.Context, string) (*canon.Object, error){"decision": l.Decision, "explain": l.Explain, "replay": l.Replay} {
				o, err := ask(t.Context(), id)
				if strings.HasPrefix(change, "decision_id") && fault.Is(err, fault.NotFound) {
					continue // there is none of that id
				}
				if !errors.Is(err, ErrAltered) {
					t.Errorf("%s: %s: %v %v", change, name, err, o)
				}
			}
		}, "UPDATE decisions SET "+change+" WHERE seq = (SELECT max(seq) FROM decisions)")
	}
}

// TestLongVerbsAreLoaded: a newer program may have work of its own names.
func TestLongVerbsAreLoaded(t *testing.T) {
	l, _ := lived(t)
	w := &bodyWorld{l: l}
	w.read(t)
	for i := range w.events {
		if e := &w.events[i]; e.kind == KindRunRecorded {
			body, err := e.Body()
			if err != nil {
				t.Fatal(err)
			}
			body.Set("verb", "reconcile_all_of_them_again")
			w.put(t, w.with(i, mustText(t, body)), w.blobs)
			break
		}
	}
	folded, loaded := w.opened(t, "log", verifiedOpening), w.opened(t, "tables", -1)
	if folded != loaded || !strings.Contains(loaded, "reconcile_all_of_them_again") {
		t.Errorf("the tables tell otherwise\n%s", differingLines(folded, loaded))
	}
}

// TestGlimpsesAreRefusedWithTheRest: an answer from a few rows alone notices what
// the whole state would.
func TestGlimpsesAreRefusedWithTheRest(t *testing.T) {
	l := openHere(t, Options{})
	ctx := t.Context()
	d := mustAsk(t)(l.Decision(ctx, mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited")).Edges[0].DecisionID))
	id, a := d.Value("decision_id").(string), d.Value("record_a").(string)
	// One public id of very many pairs is answered from the whole state.
	many := ""
	for n := range mostGlimpsed + 2 {
		req := twoRows("organisation", "Central Cooperative Society", "Central Cooperative Society")
		for _, rec := range []*canon.Object{req.A[0], req.B[0]} { // ids of pairs name places in lists, not records
			rec.Delete("id")
			rec.Set("remark", fmt.Sprint(n, req.A[0] == rec))
		}
		many = mustCompare(t, l, req).Edges[0].DecisionID
	}
	both := func(id string) (whole, glimpsed string) {
		t.Helper()
		text := func() string {
			return mustText(t, mustAsk(t)(l.Decision(ctx, id))) + mustText(t, mustAsk(t)(l.Explain(ctx, id)))
		}
		l.glimpse, l.state = glimpseFrom, nil
		whole = text()
		l.Glimpse()
		return whole, text()
	}
	if whole, glimpsed := both(many); whole != glimpsed {
		t.Errorf("an id of many pairs (-whole +glimpse)\n%s", differingLines(whole, glimpsed))
	} else if l.state == nil {
		t.Error("an id of more pairs than a glimpse takes was glimpsed")
	}
	mustAsk(t)(l.Forget(ctx, ForgetRequest{Addresses: []string{a}, Reason: "asked to"}))
	whole, glimpsed := both(id)
	if whole != glimpsed || !strings.Contains(glimpsed, `"erased":true`) {
		t.Errorf("after an erasure (-whole +glimpse)\n%s\n%s", differingLines(whole, glimpsed), glimpsed)
	}
	if l.state != nil {
		t.Error("the whole state was taken for one decision")
	}
	// Stored again, the record has its values again.
	again := twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited")
	mustCompare(t, l, again)
	if whole, glimpsed = both(id); whole != glimpsed || strings.Contains(glimpsed, `"erased":true`) {
		t.Errorf("stored again (-whole +glimpse)\n%s\n%s", differingLines(whole, glimpsed), glimpsed)
	}
	for name, sql := range map[string]string{
		"a record of no content":       "UPDATE records SET content = 'x'",
		"a record that is not there":   "DELETE FROM records",
		"a decision of no event":       "UPDATE decisions SET event_id = 'x'",
		"a decision of no sameness":    "UPDATE decisions SET sameness = 'zzzzzzzzzzzzzzzz'",
		"a decision of another score":  "UPDATE decisions SET score = score + 1",
		"a decision of another verb":   "UPDATE decisions SET verb = 'x'",
		"a decision that is elsewhere": "UPDATE decisions SET seq = seq - 1",
	} {
		within(t, l, func() {
			l.Glimpse()
			if _, err := l.Explain(ctx, id); !errors.Is(err, ErrAltered) {
				t.Errorf("%s: %v", name, err)
			}
		}, sql)
	}
	head, _ := l.store.Head()
	l.Glimpse()
	if err := l.store.Remember(logMain, head.Seq+1, head.Link); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Explain(ctx, id); !errors.Is(err, ErrTruncated) {
		t.Errorf("behind the head: %v", err)
	}
	if err := l.store.Remember(logMain, head.Seq, head.Link); err != nil {
		t.Fatal(err)
	}
	l.Glimpse()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Explain(ctx, id); !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "closed") {
		t.Errorf("closed: %v", err)
	}
}
