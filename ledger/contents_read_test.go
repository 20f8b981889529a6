package ledger

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

// TestContentsOfOthers: bytes that fit their address and are no record are named
// by whoever reads them, and bytes that do not fit are too.
func TestContentsOfOthers(t *testing.T) {
	w := &bodyWorld{l: openHere(t, Options{})}
	w.id, w.asks = bodyWorlds[0].make(t, w.l)
	w.read(t)
	find := func(prefix string) int {
		return slices.IndexFunc(w.blobs, func(b []driver.Value) bool { return strings.HasPrefix(b[0].(string), prefix) })
	}
	run := len(w.events) - 1
	for w.events[run].kind != KindRunRecorded {
		run--
	}
	row, record := find("row:"), find("rec:")
	sum := blake3.Sum256([]byte("[1]"))
	stored := strings.Replace(w.events[0].body, address(blake3.Sum256(w.blobs[record][1].([]byte))).hex(), address(sum).hex(), 1)
	if row < 0 || stored == w.events[0].body || w.blobs[record][2] != int64(1) {
		t.Fatalf("nothing was exchanged: %d %s", row, stored)
	}
	other := ContentAddress("row", []byte("[1]"))
	handed := strings.Replace(w.events[run].body, w.blobs[row][0].(string), other, 1)
	for _, x := range []struct {
		name   string
		events []Event
		blob   int
		now    []driver.Value
		want   map[string]string // of an ask
	}{
		{"a row of another kind", w.with(run, handed), row, []driver.Value{other, []byte("[1]"), w.blobs[row][2]}, map[string]string{"replay": "is no record"}},
		{"a row of other bytes", w.events, row, []driver.Value{w.blobs[row][0], []byte("{}"), w.blobs[row][2]}, map[string]string{"replay": "does not fit its address"}},
		{"a record of another kind", w.with(0, stored), record, []driver.Value{w.blobs[record][0], []byte("[1]"), w.blobs[record][2]},
			map[string]string{"replay": "is not a record", "explain": "is not a record", "forget": "is not a record"}},
	} {
		blobs := slices.Clone(w.blobs)
		blobs[x.blob] = x.now
		w.put(t, x.events, blobs)
		w.opened(t, x.name, verifiedOpening)
		for _, a := range w.asks {
			want, told := x.want[a.name]
			if _, err := w.answer(t, x.name, a); told && (!errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %s: %v, want %q", x.name, a.name, err, want)
			}
		}
	}
}

// TestErasedNewcomers: the decision on a newcomer is not made again without the
// newcomer, nor without any of those it met.
func TestErasedNewcomers(t *testing.T) {
	for _, x := range []struct{ who, want string }{
		{"record_a", "were erased, so the decision cannot be made again"},
		{"record_b", "the values of 1 records that the newcomer met are not in the ledger"},
		{"another", "the values of 1 records that the newcomer met are not in the ledger"},
	} {
		l := openHere(t, Options{})
		other := mustAsk(t)(l.Decision(t.Context(), mustCompare(t, l, twoRows("organisation", "Zentari Mills Ltd", "Zentari Mills Limited")).Edges[0].DecisionID))
		mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited"))
		id := resolvedAs(t, l, canon.Obj("name", "Kijani Tea Exporters", "remark", "n"))
		d := mustAsk(t)(l.Decision(t.Context(), id))
		gone, ok := d.Value(x.who).(string)
		if !ok {
			gone = other.Value("record_a").(string)
		}
		mustAsk(t)(l.Forget(t.Context(), ForgetRequest{Addresses: []string{gone}, Reason: "asked to"}))
		_, err := l.Replay(t.Context(), id)
		if !errors.Is(err, ErrErased) || !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.who, err, x.want)
		}
		results := map[string]string{}
		if _, err := l.Audit(t.Context(), AuditOptions{Verb: "resolve"}, func(f *Audited) error { results[f.DecisionID] = f.Result; return nil }); err != nil || results[id] != AuditUnreplayable {
			t.Errorf("%s: audit %v, %v", x.who, results, err)
		}
	}
}

// TestStoringAgainReadsWhatStoodThere: a record that comes back supersedes its
// first event, which must be there.
func TestStoringAgainReadsWhatStoodThere(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	req := resolve.PairRequest{A: canon.Obj("name", "Adaeze Okonkwo"), B: canon.Obj("name", "A. Okonkwo"), Entity: "person"}
	res, _, err := l.ComparePair(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	d := mustAsk(t)(l.Decision(ctx, res.DecisionID))
	for n, who := range []string{"record_a", "record_b"} {
		id := d.Value(who).(string)
		mustAsk(t)(l.Forget(ctx, ForgetRequest{Addresses: []string{id}, Reason: "asked to"}))
		_, before, _, _ := l.Head(ctx)
		within(t, l, func() {
			if _, recorded, err := l.ComparePair(ctx, req); !errors.Is(err, ErrAltered) || recorded {
				t.Errorf("%s: %v %v", who, recorded, err)
			}
		}, fmt.Sprintf("DELETE FROM events WHERE seq = %d", n+1))
		if _, after, _, err := l.Head(ctx); err != nil || after != before {
			t.Errorf("%s: %d events before, %d after, %v", who, before, after, err)
		}
		if _, recorded, err := l.ComparePair(ctx, req); err != nil || !recorded {
			t.Errorf("%s: put back: %v %v", who, recorded, err)
		}
		if _, err := l.Blob(ctx, id); err != nil {
			t.Errorf("%s: did not come back: %v", who, err)
		}
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestHistoryNamesLooseRecords by their labels, which are in their contents.
func TestHistoryNamesLooseRecords(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	d := mustAsk(t)(l.Decision(ctx, mustCompare(t, l, twoRows("organisation", "Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited")).Edges[0].DecisionID))
	entity, a, b := d.Value("entity_id").(string), d.Value("record_a").(string), d.Value("record_b").(string)
	mustAsk(t)(l.Decide(ctx, a, b, VerdictDifferent, "two branches"))
	got := mustText(t, mustAsk(t)(l.EntityHistory(ctx, entity)))
	if !strings.Contains(got, `"stands":false`) || !strings.Contains(got, `"label":"a-Kijani Tea Exporters Ltd"`) || !strings.Contains(got, `"now":[]`) {
		t.Errorf("%s", got)
	}
	within(t, l, func() {
		l.cache.reset()
		if _, err := l.EntityHistory(ctx, entity); !errors.Is(err, ErrAltered) {
			t.Errorf("contents gone: %v", err)
		}
	}, "DELETE FROM blobs")
	for _, ends := range [][2]string{{a, "rec:x"}, {"rec:x", a}} {
		if _, err := l.Path(ctx, ends[0], ends[1]); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "'rec:x'") {
			t.Errorf("path %v: %v", ends, err)
		}
	}
}

// TestAuditsOfSome: a sample is those decisions whose events have the smallest
// addresses, told in the order of the log; the other options bound what it is of.
func TestAuditsOfSome(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	for _, name := range []string{"Kijani", "Zentari", "Harmuko", "Womuba"} {
		mustCompare(t, l, twoRows("organisation", name+" Tea Exporters Ltd", name+" Tea Exporters Limited"))
	}
	mustCompare(t, l, twoPlaces(0))
	resolvedAs(t, l, canon.Obj("name", "Kijani Tea Exporters", "remark", "n"))
	var all, places, newcomers []int64
	of := func(o AuditOptions) (seqs []int64) {
		t.Helper()
		n, err := l.Audit(ctx, o, func(f *Audited) error { seqs = append(seqs, f.Seq); return nil })
		if err != nil || n != int64(len(seqs)) || !slices.IsSorted(seqs) {
			t.Errorf("%+v: %d of %v, %v", o, n, seqs, err)
		}
		want := n
		if o.Sample > 0 { // counting leaves it aside
			want = int64(len(all))
		}
		if counted, err := l.CountDecisions(ctx, o); err != nil || counted != want {
			t.Errorf("%+v: counted %d, want %d, %v", o, counted, want, err)
		}
		return seqs
	}
	var ids []string
	at := map[string]int64{}
	for e, err := range l.Events(ctx, Filter{Kinds: []string{KindDecisionRecorded}}) {
		if err != nil {
			t.Fatal(err)
		}
		all, ids, at[e.id] = append(all, e.seq), append(ids, e.id), e.seq
		if strings.Contains(e.body, `"name_phrase"`) {
			places = append(places, e.seq)
		}
		if strings.Contains(e.body, `"verb":"resolve"`) {
			newcomers = append(newcomers, e.seq)
		}
	}
	slices.Sort(ids)
	sample := []int64{at[ids[0]], at[ids[1]], at[ids[2]]}
	slices.Sort(sample)
	for _, x := range []struct {
		o    AuditOptions
		want []int64
	}{
		{AuditOptions{}, all}, {AuditOptions{Sample: 3}, sample}, {AuditOptions{Sample: len(all)}, all}, {AuditOptions{Sample: 99}, all},
		{AuditOptions{After: all[0]}, all[1:]}, {AuditOptions{Until: all[1]}, all[:2]}, {AuditOptions{After: all[0], Until: all[1]}, all[1:2]},
		{AuditOptions{Entity: "place"}, places}, {AuditOptions{Verb: "resolve"}, newcomers}, {AuditOptions{Verb: "none"}, nil},
	} {
		if diff := cmp.Diff(x.want, of(x.o)); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", x.o, diff)
		}
	}
}

// TestBackupsHoldEverything: lists that are contents, events that replace others,
// erasures.
func TestBackupsHoldEverything(t *testing.T) {
	l, _ := lived(t)
	ctx := t.Context()
	req := twoRows("organisation", "Womuba Transport", "Womuba Transport Ltd")
	for n := range listMost {
		req.A = append(req.A, canon.Obj("id", fmt.Sprint("z", n), "name", strings.Repeat(string(rune('a'+n%26)), 3+n/26)))
	}
	d := mustAsk(t)(l.Decision(ctx, mustCompare(t, l, req).Edges[0].DecisionID))
	mustAsk(t)(l.Forget(ctx, ForgetRequest{Addresses: []string{d.Value("record_a").(string)}, Reason: "asked to"}))
	mustAsk(t)(l.Decide(ctx, d.Value("record_a").(string), d.Value("record_b").(string), VerdictReview, "x"))
	mustAsk(t)(l.Decide(ctx, d.Value("record_a").(string), d.Value("record_b").(string), VerdictSame, "y"))
	dir, path := filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "l.duckdb")
	if _, err := l.Backup(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(ctx, dir, path, Options{}); err != nil {
		t.Fatal(err)
	}
	want, err := l.Dump(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got, err := m.Dump(ctx)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-ledger +restored)\n%s", err, diff)
	}
}
