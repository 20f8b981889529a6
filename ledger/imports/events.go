package imports

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
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
	backup, err := os.MkdirTemp(filepath.Dir(path), ".arche-import-*") // mode 0700
	if err != nil {
		return nil, fileFault(filepath.Dir(path), err)
	}
	defer os.RemoveAll(backup)
	if err := asBackup(ctx, filepath.Join(dir, "events.jsonl"), backup, m); err != nil {
		return nil, err
	}
	return ledger.Restore(ctx, backup, path, opts)
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
	return nil
}

// asBackup writes the export in the form of a backup, which package ledger
// restores: events.jsonl, blobs.jsonl, and a manifest with their hashes.
func asBackup(ctx context.Context, file, dir string, m *export.Manifest) error {
	in, err := os.Open(file)
	if err != nil {
		return fileFault(file, err)
	}
	defer in.Close()
	events, err := newHashed(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return err
	}
	defer events.file.Close()
	blobs, err := newHashed(filepath.Join(dir, "blobs.jsonl"))
	if err != nil {
		return err
	}
	defer blobs.file.Close()
	count := int64(0)
	lines := bufio.NewReaderSize(in, 1<<16)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		stored, err := splitEvent(line, events, blobs)
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "events.jsonl, line %d: no event", n)
		}
		count += stored
	}
	manifest := canon.Obj("form", "arche.backup.v1", "format", 1, "log", m.Head.Log, "events", m.Count, "blobs", count, "link", m.Head.Link)
	for name, h := range map[string]*hashed{"events.jsonl": events, "blobs.jsonl": blobs} {
		sum, err := h.close()
		if err != nil {
			return err
		}
		manifest.Set(name, sum)
	}
	text, err := canon.Indent(manifest)
	if err != nil {
		return err
	}
	return spool(filepath.Join(dir, "manifest.json"), append(text, '\n'))
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
	if err := events.line(row); err != nil {
		return 0, err
	}
	for _, c := range contents {
		o, ok := c.(*canon.Object)
		if !ok {
			return 0, errors.New("a content is no object")
		}
		if err := blobs.line(canon.Obj("seq", row.Value("seq"), "address", o.Value("address"), "bytes", o.Value("bytes"))); err != nil {
			return 0, err
		}
		stored++
	}
	return stored, nil
}

// hashed is a private file whose BLAKE3 hash is taken as it is written.
type hashed struct {
	file *os.File
	out  *bufio.Writer
	sum  *blake3.Hasher
}

func newHashed(path string) (*hashed, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	h := blake3.New()
	return &hashed{f, bufio.NewWriterSize(io.MultiWriter(f, h), 1<<16), h}, nil
}

func (h *hashed) line(o *canon.Object) error {
	text, err := canon.Compact(o)
	if err != nil {
		return err
	}
	_, err = h.out.Write(append(text, '\n'))
	return err
}

func (h *hashed) close() (string, error) {
	if err := errors.Join(h.out.Flush(), h.file.Close()); err != nil {
		return "", fmt.Errorf("write the events: %w", err)
	}
	return hex.EncodeToString(h.sum.Sum(nil)), nil
}
