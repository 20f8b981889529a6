package export_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/resolve"
)

// failing is a ledger whose database fails when f says so.
func failing(t *testing.T, f **arctest.Fault) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.duckdb"), ledger.Options{Fault: func(op string) error {
		if *f == nil {
			return nil
		}
		return (*f).Ask(op)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	rec := func(id, name string) *canon.Object { return canon.Obj("id", id, "name", name) }
	others := make([]*canon.Object, 99) // a list that is kept beside its run
	for i := range others {
		others[i] = rec(fmt.Sprint("o", i), fmt.Sprintf("Zq%dvar Mills", i))
	}
	if _, err := l.Compare(t.Context(), resolve.Request{
		A:      append([]*canon.Object{rec("s1", "Kijani Tea Exporters Ltd"), rec("s2", "Central Cooperative Society")}, others...),
		B:      []*canon.Object{rec("r1", "Kijani Tea Exporters Limited"), rec("r2", "Central Cooperative Society")},
		Entity: "organisation", Threshold: resolve.DefaultThreshold,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), []ledger.Draft{
		{Kind: "scan.recorded", Subject: "scan:1", Body: canon.Obj("statute", "x", "counts", canon.Obj("PERSON", 1))},
		{
			Kind: "document.written", Subject: "doc:a.adr.md", Body: canon.Obj("address", ledger.ContentAddress("doc", []byte("x")), "type", "adr", "size", 1),
			Blobs: []ledger.Blob{{Address: ledger.ContentAddress("doc", []byte("x")), Bytes: []byte("x")}},
		},
	}); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestFailedExportIsNone fails every statement that an export asks of the
// ledger, and ends its context at each question: no folder passes for an export,
// and the ledger goes on.
func TestFailedExportIsNone(t *testing.T) {
	var f *arctest.Fault
	l := failing(t, &f)
	check := func(t *testing.T, dir, how string, failed error) {
		t.Helper()
		if left := contents(t, dir); failed != nil && left != nil {
			t.Errorf("%s: told %v, and left %v", how, failed, left)
		}
		r, err := export.Verify(t.Context(), dir, key(t, 1).Public())
		if whole := err == nil && r.OK(); whole != (failed == nil) {
			t.Errorf("%s: told %v, and it verifies: %v", how, failed, whole)
		}
	}
	statements, ends := 0, 0
	for _, x := range [][2]string{{"cases", "html"}, {"decisions", "jsonl"}, {"decisions", "prov"}} {
		t.Run(x[0]+" "+x[1], func(t *testing.T) {
			for n := 1; ; n++ {
				next := &arctest.Fault{N: n, Err: errors.New("IO Error: Input/output error"), Match: func(op string) bool { return !arctest.OfFiles(op) }}
				dir := filepath.Join(t.TempDir(), "x")
				f = next
				_, err := export.Write(t.Context(), l, request(x[0], x[1], dir, t))
				f = nil
				if next.Hit == "" {
					if err != nil {
						t.Error(err)
					}
					break
				}
				statements++
				check(t, dir, next.String(), err)
			}
			for n := 1; ; n += 1 + n/2 {
				ctx := arctest.NewCountdown(t.Context(), n)
				dir := filepath.Join(t.TempDir(), "x")
				_, err := export.Write(ctx, l, request(x[0], x[1], dir, t))
				if !ctx.Ended() || err == nil {
					break
				}
				ends++
				check(t, dir, "ended", err)
			}
		})
	}
	if statements < 12 || ends < 9 {
		t.Errorf("%d statements were failed, %d contexts ended", statements, ends)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestPlacesThatCannotBe: where an export or a table cannot be written is told
// with its name, and nothing is left.
func TestPlacesThatCannotBe(t *testing.T) {
	l := work(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Write(t.Context(), l, request("cases", "csv", filepath.Join(file, "x"), t)); !fault.Is(err, fault.Invalid) {
		t.Errorf("below a file: %v", err)
	}
	if _, err := export.Write(t.Context(), l, request("cases", "csv", dir, t)); !fault.Is(err, fault.Refused) {
		t.Errorf("a folder with something in it: %v", err)
	}
	for _, at := range []string{filepath.Join(dir, "none", "t.csv"), filepath.Join(file, "t.csv")} {
		if err := export.ReplaceFile(at, func(w io.Writer) error { return nil }); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", at, err)
		}
	}
	full := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := export.ReplaceFile(full, func(w io.Writer) error { return nil }); !fault.Is(err, fault.Invalid) {
		t.Errorf("over a folder: %v", err)
	}
	mine := errors.New("mine")
	if err := export.ReplaceFile(filepath.Join(dir, "y"), func(io.Writer) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
	for _, of := range []string{filepath.Join(dir, "nowhere"), file} {
		if _, err := export.Verify(t.Context(), of, nil); err == nil {
			t.Errorf("%s is an export", of)
		}
	}
	if _, err := export.Verify(t.Context(), full, nil); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), export.ManifestName) {
		t.Errorf("a folder without a manifest: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
}
