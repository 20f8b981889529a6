package export_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/resolve"
)

// batch is a ledger with a run whose lists are kept beside it, and a document.
func batch(t *testing.T) *ledger.Ledger {
	t.Helper()
	l := work(t)
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold, IDField: "id"}
	for i := range 101 { // more than a run keeps in its own body
		req.A = append(req.A, canon.Obj("id", fmt.Sprintf("a%d", i), "name", fmt.Sprintf("Zq%dvar Mills Ltd", i)))
	}
	req.B = []*canon.Object{canon.Obj("id", "b3", "name", "Zq3var Mills Limited")}
	if _, err := l.Compare(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return l
}

// contents are the files of a folder, nil when it is not there.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			data = []byte("(" + err.Error() + ")")
		}
		out[e.Name()] = string(data)
	}
	return out
}

// everyChange takes the changes of files and the statements of an export.
func everyChange(op string) bool { return arctest.OfFiles(op) || strings.HasPrefix(op, "files.") }

// TestFailedExportLeavesNothing fails every change of a file and every statement
// of an export in turn: the whole export is there or nothing of it, the error
// names a file, and the same export into the same place works at once.
func TestFailedExportLeavesNothing(t *testing.T) {
	l := batch(t)
	for _, c := range []struct {
		what, format string
		stride       int
	}{
		{"events", "csv", 4}, {"decisions", "jsonl", 13}, {"decisions", "dsse", 31}, {"decisions", "parquet", 19}, {"decisions", "prov", 9}, {"cases", "html", 9},
	} {
		t.Run(c.what+" "+c.format, func(t *testing.T) {
			whole, _ := write(t, l, c.what, c.format)
			want := contents(t, whole)
			n, root := 0, t.TempDir()
			hits := arctest.Sweep(t, c.stride, everyChange, func(f *arctest.Fault) {
				n++
				at := filepath.Join(root, fmt.Sprint(n))
				dir, there := filepath.Join(at, "deep", "x"), n%2 == 0
				if there { // a folder of the caller's stays
					if err := os.MkdirAll(dir, 0o700); err != nil {
						t.Fatal(err)
					}
				}
				req := request(c.what, c.format, dir, t)
				req.Disk = disk.Disk{Fault: f.Ask}
				_, err := export.Write(t.Context(), l, req)
				got := contents(t, dir)
				if err == nil {
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%v: told as done\n%s", f, diff)
					}
					return
				}
				if !errors.Is(err, f.Err) {
					t.Errorf("%v: told as %v", f, err)
				}
				if named := fault.As(err); arctest.OfFiles(f.Hit) && (named == nil || !strings.HasSuffix(named.Message, ": "+f.Err.Error())) {
					t.Errorf("%v: %v names no file", f, err)
				}
				if f.Onward { // nothing can be taken away; what passes is the whole
					if r, err := export.Verify(t.Context(), dir, nil); err == nil && r.OK() && !cmp.Equal(want, got) {
						t.Errorf("%v: a failed export verifies", f)
					}
					return
				}
				if _, err := os.Stat(at); there && (got == nil || len(got) > 0) || !there && !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%v: left %v in %s", f, got, at)
				}
				if n%4 == 1 || os.Getenv("ARCHE_LONG") != "" {
					if _, err := export.Write(t.Context(), l, request(c.what, c.format, dir, t)); err != nil {
						t.Errorf("%v: the next run: %v", f, err)
					}
					if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
						t.Errorf("%v: the next run\n%s", f, diff)
					}
				}
			})
			if hits*c.stride < 25 {
				t.Errorf("only %d changes were failed", hits)
			}
		})
	}
}

// TestRefusedExportTouchesNothing: an export into the folder of another is refused,
// and the other stays as it is, whatever its files are called.
func TestRefusedExportTouchesNothing(t *testing.T) {
	l := work(t)
	dir, _ := write(t, l, "cases", "csv")
	for _, name := range []string{"", "events.csv", "cases.html"} {
		if name != "" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := contents(t, dir)
		for _, x := range [][2]string{{"cases", "csv"}, {"cases", "html"}, {"events", "csv"}} {
			if _, err := export.Write(t.Context(), l, request(x[0], x[1], dir, t)); !fault.Is(err, fault.Refused) {
				t.Errorf("%v: %v", x, err)
			}
			if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
				t.Errorf("%v (-before +after)\n%s", x, diff)
			}
		}
	}
}

// TestFailedTableIsOldOrNew fails every change of a file in writing a table over
// another: the old one is there or the new one, and nothing beside it.
func TestFailedTableIsOldOrNew(t *testing.T) {
	for _, format := range export.TableFormats {
		fresh := filepath.Join(t.TempDir(), "t")
		if _, err := export.WriteTable(t.Context(), fresh, format, columns, rows); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(fresh)
		if err != nil {
			t.Fatal(err)
		}
		olds := 0
		hits := arctest.Sweep(t, 1, everyChange, func(f *arctest.Fault) {
			dir := t.TempDir()
			path := filepath.Join(dir, "t")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			n, err := export.WriteTableOn(t.Context(), disk.Disk{Fault: f.Ask}, path, format, columns, rows)
			got := contents(t, dir)
			switch {
			case got["t"] == string(want):
			case err == nil || got["t"] != "old":
				t.Errorf("%s, %v: %q, told %v", format, f, got["t"], err)
			default:
				olds++
			}
			if err == nil && n != 2 || err != nil && !errors.Is(err, f.Err) {
				t.Errorf("%s, %v: %d rows, %v", format, f, n, err)
			}
			if !f.Onward && len(got) != 1 && f.Hit != "file.remove" {
				t.Errorf("%s, %v: left %v", format, f, got)
			}
		})
		if hits < 5 || olds < 4 {
			t.Errorf("%s: %d changes were failed, the old file stayed %d times", format, hits, olds)
		}
	}
}

// TestRowsThatCannotBeWritten: a value that is no text of JSON ends a table with
// an error in every format, and so does a format that is none.
func TestRowsThatCannotBeWritten(t *testing.T) {
	bad := func(yield func(*canon.Object, error) bool) {
		_ = yield(canon.Obj("id", "x", "evidence", canon.Obj("a", "b")), nil) && yield(canon.Obj("evidence", canon.Obj("a", "\xff")), nil)
	}
	for _, format := range export.TableFormats {
		dir := t.TempDir()
		n, err := export.WriteTable(t.Context(), filepath.Join(dir, "t"), format, columns, bad)
		if err == nil || !strings.Contains(err.Error(), "UTF-8") || n != 1 {
			t.Errorf("%s: %d rows, %v", format, n, err)
		}
		if left := contents(t, dir); len(left) > 0 {
			t.Errorf("%s: left %v", format, left)
		}
	}
	dir := t.TempDir()
	if _, err := export.WriteTable(t.Context(), filepath.Join(dir, "t"), "xls", columns, rows); !fault.Is(err, fault.Invalid) || len(contents(t, dir)) > 0 {
		t.Errorf("a format that is none: %v", err)
	}
	path := filepath.Join(dir, "t.csv")
	odd := []export.Column{{"a", export.JSON}, {"b", export.Text}}
	if _, err := export.WriteTable(t.Context(), path, "csv", odd, func(yield func(*canon.Object, error) bool) {
		yield(canon.Obj("a", "text", "b", "text"), nil)
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, dir)["t.csv"], "a,b\n\"\"\"text\"\"\",text\n"; got != want { // JSON keeps its quotes
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnreadableExportIsTold: what of an export opens and does not read, is too
// large, or is no file, is told with its name and not taken for a difference.
func TestUnreadableExportIsTold(t *testing.T) {
	for _, name := range []string{export.ManifestName, export.SignatureName, export.SumsName, "decisions.csv"} {
		dir := bundle(t, "csv", key(t, 1))
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := export.Verify(t.Context(), dir, nil)
		if !fault.Is(err, fault.Invalid) || !errors.Is(err, syscall.EISDIR) || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s is a folder: %v", name, err)
		}
		if name == "decisions.csv" {
			continue
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for size, large := range map[int64]bool{16 << 20: false, 16<<20 + 1: true} {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
			r, err := export.Verify(t.Context(), dir, nil)
			if large && (!fault.Is(err, fault.Limit) || !strings.HasPrefix(err.Error(), name+" is larger")) || !large && (err != nil || r.OK()) {
				t.Errorf("%s of %d bytes: %v", name, size, err)
			}
		}
	}
}
