package documents

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// RelationRequest names one relation; paths may carry the .archcore/ prefix.
type RelationRequest struct {
	Source, Target, Type string
}

// compile checks what can be checked without the disk, and strips the prefixes.
func (r *RelationRequest) compile() (triple, error) {
	if !slices.Contains(vocabulary.Relations, r.Type) {
		return triple{}, invalid("invalid relation type: %s", r.Type)
	}
	t := triple{strings.TrimPrefix(r.Source, basePrefix), strings.TrimPrefix(r.Target, basePrefix), r.Type}
	switch {
	case isAbsolute(t.Source) || isAbsolute(t.Target):
		return triple{}, invalid("relation paths must be relative and within .archcore/")
	case strings.Contains(t.Source, ".."):
		return triple{}, invalid("source path must not contain '..'")
	case strings.Contains(t.Target, ".."):
		return triple{}, invalid("target path must not contain '..'")
	}
	return t, nil
}

// guardRelation checks both ends against the settings and the disk and cleans
// them.
func (b *Base) guardRelation(t triple, v *view, action string) (triple, error) {
	if v.settingsErr != nil {
		return triple{}, errUnverified
	}
	for _, end := range []string{t.Source, t.Target} {
		if err := b.guardEndpoint(end, v.declared(), action); err != nil {
			return triple{}, err
		}
	}
	return triple{path.Clean(t.Source), path.Clean(t.Target), t.Type}, nil
}

// AddRelation adds a relation between two documents and answers source,
// target, type and added, false when it was there.
func (b *Base) AddRelation(ctx context.Context, req RelationRequest) (*canon.Object, error) {
	given, err := req.compile()
	if err != nil {
		return nil, err
	}
	var t triple
	added := false
	err = b.write(ctx, false, func(v *view) (*plan, error) {
		if t, err = b.guardRelation(given, v, "add"); err != nil {
			return nil, err
		}
		if t.Source == t.Target {
			return nil, invalid("source and target must be different documents")
		}
		if !b.isThere(t.Source) {
			return nil, fault.New(fault.NotFound, "source document not found: %s", basePrefix+t.Source)
		}
		if !b.isThere(t.Target) {
			return nil, fault.New(fault.NotFound, "target document not found: %s", basePrefix+t.Target)
		}
		if err := manifestFault("updating manifest", v.manifestErr); err != nil {
			return nil, err
		}
		added = !v.manifest.has(t)
		if !added {
			return &plan{}, nil
		}
		if len(v.manifest.relations) >= maxRelations {
			return nil, fault.New(fault.Limit, "updating manifest: invalid manifest: too many relations (%d, max %d)",
				maxRelations+1, maxRelations)
		}
		return b.manifestPlan(v.manifest.with(t), kindRelationAdded, t, "add_relation"), nil
	})
	if err != nil {
		return nil, err
	}
	return canon.Obj("source", t.Source, "target", t.Target, "type", t.Type, "added", added), nil
}

// RemoveRelation takes a relation away and answers source, target, type and
// removed, false when there was none.
func (b *Base) RemoveRelation(ctx context.Context, req RelationRequest) (*canon.Object, error) {
	given, err := req.compile()
	if err != nil {
		return nil, err
	}
	var t triple
	removed := false
	err = b.write(ctx, false, func(v *view) (*plan, error) {
		if t, err = b.guardRelation(given, v, "remove"); err != nil {
			return nil, err
		}
		if err := manifestFault("updating manifest", v.manifestErr); err != nil {
			return nil, err
		}
		m, gone := v.manifest.without(func(r triple) bool { return r == t })
		removed = len(gone) > 0
		if !removed {
			return &plan{}, nil
		}
		return b.manifestPlan(m, kindRelationRemoved, t, "remove_relation"), nil
	})
	if err != nil {
		return nil, err
	}
	return canon.Obj("source", t.Source, "target", t.Target, "type", t.Type, "removed", removed), nil
}

func (b *Base) manifestPlan(m *manifest, kind string, t triple, tool string) *plan {
	data := m.bytes()
	e := edit{file: manifestFile, data: data, create: b.state.manifest.absent,
		fail: func(err error) error { return manifestFault("updating manifest", err) }}
	if !e.create {
		e.before = addressOf(b.state.manifest.data)
	}
	b.state.ours = ownManifest{data, m}
	return &plan{edits: []edit{e},
		changes: []change{{kind: kind, subject: b.hist.relSubject(t), body: canon.Obj("tool", tool)}}}
}

func (b *Base) isThere(rel string) bool {
	info, err := os.Stat(filepath.Join(b.root, baseDir, filepath.FromSlash(rel)))
	return err == nil && info.Mode().IsRegular()
}

// Relations answers the relations in the order they were added; with a path,
// those that start there, then those that end there.
func (b *Base) Relations(ctx context.Context, p string) (*canon.Object, error) {
	v, err := b.see(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.loadingManifest(); err != nil {
		return nil, err
	}
	m := v.manifest
	list := m.relations
	if rel := strings.TrimPrefix(p, basePrefix); p != "" {
		list = nil
		for _, i := range slices.Concat(m.out[rel], m.in[rel]) {
			list = append(list, m.relations[i])
		}
	}
	out := make([]any, len(list))
	for i, t := range list {
		out[i] = canon.Obj("source", valid(t.Source), "target", valid(t.Target), "type", t.Type)
	}
	return canon.Obj("relations", out), nil
}
