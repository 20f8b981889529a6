package documents_test

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestFailedWritesLeaveTheOldOrTheNew fails every change of a file that a write
// of documents makes: afterwards the old or the new state is there, no document
// in part, the ledger agrees with the disk, and the next write works.
func TestFailedWritesLeaveTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	calls := maps.Clone(everyWrite)
	calls["init"] = initialise
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		write, files := calls[name], linkedFiles
		if name == "init" {
			files = unsetFiles
		}
		t.Run(name, func(t *testing.T) {
			ctx := ledger.WithActor(t.Context(), "mcp:law")
			logs := &logs{t: t}
			clean := &world{t: t, root: project(t, files()), log: logs.next()}
			clean.reopen()
			clean.check(ctx)
			old := foldDisk(t, clean.root)
			if err := write(ctx, clean.base); err != nil {
				t.Fatal(err)
			}
			done := foldDisk(t, clean.root)
			olds, news := 0, 0
			hits := arctest.Sweep(t, 1, arctest.OfFiles, func(f *arctest.Fault) {
				w := &world{t: t, root: project(t, files()), log: logs.next()}
				w.reopen()
				w.check(ctx)
				documents.SetFault(w.base, f.Ask)
				failed := write(ctx, w.base)
				documents.SetFault(w.base, nil)
				w.reopen()
				w.check(ctx)
				switch found := foldDisk(t, w.root); {
				case slices.Equal(found, done):
					news++
				case failed == nil:
					t.Errorf("%v: acknowledged and not done\n%s", f, cmp.Diff(done, found))
				case slices.Equal(found, old):
					olds++
				default:
					t.Errorf("%v: neither the old nor the new state\n%s", f, cmp.Diff(old, found))
				}
				if err := write(ctx, w.base); failed != nil && err != nil && slices.Equal(foldDisk(t, w.root), old) {
					t.Errorf("%v: the write does not work afterwards: %v", f, err)
				}
				noTemps(t, w.root, f)
			})
			if hits < 15 || olds < 5 || news < 2 {
				t.Errorf("%d changes were failed: %d times the old state, %d times the new", hits, olds, news)
			}
		})
	}
}

// noTemps: what a failed write left is gone after the next one.
func noTemps(t *testing.T, root string, f *arctest.Fault) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".tmp") {
			t.Errorf("%v: %s is left", f, d.Name())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
