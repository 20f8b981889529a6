package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
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

// TestEncryptWithOpenSSL runs the whole way where ARCHE_HTTPFS names the httpfs
// extension of DuckDB's version: the copy is encrypted, opens with its key only,
// and gives the ledger back.
func TestEncryptWithOpenSSL(t *testing.T) {
	extension := os.Getenv("ARCHE_HTTPFS")
	if extension == "" {
		t.Skip("ARCHE_HTTPFS names no extension")
	}
	data, err := os.ReadFile(extension)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	folder := filepath.Join(home, ".duckdb", "extensions", "v1.5.5", runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "httpfs.duckdb_extension"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	l, ctx := suppliers(t), t.Context()
	want := pairs(t, l)
	const key = "a key of some length"
	dir := t.TempDir()
	to := filepath.Join(dir, "off.duckdb")
	if err := l.Encrypt(ctx, to, key); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []string{"Kijani", "rec:sha256:", "decision.recorded", key} {
		if strings.Contains(string(whole), plain) {
			t.Errorf("the encrypted copy holds %q", plain)
		}
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := opened(to); err == nil || !strings.Contains(err.Error(), "is an encrypted copy") {
		t.Errorf("opened without the key: %v", err)
	}
	plain := filepath.Join(dir, "plain.duckdb")
	if err := ledger.Decrypt(ctx, to, "another key of some length", plain, ledger.Options{}); !fault.Is(err, fault.Refused) || strings.Contains(err.Error(), "another key") {
		t.Errorf("another key: %v", err)
	}
	if err := ledger.Decrypt(ctx, l.File(), key, plain, ledger.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a plain file decrypted: %v", err)
	}
	if err := ledger.Decrypt(ctx, to, key, plain, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := pairs(t, open(t, plain, ledger.Options{})); len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d decisions, want %d", len(got), len(want))
	}
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(to, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Decrypt(ctx, to, key, filepath.Join(dir, "changed.duckdb"), ledger.Options{}); err == nil {
		t.Error("a changed byte of the copy passes")
	}
}

// opened opens a ledger file and asks it something.
func opened(path string) (int64, error) {
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		return 0, err
	}
	defer l.Close()
	_, seq, _, err := l.Head(context.Background())
	return seq, err
}
