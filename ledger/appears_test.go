package ledger

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// TestAuditOfTodayNamesWhatAppears: a pair of a run that would match today and of
// which no decision was made is named, once; whatever the caller makes of it ends
// the audit, and pairs that were decided never appear.
func TestAuditOfTodayNamesWhatAppears(t *testing.T) {
	f := newForge(t)
	_, err := f.l.Compare(t.Context(), byEntity(
		[]*canon.Object{canon.Obj("id", "p", "name", "Womuba Transport Ltd"), canon.Obj("id", "q", "name", "Zentari Mills Ltd")},
		[]*canon.Object{canon.Obj("id", "r", "name", "Womuba Transport Limited"), canon.Obj("id", "s", "name", "Zentari Mills Limited")}))
	if err != nil {
		t.Fatal(err)
	}
	f.events, f.blobs = nil, nil
	for e, err := range f.l.Events(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		f.events = append(f.events, e)
	}
	f.readBlobs()
	audit := func(o AuditOptions, stop error) (found []string, done int64, err error) {
		done, err = f.l.Audit(t.Context(), o, func(a *Audited) error {
			if a.Result == AuditAppears {
				found = append(found, a.RecordA+" "+a.RecordB)
				if !a.NowLinks || a.Now.Value("identity") != "match" || a.DecisionID == "" || a.EntityType != "organisation" || a.Seq != int64(len(f.events)-1) {
					t.Errorf("what appears is %+v", a)
				}
				return stop
			}
			return nil
		})
		return found, done, err
	}
	if found, _, err := audit(AuditOptions{Today: true}, nil); err != nil || len(found) > 0 {
		t.Errorf("everything was decided, and %v appear (%v)", found, err)
	}
	last := len(f.events) - 1
	records := strings.Split(strings.SplitN(f.events[last].subject, "@", 2)[1], "|")
	f.write(f.changed(last, func(e *Event) { e.kind = "decision.thought" }))
	if err := f.l.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{strings.Join(records, " ")}
	decided := int64(len(f.l.decisionsNow(t)))
	told := int64(0)
	found, done, err := audit(AuditOptions{Today: true, Progress: func(n, total int64) { told = n }}, nil)
	if diff := cmp.Diff(want, found); err != nil || diff != "" || done != decided || told != decided {
		t.Errorf("%v, %d of %d decisions, told %d\n%s", err, done, decided, told, diff)
	}
	broken := errors.New("broken")
	if _, _, err := audit(AuditOptions{Today: true}, broken); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	for name, o := range map[string]AuditOptions{"as it was": {}, "a sample": {Today: true, Sample: 50}} {
		if found, _, err := audit(o, nil); err != nil || len(found) > 0 {
			t.Errorf("%s: %v appear (%v)", name, found, err)
		}
	}
	if _, err := f.l.Audit(t.Context(), AuditOptions{}, func(*Audited) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the first decision: %v", err)
	}
	if got := reasonOf(errors.New("a secret")); got != "the engine refused" {
		t.Errorf("an error of no name is shown as %q", got)
	}
	if got := reasonOf(fault.New(fault.Invalid, "no such pack")); got != "no such pack" {
		t.Errorf("an error is shown as %q", got)
	}
}

func (l *Ledger) decisionsNow(t *testing.T) (out []string) {
	t.Helper()
	for e, err := range l.Events(t.Context(), Filter{Kinds: []string{KindDecisionRecorded}}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.subject)
	}
	return out
}

// TestWordsOfEvents: what has another form than its own is written as JSON says,
// or refused, and never as something else.
func TestWordsOfEvents(t *testing.T) {
	type body struct {
		B json.RawMessage `json:"b"`
		A int             `json:"a"`
	}
	for _, x := range []struct {
		v    any
		want string
	}{
		{body{B: json.RawMessage(`{"z":1,"y":2.50}`), A: 7}, `{"a":7,"b":{"y":2.5,"z":1}}`},
		{map[string]bool{"b": true, "a": false}, `{"a":false,"b":true}`},
		{[]*canon.Object{nil, canon.Obj("a", nil)}, `[null,{"a":null}]`},
		{(*canon.Object)(nil), `null`},
		{body{B: json.RawMessage(`9007199254740993`)}, ""},
		{body{B: json.RawMessage(`"\ud800"`)}, ""},
		{json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), ""},
		{json.RawMessage(`{`), ""},
		{func() {}, ""},
		{canon.Obj("a", "\xff"), ""},
		{canon.Obj("\xff", "a"), ""},
		{[]any{"\xff"}, ""},
	} {
		got, err := appendJCS(nil, x.v)
		if string(got) != x.want || (err != nil) != (x.want == "") {
			t.Errorf("%.80v: %s %v, want %s", x.v, got, err, x.want)
		}
	}
	// An altered row's bytes are no text: what is computed of them fits nothing.
	if got := string(appendPlain(nil, "a\xffb\"")); got != "\"a\uFFFDb\\\"\"" {
		t.Errorf("%q", got)
	}
	scores := restoreScores(canon.Obj("name", canon.Number("1"), "name_level", canon.Number("2"), "score", canon.Number("0.5"), "none", nil,
		"of", canon.Obj("x", canon.Number("1")), "list", []any{canon.Number("3")}))
	restored, err := canon.Compact(scores)
	if want := `{"name":1.0,"name_level":2,"score":0.5,"none":null,"of":{"x":1.0},"list":[3.0]}`; err != nil || string(restored) != want {
		t.Errorf("%s %v, want %s", restored, err, want)
	}
	f := &fields{rest: "12 abc\n"}
	n, text := f.int(), f.text(3)
	if f.end(); f.bad || n != 12 || text != "abc" {
		t.Errorf("a line is read as %d and %q", n, text)
	}
	for _, n := range []int64{-1, 4, 1 << 40} {
		f := &fields{rest: "abc"}
		if got := f.text(n); got != "" || !f.bad {
			t.Errorf("%d bytes of three: %q, bad %v", n, got, f.bad)
		}
	}
}

// TestNoFolderToBeIn: a relative path needs a folder to be relative to.
func TestNoFolderToBeIn(t *testing.T) {
	dir := t.TempDir() + "/gone"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PWD", "")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("l.duckdb", Options{}); !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
}

// TestIndexThatCannotBeMadeIsNoMatter: in a file of before there was an index, with
// a disk that fails at any operation of making one, resolve answers the same or
// says that it failed, and records are stored whatever becomes of the index.
func TestIndexThatCannotBeMadeIsNoMatter(t *testing.T) {
	f, broken := newForge(t), errors.New("IO Error: Could not write file: Input/output error")
	newcomer := canon.Obj("name", "Kijani Tea Exporters")
	old := func() {
		f.write(f.events)
		f.use("DROP TABLE IF EXISTS index_parts")
		f.l.index = newIndexKeeper()
		f.l.index.least, f.l.index.most = 2, 4
		if err := f.l.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := f.l.LastTime(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, call := range map[string]func() (string, error){
		"resolve": func() (string, error) {
			out, err := f.l.Resolve(t.Context(), newcomer, "organisation")
			if err != nil {
				return "", err
			}
			return gist(out), nil
		},
		"compare": func() (string, error) {
			res, err := f.l.Compare(t.Context(), byEntity(oneNamed("p", "Womuba Transport Ltd"), oneNamed("q", "Womuba Transport Limited")))
			if err != nil {
				return "", err
			}
			return res.Edges[0].DecisionID, nil
		},
	} {
		old()
		want, err := call()
		if err != nil {
			t.Fatal(err)
		}
		spared := 0
		for n := 1; ; n++ {
			old()
			at, hit := 0, ""
			f.seam = func(op string) error {
				if at++; at == n {
					hit = op
					return broken
				}
				return nil
			}
			got, err := call()
			f.seam = nil
			switch {
			case err == nil && got != want:
				t.Errorf("%s, operation %d (%s): %s, want %s", name, n, hit, got, want)
			case err == nil && hit != "":
				spared++
			case err != nil && !strings.Contains(err.Error(), "Input/output error"):
				t.Errorf("%s, operation %d (%s): %v", name, n, hit, err)
			}
			if n%4 == 0 || hit == "" {
				if err := f.l.Verify(t.Context(), nil); err != nil {
					t.Errorf("%s, operation %d (%s): %v", name, n, hit, err)
				}
			}
			if hit == "" {
				break
			}
		}
		if spared < 3 {
			t.Errorf("%s: only %d failures were got over", name, spared)
		}
	}
}
