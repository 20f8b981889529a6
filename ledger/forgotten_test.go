package ledger

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

// TestForgottenPieces: texts that evidence quotes out of records go with them, but
// not while other records are quoted with the same.
func TestForgottenPieces(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	for n := range 2 {
		mustCompare(t, l, twoPlaces(n))
	}
	pieces := func() (n int) {
		if err := l.Query(ctx, `SELECT DISTINCT address FROM blobs WHERE starts_with(address, 'txt:')`, nil, func([]driver.Value) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := pieces()
	if before == 0 {
		t.Fatal("no evidence quotes a record")
	}
	var all [][2]string
	for e, err := range l.Events(ctx, Filter{Kinds: []string{KindDecisionRecorded}}) {
		if err != nil {
			t.Fatal(err)
		}
		_, a, b, _ := splitSubject(e.subject)
		all = append(all, [2]string{a, b})
	}
	got := mustAsk(t)(l.Forget(ctx, ForgetRequest{Addresses: []string{all[0][1]}, Reason: "asked to"}))
	if list := got.Value("pieces").([]any); len(list) != 0 || pieces() != before {
		t.Errorf("pieces of others went: %v", list)
	}
	// The record on side a alone is enough for the rest.
	got = mustAsk(t)(l.Forget(ctx, ForgetRequest{Addresses: []string{all[0][0], all[1][0]}, Reason: "asked to"}))
	if list := got.Value("pieces").([]any); len(list) != before || pieces() != 0 {
		t.Errorf("pieces stayed: %v, %d", list, pieces())
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestForgottenAgain: a record that came back is forgotten again, and the second
// erasure replaces the first.
func TestForgottenAgain(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	req := twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited")
	a := mustAsk(t)(l.Decision(ctx, mustCompare(t, l, req).Edges[0].DecisionID)).Value("record_a").(string)
	var erasures []string
	for range 2 {
		mustAsk(t)(l.Forget(ctx, ForgetRequest{Addresses: []string{a}, Reason: "asked to"}))
		var last Event
		for e, err := range l.Events(ctx, Filter{Kinds: []string{KindValuesErased}}) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
		}
		erasures = append(erasures, last.ID())
		if n := len(erasures); n == 2 && (last.Supersedes() != erasures[0] || erasures[1] == erasures[0]) {
			t.Errorf("the second erasure supersedes %q", last.Supersedes())
		}
		if _, err := l.Blob(ctx, a); !fault.Is(err, fault.NotFound) {
			t.Errorf("the values are there: %v", err)
		}
		again := mustAsk(t)(l.Forget(ctx, ForgetRequest{Addresses: []string{a}, Reason: "asked to", DryRun: true}))
		if list := again.Value("records").([]any); len(list) != 0 {
			t.Errorf("what is gone would go again: %v", list)
		}
		mustCompare(t, l, req)
		if _, err := l.Blob(ctx, a); err != nil {
			t.Errorf("the values did not come back: %v", err)
		}
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestForgetsOneTypeAlone: a type bounds what a field or an age names, and an age
// counts all versions.
func TestForgetsOneTypeAlone(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	d := mustAsk(t)(l.Decision(ctx, mustCompare(t, l, twoRows("organisation", "Kumasi Central Hospital", "Kumasi Central Hospital")).Edges[0].DecisionID))
	mustCompare(t, l, twoRows("place", "Kumasi Central Hospital", "Kumasi Central Hospital"))
	would := func(req ForgetRequest) (out []string) {
		req.DryRun = true
		for _, x := range mustAsk(t)(l.Forget(ctx, req)).Value("records").([]any) {
			out = append(out, x.(*canon.Object).Value("entity_type").(string))
		}
		slices.Sort(out)
		return out
	}
	named := ForgetRequest{Field: "name", Value: " kumasi  CENTRAL hospital"}
	if got := would(named); len(got) != 4 {
		t.Errorf("of any type: %v", got)
	}
	named.Type = "place"
	if got := would(named); !slices.Equal(got, []string{"place", "place"}) {
		t.Errorf("places: %v", got)
	}
	named.Field = "full_name"
	if got := would(named); len(got) != 0 {
		t.Errorf("a field that nothing has: %v", got)
	}
	aged := ForgetRequest{OlderThan: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), Type: "organisation"}
	if got := would(aged); !slices.Equal(got, []string{"organisation", "organisation"}) {
		t.Errorf("old organisations: %v", got)
	}
	at := d.Value("recorded_at").(string)
	limit, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	aged = ForgetRequest{OlderThan: limit.Add(500 * time.Millisecond)}
	if got := would(aged); len(got) != 2 {
		t.Errorf("older than the second batch: %v", got)
	}
	mustAsk(t)(l.Observe(ctx, d.Value("record_a").(string), canon.Obj("city", "Kumasi")))
	if got := would(aged); len(got) != 1 {
		t.Errorf("one has a younger version: %v", got)
	}
}

// TestWhatCannotBeReadIsNotForgotten: a damaged content or decision is named, and
// nothing is erased.
func TestWhatCannotBeReadIsNotForgotten(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	mustCompare(t, l, twoPlaces(0))
	req := ForgetRequest{Field: "name", Value: "London Bridge Health Post", Reason: "asked to"}
	for name, sql := range map[string]string{
		"a content gone":            "DELETE FROM blobs WHERE starts_with(address, 'rec:')",
		"a content of another kind": "UPDATE blobs SET bytes = '[]'::BLOB WHERE starts_with(address, 'rec:')",
		"a decision of no object":   "UPDATE events SET body = 'x' || body WHERE kind = 'decision.recorded'",
		"another decision":          "UPDATE events SET body = replace(body, 'txt:blake3:', 'txt:blake3:0') WHERE kind = 'decision.recorded'",
		"a decision of no time":     "UPDATE events SET recorded_at = NULL WHERE kind = 'decision.recorded'",
		"a decision gone":           "DELETE FROM events WHERE kind = 'decision.recorded'",
	} {
		within(t, l, func() {
			l.cache.reset()
			if _, err := l.Forget(ctx, req); !errors.Is(err, ErrAltered) {
				t.Errorf("%s: %v", name, err)
			}
			for i := range l.state.recs {
				if l.state.recs[i].erased {
					t.Errorf("%s: a record is erased", name)
				}
			}
		}, sql)
	}
	if _, err := l.Forget(ctx, req); err != nil {
		t.Errorf("put back: %v", err)
	}
}

// TestErasedRowsOfABatch: where the lists themselves weigh values, a decision of
// a batch that lost other rows is not made again to something else: it is said
// that it cannot be.
func TestErasedRowsOfABatch(t *testing.T) {
	l, ctx := openHere(t, Options{PackVersion: resolve.PackVersion010}), t.Context()
	req := resolve.Request{Entity: "person", Threshold: resolve.DefaultThreshold, PackVersion: resolve.PackVersion010}
	for n := range 12 {
		name := []string{"Adaeze Okonkwo", "Adaeze Obi", "Chinedu Okonkwo", "Kwame Mensah"}[n%4]
		req.A = append(req.A, canon.Obj("id", fmt.Sprint("a", n), "name", name, "phone", fmt.Sprint("+23480123456", 10+n)))
		req.B = append(req.B, canon.Obj("id", fmt.Sprint("b", n), "name", name, "phone", fmt.Sprint("+23480123456", 10+n)))
	}
	res := mustCompare(t, l, req)
	first := mustAsk(t)(l.Decision(ctx, res.Edges[0].DecisionID))
	var gone []string
	for i := range l.state.recs {
		if id := l.state.recordID(int32(i)); id != first.Value("record_a") && id != first.Value("record_b") {
			gone = append(gone, id)
		}
	}
	if r := mustAsk(t)(l.Replay(ctx, res.Edges[0].DecisionID)); r.Value("reproduced") != true {
		t.Fatalf("%s", mustText(t, r))
	}
	mustAsk(t)(l.Forget(ctx, ForgetRequest{Addresses: gone, Reason: "asked to"}))
	_, err := l.Replay(ctx, res.Edges[0].DecisionID)
	if !errors.Is(err, ErrErased) || !strings.Contains(err.Error(), fmt.Sprintf("the values of %d records of the batch", len(gone))) {
		t.Errorf("%d of %d records are gone: %v", len(gone), len(l.state.recs), err)
	}
	found := map[string]int{}
	if _, err := l.Audit(ctx, AuditOptions{}, func(a *Audited) error { found[a.Result]++; return nil }); err != nil || found[AuditDiffers] > 0 || found[AuditUnreplayable] == 0 {
		t.Errorf("audit: %v %v", found, err)
	}
}
