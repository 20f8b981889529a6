package imports

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/export"
)

// DecisionsInfo is what an import of decisions did.
type DecisionsInfo struct {
	Decisions int64
	Events    int64
	Link      string // of the last event
	Already   bool   // the ledger held all of it; nothing was written
}

// Decisions makes a ledger file of an export of all decisions, given as its
// folder or as the file of rows in it. The export is verified first, with the
// pinned key when there is one. Then the log is made again from the rows and from
// the log beside them: addresses and links are recomputed, the last link must be
// the one that the manifest names, and the new ledger, exported again, must give
// every row as it was. The file appears only when all of that fits.
//
// A ledger that exists is left alone: when it holds the exported log already,
// and whatever came later, there is nothing to do; any other is refused.
func Decisions(ctx context.Context, name string, key ed25519.PublicKey, path string, opts ledger.Options) (*DecisionsInfo, error) {
	dir, err := folderOf(name)
	if err != nil {
		return nil, err
	}
	m, err := verified(ctx, dir, key)
	if err != nil {
		return nil, err
	}
	if err := importable(m, name, dir); err != nil {
		return nil, err
	}
	info := &DecisionsInfo{Decisions: m.Count, Events: m.Head.Seq, Link: m.Head.Link}
	if m.Head.Seq == 0 {
		return nil, fault.New(fault.Invalid, "the export is of an empty ledger; there is nothing to import")
	}
	if taken(path) {
		empty, err := ledger.RemoveEmpty(ctx, path, opts)
		if err != nil || !empty {
			info.Already = true
			return info, errors.Join(err, holds(ctx, path, opts, m))
		}
	}
	return info, beside(path, opts, func(d disk.Disk, work string) error {
		b := &bringing{ctx: ctx, dir: dir, m: m, form: rowForm(m), work: work, disk: d}
		return ledger.Found(ctx, path, opts, m.Head.Link, b.events, b.compare)
	})
}

// taken reports whether a ledger file lies at path, or one whose installation there
// was stopped and which the next opening ends.
func taken(path string) bool {
	if _, err := os.Lstat(path); err == nil {
		_, err = os.Stat(path) // a link to nowhere is refused, not followed
		return err == nil
	}
	_, err := os.Lstat(duck.LogPath(path)) // a log without its file is never opened
	return err != nil && duck.Vacant(path) != nil
}

// beside lends a private folder beside the ledger file to make.
func beside(path string, opts ledger.Options, fn func(d disk.Disk, work string) error) error {
	d := disk.Disk{Fault: opts.Fault}
	work, err := d.MkdirTemp(filepath.Dir(path), ".arche-import-*") // mode 0700
	if err != nil {
		return fileFault(filepath.Dir(path), err)
	}
	return errors.Join(fn(d, work), fileFault(filepath.Dir(path), d.RemoveAll(work)))
}

// folderOf is the export that a name means: its folder, or the file of rows in it.
func folderOf(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fileFault(name, err)
	}
	if info.IsDir() {
		return name, nil
	}
	return filepath.Dir(name), nil
}

// importable refuses an export that no ledger can be made of.
func importable(m *export.Manifest, name, dir string) error {
	const whole = "export them all: arche export decisions --out DIR"
	beside := 0
	for _, f := range m.Files {
		if f.Name == export.LogName(rowForm(m)) || f.Name == export.ListsName(rowForm(m)) {
			beside++
		}
	}
	switch {
	case m.What != "decisions":
		return fault.New(fault.Invalid, "the export is of %s, not of decisions", m.What).WithHint("arche export decisions writes one that can be imported")
	case name != dir && filepath.Base(name) != "decisions."+rowForm(m):
		return fault.New(fault.Invalid, "%s is not the file of rows of the export it lies in", filepath.Base(name)).WithHint("name the folder")
	case m.Filter.Since != nil || m.Filter.Until != nil || m.Filter.Entity != nil:
		return fault.New(fault.Invalid, "the export holds a part of the decisions only").WithHint(whole)
	case beside != 2:
		return fault.New(fault.Invalid, "the export holds rows without the log that they are imported with").
			WithHint(whole + " --format jsonl or parquet, without --rows-only")
	}
	if err := mainLog(m); err != nil {
		return err
	}
	want := export.Columns("decisions")
	if m.Filter.Reveal {
		want = export.RevealedColumns("decisions")
	}
	for _, c := range m.Columns {
		if !slices.Contains(want, c) {
			return fault.New(fault.Invalid, "decisions have no column %s of type %s here", canon.Repr(c.Name), c.Type).WithHint("a newer arche may have written the export")
		}
	}
	if !slices.Equal(m.Columns, want) {
		return fault.New(fault.Invalid, "the export lacks columns that decisions have, or has them in another order")
	}
	return nil
}

// mainLog refuses an export of another log than a ledger file holds.
func mainLog(m *export.Manifest) error {
	if m.Head.Log != "main" {
		return fault.New(fault.Invalid, "the export is of log %s; a ledger file holds the log main", canon.Repr(m.Head.Log))
	}
	return nil
}

func rowForm(m *export.Manifest) string {
	if m.Format == "dsse" {
		return "jsonl"
	}
	return m.Format
}

// holds reports whether an existing ledger has the exported log as its beginning.
func holds(ctx context.Context, path string, opts ledger.Options, m *export.Manifest) error {
	link, err := linkOf(ctx, path, opts, m.Head.Seq)
	if err == nil && link != m.Head.Link {
		err = fault.New(fault.Refused, "the ledger file exists already and holds another log").
			WithHint("name a file that is not there yet; two logs are never mixed")
	}
	return err
}

// linkOf is the link of an event of a ledger, "" when it has none such.
func linkOf(ctx context.Context, path string, opts ledger.Options, seq int64) (link string, err error) {
	l, err := ledger.Open(path, opts)
	if err != nil {
		return "", err
	}
	defer l.Close()
	for e, err := range l.Events(ctx, ledger.Filter{After: seq - 1}) {
		if err != nil {
			return "", err
		}
		return e.Link(), nil
	}
	return "", nil
}

// bringing makes events of the rows of an export.
type bringing struct {
	ctx  context.Context //nolint:containedctx // lives for one call
	dir  string
	m    *export.Manifest
	form string // jsonl or parquet
	work string // a private folder
	disk disk.Disk
}

// events yields the events of the export in their order: each as the log has it,
// decisions put together from the log and their row.
func (b *bringing) events(yield func(ledger.Incoming, error) bool) {
	log, stopLog := b.pull(export.LogName(b.form), export.LogColumns(b.m.Filter.Reveal))
	defer stopLog()
	rows, stopRows := b.pull("decisions."+b.form, b.m.Columns)
	defer stopRows()
	lists := &listReader{}
	var stopLists func()
	lists.next, stopLists = b.pull(export.ListsName(b.form), export.ListColumns())
	defer stopLists()
	for {
		entry, err, ok := log()
		if err == nil && !ok {
			if _, err, ok = rows(); err == nil && ok {
				err = fault.New(fault.Invalid, "there are more decisions than the log has")
			}
			if err == nil {
				err = lists.end()
			}
			if err != nil {
				yield(ledger.Incoming{}, err)
			}
			return
		}
		var e ledger.Incoming
		if err == nil {
			e, err = b.event(entry, rows)
		}
		if err == nil {
			err = lists.of(entry.integer("seq"), &e)
		}
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// event reads one entry of the log.
func (b *bringing) event(entry *tableRow, rows func() (*tableRow, error, bool)) (e ledger.Incoming, err error) {
	e.Version = int(entry.integer("v"))
	e.Kind, e.Subject, e.Supersedes, e.Actor = entry.text("kind"), entry.text("subject"), entry.text("supersedes"), entry.text("actor")
	body := entry.values["body"]
	seq := entry.integer("seq")
	if e.Kind == ledger.KindDecisionRecorded && entry.values["subject"] == nil {
		row, err, ok := rows()
		switch {
		case err != nil:
			return e, err
		case !ok || row.integer("seq") != seq:
			return e, fault.New(fault.Invalid, "%s: no row of decisions is about event %d", entry.where, seq)
		}
		e.Subject = row.text("decision_id") + "@" + row.text("record_a") + "|" + row.text("record_b")
		e.Actor, e.RecordedAt, e.ID = row.text("actor"), row.time("recorded_at"), row.text("event_id")
		body = decisionBody(row, body)
		if row.err != nil {
			return e, row.err
		}
	} else {
		e.RecordedAt = entry.time("recorded_at")
	}
	if entry.err != nil {
		return e, entry.err
	}
	text, err := canon.RFC8785(body)
	if err != nil {
		return e, fault.Wrap(err, fault.Invalid, "%s: the body is no content of an event", entry.where)
	}
	e.Body = string(text)
	e.Blobs, err = blobsOf(entry)
	return e, err
}

// listReader puts the lists of runs together from their entries.
type listReader struct {
	next func() (*tableRow, error, bool)
	row  *tableRow // read and not used yet
}

func (r *listReader) peek() (*tableRow, error) {
	if r.row != nil {
		return r.row, nil
	}
	row, err, ok := r.next()
	if err != nil || !ok {
		return nil, err
	}
	r.row = row
	return row, nil
}

// of adds to an event the lists that lie with it.
func (r *listReader) of(seq int64, e *ledger.Incoming) error {
	for {
		first, err := r.peek()
		if err != nil || first == nil || first.integer("seq") != seq {
			return err
		}
		list := []any{}
		for row := first; row != nil && row.integer("seq") == seq && row.text("list") == first.text("list"); {
			list = append(list, row.values["entry"])
			r.row = nil
			if row, err = r.peek(); err != nil {
				return err
			}
		}
		data, err := canon.RFC8785(list)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "%s: the list is no list of records", first.where)
		}
		e.Blobs = append(e.Blobs, ledger.Blob{Address: first.text("list"), Bytes: data})
	}
}

func (r *listReader) end() error {
	row, err := r.peek()
	if err == nil && row != nil {
		err = fault.New(fault.Invalid, "%s: the list lies with no event", row.where)
	}
	return err
}

// decisionBody is the body of a decision's event out of its row.
func decisionBody(row *tableRow, pos any) *canon.Object {
	v := row.values
	return canon.Obj("action", v["action"], "decision_id", v["decision_id"], "evidence", v["evidence"], "explanation", v["explanation"],
		"factors", v["factors"], "identity", v["identity"], "link", v["links"], "pins", v["pins"], "pos", pos, "run", v["run_id"],
		"score", v["score"], "verb", v["verb"], "withheld", v["withheld"])
}

// blobsOf are the contents that came with an event.
func blobsOf(entry *tableRow) (out []ledger.Blob, err error) {
	contents, _ := entry.values["contents"].([]any)
	for _, c := range contents {
		o, _ := c.(*canon.Object)
		if o == nil {
			return nil, fault.New(fault.Invalid, "%s: a content is no object", entry.where)
		}
		address, ok1 := o.Value("address").(string)
		text, ok2 := o.Value("bytes").(string)
		data, err := base64.StdEncoding.Strict().DecodeString(text)
		if !ok1 || !ok2 || err != nil || o.Len() != 2 {
			return nil, fault.New(fault.Invalid, "%s: a content is no address with bytes", entry.where)
		}
		out = append(out, ledger.Blob{Address: address, Bytes: data})
	}
	return out, nil
}

// compare exports the new ledger as the old one was and holds the two against
// each other: so every derived column is what the log says, too.
func (b *bringing) compare(l *ledger.Ledger) error {
	dir := filepath.Join(b.work, "again")
	m, err := export.Write(b.ctx, l, export.Request{What: "decisions", Format: b.form, Dir: dir, Program: b.m.Program, At: b.m.CreatedAt,
		Filter: export.Filter{Reveal: b.m.Filter.Reveal}, Disk: b.disk})
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		if slices.Contains(b.m.Files, f) {
			continue // the same bytes
		}
		columns := b.m.Columns
		switch f.Name {
		case export.LogName(b.form):
			columns = export.LogColumns(b.m.Filter.Reveal)
		case export.ListsName(b.form):
			columns = export.ListColumns()
		}
		if err := b.sameRows(&bringing{ctx: b.ctx, dir: dir, work: dir}, f.Name, columns); err != nil {
			return err
		}
	}
	return nil
}

// sameRows compares a file value by value where its bytes differ, as those of
// Parquet do between versions of DuckDB.
func (b *bringing) sameRows(again *bringing, name string, columns []export.Column) error {
	theirs, stop := b.pull(name, columns)
	defer stop()
	ours, stop := again.pull(name, columns)
	defer stop()
	for {
		x, err1, more := theirs()
		y, err2, also := ours()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if more != also {
			return fault.New(fault.Invalid, "%s has another number of rows than the log gives", name)
		}
		if !more {
			return nil
		}
		for _, c := range columns {
			s, err1 := canon.RFC8785(x.values[c.Name])
			t, err2 := canon.RFC8785(y.values[c.Name])
			if err1 != nil || err2 != nil || string(s) != string(t) {
				return fault.New(fault.Invalid, "%s, column %s: not what the log gives", x.where, c.Name)
			}
		}
	}
}
