package disk

import "os"

// Root is an os.Root whose changes can be failed.
type Root struct {
	*os.Root
	disk Disk
}

// OpenRoot opens a folder that no path given to the root's methods can leave.
func (d Disk) OpenRoot(dir string) (*Root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Root{Root: r, disk: d}, nil
}

// Open opens a file or a folder for reading, and for Sync.
func (r *Root) Open(path string) (*File, error) {
	f, err := r.Root.Open(path)
	if err != nil {
		return nil, err
	}
	return &File{File: f, disk: Disk{r.openFault}}, nil
}

// openFault is asked for what is only read: closing it changes nothing.
func (r *Root) openFault(op string) error {
	if r.disk.Fault == nil || op == "file.close" {
		return nil
	}
	return r.disk.Fault(op)
}

// OpenFile is os.Root's.
func (r *Root) OpenFile(path string, flag int, mode os.FileMode) (*File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		if err := r.disk.ask("create", path); err != nil {
			return nil, err
		}
	}
	f, err := r.Root.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	return &File{File: f, disk: r.disk}, nil
}

// Mkdir is os.Root's.
func (r *Root) Mkdir(path string, mode os.FileMode) error {
	if err := r.disk.ask("mkdir", path); err != nil {
		return err
	}
	return r.Root.Mkdir(path, mode)
}

// MkdirAll is os.Root's; it counts as one operation.
func (r *Root) MkdirAll(path string, mode os.FileMode) error {
	if err := r.disk.ask("mkdir", path); err != nil {
		return err
	}
	return r.Root.MkdirAll(path, mode)
}

// Rename is os.Root's.
func (r *Root) Rename(from, to string) error {
	if err := r.disk.ask("rename", to); err != nil {
		return err
	}
	return r.Root.Rename(from, to)
}

// Link is os.Root's.
func (r *Root) Link(from, to string) error {
	if err := r.disk.ask("link", to); err != nil {
		return err
	}
	return r.Root.Link(from, to)
}

// Remove is os.Root's.
func (r *Root) Remove(path string) error {
	if err := r.disk.ask("remove", path); err != nil {
		return err
	}
	return r.Root.Remove(path)
}
