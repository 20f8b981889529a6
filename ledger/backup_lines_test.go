package ledger

import (
	"bufio"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// TestLinesComeInChunks: all of a file, in order, no more at a time than asked.
func TestLinesComeInChunks(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 6, 7} {
		path := filepath.Join(t.TempDir(), "lines")
		var b strings.Builder
		for k := range n {
			fmt.Fprintf(&b, "{\"k\":%d}\n", k)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		parse := func(o *canon.Object) ([]driver.Value, bool) {
			k, ok := lineInt(o, "k")
			return []driver.Value{k}, ok
		}
		next, calls := int64(0), 0
		err := eachLine(path, 3, func(rows [][]driver.Value) error {
			if calls++; len(rows) == 0 || len(rows) > 3 {
				t.Errorf("%d lines: %d at a time", n, len(rows))
			}
			for _, row := range rows {
				if row[0] != next {
					t.Errorf("%d lines: %v comes for %d", n, row[0], next)
				}
				next++
			}
			return nil
		}, parse)
		if err != nil || next != int64(n) || calls != (n+2)/3 {
			t.Errorf("%d lines: %d came in %d calls, %v", n, next, calls, err)
		}
		broken := errors.New("broken")
		if err := eachLine(path, 3, func([][]driver.Value) error { return broken }, parse); n > 0 && !errors.Is(err, broken) {
			t.Errorf("%d lines: a failed call: %v", n, err)
		}
	}
	if err := eachLine(filepath.Join(t.TempDir(), "none"), 3, nil, nil); !fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), "none cannot be read") {
		t.Errorf("no file: %v", err)
	}
}

// TestBackupRowsOfOthers: rows that fit their addresses and say nothing that the
// fold can take are refused before they are in a file.
func TestBackupRowsOfOthers(t *testing.T) {
	row := func(kind, subject, body string) []driver.Value {
		e := Event{log: logMain, seq: 1, version: eventVersion, kind: kind, subject: subject, body: body, actor: "x", recordedAt: publishedAt}
		e.id = eventID(e.version, e.kind, e.subject, "", e.body)
		e.link = chainLink(zeroLink, &e)
		return eventRows([]Event{e})[0]
	}
	none := func(string, int64) ([]string, error) { return nil, errNoBlob }
	for _, x := range []struct {
		name, want string
		row        []driver.Value
	}{
		{"no object", "no JSON object", row(KindValuesErased, "x", "[]")},
		{"no content", "no content hash", row(KindRecordStored, recordPrefix+zeroLink, "{}")},
		{"no record id", "no record id", row(KindRecordStored, "x", `{"content":"`+zeroLink+`"}`)},
		{"a list that is not there", "list of records is gone", row(KindRunRecorded, "run:x", `{"a":"lst:x","verb":"resolve"}`)},
		{"another link", "its link", func() []driver.Value { r := row("a.b", "x", "{}"); r[10] = zeroLink; return r }()},
		{"no time", "it has no time", func() []driver.Value { r := row("a.b", "x", "{}"); r[9] = nil; return r }()},
	} {
		s := newState()
		if err := s.foldRow(x.row, none); !fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// TestManifestsOfLogsWithoutContents: where contents begin is a place in the log.
func TestManifestsOfLogsWithoutContents(t *testing.T) {
	l := openHere(t, Options{})
	mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
	dir := filepath.Join(t.TempDir(), "b")
	if _, err := l.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, backupManifest)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		value string
		from  int64
	}{{"1", 1}, {"7", 7}, {"0", 0}, {"-1", 0}, {`"7"`, 0}, {"1.5", 0}, {"99999999999999999999", 0}} {
		changed := strings.Replace(string(text), `"form"`, fmt.Sprintf(`"%s": %s, "form"`, metaContents, x.value), 1)
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := readManifest(dir)
		switch {
		case x.from > 0 && (err != nil || m.contentsFrom != x.from):
			t.Errorf("%s: %v %v", x.value, m, err)
		case x.from == 0 && (!fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), "from which event on")):
			t.Errorf("%s: %v", x.value, err)
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, backupBlobs)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, backupBlobs), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := readManifest(dir); !fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), backupBlobs+" cannot be read") {
		t.Errorf("a folder for a file: %v", err)
	}
}

// TestLinesThatCannotBeWritten: a failing disk is told, wherever it comes.
func TestLinesThatCannotBeWritten(t *testing.T) {
	broken := errors.New("broken")
	if err := writeLine(bufio.NewWriterSize(failing{broken}, 16), "text", strings.Repeat("x", 100)); !errors.Is(err, broken) {
		t.Errorf("a line: %v", err)
	}
	if err := writeLine(bufio.NewWriter(failing{nil}), "text", "\xff"); err == nil {
		t.Error("text that is none was written")
	}
	// Rows longer than what is held back until the end.
	full := false
	l := openHere(t, Options{Fault: func(op string) error {
		if full && op == "file.write" {
			return broken
		}
		return nil
	}})
	for _, kind := range []string{"text", "blob"} {
		draft := Draft{Kind: "note.written", Subject: kind, Body: canon.NewObject()}
		if long := strings.Repeat("x", 1<<17); kind == "text" {
			draft.Body = canon.Obj("text", long)
		} else {
			draft.Blobs = []Blob{{ContentAddress("doc", []byte(long)), []byte(long)}}
		}
		if _, err := l.Append(t.Context(), []Draft{draft}); err != nil {
			t.Fatal(err)
		}
		full = true
		dir := filepath.Join(t.TempDir(), "b")
		if _, err := l.Backup(t.Context(), dir); !errors.Is(err, broken) {
			t.Errorf("%s: %v", kind, err)
		}
		full = false
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: half a backup is there: %v", kind, err)
		}
		if kind == "text" { // the next is about the contents alone
			l = openHere(t, l.opts)
		}
	}
}

// TestBackupsOfUnreadableTables: whatever the database cannot read, there is an
// error and no backup.
func TestBackupsOfUnreadableTables(t *testing.T) {
	var f *arctest.Fault
	l := openHere(t, Options{Fault: func(op string) error {
		if f == nil || arctest.OfFiles(op) {
			return nil
		}
		return f.Ask(op)
	}})
	mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
	dirs := t.TempDir()
	for n := 1; ; n++ {
		f = &arctest.Fault{N: n, Err: errors.New("IO Error: Could not read from file: Input/output error")}
		dir := filepath.Join(dirs, fmt.Sprint(n))
		_, err := l.Backup(t.Context(), dir)
		if f.Hit == "" {
			if err != nil || n < 4 {
				t.Errorf("%d operations were failed, then %v", n-1, err)
			}
			break
		}
		if err == nil {
			t.Errorf("%v: there is no error", f)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: half a backup is there: %v", f, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write(b []byte) (int, error) { return len(b), f.err }

// TestRestoreToNoLedgersName: a path that no ledger can have is refused, and
// nothing is left beside it.
func TestRestoreToNoLedgersName(t *testing.T) {
	l := openHere(t, Options{})
	mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
	dir := filepath.Join(t.TempDir(), "b")
	if _, err := l.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("ducklake:x", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(context.Background(), dir, "ducklake:x/l.duckdb", Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir("ducklake:x"); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}
