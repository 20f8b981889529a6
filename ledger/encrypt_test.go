package ledger_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
)

// TestCopyDatabase: what encrypt and decrypt are made of gives a whole ledger.
func TestCopyDatabase(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	want := pairs(t, l)
	to := filepath.Join(t.TempDir(), "copy.duckdb")
	if err := l.Lend(ctx, func(path string) error { return duck.CopyDatabase(ctx, disk.Disk{}, path, "", to, "") }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	again, err := ledger.Open(to, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Verify(ctx, nil); err != nil {
		t.Errorf("verify: %v", err)
	}
	if got := pairs(t, again); len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d decisions, want %d", len(got), len(want))
	}
	if err := l.Encrypt(ctx, to, "0123456789abcdef"); !fault.Is(err, fault.Refused) {
		t.Errorf("an existing file is written over: %v", err)
	}
}

// TestEncryptOrRefuse: an encrypted copy holds no plain text, or there is none.
func TestEncryptOrRefuse(t *testing.T) {
	l, ctx := suppliers(t), t.Context()
	const key = "a key of some length"
	dir := t.TempDir()
	to := filepath.Join(dir, "off.duckdb")
	err := l.Encrypt(ctx, to, key)
	if err != nil {
		if f := fault.As(err); f == nil || f.Kind != fault.Refused || !strings.Contains(f.Message, "can't write encrypted files") || strings.Contains(err.Error(), key) {
			t.Errorf("refusal: %v", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		return
	}
	data, err := os.ReadFile(to)
	if err != nil || strings.Contains(string(data), "Kijani") {
		t.Errorf("plain text in the encrypted copy, %v", err)
	}
	if err := ledger.Decrypt(ctx, to, key, filepath.Join(dir, "plain.duckdb"), ledger.Options{}); err != nil {
		t.Errorf("decrypt: %v", err)
	}
}
