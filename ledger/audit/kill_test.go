package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/audit"
)

// childEnv makes the test binary an audit of a ledger, in a folder.
const childEnv = "ARCHE_AUDIT_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	l, err := ledger.Open(os.Args[1], ledger.Options{Actor: "cli:tester"})
	if err == nil {
		_, err = audit.Run(context.Background(), l, audit.Options{Dir: os.Args[2], Lines: os.Stdout})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestKilledAndResumed kills auditing processes as kill -9 does, at several lines,
// one after another in one folder: the audit that goes on there in the end gives
// the lines, the summary and the report of one that was never stopped.
func TestKilledAndResumed(t *testing.T) {
	path, whole := file(t, 400), t.TempDir()
	l := open(t, path, ledger.Options{})
	s, err := audit.Run(t.Context(), l, audit.Options{Dir: whole})
	if err != nil || !s.Clean() || s.Total < 800 {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dir, kept := t.TempDir(), int64(0)
	for _, after := range []int{1, 400, 150, 250} {
		c := exec.CommandContext(t.Context(), os.Args[0], path, dir)
		c.Env = append(os.Environ(), childEnv+"=1")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(out) // a full pipe holds the process until it is killed
		in.Buffer(nil, 1<<20)
		for n := 0; n < after; n++ {
			if !in.Scan() {
				t.Fatalf("the audit ended after %d lines: %v", n, in.Err())
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil {
			t.Fatal("the audit was not killed")
		}
		info, err := os.Stat(filepath.Join(dir, audit.ResultsName))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < kept {
			t.Errorf("killed after %d lines, %d bytes were left of %d", after, info.Size(), kept)
		}
		kept = info.Size()
	}
	if kept == 0 {
		t.Fatal("nothing was kept by any of the killed audits")
	}
	l = open(t, path, ledger.Options{})
	again, err := audit.Run(t.Context(), l, audit.Options{Dir: dir})
	if err != nil || again.Total != s.Total {
		t.Fatalf("resumed: %+v, %v", again, err)
	}
	for _, name := range []string{audit.ResultsName, audit.SummaryName, audit.ReportName} {
		if want, got := read(t, whole, name), read(t, dir, name); !bytes.Equal(want, got) {
			t.Errorf("%s differs after four kills\n%s", name, cmp.Diff(string(want), string(got)))
		}
	}
}
