package export

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/arche-ledger/arche/internal/fault"
)

// ReplaceFile writes a file beside path, mode 0600, and renames it over path
// once it is whole and on disk.
func ReplaceFile(path string, write func(io.Writer) error) error { return replaceFile(path, write) }

func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".arche-*.part") // mode 0600
	if err != nil {
		return fileFault(path, err)
	}
	defer os.Remove(f.Name()) // nothing is there after the rename
	out := bufio.NewWriterSize(f, 1<<18)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fileFault(path, err)
	}
	return rename(f.Name(), path)
}

func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fileFault(to, err)
	}
	return syncFile(filepath.Dir(to))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// fileFault words errors of the file system; others go through.
func fileFault(path string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case fault.As(err) != nil:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(err, fault.Invalid, "no folder %s to write %s in", filepath.Dir(path), filepath.Base(path))
	case errors.As(err, &p):
		return fault.Wrap(err, fault.Invalid, "%s: %v", path, p.Err)
	case errors.As(err, &l):
		return fault.Wrap(err, fault.Invalid, "%s: %v", path, l.Err)
	}
	return err
}
