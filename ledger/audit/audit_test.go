package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/audit"
	"github.com/arche-ledger/arche/resolve"
	"github.com/google/go-cmp/cmp"
)

// file is a ledger file of n organisation pairs and n person pairs, in batches
// of ten.
func file(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "l.duckdb")
	l := open(t, path, ledger.Options{})
	for from := 0; from < n; from += 10 {
		var a, b, p, q []*canon.Object
		for i := from; i < min(from+10, n); i++ {
			name := fmt.Sprintf("Zq%dvar Mills", i)
			a = append(a, canon.Obj("id", fmt.Sprintf("a%d", i), "name", name+" Ltd"))
			b = append(b, canon.Obj("id", fmt.Sprintf("b%d", i), "name", name+" Limited"))
			p = append(p, canon.Obj("id", fmt.Sprintf("p%d", i), "name", fmt.Sprintf("Zubairu%d Kantudu%d", i, i), "phone", fmt.Sprintf("+23480%08d", i)))
			q = append(q, canon.Obj("id", fmt.Sprintf("q%d", i), "name", fmt.Sprintf("Zubairu%d KANTUDU%d", i, i), "phone", fmt.Sprintf("+23480%08d", i)))
		}
		for _, req := range []resolve.Request{
			{A: a, B: b, Entity: "organisation", Threshold: resolve.DefaultThreshold},
			{A: p, B: q, Entity: "person", Threshold: resolve.DefaultThreshold},
		} {
			if _, err := l.Compare(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, o ledger.Options) *ledger.Ledger {
	t.Helper()
	at := time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)
	o.Actor, o.Clock = "cli:tester", func() time.Time { at = at.Add(time.Second); return at }
	l, err := ledger.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestStoppedAndResumed: an audit that is stopped anywhere ends with the same
// lines as one that was not.
func TestStoppedAndResumed(t *testing.T) {
	l := open(t, file(t, 60), ledger.Options{})
	whole := t.TempDir()
	s, err := audit.Run(t.Context(), l, audit.Options{Dir: whole})
	if err != nil || !s.Clean() || s.Total < 120 || s.Reproduced != s.Total {
		t.Fatalf("%+v, %v", s, err)
	}
	want := read(t, whole, audit.ResultsName)
	for _, stop := range []int64{1, 57, s.Total - 1} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		o := audit.Options{Dir: dir}
		o.Progress = func(done, _ int64) {
			if done == stop {
				cancel()
			}
		}
		if _, err := audit.Run(ctx, l, o); err == nil && stop < s.Total-1 {
			t.Logf("stopping at %d came too late", stop)
		}
		// What a kill leaves: a line cut off in the middle.
		if data := read(t, dir, audit.ResultsName); len(data) > 400 {
			if err := os.WriteFile(filepath.Join(dir, audit.ResultsName), data[:len(data)/2], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		again, err := audit.Run(t.Context(), l, audit.Options{Dir: dir})
		if err != nil || again.Total != s.Total {
			t.Fatalf("resumed at %d: %+v, %v", stop, again, err)
		}
		if !bytes.Equal(want, read(t, dir, audit.ResultsName)) {
			t.Errorf("stopped at %d, the lines differ", stop)
		}
		if diff := cmp.Diff(string(read(t, whole, audit.SummaryName)), string(read(t, dir, audit.SummaryName))); diff != "" {
			t.Errorf("stopped at %d, the summary differs\n%s", stop, diff)
		}
	}
	if _, err := audit.Run(t.Context(), l, audit.Options{Dir: whole, AuditOptions: ledger.AuditOptions{Entity: "person"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("another audit goes on in the same folder: %v", err)
	}
}

// TestOnePinChanged: under another version of one pack exactly the decisions of
// that pack differ, and the report names them.
func TestOnePinChanged(t *testing.T) {
	path := file(t, 20)
	l := open(t, path, ledger.Options{PackVersion: resolve.PackVersion010})
	// Under its own pins nothing moves, whatever today's packs are.
	if s, err := audit.Run(t.Context(), l, audit.Options{}); err != nil || !s.Clean() {
		t.Fatalf("own pins: %+v, %v", s, err)
	}
	var lines bytes.Buffer
	dir := t.TempDir()
	o := audit.Options{Dir: dir, Lines: &lines}
	o.Today = true
	s, err := audit.Run(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	report := string(read(t, dir, audit.ReportName))
	seen := map[string]int{}
	for _, text := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
		row, err := canon.ParseObject([]byte(text), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprint(row.Value("entity_type"), " ", row.Value("result"))]++
		if row.Value("result") != ledger.AuditDiffers {
			continue
		}
		changed := row.Value("changed").(*canon.Object)
		if !changed.Has("pins.comparators_sha256") {
			t.Errorf("%v differs without the pin: %v", row.Value("decision_id"), changed.Keys())
		}
		if !strings.Contains(report, row.Value("decision_id").(string)) {
			t.Errorf("the report does not name %v", row.Value("decision_id"))
		}
	}
	if seen["organisation differs"] < 20 || seen["organisation reproduced"] != 0 || seen["person differs"] != 0 || seen["person reproduced"] < 20 {
		t.Errorf("results %v", seen)
	}
	for _, want := range []string{"Moved in every decision listed:\npins.", "absent to "} { // said once, not in every row
		if n := strings.Count(report, want); n == 0 || n > 3 {
			t.Errorf("the report holds %q %d times", want, n)
		}
	}
	if s.Clean() || s.Changes["pins.comparators_sha256"] != s.Differing {
		t.Errorf("%+v", s.Changes)
	}
	for _, bad := range []string{"https://", "http://", "<script", "Mills"} {
		if strings.Contains(report, bad) {
			t.Errorf("the report holds %s", bad)
		}
	}
}

func TestSample(t *testing.T) {
	l := open(t, file(t, 30), ledger.Options{})
	o := audit.Options{}
	o.Sample = 10
	s, err := audit.Run(t.Context(), l, o)
	if err != nil || s.Total != 10 || s.Population < 60 {
		t.Fatalf("%+v, %v", s, err)
	}
	if b := s.Bound(); b < 0.258 || b > 0.259 { // 1 - 0.05^(1/10)
		t.Errorf("ten of ten reproduced bound the rest at %v", b)
	}
	again, err := audit.Run(t.Context(), l, o)
	if err != nil || again.First != s.First || again.Last != s.Last {
		t.Errorf("another sample the second time: %+v, %v", again, err)
	}
}

func TestFilters(t *testing.T) {
	l := open(t, file(t, 10), ledger.Options{})
	all, err := audit.Run(t.Context(), l, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, entity := range []string{"organisation", "person"} {
		s, err := audit.Run(t.Context(), l, audit.Options{AuditOptions: ledger.AuditOptions{Entity: entity}})
		if err != nil || s.Total == 0 {
			t.Errorf("%s: %+v, %v", entity, s, err)
		}
		total += s.Total
	}
	if total != all.Total {
		t.Errorf("%d by type, %d in all", total, all.Total)
	}
	if s, err := audit.Run(t.Context(), l, audit.Options{AuditOptions: ledger.AuditOptions{After: all.First}}); err != nil || s.Total != all.Total-1 {
		t.Errorf("after the first: %+v, %v", s, err)
	}
	if s, err := audit.Run(t.Context(), l, audit.Options{AuditOptions: ledger.AuditOptions{Verb: "resolve"}}); err != nil || s.Total != 0 {
		t.Errorf("resolve: %+v, %v", s, err)
	}
}
