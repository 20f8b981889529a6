package hosts

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

// Wirer writes below one project's folder.
type Wirer struct {
	Root   string // the project's folder
	DryRun bool   // change nothing; the report says what would change
	disk   disk.Disk
}

// maxConfig is the largest configuration file that is read.
const maxConfig = 8 << 20

// session is one run.
type session struct {
	root    *disk.Root
	dry     bool
	report  *Report
	pending map[string][]byte // what a dry run would have written
	notes   map[string]error  // instruction files done, with what came of it
}

// Wire wires a host and, with detected, every other one whose folder or file is
// in the project. A failure of one file stops nothing else: it is in the report.
func (w Wirer) Wire(id string, detected bool) (*Report, error) {
	if !Known(id) {
		return nil, fault.New(fault.Invalid, "installing host config: unknown agent %q — valid agents: %v", id, IDs())
	}
	root, err := w.disk.OpenRoot(w.Root)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "installing host config: %s", class(err))
	}
	defer root.Close()
	s := &session{root: root, dry: w.DryRun, report: &Report{}, pending: map[string][]byte{}, notes: map[string]error{}}
	var targets []host
	for _, h := range registry {
		if h.id == id || detected && s.detect(h) {
			targets = append(targets, h)
		}
	}
	for _, h := range targets {
		s.report.Agents = append(s.report.Agents, s.wire(h))
	}
	for i, h := range targets {
		s.instruct(h, &s.report.Agents[i])
	}
	return s.report, nil
}

func (s *session) detect(h host) bool {
	return slices.ContainsFunc(h.detect, func(p string) bool {
		_, err := s.root.Stat(p)
		return err == nil
	})
}

// wire writes the hooks and the server entry of one host.
func (s *session) wire(h host) Agent {
	a := Agent{ID: h.id, ManualHint: h.manualHint, Hooks: h.hooks != nil}
	if h.hooks != nil {
		err := s.edit(h.hooks.file, &a, func(old []byte) ([]byte, error) { return editHooks(old, h.hooks) })
		a.failed("hooks", err)
	}
	if h.mcp != nil {
		err := s.edit(h.mcp.file, &a, func(old []byte) (out []byte, err error) {
			note := ""
			if h.mcp.format == "toml" {
				out, note, err = editTOML(old, h.mcp)
			} else {
				out, note, err = editServers(old, h.mcp)
			}
			if note != "" {
				a.Notes = append(a.Notes, note)
			}
			return out, err
		})
		if !a.failed("mcp", err) {
			a.MCPPath = h.mcp.file
		}
	}
	if h.legacy != "" {
		s.dropLegacy(h.legacy)
	}
	return a
}

func (a *Agent) failed(what string, err error) bool {
	if err != nil {
		a.Errors = append(a.Errors, what+": "+err.Error())
	}
	return err != nil
}

// instruct writes the usage note into a host's instruction files. A file that
// several hosts share is written once, and its failure told to each.
func (s *session) instruct(h host, a *Agent) {
	for i, file := range h.instructions {
		if s.pointsAt(file, h.instructions) {
			continue // a link to another of the same files, which is written itself
		}
		err, done := s.notes[file]
		if !done {
			err = s.edit(file, a, func(old []byte) ([]byte, error) { return []byte(editNote(string(old))), nil })
			s.notes[file] = err
		}
		if a.failed("instructions", err) {
			continue
		}
		if i == 0 || a.Instructions == "" {
			a.Instructions = file
		} else {
			a.Extra = append(a.Extra, file)
		}
	}
}

// pointsAt reports whether file is a link to another file of the list.
func (s *session) pointsAt(file string, files []string) bool {
	target, err := s.root.Readlink(file)
	return err == nil && slices.Contains(files, path.Clean(target)) && path.Clean(target) != file
}

// dropLegacy removes a file that older releases of the published program
// wrote, when it is one.
func (s *session) dropLegacy(file string) {
	data, err := s.read(file)
	if err != nil || !strings.Contains(string(data), "archcore") {
		return
	}
	s.report.Edits = append(s.report.Edits, Edit{Path: file, Before: data})
	if !s.dry {
		_ = s.root.Remove(file) // a leftover that does no harm
	}
}

// edit changes one file through fn. The error names the file and says nothing
// of its content.
func (s *session) edit(file string, a *Agent, fn func(old []byte) ([]byte, error)) error {
	old, err := s.read(file)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return fmt.Errorf("%s: %s", file, class(err))
	}
	out, err := fn(old)
	if errors.Is(err, errMalformed) && holdsNothing(old) {
		if err := s.write(file+".bak", nil, old); err != nil {
			return fmt.Errorf("%s: no backup could be made: %s", file, class(err))
		}
		out, err = fn(nil)
	}
	if err != nil {
		return fmt.Errorf("%s is left as it is: %w", file, err)
	}
	if missing || !bytes.Equal(old, out) {
		before := old
		if missing {
			before = nil
		} else if before == nil {
			before = []byte{}
		}
		if err := s.write(file, before, out); err != nil {
			return fmt.Errorf("%s: %s", file, class(err))
		}
	}
	sum := blake3.Sum256(out)
	f := File{Path: file, Digest: "blake3:" + hex.EncodeToString(sum[:])}
	if i := slices.IndexFunc(a.Files, func(x File) bool { return x.Path == file }); i >= 0 {
		a.Files[i] = f
	} else {
		a.Files = append(a.Files, f)
	}
	return nil
}

// holdsNothing reports whether a malformed text has nothing to lose: brackets
// and comments alone.
func holdsNothing(text []byte) bool {
	for line := range bytes.Lines(text) {
		rest := bytes.TrimSpace(line)
		if i := bytes.Index(rest, []byte("//")); i >= 0 {
			rest = bytes.TrimSpace(rest[:i])
		}
		if len(bytes.Trim(rest, "{} \t")) > 0 {
			return false
		}
	}
	return true
}

var errLink = errors.New("symbolic link")

// read reads a file. Neither the file nor a folder on the way may be a link.
func (s *session) read(file string) ([]byte, error) {
	if data, ok := s.pending[file]; ok {
		return data, nil
	}
	if err := s.noLinks(file); err != nil {
		return nil, err
	}
	info, err := s.root.Lstat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return nil, fs.ErrInvalid
	}
	return s.root.ReadFile(file)
}

func (s *session) noLinks(file string) error {
	at := ""
	for part := range strings.SplitSeq(file, "/") {
		at = path.Join(at, part)
		info, err := s.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return errLink
		}
	}
	return nil
}

// write replaces a file as a whole: temporary file, sync, rename. Its
// permissions stay.
func (s *session) write(file string, before, data []byte) error {
	s.report.Edits = append(s.report.Edits, Edit{Path: file, Before: before, After: data})
	if s.dry {
		s.pending[file] = data
		return nil
	}
	if err := s.noLinks(file); err != nil {
		return err
	}
	dir := path.Dir(file)
	if err := s.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := s.root.Lstat(file); err == nil {
		mode = info.Mode().Perm()
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	temp := path.Join(dir, ".arche-"+hex.EncodeToString(random[:])+".tmp")
	if err := s.writeTemp(temp, data, mode); err != nil {
		_ = s.root.Remove(temp) // the write error is told
		return err
	}
	if err := s.root.Rename(temp, file); err != nil {
		_ = s.root.Remove(temp) // the rename error is told
		return err
	}
	if d, err := s.root.Open(dir); err == nil {
		_ = d.Sync() // not every file system can; the content is on the disk
		d.Close()
	}
	return nil
}

func (s *session) writeTemp(temp string, data []byte, mode fs.FileMode) error {
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
	return err
}

// class reduces an operating-system error to what a client may read.
func class(err error) string {
	switch {
	case errors.Is(err, errLink):
		return "it is, or lies behind, a symbolic link; make it a file of its own"
	case errors.Is(err, fs.ErrNotExist):
		return "file not found"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrExist):
		return "file already exists"
	}
	return "file system error"
}
