package documents_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// failing is what of a test the world needs; rapid's makes a failing history
// short before it is told.
type failing interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a project under random tool writes, hand edits and kills.
type world struct {
	t    failing
	root string
	log  *ledger.Ledger
	base *documents.Base
}

func (w *world) reopen() {
	if w.base != nil {
		w.base.Close()
	}
	b, err := documents.Open(documents.Options{Root: w.root, Ledger: w.log})
	if err != nil {
		w.t.Fatal(err)
	}
	w.base = b
}

var (
	lawSlugs = []string{"alpha", "beta", "gamma", "delta"}
	lawDirs  = []string{"", "auth", "auth/deep"}
	lawTypes = []string{"adr", "rule", "plan"}
)

func drawPath(t *rapid.T) string {
	dir := rapid.SampledFrom(lawDirs).Draw(t, "dir")
	name := rapid.SampledFrom(lawSlugs).Draw(t, "slug") + "." + rapid.SampledFrom(lawTypes).Draw(t, "type") + ".md"
	return filepath.ToSlash(filepath.Join(dir, name))
}

// act does one random thing through a tool.
func (w *world) act(ctx context.Context, t *rapid.T) (string, error) {
	p := ".archcore/" + drawPath(t)
	switch rapid.IntRange(0, 6).Draw(t, "tool") {
	case 0, 1:
		_, err := w.base.Create(ctx, documents.CreateRequest{
			Type: rapid.SampledFrom(lawTypes).Draw(t, "new type"), Filename: rapid.SampledFrom(lawSlugs).Draw(t, "new slug"),
			Directory: rapid.SampledFrom(lawDirs).Draw(t, "new dir"), Content: fmt.Sprintf("body %d\n", rapid.IntRange(0, 3).Draw(t, "n")),
		})
		return "create", err
	case 2:
		_, err := w.base.Update(ctx, documents.UpdateRequest{Path: p, Status: rapid.SampledFrom([]string{"draft", "accepted"}).Draw(t, "status"),
			Content: fmt.Sprintf("changed %d\n", rapid.IntRange(0, 3).Draw(t, "n"))})
		return "update", err
	case 3:
		_, err := w.base.Remove(ctx, p)
		return "remove", err
	case 4, 5:
		_, err := w.base.AddRelation(ctx, documents.RelationRequest{Source: drawPath(t), Target: drawPath(t), Type: "related"})
		return "relate", err
	default:
		_, err := w.base.RemoveRelation(ctx, documents.RelationRequest{Source: drawPath(t), Target: drawPath(t), Type: "related"})
		return "unrelate", err
	}
}

// byHand does one random thing to the files behind the tools' back.
func (w *world) byHand(t *rapid.T) {
	base := filepath.Join(w.root, ".archcore")
	full := filepath.Join(base, drawPath(t))
	text := fmt.Sprintf("---\ntitle: \"Hand %d\"\nstatus: draft\nowner: x\n---\n\nhand\n", rapid.IntRange(0, 9).Draw(t, "n"))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.t.Fatal(err)
	}
	switch rapid.IntRange(0, 5).Draw(t, "edit") {
	case 0: // in place, maybe of the same length
		_ = os.WriteFile(full, []byte(text), 0o644)
	case 1: // as editors save: a new file renamed over the old one
		_ = os.WriteFile(full+".new", []byte(text), 0o644)
		_ = os.Rename(full+".new", full)
	case 2:
		_ = os.Remove(full)
	case 3: // moved
		_ = os.Rename(full, filepath.Join(base, drawPath(t)))
	case 4: // an older state is checked out: no relations
		_ = os.Remove(filepath.Join(base, ".sync-state.json"))
	case 5: // a folder goes
		_ = os.RemoveAll(filepath.Join(base, "auth", "deep"))
	}
}

// check looks and compares the fold of the ledger with the fold of the disk;
// a second look appends nothing.
func (w *world) check(ctx context.Context) {
	w.t.Helper()
	if _, err := w.base.List(ctx, documents.ListRequest{}); err != nil {
		w.t.Fatal(err)
	}
	logged, err := documents.FoldLog(ctx, w.base)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(foldDisk(w.t, w.root), logged); diff != "" {
		w.t.Fatalf("the ledger does not agree with the disk (-disk +ledger)\n%s", diff)
	}
	before := w.events(ctx)
	if _, err := w.base.List(ctx, documents.ListRequest{}); err != nil {
		w.t.Fatal(err)
	}
	w.reopen()
	if _, err := w.base.List(ctx, documents.ListRequest{}); err != nil {
		w.t.Fatal(err)
	}
	if after := w.events(ctx); after != before {
		w.t.Fatalf("a second look appended %d events", after-before)
	}
	w.noLeftovers()
}

func (w *world) events(ctx context.Context) (n int64) {
	for e, err := range w.log.Events(ctx, ledger.Filter{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		n = e.Seq()
	}
	return n
}

// noLeftovers looks for temporary files and intents.
func (w *world) noLeftovers() {
	w.t.Helper()
	_ = filepath.WalkDir(filepath.Join(w.root, ".archcore"), func(full string, d os.DirEntry, err error) error {
		if err == nil && (filepath.Ext(full) == ".tmp" || d.Name() == "intent.json") {
			w.t.Errorf("%s is left over", d.Name())
		}
		return nil
	})
}

// TestHistoriesAgree runs random histories of tool writes, hand edits and
// kills between any two steps of a write. After each the next look makes
// ledger and disk agree, and a killed write is there whole or not at all.
func TestHistoriesAgree(t *testing.T) {
	t.Parallel()
	logs := &logs{t: t}
	rapid.Check(t, func(rt *rapid.T) {
		ctx := ledger.WithActor(context.Background(), "mcp:law")
		w := &world{t: rt, root: t.TempDir(), log: logs.next()}
		w.reopen()
		if _, err := w.base.Init(ctx, documents.InitRequest{}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 8).Draw(rt, "moves") {
			switch rapid.IntRange(0, 3).Draw(rt, "move") {
			case 0:
				w.byHand(rt)
			case 1, 2:
				_, _ = w.act(ctx, rt) // a refusal is an answer too
			case 3:
				w.killed(ctx, rt)
			}
			if rapid.Bool().Draw(rt, "look") {
				w.check(ctx)
			}
		}
		w.check(ctx)
	})
}

// killed does a random write in a process that dies after some step.
func (w *world) killed(ctx context.Context, rt *rapid.T) {
	stop := rapid.IntRange(0, 12).Draw(rt, "dies after")
	n := 0
	documents.SetStep(w.base, func(string) error {
		if n++; n > stop {
			return documents.ErrKilled
		}
		return nil
	})
	_, err := w.act(ctx, rt)
	w.reopen()
	if errors.Is(err, documents.ErrKilled) {
		w.check(ctx)
	}
}

// TestKillAtEveryStep kills each kind of write after each of its steps. What
// is found afterwards is the state before or the state after, never a mix, and
// the ledger names who began the write.
func TestKillAtEveryStep(t *testing.T) {
	t.Parallel()
	files := linkedFiles()
	for name, write := range everyWrite {
		for _, how := range []struct {
			name string
			err  error
		}{{"killed", documents.ErrKilled}, {"failed", errors.New("disk full")}} {
			t.Run(name+" "+how.name, func(t *testing.T) { atEveryStep(t, files, write, how.err) })
		}
	}
	t.Run("init killed", func(t *testing.T) { atEveryStep(t, unsetFiles(), initialise, documents.ErrKilled) })
	t.Run("init failed", func(t *testing.T) { atEveryStep(t, unsetFiles(), initialise, errors.New("disk full")) })
}

// unsetFiles are linkedFiles without settings, which initialise makes.
func unsetFiles() map[string]string {
	files := linkedFiles()
	delete(files, "settings.json")
	return files
}

func initialise(ctx context.Context, b *documents.Base) error {
	return drop(b.Init(ctx, documents.InitRequest{SyncMode: "cloud", Language: "de"}))
}

// linkedFiles are three documents with two relations between them.
func linkedFiles() map[string]string {
	doc := func(title, body string) string {
		return "---\ntitle: \"" + title + "\"\nstatus: draft\n---\n\n" + body
	}
	return map[string]string{
		"settings.json": "{\n  \"sync\": \"none\"\n}\n",
		"a.adr.md":      doc("A", "one\n"), "b.adr.md": doc("B", "two\n"), "c.adr.md": doc("C", "three\n"),
		".sync-state.json": "{\n  \"version\": 1,\n  \"files\": {},\n  \"relations\": [\n" +
			"    {\n      \"source\": \"a.adr.md\",\n      \"target\": \"b.adr.md\",\n      \"type\": \"related\"\n    },\n" +
			"    {\n      \"source\": \"c.adr.md\",\n      \"target\": \"a.adr.md\",\n      \"type\": \"extends\"\n    }\n  ]\n}\n",
	}
}

// everyWrite is each way of changing documents, on linkedFiles.
var everyWrite = map[string]func(context.Context, *documents.Base) error{
	"create": func(ctx context.Context, b *documents.Base) error {
		_, err := b.Create(ctx, documents.CreateRequest{Type: "rule", Filename: "new", Directory: "deep/er", Content: "x\n"})
		return err
	},
	"update": func(ctx context.Context, b *documents.Base) error {
		_, err := b.Update(ctx, documents.UpdateRequest{Path: ".archcore/a.adr.md", Content: "changed\n"})
		return err
	},
	"remove": func(ctx context.Context, b *documents.Base) error {
		_, err := b.Remove(ctx, ".archcore/a.adr.md")
		return err
	},
	"relate": func(ctx context.Context, b *documents.Base) error {
		_, err := b.AddRelation(ctx, documents.RelationRequest{Source: "b.adr.md", Target: "c.adr.md", Type: "supports"})
		return err
	},
	"unrelate": func(ctx context.Context, b *documents.Base) error {
		_, err := b.RemoveRelation(ctx, documents.RelationRequest{Source: "a.adr.md", Target: "b.adr.md", Type: "related"})
		return err
	},
}

func atEveryStep(t *testing.T, files map[string]string, write func(context.Context, *documents.Base) error, fail error) {
	ctx := ledger.WithActor(t.Context(), "mcp:law")
	logs := &logs{t: t}
	clean := &world{t: t, root: project(t, files), log: logs.next()}
	clean.reopen()
	if err := write(ctx, clean.base); err != nil {
		t.Fatal(err)
	}
	done := foldDisk(t, clean.root)
	for stop := 0; ; stop++ {
		w := &world{t: t, root: project(t, files), log: logs.next()}
		w.reopen()
		w.check(ctx)
		old := foldDisk(t, w.root)
		first := w.events(ctx)
		n, reached := 0, ""
		documents.SetStep(w.base, func(step string) error {
			if n++; n > stop {
				reached = step
				return fail
			}
			return nil
		})
		err := write(ctx, w.base)
		if reached == "" {
			if err != nil {
				t.Fatal(err)
			}
			if stop < 4 {
				t.Fatalf("the write has only %d steps", stop)
			}
			return
		}
		if err == nil {
			t.Errorf("step %d (%s): the write was acknowledged though it failed", stop, reached)
		}
		w.reopen()
		w.check(ctx)
		found := foldDisk(t, w.root)
		if !slices.Equal(found, old) && !slices.Equal(found, done) {
			t.Errorf("step %d (%s): neither the old nor the new state\n%s", stop, reached, cmp.Diff(old, found))
		}
		for e, err := range w.log.Events(ctx, ledger.Filter{After: first}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Actor() != "mcp:law" {
				t.Errorf("step %d (%s): %s of %s is by %s", stop, reached, e.Kind(), e.Subject(), e.Actor())
			}
		}
	}
}

// TestWriteUndoneByHand: what a tool wrote is deleted by hand before anything
// looked at it, so the disk is as it was last seen and only the ledger moved.
func TestWriteUndoneByHand(t *testing.T) {
	ctx := context.Background()
	w := &world{t: t, root: t.TempDir(), log: memory(t)}
	w.reopen()
	if _, err := w.base.Init(ctx, documents.InitRequest{}); err != nil {
		t.Fatal(err)
	}
	create := func(dir string) {
		t.Helper()
		if _, err := w.base.Create(ctx, documents.CreateRequest{Type: "adr", Filename: "alpha", Directory: dir, Content: "one\n"}); err != nil {
			t.Fatal(err)
		}
	}
	create("")
	byHand := filepath.Join(w.root, ".archcore", "auth", "alpha.adr.md")
	if err := os.MkdirAll(filepath.Dir(byHand), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(byHand, []byte("---\ntitle: By hand\nstatus: draft\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	create("auth/deep")
	if err := os.RemoveAll(filepath.Join(w.root, ".archcore", "auth", "deep")); err != nil {
		t.Fatal(err)
	}
	w.check(ctx)
}
