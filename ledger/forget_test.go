package ledger_test

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

const canary = "Quizzacious Vortumnus"

// holds lists where a text is found: in the raw bytes of the ledger's files, and
// in every column of every row.
func holds(t *testing.T, l *ledger.Ledger, text string) []string {
	t.Helper()
	var out []string
	var tables []string
	err := l.Query(t.Context(), `SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'`, nil, func(v []driver.Value) error {
		tables = append(tables, v[0].(string))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		err := l.Query(t.Context(), `SELECT * FROM "`+table+`"`, nil, func(v []driver.Value) error {
			for _, x := range v {
				if b, ok := x.([]byte); ok && bytes.Contains(b, []byte(text)) || strings.Contains(fmt.Sprint(x), text) {
					out = append(out, table)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(l.File() + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			out = append(out, filepath.Base(f))
		}
	}
	return out
}

func TestForget(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	rec := func(id, name, place string) *canon.Object { return canon.Obj("id", id, "name", name, "address", place) }
	if _, err := l.Compare(ctx, resolve.Request{
		A:      []*canon.Object{rec("p1", canary+" Ltd", "12 Moi Avenue, Nairobi"), rec("p2", "Sahel Grain Board", "Kano")},
		B:      []*canon.Object{rec("q1", canary+" Limited", "12 Moi Avenue, Nairobi"), rec("q2", "Sahel Grain Board", "Kano")},
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
	}); err != nil {
		t.Fatal(err)
	}
	made := pairs(t, l)
	d := made["p1 q1"]
	if d == nil {
		t.Fatalf("no decision on the canary: %v", made)
	}
	a := d.Value("record_a").(string)
	if _, err := l.Observe(ctx, a, canon.Obj("registration_id", "RC-1", "note", canary)); err != nil {
		t.Fatal(err)
	}
	if len(holds(t, l, canary)) == 0 {
		t.Fatal("the canary was never there")
	}

	// A dry run changes nothing and names records, versions and decisions.
	req := ledger.ForgetRequest{Field: "name", Value: "quizzacious  VORTUMNUS ltd", DryRun: true}
	dry, err := l.Forget(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(dry.Value("records").([]any)); n != 2 { // p1 and its observed version
		t.Errorf("dry run names %d records, want 2", n)
	}
	if len(dry.Value("decisions_not_replayable").([]any)) < 2 {
		t.Errorf("dry run: %v", dry.Value("decisions_not_replayable"))
	}
	_, before, _, err := l.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}

	// For real: both records of the pair, in one go.
	b := d.Value("record_b").(string)
	got, err := l.Forget(ctx, ledger.ForgetRequest{Addresses: []string{a, b}, Reason: "request 17"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Value("records").([]any)); n != 3 {
		t.Errorf("%d records erased, want 3", n)
	}
	if found := holds(t, l, canary); len(found) > 0 {
		t.Errorf("the canary is still in %v", found)
	}
	if found := holds(t, l, "Moi Avenue"); len(found) > 0 {
		t.Errorf("the address is still in %v", found)
	}
	_, after, _, err := l.Head(ctx)
	if err != nil || after != before+3 {
		t.Errorf("%d events appended, want 3 (%v)", after-before, err)
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Errorf("verify: %v", err)
	}

	// Answers go on without the values; replay says exactly what is lost.
	if v, err := l.Decision(ctx, d.Value("decision_id").(string)); err != nil || v.Value("identity") != "match" {
		t.Errorf("decision: %v, %v", v, err)
	}
	if _, err := l.Replay(ctx, d.Value("decision_id").(string)); !fault.Is(err, fault.Refused) {
		t.Errorf("replay of an erased pair: %v", err)
	}
	lost := map[string]bool{}
	for _, id := range got.Value("decisions_not_replayable").([]any) {
		lost[id.(string)] = true
	}
	n, err := l.Audit(ctx, ledger.AuditOptions{}, func(f *ledger.Audited) error {
		want := ledger.AuditReproduced
		if lost[f.DecisionID] {
			want = ledger.AuditUnreplayable
		}
		if f.Result != want {
			t.Errorf("%s: %s (%s), want %s", f.DecisionID, f.Result, f.Reason, want)
		}
		return nil
	})
	if err != nil || n < 4 {
		t.Errorf("audit: %d, %v", n, err)
	}
	// Given again, a record is stored again.
	if _, err := l.Resolve(ctx, canon.Obj("name", canary+" Ltd"), "organisation"); err != nil {
		t.Errorf("resolve after forgetting: %v", err)
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Errorf("verify at the end: %v", err)
	}
}

func TestForgetByEntityAndAge(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	d := pairs(t, l)["s1 r1"]
	dry, err := l.Forget(ctx, ledger.ForgetRequest{Entity: d.Value("entity_id").(string), DryRun: true})
	if err != nil || len(dry.Value("records").([]any)) != 3 {
		t.Errorf("entity: %v, %v", dry, err)
	}
	for at, want := range map[string]int{"2026-12-01T00:00:00Z": 0, "2027-01-01T00:00:00Z": 5} {
		limit, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		dry, err := l.Forget(ctx, ledger.ForgetRequest{OlderThan: limit, DryRun: true})
		if err != nil || len(dry.Value("records").([]any)) != want {
			t.Errorf("older than %s: %v, %v, want %d", at, dry, err, want)
		}
	}
	for _, c := range []struct {
		req  ledger.ForgetRequest
		want string
	}{
		{ledger.ForgetRequest{}, "nothing is named"},
		{ledger.ForgetRequest{Entity: "ent_nope", Reason: "x"}, "no entity"},
		{ledger.ForgetRequest{Addresses: []string{"rec:sha256:nope"}, Reason: "x"}, "no record"},
		{ledger.ForgetRequest{Addresses: []string{"doc:blake3:nope"}, Reason: "x"}, "no content"},
		{ledger.ForgetRequest{Addresses: []string{d.Value("record_a").(string)}}, "a reason is needed"},
	} {
		if _, err := l.Forget(ctx, c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.req, err, c.want)
		}
	}
}

// TestForgetDocuments: old stored texts that hold the value go; a current one is
// named, because its file still says it.
func TestForgetDocuments(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	put := func(path, text string) string {
		t.Helper()
		address := ledger.ContentAddress("doc", []byte(text))
		_, err := l.Append(ctx, []ledger.Draft{{Kind: "document.written", Subject: "doc:" + path,
			Body:  canon.Obj("address", address, "size", len(text), "type", "note", "status", nil, "tags", []any{}, "batch", nil, "parse_error", nil, "moved_from", nil),
			Blobs: []ledger.Blob{{Address: address, Bytes: []byte(text)}}}})
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
	old := put("a.md", "about "+canary)
	put("a.md", "about nobody")
	current := put("b.md", "still "+canary)
	req := ledger.ForgetRequest{Field: "name", Value: canary, Reason: "asked"}
	got, err := l.Forget(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	docs, _ := got.Value("documents").([]any)
	left, _ := got.Value("documents_left").([]string)
	if len(docs) != 1 || docs[0] != old || len(left) != 1 || left[0] != "b.md" {
		t.Errorf("documents %v, left %v", docs, left)
	}
	if _, err := l.Blob(ctx, old); !fault.Is(err, fault.NotFound) {
		t.Errorf("the old text is there: %v", err)
	}
	put("b.md", "nothing")
	if _, err := l.Forget(ctx, ledger.ForgetRequest{Addresses: []string{current}, Reason: "asked"}); err != nil {
		t.Fatal(err)
	}
	if found := holds(t, l, canary); len(found) > 0 {
		t.Errorf("the canary is still in %v", found)
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Errorf("verify: %v", err)
	}
}
