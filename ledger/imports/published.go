package imports

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// publishedTables are the tables of the published arche, and the columns that
// are read of each.
var publishedTables = map[string][]string{
	"arche_records":     {"record_id", "entity_type", "source", "attributes", "recorded_at"},
	"arche_runs":        {"run_id", "verb", "call", "side_a", "side_b", "pins", "recorded_at"},
	"arche_decisions":   {"decision_id", "verb", "record_a", "record_b", "identity", "action", "score", "factors", "explanation", "evidence", "pins", "call", "recorded_at"},
	"arche_memberships": {"record_id", "entity_id"},
	"arche_events":      {"kind", "refs"},
}

// ReadPublished reads the tables of the published arche that were exported to a
// folder, one file a table: arche_records.parquet (or .csv, .jsonl) and so on.
func ReadPublished(ctx context.Context, dir string) (*ledger.Published, error) {
	p := &ledger.Published{Members: map[string]string{}, Withheld: map[string]string{}, Observed: map[string][]string{}}
	for _, read := range []struct {
		table string
		take  func(*publishedRow) error
	}{
		{"arche_records", func(r *publishedRow) error {
			p.Records = append(p.Records, ledger.PublishedRecord{ID: r.text("record_id"), EntityType: r.text("entity_type"),
				Source: r.text("source"), Attributes: r.object("attributes", r.text("text") != ""), At: r.time("recorded_at")})
			return r.err
		}},
		{"arche_runs", func(r *publishedRow) error {
			p.Runs = append(p.Runs, ledger.PublishedRun{ID: r.text("run_id"), Verb: r.text("verb"), Call: r.object("call", false),
				Pins: r.object("pins", false), A: r.texts("side_a"), B: r.texts("side_b"), At: r.time("recorded_at")})
			return r.err
		}},
		{"arche_decisions", func(r *publishedRow) error {
			p.Decisions = append(p.Decisions, ledger.PublishedDecision{ID: r.text("decision_id"), Verb: r.text("verb"), A: r.text("record_a"),
				B: r.text("record_b"), Identity: r.text("identity"), Action: r.text("action"), Explanation: r.text("explanation"),
				Score: r.number("score"), Factors: r.object("factors", false), Evidence: r.object("evidence", false), Pins: r.object("pins", false),
				Call: r.object("call", false), Run: r.text("run_id"), Supersedes: r.text("supersedes"), SupersededBy: r.text("superseded_by"),
				At: r.time("recorded_at")})
			return r.err
		}},
		{"arche_memberships", func(r *publishedRow) error {
			p.Members[r.text("record_id")] = r.text("entity_id")
			return r.err
		}},
		{"arche_events", func(r *publishedRow) error {
			refs := r.object("refs", false)
			record, _ := refs.Value("record_id").(string)
			switch r.text("kind") {
			case "link_withheld":
				p.Withheld[record], _ = refs.Value("verdict").(string)
			case "observation_recorded":
				fields, _ := refs.Value("fields").([]any)
				for _, f := range fields {
					if name, ok := f.(string); ok {
						p.Observed[record] = append(p.Observed[record], name)
					}
				}
			}
			return r.err
		}},
	} {
		if err := eachRow(ctx, dir, read.table, read.take); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// eachRow reads one table, in whatever format it lies there.
func eachRow(ctx context.Context, dir, table string, take func(*publishedRow) error) error {
	name := ""
	for _, ext := range []string{".parquet", ".csv", ".jsonl", ".json"} {
		if _, err := os.Stat(filepath.Join(dir, table+ext)); err == nil {
			name = filepath.Join(dir, table+ext)
			break
		}
	}
	if name == "" {
		return fault.New(fault.NotFound, "%s has no %s.parquet, .csv or .jsonl", dir, table).
			WithHint("export each table of the published ledger: COPY %s TO '%s.parquet' (FORMAT parquet)", table, table)
	}
	t, err := ReadTable(ctx, name, "", nil)
	if err != nil {
		return err
	}
	for _, c := range publishedTables[table] {
		if len(t.Rows) > 0 && !slices.Contains(t.Columns, c) {
			return fault.New(fault.Invalid, "%s has no column %q, so it is not a table of the published ledger", name, c)
		}
	}
	for i, row := range t.Rows {
		if err := take(&publishedRow{row: row, where: fmt.Sprintf("%s, row %d", name, i+1)}); err != nil {
			return err
		}
	}
	return nil
}

// publishedRow reads the values of a row and keeps the first thing that is wrong.
type publishedRow struct {
	row   *canon.Object
	where string
	err   error
}

func (r *publishedRow) wrong(column, what string) {
	if r.err == nil {
		r.err = fault.New(fault.Invalid, "%s, column %s: %s", r.where, column, what)
	}
}

func (r *publishedRow) text(column string) string {
	s, _ := r.row.Value(column).(string)
	return s
}

// json reads a column that holds JSON as text, or the value itself.
func (r *publishedRow) json(column string) any {
	v := r.row.Value(column)
	s, ok := v.(string)
	if !ok {
		return v
	}
	if s == "" {
		return nil
	}
	parsed, err := canon.Parse([]byte(s), canon.Limits{NonFinite: true})
	if err != nil {
		r.wrong(column, "no JSON")
	}
	return parsed
}

func (r *publishedRow) object(column string, absent bool) *canon.Object {
	o, ok := r.json(column).(*canon.Object)
	if !ok && !absent {
		r.wrong(column, "no JSON object")
		return canon.NewObject()
	}
	if absent {
		return nil
	}
	return o
}

func (r *publishedRow) texts(column string) []string {
	list, ok := r.json(column).([]any)
	if !ok {
		r.wrong(column, "no JSON array")
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			r.wrong(column, "not an array of texts")
		}
		out = append(out, s)
	}
	return out
}

func (r *publishedRow) number(column string) float64 {
	switch x := r.row.Value(column).(type) {
	case canon.Number:
		return x.Float()
	case string:
		n := canon.Number(x)
		if v, err := canon.Parse([]byte(x), canon.Limits{}); err == nil && v == any(n) {
			return n.Float()
		}
	}
	r.wrong(column, "no number")
	return 0
}

func (r *publishedRow) time(column string) time.Time {
	text := strings.Replace(r.text(column), " ", "T", 1)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		r.wrong(column, "no time")
	}
	return at
}
