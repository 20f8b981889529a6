package documents

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// Remove deletes a document and its relations, and with them every relation
// whose end no longer exists. It answers path, title, type, category and
// relations_removed, the number of the document's own relations.
func (b *Base) Remove(ctx context.Context, p string) (*canon.Object, error) {
	var answer *canon.Object
	err := b.write(ctx, false, func(v *view) (*plan, error) {
		if v.settingsErr != nil {
			return nil, errUnverified
		}
		rel, err := b.guardWrite(p, v.declared(), removing)
		if err != nil {
			return nil, err
		}
		old, err := b.readForWrite(rel)
		if err != nil {
			return nil, removalFault(err, rel)
		}
		d := readDocument(&mount{id: localSource, prefix: basePrefix}, rel, old, stamp{}, b.now())
		out := &plan{edits: []edit{{file: rel, before: d.address,
			fail: func(err error) error { return ioFault(err, "removing", basePrefix+rel) }}}}
		body := canon.Obj("address", d.address, "tool", "remove_document")
		out.changes = []change{{kind: kindRemoved, subject: b.hist.docSubject(rel), body: body}}
		own := b.dropRelations(v, out, rel)
		_, typ := splitName(path.Base(rel))
		answer = canon.Obj("path", basePrefix+rel, "title", d.title, "type", valid(typ),
			"category", d.category, "relations_removed", own)
		return out, nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// removalFault words a failed reading as the removal it would have been.
func removalFault(err error, rel string) error {
	f := fault.As(err)
	if f == nil || f.Kind == fault.NotFound || f.Kind == fault.Limit {
		return err
	}
	return ioFault(errors.Unwrap(f), "removing", basePrefix+rel)
}

// dropRelations adds to a removal what it does to the manifest and returns how
// many relations the document had. An invalid manifest cannot be changed: the
// document goes all the same, and the caller is told.
func (b *Base) dropRelations(v *view, p *plan, rel string) (own int) {
	if v.manifestErr != nil {
		p.then = manifestFault("file deleted but failed to update manifest", v.manifestErr)
		return 0
	}
	exists := b.existence(v)
	m, gone := v.manifest.without(func(t triple) bool {
		return t.Source == rel || t.Target == rel || !exists(t.Source) || !exists(t.Target)
	})
	if len(gone) == 0 {
		return 0
	}
	data := m.bytes()
	b.state.ours = ownManifest{data, m}
	p.drop = gone
	p.edits = append(p.edits, edit{file: manifestFile, data: data, before: addressOf(b.state.manifest.data),
		fail: func(err error) error { return manifestFault("file deleted but failed to update manifest", err) }})
	for _, t := range gone {
		if t.Source == rel || t.Target == rel {
			own++
		}
		p.changes = append(p.changes, change{kind: kindRelationRemoved, subject: b.hist.relSubject(t),
			body: canon.Obj("tool", "remove_document")})
	}
	return own
}

// existence tells whether a path below .archcore/ is a file there.
func (b *Base) existence(v *view) func(string) bool {
	known := make(map[string]bool, len(v.docs))
	for _, d := range v.docs {
		if !d.source.global {
			known[d.rel] = true
		}
	}
	return func(rel string) bool {
		there, seen := known[rel]
		if !seen {
			err := b.ask("stat", rel)
			var info fs.FileInfo
			if err == nil {
				info, err = os.Stat(filepath.Join(b.root, baseDir, filepath.FromSlash(rel)))
			}
			there = err == nil && !info.IsDir() || err != nil && !isAbsent(err) // what cannot be looked at is not gone
			known[rel] = there
		}
		return there
	}
}
