package documents_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/ledger/documents"
)

// TestOrderOfChanges: the intent is durable before a document is touched, new
// bytes are before they get the document's name, and the name is before the
// ledger is told; the intent goes last.
func TestOrderOfChanges(t *testing.T) {
	const temp = "create write chmod sync close" // of a temporary file
	const intent = "mkdir " + temp + " [written] rename sync [intent]"
	want := map[string]string{
		"update":   intent + " " + temp + " [temporary] rename sync [changed] [committed] remove",
		"relate":   intent + " " + temp + " [temporary] rename sync [changed] [committed] remove",
		"unrelate": intent + " " + temp + " [temporary] rename sync [changed] [committed] remove",
		"create":   intent + " mkdir sync mkdir sync " + temp + " [temporary] link remove sync [changed] [committed] remove",
		"remove":   intent + " remove sync [changed] " + temp + " [temporary] rename sync [changed] [committed] remove",
	}
	for _, name := range slices.Sorted(maps.Keys(everyWrite)) {
		w := &world{t: t, root: project(t, linkedFiles()), log: anyLog(t)}
		w.reopen()
		list(t, w.base, documents.ListRequest{})
		var got []string
		documents.SetFault(w.base, func(op string) error {
			if rest, ok := strings.CutPrefix(op, "file."); ok {
				got = append(got, rest)
			}
			return nil
		})
		documents.SetStep(w.base, func(step string) error {
			if strings.HasSuffix(step, " written") {
				step = "written"
			}
			if step != "caught up" {
				got = append(got, "["+strings.SplitN(step, " ", 2)[0]+"]")
			}
			return nil
		})
		if err := everyWrite[name](t.Context(), w.base); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Fields(want[name]), got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		w.base.Close()
	}
}

// TestModesOfFiles: a changed file keeps its permissions, a new one is for
// everybody who may read the project, and what is ours is private.
func TestModesOfFiles(t *testing.T) {
	root := project(t, linkedFiles())
	base := filepath.Join(root, ".archcore")
	for name, mode := range map[string]os.FileMode{"a.adr.md": 0o640, ".sync-state.json": 0o600} {
		if err := os.Chmod(filepath.Join(base, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, root)
	for _, name := range []string{"update", "create", "relate"} {
		if err := everyWrite[name](t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]os.FileMode{"a.adr.md": 0o640, ".sync-state.json": 0o600, "deep/er/new.rule.md": 0o644, ".ledger": 0o700, ".ledger/lock": 0o600, ".ledger/project.json": 0o600} {
		info, err := os.Stat(filepath.Join(base, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", name, info.Mode().Perm(), err, want)
		}
	}
	if err := everyWrite["remove"](t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(base, ".sync-state.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the manifest after a removal: %v", err)
	}
}

// TestSizesOfPages: what was asked for, up to the most.
func TestSizesOfPages(t *testing.T) {
	for _, c := range []struct{ asked, want int }{{0, 50}, {1, 1}, {199, 199}, {200, 200}, {201, 200}} {
		if got := documents.PageSize(c.asked, 50, 200); got != c.want {
			t.Errorf("%d of at most 200: %d", c.asked, got)
		}
	}
}
