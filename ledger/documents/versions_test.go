package documents_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// TestErasedTexts: a version whose text was erased from the ledger is told as
// such, and the others stay.
func TestErasedTexts(t *testing.T) {
	ctx := t.Context()
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	for _, body := range []string{"second\n", "third\nand more\n"} {
		if _, err := w.base.Update(ctx, documents.UpdateRequest{Path: ".archcore/a.adr.md", Content: body}); err != nil {
			t.Fatal(err)
		}
	}
	versions, err := w.base.Versions(ctx, "a.adr.md")
	if err != nil || len(versions) != 3 {
		t.Fatalf("%+v, %v", versions, err)
	}
	describe := func() (out []string) {
		var before *documents.Version
		for i := range versions {
			out = append(out, w.base.Describe(ctx, before, versions[i]))
			before = &versions[i]
		}
		return out
	}
	if diff := cmp.Diff([]string{"first seen, +6 lines", "+1 -1 lines", "+2 -1 lines"}, describe()); diff != "" {
		t.Error(diff)
	}
	if _, err := w.log.Forget(ctx, ledger.ForgetRequest{Addresses: []string{versions[1].Address}, Reason: "asked for"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"first seen, +6 lines", "its text is erased", "the text before is erased"}, describe()); diff != "" {
		t.Error(diff)
	}
	for name, call := range map[string]func() error{
		"at":      func() error { _, _, err := w.base.At(ctx, "a.adr.md", "#2"); return err },
		"restore": func() error { return drop(w.base.Restore(ctx, "a.adr.md", "#2")) },
	} {
		if err := call(); fault.As(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, data, err := w.base.At(ctx, "a.adr.md", "#1"); err != nil || !strings.Contains(string(data), "one") {
		t.Errorf("%q, %v", data, err)
	}
	refused, err := documents.Open(documents.Options{Root: w.root, Ledger: w.log, Refusal: fault.New(fault.Refused, "no project here")})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range readings {
		if err := call(ctx, refused); !fault.Is(err, fault.Refused) && name != "hosts" && name != "nobody" {
			t.Errorf("%s of a refused project: %v", name, err)
		}
	}
	if got := refused.Describe(ctx, nil, versions[0]); got != "first seen" {
		t.Errorf("described as %q", got)
	}
}

// TestRestores: a version comes back under the path that was asked for, as a new
// event; what is in its way stays.
func TestRestores(t *testing.T) {
	ctx := t.Context()
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	original := slurp(t, w.root, "a.adr.md")
	if err := everyWrite["update"](ctx, w.base); err != nil {
		t.Fatal(err)
	}
	restore := func(changed bool) {
		t.Helper()
		answer, err := w.base.Restore(ctx, ".archcore/a.adr.md", "#1")
		if err != nil || answer.Value("path") != ".archcore/a.adr.md" || answer.Value("changed") != changed ||
			answer.Value("address") != documents.AddressOf([]byte(original)) || slurp(t, w.root, "a.adr.md") != original {
			t.Errorf("%v, %v", answer, err)
		}
		w.check(ctx)
	}
	restore(true)
	restore(false)
	if err := everyWrite["remove"](ctx, w.base); err != nil {
		t.Fatal(err)
	}
	restore(true)
	versions, err := w.base.Versions(ctx, "a.adr.md")
	if err != nil || len(versions) != 5 || versions[4].Tool != "doc restore" || versions[2].Tool != "doc restore" {
		t.Errorf("%+v, %v", versions, err)
	}
	full := filepath.Join(w.root, ".archcore", "a.adr.md")
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	list(t, w.base, documents.ListRequest{})
	for nth, want := range []string{"writing .archcore/.ledger/intent.json: file system error", "writing .archcore/a.adr.md: file system error"} {
		between(w.base, "file.write", nth+1, func() error { return errors.New("input/output error") })
		if _, err := w.base.Restore(ctx, "a.adr.md", "#1"); fault.As(err) == nil || err.Error() != want {
			t.Errorf("a disk that fails: %v, want %s", err, want)
		}
	}
	documents.SetFault(w.base, nil)
	if _, err := os.Stat(full); err == nil {
		t.Error("it is there all the same")
	}
	if err := os.Mkdir(full, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.base.Restore(ctx, "a.adr.md", "#1"); fault.As(err) == nil || err.Error() != "reading .archcore/a.adr.md: file system error" {
		t.Errorf("a folder in its place: %v", err)
	}
	if _, err := w.base.Remove(ctx, ".archcore/a.adr.md"); fault.As(err) == nil || err.Error() != "removing .archcore/a.adr.md: file system error" {
		t.Errorf("a folder to remove: %v", err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	put(t, w.root, "settings.json", `{"sync":"none","globals":[{"id":"all","path":".archcore/a.adr.md"}]}`)
	if _, err := w.base.Restore(ctx, "a.adr.md", "#1"); !fault.Is(err, fault.Refused) || err.Error() != "cannot update a read-only global source document" {
		t.Errorf("a read-only place: %v", err)
	}
}

// TestVersionsByPrefix: the beginning of an event's id names it when it is long
// enough and no other begins so.
func TestVersionsByPrefix(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC) }
	all := []documents.Version{{Event: "evt:blake3:aaaaaa11", Time: at(1)}, {Event: "evt:blake3:aaaaaa22", Time: at(2)}, {Event: "evt:blake3:bbbbbb", Time: at(3)}}
	for ref, want := range map[string]string{
		"aaaaaa1": all[0].Event, "blake3:aaaaaa2": all[1].Event, "evt:blake3:bbbbbb": all[2].Event, "bbbbbb": all[2].Event, "#1": all[0].Event, "#3": all[2].Event,
		"2026-01-01": all[0].Event, "2026-01-02": all[1].Event, "2026-01-01T12:00:00Z": all[0].Event, "2026-01-02T11:59:59Z": all[0].Event, "2030-01-01": all[2].Event,
		"aaaaaa": `"aaaaaa" begins several event ids`, "bbbbb": `no version "bbbbb" of this document`, "cccccc": `no version "cccccc" of this document`, "#0": `no version "#0" of this document`,
		"#4": `no version "#4" of this document`, "2025-12-31": "the document was not there yet at 2025-12-31", "2026-01-01T11:59:59Z": "the document was not there yet at 2026-01-01T11:59:59Z",
	} {
		v, err := documents.PickVersion(all, ref)
		got := v.Event
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

// TestDescriptions: what a version changed in a few words.
func TestDescriptions(t *testing.T) {
	ctx := t.Context()
	w := &world{t: t, root: t.TempDir(), log: memory(t)}
	w.reopen()
	texts := []string{
		"---\ntitle: \"A\"\nstatus: draft\n---\n\none\n", "---\ntitle: \"A\"\n---\n\none\n", "---\ntitle: \"A\"\ntags: [x, y]\n---\n\none\n", "---\ntitle: \"A\"\nstatus: draft\n---\n\none\ntwo\nthree\n",
		"---\ntitle: \"A\"\nstatus: draft\n---\n\nthree\ntwo\none\n",
	}
	for _, text := range texts {
		put(t, w.root, "a.adr.md", text)
		list(t, w.base, documents.ListRequest{})
	}
	if err := os.Remove(filepath.Join(w.root, ".archcore", "a.adr.md")); err != nil {
		t.Fatal(err)
	}
	list(t, w.base, documents.ListRequest{})
	put(t, w.root, "a.adr.md", texts[0])
	versions, err := w.base.Versions(ctx, "a.adr.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var before *documents.Version
	for i := range versions {
		got = append(got, w.base.Describe(ctx, before, versions[i]))
		before = &versions[i]
	}
	want := []string{"first seen, +6 lines", "status draft -> none, +0 -1 lines", "tags x,y, +1 lines", "status none -> draft, tags none, +3 -1 lines", "", "removed", "back, +6 lines"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
