package export

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
)

// Request asks for an export.
type Request struct {
	What    string // one of Subjects
	Format  string // one of Formats
	Dir     string // the folder to write into: new, or empty
	After   int64  // only events after this one
	Until   int64  // only events up to this one; 0 is all
	Filter  Filter // what the manifest says of the narrowing; Entity and Reveal are used
	Program string
	At      string // the time the manifest says, UTC to the second
	// RowsOnly leaves out of decisions the log that they can be imported with.
	RowsOnly bool
	Key      *attest.Key
	Disk     disk.Disk // where files are written; the zero value is the system's
}

// Subjects are the things that can be exported.
var Subjects = []string{"decisions", "events", "entities", "cases", "documents", "processing"}

// Formats are the formats of an export.
var Formats = []string{"csv", "jsonl", "parquet", "html", "prov", "dsse"}

// source is where the rows of a subject come from: a view and its columns. The
// order is total. entity and value name the columns that filters and --reveal
// work on.
type source struct {
	view    string
	query   func(src source, req Request) string // instead of reading the view
	columns []Column
	order   string
	seq     string // column that since and until compare with
	entity  string // column with the entity type, "" none
	reveal  *revealing
}

// revealing is what --reveal adds to the rows of a subject.
type revealing struct {
	columns []Column
	list    string // expressions
	join    string
}

const onceEach = " LEFT JOIN (SELECT address, any_value(bytes) AS bytes FROM blobs GROUP BY address) "

// pairValues are the contents of the two records of a row.
var pairValues = &revealing{
	columns: []Column{{"values_a", JSON}, {"values_b", JSON}},
	list:    "decode(a.bytes)::JSON AS values_a, decode(b.bytes)::JSON AS values_b",
	join:    onceEach + "a ON a.address = t.record_a" + onceEach + "b ON b.address = t.record_b",
}

// eventContents are the contents stored with an event, in base64: with them the
// log can be made again from the export.
var eventContents = &revealing{
	columns: []Column{{"contents", JSON}},
	list:    "to_json(c.contents) AS contents",
	join: " LEFT JOIN (SELECT seq, list({'address': address, 'bytes': base64(bytes)} ORDER BY address) AS contents" +
		" FROM blobs GROUP BY seq) c ON c.seq = t.seq",
}

var sources = map[string]source{
	"decisions": {query: decisionQuery, order: "seq", seq: "seq", entity: "entity_type", reveal: pairValues, columns: []Column{
		{"decision_id", Text}, {"record_a", Text}, {"record_b", Text}, {"entity_type", Text}, {"verb", Text}, {"identity", Text},
		{"action", Text}, {"score", Float}, {"explanation", Text}, {"factors", JSON}, {"evidence", JSON}, {"pins", JSON}, {"engine", Text},
		{"links", Boolean}, {"withheld", Text}, {"live", Boolean}, {"supersedes", Text}, {"superseded_by", Text}, {"operator_verdict", Text},
		{"run_id", Text}, {"actor", Text}, {"recorded_at", Time}, {"event_id", Text}, {"seq", Integer}}},
	"events": {view: "v_event", order: "seq, log", seq: "seq", reveal: eventContents, columns: []Column{
		{"log", Text}, {"seq", Integer}, {"id", Text}, {"kind", Text}, {"subject", Text}, {"supersedes", Text}, {"actor", Text},
		{"recorded_at", Time}, {"body", JSON}, {"link", Text}, {"v", Integer}}},
	"entities": {view: "v_entity", order: "size DESC, entity_id", seq: "changed_seq", entity: "entity_type", columns: []Column{
		{"entity_id", Text}, {"entity_type", Text}, {"size", Integer}, {"records", JSON}, {"changed_seq", Integer}}},
	"cases": {view: "v_case", order: "seq", seq: "seq", entity: "entity_type", reveal: pairValues, columns: []Column{
		{"decision_id", Text}, {"record_a", Text}, {"record_b", Text}, {"entity_type", Text}, {"score", Float}, {"explanation", Text},
		{"factors", JSON}, {"actor", Text}, {"recorded_at", Time}, {"seq", Integer}}},
	"documents": {view: "v_document", order: "path, seq", seq: "seq", columns: []Column{
		{"path", Text}, {"type", Text}, {"status", Text}, {"tags", JSON}, {"address", Text}, {"size", Integer}, {"actor", Text},
		{"written_at", Time}, {"event_id", Text}, {"seq", Integer}}},
	"processing": {view: "v_scan", order: "seq", seq: "seq", columns: []Column{
		{"scan", Text}, {"statute", Text}, {"jurisdiction", Text}, {"verdict", Text}, {"counts", JSON}, {"denied", JSON}, {"input", Text},
		{"actor", Text}, {"recorded_at", Time}, {"event_id", Text}, {"seq", Integer}}},
}

// Columns are the columns of a subject's rows.
func Columns(what string) []Column { return sources[what].columns }

// RevealedColumns are the columns of a subject's rows with --reveal.
func RevealedColumns(what string) []Column {
	src := sources[what]
	return src.shown(src.reveal != nil)
}

// Write makes an export in the folder and seals it.
func Write(ctx context.Context, l *ledger.Ledger, req Request) (*Manifest, error) {
	src, ok := sources[req.What]
	switch {
	case !ok:
		return nil, fault.New(fault.Invalid, "nothing is exported under %q", req.What).WithHint("choose one of %s", strings.Join(Subjects, ", "))
	case !slices.Contains(Formats, req.Format):
		return nil, fault.New(fault.Invalid, "no export format %q", req.Format).WithHint("choose one of %s", strings.Join(Formats, ", "))
	case req.Format == "dsse" && req.Key == nil:
		return nil, fault.New(fault.Invalid, "a DSSE envelope needs a signing key").WithHint("set ARCHE_SIGNING_KEY; make a key with: arche attest keygen OUT")
	case req.Format == "prov" && req.What != "decisions":
		return nil, fault.New(fault.Invalid, "PROV tells of decisions only").WithHint("arche export decisions --format prov")
	case req.Filter.Reveal && (src.reveal == nil || !slices.Contains(TableFormats, req.Format) && req.Format != "dsse"):
		return nil, fault.New(fault.Invalid, "%s as %s hold no record values to reveal", req.What, req.Format)
	case req.Filter.Entity != nil && src.entity == "":
		return nil, fault.New(fault.Invalid, "%s have no entity type to choose by", req.What)
	}
	f, err := openFolder(req.Disk, req.Dir)
	if err != nil {
		return nil, err
	}
	m, err := f.write(ctx, l, src, req)
	if err != nil {
		return nil, errors.Join(err, f.undo())
	}
	return m, nil
}

func (f *folder) write(ctx context.Context, l *ledger.Ledger, src source, req Request) (*Manifest, error) {
	m := Manifest{What: req.What, Format: req.Format, CreatedAt: req.At, Program: req.Program, Filter: req.Filter, Columns: src.shown(req.Filter.Reveal)}
	var err error
	if m.Head.Log, m.Head.Seq, m.Head.Link, err = l.Head(ctx); err != nil {
		return nil, err
	}
	if req.Until == 0 || req.Until > m.Head.Seq {
		req.Until = m.Head.Seq // what is appended meanwhile is not in the export
	}
	if m.Checkpoint, err = oneText(ctx, l, newestCheckpoint); err != nil {
		return nil, err
	}
	if req.What == "events" && req.Filter.Reveal {
		from, err := oneText(ctx, l, contentsFrom)
		if err != nil {
			return nil, err
		}
		if from != nil {
			m.ContentsFrom, _ = strconv.ParseInt(*from, 10, 64) // the ledger reads it on opening
		}
	}
	names, err := f.writeFiles(ctx, l, src, req, &m)
	if err == nil {
		err = f.clear()
	}
	if err != nil {
		return nil, err
	}
	f.done = append(f.done, ManifestName, SignatureName, SumsName)
	return seal(f.disk, f.dir, m, names, req.Key)
}

const (
	// newestCheckpoint asks for the note of the log's last signed checkpoint.
	newestCheckpoint = `SELECT json_extract_string(body, '$.note') FROM events WHERE kind = 'checkpoint.signed' ORDER BY seq DESC LIMIT 1`
	// contentsFrom asks for the event that ContentsFrom of a manifest names.
	contentsFrom = `SELECT value FROM meta WHERE key = 'contents_from_event'`
)

// oneText is the answer to a question for one text, nil when there is none.
func oneText(ctx context.Context, l *ledger.Ledger, query string) (answer *string, err error) {
	err = l.Query(ctx, query, nil, func(v []driver.Value) error {
		if text, ok := v[0].(string); ok {
			answer = &text
		}
		return nil
	})
	return answer, err
}

func (src source) shown(reveal bool) []Column {
	if !reveal {
		return src.columns
	}
	return slices.Concat(src.columns, src.reveal.columns)
}

func (f *folder) writeFiles(ctx context.Context, l *ledger.Ledger, src source, req Request, m *Manifest) ([]string, error) {
	switch req.Format {
	case "html":
		return f.report(ctx, l, req, m)
	case "prov":
		return f.prov(ctx, l, req, m)
	case "dsse":
		return f.statement(ctx, l, src, req, m)
	}
	return f.tables(ctx, l, src, req, m, req.Format)
}

// tables writes the rows and, where the export is of all decisions, the log that
// they can be imported with.
func (f *folder) tables(ctx context.Context, l *ledger.Ledger, src source, req Request, m *Manifest, format string) (names []string, err error) {
	name := req.What + "." + format
	if m.Count, err = f.copyOut(ctx, l, name, format, src.rows(req)); err != nil || !req.carriesLog() {
		return []string{name}, err
	}
	log, lists := LogName(format), ListsName(format)
	if _, err = f.copyOut(ctx, l, log, format, logQuery(req)); err == nil {
		entries := listRows(ctx, l, req.Until)
		if format == "parquet" {
			_, err = f.writeParquet(ctx, lists, ListColumns(), entries)
		} else {
			_, err = writeTable(ctx, f.disk, f.path(lists), format, ListColumns(), entries)
		}
	}
	return []string{name, log, lists}, err
}

// statement is the rows as JSON Lines and, beside them, an in-toto statement about
// them.
func (f *folder) statement(ctx context.Context, l *ledger.Ledger, src source, req Request, m *Manifest) ([]string, error) {
	names, err := f.tables(ctx, l, src, req, m, "jsonl")
	if err != nil {
		return nil, err
	}
	files, err := digests(f.dir, names)
	if err != nil {
		return nil, err
	}
	text, err := Statement(files, *m, req.Key)
	if err != nil {
		return nil, err
	}
	envelope := req.What + dsseSuffix
	return append(names, envelope), writeBytes(f.disk, f.path(envelope), text)
}

// forms is how DuckDB writes each table format. Row groups are small, because a
// thread holds one until it is written.
var forms = map[string]string{
	"csv":     "FORMAT csv, HEADER true, DELIMITER ',', QUOTE '\"', ESCAPE '\"', TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ'",
	"jsonl":   "FORMAT json, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ'",
	"parquet": "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 30720",
}

// memoryMB bounds the database that writes an export: what it sorts beyond that
// it spills to a private folder.
const memoryMB = 768

// copyOut lets DuckDB write the rows of a query out of the file itself.
func (f *folder) copyOut(ctx context.Context, l *ledger.Ledger, name, format, query string) (int64, error) {
	count, err := f.copyTo(ctx, l, name, format, query)
	if err == nil {
		err = f.keep(name)
	}
	return count, err
}

// copyTo is copyOut into the private folder.
func (f *folder) copyTo(ctx context.Context, l *ledger.Ledger, name, format, query string) (count int64, err error) {
	err = f.lent(ctx, l, func(s *session) error {
		// Queries are written so that the wide side of a join streams.
		if _, err := s.exec("SET disabled_optimizers = 'join_order,build_side_probe_side'"); err != nil {
			return err
		}
		count, err = s.exec("COPY (" + query + ") TO " + duck.Quote(filepath.Join(f.work, name)) + " (" + forms[format] + ")")
		return err
	})
	switch {
	case err == nil, fault.As(err) != nil:
		return count, err
	case ctx.Err() != nil:
		return 0, ctx.Err()
	}
	return 0, fmt.Errorf("export: %w", err)
}

// lent runs fn with a session of bounded memory over the ledger's file, which may
// spill what it sorts and joins; the ledger's own would run out of memory.
func (f *folder) lent(ctx context.Context, l *ledger.Ledger, fn func(s *session) error) error {
	return l.Lend(ctx, func(path string) error {
		return withSession(ctx, f.disk, func(s *session) error {
			for _, sql := range []string{
				"ATTACH " + duck.Quote(path) + " AS source (READ_ONLY)", "USE source", "SET temp_directory = " + duck.Quote(f.work),
				fmt.Sprintf("SET memory_limit = '%dMB'", memoryMB),
			} {
				if _, err := s.exec(sql); err != nil {
					return err
				}
			}
			return fn(s)
		})
	})
}

// rows is the query of a subject's rows in their order. What goes into it
// besides constants is numbers and a quoted type.
func (src source) rows(req Request) string {
	if src.query != nil {
		return src.query(src, req)
	}
	list := make([]string, 0, len(src.columns)+2)
	for _, c := range src.columns {
		expr := "t." + duck.QuoteName(c.Name)
		if c.Type == JSON {
			expr = "to_json(" + expr + ") AS " + duck.QuoteName(c.Name)
		}
		list = append(list, expr)
	}
	return src.narrowed(req, list, src.view)
}

// narrowed adds to a selection what the request asks for: values, the stretch of
// events, the type; and the order.
func (src source) narrowed(req Request, list []string, from string) string {
	from += " t"
	if req.Filter.Reveal {
		list = append(list, src.reveal.list)
		from += src.reveal.join
	}
	where := fmt.Sprintf("t.%s > %d AND t.%s <= %d", src.seq, req.After, src.seq, req.Until)
	if req.Filter.Entity != nil {
		where += " AND t." + src.entity + " = " + duck.Quote(*req.Filter.Entity)
	}
	order := strings.Split(src.order, ", ")
	for i := range order {
		order[i] = "t." + order[i]
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + from + " WHERE " + where + " ORDER BY " + strings.Join(order, ", ")
}
