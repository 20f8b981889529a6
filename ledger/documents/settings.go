package documents

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

const (
	baseDir      = ".archcore"
	basePrefix   = baseDir + "/"
	settingsFile = "settings.json"
	maxSettings  = 1 << 20 // bytes
)

// source is a global source: documents of others, mounted read-only.
type source struct {
	ID   string
	Path string // as declared
}

// settings are a project's settings.json, checked.
type settings struct {
	object  *canon.Object // every key, the unknown ones too, in file order
	globals []source
}

var (
	errSettings   = errors.New("settings are invalid")
	syncTypes     = []string{"none", "cloud", "on-prem"}
	errUnverified = fault.New(fault.Invalid, "cannot verify global sources: settings.json is unreadable").
			WithHint("repair .archcore/settings.json, or remove it and run init_project")
)

// settingsError is an invalid settings file; its text is for clients.
type settingsError struct{ reason string }

func (e *settingsError) Error() string { return "invalid settings: " + e.reason }
func (e *settingsError) Unwrap() error { return errSettings }

func badSettings(format string, args ...any) error {
	return &settingsError{fmt.Sprintf(format, args...)}
}

// parseSettings checks the bytes of a settings.json.
func parseSettings(data []byte) (*settings, error) {
	o, err := canon.ParseObject(data, canon.Limits{Depth: 64})
	if err != nil {
		return nil, badSettings("invalid JSON: %s", err)
	}
	sync, ok := o.Get("sync")
	if !ok {
		return nil, badSettings(`missing required field "sync"`)
	}
	mode, ok := sync.(string)
	if !ok {
		return nil, badSettings(`field "sync" must be a string`)
	}
	if !slices.Contains(syncTypes, mode) {
		return nil, badSettings("unknown sync type %q", mode)
	}
	if err := checkMode(o, mode); err != nil {
		return nil, err
	}
	if lang, ok := o.Get("language"); ok {
		if err := checkLanguage(lang); err != nil {
			return nil, err
		}
	}
	globals, err := parseGlobals(o)
	if err != nil {
		return nil, err
	}
	return &settings{object: o, globals: globals}, nil
}

func checkMode(o *canon.Object, mode string) error {
	id, hasID := o.Get("project_id")
	url, hasURL := o.Get("archcore_url")
	if hasID && mode == "none" {
		return badSettings("field %q is not allowed for sync type %q", "project_id", mode)
	}
	if hasURL && mode != "on-prem" {
		return badSettings("field %q is not allowed for sync type %q", "archcore_url", mode)
	}
	if !hasURL && mode == "on-prem" {
		return badSettings(`missing required field "archcore_url" for sync type "on-prem"`)
	}
	if hasID {
		if _, number := id.(canon.Number); id != nil && !number {
			return badSettings(`field "project_id" must be null or a number`)
		}
	}
	if hasURL {
		text, ok := url.(string)
		if !ok {
			return badSettings(`field "archcore_url" must be a string`)
		}
		if text == "" {
			return badSettings(`field "archcore_url" must not be empty`)
		}
	}
	return nil
}

func checkLanguage(v any) error {
	lang, ok := v.(string)
	switch {
	case !ok:
		return badSettings(`field "language" must be a string`)
	case lang == "":
		return badSettings(`field "language" must not be empty`)
	case strings.Contains(lang, " "):
		return badSettings(`field "language" must not contain spaces`)
	}
	return nil
}

func parseGlobals(o *canon.Object) ([]source, error) {
	v, ok := o.Get("globals")
	if !ok {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, badSettings(`field "globals" must be an array of global source objects`)
	}
	var out []source
	for i, item := range list {
		g, err := parseGlobal(i, item)
		if err != nil {
			return nil, err
		}
		for j, other := range out {
			if other.ID == g.ID {
				return nil, badSettings("globals[%d] and globals[%d]: duplicate id %q", j, i, g.ID)
			}
		}
		out = append(out, g)
	}
	return out, nil
}

func parseGlobal(i int, item any) (source, error) {
	bad := badSettings(`field "globals" must be an array of global source objects`)
	o, ok := item.(*canon.Object)
	if !ok {
		return source{}, bad
	}
	var g source
	for _, f := range []struct {
		key  string
		into *string
	}{{"id", &g.ID}, {"path", &g.Path}} {
		if v, there := o.Get(f.key); there && v != nil {
			if *f.into, ok = v.(string); !ok {
				return source{}, bad
			}
		}
	}
	switch {
	case g.ID == "":
		return source{}, badSettings(`globals[%d]: "id" must not be empty`, i)
	case !isSourceID(g.ID):
		return source{}, badSettings(`globals[%d]: "id" %q must be lowercase alphanumeric with hyphens (e.g. "company")`, i, g.ID)
	case g.ID == localSource:
		return source{}, badSettings(`globals[%d]: "id" "local" is reserved`, i)
	case g.Path == "":
		return source{}, badSettings(`globals[%d]: "path" must not be empty`, i)
	}
	return g, nil
}

func isSourceID(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0) {
			return false
		}
	}
	return s != ""
}

// settingsBytes is how a settings file is written.
func settingsBytes(o *canon.Object) []byte { return append(encoded(o), '\n') }

// ioClass reduces an operating-system error to what a client may read.
func ioClass(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "file not found"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrExist):
		return "file already exists"
	}
	return "file system error"
}

// ioFault is an I/O error in the form clients read: what was done, to which
// project-relative path, and the class of what went wrong.
func ioFault(err error, action, rel string) error {
	if rel != "" {
		action += " " + rel
	}
	kind := fault.Refused
	if errors.Is(err, fs.ErrNotExist) {
		kind = fault.NotFound
	}
	return fault.Wrap(err, kind, "%s: %s", action, ioClass(err))
}
