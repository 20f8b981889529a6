package documents

import (
	"errors"
	"io/fs"
	"time"
)

// kind is what a directory entry is.
type kind uint8

const (
	kindOther kind = iota // links, pipes, devices: never followed, never read
	kindFile
	kindFolder
)

// stamp is what the file system says about a file without reading it. Two
// equal stamps that are old enough mean equal bytes.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
	kind         kind
}

func (s stamp) modified() time.Time { return time.Unix(0, s.mtime) }

// racyWindow is how long after a change a stamp is not trusted: an edit of the
// same length in the same tick of the file system's clock looks like none.
const racyWindow = 2 * time.Second

// settled reports whether a read made at time at can be trusted for as long as
// the stamp stays.
func (s stamp) settled(at time.Time) bool {
	return at.Sub(time.Unix(0, max(s.mtime, s.ctime))) >= racyWindow
}

// dirent is one entry of a folder.
type dirent struct {
	name string
	kind kind
}

// asker is asked before every reading of the disk and may fail it. Tests use it
// to make readings fail and to change the disk between two of them.
type asker func(op, name string) error

// ask is the Base's asker.
func (b *Base) ask(op, name string) error {
	if b.disk.Fault == nil {
		return nil
	}
	return b.disk.Fault("look." + op + " " + name)
}

// errNoFolder says that what should be a folder is a link or a file.
var errNoFolder = errors.New("not a folder")

// errTooLarge says that a file is larger than maxDocument.
var errTooLarge = errors.New("file is too large")

// isGone reports that a file vanished between being listed and being looked at.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
