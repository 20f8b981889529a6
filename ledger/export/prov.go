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
	"github.com/arche-ledger/arche/ledger"
)

// provParts are the parts of the document, in their order.
var provParts = []string{"entity", "activity", "agent", "used", "wasGeneratedBy", "wasAssociatedWith", "wasAttributedTo", "wasDerivedFrom"}

// writeProv tells of decisions in W3C PROV-JSON: each decision is an activity
// that used two records, was carried out by an actor under a plan (engine and
// tables), and made a verdict; a superseding verdict is a revision of the old.
//
// The parts of the document grow side by side in private files, so that a million
// decisions need no more memory than the ids of their records.
func writeProv(ctx context.Context, l *ledger.Ledger, req Request, m *Manifest) (names []string, err error) {
	dir, err := filepath.Abs(req.Dir)
	if err != nil {
		return nil, fileFault(req.Dir, err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".arche-prov-*") // mode 0700
	if err != nil {
		return nil, fileFault(dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	rows := filepath.Join(work, "rows.jsonl")
	src := sources["decisions"]
	list := []string{"t.id AS event", text("decision_id") + " AS decision_id", sideA + " AS record_a", sideB + " AS record_b", "t.entity_type",
		text("verb") + " AS verb", text("identity") + " AS identity", text("score") + "::DOUBLE AS score", text("pins.engine") + " AS engine",
		part("pins") + " AS pins", "t.actor", "t.recorded_at", "t.older_event"}
	if m.Count, err = copyTo(ctx, l, work, rows, "jsonl", src.narrowed(req, list, decisionsFrom(req))); err != nil {
		return nil, err
	}
	p, err := newProv(work)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.read(ctx, rows); err != nil {
		return nil, err
	}
	const name = "decisions.prov.json"
	return []string{name}, replaceFile(filepath.Join(req.Dir, name), p.document)
}

// prov writes the parts of the document, one line an element.
type prov struct {
	files map[string]*os.File
	parts map[string]*bufio.Writer
	sizes map[string]int
	seen  map[string]bool   // records and actors that were told of
	plans map[string]string // by engine and pins
}

func newProv(work string) (*prov, error) {
	p := &prov{map[string]*os.File{}, map[string]*bufio.Writer{}, map[string]int{}, map[string]bool{}, map[string]string{}}
	for _, part := range provParts {
		f, err := os.OpenFile(filepath.Join(work, part), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			p.close()
			return nil, fileFault(part, err)
		}
		p.files[part], p.parts[part] = f, bufio.NewWriterSize(f, 1<<16)
	}
	return p, nil
}

func (p *prov) close() {
	for _, f := range p.files {
		f.Close()
	}
}

func (p *prov) read(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fileFault(path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<18)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		row, err := canon.ParseObject(line, canon.Limits{})
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
	k, err := canon.Compact(key)
	if err != nil {
		return err
	}
	v, err := canon.Compact(value)
	if err != nil {
		return err
	}
	if p.sizes[part]++; p.sizes[part] > 1 {
		if _, err := p.parts[part].WriteString(",\n"); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(p.parts[part], "    %s: %s", k, v)
	return err
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
	if err != nil {
		return err
	}
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
	if err != nil {
		return "", err
	}
	key := engine + " " + string(text)
	if plan, ok := p.plans[key]; ok {
		return plan, nil
	}
	hash, err := canon.PublishedHash(pins)
	if err != nil {
		return "", err
	}
	plan := name("plan", engine+"."+hash[:16])
	p.plans[key] = plan
	return plan, p.once("entity", plan, canon.Obj("prov:type", qualified("prov:Plan"), "arche:engine", engine, "arche:pins", string(text)))
}

// document puts the parts together.
func (p *prov) document(w io.Writer) error {
	if _, err := io.WriteString(w, "{\n  \"prefix\": {\"arche\": \"https://github.com/arche-ledger/arche/ns#\"}"); err != nil {
		return err
	}
	for _, part := range provParts {
		if p.sizes[part] == 0 {
			continue
		}
		f := p.files[part]
		err := p.parts[part].Flush()
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err == nil {
			_, err = fmt.Fprintf(w, ",\n  \"%s\": {\n", part)
		}
		if err == nil {
			_, err = io.Copy(w, f)
		}
		if err == nil {
			_, err = io.WriteString(w, "\n  }")
		}
		if err != nil {
			return fmt.Errorf("write the document: %w", err)
		}
	}
	_, err := io.WriteString(w, "\n}\n")
	return err
}
