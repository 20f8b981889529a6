package export_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/resolve"
)

// verbs calls the ledger's verbs by tool name.
func verbs(ctx context.Context, l *ledger.Ledger) arctest.Call {
	return func(tool string, args *canon.Object) (any, error) {
		text := func(key string) string { s, _ := args.Value(key).(string); return s }
		object := func(key string) *canon.Object { o, _ := args.Value(key).(*canon.Object); return o }
		list := func(key string) (out []*canon.Object) {
			items, _ := args.Value(key).([]any)
			for _, x := range items {
				o, _ := x.(*canon.Object)
				out = append(out, o)
			}
			return out
		}
		switch tool {
		case "compare_records":
			res, err := l.Compare(ctx, resolve.Request{A: list("list_a"), B: list("list_b"), Entity: text("entity"), Comparators: list("comparators"),
				Backend: text("backend"), IDField: text("id_field"), Threshold: resolve.DefaultThreshold})
			if err != nil {
				return nil, err
			}
			return res.Answer(), nil
		case "resolve":
			return l.Resolve(ctx, object("record"), text("entity_type"))
		case "observe":
			return l.Observe(ctx, text("record_id"), object("evidence"))
		case "decision":
			return l.Decision(ctx, text("decision_id"))
		case "entities":
			return l.Entities(ctx, text("entity_type"))
		case "cases":
			return l.Cases(ctx, text("entity_type"))
		}
		return nil, fault.New(fault.Invalid, "not played here")
	}
}

// valuesOf gathers the texts of a record. A value is no canary when it is shorter
// than six characters, when it has neither a blank nor a digit (one plain word may
// be a word of ours), or when it stands in what is exported of another ledger.
func valuesOf(v any, ours string, into map[string]bool) {
	switch x := v.(type) {
	case string:
		odd := strings.IndexFunc(x, func(r rune) bool { return unicode.IsDigit(r) || unicode.IsSpace(r) }) >= 0
		if len([]rune(x)) >= 6 && odd && !strings.Contains(ours, x) {
			into[x] = true
		}
	case *canon.Object:
		for _, item := range x.All() {
			valuesOf(item, ours, into)
		}
	case []any:
		for _, item := range x {
			valuesOf(item, ours, into)
		}
	}
}

// exported is every default export of a ledger: each subject in each format, as
// it lies on the disk and, of Parquet, as its rows read.
func exported(t *testing.T, l *ledger.Ledger) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, what := range export.Subjects {
		for _, format := range export.Formats {
			if format == "prov" && what != "decisions" {
				continue
			}
			dir, _ := write(t, l, what, format)
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				data, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(e.Name(), ".parquet") {
					data = append(data, parquetText(t, filepath.Join(dir, e.Name()))...)
				}
				out[what+" as "+format+": "+e.Name()] = string(data)
			}
		}
	}
	return out
}

// TestGoldenValuesStayIn plays every recorded scenario of the ledger in one file
// and looks for the values of all its records: they are in no default export, no
// head, no checkpoint and no proof; and after erasing nowhere in the ledger's
// files, raw or read row by row.
func TestGoldenValuesStayIn(t *testing.T) {
	var ours strings.Builder
	for _, text := range exported(t, work(t)) {
		ours.WriteString(text)
	}
	at := time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.duckdb"), ledger.Options{
		Actor: "cli:tester", Clock: func() time.Time { at = at.Add(time.Second); return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	values := map[string]bool{}
	cut := 0
	for _, v := range arctest.Vectors(t, "ledger.jsonl") {
		for _, s := range v.Steps {
			for _, key := range []string{"list_a", "list_b", "record", "evidence"} {
				valuesOf(s.Args.Value(key), ours.String(), values)
			}
		}
		if _, err := v.Play(verbs(t.Context(), l)); err != nil {
			cut++ // a step refers to an answer that is another one in a ledger that holds more
		}
	}
	canaries := slices.Sorted(func(yield func(string) bool) {
		for v := range values {
			if !yield(v) {
				return
			}
		}
	})
	before := found(t, l, canaries)
	if len(canaries) < 60 || len(before) < len(canaries)*9/10 || cut > 10 {
		t.Fatalf("%d canaries, %d of them ever in the ledger; %d scenarios cut short", len(canaries), len(before), cut)
	}
	t.Logf("%d canaries, %d of them in the ledger; %d scenarios cut short", len(canaries), len(before), cut)

	places := exported(t, l)
	note, err := l.Checkpoint(t.Context(), key(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	places["checkpoint"] = note
	head, err := os.ReadFile(l.File() + ".head")
	if err != nil {
		t.Fatal(err)
	}
	places["head"] = string(head)
	for place, text := range places {
		for _, c := range canaries {
			if strings.Contains(text, c) {
				t.Errorf("%s holds %q", place, c)
			}
		}
	}

	if _, err := l.Forget(t.Context(), ledger.ForgetRequest{OlderThan: at.Add(time.Hour), Reason: "asked"}); err != nil {
		t.Fatal(err)
	}
	for c, where := range found(t, l, canaries) {
		t.Errorf("after erasing, %q is in %s", c, where)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Errorf("verify: %v", err)
	}
}

// found says which values are where in a ledger's files: their bytes, and every
// column of every row as it reads.
func found(t *testing.T, l *ledger.Ledger, values []string) map[string]string {
	t.Helper()
	var rows strings.Builder
	var tables []string
	err := l.Query(t.Context(), `SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY table_name`, nil, func(v []driver.Value) error {
		tables = append(tables, v[0].(string))
		return nil
	})
	for _, table := range tables {
		if err == nil {
			err = l.Query(t.Context(), `SELECT * FROM "`+table+`"`, nil, func(v []driver.Value) error {
				for _, x := range v {
					if b, ok := x.([]byte); ok {
						rows.Write(b)
					} else {
						fmt.Fprint(&rows, x)
					}
					rows.WriteByte(0)
				}
				return nil
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(l.File() + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	out := map[string]string{}
	raw := map[string][]byte{"its rows": []byte(rows.String())}
	for _, f := range files {
		if raw[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for where, data := range raw {
		for _, v := range values {
			text, err := canon.Compact(v) // as it stands in a stored record
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, text[1:len(text)-1]) || bytes.Contains(data, []byte(v)) {
				out[v] = where
			}
		}
	}
	return out
}

// parquetText is a Parquet file's rows as text.
func parquetText(t *testing.T, file string) string {
	t.Helper()
	db, err := duck.OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text string
	if err := db.QueryRow(`SELECT coalesce(string_agg(to_json(t)::VARCHAR, chr(10)), '') FROM read_parquet(?) t`, file).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}
