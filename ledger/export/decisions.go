package export

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// The parts of a decision's body that its row shows, read in one pass: each
// reading of its own would parse the body again.
var decisionParts = []string{"decision_id", "verb", "identity", "action", "score", "explanation", "factors", "evidence", "pins",
	"pins.engine", "link", "withheld", "run"}

// part is the place of a part in the list x, as JSON.
func part(name string) string { return fmt.Sprintf("t.x[%d]", slices.Index(decisionParts, name)+1) }

// text is a part as text.
func text(name string) string { return "(" + part(name) + " ->> '$')" }

// Both records stand at the end of a decision's subject, 75 characters each.
const (
	sideA = "substr(t.subject, length(t.subject) - 150, 75)"
	sideB = "right(t.subject, 75)"
)

// decisionQuery gives the rows of v_decision out of the events alone. The view
// joins every decision with four tables; here only those that replace another or
// were replaced meet one, and the wide bodies stream past.
func decisionQuery(src source, req Request) string {
	list := []string{
		text("decision_id") + " AS decision_id", sideA + " AS record_a", sideB + " AS record_b", "t.entity_type", text("verb") + " AS verb",
		text("identity") + " AS identity", text("action") + " AS action", text("score") + "::DOUBLE AS score", text("explanation") + " AS explanation",
		part("factors") + " AS factors", part("evidence") + " AS evidence", part("pins") + " AS pins", text("pins.engine") + " AS engine",
		text("link") + "::BOOLEAN AS links", text("withheld") + " AS withheld", "t.newer IS NULL AS live",
		"CASE WHEN t.older <> " + text("decision_id") + " THEN t.older END AS supersedes",
		"CASE WHEN t.newer <> " + text("decision_id") + " THEN t.newer END AS superseded_by",
		"t.verdict AS operator_verdict", text("run") + " AS run_id", "t.actor", "t.recorded_at", "t.id AS event_id", "t.seq",
	}
	return src.narrowed(req, list, decisionsFrom(req))
}

// decisionsFrom are the decisions with what other events say of them.
func decisionsFrom(req Request) string {
	paths := make([]string, len(decisionParts))
	for i, p := range decisionParts {
		paths[i] = "'$." + p + "'"
	}
	from := `(SELECT t.*, r.entity_type, s.decision_id AS newer, p.decision_id AS older, p.event_id AS older_event, o.verdict
		FROM (SELECT seq, id, actor, recorded_at, supersedes, subject, json_extract(body, [` + strings.Join(paths, ", ") + `]) AS x
			FROM events WHERE kind = 'decision.recorded' AND v = 1) t
		LEFT JOIN ` + onceStored + ` r ON r.record_id = ` + sideA + `
		LEFT JOIN (SELECT supersedes, decision_id FROM decisions WHERE supersedes IS NOT NULL) s ON s.supersedes = t.id
		LEFT JOIN (SELECT event_id, decision_id FROM decisions
			WHERE event_id IN (SELECT supersedes FROM decisions WHERE supersedes IS NOT NULL)) p ON p.event_id = t.supersedes
		LEFT JOIN v_operator o ON o.record_a = least(` + sideA + `, ` + sideB + `) AND o.record_b = greatest(` + sideA + `, ` + sideB + `))`
	if req.Filter.Reveal {
		from = strings.Replace(from, "(SELECT t.*,", "(SELECT t.*, "+sideA+" AS record_a, "+sideB+" AS record_b,", 1)
	}
	return from
}

// onceStored is one row a record: a record that was stored again names the event
// it replaces.
const onceStored = `(SELECT record_id, entity_type FROM records
		WHERE seq NOT IN (SELECT seq FROM events WHERE kind = 'record.stored' AND supersedes IS NOT NULL))`

// LogName is the file beside exported decisions that holds the log they were cut
// from.
func LogName(format string) string { return "decisions.log." + format }

// LogColumns are the columns of that file, contents with --reveal only. It has a
// row for each event. What a decision's row says already is not said again: of a
// decision the log has seq, kind, v, supersedes and, as body, its place in the run.
func LogColumns(reveal bool) []Column {
	c := []Column{{"seq", Integer}, {"kind", Text}, {"v", Integer}, {"subject", Text}, {"supersedes", Text}, {"actor", Text}, {"recorded_at", Time},
		{"body", JSON}}
	if reveal {
		c = append(c, Column{"contents", JSON})
	}
	return c
}

// ListsName is the file beside it with the lists that runs keep beside
// themselves.
func ListsName(format string) string { return "decisions.lists." + format }

// ListColumns are its columns: a row for each entry of a list, in order.
func ListColumns() []Column {
	return []Column{{"seq", Integer}, {"list", Text}, {"entry", JSON}}
}

// carriesLog reports whether the export is of all decisions, in a form that they
// can be imported from. A narrowed one gives away no more than was asked for.
func (req Request) carriesLog() bool {
	f := req.Filter
	return req.What == "decisions" && !req.RowsOnly && slices.Contains([]string{"jsonl", "parquet", "dsse"}, req.Format) &&
		f.Since == nil && f.Until == nil && f.Entity == nil && req.After == 0
}

// logQuery gives every event. It holds no value.
func logQuery(req Request) string {
	list := `t.seq, t.kind, t.v, CASE WHEN NOT t.row THEN t.subject END AS subject, t.supersedes, CASE WHEN NOT t.row THEN t.actor END AS actor,
		CASE WHEN NOT t.row THEN t.recorded_at END AS recorded_at, CASE WHEN t.row THEN json_extract(t.body, '$.pos') ELSE t.body::JSON END AS body`
	from := `(SELECT *, kind = 'decision.recorded' AND v = 1 AS row FROM events) t`
	if req.Filter.Reveal {
		list += ", to_json(c.kept) AS contents"
		from += ` LEFT JOIN (SELECT seq, list({'address': address, 'bytes': base64(bytes)} ORDER BY address) AS kept
			FROM blobs WHERE left(address, 4) IN ('rec:', 'row:', 'txt:') GROUP BY seq) c ON c.seq = t.seq`
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE t.seq <= %d ORDER BY t.seq", list, from, req.Until)
}

// listRows gives the lists entry by entry: one of a large batch is a value of many
// megabytes, which the database would copy often. An entry is a record id, or a
// record id with the address of the row that was handed in under it.
func listRows(ctx context.Context, l *ledger.Ledger, until int64) Rows {
	return func(yield func(*canon.Object, error) bool) {
		type key struct {
			seq     int64
			address string
		}
		var keys []key
		err := l.Query(ctx, `SELECT seq, address FROM blobs WHERE left(address, 4) = 'lst:' AND seq <= ? ORDER BY seq, address`, []any{until},
			func(v []driver.Value) error {
				seq, _ := v[0].(int64)
				address, _ := v[1].(string)
				keys = append(keys, key{seq, address})
				return nil
			})
		for _, k := range keys {
			var list []any
			if err == nil {
				err = l.Query(ctx, `SELECT bytes FROM blobs WHERE seq = ? AND address = ?`, []any{k.seq, k.address}, func(v []driver.Value) error {
					data, _ := v[0].([]byte)
					parsed, err := canon.Parse(data, canon.Limits{})
					list, _ = parsed.([]any)
					return err
				})
			}
			if err != nil {
				break
			}
			for _, entry := range list {
				if !yield(canon.Obj("seq", k.seq, "list", k.address, "entry", entry), nil) {
					return
				}
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}
