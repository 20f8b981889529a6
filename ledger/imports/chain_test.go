package imports_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/ledger/imports"
	"github.com/arche-ledger/arche/resolve"
)

// TestEventsOfImportedDecisions: a ledger that came in as decisions without values
// and went on is exported as events and comes in again: the same log, the same
// contents, and still no value that was never there. A backup says the same.
func TestEventsOfImportedDecisions(t *testing.T) {
	first, m := exportDecisions(t, lived(t), "jsonl", false)
	path := filepath.Join(t.TempDir(), "a.duckdb")
	if _, err := imports.Decisions(t.Context(), first, nil, path, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	a := reopen(t, path)
	if _, err := a.Compare(t.Context(), lists(2)); err != nil { // with values, from here on
		t.Fatal(err)
	}
	dir := exported(t, a, nil)
	manifest := read(t, dir)
	if manifest.ContentsFrom != m.Head.Seq+1 {
		t.Errorf("contents are promised from event %d, want %d", manifest.ContentsFrom, m.Head.Seq+1)
	}
	again := filepath.Join(t.TempDir(), "b.duckdb")
	info, err := imports.Events(t.Context(), dir, nil, again, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := reopen(t, again)
	log, seq, link, err := a.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if l, s, k, err := b.Head(t.Context()); err != nil || l != log || s != seq || k != link || info.Link != link {
		t.Errorf("the head is %s %d %s, want %s %d %s, %v", l, s, k, log, seq, link, err)
	}
	if err := b.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(answers(t, a), answers(t, b)); diff != "" {
		t.Error(diff)
	}
	second := exported(t, b, nil)
	for _, name := range []string{"events.jsonl", export.ManifestName} {
		x, errX := os.ReadFile(filepath.Join(dir, name))
		y, errY := os.ReadFile(filepath.Join(second, name))
		if err := errors.Join(errX, errY); err != nil || string(x) != string(y) {
			t.Errorf("%s differs after the round trip, %v", name, err)
		}
	}
	results := func(l *ledger.Ledger) map[string]int {
		out := map[string]int{}
		if _, err := l.Audit(t.Context(), ledger.AuditOptions{}, func(f *ledger.Audited) error { out[f.Result]++; return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if want := results(a); want[ledger.AuditReproduced] == 0 || want[ledger.AuditUnreplayable] == 0 || !cmp.Equal(want, results(b)) {
		t.Errorf("audited %v, want %v", results(b), want)
	}
	// Contents that were there may not be left out, whatever is promised.
	change(t, dir, "events.jsonl", func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		row, err := canon.ParseObject([]byte(lines[m.Head.Seq]), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		row.Set("contents", nil)
		line, err := canon.Compact(row)
		if err != nil {
			t.Fatal(err)
		}
		lines[m.Head.Seq] = string(line) + "\n"
		return strings.Join(lines, "")
	}, nil)
	none := filepath.Join(t.TempDir(), "c.duckdb")
	if _, err := imports.Events(t.Context(), dir, nil, none, ledger.Options{}); err == nil {
		t.Error("an event without its contents comes in")
	}
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestOnlyWhatLacksContentsSaysSo: every other export has the manifest it had.
func TestOnlyWhatLacksContentsSaysSo(t *testing.T) {
	l := fresh(t)
	if _, err := l.Compare(t.Context(), lists(1)); err != nil {
		t.Fatal(err)
	}
	if m := read(t, exported(t, l, nil)); m.ContentsFrom != 0 {
		t.Errorf("%d", m.ContentsFrom)
	}
	dir, _ := exportDecisions(t, l, "jsonl", false)
	path := filepath.Join(t.TempDir(), "a.duckdb")
	if _, err := imports.Decisions(t.Context(), dir, nil, path, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	a := reopen(t, path)
	if _, m := exportDecisions(t, a, "jsonl", true); m.ContentsFrom != 0 {
		t.Errorf("decisions: %d", m.ContentsFrom)
	}
	if m := read(t, exported(t, a, func(r *export.Request) { r.Filter.Reveal = false })); m.ContentsFrom != 0 {
		t.Errorf("events without contents: %d", m.ContentsFrom)
	}
	text, err := os.ReadFile(filepath.Join(dir, export.ManifestName))
	if err != nil || strings.Contains(string(text), "contents_from_event") {
		t.Errorf("%s, %v", text, err)
	}
}

func read(t *testing.T, dir string) export.Manifest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, export.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	var m export.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// change changes a file of an export, and its manifest, and seals it again.
func change(t *testing.T, dir, name string, text func(string) string, manifest func(m *export.Manifest)) {
	t.Helper()
	m := read(t, dir)
	if text != nil {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := text(string(data))
		if changed == string(data) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if manifest != nil {
		manifest(&m)
	}
	names := make([]string, len(m.Files))
	for i, f := range m.Files {
		names[i] = f.Name
	}
	if _, err := export.Seal(dir, m, names, nil); err != nil {
		t.Fatal(err)
	}
}

// small is a ledger of two decisions, one about values that need care in JSON.
func small(t *testing.T) *ledger.Ledger {
	t.Helper()
	l := fresh(t)
	if _, err := l.Compare(t.Context(), resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold, IDField: "id",
		A: []*canon.Object{canon.Obj("id", "a", "name", "Kijani Tea Exporters Ltd"), canon.Obj("id", "b", "name", "Central Cooperative Society")},
		B: []*canon.Object{canon.Obj("id", "c", "name", "Kijani Tea Exporters Limited"), canon.Obj("id", "d", "name", "Central Cooperative Society")},
	}); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestForgedEvents: an export of events that was changed and sealed anew is
// refused for what is wrong with it, and nothing is made.
func TestForgedEvents(t *testing.T) {
	whole := exported(t, small(t), nil)
	swap := func(old, now string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, now, 1) }
	}
	for _, c := range []struct {
		want     string
		text     func(string) string
		manifest func(m *export.Manifest)
	}{
		{"events.jsonl, line 1: no event", swap("{", "["), nil},
		{"events.jsonl, line 2: no event", func(text string) string { return strings.Replace(text, "\n{", "\n5{", 1) }, nil},
		{"events.jsonl, line 1: no event", swap(`"body":{`, `"body":{"big":99999999999999999999,`), nil},
		{"events.jsonl, line 1: no event", swap(`"contents":[{`, `"contents":[7,{`), nil},
		{"events.jsonl ends within a row", func(text string) string { return text + "{" }, nil},
		{"the backup is not whole", swap(`"bytes":"`, `"bytes":"*`), nil},
		{"", swap(`"contents":[{`, `"was":[{`), nil},
		{"", swap(`"kind":"`, `"kind":"x`), nil},
		{"does not end where the manifest says", nil, func(m *export.Manifest) { m.Head.Link = strings.Repeat("ab", 32) }},
		{"the export is of log 'other'", nil, func(m *export.Manifest) { m.Head.Log = "other" }},
		{"does not say from which event on contents are there", nil, func(m *export.Manifest) { m.ContentsFrom = -1 }},
	} {
		dir := copied(t, whole)
		change(t, dir, "events.jsonl", c.text, c.manifest)
		at := t.TempDir()
		_, err := imports.Events(t.Context(), dir, nil, filepath.Join(at, "l.duckdb"), ledger.Options{})
		if fault.As(err) == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
		for _, name := range entries(t, at) {
			if name != "l.duckdb.lock" && name != "l.duckdb.queue" {
				t.Errorf("%q: left behind: %s", c.want, name)
			}
		}
	}
}

// copied is a copy of an export to spoil.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
