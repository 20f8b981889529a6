package documents_test

import (
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

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/ledger/duck"
)

// TestManifestLimits: one entry more than is taken is told with both numbers.
func TestManifestLimits(t *testing.T) {
	entries := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	hash := strings.Repeat("0", 64)
	const rel = `{"source":"%d.md","target":"x.md","type":"related"}`
	for _, c := range []struct {
		text, want string
	}{
		{`{"version":1,"files":{` + entries(10_001, `"%d.md":"`+hash+`"`) + `}}`, "invalid manifest: too many file entries (10001, max 10000)"},
		{`{"version":1,"files":{` + entries(10_000, `"%d.md":"`+hash+`"`) + `}}`, ""},
		{`{"version":1,"relations":[` + entries(50_001, rel) + `]}`, "invalid manifest: too many relations (50001, max 50000)"},
		{`{"version":1,"relations":[` + entries(50_000, rel) + `]}`, ""},
		{`{"version":99999999999999999999}`, "invalid manifest: version has wrong type (expected integer)"},
		{`null`, "invalid manifest: unsupported version 0 (expected 1)"},
		{`{"version":1,"files":{"a.md":null,"b.md":7}}`, `invalid manifest: null hash in file entry "a.md"; invalid JSON: hash of file entry "b.md" must be text`},
		{`{"version":1,"files":null,"relations":{}}`, "invalid manifest: relations must be an array"},
		{`{"version":1,"files":{"a.md":"00"}}`, `invalid manifest: file "a.md": hash is not valid SHA-256 (expected 64 lowercase hex chars)`},
		{`{"version":2}`, "invalid manifest: unsupported version 2 (expected 1)"},
		{`{"version":1,"files":{"a//b.md":"","../x.md":"` + hash + `","/y.md":"` + strings.Repeat("g", 64) + `"}}`,
			`invalid manifest: file "../x.md": invalid path "../x.md": must be relative and within .archcore/; file "/y.md": invalid path "/y.md": must be relative and within .archcore/; ` +
				`file "/y.md": hash is not valid SHA-256 (expected 64 lowercase hex chars); file "a//b.md": contains empty path segment (//); file "a//b.md": hash is empty`},
		{`{"version":1,"relations":[{"source":"a.md","target":"a.md","type":"related"},{"source":"..","target":"","type":"x"},{"source":"a.md","target":"b.md","type":"related"},{"source":"a.md","target":"b.md","type":"related"}]}`,
			`invalid manifest: relation[0]: source and target are the same ("a.md"); relation[1]: invalid type "x"; relation[1]: source invalid path "..": must be relative and within .archcore/; ` +
				`relation[1]: target invalid path "": must be relative and within .archcore/; relation[3]: duplicate relation`},
	} {
		_, _, err := documents.Manifest([]byte(c.text))
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%.80s: %v, want %s", c.text, err, c.want)
		}
	}
	root := project(t, linkedFiles())
	put(t, root, ".sync-state.json", `{"version":1,"files":{},"relations":[`+entries(50_000, rel)+`]}`)
	b := openWith(t, root, memoryWith(t, ledger.Options{Fault: func(string) error { return errors.New("IO Error: it is not there") }}))
	if _, err := b.AddRelation(t.Context(), documents.RelationRequest{Source: "a.adr.md", Target: "b.adr.md", Type: "related"}); !fault.Is(err, fault.Limit) || !strings.Contains(err.Error(), "too many relations (50001, max 50000)") {
		t.Errorf("one relation too many: %v", err)
	}
}

// TestBrokenFilesAreTold: an invalid manifest or settings file stops what needs
// it, with the reason, and nothing else.
func TestBrokenFilesAreTold(t *testing.T) {
	ctx := t.Context()
	root := project(t, linkedFiles())
	put(t, root, ".sync-state.json", "")
	b := open(t, root)
	const reason = "invalid manifest: manifest file is empty (0 bytes)"
	for name, want := range map[string]string{"get": "loading manifest: " + reason, "search": "loading manifest: " + reason, "relations": "loading manifest: " + reason, "graph": "loading manifest: " + reason} {
		if err := readings[name](ctx, b); !fault.Is(err, fault.Damaged) || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, name := range []string{"relate", "unrelate"} {
		if err := everyWrite[name](ctx, b); !fault.Is(err, fault.Damaged) || err.Error() != "updating manifest: "+reason {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := everyWrite["remove"](ctx, b); err == nil || err.Error() != "file deleted but failed to update manifest: "+reason {
		t.Errorf("remove: %v", err)
	}
	if rows := list(t, b, documents.ListRequest{}); len(rows) != 2 {
		t.Errorf("rows %v", rows)
	}
	if got := codes(t, b); !slices.Equal(got, []string{"invalid_manifest .archcore/.sync-state.json"}) {
		t.Errorf("findings %v", got)
	}
	if err := os.Remove(filepath.Join(root, ".archcore", ".sync-state.json")); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"{}": `existing settings unreadable: invalid settings: missing required field "sync"`,
		"{" + strings.Repeat(" ", 1<<20) + `"sync":"none"}`: "existing settings unreadable: file system error"} {
		put(t, root, "settings.json", text)
		if _, err := b.Init(ctx, documents.InitRequest{}); !fault.Is(err, fault.Refused) || err.Error() != want {
			t.Errorf("init: %v, want %s", err, want)
		}
		if _, err := b.EnsureInitialised(ctx); err == nil || !strings.HasPrefix(err.Error(), "installing host config: existing .archcore/ settings unreadable") {
			t.Errorf("wiring: %v", err)
		}
		for name, call := range map[string]func() error{
			"create": func() error { return everyWrite["create"](ctx, b) }, "relate": func() error { return everyWrite["relate"](ctx, b) },
			"update": func() error {
				return drop(b.Update(ctx, documents.UpdateRequest{Path: ".archcore/b.adr.md", Title: "T"}))
			},
			"remove":  func() error { return drop(b.Remove(ctx, ".archcore/b.adr.md")) },
			"restore": func() error { return drop(b.Restore(ctx, "b.adr.md", "#1")) },
		} {
			if err := call(); !fault.Is(err, fault.Invalid) || err.Error() != "cannot verify global sources: settings.json is unreadable" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := codes(t, b); !slices.Equal(got, []string{"invalid_settings .archcore/settings.json"}) {
			t.Errorf("findings %v", got)
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
