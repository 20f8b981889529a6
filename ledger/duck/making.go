package duck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// A new ledger file is made under a name beside its place, and put there when it
// is whole, its tables in it and no write-ahead log beside it: a kill, a full
// disk or a power cut leaves no half of one.
const newSuffix = ".new"

// make makes the file. Call it behind the gate, where no file is.
func (s *Store) make(ctx context.Context) error {
	if there(LogPath(s.path)) {
		// The database would remove that log without a word, and with it what was
		// acknowledged since the last checkpoint of a file that is away.
		return fault.Wrap(ErrDamaged, fault.Damaged, "the ledger file is missing, and its write-ahead log is still there").
			WithHint("put the file back beside its log (.wal), restore a backup elsewhere, or move the log away to begin anew")
	}
	d, at := s.disk(), s.path+newSuffix
	if err := discardNew(d, at); err != nil {
		return err
	}
	err := s.fill(ctx, at)
	if err == nil && there(LogPath(at)) {
		err = errLogLeft
	}
	if err == nil {
		err = d.Replace(at, s.path)
	}
	if err != nil {
		return errors.Join(err, discardNew(d, at))
	}
	return nil
}

// fill makes the file under its first name.
func (s *Store) fill(ctx context.Context, at string) error {
	db, err := openDB(at, s.opts)
	if err != nil {
		return err
	}
	if s.opts.OnOpen != nil {
		err = s.opts.OnOpen(ctx, db)
	}
	if err == nil {
		err = db.Checkpoint(ctx)
	}
	return errors.Join(err, db.Close())
}

func discardNew(d disk.Disk, at string) error {
	for _, name := range []string{LogPath(at), at} {
		if err := d.Clear(name); err != nil {
			return fmt.Errorf("clear what was left of a new ledger file: %w", err)
		}
	}
	return nil
}

// nameLog makes the name of the write-ahead log durable. The database syncs what
// it writes into the log, and makes the log anew after each checkpoint, but never
// syncs the folder: a power cut could leave the commits without their name.
func (s *Store) nameLog() error {
	if s.db.named || !there(LogPath(s.path)) {
		return nil
	}
	if err := s.disk().Sync(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("the name of the write-ahead log is not durable: %w", err)
	}
	s.db.named = true
	return nil
}
