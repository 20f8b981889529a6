package documents

import (
	"context"

	"github.com/arche-ledger/arche/internal/canon"
)

// WiredFile is a file of an agent host that holds our configuration.
type WiredFile struct {
	Path   string // relative to the project
	Digest string // of its bytes
}

// WiredHost is an agent host that was wired.
type WiredHost struct {
	ID    string
	Files []WiredFile
}

// RecordHosts tells the ledger which hosts were wired and what their files
// are. A host whose files did not change is not told again.
func (b *Base) RecordHosts(ctx context.Context, wired []WiredHost) error {
	b.writeMu.Lock()
	defer b.writeMu.Unlock()
	s, err := b.openStore(ctx, false, writeWait)
	if err != nil {
		return err
	}
	defer s.close()
	b.lookMu.Lock()
	defer b.lookMu.Unlock()
	if _, err := b.catchUpLocked(ctx, s); err != nil {
		return err
	}
	var changes []change
	for _, w := range wired {
		files := []any{}
		for _, f := range w.Files {
			files = append(files, canon.Obj("path", f.Path, "digest", f.Digest))
		}
		changes = append(changes, change{kind: kindHostWired, subject: b.hist.hostSubject(w.ID), body: canon.Obj("files", files)})
	}
	if len(changes) == 0 {
		return nil
	}
	return b.append(ctx, changes)
}
