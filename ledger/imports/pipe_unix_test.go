//go:build unix

package imports_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/imports"
)

// TestTablesThroughAPipe: JSON is read once and may come through a pipe; CSV, which
// the database opens itself, may not, and is told.
func TestTablesThroughAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	through := func(data string) (*imports.Table, error) {
		told := make(chan error, 1)
		go func() { told <- os.WriteFile(pipe, []byte(data), 0o600) }()
		table, err := imports.ReadTable(t.Context(), pipe, "", nil)
		if werr := <-told; werr != nil && err == nil {
			t.Error(werr)
		}
		return table, err
	}
	if table, err := through("{\"a\":1}\n{\"a\":2}\n"); err == nil { // a name without an ending, so by its content
		if diff := cmp.Diff("{\"a\":1}\n{\"a\":2}\n", text(t, table)); diff != "" {
			t.Errorf("JSON through a pipe\n%s", diff)
		}
	} else {
		t.Error(err)
	}
	if _, err := through("a,b\n1,2\n"); !fault.Is(err, fault.Invalid) || !strings.HasSuffix(err.Error(), ": illegal seek") {
		t.Errorf("CSV through a pipe: %v", err)
	}
}
