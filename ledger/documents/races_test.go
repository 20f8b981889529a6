package documents_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// between runs act when the disk is asked for op the n-th time; what it returns
// is what becomes of the operation.
func between(b *documents.Base, op string, n int, act func() error) {
	documents.SetFault(b, func(o string) error {
		if o != op {
			return nil
		}
		if n--; n != 0 {
			return nil
		}
		return act()
	})
}

// during runs act once when a write has just done a step.
func during(b *documents.Base, step string, act func() error) {
	done := false
	documents.SetStep(b, func(s string) error {
		if done || !strings.HasPrefix(s, step) {
			return nil
		}
		done = true
		return act()
	})
}

// TestOthersChangeTheDiskMeanwhile: another program does something at the worst
// moment of a write. What it did stays, the caller is told, and the ledger agrees
// with the disk.
func TestOthersChangeTheDiskMeanwhile(t *testing.T) {
	const hand = "---\ntitle: \"Hand\"\nstatus: draft\n---\n\nby hand\n"
	made := "deep/er/new.rule.md"
	byHand := func(rel string) func(*world, func(string) string) error {
		return func(_ *world, at func(string) string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(at(rel)), 0o755), os.WriteFile(at(rel), []byte(hand), 0o600))
		}
	}
	gone := func(rel string) func(*world, func(string) string) error {
		return func(_ *world, at func(string) string) error { return os.Remove(at(rel)) }
	}
	for name, c := range map[string]struct {
		write  string
		step   string // of the write
		op     string // of the disk
		n      int
		act    func(w *world, at func(rel string) string) error
		want   string // error, "" when the write is done
		stays  string // file that is as the other program left it
		absent string // file that is not there
	}{
		"the document is a folder now": {write: "update", step: "temporary file of a.adr.md", want: "writing .archcore/a.adr.md: file system error", absent: "a.adr.md/x",
			act: func(_ *world, at func(string) string) error {
				return errors.Join(os.Remove(at("a.adr.md")), os.Mkdir(at("a.adr.md"), 0o755))
			}},
		"the document is gone":             {write: "update", step: "temporary file of a.adr.md", act: gone("a.adr.md"), want: "document not found: .archcore/a.adr.md", absent: "a.adr.md"},
		"the document is gone under lock":  {write: "update", step: "caught up", act: gone("a.adr.md"), want: "document not found: .archcore/a.adr.md", absent: "a.adr.md"},
		"the document to remove is gone":   {write: "remove", step: "caught up", act: gone("a.adr.md"), want: "document not found: .archcore/a.adr.md", absent: "a.adr.md"},
		"the document to remove is edited": {write: "remove", step: "intent", act: byHand("a.adr.md"), absent: "a.adr.md"},
		"a target is gone":                 {write: "relate", step: "caught up", act: gone("c.adr.md"), want: "target document not found: .archcore/c.adr.md", absent: "c.adr.md"},
		"the new one is there":             {write: "create", step: "temporary file of " + made, act: byHand(made), want: "file already exists: .archcore/" + made, stays: made},
		"the new one is there under lock":  {write: "create", step: "caught up", act: byHand(made), want: "file already exists: .archcore/" + made, stays: made},
		"the new one comes at the link":    {write: "create", op: "file.link", n: 1, act: byHand(made), want: "file already exists: .archcore/" + made, stays: made},
		"no links, and the new one comes": {write: "create", op: "file.link", n: 1, want: "file already exists: .archcore/" + made, stays: made,
			act: func(w *world, at func(string) string) error {
				return errors.Join(syscall.EPERM, byHand(made)(w, at))
			}},
		"no links": {write: "create", op: "file.link", n: 1, act: func(*world, func(string) string) error { return syscall.EPERM }},
		"a file where the folder should be": {write: "create", op: "file.mkdir", n: 2, act: byHand("deep"), stays: "deep",
			want: `creating directory ".archcore/deep/er": file system error`},
		"a link where the folder should be": {write: "create", op: "file.mkdir", n: 2, want: `creating directory ".archcore/deep/er": file system error`, absent: "deep/er",
			act: func(_ *world, at func(string) string) error { return os.Symlink("nowhere", at("deep")) }},
		"the folder is there": {write: "create", op: "file.mkdir", n: 2, act: func(_ *world, at func(string) string) error { return os.Mkdir(at("deep"), 0o755) }},
		"the same was done": {write: "update", step: "caught up", act: func(_ *world, at func(string) string) error {
			return os.WriteFile(at("a.adr.md"), []byte("---\ntitle: \"A\"\nstatus: draft\n---\n\nchanged\n"), 0o600)
		}},
		"the manifest was made": {write: "relate", step: "temporary file of .sync-state.json", act: func(_ *world, at func(string) string) error {
			return os.WriteFile(at(".sync-state.json"), []byte(`{"version":1,"files":{},"relations":[{"source":"b.adr.md","target":"a.adr.md","type":"related"}]}`), 0o600)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := ledger.WithActor(t.Context(), "mcp:law")
			w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
			w.reopen()
			w.check(ctx)
			act := func() error {
				return c.act(w, func(rel string) string { return filepath.Join(w.root, ".archcore", filepath.FromSlash(rel)) })
			}
			if c.op != "" {
				between(w.base, c.op, c.n, act)
			} else {
				during(w.base, c.step, act)
			}
			err := everyWrite[c.write](ctx, w.base)
			documents.SetFault(w.base, nil)
			if c.want == "" && err != nil || c.want != "" && (fault.As(err) == nil || err.Error() != c.want) {
				t.Errorf("told %v, want %q", err, c.want)
			}
			if c.stays != "" && slurp(t, w.root, c.stays) != hand {
				t.Errorf("%s is %q", c.stays, slurp(t, w.root, c.stays))
			}
			if c.absent != "" {
				if _, err := os.Lstat(filepath.Join(w.root, ".archcore", c.absent)); err == nil {
					t.Errorf("%s is there", c.absent)
				}
			}
			w.check(ctx)
			noTemps(t, w.root, &arctest.Fault{})
		})
	}
}

// TestWrittenByAnotherIsNotOurs: the tool is not named as who wrote what another
// program had written before it.
func TestWrittenByAnotherIsNotOurs(t *testing.T) {
	b := open(t, project(t, linkedFiles()))
	during(b, "caught up", func() error {
		put(t, b.Root(), "a.adr.md", "---\ntitle: \"A\"\nstatus: draft\n---\n\nchanged\n")
		return nil
	})
	if err := everyWrite["update"](t.Context(), b); err != nil {
		t.Fatal(err)
	}
	versions, err := b.Versions(t.Context(), "a.adr.md")
	if err != nil || len(versions) != 2 || versions[1].Tool != "" || versions[1].Actor != "filesystem" {
		t.Errorf("%+v, %v", versions, err)
	}
}

// TestOthersChangeTheDiskWhileItIsRead: a look that meets a disk in motion
// answers what it saw, and the next one what is there.
func TestOthersChangeTheDiskWhileItIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		op    string
		n     int
		act   func(at func(rel string) string) error
		after int // rows of the next look
	}{
		"a document goes": {op: "look.entry b.adr.md", n: 1, after: 3,
			act: func(at func(string) string) error { return os.Remove(at("b.adr.md")) }},
		"a document becomes a link": {op: "look.entry b.adr.md", n: 1, after: 3,
			act: func(at func(string) string) error {
				return errors.Join(os.Remove(at("b.adr.md")), os.Symlink("a.adr.md", at("b.adr.md")))
			}},
		"a document becomes a pipe": {op: "look.open b.adr.md", n: 1, after: 3,
			act: func(at func(string) string) error {
				return errors.Join(os.Remove(at("b.adr.md")), syscall.Mkfifo(at("b.adr.md"), 0o600))
			}},
		"a folder goes": {op: "look.open deep", n: 1, after: 3,
			act: func(at func(string) string) error { return os.RemoveAll(at("deep")) }},
		"a folder becomes a file": {op: "look.open deep", n: 1, after: 3,
			act: func(at func(string) string) error {
				return errors.Join(os.RemoveAll(at("deep")), os.WriteFile(at("deep"), nil, 0o600))
			}},
		"a folder becomes a link": {op: "look.open deep", n: 1, after: 3,
			act: func(at func(string) string) error {
				return errors.Join(os.RemoveAll(at("deep")), os.Symlink("..", at("deep")))
			}},
	} {
		for _, known := range []bool{false, true} {
			files := linkedFiles()
			files["deep/d.adr.md"] = "d\n"
			w := &world{t: t, root: project(t, files), log: memory(t)}
			w.base = settledBaseOn(t, w.root, w.log)
			if known {
				if rows := list(t, w.base, documents.ListRequest{}); len(rows) != 4 {
					t.Fatalf("%s: rows %v", name, rows)
				}
				put(t, w.root, "b.adr.md", "another text\n")
			}
			between(w.base, c.op, c.n, func() error {
				return c.act(func(rel string) string { return filepath.Join(w.root, ".archcore", filepath.FromSlash(rel)) })
			})
			_, _ = w.base.List(t.Context(), documents.ListRequest{})
			documents.SetFault(w.base, nil)
			if rows := list(t, w.base, documents.ListRequest{}); len(rows) != c.after {
				t.Errorf("%s (known %v): rows afterwards %v, want %d", name, known, rows, c.after)
			}
			w.check(t.Context())
		}
	}
}

// TestDocumentThatGrows: what is appended while a document is read is read too.
func TestDocumentThatGrows(t *testing.T) {
	b := open(t, project(t, linkedFiles()))
	between(b, "look.bytes a.adr.md", 1, func() error {
		f, err := os.OpenFile(filepath.Join(b.Root(), ".archcore", "a.adr.md"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("zebra\n")
		return errors.Join(err, f.Close())
	})
	if rows := find(t, b, documents.SearchRequest{Content: "zebra"}); len(rows) != 1 {
		t.Errorf("found %v", rows)
	}
	between(b, "look.bytes b.adr.md", 1, func() error {
		return os.Truncate(filepath.Join(b.Root(), ".archcore", "b.adr.md"), documents.MaxDocument+1)
	})
	put(t, b.Root(), "b.adr.md", "fresh\n")
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 3 {
		t.Errorf("rows %v", rows)
	}
	documents.SetFault(b, nil)
	if got := codes(t, b); !slices.Contains(got, "too_large .archcore/b.adr.md") {
		t.Errorf("findings %v", got)
	}
}

// TestEditedWhileItIsTold: a document that changes, or goes, while it is told to
// the ledger is looked at again; one that never rests is told at the next call.
func TestEditedWhileItIsTold(t *testing.T) {
	ctx := t.Context()
	const op = "look.bytes a.adr.md" // first when it is scanned, then when it is told
	for name, act := range map[string]func(full string, n int) error{
		"edited": func(full string, n int) error {
			return os.WriteFile(full, []byte("text "+strings.Repeat("x", n)+"\n"), 0o600)
		},
		"gone": func(full string, _ int) error { return os.Remove(full) },
	} {
		w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
		w.reopen()
		full := filepath.Join(w.root, ".archcore", "a.adr.md")
		between(w.base, op, 3, func() error { return act(full, 1) })
		if rows := list(t, w.base, documents.ListRequest{}); (len(rows) == 3) != (name == "edited") {
			t.Errorf("%s: rows %v", name, rows)
		}
		documents.SetFault(w.base, nil)
		w.check(ctx)
	}
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	full := filepath.Join(w.root, ".archcore", "a.adr.md")
	n := 0
	documents.SetFault(w.base, func(o string) error {
		if n++; o == op {
			return os.WriteFile(full, []byte("text "+strings.Repeat("x", n)+"\n"), 0o600)
		}
		return nil
	})
	if rows := list(t, w.base, documents.ListRequest{}); len(rows) != 3 {
		t.Errorf("rows %v", rows)
	}
	if got := w.events(ctx); got != 0 {
		t.Errorf("%d events of a document that never rests", got)
	}
	if err := everyWrite["relate"](ctx, w.base); err == nil {
		t.Error("a write was acknowledged before the ledger was told")
	}
	documents.SetFault(w.base, nil)
	w.check(ctx)
}

// TestProjectThatVanishes: when .archcore/ is taken away in the middle of a call
// nothing is recorded as removed, and a new beginning works.
func TestProjectThatVanishes(t *testing.T) {
	ctx := t.Context()
	for _, op := range []string{"look.open ", "look.entry settings.json", "look.entry " + documents.StateDir, "look.lock ", "look.bytes .ledger/project.json", "look.bytes .ledger/intent.json", "look.bytes a.adr.md"} {
		for n := 1; n < 6; n++ {
			w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
			w.reopen()
			w.check(ctx)
			put(t, w.root, "a.adr.md", "another text\n")
			away := filepath.Join(t.TempDir(), "away")
			between(w.base, op, n, func() error { return os.Rename(filepath.Join(w.root, ".archcore"), away) })
			_, _ = w.base.List(ctx, documents.ListRequest{})
			documents.SetFault(w.base, nil)
			if _, err := os.Stat(away); err != nil {
				w.base.Close()
				break
			}
			if rows := list(t, w.base, documents.ListRequest{}); len(rows) != 0 {
				t.Errorf("%s %d: rows %v", op, n, rows)
			}
			w.noneRemoved(ctx, op, nil)
			if err := os.RemoveAll(filepath.Join(w.root, ".archcore")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(away, filepath.Join(w.root, ".archcore")); err != nil {
				t.Fatal(err)
			}
			w.check(ctx)
		}
	}
}
