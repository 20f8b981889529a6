package export_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/ledger/export"
)

// TestExportIsDurable: what an export asks of the disk, in order. Each new folder
// is made durable in the one it lies in, each file before it has its name and the
// name after, and the manifest comes last.
func TestExportIsDurable(t *testing.T) {
	var ops []string
	dir := filepath.Join(t.TempDir(), "deep", "x")
	req := request("events", "csv", dir, t)
	req.Disk = disk.Disk{Fault: func(op string) error {
		ops = append(ops, strings.TrimPrefix(op, "file."))
		return nil
	}}
	if _, err := export.Write(t.Context(), work(t), req); err != nil {
		t.Fatal(err)
	}
	small := []string{"create", "write", "sync", "close", "rename", "sync"}
	want := slices.Concat(
		[]string{"mkdir", "sync", "mkdir", "sync", "mkdir"},  // the folder, and the private one in it
		slices.Repeat([]string{"files.exec"}, 6),             // four to set up, then the rows
		[]string{"chmod", "sync", "close", "rename", "sync"}, // their file gets its name
		[]string{"remove"}, slices.Repeat(small, 3), // manifest, signature, sums
	)
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for at := dir; at != filepath.Dir(filepath.Dir(dir)); at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, %v", at, info.Mode(), err)
		}
	}
}
