package duck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// LogPath is the write-ahead log of a database file.
func LogPath(file string) string { return file + ".wal" }

// Hold keeps a file to this process while fn works on it without opening it as
// a database: nobody else passes the gate meanwhile.
func Hold(ctx context.Context, path string, wait time.Duration, fn func() error) error {
	if err := checkPath(path); err != nil {
		return err
	}
	g := newGate(path)
	if err := g.enter(ctx, wait); err != nil {
		return err
	}
	err := g.sign(time.Now())
	if err == nil {
		err = fn()
	}
	return errors.Join(err, g.leave())
}

// WriteHead replaces a head file by one that says h.
func WriteHead(path string, h Head) error {
	if err := createHead(path); err != nil {
		return err
	}
	hf, _, _, err := OpenHead(path, nil)
	if err != nil {
		return err
	}
	return errors.Join(hf.Write(h), hf.Close())
}

// CopyFile copies a file durably to a new private one; a missing source is
// reported as done=false.
func CopyFile(from, to string) (done bool, err error) {
	in, err := os.Open(from) //nolint:gosec // the operator's ledger and names made of it
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("copy: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // as above
	if err != nil {
		return false, fmt.Errorf("copy: %w", err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return false, fmt.Errorf("copy: %w", err)
	}
	return true, syncDir(filepath.Dir(to))
}

// Replace renames a file over another durably.
func Replace(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	return syncDir(filepath.Dir(to))
}

// byteOfLog is where the fault of a damaged log says that replay stopped.
var byteOfLog = regexp.MustCompile(`log is damaged at byte (\d+)`)

// DamagedAt is the byte of the write-ahead log that an opening failed at; ok is
// false when the error names none.
func DamagedAt(err error) (at int64, ok bool) {
	if !errors.Is(err, ErrDamagedLog) {
		return 0, false
	}
	m := byteOfLog.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, false
	}
	at, err = strconv.ParseInt(m[1], 10, 64)
	return at, err == nil
}
