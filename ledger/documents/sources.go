package documents

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
)

const (
	localSource      = "local"
	globalScope      = "global"
	undeclaredGlobal = "__global__" // files under a global folder that no declaration covers
	globalFolder     = "global"
)

// mount is one folder that documents are read from.
type mount struct {
	id     string
	global bool
	dir    string // absolute; never shown
	prefix string // of wire paths, ends with /
	ask    asker  // of what is read below dir
	tree   *node  // as last walked
}

// resolved is where the declared sources of a project lie.
type resolved struct {
	mounts  []*mount // in order of declaration
	missing []string // ids of those that are not there
}

// resolveSources finds the folders of the declared sources. One that is not
// there is left out and named; one that cannot be used is an error.
func (b *Base) resolveSources(declared []source) (resolved, error) {
	var out resolved
	real := map[string]string{} // real path -> id
	own, err := filepath.EvalSymlinks(filepath.Join(b.root, baseDir))
	if err != nil {
		own = filepath.Join(b.root, baseDir)
	}
	for _, g := range declared {
		dir, shown := b.locate(g)
		at, info, err := realFolder(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out.missing = append(out.missing, g.ID)
			continue
		case err != nil:
			return out, badSource("global source %q at %q is not readable", g.ID, shown)
		case !info.IsDir():
			return out, badSource("global source %q at %q is not a directory", g.ID, shown)
		}
		if at == own || strings.HasPrefix(own, strings.TrimSuffix(at, string(filepath.Separator))+string(filepath.Separator)) {
			return out, badSource("global source %q at %q resolves to the project's own .archcore", g.ID, shown)
		}
		if other, twice := real[at]; twice {
			return out, badSource("global sources %q and %q resolve to the same path %q", other, g.ID, shown)
		}
		real[at] = g.ID
		out.mounts = append(out.mounts, &mount{id: g.ID, global: true, dir: at, prefix: b.wirePrefix(g), ask: b.ask})
	}
	return out, nil
}

// realFolder is where a folder really is, links followed, and what is there.
func realFolder(dir string) (at string, info fs.FileInfo, err error) {
	if at, err = filepath.EvalSymlinks(dir); err == nil {
		info, err = os.Stat(at)
	}
	return at, info, err
}

func badSource(format string, args ...any) error {
	return fault.New(fault.Invalid, "scanning documents: "+format, args...)
}

// locate is where a source lies and how its place may be shown.
func (b *Base) locate(g source) (dir, shown string) {
	native := filepath.FromSlash(g.Path)
	if filepath.IsAbs(native) {
		return filepath.Clean(native), strings.TrimSuffix(b.wirePrefix(g), "/")
	}
	clean := filepath.Clean(native)
	base := b.root
	if clean == ".." || strings.HasPrefix(clean, ".."+string(filepath.Separator)) {
		base = mainCheckout(b.root)
	}
	return filepath.Join(base, clean), g.Path
}

// wirePrefix is what the paths of a source's documents begin with.
func (b *Base) wirePrefix(g source) string {
	native := filepath.FromSlash(g.Path)
	if filepath.IsAbs(native) {
		rel, err := filepath.Rel(b.root, native)
		if err != nil {
			return g.ID + "/"
		}
		return filepath.ToSlash(rel) + "/"
	}
	return path.Clean(filepath.ToSlash(g.Path)) + "/"
}

// mainCheckout is the project's folder, or that of the main checkout when the
// project is a linked git worktree.
func mainCheckout(root string) string {
	data, err := os.ReadFile(filepath.Join(root, ".git"))
	if err != nil {
		return root
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
	if !ok {
		return root
	}
	dir = filepath.Clean(strings.TrimSpace(dir))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	worktrees := filepath.Dir(dir)
	if git := filepath.Dir(worktrees); filepath.Base(worktrees) == "worktrees" && filepath.Base(git) == ".git" {
		return filepath.Dir(git)
	}
	return root
}

// vendored is the place of a declared source inside .archcore/, relative to it.
func (b *Base) vendored(g source) (string, bool) {
	return strings.CutPrefix(strings.TrimSuffix(b.wirePrefix(g), "/"), basePrefix)
}

// isReadOnly reports whether a path below .archcore/ belongs to a source: a
// folder named global, in any letter case, or a declared one.
func (b *Base) isReadOnly(rel string, declared []source) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if strings.EqualFold(part, globalFolder) {
			return true
		}
	}
	low := strings.ToLower(rel)
	return slices.ContainsFunc(declared, func(g source) bool {
		at, ok := b.vendored(g)
		at = strings.ToLower(at)
		return ok && (low == at || strings.HasPrefix(low, at+"/"))
	})
}

// checkSource validates the source argument of list and search.
func checkSource(arg string, declared []source) (string, error) {
	arg = strings.TrimSpace(arg)
	if arg == "" || arg == localSource || arg == globalScope || arg == undeclaredGlobal ||
		slices.ContainsFunc(declared, func(g source) bool { return g.ID == arg }) {
		return arg, nil
	}
	return "", invalid("invalid source %q (valid: \"local\", \"global\", or a declared global source id)", arg)
}

// inScope reports whether a document belongs to a checked source argument.
func inScope(d *document, scope string) bool {
	switch scope {
	case "":
		return true
	case globalScope:
		return d.source.global
	}
	return d.source.id == scope
}
