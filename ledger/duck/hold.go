package duck

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"time"

	"github.com/arche-ledger/arche/internal/disk"
)

// LogPath is the write-ahead log of a database file.
func LogPath(file string) string { return file + ".wal" }

// Hold keeps a file to this process while fn works on it without opening it as
// a database: nobody else passes the gate meanwhile.
func Hold(ctx context.Context, d disk.Disk, path string, wait time.Duration, fn func() error) error {
	if err := checkPath(path); err != nil {
		return err
	}
	g := newGate(path, d)
	if err := g.enter(ctx, wait); err != nil {
		return err
	}
	g.sign(time.Now())
	err := finish(d, path)
	if err == nil {
		err = fn()
	}
	return errors.Join(err, g.leave())
}

// WriteHead puts a head file that says h in place of any other.
func WriteHead(d disk.Disk, path string, h Head) error { return placeHead(d, path, h) }

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
