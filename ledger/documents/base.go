package documents

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// Options are how a project's knowledge base is opened.
type Options struct {
	// Root is the project's folder; .archcore/ is below it, or will be.
	Root string
	// Ledger keeps the history. When nil, a ledger of the project's own is
	// made under .archcore/.ledger/ at the first call that needs it.
	Ledger *ledger.Ledger
	// LedgerOptions open the project's own ledger; unused beside Ledger.
	LedgerOptions ledger.Options
	// Refusal, when set, is the answer of every call: the root was implied and
	// is no place for a project (see FindRoot).
	Refusal error
	// Logger hears of what could not be told the client; nil discards.
	Logger *slog.Logger
	// Clock gives the present; nil is the system's.
	Clock func() time.Time
}

// Base is the knowledge base of one project. Its methods are safe for
// concurrent use.
type Base struct {
	root string
	opts Options
	log  *slog.Logger
	now  func() time.Time

	lookMu sync.Mutex // one look at the disk at a time
	state  diskState  // guarded by lookMu
	hist   history    // guarded by lookMu

	words lexicon // of all documents that were searched

	writeMu sync.Mutex // one writer in this process; other processes wait at the lock file

	patience time.Duration // the longest wait for the project's lock; tests shorten it

	// step is told what a write has just done; tests make it fail there.
	step func(string) error
	disk disk.Disk // tests make its changes fail
}

// Open makes a Base of a project's folder. Nothing is read or written yet, and
// .archcore/ need not exist.
func Open(opts Options) (*Base, error) {
	root, err := filepath.Abs(opts.Root)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "project folder cannot be found")
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	b := &Base{root: root, opts: opts, log: opts.Logger, now: opts.Clock, patience: writeWait}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.now == nil {
		b.now = time.Now
	}
	b.step = func(string) error { return nil }
	b.hist.shared = opts.Ledger
	return b, nil
}

// Root is the project's folder, for programs that work in it; never shown to
// clients.
func (b *Base) Root() string { return b.root }

// Close lets go of the project's own ledger. A ledger that was passed in stays
// open.
func (b *Base) Close() error {
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	return b.hist.close()
}

// diskState is what was last seen on the disk, with what it takes to see
// cheaply whether it changed.
type diskState struct {
	local   *mount
	globals resolved
	docs    []*document // local first, then the sources in order of declaration

	settings    cachedFile
	settingsVal *settings
	settingsErr error // present and invalid
	manifest    cachedFile
	manifestVal *manifest
	manifestErr error
	ours        ownManifest
	generation  int64 // grows with every change seen
}

// ownManifest is the manifest this process wrote last, so that it need not be
// parsed again.
type ownManifest struct {
	data []byte
	val  *manifest
}

// view is one look at the disk. It is not changed once made.
type view struct {
	docs        []*document
	settings    *settings // nil when absent or invalid
	settingsErr error
	manifest    *manifest
	manifestErr error
	missing     []string // declared sources that are not there
	scanErr     error    // the scan failed: list and search cannot answer
	partial     bool     // the local folder could not be walked: docs are older
	exists      bool     // .archcore/ is there
	generation  int64
}

// declared are the global sources of the settings; an invalid file has none.
func (v *view) declared() []source {
	if v.settings == nil {
		return nil
	}
	return v.settings.globals
}

// loadingManifest is the error of tools that need the manifest, nil when it is
// valid or absent.
func (v *view) loadingManifest() error { return manifestFault("loading manifest", v.manifestErr) }

func manifestFault(doing string, err error) error {
	if err == nil {
		return nil
	}
	reason := ioClass(err)
	if errors.Is(err, errManifest) {
		reason = err.Error()
	}
	return fault.Wrap(err, fault.Damaged, "%s: %s", doing, reason).
		WithHint("repair or restore .archcore/.sync-state.json; arche doc check names what is wrong")
}

// cachedFile is a small file kept as last read.
type cachedFile struct {
	stamp  stamp
	readAt time.Time
	known  bool
	absent bool
	data   []byte
	err    error
}

// refresh reads the file again when its stamp moved; changed says its bytes,
// or the error, may differ from before.
func (c *cachedFile) refresh(f *folder, name string, limit int64, now time.Time) (changed bool) {
	st, err := f.look(name)
	switch {
	case isGone(err):
		changed = !c.known || !c.absent
		*c = cachedFile{known: true, absent: true}
		return changed
	case err == nil && c.known && !c.absent && c.err == nil && st == c.stamp && st.settled(c.readAt):
		return false
	}
	was := *c
	*c = cachedFile{known: true, stamp: st, readAt: now}
	if err == nil {
		c.data, c.stamp, err = f.readSmall(name, limit)
	}
	c.err = err
	return !was.known || was.absent || was.err != nil || err != nil || string(was.data) != string(c.data)
}

func (f *folder) readSmall(name string, limit int64) ([]byte, stamp, error) {
	file, st, err := f.read(name)
	if err != nil {
		return nil, st, err
	}
	defer file.Close()
	if st.size > limit {
		return nil, st, errTooLarge
	}
	data, err := readLimited(file, limit)
	return data, st, err
}

// look brings what is known up to date with the disk, without the ledger.
// The caller holds lookMu.
func (b *Base) look(ctx context.Context) (*view, error) {
	s := &b.state
	f, err := openFolder(filepath.Join(b.root, baseDir), b.ask)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ioFault(err, "scanning documents", "")
	}
	if err != nil {
		if s.generation == 0 || s.local != nil || len(s.docs) > 0 {
			*s = diskState{generation: s.generation + 1}
		}
		return &view{manifest: emptyManifest, generation: s.generation}, nil
	}
	defer f.close()
	b.lookAtSettings(f)
	b.lookAtManifest(f)
	v := &view{exists: true}
	v.scanErr, v.partial = b.lookAtDocuments(ctx)
	v.docs, v.missing = s.docs, s.globals.missing
	v.settings, v.settingsErr = s.settingsVal, s.settingsErr
	v.manifest, v.manifestErr = s.manifestVal, s.manifestErr
	v.generation = s.generation
	return v, ctx.Err()
}

func (b *Base) lookAtSettings(f *folder) {
	s := &b.state
	if !s.settings.refresh(f, settingsFile, maxSettings, b.now()) {
		return
	}
	s.generation++
	s.settingsVal, s.settingsErr = nil, s.settings.err
	if s.settings.absent {
		return
	}
	if s.settingsErr == nil {
		s.settingsVal, s.settingsErr = parseSettings(s.settings.data)
	}
}

func (b *Base) lookAtManifest(f *folder) {
	s := &b.state
	if !s.manifest.refresh(f, manifestFile, maxManifest, b.now()) {
		return
	}
	s.generation++
	s.manifestVal, s.manifestErr = emptyManifest, s.manifest.err
	if s.manifest.absent || s.manifestErr != nil {
		return
	}
	if s.ours.val != nil && bytes.Equal(s.ours.data, s.manifest.data) {
		s.manifestVal = s.ours.val
		return
	}
	m, err := parseManifest(s.manifest.data)
	if err != nil {
		s.manifestErr = err
		return
	}
	s.manifestVal = m
}

// lookAtDocuments walks the local folder and every source that is there;
// partial says that not even the local one could be walked.
func (b *Base) lookAtDocuments(ctx context.Context) (err error, partial bool) { //nolint:revive // the error is kept, not returned on
	s := &b.state
	if s.local == nil {
		s.local = &mount{id: localSource, dir: filepath.Join(b.root, baseDir), prefix: basePrefix, ask: b.ask}
	}
	var declared []source
	if s.settingsVal != nil {
		declared = s.settingsVal.globals
	}
	skip := map[string]bool{}
	for _, g := range declared {
		if at, ok := b.vendored(g); ok {
			skip[at] = true
		}
	}
	changed, err := s.local.walk(ctx, b.now, skip)
	if err != nil {
		return ioFault(err, "scanning documents", ""), true
	}
	globals, sourceErr := b.resolveSources(declared)
	changed = s.adopt(globals) || changed
	for _, m := range s.globals.mounts {
		if sourceErr != nil {
			break
		}
		moved, err := m.walk(ctx, b.now, nil)
		if err != nil && !isGone(err) { // gone: taken away since it was resolved
			sourceErr = ioFault(err, "scanning documents", "")
		}
		changed = changed || moved
	}
	if changed {
		s.generation++
		docs := s.local.tree.collect(nil)
		for _, m := range s.globals.mounts {
			if m.tree != nil {
				docs = m.tree.collect(docs)
			}
		}
		s.docs = docs
	}
	return sourceErr, false
}

// adopt takes the resolved sources over, keeping the trees of those that stay,
// and reports whether any came or went.
func (s *diskState) adopt(now resolved) (changed bool) {
	same := len(now.mounts) == len(s.globals.mounts)
	for i, m := range now.mounts {
		for j, old := range s.globals.mounts {
			if old.id == m.id && old.dir == m.dir && old.prefix == m.prefix {
				now.mounts[i] = old
				same = same && i == j
				break
			}
		}
		same = same && now.mounts[i] != m
	}
	s.globals = now
	return !same
}
