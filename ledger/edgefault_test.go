package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// reseal writes a backup anew with some text of a file exchanged and the
// manifest's hashes made to fit, as somebody would who wants it believed.
func reseal(t *testing.T, dir string, change func(files map[string]string)) string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"events.jsonl", "blobs.jsonl", "manifest.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	sums := map[string]string{}
	for _, name := range []string{"events.jsonl", "blobs.jsonl"} {
		sums[name] = hexSum(files[name])
	}
	change(files)
	for _, name := range []string{"events.jsonl", "blobs.jsonl"} {
		files["manifest.json"] = strings.ReplaceAll(files["manifest.json"], sums[name], hexSum(files[name]))
	}
	out := filepath.Join(t.TempDir(), "b")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func hexSum(text string) string {
	sum := blake3.Sum256([]byte(text))
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range sum {
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// TestForgedBackupsAreRefused: backups whose hashes fit and whose rows do not.
func TestForgedBackupsAreRefused(t *testing.T) {
	l := memory(t)
	compare(t, l, pair(1))
	compare(t, l, reviewed(1))
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := l.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	swap := func(file, old, now string) func(map[string]string) {
		return func(files map[string]string) {
			if !strings.Contains(files[file], old) {
				t.Fatalf("%s holds no %q", file, old)
			}
			files[file] = strings.Replace(files[file], old, now, 1)
		}
	}
	for name, change := range map[string]func(map[string]string){
		"another actor":      swap("events.jsonl", `"actor":"arche"`, `"actor":"mallory"`),
		"another time":       swap("events.jsonl", `"recorded_at":"20`, `"recorded_at":"19`),
		"no time":            swap("events.jsonl", `"recorded_at":"20`, `"recorded_at":"x20`),
		"a seq of text":      swap("events.jsonl", `"seq":2`, `"seq":"2"`),
		"a seq with a point": swap("events.jsonl", `"seq":2`, `"seq":2.5`),
		"a seq too large":    swap("events.jsonl", `"seq":2`, `"seq":99999999999999999999`),
		"an event left out": func(files map[string]string) {
			lines := strings.SplitAfter(files["events.jsonl"], "\n")
			files["events.jsonl"] = lines[0] + strings.Join(lines[2:], "")
		},
		"the last left out": func(files map[string]string) {
			lines := strings.SplitAfter(files["events.jsonl"], "\n")
			files["events.jsonl"] = strings.Join(lines[:len(lines)-2], "")
		},
		"half a line": func(files map[string]string) {
			files["events.jsonl"] = files["events.jsonl"][:len(files["events.jsonl"])-9]
		},
		"a line of no object":  func(files map[string]string) { files["events.jsonl"] += "[]\n" },
		"a body of no object":  swap("events.jsonl", `"body":"{`, `"body":"[`),
		"a content of no text": swap("blobs.jsonl", `"bytes":"`, `"bytes":7,"x":"`),
		"another content":      swap("blobs.jsonl", `"bytes":"e`, `"bytes":"f`),
		"no base64":            swap("blobs.jsonl", `"bytes":"`, `"bytes":"*`),
		"a content less": func(files map[string]string) {
			_, rest, _ := strings.Cut(files["blobs.jsonl"], "\n")
			files["blobs.jsonl"] = rest
		},
		"no events at all":        func(files map[string]string) { files["events.jsonl"] = "" },
		"another link":            swap("manifest.json", `"link": "`, `"link": "0`),
		"a number of text":        swap("manifest.json", `"events": `, `"events": "x", "y": `),
		"a number too large":      swap("manifest.json", `"events": `, `"events": 99999999999999999999, "y": `),
		"a count too small":       swap("manifest.json", `"blobs": `, `"blobs": 1, "y": `),
		"a manifest of no object": func(files map[string]string) { files["manifest.json"] = "[]" },
		"another form":            swap("manifest.json", "arche.backup.v1", "arche.backup.v2"),
	} {
		path := filePath(t)
		bad := reseal(t, dir, change)
		if _, err := ledger.Restore(t.Context(), bad, path, ledger.Options{}); fault.As(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
			t.Errorf("%s left %d files, %v", name, len(left), err)
		}
	}
	if _, err := ledger.Restore(t.Context(), dir, filepath.Join(t.TempDir(), "no", "l.duckdb"), ledger.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := l.Backup(t.Context(), filepath.Join(t.TempDir(), "no", "b")); !fault.Is(err, fault.Invalid) {
		t.Errorf("no folder: %v", err)
	}
}

// TestCheckpointRefusals: what cannot be signed, proven or compared is told.
func TestCheckpointRefusals(t *testing.T) {
	k := key(t)
	empty := memory(t)
	if _, err := empty.Checkpoint(t.Context(), k); !fault.Is(err, fault.Invalid) {
		t.Errorf("an empty ledger was signed: %v", err)
	}
	long, short := memory(t), memory(t)
	for n := range 3 {
		compare(t, long, pair(n))
	}
	note, err := long.Checkpoint(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"evt:blake3:" + strings.Repeat("0", 64), "xwd:sha256:" + strings.Repeat("0", 64), "x"} {
		if _, err := long.Prove(t.Context(), id, k); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	// The same beginning and less of it: the log lost its end.
	dir := filepath.Join(t.TempDir(), "b")
	compare(t, short, pair(0))
	if _, err := short.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	longer, err := short.Checkpoint(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	path := filePath(t)
	if _, err := ledger.Restore(t.Context(), dir, path, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	restored := open(t, path, ledger.Options{})
	if _, err := restored.VerifyAgainst(t.Context(), longer, k.Public()); err != nil {
		t.Errorf("all that was signed is there: %v", err)
	}
	compare(t, short, pair(1))
	second, err := short.Checkpoint(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restored.VerifyAgainst(t.Context(), second, k.Public()); !errors.Is(err, ledger.ErrTruncated) {
		t.Errorf("a shorter log: %v", err)
	}
	// Another history behind the same beginning.
	for n := 5; n < 9; n++ {
		compare(t, restored, pair(n))
	}
	if _, err := restored.VerifyAgainst(t.Context(), second, k.Public()); !errors.Is(err, ledger.ErrRewritten) {
		t.Errorf("another history: %v", err)
	}
	if _, err := restored.VerifyAgainst(t.Context(), note, k.Public()); !errors.Is(err, ledger.ErrRewritten) {
		t.Errorf("another ledger: %v", err)
	}
}

// TestKeysAndPlacesOfCopies: what is no key or no place is refused before
// anything is made.
func TestKeysAndPlacesOfCopies(t *testing.T) {
	l := open(t, filePath(t), ledger.Options{})
	compare(t, l, pair(1))
	to := filepath.Join(t.TempDir(), "x.duckdb")
	if err := l.Encrypt(t.Context(), to, "short"); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
	if err := ledger.Decrypt(t.Context(), to, "short", to, ledger.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
	if err := ledger.Decrypt(t.Context(), to, strings.Repeat("k", 16), "postgres://x", ledger.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
	if err := ledger.Decrypt(t.Context(), l.File(), strings.Repeat("k", 16), to, ledger.Options{}); err == nil {
		t.Error("a plain file was decrypted")
	}
	if err := l.Encrypt(t.Context(), filepath.Join(t.TempDir(), "no", "x"), strings.Repeat("k", 16)); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
