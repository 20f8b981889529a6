package export

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// ReplaceFile writes a file beside path, mode 0600, and renames it over path
// once it is whole and on disk.
func ReplaceFile(path string, write func(io.Writer) error) error {
	return ReplaceOn(disk.Disk{}, path, write)
}

// ReplaceOn is ReplaceFile on a disk of the caller's. What was written of a file
// that fails is taken away again.
func ReplaceOn(d disk.Disk, path string, write func(io.Writer) error) error {
	f, err := d.CreateTemp(filepath.Dir(path), ".arche-*.part") // mode 0600
	if err != nil {
		return fileFault(path, err)
	}
	out := bufio.NewWriterSize(f, 1<<18)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = d.Replace(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, d.Clear(f.Name())) // it may have been renamed
	}
	return fileFault(path, err)
}

// folder is the folder of one export while it is written. Its files are made in a
// private folder inside it, or beside their names, and appear whole; of an export
// that fails nothing stays.
type folder struct {
	disk disk.Disk
	dir  string
	work string   // the private folder, mode 0700
	made []string // folders that were not there before, the outermost first
	done []string // names of files that may have appeared
}

// openFolder makes the folder; one with anything in it is refused.
func openFolder(d disk.Disk, dir string) (*folder, error) {
	f := &folder{disk: d, dir: dir}
	err := f.open()
	if err != nil {
		return nil, errors.Join(fileFault(dir, err), f.undo())
	}
	return f, nil
}

func (f *folder) open() error {
	var missing []string
	for at := filepath.Clean(f.dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		if err := f.disk.Mkdir(at, 0o700); errors.Is(err, fs.ErrExist) {
			continue // somebody was quicker
		} else if err != nil {
			return err
		}
		f.made = append(f.made, at)
		if err := f.disk.Sync(filepath.Dir(at)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fault.New(fault.Refused, "%s is not empty", f.dir).WithHint("an export has a folder of its own")
	}
	f.work, err = f.disk.MkdirTemp(f.dir, ".arche-export-*")
	return err
}

// path is where a file of the export is written to.
func (f *folder) path(name string) string {
	f.done = append(f.done, name)
	return filepath.Join(f.dir, name)
}

// keep gives a file that was made in the private folder its name.
func (f *folder) keep(name string) error {
	made := filepath.Join(f.work, name)
	out, err := f.disk.OpenFile(made, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(out.Chmod(0o600), out.Sync(), out.Close())
	}
	if err == nil {
		err = f.disk.Replace(made, f.path(name))
	}
	return fileFault(name, err)
}

// clear takes the private folder away.
func (f *folder) clear() error { return fileFault(f.dir, f.disk.RemoveAll(f.work)) }

// undo takes away what the export made, and nothing else.
func (f *folder) undo() error {
	var err error
	for _, name := range f.done {
		err = errors.Join(err, f.disk.Clear(filepath.Join(f.dir, name)))
	}
	if f.work != "" {
		err = errors.Join(err, f.disk.RemoveAll(f.work))
	}
	for _, at := range slices.Backward(f.made) {
		err = errors.Join(err, f.disk.Remove(at))
	}
	return err
}

// fileFault words errors of the file system; others go through.
func fileFault(path string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case err == nil || fault.As(err) != nil:
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
