package documents

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// The kinds of event that this package appends.
const (
	kindWritten         = "document.written"
	kindRemoved         = "document.removed"
	kindRelationAdded   = "relation.added"
	kindRelationRemoved = "relation.removed"
	kindInitialised     = "project.initialised"
	kindHostWired       = "host.wired"
)

// ownLedger is the project's own ledger in the state folder.
const ownLedger = "ledger.duckdb"

var foldedKinds = []string{kindWritten, kindRemoved, kindRelationAdded, kindRelationRemoved, kindInitialised}

// logged is a document as the log last knew it.
type logged struct {
	address string
	size    int64
	event   string
	live    bool // written, not removed
}

// history is what the ledger says of this project, folded from its events.
type history struct {
	shared *ledger.Ledger // passed in by the program
	own    *ledger.Ledger // the project's own, opened at first need

	scope    string // before every path of a shared ledger, "" in the project's own
	loaded   bool
	seq      int64
	docs     map[string]logged // by path below .archcore/
	rels     map[triple]bool   // live relations
	moved    map[string]string // old path -> new path, of the last move from there
	settings string            // address of the settings file as last told
	agreed   int64             // generation of the disk state that the log agrees with
	warned   bool              // the log was told once that the ledger cannot be reached
	stateIno uint64            // the state folder last seen
}

func (h *history) close() error {
	if h.own == nil {
		return nil
	}
	err := h.own.Close()
	h.own, h.loaded = nil, false
	return err
}

// ledger returns the ledger of this project. The state folder must be there.
func (b *Base) ledger() (*ledger.Ledger, error) {
	h := &b.hist
	if h.shared == nil && h.own == nil {
		l, err := ledger.Open(filepath.Join(b.root, baseDir, stateDir, ownLedger), b.opts.LedgerOptions)
		if err != nil {
			return nil, err
		}
		h.own = l
	}
	return h.opened(), nil
}

// opened is the ledger once it has been folded, nil before.
func (h *history) opened() *ledger.Ledger {
	if h.shared != nil {
		return h.shared
	}
	return h.own
}

// refresh folds the events that came since the last time.
func (b *Base) refresh(ctx context.Context, s *store) error {
	h := &b.hist
	l, err := b.ledger()
	if err != nil {
		return err
	}
	if !h.loaded {
		if h.shared != nil && h.scope == "" {
			if h.scope, err = s.projectScope(b.root); err != nil {
				return err
			}
		}
		h.docs, h.rels, h.moved, h.settings, h.seq = map[string]logged{}, map[triple]bool{}, map[string]string{}, "", 0
	}
	for e, err := range l.Events(ctx, ledger.Filter{After: h.seq, Kinds: foldedKinds}) {
		if err != nil {
			return err
		}
		if err := h.fold(e); err != nil {
			return err
		}
	}
	h.loaded = true
	return nil
}

// fold takes one event in. Events of other projects are passed over.
func (h *history) fold(e ledger.Event) error {
	h.seq = max(h.seq, e.Seq())
	// What a write did may be undone by hand before anybody looks: then the disk
	// is as it was last seen and the ledger is not.
	h.agreed = 0
	switch e.Kind() {
	case kindWritten, kindRemoved:
		rel, ok := h.pathOf(e.Subject())
		if !ok {
			return nil
		}
		body, err := e.Body()
		if err != nil {
			return err
		}
		address, _ := body.Value("address").(string)
		h.docs[rel] = logged{address: address, size: intOf(body.Value("size")), event: e.ID(), live: e.Kind() == kindWritten}
		if from := textOf(body, "moved_from"); from != "" {
			h.moved[from] = rel
		}
	case kindRelationAdded, kindRelationRemoved:
		if t, ok := h.tripleOf(e.Subject()); ok {
			if e.Kind() == kindRelationAdded {
				h.rels[t] = true
			} else {
				delete(h.rels, t)
			}
		}
	case kindInitialised:
		if e.Subject() == h.projectSubject() {
			body, err := e.Body()
			if err != nil {
				return err
			}
			h.settings, _ = body.Value("address").(string)
		}
	}
	return nil
}

// Subjects. In the project's own ledger a document is doc: and its path below
// .archcore/; in a shared one the project's scope stands between, so that two
// projects with a file of one name do not supersede each other.

func (h *history) docSubject(rel string) string { return "doc:" + h.scope + rel }

func (h *history) pathOf(subject string) (string, bool) {
	return strings.CutPrefix(subject, "doc:"+h.scope)
}

func (h *history) relSubject(t triple) string {
	return "rel:" + h.scope + t.Type + ":" + escapeBar(t.Source) + "|" + escapeBar(t.Target)
}

func (h *history) tripleOf(subject string) (t triple, ok bool) {
	rest, ok := strings.CutPrefix(subject, "rel:"+h.scope)
	if !ok {
		return t, false
	}
	typ, ends, ok := strings.Cut(rest, ":")
	source, target, both := strings.Cut(ends, "|")
	return triple{Source: unescapeBar(source), Target: unescapeBar(target), Type: typ}, ok && both
}

func (h *history) projectSubject() string {
	return strings.TrimSuffix("project:"+strings.TrimSuffix(h.scope, "/"), ":")
}

func (h *history) hostSubject(id string) string { return "host:" + h.scope + id }

var (
	barEscaper   = strings.NewReplacer("%", "%25", "|", "%7C")
	barUnescaper = strings.NewReplacer("%25", "%", "%7C", "|")
)

func escapeBar(s string) string   { return barEscaper.Replace(s) }
func unescapeBar(s string) string { return barUnescaper.Replace(s) }

func intOf(v any) int64 {
	n, ok := v.(canon.Number)
	if !ok {
		return 0
	}
	i, _ := strconv.ParseInt(string(n), 10, 64)
	return i
}
