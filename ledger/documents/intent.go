package documents

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// intentFile says what a write is about to do, so that a crash in the middle
// is finished or forgotten, and logged under the name of who did it.
const intentFile = "intent.json"

// edit is what a write does to one file below .archcore/.
type edit struct {
	file   string
	data   []byte // the new bytes; nil takes the file away
	create bool   // the file must not exist
	before string // address of the bytes on the disk, "" when there is no file
	after  string // address when done, "" when the file is gone
	temp   string
	old    []byte // the bytes before, to put them back when the ledger fails
	fail   func(error) error
}

// plan is one write: files in order, the relations that go with a removed
// document, and the events that tell of it.
type plan struct {
	edits   []edit
	drop    []triple
	changes []change
	then    error // told after the write, which stands
}

func (p *plan) encode(actor string) []byte {
	edits, drop, events := []any{}, []any{}, []any{}
	for _, e := range p.edits {
		edits = append(edits, canon.Obj("file", e.file, "temp", e.temp, "before", e.before, "after", e.after))
	}
	for _, t := range p.drop {
		drop = append(drop, canon.Obj("source", t.Source, "target", t.Target, "type", t.Type))
	}
	for _, c := range p.changes {
		events = append(events, canon.Obj("kind", c.kind, "subject", c.subject, "body", c.body))
	}
	return encoded(canon.Obj("v", 1, "actor", valid(actor), "edits", edits, "drop", drop, "events", events))
}

// encoded writes an object of whole numbers and texts that are valid, which
// always has a form: paths that are no text are refused by the guard.
func encoded(o *canon.Object) []byte {
	data, _ := canon.Indent(o)
	return data
}

// decodePlan reads an intent back; ok is false for anything that is not one.
func decodePlan(data []byte) (p *plan, actor string, ok bool) {
	o, err := canon.ParseObject(data, canon.Limits{Depth: 64})
	if err != nil {
		return nil, "", false
	}
	p = &plan{}
	actor, _ = o.Value("actor").(string)
	for _, x := range objects(o.Value("edits")) {
		e := edit{file: textOf(x, "file"), temp: textOf(x, "temp"), before: textOf(x, "before"), after: textOf(x, "after")}
		if !filepath.IsLocal(e.file) || e.temp != "" && (!filepath.IsLocal(e.temp) || !isTemp(e.temp)) {
			return nil, "", false
		}
		p.edits = append(p.edits, e)
	}
	for _, x := range objects(o.Value("drop")) {
		p.drop = append(p.drop, triple{textOf(x, "source"), textOf(x, "target"), textOf(x, "type")})
	}
	for _, x := range objects(o.Value("events")) {
		body, isObject := x.Value("body").(*canon.Object)
		if !isObject {
			return nil, "", false
		}
		p.changes = append(p.changes, change{kind: textOf(x, "kind"), subject: textOf(x, "subject"), body: body})
	}
	return p, actor, len(p.edits) > 0
}

func objects(v any) []*canon.Object {
	list, _ := v.([]any)
	out := make([]*canon.Object, 0, len(list))
	for _, x := range list {
		if o, ok := x.(*canon.Object); ok {
			out = append(out, o)
		}
	}
	return out
}

func textOf(o *canon.Object, key string) string {
	s, _ := o.Value(key).(string)
	return s
}

// intentLeft reports whether a write was begun that may not have ended.
func (b *Base) intentLeft() bool {
	f, err := openFolder(filepath.Join(b.root, baseDir), b.ask)
	if err != nil {
		return false
	}
	defer f.close()
	state, err := f.open(stateDir)
	if err != nil {
		return false
	}
	defer state.close()
	_, err = state.look(intentFile)
	return err == nil
}

// recoverIntent ends what a crashed write began: what reached the disk is told
// to the ledger as the write would have, what did not is forgotten. The caller
// holds the project's lock and has folded the ledger.
func (b *Base) recoverIntent(ctx context.Context, s *store) error {
	name := stateDir + "/" + intentFile
	data, err := s.read(name)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return ioFault(err, "reading", basePrefix+name)
	}
	s.sweep(".")
	if p, actor, ok := decodePlan(data); ok {
		for _, e := range p.edits {
			if e.temp != "" {
				_ = s.root.Remove(e.temp) // mostly gone already
			}
		}
		done, err := b.finishEdits(s, p)
		if err != nil {
			return err
		}
		if done {
			b.log.InfoContext(ctx, "finished a write that was cut short", slog.String("actor", actor))
			if err := b.appendMissing(ledger.WithActor(ctx, actor), s, p.changes); err != nil {
				return err
			}
		}
	}
	if err := b.step("recovered"); err != nil {
		return err
	}
	if err := s.root.Remove(name); err != nil && !isNotExist(err) {
		return ioFault(err, "removing", basePrefix+name)
	}
	return nil
}

// finishEdits reports whether the plan's edits are all on the disk. When a
// document is gone and only its relations are left, it takes those away too.
func (b *Base) finishEdits(s *store, p *plan) (done bool, err error) {
	for i, e := range p.edits {
		at, err := s.addressAt(e.file)
		if err != nil {
			return false, ioFault(err, "reading", basePrefix+e.file)
		}
		if at == e.after {
			continue
		}
		if i == 0 || at != e.before || e.file != manifestFile || len(p.drop) == 0 {
			return false, nil
		}
		data, err := s.read(e.file)
		if err != nil {
			return false, ioFault(err, "reading", basePrefix+e.file)
		}
		m, err := parseManifest(data)
		if err != nil {
			return false, nil
		}
		gone := make(map[triple]bool, len(p.drop))
		for _, t := range p.drop {
			gone[t] = true
		}
		m, _ = m.without(func(t triple) bool { return gone[t] })
		if err := s.writeFile(e.file, m.bytes(), s.modeOf(e.file, 0o644), b.step); err != nil {
			return false, ioFault(err, "writing", basePrefix+e.file)
		}
	}
	return true, nil
}

// appendMissing appends those changes that the ledger does not have.
func (b *Base) appendMissing(ctx context.Context, s *store, changes []change) error {
	h := &b.hist
	var missing []change
	for _, c := range changes {
		address := textOf(c.body, "address")
		switch c.kind {
		case kindWritten:
			rel, ok := h.pathOf(c.subject)
			if was := h.docs[rel]; !ok || was.live && was.address == address {
				continue
			}
			c.blob = func() ([]byte, error) { return s.read(rel) }
		case kindRemoved:
			if rel, ok := h.pathOf(c.subject); !ok || !h.docs[rel].live {
				continue
			}
		case kindRelationAdded, kindRelationRemoved:
			if t, ok := h.tripleOf(c.subject); !ok || h.rels[t] == (c.kind == kindRelationAdded) {
				continue
			}
		case kindInitialised:
			if h.settings == address {
				continue
			}
			c.blob = func() ([]byte, error) { return s.read(settingsFile) }
		default:
			continue
		}
		missing = append(missing, c)
	}
	if len(missing) == 0 {
		return nil
	}
	return b.append(ctx, missing)
}
