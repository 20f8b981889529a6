package duck

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/disk"
)

// A checkpoint of the database writes its new rows into free blocks and then
// turns over to them by one small write: the header. But its metadata blocks, a
// few of 256 KiB, it writes over in place. A power cut within such a write leaves
// a block that is neither old nor new, and a file that does not open. So the
// metadata blocks lie in FILE.undo, durable, while a checkpoint is made; the next
// opening puts them back when the header was not turned over.
//
// FILE.undo holds, behind its first line, the two headers, the size and number of
// the blocks (64 bits each, big-endian), each block's place in the file and its
// bytes, and BLAKE3 of everything before.
const (
	undoSuffix   = ".undo"
	undoMagic    = "arche.undo.v1\n"
	headersAt    = 4096
	headersBytes = 2 * 4096
	blocksAt     = headersAt + headersBytes
)

// undo is what a checkpoint may leave torn.
type undo struct {
	headers []byte
	size    int64 // of a block
	blocks  []undoBlock
}

type undoBlock struct {
	at    int64 // in the file
	bytes []byte
}

// checkpoint folds the write-ahead log of the store's file into it, so that a
// power cut at any moment leaves a file that opens.
func (s *Store) checkpoint(ctx context.Context, db *DB) error {
	if db.raw == nil {
		return db.Checkpoint(ctx)
	}
	u, err := db.metadata(ctx)
	if err != nil {
		return fmt.Errorf("prepare a checkpoint: %w", err)
	}
	d, path := s.disk(), s.path+undoSuffix
	if err := u.write(d, path); err != nil {
		return fmt.Errorf("prepare a checkpoint: %w", errors.Join(err, d.Clear(path)))
	}
	if err := db.Checkpoint(ctx); err != nil {
		return err // the next opening looks at what is there
	}
	return d.Clear(path)
}

// openRaw opens the database of a file, and the file itself beside it. The system
// forgets the database's lock on a file when any descriptor of it is closed, so
// this one is closed after it.
func openRaw(path string, o Options) (*DB, error) {
	db, err := openDB(path, o)
	if err != nil {
		return nil, err
	}
	if db.raw, err = os.Open(path); err != nil { //nolint:gosec // the operator's ledger path
		return nil, errors.Join(fmt.Errorf("read the ledger file: %w", err), db.Close())
	}
	return db, nil
}

// metadata reads the blocks that the next checkpoint writes over, as they are in
// the file.
func (d *DB) metadata(ctx context.Context) (*undo, error) {
	u := &undo{headers: make([]byte, headersBytes)}
	if _, err := d.raw.ReadAt(u.headers, headersAt); err != nil {
		return nil, fmt.Errorf("read the headers of the ledger file: %w", err)
	}
	err := d.Query(ctx, `SELECT m.block_id, s.block_size FROM pragma_metadata_info() m, pragma_database_size() s ORDER BY 1`, nil,
		func(v []driver.Value) error {
			id, size := v[0].(int64), v[1].(int64)
			b := undoBlock{at: blocksAt + id*size, bytes: make([]byte, size)}
			// A block that was never written yet is beyond the file's end.
			if _, err := d.raw.ReadAt(b.bytes, b.at); err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("read a block of the ledger file: %w", err)
			}
			u.size, u.blocks = size, append(u.blocks, b)
			return nil
		})
	return u, err
}

func (u *undo) encode() []byte {
	out := append([]byte(undoMagic), u.headers...)
	out = binary.BigEndian.AppendUint64(out, uint64(u.size))
	out = binary.BigEndian.AppendUint64(out, uint64(len(u.blocks)))
	for _, b := range u.blocks {
		out = append(binary.BigEndian.AppendUint64(out, uint64(b.at)), b.bytes...)
	}
	sum := blake3.Sum256(out)
	return append(out, sum[:]...)
}

// decodeUndo reads what encode wrote; ok is false for anything else, which is
// what is left when the power went while it was written.
func decodeUndo(data []byte) (u *undo, ok bool) {
	const first = len(undoMagic) + headersBytes + 16
	if len(data) < first+32 || !bytes.HasPrefix(data, []byte(undoMagic)) {
		return nil, false
	}
	body, sum := data[:len(data)-32], blake3.Sum256(data[:len(data)-32])
	if !bytes.Equal(sum[:], data[len(data)-32:]) {
		return nil, false
	}
	u = &undo{headers: body[len(undoMagic) : len(undoMagic)+headersBytes]}
	u.size = int64(binary.BigEndian.Uint64(body[first-16:])) //nolint:gosec // compared below
	n := binary.BigEndian.Uint64(body[first-8:])
	rest := body[first:]
	if u.size < 0 || u.size > int64(len(body)) || n > uint64(len(body)) || uint64(len(rest)) != n*uint64(8+u.size) {
		return nil, false
	}
	for ; len(rest) > 0; rest = rest[8+u.size:] {
		u.blocks = append(u.blocks, undoBlock{at: int64(binary.BigEndian.Uint64(rest)), bytes: rest[8 : 8+u.size]}) //nolint:gosec // as it was written
	}
	return u, true
}

// write makes it durable, its name too.
func (u *undo) write(d disk.Disk, path string) error {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(u.encode())
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return d.Sync(filepath.Dir(path))
}

// finishUndo looks at what a checkpoint left that did not end. Call it behind the
// gate, before the file is opened.
func finishUndo(d disk.Disk, path string) error {
	data, err := os.ReadFile(path + undoSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = undoTorn(d, path, data)
	}
	if err == nil {
		err = d.Clear(path + undoSuffix)
	}
	if err != nil {
		return fmt.Errorf("end a checkpoint that was interrupted: %w", err)
	}
	return nil
}

// undoTorn puts the blocks back unless the checkpoint's header is in the file:
// then they are part of it.
func undoTorn(d disk.Disk, path string, data []byte) error {
	u, ok := decodeUndo(data)
	if !ok || !there(path) {
		return nil // the checkpoint had not begun
	}
	f, err := d.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	headers := make([]byte, headersBytes)
	if _, err = f.ReadAt(headers, headersAt); err == nil && bytes.Equal(headers, u.headers) {
		err = u.putBack(f)
	}
	return errors.Join(err, f.Close())
}

func (u *undo) putBack(f *disk.File) error {
	for _, b := range u.blocks {
		if _, err := f.WriteAt(b.bytes, b.at); err != nil {
			return err
		}
	}
	return f.Sync()
}
