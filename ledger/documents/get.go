package documents

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// Get answers one document: its row, content (the file as it is, metadata
// block included), outgoing_relations and incoming_relations.
func (b *Base) Get(ctx context.Context, p string) (*canon.Object, error) {
	v, err := b.see(ctx)
	if err != nil {
		return nil, err
	}
	rel, from, err := b.guardRead(p, v.declared())
	if err != nil {
		return nil, err
	}
	m, shown := &mount{id: localSource, dir: filepath.Join(b.root, baseDir), prefix: basePrefix}, basePrefix+rel
	switch {
	case from != nil:
		dir, _ := b.locate(*from)
		m = &mount{id: from.ID, global: true, dir: dir, prefix: b.wirePrefix(*from)}
		shown = p
	case b.isReadOnly(rel, v.declared()):
		m.global, m.id = true, b.ownerOf(rel, v.declared())
	}
	data, st, err := readBelow(b.ask, m.dir, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "document not found: %s", shown)
	case errors.Is(err, errTooLarge):
		return nil, fault.New(fault.Limit, "reading %s: larger than %d MiB", shown, maxDocument>>20)
	case err != nil:
		return nil, ioFault(err, "reading", shown)
	}
	if err := v.loadingManifest(); err != nil {
		return nil, err
	}
	d := readDocument(m, rel, data, st, b.now())
	o := d.row()
	if len(data) > 0 {
		o.Set("content", valid(string(data)))
	}
	for _, side := range []struct {
		key  string
		list []any
	}{{"outgoing_relations", v.manifest.outgoing(d)}, {"incoming_relations", v.manifest.incoming(d)}} {
		if len(side.list) > 0 {
			o.Set(side.key, side.list)
		}
	}
	return o, nil
}

// ownerOf is the source that a read-only path below .archcore/ belongs to.
func (b *Base) ownerOf(rel string, declared []source) string {
	low := strings.ToLower(rel)
	for _, g := range declared {
		if at, ok := b.vendored(g); ok && strings.HasPrefix(low, strings.ToLower(at)+"/") {
			return g.ID
		}
	}
	return undeclaredGlobal
}

// readBelow reads a regular file below dir. Links are followed as long as they
// stay below it.
func readBelow(ask asker, dir, rel string) ([]byte, stamp, error) {
	if err := ask("bytes", rel); err != nil {
		return nil, stamp{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, stamp{}, err
	}
	defer root.Close()
	// Not waiting keeps a pipe that lies there from stopping the server.
	f, err := root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, stamp{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, stamp{}, err
	}
	data, err := readLimited(f, maxDocument)
	st := stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), kind: kindFile}
	return data, st, err
}

// readLimited reads all of r, which must hold at most limit bytes.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, errTooLarge
	}
	return data, err
}
