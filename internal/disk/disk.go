// Package disk is how arche changes files of its own: heads, backups, repairs,
// documents, configurations of hosts. Begin with Disk, or with OpenRoot for a
// tree that no path may leave.
//
// It does what package os does, and asks a hook before every operation that
// changes something. So a test can fail each of them in turn and see that the
// old or the new content is there afterwards and never a mix. A write that is
// failed puts half of its bytes first, as a full disk does.
package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Disk does operations on files. The zero value is the system's disk.
type Disk struct {
	// Fault, when set, is asked before every operation that changes something
	// and may fail it. Its argument is one of "create", "write", "sync",
	// "close", "rename", "remove", "mkdir", "truncate", "chmod", "link" behind
	// "file.".
	Fault func(op string) error
}

func (d Disk) ask(op, path string) error {
	if d.Fault == nil {
		return nil
	}
	if err := d.Fault("file." + op); err != nil {
		return &os.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// Create makes a private file (mode 0600) that must not exist.
func (d Disk) Create(path string) (*File, error) {
	return d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// OpenFile is os.OpenFile.
func (d Disk) OpenFile(path string, flag int, mode os.FileMode) (*File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		if err := d.ask("create", path); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag, mode) //nolint:gosec // named by the caller
	if err != nil {
		return nil, err
	}
	return &File{File: f, disk: d}, nil
}

// CreateTemp is os.CreateTemp: a fresh private file, mode 0600.
func (d Disk) CreateTemp(dir, pattern string) (*File, error) {
	if err := d.ask("create", dir); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &File{File: f, disk: d}, nil
}

// Mkdir is os.Mkdir.
func (d Disk) Mkdir(path string, mode os.FileMode) error {
	if err := d.ask("mkdir", path); err != nil {
		return err
	}
	return os.Mkdir(path, mode)
}

// MkdirTemp is os.MkdirTemp: a fresh private folder, mode 0700.
func (d Disk) MkdirTemp(dir, pattern string) (string, error) {
	if err := d.ask("mkdir", dir); err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, pattern)
}

// Rename is os.Rename.
func (d Disk) Rename(from, to string) error {
	if err := d.ask("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Remove is os.Remove.
func (d Disk) Remove(path string) error {
	if err := d.ask("remove", path); err != nil {
		return err
	}
	return os.Remove(path)
}

// Clear removes a file that may be absent; where nothing is, nothing is asked.
func (d Disk) Clear(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return d.Remove(path)
}

// RemoveAll is os.RemoveAll; it counts as one operation.
func (d Disk) RemoveAll(path string) error {
	if err := d.ask("remove", path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// Truncate is os.Truncate.
func (d Disk) Truncate(path string, size int64) error {
	if err := d.ask("truncate", path); err != nil {
		return err
	}
	return os.Truncate(path, size)
}

// Sync makes the content of a file, or the names in a folder, durable.
func (d Disk) Sync(path string) error {
	f, err := os.Open(path) //nolint:gosec // named by the caller
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	file := &File{File: f, disk: d}
	if err := errors.Join(file.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// Replace renames a file over another and makes that durable.
func (d Disk) Replace(from, to string) error {
	if err := d.Rename(from, to); err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	return d.Sync(filepath.Dir(to))
}

// Place gives a file a name that must be free, and takes its old name away; both
// durably. Where the file system has no hard links it renames.
func (d Disk) Place(from, to string) error {
	if err := d.ask("link", to); err != nil {
		return fmt.Errorf("place: %w", err)
	}
	err := os.Link(from, to)
	switch {
	case errors.Is(err, os.ErrExist):
		return err
	case err != nil:
		if _, err := os.Lstat(to); err == nil {
			return os.ErrExist
		}
		return d.Replace(from, to)
	}
	if err := d.Sync(filepath.Dir(to)); err != nil {
		return fmt.Errorf("place: %w", err)
	}
	return d.Remove(from)
}

// Copy copies a file durably to a new private one; a missing source is reported
// as done=false. A copy that fails is taken away again.
func (d Disk) Copy(from, to string) (done bool, err error) {
	in, err := os.Open(from) //nolint:gosec // named by the caller
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("copy: %w", err)
	}
	defer in.Close()
	out, err := d.Create(to)
	if err != nil {
		return false, fmt.Errorf("copy: %w", err)
	}
	_, err = out.ReadFrom(in)
	if err == nil {
		err = out.Sync()
	}
	err = errors.Join(err, out.Close())
	if err == nil {
		err = d.Sync(filepath.Dir(to))
	}
	if err != nil {
		return false, fmt.Errorf("copy: %w", errors.Join(err, d.Remove(to)))
	}
	return true, nil
}

// File is an open file.
type File struct {
	*os.File
	disk Disk
}

// Write is os.File's; a failed one has written half.
func (f *File) Write(b []byte) (int, error) {
	if err := f.disk.ask("write", f.Name()); err != nil {
		n, werr := f.File.Write(b[:len(b)/2])
		return n, errors.Join(err, werr)
	}
	return f.File.Write(b)
}

// WriteAt is os.File's; a failed one has written half.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if err := f.disk.ask("write", f.Name()); err != nil {
		n, werr := f.File.WriteAt(b[:len(b)/2], at)
		return n, errors.Join(err, werr)
	}
	return f.File.WriteAt(b, at)
}

// WriteString is Write.
func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// copyBuffer is how much is copied in one write.
const copyBuffer = 1 << 20

// ReadFrom copies all of r into the file.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	if f.disk.Fault == nil {
		return f.File.ReadFrom(r)
	}
	return io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{r}, make([]byte, copyBuffer))
}

// Sync is os.File's.
func (f *File) Sync() error {
	if err := f.disk.ask("sync", f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// Chmod is os.File's.
func (f *File) Chmod(mode os.FileMode) error {
	if err := f.disk.ask("chmod", f.Name()); err != nil {
		return err
	}
	return f.File.Chmod(mode)
}

// Close closes the file in any case.
func (f *File) Close() error {
	return errors.Join(f.disk.ask("close", f.Name()), f.File.Close())
}
