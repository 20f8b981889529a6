package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/audit"
)

// folder are the files of an audit's folder.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		out[e.Name()] = string(read(t, dir, e.Name()))
	}
	return out
}

// TestFailedFilesOfAnAudit fails every change of a file of an audit, in an empty
// folder and over the files of an earlier run: each file is the old one, the new
// one or the beginning of the lines, nothing lies beside them, the error names
// what failed, and the same audit goes on to the same files.
func TestFailedFilesOfAnAudit(t *testing.T) {
	l := open(t, file(t, 4), ledger.Options{})
	o := func(dir string, f *arctest.Fault) audit.Options {
		o := audit.Options{Dir: dir, Program: "arche@test"}
		if f != nil {
			o.Disk = disk.Disk{Fault: f.Ask}
		}
		return o
	}
	whole := t.TempDir()
	if _, err := audit.Run(t.Context(), l, o(whole, nil)); err != nil {
		t.Fatal(err)
	}
	want := folder(t, whole)
	begun := t.TempDir() // with what a run left that was stopped, and older reports
	lines := want[audit.ResultsName]
	old := map[string]string{audit.ResultsName: lines[:len(lines)*2/3], audit.SummaryName: "old summary\n", audit.ReportName: "old report\n"}
	for name, text := range old {
		if err := os.WriteFile(filepath.Join(begun, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for title, from := range map[string]string{"empty": "", "begun": begun} {
		hits := arctest.Sweep(t, 1, nil, func(f *arctest.Fault) {
			dir := t.TempDir()
			if from != "" {
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := audit.Run(t.Context(), l, o(dir, f))
			got := folder(t, dir)
			switch named := fault.As(err); {
			case err == nil && f.Hit == "file.close": // of lines that are on disk
			case err == nil && f.Hit != "":
				t.Errorf("%s, %v: told as done", title, f)
			case err == nil:
			case !errors.Is(err, f.Err), named == nil || !strings.HasSuffix(named.Message, ": "+f.Err.Error()):
				t.Errorf("%s, %v: told as %v", title, f, err)
			}
			if err == nil && !cmp.Equal(want, got) {
				t.Errorf("%s, %v: told as done\n%s", title, f, cmp.Diff(want, got))
			}
			for name, text := range got {
				switch {
				case text == want[name], from != "" && text == old[name], name == audit.ResultsName && strings.HasPrefix(lines, text):
				case f.Onward && strings.HasPrefix(name, ".arche-"): // it can't be taken away
				default:
					t.Errorf("%s, %v: %s is neither old nor new", title, f, name)
				}
			}
			if _, err := audit.Run(t.Context(), l, o(dir, nil)); err != nil {
				t.Errorf("%s, %v: going on: %v", title, f, err)
			}
			if got := folder(t, dir); !f.Onward && !cmp.Equal(want, got) {
				t.Errorf("%s, %v: going on\n%s", title, f, cmp.Diff(want, got))
			}
		})
		if hits < 14 {
			t.Errorf("%s: only %d changes were failed", title, hits)
		}
	}
}

// TestSampleResumed: a sampled audit that was stopped anywhere ends with the
// decisions of its sample, and of no other.
func TestSampleResumed(t *testing.T) {
	l := open(t, file(t, 20), ledger.Options{})
	o := audit.Options{Dir: t.TempDir()}
	o.Sample = 8
	s, err := audit.Run(t.Context(), l, o)
	if err != nil || s.Total != 8 || s.Population < 40 {
		t.Fatalf("%+v, %v", s, err)
	}
	want := folder(t, o.Dir)
	rows := strings.SplitAfter(want[audit.ResultsName], "\n")
	for n := range rows {
		o.Dir = t.TempDir()
		if err := os.WriteFile(filepath.Join(o.Dir, audit.ResultsName), []byte(strings.Join(rows[:n], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := audit.Run(t.Context(), l, o)
		if err != nil || again.Total != s.Total || again.Population != s.Population || again.Bound() != s.Bound() {
			t.Fatalf("after %d lines: %+v, %v", n, again, err)
		}
		if diff := cmp.Diff(want, folder(t, o.Dir)); diff != "" {
			t.Errorf("after %d lines\n%s", n, diff)
		}
	}
}

// TestTodayStartsAnew: an audit under today's packs begins again, because what it
// finds depends on all of it.
func TestTodayStartsAnew(t *testing.T) {
	l := open(t, file(t, 3), ledger.Options{})
	o := audit.Options{Dir: t.TempDir()}
	o.Today = true
	s, err := audit.Run(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	want := folder(t, o.Dir)
	again, err := audit.Run(t.Context(), l, o)
	if err != nil || again.Total != s.Total || s.Total == 0 {
		t.Errorf("%+v, %v", again, err)
	}
	if diff := cmp.Diff(want, folder(t, o.Dir)); diff != "" {
		t.Error(diff)
	}
}

// TestProgressCountsWhatWasThere: whoever goes on is told of all decisions.
func TestProgressCountsWhatWasThere(t *testing.T) {
	l := open(t, file(t, 6), ledger.Options{})
	o := audit.Options{Dir: t.TempDir()}
	s, err := audit.Run(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(string(read(t, o.Dir, audit.ResultsName)), "\n")
	if err := os.WriteFile(filepath.Join(o.Dir, audit.ResultsName), []byte(strings.Join(rows[:6], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	o.Progress = func(done, total int64) { told = append(told, fmt.Sprint(done, " of ", total)) }
	if _, err := audit.Run(t.Context(), l, o); err != nil {
		t.Fatal(err)
	}
	if first, last := fmt.Sprint(6, " of ", s.Total), fmt.Sprint(s.Total, " of ", s.Total); len(told) == 0 || told[0] != first || told[len(told)-1] != last {
		t.Errorf("%v, want %s to %s", told, first, last)
	}
}

// TestLinesThatDoNotRead: a file of lines that opens and does not read is told,
// and so is an option that is no text.
func TestLinesThatDoNotRead(t *testing.T) {
	l := open(t, file(t, 1), ledger.Options{})
	var lines bytes.Buffer
	o := audit.Options{Dir: t.TempDir(), Lines: &lines}
	o.Entity = "\xff"
	if _, err := audit.Run(t.Context(), l, o); err == nil || lines.Len() > 0 {
		t.Errorf("%v", err)
	}
	if got := read(t, o.Dir, audit.ResultsName); len(got) > 0 {
		t.Errorf("%q was written", got)
	}
	if runtime.GOOS != "linux" {
		t.Skip("no file that does not read on this system")
	}
	o = audit.Options{Dir: t.TempDir()}
	if err := os.Symlink("/proc/self/mem", filepath.Join(o.Dir, audit.ResultsName)); err != nil { // its first page is mapped nowhere
		t.Fatal(err)
	}
	const want = audit.ResultsName + ": input/output error"
	if _, err := audit.Run(t.Context(), l, o); !fault.Is(err, fault.Invalid) || err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := audit.Digest(o.Dir); !fault.Is(err, fault.Invalid) || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestAuditIsDurable: what an audit asks of the disk, in order. The lines are on
// disk before summary and report say what they come to.
func TestAuditIsDurable(t *testing.T) {
	l := open(t, file(t, 2), ledger.Options{})
	var ops []string
	o := audit.Options{Dir: t.TempDir(), Disk: disk.Disk{Fault: func(op string) error {
		ops = append(ops, strings.TrimPrefix(op, "file."))
		return nil
	}}}
	small := []string{"create", "write", "sync", "close", "rename", "sync"}
	want := slices.Concat([]string{"create", "truncate", "write", "sync"}, small, small, []string{"close"})
	if _, err := audit.Run(t.Context(), l, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
