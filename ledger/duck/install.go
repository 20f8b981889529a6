package duck

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// A ledger file that was made elsewhere takes its place in steps that an
// interruption may fall between. Its head and then the file are put beside the
// place under these names; when both are there, the old write-ahead log goes,
// which is the point of no return; then head and file are renamed. Whoever
// passes the gate next ends what was begun: with the old log still there it is
// forgotten, else carried out. The database would replay any log that lies
// beside a file without asking whose it is, so old log and new file never meet.
const (
	stagedSuffix     = ".install"
	stagedHeadSuffix = ".install.head"
)

// Install puts the closed database file made, which has no write-ahead log, and
// its head file into the place of path. Call it within Hold.
func Install(d disk.Disk, made, path string) error {
	if there(LogPath(made)) {
		return fmt.Errorf("install: %w", errLogLeft)
	}
	if err := discardInstall(d, path); err != nil {
		return err
	}
	err := d.Replace(HeadPath(made), path+stagedHeadSuffix)
	if err == nil {
		err = d.Replace(made, path+stagedSuffix)
	}
	if err != nil {
		return fmt.Errorf("install: %w", errors.Join(err, discardInstall(d, path)))
	}
	if err := d.Clear(LogPath(path)); err != nil {
		return fmt.Errorf("install: %w", errors.Join(err, discardInstall(d, path)))
	}
	return finishInstall(d, path)
}

var errLogLeft = errors.New("a write-ahead log is left beside the new file")

// finish ends what an interruption left of a ledger file, in the order in which
// it was begun. Call it behind the gate.
func finish(d disk.Disk, path string) error {
	if err := finishUndo(d, path); err != nil {
		return err
	}
	return finishInstall(d, path)
}

// finishInstall ends an installation that was begun. Call it behind the gate.
func finishInstall(d disk.Disk, path string) error {
	if !there(path+stagedSuffix) || there(LogPath(path)) {
		return discardInstall(d, path)
	}
	// The log's removal is durable before anything that relies on it.
	if err := d.Sync(filepath.Dir(path)); err != nil {
		return err
	}
	if there(path + stagedHeadSuffix) {
		if err := d.Replace(path+stagedHeadSuffix, HeadPath(path)); err != nil {
			return err
		}
	}
	return d.Replace(path+stagedSuffix, path)
}

// discardInstall forgets an installation: the file first, since a file without
// its head would be carried out.
func discardInstall(d disk.Disk, path string) error {
	for _, suffix := range []string{stagedSuffix, stagedHeadSuffix} {
		if err := d.Clear(path + suffix); err != nil {
			return fmt.Errorf("clear what was left of an installation: %w", err)
		}
	}
	return nil
}

// Vacant refuses a place for a new ledger file where one lies already, or the
// write-ahead log of one.
func Vacant(path string) error {
	switch {
	case there(path), there(path + stagedSuffix):
		return fault.New(fault.Invalid, "the ledger file exists already").WithHint("name a file that is not there yet")
	case there(LogPath(path)):
		return fault.New(fault.Invalid, "the write-ahead log of another ledger lies in that place").
			WithHint("name another file, or move that log (.wal) away")
	}
	return nil
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
