package ledger_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// errDisk is how the database tells that it could not read.
var errDisk = errors.New("IO Error: Could not read from file: Input/output error")

// furnished is a ledger with something of everything, and the names of it.
type furnished struct {
	*ledger.Ledger
	fault                     *arctest.Fault // nil: nothing fails
	match, open, event, other string         // decisions, an event, a content
	handed                    string         // a decision about a record that was handed in under its address
	a, b, c, loose            string         // records: a and b are linked, c is open with loose
	entity                    string
	note                      string
	key                       *attest.Key
}

func furnish(t *testing.T, uri string) *furnished {
	t.Helper()
	ctx := t.Context()
	f := &furnished{}
	f.Ledger = open(t, uri, ledger.Options{Clock: arctest.NewClock().Now, Fault: func(op string) error {
		if f.fault == nil {
			return nil
		}
		return f.fault.Ask(op)
	}})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	f.key, err = attest.NewKey([]byte(strings.Repeat("k", 32)))
	must(err)
	record := func(id string, of *canon.Object, err error) (string, string) {
		must(err)
		a, _ := of.Value("record_a").(string)
		b, _ := of.Value("record_b").(string)
		return a, b
	}
	f.match = compare(t, f.Ledger, pair(1)).Edges[0].DecisionID
	f.open = compare(t, f.Ledger, reviewed(1)).Edges[0].DecisionID
	d, err := f.Decision(ctx, f.match)
	f.a, f.b = record(f.match, d, err)
	d, err = f.Decision(ctx, f.open)
	f.c, f.loose = record(f.open, d, err)
	_, err = f.Resolve(ctx, canon.Obj("name", "Kijani1 Tea Exporters", "remark", "n"), "organisation")
	must(err)
	_, err = f.Observe(ctx, f.a, canon.Obj("registration_id", "RC-1"))
	must(err)
	many := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	for n := 20; n < 23; n++ {
		many.A, many.B = append(many.A, pair(n).A[0]), append(many.B, pair(n).B[0])
	}
	compare(t, f.Ledger, many)
	again := pair(1)
	again.A[0].Set("id", f.a)
	again.A[0].Set("city", "Nairobi")
	again.B[0] = pair(30).B[0]
	again.B[0].Set("name", again.A[0].Value("name"))
	f.handed = compare(t, f.Ledger, again).Edges[0].DecisionID
	_, err = f.Decide(ctx, f.c, f.loose, ledger.VerdictReview, "ask them")
	must(err)
	f.other = ledger.ContentAddress("doc", []byte("x"))
	events, err := f.Append(ctx, []ledger.Draft{{
		Kind: "document.written", Subject: "doc:a.md", Body: canon.Obj("address", f.other),
		Blobs: []ledger.Blob{{Address: f.other, Bytes: []byte("x")}},
	}})
	must(err)
	f.event = events[0].ID()
	f.note, err = f.Checkpoint(ctx, f.key)
	must(err)
	ents, err := f.Entities(ctx, "")
	must(err)
	list, _ := ents.Value("entities").([]any)
	first, _ := list[0].(*canon.Object)
	f.entity, _ = first.Value("entity_id").(string)
	return f
}

// verb is one call on a furnished ledger.
type verb struct {
	name string
	call func(ctx context.Context, f *furnished) error
}

func drop[T any](_ T, err error) error { return err }

var verbs = []verb{
	{"compare", func(ctx context.Context, f *furnished) error { return drop(f.Compare(ctx, pair(3))) }},
	{"compare again", func(ctx context.Context, f *furnished) error { return drop(f.Compare(ctx, pair(1))) }},
	{"compare with what is open", func(ctx context.Context, f *furnished) error { return drop(f.Compare(ctx, reviewed(2))) }},
	{"compare by comparators", func(ctx context.Context, f *furnished) error {
		req := pair(4)
		req.Entity, req.Comparators = "", []*canon.Object{canon.Obj("kind", "name", "field", "name")}
		return drop(f.Compare(ctx, req))
	}},
	{"compare a pair", func(ctx context.Context, f *furnished) error {
		_, _, err := f.ComparePair(ctx, resolve.PairRequest{A: pair(5).A[0], B: pair(5).B[0], Entity: "organisation"})
		return err
	}},
	{"observe", func(ctx context.Context, f *furnished) error {
		return drop(f.Observe(ctx, f.c, canon.Obj("registration_id", "N-7")))
	}},
	{"observe again", func(ctx context.Context, f *furnished) error {
		return drop(f.Observe(ctx, f.b, canon.Obj("address", "12 Moi Avenue")))
	}},
	{"resolve a newcomer", func(ctx context.Context, f *furnished) error {
		return drop(f.Resolve(ctx, canon.Obj("name", "Zentari Mills"), "organisation"))
	}},
	{"resolve one that is known", func(ctx context.Context, f *furnished) error {
		return drop(f.Resolve(ctx, canon.Obj("name", "Kijani1 Tea Exporters", "remark", "m"), "organisation"))
	}},
	{"decision", func(ctx context.Context, f *furnished) error { return drop(f.Decision(ctx, f.match)) }},
	{"explain", func(ctx context.Context, f *furnished) error { return drop(f.Explain(ctx, f.match)) }},
	{"explain what is open", func(ctx context.Context, f *furnished) error { return drop(f.Explain(ctx, f.open)) }},
	{"replay", func(ctx context.Context, f *furnished) error { return drop(f.Replay(ctx, f.match)) }},
	{"replay what was handed in again", func(ctx context.Context, f *furnished) error { return drop(f.Replay(ctx, f.handed)) }},
	{"entities", func(ctx context.Context, f *furnished) error { return drop(f.Entities(ctx, "")) }},
	{"cases", func(ctx context.Context, f *furnished) error { return drop(f.Cases(ctx, "")) }},
	{"path", func(ctx context.Context, f *furnished) error { return drop(f.Path(ctx, f.a, f.b)) }},
	{"entity history", func(ctx context.Context, f *furnished) error { return drop(f.EntityHistory(ctx, f.entity)) }},
	{"decide", func(ctx context.Context, f *furnished) error {
		return drop(f.Decide(ctx, f.a, f.b, ledger.VerdictDifferent, "two branches"))
	}},
	{"undo", func(ctx context.Context, f *furnished) error { return drop(f.Undo(ctx, f.open, "asked again")) }},
	{"review", func(ctx context.Context, f *furnished) error {
		return drop(f.Review(ctx, []ledger.ReviewRow{{Line: 2, DecisionID: f.open, RecordA: f.c, RecordB: f.loose, Verdict: ledger.VerdictSame, Reason: "one number"}}))
	}},
	{"forget", func(ctx context.Context, f *furnished) error {
		return drop(f.Forget(ctx, ledger.ForgetRequest{Addresses: []string{f.a, f.other}, Reason: "asked to"}))
	}},
	{"forget by a field", func(ctx context.Context, f *furnished) error {
		return drop(f.Forget(ctx, ledger.ForgetRequest{Field: "name", Value: "Central Cooperative Society", Reason: "asked to"}))
	}},
	{"forget an entity", func(ctx context.Context, f *furnished) error {
		return drop(f.Forget(ctx, ledger.ForgetRequest{Entity: f.entity, Reason: "asked to"}))
	}},
	{"append", func(ctx context.Context, f *furnished) error {
		return drop(f.Append(ctx, []ledger.Draft{{Kind: "project.initialised", Subject: "project", Body: canon.Obj("size", 2)}}))
	}},
	{"events", func(ctx context.Context, f *furnished) error {
		for _, err := range f.Events(ctx, ledger.Filter{Subject: "doc:a.md"}) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"content", func(ctx context.Context, f *furnished) error { return drop(f.Blob(ctx, f.other)) }},
	{"query", func(ctx context.Context, f *furnished) error {
		return f.Query(ctx, `SELECT count(*) FROM events`, nil, func([]driver.Value) error { return nil })
	}},
	{"head", func(ctx context.Context, f *furnished) error {
		_, _, _, err := f.Head(ctx)
		return err
	}},
	{"last time", func(ctx context.Context, f *furnished) error { return drop(f.LastTime(ctx)) }},
	{"seq before a day", func(ctx context.Context, f *furnished) error { return drop(f.SeqBefore(ctx, "2030-01-01", true)) }},
	{"seq before an event", func(ctx context.Context, f *furnished) error { return drop(f.SeqBefore(ctx, f.event, false)) }},
	{"suggest", func(ctx context.Context, f *furnished) error { return drop(f.Suggest(ctx, "decision", "dec:")) }},
	{"dump", func(ctx context.Context, f *furnished) error { return drop(f.Dump(ctx)) }},
	{"rebuild", func(ctx context.Context, f *furnished) error { return f.Rebuild(ctx) }},
	{"verify", func(ctx context.Context, f *furnished) error { return f.Verify(ctx, nil) }},
	{"checkpoint", func(ctx context.Context, f *furnished) error { return drop(f.Checkpoint(ctx, f.key)) }},
	{"verify against", func(ctx context.Context, f *furnished) error {
		return drop(f.VerifyAgainst(ctx, f.note, f.key.Public()))
	}},
	{"prove an event", func(ctx context.Context, f *furnished) error { return drop(f.Prove(ctx, f.event, f.key)) }},
	{"prove a decision", func(ctx context.Context, f *furnished) error { return drop(f.Prove(ctx, f.match, f.key)) }},
	{"audit", func(ctx context.Context, f *furnished) error {
		return drop(f.Audit(ctx, ledger.AuditOptions{}, func(*ledger.Audited) error { return nil }))
	}},
	{"audit of today", func(ctx context.Context, f *furnished) error {
		return drop(f.Audit(ctx, ledger.AuditOptions{Today: true}, func(*ledger.Audited) error { return nil }))
	}},
	{"count decisions", func(ctx context.Context, f *furnished) error {
		return drop(f.CountDecisions(ctx, ledger.AuditOptions{}))
	}},
}

// ofStore takes every operation of the database.
func ofStore(op string) bool { return !arctest.OfFiles(op) }

// TestNoVerbSwallowsAnError fails every statement that a verb makes, in turn: the
// verb fails, nothing of it is there, and called again it works. A ledger that
// has its state and one that must read it are tried.
func TestNoVerbSwallowsAnError(t *testing.T) {
	total := 0
	for _, v := range verbs {
		for _, cold := range []bool{false, true} {
			f := furnish(t, "duckdb:///:memory:")
			for n := 1; ; n++ {
				if cold {
					f.LoadProjections()
					f.Glimpse() // the state is forgotten
				}
				next := &arctest.Fault{N: n, Err: errDisk, Match: ofStore}
				f.fault = next
				err := v.call(t.Context(), f)
				f.fault = nil
				if next.Hit == "" {
					if err != nil {
						t.Errorf("%s (cold %v): %v", v.name, cold, err)
					}
					break
				}
				total++
				if err == nil {
					t.Errorf("%s (cold %v): operation %d (%s) failed and the answer is as if it had not", v.name, cold, n, next.Hit)
					break
				}
			}
			if err := f.Verify(t.Context(), nil); err != nil {
				t.Errorf("%s (cold %v): %v", v.name, cold, err)
			}
			_ = f.Close()
		}
	}
	if total < 400 {
		t.Errorf("only %d statements were failed", total)
	}
	t.Logf("%d statements were failed", total)
}

// TestCancelledVerbsStop: every verb ends when its context does.
func TestCancelledVerbsStop(t *testing.T) {
	f := furnish(t, filepath.Join(t.TempDir(), "l.duckdb"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, before, _, err := f.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs {
		if err := v.call(ctx, f); !errors.Is(err, context.Canceled) && v.name != "suggest" {
			t.Errorf("%s: %v", v.name, err)
		}
	}
	if _, after, _, err := f.Head(t.Context()); err != nil || after != before {
		t.Errorf("%d events before, %d after, %v", before, after, err)
	}
}

// TestVerbsEndAtAnyMoment ends the context of every verb at each question it
// asks: the verb fails or is done, and the ledger is whole.
func TestVerbsEndAtAnyMoment(t *testing.T) {
	total := 0
	for _, v := range verbs {
		f := furnish(t, "duckdb:///:memory:")
		for n := 1; n < 200; n++ {
			ctx := arctest.NewCountdown(t.Context(), n)
			err := v.call(ctx, f)
			if !ctx.Ended() {
				if err != nil {
					t.Errorf("%s: %v", v.name, err)
				}
				break
			}
			if total++; err == nil { // it was done when its last question came
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s, question %d: %v", v.name, n, err)
			}
		}
		if err := f.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		_ = f.Close()
	}
	if total < 100 {
		t.Errorf("only %d contexts ended", total)
	}
	t.Logf("%d contexts ended", total)
}
