package export_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/google/go-cmp/cmp"
)

func key(t testing.TB, first byte) *attest.Key {
	t.Helper()
	seed := make([]byte, 32)
	seed[0] = first
	k, err := attest.NewKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// bundle makes a small export of two rows.
func bundle(t testing.TB, format string, k *attest.Key) string {
	t.Helper()
	dir := t.TempDir()
	name := "decisions." + format
	n, err := export.WriteTable(t.Context(), filepath.Join(dir, name), format, columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	m := export.Manifest{What: "decisions", Format: format, CreatedAt: "2026-12-01T08:30:00+00:00", Program: "arche@test",
		Head: export.Head{Log: "main", Seq: 5, Link: strings.Repeat("ab", 32)}, Count: n, Columns: columns}
	if _, err := export.Seal(dir, m, []string{name}, k); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVerify(t *testing.T) {
	for _, format := range export.TableFormats {
		for _, k := range []*attest.Key{nil, key(t, 1)} {
			dir := bundle(t, format, k)
			r, err := export.Verify(t.Context(), dir, nil)
			if err != nil || !r.OK() || r.Signed != (k != nil) || r.Trusted || r.Manifest.Count != 2 {
				t.Errorf("%s: %+v, %v", format, r, err)
			}
			r, err = export.Verify(t.Context(), dir, key(t, 1).Public())
			if err != nil || r.OK() != (k != nil) || r.Trusted != (k != nil) {
				t.Errorf("%s pinned: %+v, %v", format, r, err)
			}
			if r, err = export.Verify(t.Context(), dir, key(t, 2).Public()); err != nil || r.OK() {
				t.Errorf("%s: another key is accepted: %+v, %v", format, r, err)
			}
		}
	}
}

// TestEveryByteOfAnExport changes each byte of each file of an export, and wants
// it refused: signed or not.
func TestEveryByteOfAnExport(t *testing.T) {
	for _, k := range []*attest.Key{nil, key(t, 1)} {
		dir := bundle(t, "jsonl", k)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range whole {
				changed := append([]byte(nil), whole...)
				changed[i] ^= 1 << (i % 7)
				if err := os.WriteFile(path, changed, 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := export.Verify(t.Context(), dir, nil)
				if err == nil && r.OK() {
					t.Errorf("%s: byte %d, %q for %q passes", e.Name(), i, changed[i], whole[i])
				}
			}
			if err := os.WriteFile(path, whole[:len(whole)-1], 0o600); err != nil {
				t.Fatal(err)
			}
			if r, err := export.Verify(t.Context(), dir, nil); err == nil && r.OK() {
				t.Errorf("%s: cut short passes", e.Name())
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := export.Verify(t.Context(), dir, nil); err != nil || !r.OK() {
			t.Fatalf("restored: %+v, %v", r, err)
		}
	}
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	for want, spoil := range map[string]func(dir string) error{
		"decisions.csv is missing":                   func(d string) error { return os.Remove(filepath.Join(d, "decisions.csv")) },
		"notes.txt is not in the manifest":           func(d string) error { return os.WriteFile(filepath.Join(d, "notes.txt"), nil, 0o600) },
		"names a signer and manifest.jws is missing": func(d string) error { return os.Remove(filepath.Join(d, "manifest.jws")) },
		"SHA256SUMS is missing":                      func(d string) error { return os.Remove(filepath.Join(d, "SHA256SUMS")) },
		"decisions.csv is not what the manifest says": func(d string) error {
			return os.WriteFile(filepath.Join(d, "decisions.csv"), []byte("id\n1\n"), 0o600)
		},
	} {
		dir := bundle(t, "csv", key(t, 1))
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		r, err := export.Verify(t.Context(), dir, nil)
		if err != nil || !strings.Contains(strings.Join(r.Problems, "\n"), want) {
			t.Errorf("want %q, got %+v, %v", want, r, err)
		}
	}
	if _, err := export.Verify(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("an empty folder is an export")
	}
	if _, err := export.Verify(t.Context(), filepath.Join(t.TempDir(), "no"), nil); err == nil {
		t.Error("a missing folder is an export")
	}
}

// TestResealed: whoever may write the folder can seal another export, but not
// with the same key.
func TestResealed(t *testing.T) {
	dir := bundle(t, "csv", key(t, 2))
	r, err := export.Verify(t.Context(), dir, key(t, 1).Public())
	if err != nil || r.OK() || r.Trusted {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff([]string{"signature: Ed25519 signature verification failed"}, r.Problems); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
