package export_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/resolve"
	"github.com/google/go-cmp/cmp"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

const canary = "Quizzacious"

// work is a ledger with a match, a case that an observation decided again, and a
// person's decision.
func work(t testing.TB) *ledger.Ledger {
	t.Helper()
	at := time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.duckdb"), ledger.Options{
		Actor: "cli:tester", Clock: func() time.Time { at = at.Add(time.Hour); return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	rec := func(id, name string) *canon.Object { return canon.Obj("id", id, "name", name, "city", canary) }
	res, err := l.Compare(t.Context(), resolve.Request{
		A:      []*canon.Object{rec("s1", "Kijani Tea Exporters Ltd"), rec("s2", "Central Cooperative Society")},
		B:      []*canon.Object{rec("r1", "Kijani Tea Exporters Limited"), rec("r2", "Central Cooperative Society")},
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range res.Edges {
		d, err := l.Decision(t.Context(), e.DecisionID)
		if err != nil {
			t.Fatal(err)
		}
		if d.Value("identity") != "review" {
			continue
		}
		if _, err := l.Observe(t.Context(), d.Value("record_a").(string), canon.Obj("registration_id", "CS-1")); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func request(what, format, dir string, t testing.TB) export.Request {
	return export.Request{What: what, Format: format, Dir: dir, Program: "arche@test", At: "2026-12-02T00:00:00+00:00", Key: key(t, 1)}
}

func write(t testing.TB, l *ledger.Ledger, what, format string) (string, *export.Manifest) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x")
	m, err := export.Write(t.Context(), l, request(what, format, dir, t))
	if err != nil {
		t.Fatalf("%s as %s: %v", what, format, err)
	}
	return dir, m
}

// TestEveryExportVerifies writes every subject in every format: it verifies, a
// second one has the same bytes, and neither holds a record value.
func TestEveryExportVerifies(t *testing.T) {
	l := work(t)
	for _, what := range export.Subjects {
		for _, format := range export.Formats {
			if format == "prov" && what != "decisions" {
				continue
			}
			dir, m := write(t, l, what, format)
			r, err := export.Verify(t.Context(), dir, key(t, 1).Public())
			if err != nil || !r.OK() || !r.Trusted {
				t.Errorf("%s as %s: %+v, %v", what, format, r, err)
			}
			again := dir
			if what == "decisions" || format == "parquet" { // a second one takes time
				again, _ = write(t, l, what, format)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				a, errA := os.ReadFile(filepath.Join(dir, e.Name()))
				b, errB := os.ReadFile(filepath.Join(again, e.Name()))
				if errA != nil || errB != nil || string(a) != string(b) {
					t.Errorf("%s as %s: %s differs between two exports (%v, %v)", what, format, e.Name(), errA, errB)
				}
				if strings.Contains(string(a), canary) {
					t.Errorf("%s as %s: %s holds a record value", what, format, e.Name())
				}
				if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: mode %v", e.Name(), info.Mode())
				}
			}
			want := map[string]int64{"decisions": 3, "cases": 1, "entities": 1, "documents": 0, "processing": 0}
			if n, ok := want[what]; ok && m.Count != n {
				t.Errorf("%s as %s: %d rows, want %d", what, format, m.Count, n)
			}
		}
	}
}

func TestDecisionsExport(t *testing.T) {
	l := work(t)
	dir, m := write(t, l, "decisions", "jsonl")
	data, err := os.ReadFile(filepath.Join(dir, "decisions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var superseded, live int
	for _, text := range lines {
		row, err := canon.ParseObject([]byte(text), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range export.Columns("decisions") {
			names = append(names, c.Name)
		}
		if diff := cmp.Diff(names, row.Keys()); diff != "" {
			t.Fatalf("columns (-want +got)\n%s", diff)
		}
		id, _ := row.Value("decision_id").(string)
		d, err := l.Decision(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"identity", "action", "explanation", "record_a", "record_b", "supersedes", "superseded_by"} {
			if row.Value(key) != d.Value(key) {
				t.Errorf("%s: %s is %v in the export, %v in the answer", id, key, row.Value(key), d.Value(key))
			}
		}
		if row.Value("superseded_by") != nil {
			superseded++
		}
		if row.Value("live") == true {
			live++
		}
		if pins, ok := row.Value("pins").(*canon.Object); !ok || !pins.Has("engine") {
			t.Errorf("%s: pins %v", id, row.Value("pins"))
		}
	}
	if len(lines) != 3 || superseded != 1 || live != 2 || m.Count != 3 {
		t.Errorf("%d lines, %d superseded, %d live, manifest %d", len(lines), superseded, live, m.Count)
	}
}

func TestFiltersAndReveal(t *testing.T) {
	l := work(t)
	person := "person"
	req := request("decisions", "csv", filepath.Join(t.TempDir(), "x"), t)
	req.Filter.Entity = &person
	if m, err := export.Write(t.Context(), l, req); err != nil || m.Count != 0 {
		t.Errorf("persons: %v, %v", m, err)
	}
	req = request("decisions", "parquet", filepath.Join(t.TempDir(), "x"), t)
	req.Filter.Reveal = true
	m, err := export.Write(t.Context(), l, req)
	if err != nil {
		t.Fatal(err)
	}
	db, err := duck.OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var city string
	err = db.QueryRow(`SELECT DISTINCT json_extract_string(values_a, '$.city') FROM read_parquet(?)`, filepath.Join(req.Dir, "decisions.parquet")).Scan(&city)
	if err != nil || city != canary || !m.Filter.Reveal {
		t.Errorf("revealed %q, %v", city, err)
	}
	after := request("events", "jsonl", filepath.Join(t.TempDir(), "x"), t)
	after.After, after.Until = 2, 5
	if m, err := export.Write(t.Context(), l, after); err != nil || m.Count != 3 {
		t.Errorf("events 3 to 5: %v, %v", m, err)
	}
}

func TestExportRefusals(t *testing.T) {
	l := work(t)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	person := "person"
	for want, change := range map[string]func(*export.Request){
		"nothing is exported":     func(r *export.Request) { r.What = "secrets" },
		"no export format":        func(r *export.Request) { r.Format = "xls" },
		"is not empty":            func(r *export.Request) { r.Dir = full },
		"needs a signing key":     func(r *export.Request) { r.Format, r.Key = "dsse", nil },
		"PROV tells of decisions": func(r *export.Request) { r.What, r.Format = "events", "prov" },
		"no record values":        func(r *export.Request) { r.What, r.Filter.Reveal = "entities", true },
		"no entity type":          func(r *export.Request) { r.What, r.Filter.Entity = "events", &person },
	} {
		req := request("decisions", "csv", filepath.Join(t.TempDir(), "x"), t)
		change(&req)
		if _, err := export.Write(t.Context(), l, req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestStatementByAnotherVerifier checks the DSSE envelope with another library.
func TestStatementByAnotherVerifier(t *testing.T) {
	dir, _ := write(t, work(t), "decisions", "dsse")
	data, err := os.ReadFile(filepath.Join(dir, "decisions.dsse.json"))
	if err != nil {
		t.Fatal(err)
	}
	var env dsse.Envelope
	if err := json.Unmarshal(data, &env); err != nil {
		t.Fatal(err)
	}
	v, err := dsse.NewEnvelopeVerifier(verifier{t})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), &env); err != nil {
		t.Fatal(err)
	}
	payload, err := env.DecodeB64Payload()
	if err != nil || !strings.Contains(string(payload), `"_type":"https://in-toto.io/Statement/v1"`) {
		t.Errorf("%s, %v", payload, err)
	}
}
