package documents_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/ledger/duck"
)

// TestWaitingLetsGoOfTheLedger: the process that has the project's lock will want
// the ledger next; who waits for the lock does not sit on the ledger.
func TestWaitingLetsGoOfTheLedger(t *testing.T) {
	root := project(t, map[string]string{"a.doc.md": "---\ntitle: A\n---\ntext\n"})
	path := filepath.Join(t.TempDir(), "shared.duckdb")
	log, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	b := openWith(t, root, log)
	create := func(name string) error {
		_, err := b.Create(t.Context(), documents.CreateRequest{Type: "adr", Filename: name, Content: "x\n"})
		return err
	}
	if err := create("first"); err != nil {
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(root, ".archcore", documents.StateDir, "lock"))
	if ok, err := other.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	documents.SetPatience(b, 20*time.Millisecond)
	if err := create("second"); !fault.Is(err, fault.Busy) {
		t.Fatalf("%v", err)
	}
	if h, held := duck.HeldBy(path); held {
		t.Errorf("%+v holds the ledger while it waits for the project", h)
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := create("third"); err != nil {
		t.Error(err)
	}
}
