package documents_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/ledger/duck"
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
	odd := map[string]any{"absent": nil, "null": nil, "a number": canon.Number("7"), "a fraction": canon.Number("1.5"), "a huge number": canon.Number("9007199254740991"),
		"a text": "x", "a list": []any{"x", canon.Number("1"), nil}, "an object": canon.Obj("a", "b"), "true": true}
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
			for _, call := range []string{"list", "diagnose", "hosts", "restore"} {
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
	documents.SetFault(w.base, func(op string) error {
		if op == "file.write" || op == "file.link" {
			return errors.New("input/output error")
		}
		return nil
	})
	if _, err := w.base.Restore(ctx, "a.adr.md", "#1"); fault.As(err) == nil {
		t.Errorf("a disk that fails: %v", err)
	}
	documents.SetFault(w.base, func(op string) error {
		if op == "file.chmod" {
			return errors.New("input/output error")
		}
		return nil
	})
	list(t, w.base, documents.ListRequest{})
	if _, err := w.base.Restore(ctx, "a.adr.md", "#1"); fault.As(err) == nil {
		t.Errorf("a disk that fails: %v", err)
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

// TestDamagedLedger: a ledger that is no database, or whose rows cannot be read,
// keeps nobody from the documents; what needs it is told why, and writes are
// refused before anything is changed.
func TestDamagedLedger(t *testing.T) {
	ctx := t.Context()
	ownLedger := func(root string) string { return filepath.Join(root, ".archcore", documents.StateDir, "ledger.duckdb") }
	for name, damage := range map[string]func(t *testing.T, root string){
		"an empty file": func(t *testing.T, root string) { write(t, ownLedger(root), "") },
		"bodies that are none": func(t *testing.T, root string) {
			b, err := documents.Open(documents.Options{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			list(t, b, documents.ListRequest{})
			b.Close()
			s, err := duck.OpenStore(ownLedger(root), duck.Options{})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Use(ctx, func(db *duck.DB) error {
				return db.Exec(ctx, "UPDATE events SET body = '{' WHERE kind IN ('document.written', 'project.initialised')")
			})
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		root := project(t, linkedFiles())
		damage(t, root)
		before := foldDisk(t, root)
		b, err := documents.Open(documents.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		if rows := list(t, b, documents.ListRequest{}); len(rows) != 3 {
			t.Errorf("%s: rows %v", name, rows)
		}
		if got := codes(t, b); !slices.Contains(got, "ledger_behind") {
			t.Errorf("%s: findings %v", name, got)
		}
		calls := maps.Clone(everyWrite)
		for _, reading := range []string{"versions", "at", "restore", "hosts"} {
			calls[reading] = readings[reading]
		}
		for call, f := range calls {
			if err := f(ctx, b); err == nil || strings.Contains(err.Error(), root) {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
		if diff := cmp.Diff(before, foldDisk(t, root)); diff != "" {
			t.Errorf("%s: the disk was changed\n%s", name, diff)
		}
		if err := b.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnfinishedWriteIsTold: a write that was cut short and cannot be ended yet
// is named.
func TestUnfinishedWriteIsTold(t *testing.T) {
	root := project(t, linkedFiles())
	b := open(t, root)
	during(b, "intent", func() error { return documents.ErrKilled })
	if err := everyWrite["update"](t.Context(), b); !errors.Is(err, documents.ErrKilled) {
		t.Fatal(err)
	}
	release := documents.HoldLock(t.Context(), t, b)
	other := open(t, root)
	documents.SetPatience(other, time.Millisecond)
	if got := codes(t, other); !slices.Equal(got, []string{"ledger_behind", "unfinished_write"}) {
		t.Errorf("findings %v", got)
	}
	release()
	documents.SetPatience(other, time.Minute)
	if got := codes(t, other); len(got) != 0 {
		t.Errorf("findings %v", got)
	}
}

// TestRequestsThatAreWrong: each argument of a write that is wrong is named, and
// nothing is made.
func TestRequestsThatAreWrong(t *testing.T) {
	ctx := t.Context()
	root := project(t, linkedFiles())
	b := open(t, root)
	list(t, b, documents.ListRequest{})
	before := foldDisk(t, root)
	bad, odd, none := "done", []string{"Big"}, []string{}
	create := func(r documents.CreateRequest) func() error { return func() error { return drop(b.Create(ctx, r)) } }
	update := func(r documents.UpdateRequest) func() error {
		r.Path = ".archcore/a.adr.md"
		return func() error { return drop(b.Update(ctx, r)) }
	}
	relate := func(source, target, typ string) func() error {
		return func() error {
			return drop(b.AddRelation(ctx, documents.RelationRequest{Source: source, Target: target, Type: typ}))
		}
	}
	for _, c := range []struct {
		call func() error
		want string
	}{
		{create(documents.CreateRequest{Type: "memo", Filename: "x"}), `invalid document type "memo" (valid: `},
		{create(documents.CreateRequest{Type: "adr", Filename: " "}), "filename is required"},
		{create(documents.CreateRequest{Type: "adr", Filename: "a/b"}), `invalid filename "a/b": must not contain path separators`},
		{create(documents.CreateRequest{Type: "adr", Filename: "A"}), `invalid filename "A": must be lowercase`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a--b"}), `invalid filename "a--b": must be lowercase`},
		{create(documents.CreateRequest{Type: "adr", Filename: "-a"}), `invalid filename "-a": must be lowercase`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Status: &bad}), `invalid status "done" (valid: `},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Directory: "../x"}), `invalid directory "../x": must be relative`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Directory: "x/.y"}), `invalid directory "x/.y": hidden directories are not scanned`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Tags: odd}), `invalid tag "Big" — did you mean "big"?`},
		{create(documents.CreateRequest{Type: "adr", Filename: "a", Content: strings.Repeat("x", 16<<20)}), "content is larger than 16 MiB"},
		{create(documents.CreateRequest{Type: "adr", Filename: "a"}), "file already exists: .archcore/a.adr.md"},
		{update(documents.UpdateRequest{}), "at least one of title, status, content, or tags must be provided"},
		{update(documents.UpdateRequest{Status: "done"}), `invalid status "done" (valid: `},
		{update(documents.UpdateRequest{Tags: &odd}), `invalid tag "Big" — did you mean "big"?`},
		{update(documents.UpdateRequest{Content: strings.Repeat("x", 16<<20)}), "content is larger than 16 MiB"},
		{relate("a.adr.md", "b.adr.md", "likes"), "invalid relation type: likes"},
		{relate("/a.adr.md", "b.adr.md", "related"), "relation paths must be relative and within .archcore/"},
		{relate("a.adr.md", `C:\b.adr.md`, "related"), "relation paths must be relative and within .archcore/"},
		{relate("../a.adr.md", "b.adr.md", "related"), "source path must not contain '..'"},
		{relate("a.adr.md", "x/../b.adr.md", "related"), "target path must not contain '..'"},
		{relate("a.txt", "b.adr.md", "related"), "relation endpoints must be .md document files"},
		{relate("a.adr.md", ".archcore/./a.adr.md", "related"), "source and target must be different documents"},
		{relate("none.adr.md", "b.adr.md", "related"), "source document not found: .archcore/none.adr.md"},
		{relate("a.adr.md", "none.adr.md", "related"), "target document not found: .archcore/none.adr.md"},
	} {
		if err := c.call(); fault.As(err) == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, call := range []func() error{relate("a.adr.md", ".archcore/b.adr.md", "related"), update(documents.UpdateRequest{Title: "A"}), update(documents.UpdateRequest{Tags: &none}),
		func() error {
			return drop(b.RemoveRelation(ctx, documents.RelationRequest{Source: "b.adr.md", Target: "c.adr.md", Type: "related"}))
		}} {
		if err := call(); err != nil {
			t.Errorf("what changes nothing: %v", err)
		}
	}
	if diff := cmp.Diff(before, foldDisk(t, root)); diff != "" {
		t.Error(diff)
	}
	if answer, err := b.Remove(ctx, ".archcore/b.adr.md"); err != nil || answer.Value("relations_removed") != 1 || answer.Value("title") != "B" {
		t.Errorf("%v, %v", answer, err)
	}
	put(t, root, "lone.adr.md", "x\n")
	if answer, err := b.Remove(ctx, ".archcore/lone.adr.md"); err != nil || answer.Value("relations_removed") != 0 {
		t.Errorf("%v, %v", answer, err)
	}
}

// TestSearchEndsWithItsCaller ends the context of a search at each question.
func TestSearchEndsWithItsCaller(t *testing.T) {
	b := open(t, project(t, linkedFiles()))
	req := documents.SearchRequest{Content: "one"}
	want := find(t, b, req)
	ended := 0
	for n := 1; ; n++ {
		ctx := arctest.NewCountdown(t.Context(), n)
		answer, err := b.Search(ctx, req)
		if !ctx.Ended() {
			if err != nil || !slices.Equal(paths(answer), want) {
				t.Errorf("%v, %v", answer, err)
			}
			break
		}
		if err == nil || !errors.Is(err, context.Canceled) {
			t.Errorf("question %d: %v", n, err)
		}
		ended++
	}
	if ended < 2 {
		t.Errorf("only %d questions", ended)
	}
}
