package documents_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

func drop[T any](_ T, err error) error { return err }

// readings are calls that change no document.
var readings = map[string]func(ctx context.Context, b *documents.Base) error{
	"list":  func(ctx context.Context, b *documents.Base) error { return drop(b.List(ctx, documents.ListRequest{})) },
	"get":   func(ctx context.Context, b *documents.Base) error { return drop(b.Get(ctx, ".archcore/a.adr.md")) },
	"bytes": func(ctx context.Context, b *documents.Base) error { return drop(b.Bytes(ctx, ".archcore/a.adr.md")) },
	"search": func(ctx context.Context, b *documents.Base) error {
		return drop(b.Search(ctx, documents.SearchRequest{Content: "one", Sort: "mtime"}))
	},
	"relations": func(ctx context.Context, b *documents.Base) error { return drop(b.Relations(ctx, "")) },
	"graph":     func(ctx context.Context, b *documents.Base) error { return drop(b.Graph(ctx, "")) },
	"diagnose":  func(ctx context.Context, b *documents.Base) error { return drop(documents.Diagnose(ctx, b)) },
	"versions":  func(ctx context.Context, b *documents.Base) error { return drop(b.Versions(ctx, "a.adr.md")) },
	"at": func(ctx context.Context, b *documents.Base) error {
		_, _, err := b.At(ctx, "a.adr.md", "#1")
		return err
	},
	"hosts": func(ctx context.Context, b *documents.Base) error {
		return b.RecordHosts(ctx, []documents.WiredHost{{ID: "x", Files: []documents.WiredFile{{Path: "f", Digest: "d"}}}})
	},
	"nobody":  func(ctx context.Context, b *documents.Base) error { return b.RecordHosts(ctx, nil) },
	"restore": func(ctx context.Context, b *documents.Base) error { return drop(b.Restore(ctx, "a.adr.md", "#1")) },
}

// failingBase is a project with linked documents whose ledger fails when f says so.
func failingBase(t *testing.T, f **arctest.Fault) *world {
	t.Helper()
	return failingWorld(t, memoryWith(t, asking(f)))
}

// asking are the options of a ledger that fails when f says so.
func asking(f **arctest.Fault) ledger.Options {
	return ledger.Options{Fault: func(op string) error {
		if *f == nil {
			return nil
		}
		return (*f).Ask(op)
	}}
}

func failingWorld(t *testing.T, l *ledger.Ledger) *world {
	t.Helper()
	w := &world{t: t, root: project(t, linkedFiles()), log: l}
	w.reopen()
	return w
}

// beginsLike are the readings that begin as list does: what becomes of them when
// the ledger cannot be opened is what becomes of it.
var beginsLike = map[string]bool{"get": true, "bytes": true, "search": true, "relations": true, "graph": true, "nobody": true, "restore": true}

// TestLedgerThatFails fails every statement that writes and readings of
// documents ask of the ledger: afterwards the old or the new state is on the
// disk, and disk and ledger agree.
func TestLedgerThatFails(t *testing.T) {
	t.Parallel()
	calls := maps.Clone(everyWrite)
	maps.Copy(calls, readings)
	total, long := 0, os.Getenv("ARCHE_LONG") != ""
	var f *arctest.Fault
	lent := &logs{t: t, opts: asking(&f)} // to projects whose ledger was opened before anything fails
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		call := calls[name]
		for _, known := range []bool{false, true} {
			if known && readings[name] != nil && !long {
				continue // nothing is asked that is known
			}
			var done []string
			for n, step := 1, 1; ; n += step {
				if !long {
					step = 1 + n/2
				}
				f = nil
				var w *world
				switch {
				case known:
					w = failingWorld(t, lent.next())
					w.check(t.Context())
				case beginsLike[name] && !long:
					w = failingWorld(t, lent.opened())
				default:
					w = failingBase(t, &f)
				}
				old := foldDisk(t, w.root)
				next := &arctest.Fault{N: n, Err: errors.New("IO Error: Input/output error")}
				f = next
				failed := call(t.Context(), w.base)
				f = nil
				if n == 1 {
					clean := failingWorld(t, lent.next())
					if err := call(t.Context(), clean.base); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					done = foldDisk(t, clean.root)
				}
				w.check(t.Context())
				found := foldDisk(t, w.root)
				if !slices.Equal(found, done) && (failed == nil || !slices.Equal(found, old)) {
					t.Errorf("%s (known %v), %v: told %v, and neither the old nor the new state\n%s", name, known, next, failed, cmp.Diff(old, found))
				}
				w.base.Close()
				if next.Hit == "" {
					if failed != nil {
						t.Errorf("%s: %v", name, failed)
					}
					break
				}
				total++
			}
		}
	}
	if total < 60 {
		t.Errorf("only %d statements were failed", total)
	}
	t.Logf("%d statements were failed", total)
}

// TestCallsEndAtAnyMoment ends the context of each call at each question.
func TestCallsEndAtAnyMoment(t *testing.T) {
	t.Parallel()
	calls := maps.Clone(everyWrite)
	maps.Copy(calls, readings)
	lent := &logs{t: t}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		for n := 1; n < 80; n += 1 + n {
			w := &world{t: t, root: project(t, linkedFiles())}
			if w.log = lent.opened(); !beginsLike[name] {
				w.log = memory(t)
			}
			w.reopen()
			ctx := arctest.NewCountdown(t.Context(), n)
			err := calls[name](ctx, w.base)
			w.check(t.Context())
			w.base.Close()
			if !ctx.Ended() || err == nil {
				break
			}
		}
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                                          "invalid JSON",
		`{}`:                                                          `missing required field "sync"`,
		`{"sync": 1}`:                                                 `field "sync" must be a string`,
		`{"sync": "ftp"}`:                                             `unknown sync type "ftp"`,
		`{"sync": "none", "project_id": 1}`:                           `"project_id" is not allowed for sync type "none"`,
		`{"sync": "cloud", "project_id": "x"}`:                        "must be null or a number",
		`{"sync": "cloud", "archcore_url": "x"}`:                      `"archcore_url" is not allowed`,
		`{"sync": "on-prem"}`:                                         `missing required field "archcore_url"`,
		`{"sync": "on-prem", "archcore_url": 1}`:                      `field "archcore_url" must be a string`,
		`{"sync": "on-prem", "archcore_url": ""}`:                     "must not be empty",
		`{"sync": "none", "language": 1}`:                             `field "language" must be a string`,
		`{"sync": "none", "language": ""}`:                            `field "language" must not be empty`,
		`{"sync": "none", "language": "a b"}`:                         "must not contain spaces",
		`{"sync": "none", "globals": 1}`:                              "must be an array",
		`{"sync": "none", "globals": [1]}`:                            "must be an array",
		`{"sync": "none", "globals": [{"id": 1}]}`:                    "must be an array",
		`{"sync": "none", "globals": [{}]}`:                           `globals[0]: "id" must not be empty`,
		`{"sync": "none", "globals": [{"id": "A"}]}`:                  "must be lowercase",
		`{"sync": "none", "globals": [{"id": "-a"}]}`:                 "must be lowercase",
		`{"sync": "none", "globals": [{"id": "a_b"}]}`:                "must be lowercase",
		`{"sync": "none", "globals": [{"id": "local", "path": "x"}]}`: `"id" "local" is reserved`,
		`{"sync": "none", "globals": [{"id": "x"}]}`:                  `globals[0]: "path" must not be empty`,
		`{"sync": "none", "globals": [{"id": "x", "path": "a"}, {"id": "x", "path": "b"}]}`: `duplicate id "x"`,
	} {
		if err := documents.ParseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{`{"sync": "none"}`, `{"sync": "none", "language": "de", "globals": [{"id": "a-1-", "path": "x"}, {"id": "0z", "path": "x", "more": 1}], "other": {}}`, `{"sync": "cloud", "project_id": null}`, `{"sync": "on-prem", "archcore_url": "https://x.test", "project_id": 7}`} {
		if err := documents.ParseSettings([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestManifestsThatAreWrong(t *testing.T) {
	many := strings.Repeat(`"x",`, 30) + `"x"`
	for text, want := range map[string]string{
		`{"version": 1, "files": {}, "relations": [], "more": 1}`:                               `unknown root field "more"`,
		`{"version": null, "files": {}, "relations": []}`:                                       "version is null",
		`{"version": 1.5, "files": {}, "relations": []}`:                                        "version has wrong type",
		`{"version": 1e40, "files": {}, "relations": []}`:                                       "version has wrong type",
		`{"version": 1, "files": [], "relations": []}`:                                          "files must be an object",
		`{"version": 1, "files": {"a.md": 1}, "relations": []}`:                                 `hash of file entry "a.md" must be text`,
		`{"version": 1, "files": {"a/": "` + strings.Repeat("0", 64) + `"}, "relations": []}`:   "has trailing slash",
		`{"version": 1, "files": {"a.md": "` + strings.Repeat("G", 64) + `"}, "relations": []}`: "a.md",
		`{"version": 1, "files": {}, "relations": [1]}`:                                         "relation[0] must be an object",
		`{"version": 1, "files": {}, "relations": [{"source": 1}]}`:                             "relation[0]",
		`{"version": 1, "files": {}, "relations": [` + many + `]}`:                              "and ",
	} {
		if _, _, err := documents.Manifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestVersionsAreNamed: by number, time and the beginning of an event.
func TestVersionsAreNamed(t *testing.T) {
	ctx := t.Context()
	b := open(t, project(t, linkedFiles()))
	for n, body := range []string{"second\n", "third\n"} {
		if _, err := b.Update(ctx, documents.UpdateRequest{Path: ".archcore/a.adr.md", Content: body, Status: []string{"accepted", "draft"}[n]}); err != nil {
			t.Fatal(err)
		}
	}
	versions, err := b.Versions(ctx, "a.adr.md")
	if err != nil || len(versions) != 3 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	if _, err := b.Remove(ctx, ".archcore/a.adr.md"); err != nil {
		t.Fatal(err)
	}
	hex := versions[1].Event[strings.LastIndexByte(versions[1].Event, ':')+1:]
	for ref, want := range map[string]string{
		"#1": "one", "#2": "second", hex[:12]: "second", versions[1].Event: "second", versions[2].Time.Format("2006-01-02T15:04:05.999999999Z07:00"): "third",
	} {
		if _, data, err := b.At(ctx, "a.adr.md", ref); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: %q %v, want %q", ref, data, err, want)
		}
	}
	for _, ref := range []string{"#0", "#9", "#x", "abc", "zzzzzzzz", "1999-01-01", "ffffffffffff", ""} {
		if _, _, err := b.At(ctx, "a.adr.md", ref); fault.As(err) == nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if _, _, err := b.At(ctx, "a.adr.md", "#4"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a version that is a removal: %v", err)
	}
	if _, err := b.Restore(ctx, "a.adr.md", "#2"); err != nil {
		t.Fatal(err)
	}
	if text := slurpDocument(t, b); !strings.Contains(text, "second") {
		t.Errorf("restored %q", text)
	}
	after, err := b.Versions(ctx, "a.adr.md")
	if err != nil || len(after) != 5 {
		t.Fatalf("%d versions, %v", len(after), err)
	}
	var before *documents.Version
	var words []string
	for i := range after {
		words = append(words, b.Describe(ctx, before, after[i]))
		before = &after[i]
	}
	for i, want := range []string{"first seen", "status draft -> accepted", "status accepted -> draft", "removed", "back"} {
		if !strings.Contains(words[i], want) {
			t.Errorf("version %d is told as %q, want %q", i+1, words[i], want)
		}
	}
	for _, p := range []string{"none.adr.md", "../x", "/abs", ".arche/x"} {
		if _, err := b.Versions(ctx, p); fault.As(err) == nil {
			t.Errorf("%s: %v", p, err)
		}
		if _, err := b.Restore(ctx, p, "#1"); fault.As(err) == nil {
			t.Errorf("restore %s: %v", p, err)
		}
	}
}

func slurpDocument(t *testing.T, b *documents.Base) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.Root(), ".archcore", "a.adr.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestWhatIsInTheWay: folders, links and rubbish where files of ours should be
// are told and never written through.
func TestWhatIsInTheWay(t *testing.T) {
	ctx := t.Context()
	write := everyWrite["update"]
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := documents.StateDir
	for name, lay := range map[string]func(base string) error{
		"the state folder is a file": func(base string) error { return os.WriteFile(filepath.Join(base, state), nil, 0o600) },
		"the state folder is a link": func(base string) error { return os.Symlink(t.TempDir(), filepath.Join(base, state)) },
		"the lock is a link": func(base string) error {
			return errors.Join(os.Mkdir(filepath.Join(base, state), 0o700), os.Symlink(outside, filepath.Join(base, state, "lock")))
		},
		"the ledger is a link": func(base string) error {
			return errors.Join(os.Mkdir(filepath.Join(base, state), 0o700), os.Symlink(outside, filepath.Join(base, state, "ledger.duckdb")))
		},
		"the project's name is a link": func(base string) error {
			return errors.Join(os.Mkdir(filepath.Join(base, state), 0o700), os.Symlink(outside, filepath.Join(base, state, "project.json")))
		},
		"the intent is a folder": func(base string) error { return os.MkdirAll(filepath.Join(base, state, "intent.json"), 0o700) },
		"the document is too large": func(base string) error {
			return os.WriteFile(filepath.Join(base, "a.adr.md"), make([]byte, documents.MaxDocument+1), 0o600)
		},
		"the document is a folder": func(base string) error {
			return errors.Join(os.Remove(filepath.Join(base, "a.adr.md")), os.Mkdir(filepath.Join(base, "a.adr.md"), 0o700))
		},
		"the document is a link": func(base string) error {
			return errors.Join(os.Remove(filepath.Join(base, "a.adr.md")), os.Symlink(outside, filepath.Join(base, "a.adr.md")))
		},
	} {
		root := project(t, linkedFiles())
		if err := lay(filepath.Join(root, ".archcore")); err != nil {
			t.Fatal(err)
		}
		b := open(t, root)
		if err := write(ctx, b); fault.As(err) == nil || strings.Contains(err.Error(), root) {
			t.Errorf("%s: %v", name, err)
		}
		if data, err := os.ReadFile(outside); err != nil || string(data) != "theirs\n" {
			t.Errorf("%s: a file outside was written: %q %v", name, data, err)
		}
		_, _ = b.Get(ctx, ".archcore/a.adr.md")
	}
	// Intents that are none are forgotten.
	for _, text := range []string{"", "[]", `{"edits": [{"file": "../x"}]}`, `{"edits": [{"file": "a.adr.md", "temp": "b.adr.md"}]}`,
		`{"edits": [{"file": "a.adr.md"}], "events": [{"kind": "x", "body": 1}]}`,
		`{"edits": [{"file": "a.adr.md", "after": ""}], "events": [{"kind": "x", "body": {}}]}`} {
		root := project(t, linkedFiles())
		dir := filepath.Join(root, ".archcore", state)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "intent.json"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := write(ctx, open(t, root)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "intent.json")); err == nil {
			t.Errorf("%s stays", text)
		}
	}
}

// TestAnotherEditorIsQuicker: a document that changes while it is being written
// is read again; one that goes on changing is left to the other program.
func TestAnotherEditorIsQuicker(t *testing.T) {
	for _, often := range []bool{false, true} {
		root := project(t, linkedFiles())
		b := open(t, root)
		n := 0
		documents.SetStep(b, func(step string) error {
			if strings.HasPrefix(step, "temporary file of a.adr.md") && (n == 0 || often) {
				n++
				put(t, root, "a.adr.md", "---\ntitle: \"By hand\"\nstatus: draft\n---\n\nby hand "+strings.Repeat("x", n)+"\n")
			}
			return nil
		})
		err := everyWrite["update"](t.Context(), b)
		if often != fault.Is(err, fault.Busy) || !often && err != nil {
			t.Errorf("often %v: %v", often, err)
		}
		text := slurpDocument(t, b)
		if strings.Contains(text, "changed") == often {
			t.Errorf("often %v: %q", often, text)
		}
	}
}

// TestInitRefusals: what cannot be set up is told, and nothing is made.
func TestInitRefusals(t *testing.T) {
	root := t.TempDir()
	b := open(t, root)
	for _, req := range []documents.InitRequest{{SyncMode: "ftp"}, {SyncMode: "on-prem"}, {Language: "a b"}} {
		if _, err := b.Init(t.Context(), req); fault.As(err) == nil {
			t.Errorf("%+v: %v", req, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, ".archcore")); err == nil {
		t.Error("something was made")
	}
	if _, err := b.Versions(t.Context(), "a.adr.md"); !fault.Is(err, fault.NotFound) {
		t.Errorf("versions of no project: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, file).Init(t.Context(), documents.InitRequest{}); fault.As(err) == nil {
		t.Errorf("in a file: %v", err)
	}
}
