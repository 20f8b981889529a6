package documents

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// node is one folder of a mount as last walked. What is trusted of it at the
// next walk is decided by stamps.
type node struct {
	rel      string
	stamp    stamp
	listedAt time.Time
	entries  []dirent // those that matter: markdown files and folders to enter
	docs     []*document
	subs     []*node // beside docs: one of the two is set for each entry
}

// walker looks at one mount.
type walker struct {
	mount   *mount
	top     *folder
	now     func() time.Time
	skip    map[string]bool // folders left to declared sources
	group   *errgroup.Group
	ctx     context.Context
	changed atomic.Bool
}

// walk brings a mount's tree up to date with the disk and reports whether any
// document changed, came or went. Files whose stamp did not move are not read.
func (m *mount) walk(ctx context.Context, now func() time.Time, skip map[string]bool) (changed bool, err error) {
	top, err := openFolder(m.dir, m.ask)
	if err != nil {
		return false, err
	}
	defer top.close()
	w := &walker{mount: m, top: top, now: now, skip: skip, changed: atomic.Bool{}}
	if m.tree == nil {
		m.tree = &node{}
		w.changed.Store(true)
	}
	w.group, w.ctx = errgroup.WithContext(ctx)
	w.group.SetLimit(1 + max(2, min(4, runtime.GOMAXPROCS(0))))
	w.group.Go(func() error { return w.visit(m.tree) }) // in the group too: the error that ended the others is told, not theirs
	if err := w.group.Wait(); err != nil {
		m.tree = nil // half-walked: start over
		return false, err
	}
	return w.changed.Load(), nil
}

// collect appends the documents of a tree in walking order.
func (n *node) collect(out []*document) []*document {
	for i := range n.entries {
		if sub := n.subs[i]; sub != nil {
			out = sub.collect(out)
		} else if d := n.docs[i]; d != nil {
			out = append(out, d)
		}
	}
	return out
}

// visit brings one folder up to date, and those below it.
func (w *walker) visit(n *node) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	f := w.top
	if n.rel != "" {
		var err error
		if f, err = w.top.open(n.rel); err != nil {
			if isGone(err) || errors.Is(err, errNoFolder) { // replaced since it was listed
				w.empty(n)
				return nil
			}
			return err
		}
		defer f.close()
	}
	st, err := f.stamp()
	if err != nil {
		return err
	}
	if st != n.stamp || !st.settled(n.listedAt) {
		at := w.now()
		entries, err := f.list()
		if err != nil {
			return err
		}
		w.relist(n, entries)
		n.stamp, n.listedAt = st, at
	}
	for i, e := range n.entries {
		if sub := n.subs[i]; sub != nil {
			if !w.group.TryGo(func() error { return w.visit(sub) }) {
				if err := w.visit(sub); err != nil {
					return err
				}
			}
			continue
		}
		if err := w.refresh(f, n, i, e.name); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) empty(n *node) {
	if len(n.entries) > 0 {
		w.changed.Store(true)
	}
	n.entries, n.docs, n.subs, n.stamp = nil, nil, nil, stamp{}
}

// relist takes a new listing over, keeping what is known of entries that stay.
func (w *walker) relist(n *node, entries []dirent) {
	kept := entries[:0]
	for _, e := range entries {
		if w.matters(n.rel, e) {
			kept = append(kept, e)
		}
	}
	if slices.Equal(kept, n.entries) {
		return
	}
	w.changed.Store(true)
	docs, subs := make([]*document, len(kept)), make([]*node, len(kept))
	for i, e := range kept {
		old, found := slices.BinarySearchFunc(n.entries, e, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
		found = found && n.entries[old].kind == e.kind
		switch {
		case found:
			docs[i], subs[i] = n.docs[old], n.subs[old]
		case e.kind == kindFolder:
			subs[i] = &node{rel: join(n.rel, e.name)}
		}
	}
	n.entries, n.docs, n.subs = slices.Clip(slices.Clone(kept)), docs, subs
}

func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// matters reports whether an entry is a folder to enter or a file that may be
// a document.
func (w *walker) matters(rel string, e dirent) bool {
	switch e.kind {
	case kindFolder:
		if strings.HasPrefix(e.name, ".") {
			return false
		}
		return w.mount.global || e.name != globalFolder && !w.skip[join(rel, e.name)]
	case kindFile:
		if !isDocumentName(e.name) {
			return false
		}
		if w.mount.global {
			_, typ := splitName(e.name)
			_, known := typesByName[typ]
			return known
		}
		return true
	}
	return false
}

// refresh looks at one file and reads it when its stamp moved, or when the
// last reading came too soon after a change to be trusted.
func (w *walker) refresh(f *folder, n *node, i int, name string) error {
	old := n.docs[i]
	st, err := f.look(name)
	if err != nil || st.kind != kindFile {
		if err != nil && !isGone(err) && !errors.Is(err, errNoFolder) {
			return err
		}
		if old != nil {
			n.docs[i] = nil
			w.changed.Store(true)
		}
		n.stamp = stamp{} // gone or replaced since it was listed: list again
		return nil
	}
	if old != nil && old.stamp == st && st.settled(old.readAt) && (!old.unread || st.size > maxDocument) {
		return nil // one that could not be read is tried again: what failed may have passed
	}
	d := w.read(f, join(n.rel, name), name, st)
	if old != nil && old.address == d.address && old.unread == d.unread {
		if old.stamp == st {
			old.readAt = d.readAt // same bytes, now read late enough to be trusted
			return nil
		}
	}
	n.docs[i] = d
	w.changed.Store(true)
	return nil
}

// read reads a document. A file that cannot be read is a row of its name.
func (w *walker) read(f *folder, rel, name string, st stamp) *document {
	at := w.now()
	data, opened, err := f.readAll(name)
	if err != nil {
		d := named(w.mount, rel)
		d.unread, d.stamp, d.readAt, d.size = true, st, at, st.size
		return d
	}
	return readDocument(w.mount, rel, data, opened, at)
}

// readAll reads a regular file of at most maxDocument bytes.
func (f *folder) readAll(name string) ([]byte, stamp, error) {
	file, st, err := f.read(name)
	if err != nil {
		return nil, st, err
	}
	defer file.Close()
	if st.size > maxDocument {
		return nil, st, errTooLarge
	}
	if err := f.ask("bytes", name); err != nil {
		return nil, st, err
	}
	buf := make([]byte, st.size+1)
	n, err := io.ReadFull(file, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return buf[:n:n], st, nil
	}
	if err != nil {
		return nil, st, err
	}
	rest, err := io.ReadAll(io.LimitReader(file, maxDocument)) // it grew meanwhile
	data := append(buf[:n:n], rest...)
	if len(data) > maxDocument {
		return nil, st, errTooLarge
	}
	return data, st, err
}
