package documents_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
)

// ofLooks takes the readings of the disk.
func ofLooks(op string) bool { return strings.HasPrefix(op, "look.") }

// failedLook is the n-th reading of the disk that fails, in one of two ways.
func failedLook(n int) *arctest.Fault {
	return &arctest.Fault{N: n, Err: []error{syscall.EIO, syscall.EACCES}[n%2], Match: ofLooks}
}

// told: an error that comes of the disk has a text for clients, which names no
// place of this machine.
func told(t *testing.T, what string, f *arctest.Fault, err error, root string) {
	t.Helper()
	if err == nil {
		return
	}
	if x := fault.As(err); x == nil || x.Kind == fault.Internal || strings.Contains(err.Error(), root) {
		t.Errorf("%s, %v: %v", what, f, err)
	}
}

// noneRemoved: nothing that is on the disk was recorded as removed.
func (w *world) noneRemoved(ctx context.Context, what string, f *arctest.Fault) {
	w.t.Helper()
	for e, err := range w.log.Events(ctx, ledger.Filter{Kinds: []string{"document.removed", "relation.removed"}}) {
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Errorf("%s, %v: recorded %s of %s", what, f, e.Kind(), e.Subject())
	}
}

// TestReadersMeetABadDisk fails each reading of the disk that a call makes: it
// answers as ever or with an error for clients, what cannot be read now is not
// taken for removed, and the next call of the same program works.
func TestReadersMeetABadDisk(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hits := 0
	for _, name := range slices.Sorted(maps.Keys(readings)) {
		w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
		for n := 1; ; n += 1 + n/8 {
			w.reopen()
			f := failedLook(n)
			documents.SetFault(w.base, f.Ask)
			told(t, name, f, readings[name](ctx, w.base), w.root)
			documents.SetFault(w.base, nil)
			if f.Hit == "" {
				break
			}
			hits++
			if err := readings[name](ctx, w.base); err != nil {
				t.Errorf("%s after %v: %v", name, f, err)
			}
			list, err := w.base.List(ctx, documents.ListRequest{Status: "draft"})
			if err != nil || len(paths(list)) != 3 {
				t.Errorf("%s after %v: %v %v", name, f, paths(list), err)
			}
		}
		w.noneRemoved(ctx, name, nil)
		w.check(ctx)
	}
	if hits < 150 {
		t.Errorf("only %d readings were failed", hits)
	}
}

// TestWritersMeetABadDisk fails each reading that a write makes: the old or the
// new state is there, the new one when it was acknowledged, and nothing else was
// recorded as removed.
func TestWritersMeetABadDisk(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	logs := &logs{t: t}
	hits := 0
	for _, name := range slices.Sorted(maps.Keys(everyWrite)) {
		var old []string
		done := doneBy(ctx, t, logs.next(), everyWrite[name])
		for n := 1; ; n += 1 + n/3 {
			w := &world{t: t, root: project(t, linkedFiles()), log: logs.next()}
			w.reopen()
			if n%2 == 0 {
				w.check(ctx)
			}
			if old == nil {
				old = foldDisk(t, w.root)
			}
			first := w.events(ctx)
			f := failedLook(n)
			documents.SetFault(w.base, f.Ask)
			err := everyWrite[name](ctx, w.base)
			documents.SetFault(w.base, nil)
			told(t, name, f, err, w.root)
			found := foldDisk(t, w.root)
			if f.Hit == "" {
				if err != nil || slices.Equal(found, old) {
					t.Errorf("%s: %v, %v", name, err, found)
				}
				break
			}
			hits++
			if !slices.Equal(found, done) && (err == nil || !slices.Equal(found, old)) {
				t.Errorf("%s, %v: told %v\n%s", name, f, err, cmp.Diff(old, found))
			}
			w.check(ctx)
			for e, err := range w.log.Events(ctx, ledger.Filter{After: first, Kinds: []string{"document.removed", "relation.removed"}}) {
				if err != nil || slices.Equal(found, old) || name != "remove" && name != "unrelate" {
					t.Errorf("%s, %v: recorded %s of %s (%v)", name, f, e.Kind(), e.Subject(), err)
				}
			}
		}
	}
	if hits < 40 {
		t.Errorf("only %d readings were failed", hits)
	}
}

// doneBy is what a write makes of the linked documents.
func doneBy(ctx context.Context, t *testing.T, l *ledger.Ledger, write func(context.Context, *documents.Base) error) []string {
	t.Helper()
	w := &world{t: t, root: project(t, linkedFiles()), log: l}
	w.reopen()
	if err := write(ctx, w.base); err != nil {
		t.Fatal(err)
	}
	return foldDisk(t, w.root)
}

// settledBase is a project whose files are old enough for their stamps to be
// trusted.
func settledBase(t *testing.T, root string) *documents.Base {
	t.Helper()
	return settledBaseOn(t, root, anyLog(t))
}

func settledBaseOn(t *testing.T, root string, l *ledger.Ledger) *documents.Base {
	t.Helper()
	b, err := documents.Open(documents.Options{Root: root, Ledger: l,
		Clock: func() time.Time { return time.Now().Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// failing fails every operation of the disk that has a name, until told to stop.
func failOps(b *documents.Base, err error, ops ...string) (stop func()) {
	documents.SetFault(b, func(op string) error {
		if slices.Contains(ops, op) {
			return err
		}
		return nil
	})
	return func() { documents.SetFault(b, nil) }
}

func list(t *testing.T, b *documents.Base, req documents.ListRequest) []string {
	t.Helper()
	answer, err := b.List(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return paths(answer)
}

func find(t *testing.T, b *documents.Base, req documents.SearchRequest) []string {
	t.Helper()
	answer, err := b.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return paths(answer)
}

func codes(t *testing.T, b *documents.Base) (out []string) {
	t.Helper()
	findings, err := documents.Diagnose(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Message == "" || f.Hint == "" {
			t.Errorf("%s says nothing", f.Code)
		}
		out = append(out, strings.TrimSpace(f.Code+" "+f.Path))
	}
	return out
}

// TestUnreadableForAMoment: a document that cannot be read is a row of its name
// and told as such, and is whole again when it can be, though nothing about the
// file changed meanwhile.
func TestUnreadableForAMoment(t *testing.T) {
	b := settledBase(t, project(t, linkedFiles()))
	stop := failOps(b, syscall.EIO, "look.open a.adr.md")
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 3 {
		t.Errorf("rows %v", rows)
	}
	if rows := list(t, b, documents.ListRequest{Status: "draft"}); len(rows) != 2 {
		t.Errorf("rows with a status: %v", rows)
	}
	if got := codes(t, b); !slices.Contains(got, "unreadable .archcore/a.adr.md") {
		t.Errorf("findings %v", got)
	}
	if rows := find(t, b, documents.SearchRequest{Content: "one"}); len(rows) != 0 {
		t.Errorf("found %v", rows)
	}
	stop()
	if rows := list(t, b, documents.ListRequest{Status: "draft"}); len(rows) != 3 {
		t.Errorf("rows with a status afterwards: %v", rows)
	}
	if rows := find(t, b, documents.SearchRequest{Content: "one"}); len(rows) != 1 {
		t.Errorf("found afterwards: %v", rows)
	}
	if got := codes(t, b); len(got) != 0 {
		t.Errorf("findings afterwards: %v", got)
	}
}

// TestUnsearchableForAMoment: a document whose text cannot be read while a
// search looks at it is found by the next one.
func TestUnsearchableForAMoment(t *testing.T) {
	for _, op := range []string{"look.open a.adr.md", "look.bytes a.adr.md"} {
		b := settledBase(t, project(t, linkedFiles()))
		if rows := list(t, b, documents.ListRequest{}); len(rows) != 3 {
			t.Fatalf("rows %v", rows)
		}
		for _, req := range []documents.SearchRequest{{Content: "one"}, {Content: "one\n", Match: "exact"}, {PathRef: "src/x"}} {
			stop := failOps(b, syscall.EIO, op)
			if rows := find(t, b, req); len(rows) != 0 {
				t.Errorf("%s: %+v found %v", op, req, rows)
			}
			stop()
		}
		if rows := find(t, b, documents.SearchRequest{Content: "one"}); len(rows) != 1 {
			t.Errorf("%s: found afterwards %v", op, rows)
		}
		stop := failOps(b, syscall.EIO, op)
		answer, err := b.Search(t.Context(), documents.SearchRequest{Content: "one", Mode: "full"})
		if err != nil || len(paths(answer)) != 1 {
			t.Fatalf("%s: %v %v", op, answer, err)
		}
		row := answer.Value("results").([]any)[0].(*canon.Object)
		if row.Has("body") || row.Value("title") != "A" {
			t.Errorf("%s: row %v", op, row)
		}
		stop()
	}
}

// TestFolderThatCannotBeEntered: the documents below it stay what they were, and
// the answer is an error and not a short list.
func TestFolderThatCannotBeEntered(t *testing.T) {
	ctx := t.Context()
	files := linkedFiles()
	files["deep/er/x.adr.md"] = "x\n"
	w := &world{t: t, root: project(t, files), log: memory(t)}
	w.reopen()
	w.check(ctx)
	for _, op := range []string{"look.open deep", "look.open er", "look.entry x.adr.md"} {
		for _, err := range []error{syscall.EACCES, syscall.EIO} {
			stop := failOps(w.base, err, op)
			_, got := w.base.List(ctx, documents.ListRequest{})
			want := "scanning documents: " + map[error]string{syscall.EACCES: "permission denied", syscall.EIO: "file system error"}[err]
			if fault.As(got) == nil || got.Error() != want {
				t.Errorf("%s %v: %v, want %s", op, err, got, want)
			}
			if _, got = w.base.Search(ctx, documents.SearchRequest{Content: "x"}); got == nil || got.Error() != want {
				t.Errorf("%s %v: search %v, want %s", op, err, got, want)
			}
			if got := codes(t, w.base); !slices.Contains(got, "unusable_source") {
				t.Errorf("%s %v: findings %v", op, err, got)
			}
			stop()
		}
	}
	w.check(ctx)
	w.noneRemoved(ctx, "a folder that cannot be entered", nil)
}

// TestRemovalMeetsABadDisk: relations whose ends cannot be looked at are not
// taken away with those whose ends are gone.
func TestRemovalMeetsABadDisk(t *testing.T) {
	files := linkedFiles()
	files[".hidden/h.adr.md"] = "h\n"
	files[".sync-state.json"] = `{"version":1,"files":{},"relations":[` +
		`{"source":"a.adr.md","target":"b.adr.md","type":"related"},` +
		`{"source":"c.adr.md","target":".hidden/h.adr.md","type":"related"},` +
		`{"source":"c.adr.md","target":"gone.adr.md","type":"related"}]}`
	root := project(t, files)
	b := open(t, root)
	stop := failOps(b, syscall.EIO, "look.stat .hidden/h.adr.md")
	answer, err := b.Remove(t.Context(), ".archcore/a.adr.md")
	stop()
	if err != nil || answer.Value("relations_removed") != 1 {
		t.Fatalf("%v, %v", answer, err)
	}
	if text := slurp(t, root, ".sync-state.json"); !strings.Contains(text, ".hidden/h.adr.md") || strings.Contains(text, "gone.adr.md") || strings.Contains(text, "a.adr.md\"") {
		t.Errorf("the manifest is %s", text)
	}
}

// TestHiddenDocuments: a document in a hidden folder is not listed, and stays in
// the history until it is really gone.
func TestHiddenDocuments(t *testing.T) {
	ctx := t.Context()
	w := &world{t: t, root: project(t, linkedFiles()), log: memory(t)}
	w.reopen()
	answer, err := w.base.Create(ctx, documents.CreateRequest{Type: "adr", Filename: "own", Directory: ".archcore/x", Content: "own\n"})
	if err != nil || answer.Value("path") != ".archcore/.archcore/x/own.adr.md" || !answer.Has("warnings") {
		t.Fatalf("%v, %v", answer, err)
	}
	const p = ".archcore/x/own.adr.md"
	last := func() documents.Version {
		t.Helper()
		if rows := list(t, w.base, documents.ListRequest{}); len(rows) != 3 {
			t.Errorf("rows %v", rows)
		}
		all, err := w.base.Versions(ctx, ".archcore/"+p)
		if err != nil {
			t.Fatal(err)
		}
		return all[len(all)-1]
	}
	if v := last(); v.Removed || v.Tool != "create_document" {
		t.Errorf("%+v", v)
	}
	put(t, w.root, "b.adr.md", "changed\n") // so that there is something to be told
	stop := failOps(w.base, syscall.EIO, "look.bytes "+p)
	if v := last(); v.Removed {
		t.Errorf("recorded as removed when it could not be read: %+v", v)
	}
	stop()
	if err := os.Remove(filepath.Join(w.root, ".archcore", filepath.FromSlash(p))); err != nil {
		t.Fatal(err)
	}
	put(t, w.root, "b.adr.md", "changed again\n")
	if v := last(); !v.Removed || v.Actor != "filesystem" {
		t.Errorf("not recorded as removed: %+v", v)
	}
}

// TestLockThatCannotBeHad: readers go on without the ledger's being told, writes
// say who is in the way, and nothing is changed.
func TestLockThatCannotBeHad(t *testing.T) {
	root := project(t, linkedFiles())
	other := open(t, root)
	release := documents.HoldLock(t.Context(), t, other)
	b := open(t, root)
	documents.SetPatience(b, 5*time.Millisecond)
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 3 {
		t.Errorf("rows %v", rows)
	}
	if got := codes(t, b); !slices.Contains(got, "ledger_behind") {
		t.Errorf("findings %v", got)
	}
	before := foldDisk(t, root)
	if err := everyWrite["update"](t.Context(), b); !fault.Is(err, fault.Busy) {
		t.Errorf("update: %v", err)
	}
	if _, err := b.Versions(t.Context(), "a.adr.md"); !fault.Is(err, fault.Busy) {
		t.Errorf("versions: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func(context.Context, *documents.Base) error{"update": everyWrite["update"], "list": readings["list"], "hosts": readings["hosts"]} {
		if err := call(ended, b); err != context.Canceled { //nolint:errorlint // it is this very error
			t.Errorf("%s of a caller that left: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, foldDisk(t, root)); diff != "" {
		t.Error(diff)
	}
	release()
	if err := everyWrite["update"](t.Context(), b); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	stop := failOps(b, syscall.EIO, "look.lock ")
	if err := everyWrite["remove"](t.Context(), b); fault.As(err) == nil || err.Error() != "locking .archcore/.ledger: file system error" {
		t.Errorf("a lock that cannot be opened: %v", err)
	}
	stop()
}
