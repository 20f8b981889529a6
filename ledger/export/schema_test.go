package export_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

var updateSchemas = flag.Bool("update-schemas", false, "write docs/schemas anew")

// columnSchemas is the JSON Schema of each column type; every column but the
// identifying ones may be null.
var columnSchemas = map[export.Type]*canon.Object{
	export.Text:    canon.Obj("type", []string{"string", "null"}),
	export.Float:   canon.Obj("type", []string{"number", "null"}),
	export.Integer: canon.Obj("type", []string{"integer", "null"}),
	export.Boolean: canon.Obj("type", []string{"boolean", "null"}),
	export.Time:    canon.Obj("type", []string{"string", "null"}, "pattern", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`),
	export.JSON:    canon.Obj("type", []string{"object", "array", "string", "number", "boolean", "null"}),
}

const dialect = "https://json-schema.org/draft/2020-12/schema"

func rowSchema(title string, columns []export.Column) *canon.Object {
	properties := canon.NewObject()
	required := []string{}
	for _, c := range columns {
		properties.Set(c.Name, columnSchemas[c.Type])
		required = append(required, c.Name)
	}
	return canon.Obj("$schema", dialect, "title", title, "type", "object", "properties", properties, "required", required)
}

func manifestSchema() *canon.Object {
	text := canon.Obj("type", "string")
	maybe := canon.Obj("type", []string{"string", "null"})
	hash := canon.Obj("type", "string", "pattern", "^[0-9a-f]{64}$")
	count := canon.Obj("type", "integer", "minimum", 0)
	object := func(pairs ...any) *canon.Object {
		p := canon.Obj(pairs...)
		return canon.Obj("type", "object", "properties", p, "required", p.Keys(), "additionalProperties", false)
	}
	m := object(
		"schema", canon.Obj("const", export.Schema), "what", canon.Obj("enum", export.Subjects), "format", canon.Obj("enum", export.Formats),
		"created_at", text, "program", text, "head", object("log", text, "seq", count, "link", hash), "checkpoint", maybe,
		"filter", object("since", maybe, "until", maybe, "entity", maybe, "reveal", canon.Obj("type", "boolean")), "count", count,
		"columns", canon.Obj("type", "array", "items", object("name", text, "type", text)),
		"files", canon.Obj("type", "array", "items", object("name", text, "bytes", count, "sha256", hash)), "signer", maybe,
	)
	m.Value("properties").(*canon.Object).Set("contents_from_event", canon.Obj("type", "integer", "minimum", 1)) // where it matters
	out := canon.Obj("$schema", dialect, "title", "manifest.json of an arche export")
	for k, v := range m.All() {
		out.Set(k, v)
	}
	return out
}

// TestPublishedSchemas: docs/schemas says what is written, and what is written
// fits it.
func TestPublishedSchemas(t *testing.T) {
	schemas := map[string]*canon.Object{"export-manifest.v1.json": manifestSchema()}
	for _, what := range export.Subjects {
		schemas["export-"+what+".v1.json"] = rowSchema("one row of arche export "+what, export.Columns(what))
	}
	schemas["export-decisions-log.v1.json"] = rowSchema("one event of the log beside arche export decisions", export.LogColumns(false))
	schemas["export-decisions-lists.v1.json"] = rowSchema("one entry of a run's list beside arche export decisions", export.ListColumns())
	compiled := map[string]*jsonschema.Resolved{}
	for name, schema := range schemas {
		text, err := canon.Indent(schema)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "..", "docs", "schemas", name)
		if *updateSchemas {
			if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(kept), string(text)+"\n"); diff != "" {
			t.Errorf("%s (-kept +now; write it with -update-schemas)\n%s", name, diff)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(kept, &s); err != nil {
			t.Fatal(err)
		}
		if compiled[name], err = s.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	fits := func(schema, text string) {
		t.Helper()
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := compiled[schema].Validate(v); err != nil {
			t.Errorf("%s: %v\n%s", schema, err, text)
		}
	}
	l := work(t)
	for _, what := range export.Subjects {
		dir, _ := write(t, l, what, "jsonl")
		manifest, err := os.ReadFile(filepath.Join(dir, export.ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		fits("export-manifest.v1.json", string(manifest))
		for file, schema := range map[string]string{what: what, what + ".log": what + "-log", what + ".lists": what + "-lists"} {
			rows, err := os.ReadFile(filepath.Join(dir, file+".jsonl"))
			if err != nil && (what == "decisions" || file == what) {
				t.Fatal(err)
			}
			for _, line := range strings.Split(strings.TrimSpace(string(rows)), "\n") {
				if line != "" {
					fits("export-"+schema+".v1.json", line)
				}
			}
		}
	}
}
