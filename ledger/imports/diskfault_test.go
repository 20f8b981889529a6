package imports_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/ledger/imports"
)

// TestFailedImportIsNoneOrWhole fails the changes of files and the statements of
// an import in turn: there is no ledger or the whole one, the next import works,
// and nothing of the failed one lies beside it.
func TestFailedImportIsNoneOrWhole(t *testing.T) {
	l := small(t)
	_, seq, link, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	events := exported(t, l, nil)
	rows, _ := exportDecisions(t, l, "jsonl", false)
	for _, c := range []struct {
		name   string
		stride int
		do     func(ctx context.Context, path string, o ledger.Options) error
	}{
		{"events", 15, func(ctx context.Context, path string, o ledger.Options) error {
			_, err := imports.Events(ctx, events, nil, path, o)
			return err
		}},
		{"decisions", 31, func(ctx context.Context, path string, o ledger.Options) error {
			_, err := imports.Decisions(ctx, rows, nil, path, o)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			none, whole := 0, 0
			hits := arctest.Sweep(t, c.stride, arctest.OfFiles, func(f *arctest.Fault) {
				path := filepath.Join(t.TempDir(), "l.duckdb")
				failed := c.do(t.Context(), path, ledger.Options{Fault: f.Ask})
				_, err := os.Stat(path)
				switch there := !errors.Is(err, os.ErrNotExist); {
				case failed == nil && !there:
					t.Errorf("%v: told as done", f)
				case there:
					whole++
				default:
					none++
				}
				if failed != nil && !errors.Is(failed, f.Err) && fault.As(failed) == nil {
					t.Errorf("%v: told as %v", f, failed)
				}
				if left := besides(t, path, ".install", ".install.head"); len(left) > 0 && !f.Onward && f.Hit != "file.remove" {
					t.Errorf("%v: left %v", f, left)
				}
				if failed == nil {
					return
				}
				if err := c.do(t.Context(), path, ledger.Options{}); err != nil && (c.name != "events" || !strings.Contains(err.Error(), "exists already")) {
					t.Errorf("%v: the next import: %v", f, err)
				}
				again := reopen(t, path)
				defer again.Close()
				if _, s, k, err := again.Head(t.Context()); err != nil || s != seq || k != link {
					t.Errorf("%v: the head is %d %s, %v", f, s, k, err)
				}
				if left := besides(t, path); len(left) > 0 && !f.Onward && f.Hit != "file.remove" {
					t.Errorf("%v: left %v in the end", f, left)
				}
			})
			if hits < 3 || none < 1 {
				t.Errorf("%d operations were failed: %d times nothing was there, %d times all", hits, none, whole)
			}
		})
	}
}

// besides is what lies beside a ledger file but what belongs to it.
func besides(t *testing.T, path string, also ...string) []string {
	t.Helper()
	also = append(also, "", ".wal", ".head", ".lock", ".queue")
	return slices.DeleteFunc(entries(t, filepath.Dir(path)), func(name string) bool {
		rest, ok := strings.CutPrefix(name, filepath.Base(path))
		return ok && slices.Contains(also, rest)
	})
}

// TestImportingEndsAtAnyMoment ends the context of an import at some of its
// questions: nothing is there, or all.
func TestImportingEndsAtAnyMoment(t *testing.T) {
	l := small(t)
	events := exported(t, l, nil)
	table, _ := exportDecisions(t, l, "parquet", false)
	ends := 0
	for title, do := range map[string]func(ctx context.Context, path string) error{
		"events": func(ctx context.Context, path string) error {
			_, err := imports.Events(ctx, events, nil, path, ledger.Options{})
			return err
		},
		"parquet": func(ctx context.Context, path string) error {
			_, err := imports.Decisions(ctx, table, nil, path, ledger.Options{})
			return err
		},
	} {
		for n := 1; ; n += 1 + n {
			ctx := arctest.NewCountdown(t.Context(), n)
			path := filepath.Join(t.TempDir(), "l.duckdb")
			err := do(ctx, path)
			if !ctx.Ended() {
				if err != nil {
					t.Errorf("%s: %v", title, err)
				}
				break
			}
			ends++
			if _, there := os.Stat(path); (there == nil) != (err == nil) {
				t.Errorf("%s, ended at %d: told %v, and it is there: %v", title, n, err, there == nil)
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s, ended at %d: told as %v", title, n, err)
			}
			if left := besides(t, path); len(left) > 0 {
				t.Errorf("%s, ended at %d: left %v", title, n, left)
			}
		}
	}
	if ends < 6 {
		t.Errorf("only %d ends", ends)
	}
}

// TestWhereNoLedgerCanBe: a folder that is not there, a file that is no ledger and
// one that is not readable are told, and stay as they are.
func TestWhereNoLedgerCanBe(t *testing.T) {
	dir, _ := exportDecisions(t, small(t), "jsonl", false)
	at := t.TempDir()
	if _, err := imports.Decisions(t.Context(), dir, nil, filepath.Join(at, "none", "l.duckdb"), ledger.Options{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no folder: %v", err)
	}
	text := filepath.Join(at, "text.duckdb")
	if err := os.WriteFile(text, []byte(strings.Repeat("no ledger ", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := imports.Decisions(t.Context(), dir, nil, text, ledger.Options{}); fault.As(err) == nil {
		t.Errorf("a file that is no ledger: %v", err)
	}
	if data, err := os.ReadFile(text); err != nil || len(data) != 20_000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	nowhere, link := filepath.Join(at, "nowhere.duckdb"), filepath.Join(at, "link.duckdb")
	if err := os.Symlink(nowhere, link); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(at, "foreign.duckdb")
	if err := os.WriteFile(duck.LogPath(foreign), []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, foreign} {
		if _, err := imports.Decisions(t.Context(), dir, nil, path, ledger.Options{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	for _, path := range []string{nowhere, foreign} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	if data, err := os.ReadFile(duck.LogPath(foreign)); err != nil || string(data) != "another's" {
		t.Errorf("the log of another: %q, %v", data, err)
	}
	empty, _ := exportDecisions(t, fresh(t), "jsonl", false)
	if _, err := imports.Decisions(t.Context(), empty, nil, filepath.Join(at, "l.duckdb"), ledger.Options{}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "empty ledger") {
		t.Errorf("an export of nothing: %v", err)
	}
	other := fresh(t)
	if _, err := other.Compare(t.Context(), lists(1)); err != nil { // shorter than the export
		t.Fatal(err)
	}
	if _, err := imports.Decisions(t.Context(), dir, nil, other.File(), ledger.Options{}); !fault.Is(err, fault.Refused) {
		t.Errorf("another ledger: %v", err)
	}
}

// TestManifestsOfOtherDecisions: a sealed export whose manifest promises what no
// ledger can be made of is refused before anything is read.
func TestManifestsOfOtherDecisions(t *testing.T) {
	whole, _ := exportDecisions(t, small(t), "jsonl", false)
	for want, forge := range map[string]func(m *export.Manifest){
		"of log 'other'; a ledger file holds the log main": func(m *export.Manifest) { m.Head.Log = "other" },
		"no column 'note' of type VARCHAR here": func(m *export.Manifest) {
			m.Columns = append(m.Columns, export.Column{Name: "note", Type: export.Text})
		},
		"no column 'verb' of type JSON here":                           func(m *export.Manifest) { m.Columns[4].Type = export.JSON },
		"lacks columns that decisions have, or has them in another":    func(m *export.Manifest) { m.Columns = m.Columns[1:] },
		"lacks columns that decisions have":                            func(m *export.Manifest) { slices.Reverse(m.Columns) },
		"decisions.log.jsonl, row 1: the column contents is not":       func(m *export.Manifest) { m.Filter.Reveal, m.Columns = true, export.RevealedColumns("decisions") },
		"the export holds rows without the log that they are imported": func(m *export.Manifest) { m.Files = m.Files[:len(m.Files)-1] },
		"do not end in the link that the export names":                 func(m *export.Manifest) { m.Head.Link = strings.Repeat("0", 64) },
	} {
		dir := copied(t, whole)
		if strings.Contains(want, "rows without") {
			if err := os.Remove(filepath.Join(dir, "decisions.log.jsonl")); err != nil {
				t.Fatal(err)
			}
			change(t, dir, "", nil, func(m *export.Manifest) {
				m.Files = slices.DeleteFunc(m.Files, func(f export.File) bool { return f.Name == "decisions.log.jsonl" })
			})
		} else {
			change(t, dir, "", nil, forge)
		}
		path := filepath.Join(t.TempDir(), "l.duckdb")
		if _, err := imports.Decisions(t.Context(), dir, nil, path, ledger.Options{}); fault.As(err) == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if left := besides(t, path); len(left) > 0 {
			t.Errorf("%q: left %v", want, left)
		}
	}
}

// TestForgedParquet: a table with other columns than its manifest says is refused,
// and so is one whose rows are not what the log gives.
func TestForgedParquet(t *testing.T) {
	whole, _ := exportDecisions(t, small(t), "parquet", false)
	db, err := duck.OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct{ want, name, query string }{
		{"decisions.parquet: no column 'note' is known", "decisions", "SELECT *, 1 AS note FROM %s"},
		{"decisions.parquet can't be read as Parquet", "decisions", "SELECT * EXCLUDE (verb) FROM %s"},
		{"decisions.parquet, row 1, column live: no BOOLEAN", "decisions", "SELECT * REPLACE (7 AS live) FROM %s"},
		{"decisions.parquet, row 1, column live: not what the log gives", "decisions", "SELECT * REPLACE (NOT live AS live) FROM %s"},
		{"decisions.log.parquet: no column 'note' is known", "decisions.log", "SELECT *, 1 AS note FROM %s"},
	} {
		dir := copied(t, whole)
		path := filepath.Join(dir, c.name+".parquet")
		made := filepath.Join(t.TempDir(), "t.parquet")
		query := fmt.Sprintf(c.query, "read_parquet("+duck.Quote(path)+")")
		if _, err := db.ExecContext(t.Context(), "COPY ("+query+") TO "+duck.Quote(made)+" (FORMAT parquet)"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(made, path); err != nil {
			t.Fatal(err)
		}
		change(t, dir, "", nil, nil)
		to := filepath.Join(t.TempDir(), "l.duckdb")
		if _, err := imports.Decisions(t.Context(), dir, nil, to, ledger.Options{}); fault.As(err) == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
		if left := besides(t, to); len(left) > 0 {
			t.Errorf("%q: left %v", c.want, left)
		}
	}
	// The same rows in other bytes, as another version of the database writes them.
	dir := copied(t, whole)
	for _, name := range []string{"decisions", "decisions.log", "decisions.lists"} {
		path, made := filepath.Join(dir, name+".parquet"), filepath.Join(t.TempDir(), "t.parquet")
		if _, err := db.ExecContext(t.Context(), "COPY (FROM read_parquet("+duck.Quote(path)+")) TO "+duck.Quote(made)+" (FORMAT parquet, COMPRESSION uncompressed)"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(made, path); err != nil {
			t.Fatal(err)
		}
	}
	change(t, dir, "", nil, nil)
	if cmp.Equal(read(t, whole).Files, read(t, dir).Files) {
		t.Fatal("the bytes are the same")
	}
	info, err := imports.Decisions(t.Context(), dir, nil, filepath.Join(t.TempDir(), "l.duckdb"), ledger.Options{})
	if err != nil || info.Decisions != read(t, whole).Count {
		t.Errorf("%+v, %v", info, err)
	}
}
