package export

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// rowsShown bounds the tables of a report.
const rowsShown = 500

func writeBytes(d disk.Disk, path string, data []byte) error {
	return ReplaceOn(d, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// report is an export for people: one HTML file.
func (f *folder) report(ctx context.Context, l *ledger.Ledger, req Request, m *Manifest) ([]string, error) {
	b := &reporter{req: req, m: m, page: &Page{
		Title:  "arche: " + req.What,
		Footer: []string{m.Program, fmt.Sprintf("event %d of log %s, head %s", m.Head.Seq, m.Head.Log, m.Head.Link), "written " + m.CreatedAt},
	}}
	parts := map[string]func(){
		"decisions": b.decisions, "cases": b.cases, "entities": b.entities, "processing": b.processing, "documents": b.documents, "events": b.events,
	}
	err := f.lent(ctx, l, func(s *session) error {
		b.session = s
		parts[req.What]()
		return b.err
	})
	switch {
	case err == nil, fault.As(err) != nil:
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		err = fmt.Errorf("report on %s: %w", req.What, err)
	}
	if err != nil {
		return nil, err
	}
	name := req.What + ".html"
	return []string{name}, ReplaceOn(f.disk, f.path(name), func(w io.Writer) error { return WriteHTML(w, b.page) })
}

// reporter makes the page of one subject. The first error of a query is kept, and
// the ones after it are not asked.
type reporter struct {
	session *session
	req     Request
	m       *Manifest
	page    *Page
	err     error
}

// query calls row for each row; the values are valid during the call only. Its
// parameters are those of every query of a report: the events, and the entity
// type or "".
func (b *reporter) query(text string, row func(v []any)) {
	entity := ""
	if b.req.Filter.Entity != nil {
		entity = *b.req.Filter.Entity
	}
	if b.err == nil {
		b.err = b.session.query(text, []any{b.req.After, b.req.Until, entity, entity}, row)
	}
}

// grid runs a query and keeps its first rows as text.
func (b *reporter) grid(text string, head ...string) *Grid {
	g := &Grid{Head: head}
	b.query(fmt.Sprintf("%s LIMIT %d", text, rowsShown), func(v []any) {
		row := make([]string, len(v))
		for i, x := range v {
			row[i] = cellText(x)
		}
		g.Rows = append(g.Rows, row)
	})
	if len(g.Rows) < rowsShown {
		return g
	}
	// How many more there are is counted without their order, which would have to
	// hold all of them.
	all := text[:strings.LastIndex(text, "ORDER BY")]
	b.query("SELECT count(*) FROM ("+all+")", func(v []any) {
		n, _ := v[0].(int64)
		g.More = int(n) - len(g.Rows)
	})
	return g
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
func (b *reporter) stacked(unit, text string, tones map[string]string) (*Chart, map[string]int64) {
	c := &Chart{Unit: unit}
	place := map[string]int{}
	counts := map[string]map[string]int64{}
	totals := map[string]int64{}
	var names []string
	b.query(text, func(v []any) {
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
	})
	slices.Sort(names)
	for _, name := range names {
		s := Series{Name: name, Tone: tones[name], Values: make([]int64, len(c.Labels))}
		for i, label := range c.Labels {
			s.Values[i] = counts[name][label]
		}
		c.Series = append(c.Series, s)
	}
	return c, totals
}

var verdictTones = map[string]string{"match": "good", "same_entity": "good", "review": "open", "different": "bad"}

const inScope = " WHERE seq > ? AND seq <= ? AND (? = '' OR entity_type = ?) "

func (b *reporter) decisions() {
	chart, totals := b.stacked("decisions a month", `SELECT strftime(recorded_at, '%Y-%m') AS month, identity, count(*) FROM v_decision`+inScope+
		`GROUP BY month, identity ORDER BY month, identity`, verdictTones)
	b.verdictFacts(totals)
	age := b.ages()
	engines := b.grid(`SELECT engine, json_extract_string(pins, '$.tf') AS tf, count(*) FROM v_decision`+inScope+`GROUP BY ALL ORDER BY ALL`, "engine", "frequency table", "decisions")
	recent := b.grid(`SELECT decision_id, identity, score, explanation, operator_verdict, superseded_by, actor, recorded_at FROM v_decision`+inScope+
		`ORDER BY seq DESC`, "decision", "verdict", "score", "why", "decided by a person", "superseded by", "actor", "recorded")
	b.page.Sections = []Part{
		{Title: "Verdicts over time", Chart: chart},
		{Title: "Open cases by age", Chart: age},
		{Title: "Under what they were made", Table: engines},
		{Title: "Decisions, newest first", Table: recent},
	}
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
func (b *reporter) ages() *Chart {
	c, _ := b.stacked("open cases", `WITH c AS (SELECT date_diff('day', recorded_at, (SELECT max(recorded_at) FROM v_event)) AS days FROM v_case`+inScope+`)
		SELECT CASE WHEN days < 1 THEN 'today' WHEN days < 7 THEN 'this week' WHEN days < 30 THEN 'this month' WHEN days < 365 THEN 'this year' ELSE 'older' END AS age,
		'open', count(*) FROM c GROUP BY age ORDER BY min(days)`, map[string]string{"open": "open"})
	return c
}

func (b *reporter) cases() {
	age := b.ages()
	open := b.grid(`SELECT decision_id, record_a, record_b, entity_type, score, explanation, recorded_at FROM v_case`+inScope+`ORDER BY seq`,
		"decision", "record a", "record b", "type", "score", "why", "recorded")
	b.m.Count = int64(len(open.Rows) + open.More)
	b.page.Lead = fmt.Sprintf("%d questions are open.", b.m.Count)
	b.page.Sections = []Part{{Title: "By age", Chart: age}, {Title: "Open cases, oldest first", Table: open}}
}

func (b *reporter) entities() {
	sizes, _ := b.stacked("entities by size", `SELECT least(size, 10)::VARCHAR || CASE WHEN size >= 10 THEN '+' ELSE '' END || ' records' AS s, entity_type, count(*)
		FROM v_entity WHERE changed_seq > ? AND changed_seq <= ? AND (? = '' OR entity_type = ?) GROUP BY s, entity_type ORDER BY min(size), entity_type`, nil)
	all := b.grid(`SELECT entity_id, entity_type, size, array_to_string(records, chr(10)) FROM v_entity
		WHERE changed_seq > ? AND changed_seq <= ? AND (? = '' OR entity_type = ?) ORDER BY size DESC, entity_id`, "entity", "type", "records", "record ids")
	b.m.Count = int64(len(all.Rows) + all.More)
	b.page.Lead = fmt.Sprintf("%d entities hang together by live decisions.", b.m.Count)
	b.page.Sections = []Part{{Title: "By size", Chart: sizes}, {Title: "Entities, largest first", Table: all}}
}

// anyType is inScope for things that have no entity type.
const anyType = " WHERE seq > ? AND seq <= ? AND ? = ? "

func (b *reporter) processing() {
	c, totals := b.stacked("scans", `SELECT coalesce(statute, 'no statute'), coalesce(verdict, 'none'), count(*) FROM v_scan`+anyType+`GROUP BY ALL ORDER BY ALL`,
		map[string]string{"full": "good", "partial": "open", "none": "bad", "no-statute": "bad"})
	scans := b.grid(`SELECT recorded_at, statute, jurisdiction, verdict, denied::VARCHAR, counts::VARCHAR, actor FROM v_scan`+anyType+`ORDER BY seq DESC`,
		"recorded", "statute", "jurisdiction", "coverage", "denied", "found", "actor")
	for _, n := range totals {
		b.m.Count += n
	}
	b.page.Lead = fmt.Sprintf("%d texts were scanned for personal data.", b.m.Count)
	b.page.Sections = []Part{{Title: "Statute and coverage", Chart: c}, {Title: "Scans, newest first", Table: scans}}
}

func (b *reporter) documents() {
	c, totals := b.stacked("documents", `SELECT coalesce(type, 'none'), coalesce(status, 'none'), count(*) FROM v_document`+anyType+`GROUP BY ALL ORDER BY ALL`, nil)
	all := b.grid(`SELECT path, type, status, size, actor, written_at FROM v_document`+anyType+`ORDER BY path`, "path", "type", "status", "bytes", "actor", "written")
	for _, n := range totals {
		b.m.Count += n
	}
	b.page.Lead = fmt.Sprintf("%d documents stand in the knowledge base.", b.m.Count)
	b.page.Sections = []Part{{Title: "By type and status", Chart: c}, {Title: "Documents", Table: all}}
}

func (b *reporter) events() {
	c, totals := b.stacked("events a month", `SELECT strftime(recorded_at, '%Y-%m') AS month, kind, count(*) FROM v_event`+anyType+`GROUP BY month, kind ORDER BY month, kind`, nil)
	all := b.grid(`SELECT seq, kind, subject, actor, recorded_at FROM v_event`+anyType+`ORDER BY seq DESC`, "seq", "kind", "subject", "actor", "recorded")
	for _, n := range totals {
		b.m.Count += n
	}
	b.page.Lead = fmt.Sprintf("%d events are in the log.", b.m.Count)
	b.page.Sections = []Part{{Title: "Events over time", Chart: c}, {Title: "Events, newest first", Table: all}}
}
