package export

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arche-ledger/arche/ledger"
)

// rowsShown bounds the tables of a report.
const rowsShown = 500

func writeBytes(path string, data []byte) error {
	return replaceFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// writeReport is an export for people: one HTML file.
func writeReport(ctx context.Context, l *ledger.Ledger, req Request, m *Manifest) ([]string, error) {
	b := &reporter{ctx: ctx, l: l, req: req, m: m, page: &Page{
		Title:  "arche: " + req.What,
		Footer: []string{m.Program, fmt.Sprintf("event %d of log %s, head %s", m.Head.Seq, m.Head.Log, m.Head.Link), "written " + m.CreatedAt},
	}}
	parts := map[string]func() error{
		"decisions": b.decisions, "cases": b.cases, "entities": b.entities, "processing": b.processing, "documents": b.documents, "events": b.events,
	}
	if err := b.lent(parts[req.What]); err != nil {
		return nil, err
	}
	name := req.What + ".html"
	return []string{name}, replaceFile(filepath.Join(req.Dir, name), func(w io.Writer) error { return WriteHTML(w, b.page) })
}

// lent runs fn with a connection of its own to the ledger's file, which may spill
// what it sorts and joins; the ledger's own would run out of memory.
func (b *reporter) lent(fn func() error) (err error) {
	dir, err := filepath.Abs(b.req.Dir)
	if err != nil {
		return fileFault(b.req.Dir, err)
	}
	spill, err := os.MkdirTemp(filepath.Dir(dir), ".arche-export-*") // mode 0700
	if err != nil {
		return fileFault(dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(spill)) }()
	return b.l.Lend(b.ctx, func(path string) error {
		return withFile(b.ctx, path, spill, func(conn *sql.Conn) error {
			b.conn = conn
			return fn()
		})
	})
}

// query calls row for each row; the values are valid during the call only.
func (b *reporter) query(text string, row func(v []any) error) error {
	rows, err := b.conn.QueryContext(b.ctx, text, b.args()...)
	if err != nil {
		return b.wrong(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return b.wrong(err)
	}
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return b.wrong(err)
		}
		if err := row(values); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return b.wrong(err)
	}
	return nil
}

func (b *reporter) wrong(err error) error {
	if b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	return fmt.Errorf("report on %s: %w", b.req.What, err)
}

type reporter struct {
	ctx  context.Context
	conn *sql.Conn
	l    *ledger.Ledger
	req  Request
	m    *Manifest
	page *Page
}

// args are the parameters that every query of a report takes: the events, and
// the entity type or "".
func (b *reporter) args() []any {
	entity := ""
	if b.req.Filter.Entity != nil {
		entity = *b.req.Filter.Entity
	}
	return []any{b.req.After, b.req.Until, entity, entity}
}

// grid runs a query and keeps its first rows as text.
func (b *reporter) grid(text string, head ...string) (*Grid, error) {
	g := &Grid{Head: head}
	err := b.query(fmt.Sprintf("%s LIMIT %d", text, rowsShown), func(v []any) error {
		row := make([]string, len(v))
		for i, x := range v {
			row[i] = cellText(x)
		}
		g.Rows = append(g.Rows, row)
		return nil
	})
	if err != nil || len(g.Rows) < rowsShown {
		return g, err
	}
	// How many more there are is counted without their order, which would have to
	// hold all of them.
	all := text[:strings.LastIndex(text, "ORDER BY")]
	err = b.query("SELECT count(*) FROM ("+all+")", func(v []any) error {
		n, _ := v[0].(int64)
		g.More = int(n) - len(g.Rows)
		return nil
	})
	return g, err
}

func cellText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(x, 'f', 4, 64)
	case time.Time:
		return x.UTC().Format("2006-01-02 15:04:05Z")
	}
	return fmt.Sprint(v)
}

// stacked makes a chart of rows (label, series, count).
func (b *reporter) stacked(unit, text string, tones map[string]string) (*Chart, map[string]int64, error) {
	c := &Chart{Unit: unit}
	place := map[string]int{}
	counts := map[string]map[string]int64{}
	totals := map[string]int64{}
	var names []string
	err := b.query(text, func(v []any) error {
		label, name := cellText(v[0]), cellText(v[1])
		n, _ := v[2].(int64)
		if _, ok := place[label]; !ok {
			place[label] = len(c.Labels)
			c.Labels = append(c.Labels, label)
		}
		if counts[name] == nil {
			counts[name] = map[string]int64{}
			names = append(names, name)
		}
		counts[name][label] += n
		totals[name] += n
		return nil
	})
	slices.Sort(names)
	for _, name := range names {
		s := Series{Name: name, Tone: tones[name], Values: make([]int64, len(c.Labels))}
		for i, label := range c.Labels {
			s.Values[i] = counts[name][label]
		}
		c.Series = append(c.Series, s)
	}
	return c, totals, err
}

var verdictTones = map[string]string{"match": "good", "same_entity": "good", "review": "open", "different": "bad"}

const inScope = " WHERE seq > ? AND seq <= ? AND (? = '' OR entity_type = ?) "

func (b *reporter) decisions() error {
	chart, totals, err := b.stacked("decisions a month", `SELECT strftime(recorded_at, '%Y-%m') AS month, identity, count(*) FROM v_decision`+inScope+
		`GROUP BY month, identity ORDER BY month, identity`, verdictTones)
	if err != nil {
		return err
	}
	b.verdictFacts(totals)
	age, err := b.ages()
	if err != nil {
		return err
	}
	engines, err := b.grid(`SELECT engine, json_extract_string(pins, '$.tf') AS tf, count(*) FROM v_decision`+inScope+`GROUP BY ALL ORDER BY ALL`, "engine", "frequency table", "decisions")
	if err != nil {
		return err
	}
	recent, err := b.grid(`SELECT decision_id, identity, score, explanation, operator_verdict, superseded_by, actor, recorded_at FROM v_decision`+inScope+
		`ORDER BY seq DESC`, "decision", "verdict", "score", "why", "decided by a person", "superseded by", "actor", "recorded")
	if err != nil {
		return err
	}
	b.page.Sections = []Part{
		{Title: "Verdicts over time", Chart: chart},
		{Title: "Open cases by age", Chart: age},
		{Title: "Under what they were made", Table: engines},
		{Title: "Decisions, newest first", Table: recent},
	}
	return nil
}

func (b *reporter) verdictFacts(totals map[string]int64) {
	for _, name := range []string{"match", "same_entity", "review", "different"} {
		if n, ok := totals[name]; ok {
			b.page.Facts = append(b.page.Facts, Fact{Name: name, Value: fmt.Sprint(n), Tone: verdictTones[name]})
		}
		b.m.Count += totals[name]
	}
	b.page.Lead = fmt.Sprintf("%d decisions about pairs of records, as the log has them.", b.m.Count)
}

// ages counts open cases by their age at the head of the log, not by the clock:
// the same log gives the same page.
func (b *reporter) ages() (*Chart, error) {
	c, _, err := b.stacked("open cases", `WITH c AS (SELECT date_diff('day', recorded_at, (SELECT max(recorded_at) FROM v_event)) AS days FROM v_case`+inScope+`)
		SELECT CASE WHEN days < 1 THEN 'today' WHEN days < 7 THEN 'this week' WHEN days < 30 THEN 'this month' WHEN days < 365 THEN 'this year' ELSE 'older' END AS age,
		'open', count(*) FROM c GROUP BY age ORDER BY min(days)`, map[string]string{"open": "open"})
	return c, err
}

func (b *reporter) cases() error {
	age, err := b.ages()
	if err != nil {
		return err
	}
	open, err := b.grid(`SELECT decision_id, record_a, record_b, entity_type, score, explanation, recorded_at FROM v_case`+inScope+`ORDER BY seq`,
		"decision", "record a", "record b", "type", "score", "why", "recorded")
	if err != nil {
		return err
	}
	b.m.Count = int64(len(open.Rows) + open.More)
	b.page.Lead = fmt.Sprintf("%d questions are open.", b.m.Count)
	b.page.Sections = []Part{{Title: "By age", Chart: age}, {Title: "Open cases, oldest first", Table: open}}
	return nil
}

func (b *reporter) entities() error {
	sizes, _, err := b.stacked("entities by size", `SELECT least(size, 10)::VARCHAR || CASE WHEN size >= 10 THEN '+' ELSE '' END || ' records' AS s, entity_type, count(*)
		FROM v_entity WHERE changed_seq > ? AND changed_seq <= ? AND (? = '' OR entity_type = ?) GROUP BY s, entity_type ORDER BY min(size), entity_type`, nil)
	if err != nil {
		return err
	}
	all, err := b.grid(`SELECT entity_id, entity_type, size, array_to_string(records, chr(10)) FROM v_entity
		WHERE changed_seq > ? AND changed_seq <= ? AND (? = '' OR entity_type = ?) ORDER BY size DESC, entity_id`, "entity", "type", "records", "record ids")
	if err != nil {
		return err
	}
	b.m.Count = int64(len(all.Rows) + all.More)
	b.page.Lead = fmt.Sprintf("%d entities hang together by live decisions.", b.m.Count)
	b.page.Sections = []Part{{Title: "By size", Chart: sizes}, {Title: "Entities, largest first", Table: all}}
	return nil
}

// anyType is inScope for things that have no entity type.
const anyType = " WHERE seq > ? AND seq <= ? AND ? = ? "

func (b *reporter) processing() error {
	c, totals, err := b.stacked("scans", `SELECT coalesce(statute, 'no statute'), coalesce(verdict, 'none'), count(*) FROM v_scan`+anyType+`GROUP BY ALL ORDER BY ALL`,
		map[string]string{"full": "good", "partial": "open", "none": "bad", "no-statute": "bad"})
	if err != nil {
		return err
	}
	scans, err := b.grid(`SELECT recorded_at, statute, jurisdiction, verdict, denied::VARCHAR, counts::VARCHAR, actor FROM v_scan`+anyType+`ORDER BY seq DESC`,
		"recorded", "statute", "jurisdiction", "coverage", "denied", "found", "actor")
	if err != nil {
		return err
	}
	for _, n := range totals {
		b.m.Count += n
	}
	b.page.Lead = fmt.Sprintf("%d texts were scanned for personal data.", b.m.Count)
	b.page.Sections = []Part{{Title: "Statute and coverage", Chart: c}, {Title: "Scans, newest first", Table: scans}}
	return nil
}

func (b *reporter) documents() error {
	c, totals, err := b.stacked("documents", `SELECT coalesce(type, 'none'), coalesce(status, 'none'), count(*) FROM v_document`+anyType+`GROUP BY ALL ORDER BY ALL`, nil)
	if err != nil {
		return err
	}
	all, err := b.grid(`SELECT path, type, status, size, actor, written_at FROM v_document`+anyType+`ORDER BY path`, "path", "type", "status", "bytes", "actor", "written")
	if err != nil {
		return err
	}
	for _, n := range totals {
		b.m.Count += n
	}
	b.page.Lead = fmt.Sprintf("%d documents stand in the knowledge base.", b.m.Count)
	b.page.Sections = []Part{{Title: "By type and status", Chart: c}, {Title: "Documents", Table: all}}
	return nil
}

func (b *reporter) events() error {
	c, totals, err := b.stacked("events a month", `SELECT strftime(recorded_at, '%Y-%m') AS month, kind, count(*) FROM v_event`+anyType+`GROUP BY month, kind ORDER BY month, kind`, nil)
	if err != nil {
		return err
	}
	all, err := b.grid(`SELECT seq, kind, subject, actor, recorded_at FROM v_event`+anyType+`ORDER BY seq DESC`, "seq", "kind", "subject", "actor", "recorded")
	if err != nil {
		return err
	}
	for _, n := range totals {
		b.m.Count += n
	}
	b.page.Lead = fmt.Sprintf("%d events are in the log.", b.m.Count)
	b.page.Sections = []Part{{Title: "Events over time", Chart: c}, {Title: "Events, newest first", Table: all}}
	return nil
}
