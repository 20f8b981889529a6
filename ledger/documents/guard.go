package documents

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/fault"
)

// The guard: every path that a client names goes through one of the functions
// of this file before anything is opened. They check the grammar, then where
// the path really leads, links and all; what is opened afterwards is opened
// below an os.Root, which no path can leave.

var (
	errRelative  = fault.New(fault.Refused, "invalid path: must be relative and within .archcore/")
	errMustStart = fault.New(fault.Refused, `invalid path: must start with ".archcore/"`)
	errOutside   = fault.New(fault.Refused, "invalid path: resolves outside .archcore/")
	errNoBase    = fault.New(fault.Refused, "invalid path: cannot resolve .archcore/")
	errNoPath    = fault.New(fault.Refused, "invalid path: cannot resolve path")
	errNoText    = fault.New(fault.Refused, "invalid path: is not UTF-8 text")
)

// stateDir holds what this program keeps beside the documents: locks, intents
// and the project's own ledger. It is no part of the knowledge base.
const stateDir = ".ledger"

// isAbsolute reports absolute paths of every platform.
func isAbsolute(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`) || filepath.IsAbs(p) ||
		len(p) > 1 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// cleanLocal cleans a wire path and returns it relative to .archcore/; ok says
// it names something inside. A NUL is looked for before cleaning, which could
// take it away.
func cleanLocal(p string) (rel string, ok bool) {
	if !strings.HasPrefix(p, basePrefix) || strings.ContainsRune(p, 0) {
		return "", false
	}
	rel, ok = strings.CutPrefix(path.Clean(p), basePrefix)
	return rel, ok && rel != ""
}

// isState reports whether a path below .archcore/ is this program's own.
func isState(rel string) bool {
	first, _, _ := strings.Cut(rel, "/")
	return strings.EqualFold(first, stateDir)
}

// contain checks that a path below .archcore/ stays there when links are
// followed. What does not exist yet is judged by its deepest existing folder.
func (b *Base) contain(rel string) error {
	if strings.ContainsRune(rel, 0) || isState(rel) {
		return errNoPath
	}
	base := filepath.Join(b.root, baseDir)
	own, err := filepath.EvalSymlinks(base)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(base); err == nil {
			return errNoBase // a link to nowhere
		}
		return nil // nothing is there yet, so nothing leads out
	}
	if err != nil {
		return errNoBase
	}
	at, err := resolveDeepest(own, filepath.FromSlash(rel))
	if err != nil {
		return errNoPath
	}
	return within(own, at)
}

// within checks that a real path lies below a real folder, and not in this
// program's own part of it.
func within(own, at string) error {
	inside, err := filepath.Rel(own, at)
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return errOutside
	}
	if isState(filepath.ToSlash(inside)) {
		return errNoPath
	}
	return nil
}

// resolveDeepest follows the links of base/rel, or of the deepest part of it
// that exists.
func resolveDeepest(base, rel string) (string, error) {
	full := filepath.Join(base, rel)
	rest := ""
	for {
		at, err := filepath.EvalSymlinks(full)
		if err == nil {
			return filepath.Join(at, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || full == base {
			return "", err
		}
		if target, err := os.Readlink(full); err == nil {
			return followDangling(full, target), nil
		}
		rest = filepath.Join(filepath.Base(full), rest)
		full = filepath.Dir(full)
	}
}

// followDangling says where a link to something that does not exist points.
func followDangling(link, target string) string {
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(link), target)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(target))
	if err != nil {
		return filepath.Clean(target)
	}
	return filepath.Join(dir, filepath.Base(target))
}

// verb is one of the three things a tool does to a document; it words errors.
type verb struct{ name, past string }

var (
	updating = verb{"update", "updated"}
	removing = verb{"remove", "removed"}
)

// guardWrite checks the path of a document that is to be changed and returns it
// relative to .archcore/.
func (b *Base) guardWrite(p string, declared []source, v verb) (rel string, err error) {
	switch {
	case isAbsolute(p):
		return "", errRelative
	case strings.ContainsRune(p, 0):
		return "", errNoPath
	case !utf8.ValidString(p):
		return "", errNoText
	case !strings.HasPrefix(p, basePrefix):
		return "", errMustStart
	}
	rel, ok := cleanLocal(p)
	if !ok {
		return "", errRelative
	}
	notDocument := fault.New(fault.Refused, "invalid path: not a document — only .md document files can be %s", v.past)
	if !isDocumentName(rel) {
		return "", notDocument
	}
	if b.isReadOnly(rel, declared) {
		return "", fault.New(fault.Refused, "cannot %s a read-only global source document", v.name)
	}
	if err := b.contain(rel); err != nil {
		return "", err
	}
	info, err := os.Lstat(filepath.Join(b.root, baseDir, filepath.FromSlash(rel)))
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", notDocument // a link inside .archcore/ is never scanned, so it is none
	}
	return rel, nil
}

// guardCreate checks the folder a document is to be made in and returns the
// document's path relative to .archcore/.
func (b *Base) guardCreate(directory, filename string, declared []source) (rel string, err error) {
	rel = path.Join(directory, filename)
	if !utf8.ValidString(rel) {
		return "", errNoText
	}
	if b.isReadOnly(rel, declared) {
		return "", fault.New(fault.Refused, "cannot create document in a read-only global source")
	}
	return rel, b.contain(rel)
}

// guardEndpoint checks one end of a relation.
func (b *Base) guardEndpoint(rel string, declared []source, action string) error {
	if !isDocumentName(rel) || strings.ContainsRune(rel, 0) {
		return fault.New(fault.Refused, "relation endpoints must be .md document files")
	}
	if !utf8.ValidString(rel) {
		return errNoText
	}
	if b.isReadOnly(path.Clean(rel), declared) {
		return fault.New(fault.Refused,
			"cannot %s a relation involving a read-only global source document — relations connect local documents only", action)
	}
	return b.contain(path.Clean(rel))
}

// guardRead checks the path of a document that is to be read. A path outside
// .archcore/ must lie in a declared source; then from is that source.
func (b *Base) guardRead(p string, declared []source) (rel string, from *source, err error) {
	switch {
	case isAbsolute(p):
		return "", nil, errRelative
	case strings.ContainsRune(p, 0):
		return "", nil, errNoPath
	case strings.HasPrefix(p, basePrefix):
		rel, ok := cleanLocal(p)
		if !ok {
			return "", nil, errMustStart
		}
		if isState(rel) {
			return "", nil, fault.New(fault.NotFound, "document not found: %s", basePrefix+rel)
		}
		return rel, nil, b.contain(rel)
	}
	return b.guardExternal(p, declared)
}

func (b *Base) guardExternal(p string, declared []source) (string, *source, error) {
	clean := path.Clean(p)
	if !strings.HasSuffix(clean, ".md") {
		return "", nil, fault.New(fault.Refused, "invalid path: only .md global documents are readable")
	}
	for i, g := range declared {
		prefix := b.wirePrefix(g)
		rel, ok := strings.CutPrefix(clean, prefix)
		if !ok || strings.HasPrefix(prefix, basePrefix) || strings.HasPrefix(rel, "../") || rel == ".." {
			continue
		}
		dir, _ := b.locate(g)
		own, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", nil, fault.New(fault.NotFound, "invalid path: global source is not accessible")
		}
		at, err := resolveDeepest(own, filepath.FromSlash(rel))
		if err != nil {
			return "", nil, fault.New(fault.Refused, "invalid path: cannot resolve global document")
		}
		if within(own, at) != nil {
			return "", nil, fault.New(fault.Refused, "invalid path: resolves outside the global source")
		}
		return rel, &declared[i], nil
	}
	return "", nil, errMustStart
}
