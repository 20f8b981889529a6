package audit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/audit"
)

// TestFailedAuditGoesOn fails every statement that an audit asks of the ledger,
// and ends its context at each question: it is told, and the same folder goes on
// to the same lines.
func TestFailedAuditGoesOn(t *testing.T) {
	path := file(t, 4)
	l := open(t, path, ledger.Options{})
	whole := t.TempDir()
	if _, err := audit.Run(t.Context(), l, audit.Options{Dir: whole}); err != nil {
		t.Fatal(err)
	}
	want := read(t, whole, audit.ResultsName)
	ended := func(dir, how string) {
		t.Helper()
		if _, err := audit.Run(t.Context(), l, audit.Options{Dir: dir}); err != nil {
			t.Errorf("%s: going on: %v", how, err)
		} else if !bytes.Equal(want, read(t, dir, audit.ResultsName)) {
			t.Errorf("%s: the lines differ", how)
		}
	}
	hits := 0
	for n := 1; ; n++ {
		next := &arctest.Fault{N: n, Err: errors.New("IO Error: Input/output error"), Match: func(op string) bool { return !arctest.OfFiles(op) }}
		dir := t.TempDir()
		failing := open(t, path, ledger.Options{Fault: next.Ask})
		_, err := audit.Run(t.Context(), failing, audit.Options{Dir: dir})
		_ = failing.Close()
		if next.Hit == "" {
			break
		}
		if hits++; err == nil && !bytes.Equal(want, read(t, dir, audit.ResultsName)) {
			t.Errorf("%v: the audit is told as done", next)
		}
		ended(dir, next.String())
	}
	for n := 1; n < 60; n++ {
		ctx := arctest.NewCountdown(t.Context(), n)
		dir := t.TempDir()
		if _, err := audit.Run(ctx, l, audit.Options{Dir: dir}); err == nil {
			break
		}
		ended(dir, "ended")
	}
	if hits < 3 {
		t.Errorf("only %d statements were failed", hits)
	}
}

// TestFoldersThatCannotBe: what is in the way of the lines is told.
func TestFoldersThatCannotBe(t *testing.T) {
	l := open(t, file(t, 2), ledger.Options{})
	if _, err := audit.Run(t.Context(), l, audit.Options{Dir: filepath.Join(t.TempDir(), "none")}); fault.As(err) == nil {
		t.Errorf("no folder: %v", err)
	}
	for name, text := range map[string]string{"text": "not an audit\n", "json": "{\"schema\": \"another\"}\n", "list": "[]\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, audit.ResultsName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := audit.Run(t.Context(), l, audit.Options{Dir: dir}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
		if string(read(t, dir, audit.ResultsName)) != text {
			t.Errorf("%s: it was written over", name)
		}
	}
	mine := errors.New("mine")
	if _, err := audit.Run(t.Context(), l, audit.Options{Lines: failingWriter{mine}}); !errors.Is(err, mine) {
		t.Errorf("lines that cannot be written: %v", err)
	}
	if _, err := audit.Digest(filepath.Join(t.TempDir(), "none")); fault.As(err) == nil {
		t.Errorf("the digest of nothing: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
