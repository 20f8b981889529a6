package documents_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
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
