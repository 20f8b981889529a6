package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/ledger"
)

// provParts are the parts of the document, in their order.
var provParts = []string{"entity", "activity", "agent", "used", "wasGeneratedBy", "wasAssociatedWith", "wasAttributedTo", "wasDerivedFrom"}

// prov tells of decisions in W3C PROV-JSON: each decision is an activity
// that used two records, was carried out by an actor under a plan (engine and
// tables), and made a verdict; a superseding verdict is a revision of the old.
//
// The parts of the document grow side by side in private files, so that a million
// decisions need no more memory than the ids of their records.
func (f *folder) prov(ctx context.Context, l *ledger.Ledger, req Request, m *Manifest) (names []string, err error) {
	src := sources["decisions"]
	list := []string{"t.id AS event", text("decision_id") + " AS decision_id", sideA + " AS record_a", sideB + " AS record_b", "t.entity_type",
		text("verb") + " AS verb", text("identity") + " AS identity", text("score") + "::DOUBLE AS score", text("pins.engine") + " AS engine",
		part("pins") + " AS pins", "t.actor", "t.recorded_at", "t.older_event"}
	const rows = "rows.jsonl"
	if m.Count, err = f.copyTo(ctx, l, rows, "jsonl", src.narrowed(req, list, decisionsFrom(req))); err != nil {
		return nil, err
	}
	p := &prov{map[string]*disk.File{}, map[string]*bufio.Writer{}, map[string]int{}, map[string]bool{}, map[string]string{}}
	defer p.close()
	if err := p.open(f); err != nil {
		return nil, err
	}
	if err := p.read(ctx, filepath.Join(f.work, rows)); err != nil {
		return nil, err
	}
	const name = "decisions.prov.json"
	return []string{name}, ReplaceOn(f.disk, f.path(name), p.document)
}

// prov writes the parts of the document, one line an element. What fails in
// writing a part is kept by its writer and told when the document is put together.
type prov struct {
	files map[string]*disk.File
	parts map[string]*bufio.Writer
	sizes map[string]int
	seen  map[string]bool   // records and actors that were told of
	plans map[string]string // by engine and pins
}

func (p *prov) open(f *folder) error {
	for _, part := range provParts {
		file, err := f.disk.OpenFile(filepath.Join(f.work, part), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fileFault(part, err)
		}
		p.files[part], p.parts[part] = file, bufio.NewWriterSize(file, 1<<16)
	}
	return nil
}

// close gives the files up; they were read already, or are of no use.
func (p *prov) close() {
	for _, f := range p.files {
		_ = f.Close()
	}
}

func (p *prov) read(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		err = p.lines(ctx, bufio.NewReaderSize(f, 1<<18))
	}
	return fileFault(path, err)
}

func (p *prov) lines(ctx context.Context, in *bufio.Reader) error {
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		var row *canon.Object
		if err == nil {
			row, err = canon.ParseObject(line, canon.Limits{})
		}
		if err == nil {
			err = p.decision(row)
		}
		if err != nil {
			return err
		}
	}
}

// put adds an element to a part.
func (p *prov) put(part, key string, value *canon.Object) error {
	k, err1 := canon.Compact(key)
	v, err2 := canon.Compact(value)
	out := p.parts[part]
	if p.sizes[part]++; p.sizes[part] > 1 {
		_, _ = out.WriteString(",\n")
	}
	_, err := fmt.Fprintf(out, "    %s: %s", k, v)
	return errors.Join(err1, err2, err)
}

// once adds an element that many decisions share.
func (p *prov) once(part, key string, value *canon.Object) error {
	if p.seen[key] {
		return nil
	}
	p.seen[key] = true
	return p.put(part, key, value)
}

// name is an id as a qualified name of the arche prefix: colons inside are
// written as dots, because a reader takes the first as the prefix.
func name(kind, id string) string {
	return "arche:" + kind + "." + strings.NewReplacer(":", ".", "|", "_", "@", "_", " ", "_", "/", "_").Replace(id)
}

// qualified is a name as a value.
func qualified(name string) *canon.Object {
	return canon.Obj("$", name, "type", "prov:QUALIFIED_NAME")
}

func (p *prov) decision(row *canon.Object) error {
	text := func(key string) string { s, _ := row.Value(key).(string); return s }
	event, actor := text("event"), text("actor")
	verdict, act, who := name("verdict", event), name("decision", event), name("actor", actor)
	engine, pins := text("engine"), row.Value("pins")
	plan, err := p.plan(engine, pins)
	id, when := event[len(event)-16:], text("recorded_at")
	type element struct {
		part, key string
		value     *canon.Object
	}
	elements := []element{
		{"entity", verdict, canon.Obj("prov:type", qualified("arche:verdict"), "arche:decision_id", text("decision_id"), "arche:identity", text("identity"),
			"arche:score", row.Value("score"))},
		{"activity", act, canon.Obj("prov:startTime", when, "prov:endTime", when, "prov:type", qualified("arche:"+text("verb")))},
		{"wasGeneratedBy", "_:gen_" + id, canon.Obj("prov:entity", verdict, "prov:activity", act, "prov:time", when)},
		{"wasAssociatedWith", "_:assoc_" + id, canon.Obj("prov:activity", act, "prov:agent", who, "prov:plan", plan)},
		{"wasAttributedTo", "_:attr_" + id, canon.Obj("prov:entity", verdict, "prov:agent", who)},
	}
	for _, side := range []string{"a", "b"} {
		record := name("record", text("record_"+side))
		err = errors.Join(err, p.once("entity", record, canon.Obj("prov:type", qualified("arche:record"), "arche:entity_type", text("entity_type"))))
		elements = append(elements, element{"used", "_:use_" + side + "_" + id,
			canon.Obj("prov:activity", act, "prov:entity", record, "prov:role", qualified("arche:side_"+side))})
	}
	if was := text("older_event"); was != "" {
		elements = append(elements, element{"wasDerivedFrom", "_:rev_" + id,
			canon.Obj("prov:generatedEntity", verdict, "prov:usedEntity", name("verdict", was), "prov:type", qualified("prov:Revision"))})
	}
	err = errors.Join(err, p.once("agent", who, canon.Obj("arche:actor", actor)))
	for _, e := range elements {
		if err == nil {
			err = p.put(e.part, e.key, e.value)
		}
	}
	return err
}

// plan is the engine with its pins, one entity for all decisions under it.
func (p *prov) plan(engine string, pins any) (string, error) {
	text, err := canon.Compact(pins)
	key := engine + " " + string(text)
	if plan, ok := p.plans[key]; ok {
		return plan, err
	}
	hash, err2 := canon.PublishedHash(pins)
	plan := name("plan", engine+"."+hash[:min(len(hash), 16)])
	p.plans[key] = plan
	return plan, errors.Join(err, err2,
		p.once("entity", plan, canon.Obj("prov:type", qualified("prov:Plan"), "arche:engine", engine, "arche:pins", string(text))))
}

// document puts the parts together. A writer keeps its first error, which is told
// at its end.
func (p *prov) document(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("{\n  \"prefix\": {\"arche\": \"https://github.com/arche-ledger/arche/ns#\"}")
	for _, part := range provParts {
		if p.sizes[part] == 0 {
			continue
		}
		f := p.files[part]
		err := p.parts[part].Flush()
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		_, _ = fmt.Fprintf(out, ",\n  \"%s\": {\n", part)
		if err == nil {
			_, err = io.Copy(out, f)
		}
		_, _ = out.WriteString("\n  }")
		if err != nil {
			return fmt.Errorf("write the document: %w", err)
		}
	}
	_, _ = out.WriteString("\n}\n")
	return out.Flush()
}
