package documents

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// folder is an open directory. Entries are looked at relative to it, links are
// never followed, so nothing that is renamed meanwhile leads elsewhere.
type folder struct {
	file *os.File
	fd   int
	ask  asker
}

// openFolder opens root itself (a link to a folder is allowed there).
func openFolder(root string, ask asker) (*folder, error) {
	fd, err := ask.open("", func() (int, error) {
		return unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, folderError(err)
	}
	return &folder{file: os.NewFile(uintptr(fd), root), fd: fd, ask: ask}, nil
}

// open opens a folder below f; rel may have several parts, none of them a link.
func (f *folder) open(rel string) (*folder, error) {
	if rel == "" {
		rel = "."
	}
	at := f.fd
	for part := range strings.SplitSeq(rel, "/") {
		fd, err := f.ask.open(part, func() (int, error) {
			return unix.Openat(at, part, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if at != f.fd {
			unix.Close(at)
		}
		if err != nil {
			return nil, folderError(err)
		}
		at = fd
	}
	return &folder{file: os.NewFile(uintptr(at), filepath.Join(f.file.Name(), rel)), fd: at, ask: f.ask}, nil
}

func (f *folder) close() { f.file.Close() }

// stamp looks at the folder itself.
func (f *folder) stamp() (stamp, error) {
	var st unix.Stat_t
	err := f.ask("stamp", "")
	if err == nil {
		err = unix.Fstat(f.fd, &st)
	}
	return stampOf(&st), folderError(err)
}

// look looks at one entry without following it.
func (f *folder) look(name string) (stamp, error) {
	if err := f.ask("entry", name); err != nil {
		return stamp{}, err
	}
	var st unix.Stat_t
	for {
		if err := unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, unix.EINTR) {
			return stampOf(&st), folderError(err)
		}
	}
}

// list returns the entries in byte order of their names.
func (f *folder) list() ([]dirent, error) {
	err := f.ask("list", "")
	var entries []os.DirEntry
	if err == nil {
		entries, err = f.file.ReadDir(-1)
	}
	if err != nil {
		return nil, err
	}
	out := make([]dirent, 0, len(entries))
	for _, e := range entries {
		k := kindOther
		switch {
		case e.Type().IsRegular():
			k = kindFile
		case e.IsDir():
			k = kindFolder
		}
		out = append(out, dirent{name: e.Name(), kind: k})
	}
	slices.SortFunc(out, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// read opens a regular file for reading; a link is refused.
func (f *folder) read(name string) (*os.File, stamp, error) {
	fd, err := f.ask.open(name, func() (int, error) {
		return unix.Openat(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, stamp{}, folderError(err)
	}
	file := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && stampOf(&st).kind != kindFile {
		err = fs.ErrInvalid
	}
	if err != nil {
		file.Close()
		return nil, stamp{}, err
	}
	return file, stampOf(&st), nil
}

func stampOf(st *unix.Stat_t) stamp {
	s := stamp{dev: uint64(st.Dev), ino: st.Ino, size: st.Size,
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.kind = kindFile
	case unix.S_IFDIR:
		s.kind = kindFolder
	}
	return s
}

// open asks, then opens until nothing interrupts.
func (a asker) open(name string, open func() (int, error)) (int, error) {
	if err := a("open", name); err != nil {
		return -1, err
	}
	for {
		fd, err := open()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// folderError keeps the classes of package fs; nil stays nil.
func folderError(err error) error {
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return errNoFolder
	}
	return err
}
