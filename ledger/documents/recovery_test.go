package documents_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestRecoveryMeetsABadDisk kills writes in the middle and fails each operation
// of the disk that the recovery makes: the write is there whole or not at all
// when a later call gets through.
func TestRecoveryMeetsABadDisk(t *testing.T) {
	t.Parallel()
	ctx := ledger.WithActor(t.Context(), "mcp:law")
	logs := &logs{t: t}
	hits := 0
	for _, c := range []struct {
		files func() map[string]string
		write func(context.Context, *documents.Base) error
		step  string
	}{
		{linkedFiles, everyWrite["remove"], "intent"}, {linkedFiles, everyWrite["remove"], "changed a.adr.md"},
		{linkedFiles, everyWrite["update"], "changed a.adr.md"}, {linkedFiles, everyWrite["relate"], "committed"},
		{unsetFiles, initialise, "changed settings.json"},
	} {
		clean := &world{t: t, root: project(t, c.files()), log: logs.next()}
		old := foldDisk(t, clean.root)
		clean.reopen()
		if err := c.write(ctx, clean.base); err != nil {
			t.Fatal(err)
		}
		done := foldDisk(t, clean.root)
		for n := 1; ; n += 1 + n/3 {
			w := &world{t: t, root: project(t, c.files()), log: logs.next()}
			w.reopen()
			during(w.base, c.step, func() error { return documents.ErrKilled })
			if err := c.write(ctx, w.base); !errors.Is(err, documents.ErrKilled) {
				t.Fatalf("%s: %v", c.step, err)
			}
			w.reopen()
			f := &arctest.Fault{N: n, Err: syscall.EIO, Onward: n%2 == 0}
			documents.SetFault(w.base, f.Ask)
			told(t, c.step, f, drop(w.base.List(ctx, documents.ListRequest{})), w.root)
			documents.SetFault(w.base, nil)
			w.reopen()
			w.check(ctx)
			found := foldDisk(t, w.root)
			if !slices.Equal(found, old) && !slices.Equal(found, done) {
				t.Errorf("killed after %s, %v: neither the old nor the new state\n%s", c.step, f, cmp.Diff(old, found))
			}
			if c.step != "intent" && !slices.Equal(found, done) {
				t.Errorf("killed after %s, %v: what reached the disk is not finished\n%s", c.step, f, cmp.Diff(done, found))
			}
			if f.Hit == "" {
				break
			}
			hits++
		}
	}
	if hits < 30 {
		t.Errorf("only %d operations were failed", hits)
	}
}

// TestRecoveryIsKilled: a recovery that is cut short is done again.
func TestRecoveryIsKilled(t *testing.T) {
	ctx := ledger.WithActor(t.Context(), "mcp:law")
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	w.check(ctx)
	during(w.base, "changed a.adr.md", func() error { return documents.ErrKilled })
	if err := everyWrite["remove"](ctx, w.base); !errors.Is(err, documents.ErrKilled) {
		t.Fatal(err)
	}
	for range 2 {
		w.reopen()
		during(w.base, "recovered", func() error { return documents.ErrKilled })
		if _, err := w.base.List(ctx, documents.ListRequest{}); !errors.Is(err, documents.ErrKilled) {
			t.Fatal(err)
		}
	}
	w.reopen()
	w.check(ctx)
	versions, err := w.base.Versions(ctx, "a.adr.md")
	if err != nil || len(versions) != 2 || !versions[1].Removed || versions[1].Actor != "mcp:law" {
		t.Errorf("%+v, %v", versions, err)
	}
}

// TestRecoveryMeetsAFailingLedger: what a killed write did to the disk is told
// the ledger when the ledger can be had again, once and under its name.
func TestRecoveryMeetsAFailingLedger(t *testing.T) {
	ctx := ledger.WithActor(t.Context(), "mcp:law")
	var f *arctest.Fault
	l := memoryWith(t, asking(&f))
	for n := 1; n < 60; n += 1 + n/3 {
		f = nil
		w := failingWorld(t, l)
		w.check(ctx)
		first := w.events(ctx)
		during(w.base, "changed a.adr.md", func() error { return documents.ErrKilled })
		if err := everyWrite["remove"](ctx, w.base); !errors.Is(err, documents.ErrKilled) {
			t.Fatal(err)
		}
		w.reopen()
		f = &arctest.Fault{N: n, Err: errors.New("Constraint Error: not now")}
		told(t, "list", f, drop(w.base.List(ctx, documents.ListRequest{})), w.root)
		hit := f.Hit
		f = nil
		w.check(ctx)
		count := 0
		for e, err := range l.Events(ctx, ledger.Filter{After: first}) {
			if count++; err != nil || e.Actor() != "mcp:law" {
				t.Errorf("statement %d (%s): %s of %s is by %s (%v)", n, hit, e.Kind(), e.Subject(), e.Actor(), err)
			}
		}
		if count != 3 { // the document and its two relations
			t.Errorf("statement %d (%s): %d events", n, hit, count)
		}
		if hit == "" {
			return
		}
	}
	t.Error("it never came to an end")
}

// TestIntentThatStays: an intent that cannot be taken away is looked at again,
// and what it tells of is not told twice.
func TestIntentThatStays(t *testing.T) {
	ctx := t.Context()
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	w.check(ctx)
	during(w.base, "changed a.adr.md", func() error { return documents.ErrKilled })
	if err := everyWrite["update"](ctx, w.base); !errors.Is(err, documents.ErrKilled) {
		t.Fatal(err)
	}
	for range 3 {
		w.reopen()
		stop := failOps(w.base, syscall.EIO, "file.remove")
		if rows := list(t, w.base, documents.ListRequest{}); len(rows) != 3 {
			t.Errorf("rows %v", rows)
		}
		if err := everyWrite["relate"](ctx, w.base); fault.As(err) == nil || err.Error() != "removing .archcore/.ledger/intent.json: file system error" {
			t.Errorf("a write before the intent is gone: %v", err)
		}
		stop()
	}
	w.check(ctx)
	if versions, err := w.base.Versions(ctx, "a.adr.md"); err != nil || len(versions) != 2 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
}

// TestIntentsOfOthers: an intent that does not fit the disk, or tells of kinds
// that are none, changes nothing.
func TestIntentsOfOthers(t *testing.T) {
	ctx := t.Context()
	files := linkedFiles()
	files[".sync-state.json"] = "{}"
	a, manifest := documents.AddressOf([]byte(files["a.adr.md"])), documents.AddressOf([]byte("{}"))
	event := func(kind, subject string) string {
		return `{"kind":"` + kind + `","subject":"` + subject + `","body":{"address":"` + a + `"}}`
	}
	for _, text := range []string{
		`{"edits":[{"file":"gone.adr.md"},{"file":".sync-state.json","before":"` + manifest + `","after":"x"}],"drop":[{"source":"a.adr.md","target":"b.adr.md","type":"related"}]}`,
		`{"edits":[{"file":"a.adr.md","before":"x","after":"y"}],"events":[` + event("document.written", "doc:a.adr.md") + `]}`,
		`{"edits":[{"file":"a.adr.md","after":"` + a + `"}],"events":[` + strings.Join([]string{event("x", "doc:a.adr.md"), event("document.written", "other:a.adr.md"), event("document.removed", "doc:never.adr.md"),
			event("relation.added", "rel:odd"), event("relation.removed", "rel:related:x.md|y.md"), event("document.written", "doc:a.adr.md")}, ",") + `]}`,
	} {
		w := &world{t: t, root: project(t, files)}
		b, err := documents.Open(documents.Options{Root: w.root})
		if err != nil {
			t.Fatal(err)
		}
		list(t, b, documents.ListRequest{})
		before, err := documents.FoldLog(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		put(t, w.root, ".ledger/intent.json", text)
		list(t, b, documents.ListRequest{})
		after, err := documents.FoldLog(ctx, b)
		if err != nil || cmp.Diff(before, after) != "" || slurp(t, w.root, ".sync-state.json") != "{}" || slurp(t, w.root, "a.adr.md") != files["a.adr.md"] {
			t.Errorf("%s: %v\n%s", text, err, cmp.Diff(before, after))
		}
		if _, err := os.Stat(filepath.Join(w.root, ".archcore", ".ledger", "intent.json")); err == nil {
			t.Errorf("%s stays", text)
		}
		b.Close()
	}
}
