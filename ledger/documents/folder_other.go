//go:build !linux

package documents

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// folder is an open directory below a root that no path can leave. Links are
// never followed.
type folder struct {
	root *os.Root
	rel  string
	top  bool
	ask  asker
}

// openFolder opens root itself (a link to a folder is allowed there).
func openFolder(root string, ask asker) (*folder, error) {
	if err := ask("open", ""); err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		if info, statErr := os.Stat(root); statErr == nil && !info.IsDir() {
			return nil, errNoFolder
		}
		return nil, err
	}
	return &folder{root: r, rel: ".", top: true, ask: ask}, nil
}

// open opens a folder below f; rel may have several parts, none of them a link.
func (f *folder) open(rel string) (*folder, error) {
	at := f.rel
	if rel != "" && rel != "." {
		for part := range strings.SplitSeq(rel, "/") {
			at = path.Join(at, part)
			if err := f.ask("open", part); err != nil {
				return nil, err
			}
			info, err := f.root.Lstat(at)
			if err != nil {
				return nil, err
			}
			if !info.IsDir() {
				return nil, errNoFolder
			}
		}
	}
	return &folder{root: f.root, rel: at, ask: f.ask}, nil
}

func (f *folder) close() {
	if f.top {
		f.root.Close()
	}
}

// stamp looks at the folder itself.
func (f *folder) stamp() (stamp, error) {
	if err := f.ask("stamp", ""); err != nil {
		return stamp{}, err
	}
	info, err := f.root.Stat(f.rel)
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

// look looks at one entry without following it.
func (f *folder) look(name string) (stamp, error) {
	if err := f.ask("entry", name); err != nil {
		return stamp{}, err
	}
	info, err := f.root.Lstat(path.Join(f.rel, name))
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

// list returns the entries in byte order of their names.
func (f *folder) list() ([]dirent, error) {
	if err := f.ask("list", ""); err != nil {
		return nil, err
	}
	dir, err := f.root.Open(f.rel)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
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
	if err := f.ask("open", name); err != nil {
		return nil, stamp{}, err
	}
	full := path.Join(f.rel, name)
	before, err := f.root.Lstat(full)
	if err != nil {
		return nil, stamp{}, err
	}
	if !before.Mode().IsRegular() {
		return nil, stamp{}, fs.ErrInvalid
	}
	file, err := f.root.Open(full)
	if err != nil {
		return nil, stamp{}, err
	}
	after, err := file.Stat()
	if err != nil || !os.SameFile(before, after) {
		file.Close()
		return nil, stamp{}, fs.ErrInvalid
	}
	return file, stampOf(after), nil
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), ctime: info.ModTime().UnixNano()}
	switch {
	case info.Mode().IsRegular():
		s.kind = kindFile
	case info.IsDir():
		s.kind = kindFolder
	}
	return s
}
