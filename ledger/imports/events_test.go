package imports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/ledger/imports"
)

func exported(t *testing.T, l *ledger.Ledger, change func(*export.Request)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x")
	req := export.Request{What: "events", Format: "jsonl", Dir: dir, Program: "arche@test", At: "2026-12-02T00:00:00+00:00", Filter: export.Filter{Reveal: true}}
	if change != nil {
		change(&req)
	}
	if _, err := export.Write(t.Context(), l, req); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestEventsRoundTrip: export, import into a new file, export again: the same
// bytes, and a ledger that verifies and answers alike.
func TestEventsRoundTrip(t *testing.T) {
	l := fresh(t)
	p, err := imports.ReadPublished(t.Context(), "testdata/published-0.9")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.ImportPublished(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Decide(t.Context(), p.Decisions[0].A, p.Decisions[1].A, ledger.VerdictSame, "seen"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(t.Context(), ledger.ForgetRequest{Addresses: []string{p.Decisions[2].A}, Reason: "asked"}); err != nil {
		t.Fatal(err)
	}
	first := exported(t, l, nil)
	path := filepath.Join(t.TempDir(), "again.duckdb")
	info, err := imports.Events(t.Context(), first, nil, path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	second := exported(t, again, nil)
	for _, name := range []string{"events.jsonl", "manifest.json", "SHA256SUMS"} {
		a, errA := os.ReadFile(filepath.Join(first, name))
		b, errB := os.ReadFile(filepath.Join(second, name))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s differs after the round trip (%v, %v)", name, errA, errB)
		}
	}
	for _, f := range []*ledger.Ledger{l, again} {
		if err := f.Verify(t.Context(), nil); err != nil {
			t.Errorf("verify: %v", err)
		}
	}
	_, seq, link, err := again.Head(t.Context())
	if err != nil || seq != info.Events || link != info.Link {
		t.Errorf("head %d %s, imported %+v, %v", seq, link, info, err)
	}
	if _, err := imports.Events(t.Context(), first, nil, path, ledger.Options{}); err == nil {
		t.Error("an existing ledger is written over")
	}
}

func TestEventsRefusals(t *testing.T) {
	l := fresh(t)
	p, err := imports.ReadPublished(t.Context(), "testdata/published-0.9")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.ImportPublished(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	since := "2026-01-01"
	for want, change := range map[string]func(*export.Request){
		"holds no contents":        func(r *export.Request) { r.Filter.Reveal = false },
		"a part of the log":        func(r *export.Request) { r.Filter.Since = &since },
		"only an export of events": func(r *export.Request) { r.What = "decisions" },
	} {
		path := filepath.Join(t.TempDir(), "l.duckdb")
		_, err := imports.Events(t.Context(), exported(t, l, change), nil, path, ledger.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was made", want)
		}
	}
	dir := exported(t, l, nil)
	file := filepath.Join(dir, "events.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), "organisation", "organisatiom", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := imports.Events(t.Context(), dir, nil, filepath.Join(t.TempDir(), "l.duckdb"), ledger.Options{}); err == nil || !strings.Contains(err.Error(), "does not verify") {
		t.Errorf("a changed export: %v", err)
	}
}
