package export_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/google/go-cmp/cmp"
)

var columns = []export.Column{{"id", export.Text}, {"score", export.Float}, {"n", export.Integer}, {"ok", export.Boolean},
	{"recorded_at", export.Time}, {"evidence", export.JSON}}

func rows(yield func(*canon.Object, error) bool) {
	_ = yield(canon.Obj("id", "0012, \"x\"", "score", canon.Float(1), "n", 5, "ok", true, "recorded_at", "2026-03-04T05:06:07+00:00",
		"evidence", canon.Obj("name", canon.Float(0.5), "b", "text")), nil) &&
		yield(canon.Obj("id", "é"), nil)
}

func TestWriteTable(t *testing.T) {
	dir := t.TempDir()
	for format, want := range map[string]string{
		"csv": "id,score,n,ok,recorded_at,evidence\n\"0012, \"\"x\"\"\",1.0,5,true,2026-03-04T05:06:07+00:00,\"{\"\"name\"\":0.5,\"\"b\"\":\"\"text\"\"}\"\né,,,,,\n",
		"jsonl": `{"id":"0012, \"x\"","score":1.0,"n":5,"ok":true,"recorded_at":"2026-03-04T05:06:07+00:00","evidence":{"name":0.5,"b":"text"}}` + "\n" +
			`{"id":"é","score":null,"n":null,"ok":null,"recorded_at":null,"evidence":null}` + "\n",
	} {
		path := filepath.Join(dir, "t."+format)
		n, err := export.WriteTable(t.Context(), path, format, columns, rows)
		if err != nil || n != 2 {
			t.Fatalf("%s: %d, %v", format, n, err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", format, diff)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", format, info.Mode(), err)
		}
	}
}

func TestParquetReadsBack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.parquet")
	if n, err := export.WriteTable(t.Context(), path, "parquet", columns, rows); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	db, err := duck.OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var id, evidence, kinds, at string
	var score float64
	err = db.QueryRowContext(t.Context(), `SELECT id, score, json_extract_string(evidence, '$.name'), recorded_at::TIMESTAMP::VARCHAR,
		(SELECT string_agg(column_type, ' ') FROM (DESCRIBE SELECT * FROM read_parquet($1)))
		FROM read_parquet($1) WHERE n = 5 AND ok`, path).Scan(&id, &score, &evidence, &at, &kinds)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{id, score, evidence, at, kinds}
	want := []any{`0012, "x"`, 1.0, "0.5", "2026-03-04 05:06:07", "VARCHAR DOUBLE BIGINT BOOLEAN TIMESTAMP WITH TIME ZONE JSON"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFailedWriteLeavesNothing: an error in the middle keeps the old file.
func TestFailedWriteLeavesNothing(t *testing.T) {
	broken := func(yield func(*canon.Object, error) bool) {
		_ = yield(canon.Obj("id", "x"), nil) && yield(nil, os.ErrDeadlineExceeded)
	}
	for _, format := range export.TableFormats {
		dir := t.TempDir()
		path := filepath.Join(dir, "t")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := export.WriteTable(t.Context(), path, format, columns, broken); err == nil {
			t.Errorf("%s: no error", format)
		}
		got, err := os.ReadFile(path)
		left, _ := os.ReadDir(dir)
		if err != nil || string(got) != "old" || len(left) != 1 {
			t.Errorf("%s: %q %v %v", format, got, left, err)
		}
	}
	if _, err := export.WriteTable(t.Context(), filepath.Join(t.TempDir(), "no", "t.csv"), "csv", columns, rows); err == nil {
		t.Error("a missing folder is made")
	}
	if _, err := export.FormatOf("t.xls"); err == nil {
		t.Error("a format is guessed")
	}
}
