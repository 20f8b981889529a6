package main

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
)

// canaries are values that stand in a record, in a document, and in texts that
// were scanned and redacted. The first is in a record and in a document.
var canaries = []string{"Quizzacious Vortumnus", "Xylophagous Brundle", "Umbrageous Plumquartz", "plumquartz@example.ng", "12345678901"}

// holdsCanary is the first canary in a text, "" when there is none.
func holdsCanary(text []byte) string {
	for _, c := range canaries {
		if bytes.Contains(text, []byte(c)) {
			return c
		}
	}
	return ""
}

// TestCanaries plants values in records, documents and scans through the built
// program, and looks for them in everything that is not an answer about them: log
// lines, errors, attestations, default exports, head, checkpoint, proof, audit.
// After forget they are nowhere in the ledger's files.
func TestCanaries(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) (out []byte) {
		t.Helper()
		cmd := program(t, canaryEnv(dir), args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.Contains(err.Error(), "exit status 3") {
			t.Fatalf("arche %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	cmd := program(t, nil, "attest", "keygen", filepath.Join(dir, "k.pem"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("keygen: %v\n%s", err, out)
	}
	quiet := map[string][]byte{} // everything that must hold no canary
	decision := plant(t, dir, quiet)

	for _, what := range export.Subjects {
		for _, format := range export.Formats {
			if format != "prov" || what == "decisions" {
				quiet["export "+what+" "+format] = run("export", what, "--format", format, "--out", "x-"+what+"-"+format)
			}
		}
	}
	quiet["checkpoint"] = run("ledger", "checkpoint", "--out", "checkpoint.txt")
	quiet["prove"] = run("prove", decision, "--out", "proof.json")
	quiet["replay"] = run("replay", "--all", "--out", "audit")
	quiet["verify"] = run("ledger", "verify")
	quiet["log"] = run("ledger", "log")
	quiet["doctor"] = run("doctor")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || d.IsDir() && name == ".archcore":
			return fs.SkipDir
		case d.IsDir() || strings.HasPrefix(name, "work.duckdb") && name != "work.duckdb.head":
			return nil
		}
		quiet[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"work.duckdb.head", "checkpoint.txt", "proof.json", "audit/report.html", "x-processing-csv/processing.csv",
		"x-documents-jsonl/documents.jsonl", "x-decisions-parquet/decisions.log.parquet", "errors", "attestations", "server log"} {
		if len(quiet[want]) == 0 {
			t.Errorf("%s is not there or empty", want)
		}
	}
	for name, text := range quiet {
		if c := holdsCanary(text); c != "" {
			t.Errorf("%s holds %q", name, c)
		}
	}
	if left := inLedger(t, filepath.Join(dir, "work.duckdb")); !strings.Contains(left, canaries[0]) || !strings.Contains(left, canaries[1]) {
		t.Fatalf("the canaries were never in the ledger: %s", left)
	}

	// The document's texts that hold the second one are old by now.
	run("forget", "--where", "name="+canaries[0], "--reason", "asked", "--yes")
	run("forget", "--where", "name="+canaries[1], "--reason", "asked", "--yes")
	if left := inLedger(t, filepath.Join(dir, "work.duckdb")); left != "" {
		t.Errorf("after forget: %s", left)
	}
	run("ledger", "verify")
}

func canaryEnv(dir string) []string {
	return []string{"ARCHE_LEDGER=duckdb:///" + filepath.Join(dir, "work.duckdb"), "ARCHE_SIGNING_KEY=" + filepath.Join(dir, "k.pem"),
		"ARCHE_HASH_KEY=demo-key", "ARCHE_JURISDICTION=NG", "ARCHE_ACTOR=cli:tester"}
}

// plant calls the tools with canaries in their arguments. It keeps the server's
// log, every error and every attestation, and returns a decision's id.
func plant(t *testing.T, dir string, quiet map[string][]byte) (decision string) {
	t.Helper()
	cmd := program(t, canaryEnv(dir), "mcp")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "walker", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(fails bool, tool string, args any) *canon.Object {
		t.Helper()
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if res.IsError != fails {
			t.Fatalf("%s: %s", tool, text)
		}
		if fails {
			quiet["errors"] = append(quiet["errors"], text+"\n"...)
			return nil
		}
		o, err := canon.ParseObject([]byte(text), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if a := o.Value("attestation"); a != nil {
			text, err := canon.Compact(a)
			if err != nil {
				t.Fatal(err)
			}
			quiet["attestations"] = append(quiet["attestations"], text...)
		}
		return o
	}
	type object = map[string]any
	row := object{"id": "s1", "name": canaries[0], "national_id": canaries[4]}
	res := call(false, "compare_records", object{"list_a": []any{row}, "list_b": []any{object{"id": "r1", "name": canaries[0], "national_id": canaries[4]}},
		"entity": "person"})
	decision = at(t, res, "matches.0.decision_id").(string)
	record := at(t, call(false, "decision", object{"decision_id": decision}), "record_a").(string)
	call(false, "observe", object{"record_id": record, "evidence": object{"note": canaries[0] + " again"}})
	call(false, "resolve", object{"record": object{"name": canaries[0], "email": canaries[3]}, "entity_type": "person"})
	call(false, "init_project", object{})
	doc := call(false, "create_document", object{"type": "adr", "filename": "tea", "title": "Tea", "content": "# Tea\n\nBought of " + canaries[0] + " and " + canaries[1] + ".\n"})
	call(false, "update_document", object{"path": at(t, doc, "path"), "content": "# Tea\n\nBought.\n"})
	note := "Reach " + canaries[2] + " at " + canaries[3] + ", NIN " + canaries[4] + "."
	call(false, "guarded_scan", object{"text": note})
	call(false, "detect_pii", object{"text": note})
	call(false, "guarded_scan", object{"text": note, "provider": "nobody", "crosses_border": true}) // denied
	call(true, "compare_records", object{"list_a": []any{row}, "list_b": []any{canaries[0]}, "entity": "person"})
	call(true, "compare_records", object{"list_a": []any{row}, "list_b": []any{row}, "entity": "person", "threshold": canaries[0]})
	call(true, "compare_records", object{"list_a": []any{row}, "list_b": []any{row}, "entity": "nosuch"})
	call(true, "resolve", object{"record": row, "entity_type": "nosuch"})
	call(true, "observe", object{"record_id": "rec:sha256:00", "evidence": object{"name": canaries[0]}})
	call(true, "guarded_scan", object{"text": note, "crosses_border": canaries[2]})
	call(true, "create_document", object{"type": "nosuch", "filename": "x", "content": canaries[1]})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	quiet["server log"] = append(stderr.Bytes(), '\n')
	return decision
}

// inLedger says where in a ledger's files canaries are: in their bytes, or in a
// row as it reads.
func inLedger(t *testing.T, path string) string {
	t.Helper()
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	places := map[string][]byte{}
	var tables []string
	if err := l.Query(t.Context(), `SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'`, nil, func(v []driver.Value) error {
		tables = append(tables, fmt.Sprint(v[0]))
		return nil
	}); err != nil || len(tables) < 6 {
		t.Fatalf("%v, %v", tables, err)
	}
	for _, table := range tables {
		err := l.Query(t.Context(), "SELECT * FROM "+table, nil, func(v []driver.Value) error {
			for _, x := range v {
				if b, ok := x.([]byte); ok {
					places[table] = append(places[table], b...)
				} else {
					places[table] = fmt.Append(places[table], x, "\n")
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if places[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for place, data := range places {
		for _, c := range canaries {
			if bytes.Contains(data, []byte(c)) {
				fmt.Fprintf(&out, "%q in %s\n", c, place)
			}
		}
	}
	return out.String()
}
