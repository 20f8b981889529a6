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
// it refused, in every form: each byte of a signed and an unsigned small one, and
// of the rest, which differ in their content only, each in the long form and a
// share of them else.
func TestEveryByteOfAnExport(t *testing.T) {
	everyByte(t, bundle(t, "jsonl", nil), 1)
	everyByte(t, bundle(t, "jsonl", key(t, 1)), 1)
	everyByte(t, bundle(t, "csv", key(t, 1)), share(5))
	everyByte(t, bundle(t, "parquet", key(t, 1)), share(5))
	l := work(t)
	for form, step := range map[string]int{"jsonl": 29, "dsse": 17, "prov": 29, "html": 61} {
		dir, _ := write(t, l, "decisions", form)
		everyByte(t, dir, share(step))
	}
}

// share is the step of a test that looks at every position in its long form.
func share(step int) int {
	if os.Getenv("ARCHE_LONG") != "" {
		return 1
	}
	return step
}

func everyByte(t *testing.T, dir string, step int) {
	t.Helper()
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
		f, err := os.OpenFile(path, os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		put := func(i int, b byte) {
			if _, err := f.WriteAt([]byte{b}, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; i < len(whole); i += step {
			put(i, whole[i]^1<<(i%7))
			r, err := export.Verify(t.Context(), dir, nil)
			if err == nil && r.OK() {
				t.Errorf("%s: byte %d, %q for %q passes", e.Name(), i, whole[i]^1<<(i%7), whole[i])
			}
			put(i, whole[i])
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{"cut short": whole[:max(0, len(whole)-1)], "longer": append(whole[:len(whole):len(whole)], '\n')} {
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if r, err := export.Verify(t.Context(), dir, nil); err == nil && r.OK() && len(bad) != len(whole) {
				t.Errorf("%s: %s passes", e.Name(), name)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := export.Verify(t.Context(), dir, nil); err != nil || !r.OK() {
		t.Fatalf("restored: %+v, %v", r, err)
	}
}

// TestEveryByteOfAnEnvelope changes each byte of a DSSE envelope and seals the
// folder again without a signature of the manifest, as a forger can: the envelope
// is refused for itself.
func TestEveryByteOfAnEnvelope(t *testing.T) {
	dir, m := write(t, work(t), "decisions", "dsse")
	const name = "decisions.dsse.json"
	whole, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(m.Files))
	for i, f := range m.Files {
		names[i] = f.Name
	}
	for i := 12; i < len(whole); i += share(42) { // 12 and 54 turn a letter of a key into a capital
		changed := append([]byte(nil), whole...)
		changed[i] ^= 1 << (i % 7)
		if err := os.WriteFile(filepath.Join(dir, name), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := export.Seal(dir, *m, names, key(t, 1)); err != nil {
			t.Fatal(err)
		}
		if r, err := export.Verify(t.Context(), dir, nil); err == nil && r.OK() {
			t.Errorf("byte %d, %q for %q passes", i, changed[i], whole[i])
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
