package ledger_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/duck"
)

// TestHeadIsThereBeforeTheAnswer reads the head file as another program would
// after each answer: it says what was just acknowledged.
func TestHeadIsThereBeforeTheAnswer(t *testing.T) {
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	for n := range 6 {
		if n%2 == 0 {
			compare(t, l, pair(n))
		} else if _, err := l.Resolve(t.Context(), canon.Obj("name", "Zentari Mills", "n", n), "organisation"); err != nil {
			t.Fatal(err)
		}
		kept, found, err := duck.ReadHead(duck.HeadPath(path))
		if err != nil || !found {
			t.Fatalf("call %d: no head (%v)", n, err)
		}
		_, seq, link, err := l.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if kept.Seq != seq || kept.Link != link {
			t.Errorf("call %d: event %d was answered and the head says %d", n, seq, kept.Seq)
		}
	}
}

// TestUnwrittenHeadIsNoAnswer: a call whose head could not be made durable is
// not acknowledged, and its events, which are there, are no loss.
func TestUnwrittenHeadIsNoAnswer(t *testing.T) {
	for _, op := range []string{"head.write", "head.sync"} {
		fail := false
		l := open(t, filePath(t), ledger.Options{Fault: func(o string) error {
			if fail && o == op {
				return errors.New("IO Error: Input/output error")
			}
			return nil
		}})
		compare(t, l, pair(1))
		fail = true
		if _, err := l.Compare(t.Context(), pair(2)); err == nil {
			t.Errorf("%s failed and the call was acknowledged", op)
		}
		fail = false
		compare(t, l, pair(3))
		ents, err := l.Entities(t.Context(), "")
		if n := countOf(t, ents, err); n != 3 {
			t.Errorf("%s: %d entities, want 3", op, n)
		}
		if err := l.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// TestLostHeadFileIsNoticed: a ledger whose head file lies before its log, was
// emptied or holds rubbish never passes for one that fits.
func TestLostHeadFileIsNoticed(t *testing.T) {
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	compare(t, l, pair(1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{{}, make([]byte, 512), []byte("arche.head.v1 nothing")} {
		if err := os.WriteFile(duck.HeadPath(path), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, path, ledger.Options{}).Entities(t.Context(), ""); !errors.Is(err, duck.ErrHeadDamaged) {
			t.Errorf("head of %d bytes: %v", len(data), err)
		}
	}
}

// TestSupersedesIsWritten: a decision that an observation replaces is named by
// the event of the one that replaces it.
func TestSupersedesIsWritten(t *testing.T) {
	l := memory(t)
	id := compare(t, l, reviewed(1)).Edges[0].DecisionID
	d, err := l.Decision(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := d.Value("record_a").(string)
	b, _ := d.Value("record_b").(string)
	for _, r := range []string{a, b} {
		if _, err := l.Observe(t.Context(), r, canon.Obj("registration_id", "N-1")); err != nil {
			t.Fatal(err)
		}
	}
	events := map[string]bool{}
	replaced := 0
	for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{ledger.KindDecisionRecorded}}) {
		if err != nil {
			t.Fatal(err)
		}
		if s := e.Supersedes(); s != "" {
			replaced++
			if !events[s] || s == e.ID() {
				t.Errorf("event %d supersedes %q, which is no decision before it", e.Seq(), s)
			}
		}
		events[e.ID()] = true
	}
	if replaced == 0 {
		t.Errorf("none of %d decisions names the one it replaces", len(events))
	}
	cases, err := l.Cases(t.Context(), "")
	if n := countOf(t, cases, err); n != 0 {
		t.Errorf("%d cases stay open", n)
	}
}

// TestMembersFollowCuts: the table of members, which other programs read through
// the view of entities, says when a record leaves its entity.
func TestMembersFollowCuts(t *testing.T) {
	l := memory(t)
	d, err := l.Decision(t.Context(), compare(t, l, pair(1)).Edges[0].DecisionID)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, l, pair(2))
	inView := func() (n int64) {
		err := l.Query(t.Context(), `SELECT count(*) FROM entities`, nil, func(v []driver.Value) error {
			n, _ = v[0].(int64)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := inView(); n != 2 {
		t.Fatalf("the view has %d entities, want 2", n)
	}
	a, _ := d.Value("record_a").(string)
	b, _ := d.Value("record_b").(string)
	if _, err := l.Decide(t.Context(), a, b, ledger.VerdictDifferent, "two branches"); err != nil {
		t.Fatal(err)
	}
	ents, err := l.Entities(t.Context(), "")
	if n := countOf(t, ents, err); n != 1 {
		t.Fatalf("%d entities after the cut, want 1", n)
	}
	if n := inView(); n != 1 {
		t.Errorf("the view has %d entities after the cut, want 1", n)
	}
}

// TestSameBytesEverywhere makes the same ledger with one, two and eight threads,
// in other time zones and languages, in memory and in a file: the same rows, the
// same checkpoint and the same answers, byte for byte.
func TestSameBytesEverywhere(t *testing.T) {
	before, zone := runtime.GOMAXPROCS(0), time.Local
	defer func() {
		runtime.GOMAXPROCS(before)
		time.Local = zone
	}()
	var want []string
	for n, x := range []struct {
		threads    int
		zone, lang string
		file       bool
	}{
		{1, "UTC", "C", false}, {2, "Asia/Kathmandu", "de_DE.UTF-8", false}, {8, "America/St_Johns", "tr_TR.UTF-8", true},
	} {
		runtime.GOMAXPROCS(x.threads)
		t.Setenv("TZ", x.zone)
		t.Setenv("LANG", x.lang)
		t.Setenv("LC_ALL", x.lang)
		at, err := time.LoadLocation(x.zone)
		if err != nil {
			t.Skipf("no time zones here: %v", err)
		}
		time.Local = at
		uri := "duckdb:///:memory:"
		if x.file {
			uri = filePath(t)
		}
		f := furnish(t, uri)
		got := append(dump(t, f.Ledger), f.note)
		for _, id := range []string{f.match, f.open} {
			for _, ask := range []func(context.Context, string) (*canon.Object, error){f.Decision, f.Explain, f.Replay} {
				o, err := ask(t.Context(), id)
				got = append(got, indent(t, o, err))
			}
		}
		for _, list := range []func(context.Context, string) (*canon.Object, error){f.Entities, f.Cases} {
			o, err := list(t.Context(), "")
			got = append(got, indent(t, o, err))
		}
		if n == 0 {
			want = got
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-first +now)\n%s", x, diff)
		}
		_ = f.Close()
	}
	if len(want) < 30 {
		t.Errorf("only %d rows and answers", len(want))
	}
}

// TestLostHeadAndTailAreNoticed: the head file and the end of the log are gone
// together; the lock file still knows, until somebody accepts the loss.
func TestLostHeadAndTailAreNoticed(t *testing.T) {
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	compare(t, l, pair(1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".head", ".wal"} {
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		l := open(t, path, ledger.Options{})
		if _, err := l.Entities(t.Context(), ""); !errors.Is(err, ledger.ErrTruncated) {
			t.Errorf("got %v", err)
		}
		if _, err := l.Compare(t.Context(), pair(2)); !errors.Is(err, ledger.ErrTruncated) {
			t.Errorf("something was appended: %v", err)
		}
		_ = l.Close()
	}
}
