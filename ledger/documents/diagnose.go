package documents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Finding is something in a project's documents that somebody should look at.
type Finding struct {
	Code    string // stable, for programs: broken_frontmatter, dangling_relation, ...
	Path    string // project-relative; "" when it is about the whole project
	Message string
	Hint    string // what to do about it
}

// Diagnose looks at a project's documents and returns what is wrong or worth
// knowing, in a fixed order: settings and manifest, sources, documents,
// relations, moves, ledger.
func Diagnose(ctx context.Context, b *Base) ([]Finding, error) {
	v, err := b.see(ctx)
	if err != nil {
		return nil, err
	}
	var out []Finding
	add := func(code, path, hint, format string, args ...any) {
		out = append(out, Finding{code, path, fmt.Sprintf(format, args...), hint})
	}
	if v.settingsErr != nil {
		add("invalid_settings", basePrefix+settingsFile, "repair it, or remove it and run arche init", "%s", reasonOf(v.settingsErr))
	}
	if v.manifestErr != nil {
		add("invalid_manifest", basePrefix+manifestFile, "restore it from version control, or repair it by hand", "%s", reasonOf(v.manifestErr))
	}
	for _, id := range v.missing {
		add("missing_source", "", "fetch it, or take it out of .archcore/settings.json", "the global source %q is not there", id)
	}
	if v.scanErr != nil {
		add("unusable_source", "", "correct the globals of .archcore/settings.json", "%s", strings.TrimPrefix(v.scanErr.Error(), "scanning documents: "))
	}
	status := map[string]string{}
	for _, d := range v.docs {
		d.diagnose(add)
		if !d.source.global {
			status[d.rel] = d.status
		}
	}
	b.diagnoseRelations(v, status, add)
	if why := b.ledgerTrouble(ctx, v); why != "" {
		add("ledger_behind", "", "see whether another process holds the ledger; the next call tries again", "%s", why)
		if b.intentLeft() {
			add("unfinished_write", "", "let the next call end it: no process may hold the project or its ledger, and .archcore/ must be writable",
				"a write was begun and is not ended")
		}
	}
	return out, nil
}

func reasonOf(err error) string {
	if s := err.Error(); strings.HasPrefix(s, "invalid ") {
		return s
	}
	return ioClass(err)
}

type addFinding func(code, path, hint, format string, args ...any)

// diagnose looks at one document.
func (d *document) diagnose(add addFinding) {
	path := valid(d.path)
	if path != d.path {
		add("unnamed", path, "give it a name in UTF-8", "its name is no text: it has no history and tools cannot change it")
	}
	switch {
	case d.unread && d.stamp.size > maxDocument:
		add("too_large", path, "split it", "it is larger than %d MiB and is not read", maxDocument>>20)
	case d.unread:
		add("unreadable", path, "see its permissions", "it cannot be read")
	case d.parseErr:
		add("broken_frontmatter", path, "repair the block between the --- lines by hand", "its metadata block is not valid YAML; tools refuse to change it")
	case d.source.global:
	case d.status != "" && !slices.Contains(vocabulary.Statuses, d.status):
		add("unknown_status", path, "use one of "+validStatuses, "its status %q is none that tools know", d.status)
	}
	if _, known := typesByName[d.typ]; !known && !d.source.global {
		add("unknown_type", path, "name it SLUG.TYPE.md", "its name ends in no known type")
	}
}

// diagnoseRelations looks at both ends of every relation.
func (b *Base) diagnoseRelations(v *view, status map[string]string, add addFinding) {
	b.lookMu.Lock()
	moved := maps.Clone(b.hist.moved)
	b.lookMu.Unlock()
	exists := b.existence(v)
	told := map[string]bool{}
	for _, t := range v.manifest.relations {
		for _, end := range []string{t.Source, t.Target} {
			if exists(end) {
				continue
			}
			hint := "remove it with remove_relation, or bring the document back with arche doc restore"
			if to := moved[end]; to != "" && exists(to) {
				hint = "the document is now " + basePrefix + to + ": add the relation there and remove this one"
			}
			add("dangling_relation", basePrefix+valid(end), hint, "%s %s %s: the document is not there", valid(t.Source), t.Type, valid(t.Target))
		}
		if t.Type == "supersedes" && status[t.Target] == "accepted" && exists(t.Source) && !told[t.Target] {
			told[t.Target] = true
			add("superseded_accepted", basePrefix+valid(t.Target), "set its status to rejected, or remove the relation",
				"it is accepted though %s supersedes it", basePrefix+valid(t.Source))
		}
	}
	for _, d := range v.docs {
		if from := d.movedFrom(moved); from != "" {
			add("moved", valid(d.path), "nothing to do unless relations name the old path", "it was moved from %s", basePrefix+valid(from))
		}
	}
}

// movedFrom is the path a document was last moved from, "" when it was not.
func (d *document) movedFrom(moved map[string]string) string {
	if d.source.global {
		return ""
	}
	best := ""
	for from, to := range moved {
		if to == d.rel && (best == "" || from < best) {
			best = from
		}
	}
	return best
}

// ledgerTrouble is why the ledger does not agree with the disk, "" when it
// does.
func (b *Base) ledgerTrouble(ctx context.Context, v *view) string {
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	if !v.exists || !b.behind(v) {
		return ""
	}
	if _, err := b.catchUp(ctx, lookWait); err != nil {
		return "the ledger has not been told of the last changes"
	}
	return ""
}
