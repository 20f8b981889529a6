package imports

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
)

// Events makes a ledger file of an export of all events with their contents
// (arche export events --reveal). The export is verified first, with the pinned
// key when there is one; then every address, link and content is recomputed as
// in restoring a backup, and the file appears only when all of it fits.
func Events(ctx context.Context, dir string, key ed25519.PublicKey, path string, opts ledger.Options) (*ledger.BackupInfo, error) {
	m, err := verified(ctx, dir, key)
	if err != nil {
		return nil, err
	}
	if err := whole(m); err != nil {
		return nil, err
	}
	var info *ledger.BackupInfo
	err = beside(path, opts, func(d disk.Disk, work string) error {
		err := asBackup(ctx, d, filepath.Join(dir, "events.jsonl"), work, m)
		if err == nil {
			info, err = ledger.Restore(ctx, work, path, opts)
		}
		return err
	})
	return info, err
}

// verified is the manifest of an export that verifies, with the pinned key when
// there is one.
func verified(ctx context.Context, dir string, key ed25519.PublicKey) (*export.Manifest, error) {
	report, err := export.Verify(ctx, dir, key)
	if err != nil {
		return nil, err
	}
	if !report.OK() {
		return nil, fault.New(fault.Damaged, "the export does not verify: %s", strings.Join(report.Problems, "; ")).
			WithHint("arche export verify says more")
	}
	return report.Manifest, nil
}

// whole refuses an export that a log can't be made of.
func whole(m *export.Manifest) error {
	f := m.Filter
	switch {
	case m.What != "events" || m.Format != "jsonl" && m.Format != "dsse":
		return fault.New(fault.Invalid, "only an export of events as JSON Lines can be imported").WithHint("arche export events --format jsonl --reveal")
	case f.Since != nil || f.Until != nil || f.Entity != nil:
		return fault.New(fault.Invalid, "the export holds a part of the log only").WithHint("export without --since, --until and --entity")
	case !f.Reveal:
		return fault.New(fault.Invalid, "the export holds no contents, so records would have no values").WithHint("export with --reveal")
	}
	return mainLog(m)
}

// asBackup writes the export in the form of a backup, which package ledger
// restores: events.jsonl, blobs.jsonl, and a manifest with their hashes.
func asBackup(ctx context.Context, d disk.Disk, file, dir string, m *export.Manifest) error {
	events, err1 := newHashed(d, dir, "events.jsonl")
	blobs, err2 := newHashed(d, dir, "blobs.jsonl")
	last, err3 := newHashed(d, dir, "manifest.json")
	err := errors.Join(err1, err2, err3)
	count, n := int64(0), 0
	if err == nil {
		err = eachLine("events.jsonl", file, func(line []byte) error {
			n++
			if err := ctx.Err(); err != nil {
				return err
			}
			stored, err := splitEvent(line, events, blobs)
			if err != nil {
				return fault.Wrap(err, fault.Invalid, "events.jsonl, line %d: no event", n)
			}
			count += stored
			return nil
		})
	}
	manifest := canon.Obj("form", "arche.backup.v1", "format", 1, "log", m.Head.Log, "events", m.Count, "blobs", count, "link", m.Head.Link)
	if m.ContentsFrom != 0 { // one below 1 is refused there
		manifest.Set("contents_from_event", m.ContentsFrom)
	}
	for _, h := range []*hashed{events, blobs} {
		if h != nil {
			err = errors.Join(err, h.close())
			manifest.Set(h.name, hex.EncodeToString(h.sum.Sum(nil)))
		}
	}
	if last != nil {
		last.line(manifest)
		err = errors.Join(err, last.close())
	}
	return err
}

// splitEvent writes the event of an exported row, and the contents beside it.
func splitEvent(line []byte, events, blobs *hashed) (stored int64, err error) {
	row, err := canon.ParseObject(line, canon.Limits{})
	if err != nil {
		return 0, err
	}
	body, err := canon.RFC8785(row.Value("body"))
	if err != nil {
		return 0, err
	}
	contents, _ := row.Value("contents").([]any)
	row.Delete("contents")
	row.Set("body", string(body))
	events.line(row)
	for _, c := range contents {
		o, ok := c.(*canon.Object)
		if !ok {
			return 0, errors.New("a content is no object")
		}
		blobs.line(canon.Obj("seq", row.Value("seq"), "address", o.Value("address"), "bytes", o.Value("bytes")))
		stored++
	}
	return stored, nil
}

// hashed is a private file whose BLAKE3 hash is taken as it is written. What fails
// in writing it is told when it is closed.
type hashed struct {
	name string
	file *disk.File
	out  *bufio.Writer
	sum  *blake3.Hasher
	err  error
}

func newHashed(d disk.Disk, dir, name string) (*hashed, error) {
	f, err := d.Create(filepath.Join(dir, name))
	if err != nil {
		return nil, fileFault(name, err)
	}
	h := blake3.New()
	return &hashed{name: name, file: f, out: bufio.NewWriterSize(io.MultiWriter(f, h), 1<<16), sum: h}, nil
}

func (h *hashed) line(o *canon.Object) {
	text, err := canon.Compact(o)
	h.err = errors.Join(h.err, err)
	_, _ = h.out.Write(append(text, '\n'))
}

func (h *hashed) close() error {
	return fileFault(h.name, errors.Join(h.err, h.out.Flush(), h.file.Close()))
}
