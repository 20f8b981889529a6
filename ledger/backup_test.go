package ledger_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

func dump(t testing.TB, l *ledger.Ledger) []string {
	t.Helper()
	rows, err := l.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestBackupAndRestore(t *testing.T) {
	l := open(t, filePath(t), ledger.Options{})
	for n := range 4 {
		compare(t, l, pair(n))
		compare(t, l, reviewed(n))
	}
	if _, err := l.Resolve(t.Context(), canon.Obj("name", "Kijani1 Tea Exporters"), "organisation"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "backup")
	info, err := l.Backup(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Backup(t.Context(), dir); !fault.Is(err, fault.Invalid) {
		t.Errorf("a backup over a backup: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		if i, err := e.Info(); err != nil || i.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), i.Mode().Perm())
		}
	}
	path := filePath(t)
	got, err := ledger.Restore(t.Context(), dir, path, ledger.Options{})
	if err != nil || *got != *info {
		t.Fatalf("%+v %v, want %+v", got, err, info)
	}
	if _, err := ledger.Restore(t.Context(), dir, path, ledger.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a restore over a ledger: %v", err)
	}
	m := open(t, path, ledger.Options{})
	if diff := cmp.Diff(dump(t, l), dump(t, m)); diff != "" {
		t.Errorf("(-ledger +restored)\n%s", diff)
	}
	_, seq, link, err := m.Head(t.Context())
	if err != nil || seq != info.Events || link != info.Link {
		t.Errorf("head %d %s %v", seq, link, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 5 {
		t.Errorf("%d files beside the restored ledger, %v", len(left), err)
	}
}

func TestDamagedBackupsAreRefused(t *testing.T) {
	l := memory(t)
	compare(t, l, pair(1))
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := l.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ file, old, new string }{
		{"events.jsonl", "record.stored", "record.stoled"},
		{"events.jsonl", `"seq":2`, `"seq":3`},
		{"blobs.jsonl", `"bytes":"`, `"bytes":"AA`},
		{"manifest.json", "arche.backup.v1", "arche.backup.v9"},
		{"manifest.json", `"events": 4`, `"events": 5`},
		{"manifest.json", "{", "["},
	} {
		bad := filepath.Join(t.TempDir(), "backup")
		if err := os.Mkdir(bad, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"events.jsonl", "blobs.jsonl", "manifest.json"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if name == x.file {
				text := strings.Replace(string(data), x.old, x.new, 1)
				if text == string(data) {
					t.Fatalf("%s holds no %q", name, x.old)
				}
				data = []byte(text)
			}
			if err := os.WriteFile(filepath.Join(bad, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path := filePath(t)
		if _, err := ledger.Restore(t.Context(), bad, path, ledger.Options{}); fault.As(err) == nil {
			t.Errorf("%s with %q: %v", x.file, x.new, err)
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
			t.Errorf("%s with %q left %d files", x.file, x.new, len(left))
		}
	}
	if _, err := ledger.Restore(t.Context(), t.TempDir(), filePath(t), ledger.Options{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no backup: %v", err)
	}
}
