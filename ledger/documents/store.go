package documents

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

const (
	tempPrefix = ".arche-"
	tempSuffix = ".tmp"
)

// errKilled is what tests make a step fail with to stand for a process that
// dies there: nothing is tidied up after it.
var errKilled = errors.New("killed")

// tempName is a fresh name beside the file at rel. It never looks like a
// document.
func tempName(rel string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return path.Join(path.Dir(rel), tempPrefix+hex.EncodeToString(b[:])+tempSuffix)
}

func isTemp(rel string) bool {
	base := path.Base(rel)
	return strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// writeTemp writes data to a new file and makes it durable.
func (s *store) writeTemp(temp string, data []byte, mode fs.FileMode) error {
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = s.root.Remove(temp) // it is of no use; the write error is told
	}
	return err
}

// syncDir makes what happened to the names in a folder durable.
func (s *store) syncDir(rel string) error {
	d, err := s.root.Open(rel)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) { // some file systems cannot
		return err
	}
	return nil
}

// replace puts a temporary file in the place of rel and makes that durable.
func (s *store) replace(temp, rel string) error {
	if err := s.root.Rename(temp, rel); err != nil {
		return err
	}
	return s.syncDir(path.Dir(rel))
}

// place puts a temporary file at rel, which must not exist.
func (s *store) place(temp, rel string) error {
	err := s.root.Link(temp, rel)
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case err != nil: // no hard links here: claim the name, then rename over it
		f, claimErr := s.root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if claimErr != nil {
			return claimErr
		}
		f.Close()
		return s.replace(temp, rel)
	}
	if err := s.root.Remove(temp); err != nil {
		return err
	}
	return s.syncDir(path.Dir(rel))
}

// writeFile replaces or makes a file as a whole.
func (s *store) writeFile(rel string, data []byte, mode fs.FileMode, step func(string) error) error {
	temp := tempName(rel)
	if err := s.writeTemp(temp, data, mode); err != nil {
		return err
	}
	if step != nil {
		if err := step(rel + " written"); err != nil {
			return err
		}
	}
	if err := s.replace(temp, rel); err != nil {
		_ = s.root.Remove(temp) // the rename error is told
		return err
	}
	return nil
}

// modeOf is the permission of the file at rel, fresh when there is none.
func (s *store) modeOf(rel string, fresh fs.FileMode) fs.FileMode {
	if info, err := s.root.Lstat(rel); err == nil && info.Mode().IsRegular() {
		return info.Mode().Perm()
	}
	return fresh
}

// addressAt is the address of the bytes at rel, "" when there is no file.
func (s *store) addressAt(rel string) (string, error) {
	data, err := s.read(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return addressOf(data), nil
}

func (s *store) read(rel string) ([]byte, error) {
	if err := s.ask("bytes", rel); err != nil {
		return nil, err
	}
	f, err := s.root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, err
	}
	return readLimited(f, maxManifest)
}

// makeFolders makes rel and the folders above it and makes them durable.
func (s *store) makeFolders(rel string) error {
	if rel == "." || rel == "" {
		return nil
	}
	made := ""
	for part := range strings.SplitSeq(rel, "/") {
		parent := made
		made = path.Join(made, part)
		err := s.root.Mkdir(made, 0o755)
		if errors.Is(err, fs.ErrExist) {
			if info, err := s.root.Stat(made); err != nil || !info.IsDir() {
				return errNoFolder
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := s.syncDir(path.Join(".", parent)); err != nil {
			return err
		}
	}
	return nil
}
