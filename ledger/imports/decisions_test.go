package imports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
	"github.com/arche-ledger/arche/ledger/imports"
	"github.com/arche-ledger/arche/resolve"
)

const canary = "Quizzacious Vortumnus"

// lists are two lists of organisations, long enough that a run keeps them beside
// itself.
func lists(n int) resolve.Request {
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold, IDField: "id"}
	for i := range n {
		req.A = append(req.A, canon.Obj("id", fmt.Sprintf("a%d", i), "name", fmt.Sprintf("Zq%dvar Mills Ltd", i), "note", canary))
		req.B = append(req.B, canon.Obj("id", fmt.Sprintf("b%d", i), "name", fmt.Sprintf("Zq%dvar Mills Limited", i)))
	}
	return req
}

// lived is a ledger in which everything happened that an export of decisions has
// to carry: observations, people's decisions, erasing, storing again, documents.
func lived(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, ctx := fresh(t), t.Context()
	p, err := imports.ReadPublished(ctx, "testdata/published-0.9")
	if err != nil {
		t.Fatal(err)
	}
	must := func(_ *canon.Object, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(l.ImportPublished(ctx, p))
	if _, err := l.Compare(ctx, lists(120)); err != nil {
		t.Fatal(err)
	}
	must(l.Decide(ctx, p.Decisions[0].A, p.Decisions[1].A, ledger.VerdictSame, "seen"))
	must(l.Decide(ctx, p.Decisions[1].A, p.Decisions[1].B, ledger.VerdictDifferent, "seen"))
	must(l.Resolve(ctx, canon.Obj("name", "Zq3var Mills Ltd", "city", "Kano"), "organisation"))
	must(l.Observe(ctx, p.Decisions[1].A, canon.Obj("registration_id", "RC-9")))
	must(l.Forget(ctx, ledger.ForgetRequest{Addresses: []string{p.Decisions[2].A}, Reason: "asked"}))
	again := lists(1)
	must(l.Forget(ctx, ledger.ForgetRequest{Field: "name", Value: "Zq0var Mills Ltd", Reason: "asked"}))
	if _, err := l.Compare(ctx, again); err != nil { // the erased record is stored again
		t.Fatal(err)
	}
	text := []byte("# about " + canary)
	address := ledger.ContentAddress("doc", text)
	if _, err := l.Append(ctx, []ledger.Draft{{Kind: "document.written", Subject: "doc:a.md",
		Body:  canon.Obj("address", address, "size", len(text), "type", "note", "status", nil, "tags", []any{}, "batch", nil, "parse_error", nil, "moved_from", nil),
		Blobs: []ledger.Blob{{Address: address, Bytes: text}}}}); err != nil {
		t.Fatal(err)
	}
	return l
}

func exportDecisions(t *testing.T, l *ledger.Ledger, format string, reveal bool) (string, *export.Manifest) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x")
	m, err := export.Write(t.Context(), l, export.Request{What: "decisions", Format: format, Dir: dir, Program: "arche@test",
		At: "2026-12-02T00:00:00+00:00", Filter: export.Filter{Reveal: reveal}})
	if err != nil {
		t.Fatal(err)
	}
	return dir, m
}

func reopen(t *testing.T, path string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(path, ledger.Options{Actor: "cli:tester"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func answers(t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	e, err := l.Entities(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, x := range e.Value("entities").([]any) {
		o := x.(*canon.Object)
		ids = append(ids, fmt.Sprint(o.Value("entity_id"), " ", o.Value("members_digest")))
	}
	c, err := l.Cases(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(ids, "\n") + fmt.Sprint("\ncases ", c.Value("count"))
}

// TestDecisionsRoundTrip: export, import into a new file, export again: the same
// bytes in every form that can be imported, and a ledger that verifies, answers
// alike, is backed up and restored, and holds no value that was not revealed.
func TestDecisionsRoundTrip(t *testing.T) {
	l := lived(t)
	want := answers(t, l)
	for _, format := range []string{"jsonl", "parquet"} {
		for _, reveal := range []bool{false, true} {
			first, m := exportDecisions(t, l, format, reveal)
			path := filepath.Join(t.TempDir(), "again.duckdb")
			name := first
			if reveal {
				name = filepath.Join(first, "decisions."+format)
			}
			info, err := imports.Decisions(t.Context(), name, nil, path, ledger.Options{})
			if err != nil || info.Already || info.Decisions != m.Count || info.Decisions < 120 {
				t.Fatalf("%s, reveal %v: %+v, %v", format, reveal, info, err)
			}
			again := reopen(t, path)
			second, _ := exportDecisions(t, again, format, reveal)
			entries, err := os.ReadDir(first)
			if err != nil || len(entries) != 5 {
				t.Fatalf("%v, %v", entries, err)
			}
			for _, e := range entries {
				a, errA := os.ReadFile(filepath.Join(first, e.Name()))
				b, errB := os.ReadFile(filepath.Join(second, e.Name()))
				if errA != nil || errB != nil || string(a) != string(b) {
					t.Errorf("%s, reveal %v: %s differs after the round trip (%v, %v)", format, reveal, e.Name(), errA, errB)
				}
				if !reveal && strings.Contains(string(a), canary) {
					t.Errorf("%s holds a value", e.Name())
				}
			}
			if got := answers(t, again); got != want {
				t.Errorf("%s, reveal %v: %s", format, reveal, cmp.Diff(want, got))
			}
			if info, err := imports.Decisions(t.Context(), first, nil, path, ledger.Options{}); err != nil || !info.Already {
				t.Errorf("%s: a second import: %+v, %v", format, info, err)
			}
			if err := again.Verify(t.Context(), nil); err != nil {
				t.Errorf("%s: verify: %v", format, err)
			}
		}
	}
}

// TestSignedDecisionsComeIn: an export with a statement about it comes in like its
// JSON Lines; with a pinned key only when that key signed it.
func TestSignedDecisionsComeIn(t *testing.T) {
	keys := make([]*attest.Key, 2)
	for i := range keys {
		var err error
		if keys[i], err = attest.NewKey([]byte(strings.Repeat(string(rune('a'+i)), 32))); err != nil {
			t.Fatal(err)
		}
	}
	l, dir := lived(t), filepath.Join(t.TempDir(), "x")
	m, err := export.Write(t.Context(), l, export.Request{What: "decisions", Format: "dsse", Dir: dir, Program: "arche@test", At: "2026-12-02T00:00:00+00:00", Key: keys[0]})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "l.duckdb")
	if _, err := imports.Decisions(t.Context(), dir, keys[1].Public(), path, ledger.Options{}); !fault.Is(err, fault.Damaged) {
		t.Errorf("signed by another key: %v", err)
	}
	info, err := imports.Decisions(t.Context(), dir, keys[0].Public(), path, ledger.Options{})
	if err != nil || info.Decisions != m.Count {
		t.Fatalf("%+v, %v", info, err)
	}
	if got, want := answers(t, reopen(t, path)), answers(t, l); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// TestImportedDecisionsLive: a ledger of decisions without values goes on: records
// that are given again bring their values, and then their decisions are made again
// from them; a backup of it restores; a rebuild changes nothing.
func TestImportedDecisionsLive(t *testing.T) {
	old := fresh(t)
	if _, err := old.Compare(t.Context(), lists(120)); err != nil {
		t.Fatal(err)
	}
	dir, m := exportDecisions(t, old, "jsonl", false)
	path := filepath.Join(t.TempDir(), "l.duckdb")
	if _, err := imports.Decisions(t.Context(), dir, nil, path, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	l := reopen(t, path)
	audit := func(l *ledger.Ledger, want string) {
		t.Helper()
		n, err := l.Audit(t.Context(), ledger.AuditOptions{Until: m.Head.Seq}, func(f *ledger.Audited) error {
			if f.Result != want {
				t.Errorf("%s is %s (%s), want %s", f.DecisionID, f.Result, f.Reason, want)
			}
			if strings.Contains(f.Reason, "erased") { // nothing was: the values never came
				t.Errorf("%s can't be made again because %s", f.DecisionID, f.Reason)
			}
			return nil
		})
		if err != nil || n != m.Count {
			t.Errorf("%d audited, %v", n, err)
		}
	}
	audit(l, ledger.AuditUnreplayable)
	before := answers(t, l)
	if err := l.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := answers(t, l); after != before {
		t.Errorf("rebuild: %s", cmp.Diff(before, after))
	}
	if _, err := l.Compare(t.Context(), lists(120)); err != nil {
		t.Fatal(err)
	}
	audit(l, ledger.AuditReproduced)
	backup := filepath.Join(t.TempDir(), "backup")
	if _, err := l.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "r.duckdb")
	if _, err := ledger.Restore(t.Context(), backup, restored, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	audit(reopen(t, restored), ledger.AuditReproduced)

	// What came later counts as the rest of an imported log, too.
	if info, err := imports.Decisions(t.Context(), dir, nil, restored, ledger.Options{}); err != nil || !info.Already {
		t.Errorf("import into a ledger that went on: %+v, %v", info, err)
	}
	if _, err := imports.Decisions(t.Context(), dir, nil, lived(t).File(), ledger.Options{}); !fault.Is(err, fault.Refused) {
		t.Errorf("import into another ledger: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty.duckdb")
	if _, _, _, err := reopen(t, empty).Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := imports.Decisions(t.Context(), dir, nil, empty, ledger.Options{}); err != nil || info.Already {
		t.Errorf("import into an empty ledger: %+v, %v", info, err)
	}
}

// reseal changes a file of an export and seals it again, as a forger without the
// signer's key can.
func reseal(t *testing.T, dir, name string, forge func(text string) string) {
	t.Helper()
	var changed string
	change(t, dir, name, func(text string) string { changed = forge(text); return changed }, func(m *export.Manifest) {
		switch name {
		case "decisions.jsonl":
			m.Count = int64(strings.Count(changed, "\n"))
		case "decisions.log.jsonl":
			m.Head.Seq = int64(strings.Count(changed, "\n"))
		}
	})
}

// TestForgedDecisions: an export that was changed and sealed anew is refused for
// what is wrong with it, and nothing is made.
func TestForgedDecisions(t *testing.T) {
	l, req := small(t), lists(101)
	req.B = req.B[:1]
	if _, err := l.Compare(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), []ledger.Draft{{Kind: "protection.scanned", Subject: "scan:1", Body: canon.Obj("verdict", "full")}}); err != nil {
		t.Fatal(err)
	}
	swap := func(old, now string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, now, 1) }
	}
	line := func(change func(lines []string) []string) func(string) string {
		return func(text string) string {
			lines := strings.SplitAfter(text, "\n")
			return strings.Join(change(lines), "")
		}
	}
	const rows, log, runs = "decisions.jsonl", "decisions.log.jsonl", "decisions.lists.jsonl"
	plain, _ := exportDecisions(t, l, "jsonl", false)
	revealed, _ := exportDecisions(t, l, "jsonl", true)
	first := func(pattern, now string) func(string) string {
		return func(text string) string {
			return strings.Replace(text, regexp.MustCompile(pattern).FindString(text), now, 1)
		}
	}
	content := func(change string) func(string) string {
		return func(text string) string {
			return regexp.MustCompile(`"contents":\[\{"address":("[^"]*"),"bytes":("[^"]*")\}`).ReplaceAllString(text, `"contents":[`+change)
		}
	}
	for _, c := range []struct {
		want, file string
		change     func(string) string
	}{
		{"does not have the address", rows, swap(`"identity":"match"`, `"identity":"review"`)},
		{"does not have the address", rows, swap(`"action":"merge"`, `"action":"hold"`)},
		{"column live: not what the log gives", rows, swap(`"live":true`, `"live":false`)},
		{"column entity_type: not what the log gives", rows, swap(`"entity_type":"organisation"`, `"entity_type":"person"`)},
		{"column engine: not what the log gives", rows, swap(`"engine":"crosswalk.v1","links"`, `"engine":"crosswalk.v9","links"`)},
		{"column operator_verdict: not what the log gives", rows, swap(`"operator_verdict":null`, `"operator_verdict":"same"`)},
		{"do not end in the link", rows, swap(`"actor":"cli:tester"`, `"actor":"cli:mallory"`)},
		{`no column 'note' is known`, rows, swap(`{"decision_id"`, `{"note":1,"decision_id"`)},
		{"the column seq is not there", rows, swap(`,"seq":`, `,"place":`)},
		{"column score: no DOUBLE", rows, swap(`"score":`, `"score":"x","was":`)},
		{"no JSON object", rows, swap("{", "[")},
		{"no row of decisions is about event", rows, line(func(l []string) []string { return l[1:] })},
		{"more decisions than the log has", rows, line(func(l []string) []string { return append(l, l[len(l)-2]) })},
		{"no row of decisions is about event", rows, line(func(l []string) []string { l[0], l[1] = l[1], l[0]; return l })},
		{"do not end in the link", log, line(func(l []string) []string { return l[:len(l)-2] })},
		{"", log, line(func(l []string) []string { return l[1:] })},
		{"do not end in the link", log, swap("organisation", "organisatiom")},
		{"does not fit its address", runs, line(func(l []string) []string { return l[1:] })},
		{"does not fit its address", runs, line(func(l []string) []string { l[3], l[4] = l[4], l[3]; return l })},
		{"its list", runs, func(string) string { return "" }},
		{"lies with no event", runs, func(text string) string { return text + `{"seq":9999,"list":"lst:blake3:0","entry":"x"}` + "\n" }},
		{"no column 'kind' is known", runs, swap(`{"seq":`, `{"kind":1,"seq":`)},
		{"column recorded_at: no time", log, swap(`"recorded_at":"20`, `"recorded_at":"x20`)},
		{"column seq: no BIGINT", log, swap(`"seq":1,`, `"seq":"1",`)},
		{"no column 'extra' is known", log, swap(`{"seq"`, `{"extra":null,"seq"`)},
		{"decisions.jsonl ends within a row", rows, func(text string) string { return strings.TrimSuffix(text, "\n") }},
		{"decisions.log.jsonl ends within a row", log, func(text string) string { return text + "{" }},
		{"decisions.lists.jsonl ends within a row", runs, func(text string) string { return text + "{" }},
		{"decisions.jsonl, row 3: no JSON object", rows, line(func(l []string) []string { l[2] = "[]\n"; return l })},
		{"no JSON object", rows, func(text string) string { return text + "[]\n" }},
		{"decisions.lists.jsonl, row 2: no JSON object", runs, line(func(l []string) []string { l[1] = "[]\n"; return l })},
		{"decisions.lists.jsonl, row 1: no JSON object", runs, line(func(l []string) []string { l[0] = "[]\n"; return l })},
		{"row 1: the list is no list of records", runs, first(`"entry":.*`, `"entry":99999999999999999999}`)},
		{"column recorded_at: no time", rows, swap(`"recorded_at":"20`, `"recorded_at":"x20`)},
		{"column seq: no whole number", log, swap(`"seq":1,`, `"seq":99999999999999999999,`)},
		{"column seq: no whole number", log, swap(`"seq":1,`, `"seq":null,`)},
		{"column v: no whole number", log, swap(`"v":1,`, `"v":null,`)},
		{"no row of decisions is about event", rows, first(`"seq":\d+`, `"seq":99999999999999999999`)},
		{"column live: no BOOLEAN", rows, swap(`"live":true`, `"live":1`)},
		{"column verb: no VARCHAR", rows, first(`"verb":"[^"]*"`, `"verb":7`)},
		{"the body is no content of an event", log, swap(`"body":{`, `"body":{"big":99999999999999999999,`)},
		{"row 1: a content is no object", log, content(`7`)},
		{"a content is no address with bytes", log, content(`{"address":7,"bytes":$2}`)},
		{"a content is no address with bytes", log, content(`{"address":$1,"bytes":7}`)},
		{"a content is no address with bytes", log, content(`{"address":$1,"bytes":"*"}`)},
		{"a content is no address with bytes", log, content(`{"address":$1,"bytes":$2,"more":1}`)},
		{"the content is not what was stored", log, content(`{"address":$1,"bytes":"QQ=="}`)},
	} {
		dir := copied(t, plain)
		if strings.Contains(c.want, "content") && c.file == log {
			dir = copied(t, revealed)
		}
		reseal(t, dir, c.file, c.change)
		path := filepath.Join(t.TempDir(), "l.duckdb")
		_, err := imports.Decisions(t.Context(), dir, nil, path, ledger.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
			for _, f := range left {
				if f.Name() != "l.duckdb.lock" && f.Name() != "l.duckdb.queue" {
					t.Errorf("%q: left behind: %v", c.want, f.Name())
				}
			}
		}
	}
}

// TestDecisionsRefusals: what can't be imported says why.
func TestDecisionsRefusals(t *testing.T) {
	l := lived(t)
	write := func(change func(*export.Request)) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "x")
		req := export.Request{What: "decisions", Format: "jsonl", Dir: dir, Program: "arche@test", At: "2026-12-02T00:00:00+00:00"}
		change(&req)
		if _, err := export.Write(t.Context(), l, req); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	since, entity := "2026-01-01", "organisation"
	for want, dir := range map[string]string{
		"the export is of cases":              write(func(r *export.Request) { r.What = "cases" }),
		"a part of the decisions only":        write(func(r *export.Request) { r.Filter.Since = &since }),
		"holds a part of the decisions":       write(func(r *export.Request) { r.Filter.Entity = &entity }),
		"rows without the log":                write(func(r *export.Request) { r.RowsOnly = true }),
		"without the log that they are":       write(func(r *export.Request) { r.Format = "csv" }),
		"no file":                             filepath.Join(t.TempDir(), "nothere"),
		"has no manifest.json":                t.TempDir(),
		"is not the file of rows":             filepath.Join(write(func(*export.Request) {}), "decisions.log.jsonl"),
		"does not verify: decisions.jsonl is": spoilt(t, write(func(*export.Request) {})),
	} {
		path := filepath.Join(t.TempDir(), "l.duckdb")
		_, err := imports.Decisions(t.Context(), dir, nil, path, ledger.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was made", want)
		}
	}
}

func spoilt(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "decisions.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
