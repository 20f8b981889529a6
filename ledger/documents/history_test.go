package documents_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// scopeIn is what stands before a project's paths in a shared ledger.
func scopeIn(t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	scope := ""
	for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{"project.initialised"}}) {
		if err != nil {
			t.Fatal(err)
		}
		scope = strings.TrimPrefix(e.Subject(), "project:") + "/"
	}
	return scope
}

// TestEventsOfOtherForms puts events of every kind that is folded into the
// ledger, each with one part of its body left out or of another type, and with
// odd subjects: no call fails, and the next look makes ledger and disk agree.
func TestEventsOfOtherForms(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	lent := &logs{t: t}
	odd := map[string]any{"absent": nil, "null": nil, "a number": canon.Number("7"), "a fraction": canon.Number("1.5"),
		"a text": "x", "a list": []any{"x", canon.Number("1"), nil}, "an object": canon.Obj("a", "b")}
	full := func() *canon.Object {
		return canon.Obj("address", "doc:blake3:00", "size", canon.Number("3"), "type", "adr", "status", "draft", "tags", []any{"t"},
			"moved_from", "old.adr.md", "batch", "bat:0", "tool", "by hand", "settings", canon.Obj("sync", "none"))
	}
	subjects := map[string][]string{
		"document.written": {"doc:%sa.adr.md", "doc:%snew.adr.md", "doc:%s"}, "document.removed": {"doc:%sa.adr.md", "doc:%snever.adr.md"},
		"relation.added":   {"rel:%srelated:b.adr.md|c.adr.md", "rel:%srelated", "rel:%s", "rel:%srelated:x%%7Cy.md|b.adr.md"},
		"relation.removed": {"rel:%srelated:a.adr.md|b.adr.md", "rel:%srelated:a.adr.md"}, "project.initialised": {"project:%s"},
	}
	for _, kind := range slices.Sorted(maps.Keys(subjects)) {
		for _, name := range slices.Sorted(maps.Keys(odd)) {
			w := &world{t: t, root: project(t, linkedFiles()), log: lent.next()}
			w.reopen()
			w.check(ctx)
			scope := scopeIn(t, w.log)
			var drafts []ledger.Draft
			for _, form := range subjects[kind] {
				subject := strings.TrimSuffix(fmt.Sprintf(form, scope), "/")
				for _, key := range full().Keys() {
					body := full()
					if body.Set(key, odd[name]); name == "absent" {
						body.Delete(key)
					}
					drafts = append(drafts, ledger.Draft{Kind: kind, Subject: subject, Body: body})
				}
			}
			if _, err := w.log.Append(ctx, drafts); err != nil {
				t.Fatalf("%s, %s: %v", kind, name, err)
			}
			versions, err := w.base.Versions(ctx, "a.adr.md")
			if err != nil || len(versions) < 1 {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
			for i := range versions {
				_ = w.base.Describe(ctx, nil, versions[i])
				if _, _, err := w.base.At(ctx, "a.adr.md", fmt.Sprintf("#%d", i+1)); err != nil && fault.As(err) == nil {
					t.Errorf("%s, %s: version %d: %v", kind, name, i+1, err)
				}
			}
			for _, call := range []string{"hosts", "list", "diagnose", "restore"} {
				if err := readings[call](ctx, w.base); err != nil {
					t.Errorf("%s, %s: %s: %v", kind, name, call, err)
				}
			}
			w.check(ctx)
			if err := everyWrite["update"](ctx, w.base); err != nil {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
			w.check(ctx)
		}
	}
}

// TestVersionFields: what an event says of a document is what its version says.
func TestVersionFields(t *testing.T) {
	ctx := ledger.WithActor(t.Context(), "mcp:law")
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	answer, err := w.base.Create(ctx, documents.CreateRequest{Type: "rule", Filename: "one-two", Tags: []string{"b", "a", "b"}, Content: "x\n"})
	if err != nil || answer.Value("title") != "One Two" {
		t.Fatalf("%v, %v", answer, err)
	}
	base := filepath.Join(w.root, ".archcore")
	if err := os.Rename(filepath.Join(base, "one-two.rule.md"), filepath.Join(base, "three.rule.md")); err != nil {
		t.Fatal(err)
	}
	versions, err := w.base.Versions(ctx, "./three.rule.md")
	if err != nil || len(versions) != 2 {
		t.Fatalf("%+v, %v", versions, err)
	}
	for i := range versions {
		v := &versions[i]
		if v.Seq < 1 || v.Event == "" || v.Time.IsZero() || !strings.HasPrefix(v.Batch, "bat:") || !strings.HasPrefix(v.Address, "doc:blake3:") {
			t.Errorf("%+v", v)
		}
		v.Seq, v.Event, v.Time, v.Batch, v.Address = 0, "", time.Time{}, "", ""
	}
	size := int64(len(slurp(t, w.root, "three.rule.md")))
	want := []documents.Version{
		{Actor: "mcp:law", Tool: "create_document", Path: ".archcore/one-two.rule.md", Size: size, Type: "rule", Status: "draft", Tags: []string{"a", "b"}},
		{Actor: "filesystem", Path: ".archcore/three.rule.md", Size: size, Type: "rule", Status: "draft", Tags: []string{"a", "b"}, MovedFrom: "one-two.rule.md"},
	}
	if diff := cmp.Diff(want, versions); diff != "" {
		t.Error(diff)
	}
	if got := w.base.Describe(ctx, &versions[0], versions[1]); got != "moved from .archcore/one-two.rule.md" && !strings.HasPrefix(got, "moved from .archcore/one-two.rule.md, ") {
		t.Errorf("described as %q", got)
	}
	if got := codes(t, w.base); !slices.Equal(got, []string{"moved .archcore/three.rule.md"}) {
		t.Errorf("findings %v", got)
	}
	// The old place gets a document of its own: its history is not the other's.
	put(t, w.root, "one-two.rule.md", "another\n")
	if versions, err = w.base.Versions(ctx, "three.rule.md"); err != nil || len(versions) != 2 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
	if versions, err = w.base.Versions(ctx, "one-two.rule.md"); err != nil || len(versions) != 3 || !versions[1].Removed {
		t.Errorf("%+v, %v", versions, err)
	}
}

// TestHandEditsInOrder: what is done by hand is recorded in the order of paths,
// a move only where it is plain which document moved.
func TestHandEditsInOrder(t *testing.T) {
	ctx := t.Context()
	files := linkedFiles()
	files["x1.adr.md"], files["x2.adr.md"] = "same\n", "same\n"
	w := &world{t: t, root: project(t, files), log: memory(t)}
	w.reopen()
	w.check(ctx)
	first := w.events(ctx)
	base := filepath.Join(w.root, ".archcore")
	for _, name := range []string{"x2.adr.md", "c.adr.md", "x1.adr.md", "a.adr.md"} {
		if err := os.Remove(filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, w.root, "y.adr.md", "same\n")
	put(t, w.root, ".sync-state.json", `{"version":1,"files":{},"relations":[{"source":"z.adr.md","target":"b.adr.md","type":"related"},{"source":"b.adr.md","target":"z|%7C.adr.md","type":"related"}]}`)
	put(t, w.root, "settings.json", `{"sync":"none","language":"de","globals":[{"id":"x","path":"none"}]}`)
	list(t, w.base, documents.ListRequest{})
	scope, batch := scopeIn(t, w.log), ""
	var got []string
	for e, err := range w.log.Events(ctx, ledger.Filter{After: first}) {
		if err != nil {
			t.Fatal(err)
		}
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		line := e.Kind() + " " + strings.Replace(e.Subject(), scope, "", 1)
		if from, _ := body.Value("moved_from").(string); from != "" {
			line += " from " + from
		}
		if e.Kind() == "project.initialised" {
			text, err := canon.Compact(body.Value("settings"))
			if err != nil {
				t.Fatal(err)
			}
			line = e.Kind() + " " + string(text)
		} else if b, _ := body.Value("batch").(string); batch != "" && b != batch || b == "" {
			t.Errorf("%s is of batch %q, others of %q", line, b, batch)
		} else {
			batch = b
		}
		got = append(got, line)
	}
	want := []string{
		"document.written doc:y.adr.md", "document.removed doc:a.adr.md", "document.removed doc:c.adr.md", "document.removed doc:x1.adr.md", "document.removed doc:x2.adr.md",
		"relation.added rel:related:z.adr.md|b.adr.md", "relation.added rel:related:b.adr.md|z%7C%257C.adr.md",
		"relation.removed rel:extends:c.adr.md|a.adr.md", "relation.removed rel:related:a.adr.md|b.adr.md",
		`project.initialised {"globals":["x"],"language":"de","sync":"none"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w.check(ctx)
}

// TestCheckoutsInOneLedger: a checkout that is moved, or restored in its place,
// goes on with its history; a copy begins its own, so that the two do not undo
// each other.
func TestCheckoutsInOneLedger(t *testing.T) {
	ctx := t.Context()
	l := memory(t)
	history := func(root string) int {
		t.Helper()
		b := openWith(t, root, l)
		list(t, b, documents.ListRequest{})
		versions, err := b.Versions(ctx, "a.adr.md")
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, root: root, log: l}
		w.reopen()
		w.check(ctx)
		return len(versions)
	}
	root := project(t, linkedFiles())
	if err := everyWrite["update"](ctx, openWith(t, root, l)); err != nil {
		t.Fatal(err)
	}
	if n := history(root); n != 2 {
		t.Errorf("%d versions", n)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	if n := history(moved); n != 2 {
		t.Errorf("moved: %d versions", n)
	}
	duplicate := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(duplicate, os.DirFS(moved)); err != nil {
		t.Fatal(err)
	}
	if n := history(duplicate); n != 1 {
		t.Errorf("a copy: %d versions", n)
	}
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(moved, away); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(moved, os.DirFS(away)); err != nil {
		t.Fatal(err)
	}
	if n := history(moved); n != 2 {
		t.Errorf("restored: %d versions", n)
	}
	for _, text := range []string{"", "[]", `{"id":7}`, `{"id":"","place":"","folder":""}`} {
		put(t, moved, ".ledger/project.json", text)
		if n := history(moved); n != 1 {
			t.Errorf("%s: %d versions", text, n)
		}
	}
}

// TestRelationsOfTwoProjects: relations of one project in a shared ledger are
// none of the other's.
func TestRelationsOfTwoProjects(t *testing.T) {
	l := memory(t)
	one := &world{t: t, root: project(t, linkedFiles()), log: l}
	files := linkedFiles()
	files[".sync-state.json"] = `{"version":1,"files":{}}`
	other := &world{t: t, root: project(t, files), log: l}
	for range 2 {
		for _, w := range []*world{one, other} {
			w.reopen()
			w.check(t.Context())
		}
	}
}

// TestHostsAreToldOnce: a host whose files did not change is not told again, and
// one event follows the other when they did.
func TestHostsAreToldOnce(t *testing.T) {
	ctx := t.Context()
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	w.check(ctx)
	first := w.events(ctx)
	for _, digest := range []string{"d1", "d1", "d2"} {
		err := w.base.RecordHosts(ctx, []documents.WiredHost{{ID: "h", Files: []documents.WiredFile{{Path: "p", Digest: digest}}}, {ID: "empty"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	scope := scopeIn(t, w.log)
	for e, err := range w.log.Events(ctx, ledger.Filter{After: first}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Replace(e.Subject(), scope, "", 1)+" "+e.BodyText())
	}
	want := []string{`host:h {"files":[{"digest":"d1","path":"p"}]}`, `host:empty {"files":[]}`, `host:h {"files":[{"digest":"d2","path":"p"}]}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
