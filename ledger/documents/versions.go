package documents

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// Version is one event of a document's history.
type Version struct {
	Event     string
	Seq       int64
	Time      time.Time
	Actor     string // filesystem for what was changed by hand
	Tool      string // "" for what was changed by hand
	Removed   bool
	Path      string // where the document was then
	Address   string // of the bytes; for a removal, of the last ones
	Size      int64
	Type      string
	Status    string
	Tags      []string
	MovedFrom string // path below .archcore/, "" when the document did not move
	Batch     string
}

// Versions returns what happened to a document, oldest first, under its former
// paths too.
func (b *Base) Versions(ctx context.Context, p string) ([]Version, error) {
	rel, err := b.historyPath(p)
	if err != nil {
		return nil, err
	}
	l, subject, err := b.currentLedger(ctx)
	if err != nil {
		return nil, err
	}
	out, err := versionsOf(ctx, l, subject, rel, map[string]bool{})
	if err == nil && len(out) == 0 {
		return nil, fault.New(fault.NotFound, "no history of %s", basePrefix+rel).
			WithHint("arche doc log takes the path of a document below .archcore/, also of a removed one")
	}
	return out, err
}

// historyPath checks a path whose document need not exist any more.
func (b *Base) historyPath(p string) (string, error) {
	if !strings.HasPrefix(p, basePrefix) {
		p = basePrefix + strings.TrimPrefix(p, "./")
	}
	rel, ok := cleanLocal(p)
	if !ok || isState(rel) {
		return "", errRelative
	}
	return rel, nil
}

// currentLedger brings the ledger up to the disk and returns it with the
// function that names a document's subject in it.
func (b *Base) currentLedger(ctx context.Context) (*ledger.Ledger, func(string) string, error) {
	if b.opts.Refusal != nil {
		return nil, nil, b.opts.Refusal
	}
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	v, err := b.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !v.exists {
		return nil, nil, fault.New(fault.NotFound, "this project has no .archcore/").WithHint("arche init sets it up")
	}
	if b.behind(v) {
		if _, err := b.catchUp(ctx, writeWait); err != nil {
			return nil, nil, err
		}
	}
	l, err := b.ledger()
	h := history{scope: b.hist.scope}
	return l, h.docSubject, err
}

func versionsOf(ctx context.Context, l *ledger.Ledger, subject func(string) string, rel string, seen map[string]bool) ([]Version, error) {
	seen[rel] = true
	var out []Version
	for e, err := range l.Events(ctx, ledger.Filter{Kinds: []string{kindWritten, kindRemoved}, Subject: subject(rel)}) {
		if err != nil {
			return nil, err
		}
		v, err := versionOf(e, rel)
		if err != nil {
			return nil, err
		}
		if v.MovedFrom != "" && !seen[v.MovedFrom] {
			before, err := versionsOf(ctx, l, subject, v.MovedFrom, seen)
			if err != nil {
				return nil, err
			}
			for _, old := range before { // what became of the old place later is not this document's
				if old.Seq < e.Seq() {
					out = append(out, old)
				}
			}
		}
		out = append(out, v)
	}
	return out, nil
}

func versionOf(e ledger.Event, rel string) (Version, error) {
	body, err := e.Body()
	if err != nil {
		return Version{}, err
	}
	v := Version{Event: e.ID(), Seq: e.Seq(), Time: e.RecordedAt(), Actor: e.Actor(), Removed: e.Kind() == kindRemoved,
		Path: basePrefix + rel, Tool: textOf(body, "tool"), Address: textOf(body, "address"), Size: intOf(body.Value("size")),
		Type: textOf(body, "type"), Status: textOf(body, "status"), MovedFrom: textOf(body, "moved_from"), Batch: textOf(body, "batch")}
	list, _ := body.Value("tags").([]any)
	for _, t := range list {
		if s, ok := t.(string); ok {
			v.Tags = append(v.Tags, s)
		}
	}
	return v, nil
}

// At returns the version of a document that ref names, and its bytes. ref is
// an event id or the beginning of one, #N for the N-th version, or a time (RFC 3339, or
// a date: the end of that day in UTC) for what was there then.
func (b *Base) At(ctx context.Context, p, ref string) (Version, []byte, error) {
	versions, err := b.Versions(ctx, p)
	if err != nil {
		return Version{}, nil, err
	}
	v, err := pickVersion(versions, ref)
	if err != nil {
		return Version{}, nil, err
	}
	if v.Removed {
		return v, nil, fault.New(fault.NotFound, "%s was removed at %s", v.Path, v.Time.Format(time.RFC3339)).
			WithHint("name an earlier event or time; arche doc log lists them")
	}
	l, _, err := b.currentLedger(ctx)
	if err != nil {
		return Version{}, nil, err
	}
	data, err := l.Blob(ctx, v.Address)
	if err != nil {
		return Version{}, nil, err
	}
	return v, data, nil
}

const minEventPrefix = 6 // hex digits that are taken for the beginning of an id

func pickVersion(versions []Version, ref string) (Version, error) {
	unknown := fault.New(fault.NotFound, "no version %q of this document", ref).
		WithHint("--at takes an event id, #NUMBER or a time like 2026-01-31T12:00:00Z; arche doc log lists them")
	if n, ok := strings.CutPrefix(ref, "#"); ok {
		if i, err := strconv.Atoi(n); err == nil && i >= 1 && i <= len(versions) {
			return versions[i-1], nil
		}
		return Version{}, unknown
	}
	if at, ok := parseMoment(ref); ok {
		for _, v := range slices.Backward(versions) {
			if !v.Time.After(at) {
				return v, nil
			}
		}
		return Version{}, fault.New(fault.NotFound, "the document was not there yet at %s", ref).
			WithHint("its history begins at %s", versions[0].Time.Format(time.RFC3339))
	}
	prefix := strings.TrimPrefix(strings.TrimPrefix(ref, "evt:"), "blake3:")
	if len(prefix) < minEventPrefix {
		return Version{}, unknown
	}
	found := -1
	for i, v := range versions {
		if strings.HasPrefix(strings.TrimPrefix(v.Event, "evt:blake3:"), prefix) {
			if found >= 0 {
				return Version{}, fault.New(fault.Invalid, "%q begins several event ids", ref).WithHint("give more digits")
			}
			found = i
		}
	}
	if found < 0 {
		return Version{}, unknown
	}
	return versions[found], nil
}

func parseMoment(s string) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, true
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.AddDate(0, 0, 1).Add(-time.Microsecond), true
	}
	return time.Time{}, false
}

// Restore gives a document the bytes it had in an earlier version, at the path
// given, as a new event. It answers path, restored (the event), address and
// changed, false when the document has those bytes now.
func (b *Base) Restore(ctx context.Context, p, ref string) (*canon.Object, error) {
	named, err := b.historyPath(p)
	if err != nil {
		return nil, err
	}
	v, data, err := b.At(ctx, p, ref)
	if err != nil {
		return nil, err
	}
	changed := false
	var rel string
	err = b.write(ctx, true, func(view *view) (*plan, error) {
		if view.settingsErr != nil {
			return nil, errUnverified
		}
		if rel, err = b.guardWrite(basePrefix+named, view.declared(), updating); err != nil {
			return nil, err
		}
		old, err := b.readForWrite(rel)
		if changed = fault.Is(err, fault.NotFound); changed {
			return b.recreate(rel, data), nil
		}
		if err != nil {
			return nil, err
		}
		out := b.rewrite(rel, old, data, "doc restore")
		changed = len(out.edits) > 0
		return out, nil
	})
	if err != nil {
		return nil, err
	}
	return canon.Obj("path", basePrefix+rel, "restored", v.Event, "address", v.Address, "changed", changed), nil
}

// recreate is the plan that brings a removed document back.
func (b *Base) recreate(rel string, data []byte) *plan {
	d := readDocument(&mount{id: localSource, prefix: basePrefix}, rel, data, stamp{}, b.now())
	c := b.hist.writtenChange(d, given(data))
	c.body.Set("tool", "doc restore")
	return &plan{changes: []change{c}, edits: []edit{{file: rel, data: data, create: true,
		fail: func(err error) error { return ioFault(err, "writing", basePrefix+rel) }}}}
}
