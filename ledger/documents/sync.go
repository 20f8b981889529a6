package documents

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// handActor is who changed what no tool did.
const handActor = "filesystem"

// see is how every tool begins: look at the disk, tell the ledger what changed
// there by hand. A ledger that cannot be reached does not keep a reader from
// the documents; it is told at the next call.
func (b *Base) see(ctx context.Context) (*view, error) {
	if b.opts.Refusal != nil {
		return nil, b.opts.Refusal
	}
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	v, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	if !b.behind(v) {
		return v, nil
	}
	after, err := b.catchUp(ctx, lookWait)
	switch {
	case err == nil:
		return after, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errKilled):
		return nil, err
	}
	if !b.hist.warned {
		b.log.WarnContext(ctx, "hand edits are not in the ledger yet", slog.Any("error", err))
		b.hist.warned = true
	}
	return v, nil
}

// behind reports whether the ledger may have to be told something. The caller
// holds lookMu.
func (b *Base) behind(v *view) bool {
	h := &b.hist
	if !v.exists {
		return false
	}
	b.forgetLostState()
	if b.intentLeft() {
		return true
	}
	if !h.loaded {
		return true
	}
	if h.agreed == v.generation {
		return false
	}
	if len(b.changes(v)) > 0 {
		return true
	}
	h.agreed = v.generation
	return false
}

// forgetLostState starts over when the state folder was taken away under a
// running program: its ledger is gone, or another one.
func (b *Base) forgetLostState() {
	h := &b.hist
	now := b.stateFolder()
	if h.loaded && h.stateIno != now {
		if h.own != nil {
			_ = h.own.Close() // its file is gone
			h.own = nil
		}
		h.loaded, h.agreed, h.scope = false, 0, ""
	}
	h.stateIno = now
}

// stateFolder tells one state folder from another; 0 when there is none.
func (b *Base) stateFolder() uint64 {
	f, err := openFolder(filepath.Join(b.root, baseDir), b.ask)
	if err != nil {
		return 0
	}
	defer f.close()
	st, err := f.look(stateDir)
	if err != nil {
		return 0
	}
	return max(st.ino, 1) // not every platform tells
}

// catchUp takes the project's lock and brings the ledger up to the disk. The
// caller holds lookMu.
func (b *Base) catchUp(ctx context.Context, wait time.Duration) (*view, error) {
	s, err := b.openStore(ctx, false, wait)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return b.catchUpLocked(ctx, s)
}

// catchUpLocked is catchUp for a caller that holds the project's lock: finish
// what a crashed write left, fold what others appended, append what changed by
// hand.
func (b *Base) catchUpLocked(ctx context.Context, s *store) (*view, error) {
	if err := b.refresh(ctx, s); err != nil {
		return nil, err
	}
	if err := b.recoverIntent(ctx, s); err != nil {
		return nil, err
	}
	v, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		drafts := b.changes(v)
		if len(drafts) == 0 {
			break
		}
		err := b.append(ledger.WithActor(ctx, handActor), drafts)
		if err == nil {
			if len(drafts) > largeImport {
				debug.FreeOSMemory() // what the import needed is several times what is kept
			}
			break
		}
		if !errors.Is(err, errMoved) && !isNotExist(err) || attempt == 2 {
			return nil, err
		}
		if v, err = b.look(ctx); err != nil { // edited while it was being read: look again
			return nil, err
		}
	}
	b.hist.stateIno = b.stateFolder() // it is there now: remember which
	b.hist.agreed, b.hist.warned = v.generation, false
	return v, b.step("caught up")
}

// change is one event to come: its draft, and the body's batch still open.
type change struct {
	kind, subject string
	body          *canon.Object
	blob          func() ([]byte, error) // the document's bytes, nil when there are none
}

// largeImport is from how many changes on memory is given back after them.
const largeImport = 2000

// unitBytes is how much content one unit of work carries, draftBytes what an
// event counts beside its content. Only the first import of a large project is
// more; its units share one batch.
const (
	unitBytes  = 2 << 20
	draftBytes = 512
)

// append gives the changes one batch id, appends them as one unit of work, and
// folds what came of it.
func (b *Base) append(ctx context.Context, changes []change) error {
	batch := batchID(changes, &b.hist)
	for len(changes) > 0 {
		var drafts []ledger.Draft
		size := 0
		for len(changes) > 0 && size < unitBytes {
			d, n, err := changes[0].draft(batch)
			if err != nil {
				return err
			}
			changes[0] = change{} // told: let go of it
			drafts, size, changes = append(drafts, d), size+n+draftBytes, changes[1:]
		}
		if err := b.appendUnit(ctx, drafts); err != nil {
			return err
		}
	}
	return nil
}

// draft is the change as the ledger takes it, and the size of its content.
func (c *change) draft(batch string) (ledger.Draft, int, error) {
	body := c.body
	if c.kind != kindInitialised && c.kind != kindHostWired {
		body = body.Clone()
		body.Set("batch", batch)
	}
	d := ledger.Draft{Kind: c.kind, Subject: c.subject, Body: body}
	if c.blob == nil {
		return d, 0, nil
	}
	data, err := c.blob()
	if err != nil {
		return d, 0, err
	}
	d.Blobs = []ledger.Blob{{Address: textOf(body, "address"), Bytes: data}}
	return d, len(data), nil
}

func (b *Base) appendUnit(ctx context.Context, drafts []ledger.Draft) error {
	h := &b.hist
	events, err := h.opened().Append(ctx, drafts)
	if err != nil {
		return err
	}
	seq := h.seq
	for _, e := range events {
		if err := h.fold(e); err != nil {
			return err
		}
	}
	if h.seq > seq+int64(len(events)) {
		h.seq = seq // others appended in between: fold them too, next time
	}
	return nil
}

// batchID names a unit of work by what it changes and what it replaces, so
// that the same work done again after a crash is the same batch.
func batchID(changes []change, h *history) string {
	sum := blake3.New()
	_, _ = sum.WriteString("arche.batch.v1")
	for _, c := range changes {
		address, _ := c.body.Value("address").(string)
		was := ""
		if rel, ok := h.pathOf(c.subject); ok {
			was = h.docs[rel].event
		}
		_, _ = sum.WriteString("\x00" + c.kind + "\x00" + c.subject + "\x00" + address + "\x00" + was)
	}
	return "bat:" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// changes is how the disk differs from the log.
func (b *Base) changes(v *view) []change {
	if !v.exists {
		return nil
	}
	var out []change
	if !v.partial {
		out = append(out, b.documentChanges(v)...)
	}
	if v.manifestErr == nil {
		out = append(out, b.relationChanges(v.manifest)...)
	}
	if c, ok := b.settingsChange(); ok {
		out = append(out, c)
	}
	return out
}

func (b *Base) documentChanges(v *view) []change {
	h := &b.hist
	var written, removed []change
	seen := make(map[string]bool, len(v.docs))
	for _, d := range v.docs {
		if d.source.global || !utf8.ValidString(d.rel) { // an event names text
			continue
		}
		seen[d.rel] = true
		if was := h.docs[d.rel]; d.unread || was.live && was.address == d.address {
			continue
		}
		written = append(written, h.writtenChange(d, func() ([]byte, error) {
			data, _, err := readBelow(b.ask, d.source.dir, d.rel)
			if err == nil && addressOf(data) != d.address {
				err = errMoved
			}
			return data, err
		}))
	}
	gone := map[string][]string{} // address -> paths
	for rel, was := range h.docs {
		if !was.live || seen[rel] || b.stillHidden(rel, was) {
			continue
		}
		gone[was.address] = append(gone[was.address], rel)
		removed = append(removed, change{kind: kindRemoved, subject: h.docSubject(rel), body: canon.Obj("address", was.address)})
	}
	slices.SortFunc(removed, func(a, b change) int { return strings.Compare(a.subject, b.subject) })
	for _, c := range written {
		address, _ := c.body.Value("address").(string)
		if from := gone[address]; len(from) == 1 {
			c.body.Set("moved_from", from[0])
			delete(gone, address)
		}
	}
	return append(written, removed...)
}

// stillHidden reports whether a document that the walk does not enter (its
// folder is hidden) is on the disk as the log has it.
func (b *Base) stillHidden(rel string, was logged) bool {
	if !hidden(rel) {
		return false
	}
	data, _, err := readBelow(b.ask, filepath.Join(b.root, baseDir), rel)
	if err != nil { // one that cannot be read now is not gone
		return !isAbsent(err)
	}
	return addressOf(data) == was.address
}

// hidden reports whether a path goes through a folder that scans pass over.
func hidden(rel string) bool {
	parts := strings.Split(rel, "/")
	for _, p := range parts[:len(parts)-1] {
		if strings.HasPrefix(p, ".") {
			return true
		}
	}
	return false
}

// writtenChange is the event of a document's bytes; read gives them.
func (h *history) writtenChange(d *document, read func() ([]byte, error)) change {
	return change{kind: kindWritten, subject: h.docSubject(d.rel), body: documentBody(d), blob: read}
}

// given is a reader of bytes that are at hand.
func given(data []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return data, nil }
}

// documentBody is what an event says of a document: no title, no text.
func documentBody(d *document) *canon.Object {
	tags := []any{}
	for _, t := range d.tags {
		tags = append(tags, t)
	}
	o := canon.Obj("address", d.address, "size", d.size, "type", valid(d.typ), "status", d.status, "tags", tags)
	o.Set("parse_error", d.parseErr)
	o.Set("moved_from", nil)
	return o
}

func (b *Base) relationChanges(m *manifest) []change {
	h := &b.hist
	var out []change
	for _, t := range m.relations {
		if !h.rels[t] {
			out = append(out, change{kind: kindRelationAdded, subject: h.relSubject(t), body: &canon.Object{}})
		}
	}
	if len(m.relations)-len(out) == len(h.rels) {
		return out
	}
	var gone []change
	for t := range h.rels {
		if !m.has(t) {
			gone = append(gone, change{kind: kindRelationRemoved, subject: h.relSubject(t), body: &canon.Object{}})
		}
	}
	slices.SortFunc(gone, func(a, b change) int { return strings.Compare(a.subject, b.subject) })
	return append(out, gone...)
}

// settingsChange is the event of a settings file that the log does not have.
func (b *Base) settingsChange() (change, bool) {
	s := &b.state
	if s.settingsVal == nil {
		return change{}, false
	}
	c := b.hist.settingsEvent(s.settingsVal, s.settings.data)
	address, _ := c.body.Value("address").(string)
	return c, address != b.hist.settings
}

// settingsEvent says which settings a project has; the file's bytes, which may
// hold the address of a server, are a blob.
func (h *history) settingsEvent(v *settings, data []byte) change {
	shown := canon.Obj("sync", v.object.Value("sync"))
	if lang, ok := v.object.Get("language"); ok {
		shown.Set("language", lang)
	}
	ids := []any{}
	for _, g := range v.globals {
		ids = append(ids, g.ID)
	}
	shown.Set("globals", ids)
	return change{kind: kindInitialised, subject: h.projectSubject(),
		body: canon.Obj("settings", shown, "address", addressOf(data)),
		blob: func() ([]byte, error) { return data, nil }}
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// isAbsent reports whether an error says that there is no file of a name, and
// not that it cannot be looked at now.
func isAbsent(err error) bool {
	return isNotExist(err) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL)
}
