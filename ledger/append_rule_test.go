package ledger

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

// inside is an empty ledger in memory.
func inside(t *testing.T) *Ledger {
	t.Helper()
	l, err := Open("duckdb:///:memory:", Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// oneEdge compares two records and gives the id of what was decided.
func oneEdge(t *testing.T, l *Ledger, a, b *canon.Object) string {
	t.Helper()
	res, err := l.Compare(t.Context(), byEntity([]*canon.Object{a}, []*canon.Object{b}))
	if err != nil || len(res.Edges) != 1 {
		t.Fatalf("%v, %v", res, err)
	}
	return res.Edges[0].DecisionID
}

func idOf(t *testing.T, rec *canon.Object) string {
	t.Helper()
	id, err := publicRecordID(rec, "organisation")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func lastEvent(t *testing.T, l *Ledger) (last Event) {
	t.Helper()
	for e, err := range l.Events(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	return last
}

// together lists the records of each entity by their labels.
func together(t *testing.T, l *Ledger) (out []string) {
	t.Helper()
	o, err := l.Entities(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range o.Value("entities").([]any) {
		var labels []string
		for _, r := range x.(*canon.Object).Value("records").([]any) {
			labels = append(labels, r.(*canon.Object).Value("label").(string))
		}
		slices.Sort(labels)
		out = append(out, strings.Join(labels, " "))
	}
	slices.Sort(out)
	return out
}

// parted is a ledger in which b was linked with a, then c was withheld from b for
// a's number, and an operator took a and b apart.
func parted(t *testing.T) (l *Ledger, b, c *canon.Object, withheld Event) {
	t.Helper()
	l = inside(t)
	a := registered("a", "Zarya Mills Ltd", "RC1")
	b, c = canon.Obj("id", "b", "name", "Zarya Mills Ltd"), registered("c", "Zarya Mills Ltd", "RC2")
	oneEdge(t, l, a, b)
	oneEdge(t, l, b, c)
	if withheld = lastEvent(t, l); !strings.Contains(withheld.body, `"withheld":"conflict"`) {
		t.Fatalf("nothing was withheld: %s", withheld.body)
	}
	if _, err := l.Decide(t.Context(), idOf(t, a), idOf(t, b), VerdictDifferent, "two mills"); err != nil {
		t.Fatal(err)
	}
	return l, b, c, withheld
}

// TestWithheldLinkIsDecidedAgain: a link that was withheld holds when it is
// compared again and nothing contradicts it any more; it supersedes the one that
// was withheld.
func TestWithheldLinkIsDecidedAgain(t *testing.T) {
	l, b, c, withheld := parted(t)
	id := oneEdge(t, l, b, c)
	last := lastEvent(t, l)
	if last.supersedes != withheld.id || last.subject != withheld.subject || !strings.Contains(last.body, `"link":true`) {
		t.Errorf("event %d supersedes %q: %s", last.seq, last.supersedes, last.body)
	}
	if diff := cmp.Diff([]string{"b c"}, together(t, l)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	d, err := l.Decision(t.Context(), id)
	if err != nil || d.Has("withheld") || d.Value("supersedes") != nil {
		t.Errorf("%v %v", d, err)
	}
	oneEdge(t, l, b, c)
	if again := lastEvent(t, l); again.id != last.id {
		t.Errorf("said a third time it was recorded again: %s", again.body)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestSettledMeanwhileStays: a withheld link whose record was observed since
// stands replaced by the decision about the new version; the old comparison, made
// again, changes nothing.
func TestSettledMeanwhileStays(t *testing.T) {
	l, b, c, _ := parted(t)
	if _, err := l.Observe(t.Context(), idOf(t, c), canon.Obj("city", "Nakuru")); err != nil {
		t.Fatal(err)
	}
	before, entities := lastEvent(t, l), together(t, l)
	oneEdge(t, l, b, c)
	if after := lastEvent(t, l); after.id != before.id {
		t.Errorf("event %d was added: %s", after.seq, after.body)
	}
	if diff := cmp.Diff(entities, together(t, l)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

// TestObservationOfWhatItDecided: where somebody else's log calls the run of an
// observation a batch, the same evidence makes the same decision again, and it is
// not recorded on top of itself.
func TestObservationOfWhatItDecided(t *testing.T) {
	f := newForge(t)
	n := slices.IndexFunc(f.events, func(e Event) bool {
		return e.kind == KindRunRecorded && strings.HasSuffix(e.body, `"verb":"observe"}`)
	})
	old, now := f.events[n].subject, ""
	f.events = f.changed(n, func(e *Event) {
		e.body = strings.Replace(e.body, `"verb":"observe"}`, `"verb":"reconcile"}`, 1)
		e.subject = ContentAddress("run", []byte(e.body))
		now = e.subject
	})
	for n := range f.events {
		f.events = f.changed(n, func(e *Event) { e.body = strings.ReplaceAll(e.body, old, now) })
	}
	f.write(f.events)
	if err := f.l.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := f.l.Observe(t.Context(), f.l.OnlyVersionOf(t, KindEvidenceObserved), canon.Obj("registration_id", "CS-1"))
	if err != nil {
		t.Fatal(err)
	}
	made, _ := out.Value("decisions").([]any)
	if len(made) != 1 || made[0].(*canon.Object).Value("supersedes") != nil && made[0].(*canon.Object).Value("supersedes") == made[0].(*canon.Object).Value("decision_id") {
		t.Errorf("decisions %v", made)
	}
	for e, err := range f.l.Events(t.Context(), Filter{After: int64(len(f.events)), Kinds: []string{KindDecisionRecorded}}) {
		t.Errorf("event %d (%v): %s", e.seq, err, e.body)
	}
}

// OnlyVersionOf is the record that the one event of a kind made.
func (l *Ledger) OnlyVersionOf(t *testing.T, kind string) string {
	t.Helper()
	for e, err := range l.Events(t.Context(), Filter{Kinds: []string{kind}}) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		id, _ := o.Value("new_record").(string)
		return id
	}
	t.Fatalf("no event of kind %s", kind)
	return ""
}

// TestWhatHasNoCanonicalFormIsNotRecorded: a verdict that JSON has no form for,
// and text that is none, are refused, and nothing of the call is written.
func TestWhatHasNoCanonicalFormIsNotRecorded(t *testing.T) {
	ctx, l := context.Background(), inside(t)
	oneEdge(t, l, oneNamed("a", "Kijani Tea Exporters Ltd")[0], oneNamed("b", "Kijani Tea Exporters Limited")[0])
	before := lastEvent(t, l)
	nan := canon.Float(math.NaN())
	record := func(change func(req *resolve.Request, res *resolve.Result)) func() error {
		return func() error {
			req := byEntity(oneNamed("c", "Womuba Transport Ltd"), oneNamed("d", "Womuba Transport Limited"))
			req.IDField = resolve.DefaultIDField
			res, err := resolve.Compare(ctx, req)
			if err != nil {
				return nil
			}
			change(&req, res)
			b, err := newBatch(req, res, l.long)
			if err == nil {
				err = l.writeUnit(ctx, b.size(), func(u *unit) error { return b.record(ctx, u) })
			}
			return err
		}
	}
	bad := func(id string) []*canon.Object {
		return []*canon.Object{canon.Obj("id", id, "name", "Zentari \xff Mills")}
	}
	named := func(change func(req *resolve.Request)) func() error {
		return func() error {
			req := byEntity(oneNamed("c", "Womuba Transport Ltd"), oneNamed("d", "Womuba Transport Limited"))
			change(&req)
			_, err := l.Compare(ctx, req)
			return err
		}
	}
	observe := func(evidence *canon.Object) func() error {
		return func() error {
			_, err := l.Observe(ctx, l.state.recordID(0), evidence)
			return err
		}
	}
	for _, x := range []struct {
		name  string
		named bool // the client is told by name
		call  func() error
	}{
		{"a factor", false, record(func(_ *resolve.Request, res *resolve.Result) { res.Edges[0].Evidence.Set("name", nan) })},
		{"a score", false, record(func(_ *resolve.Request, res *resolve.Result) { res.Edges[0].Score = math.Inf(1) })},
		{"the pins", false, record(func(_ *resolve.Request, res *resolve.Result) { res.Pins.Set("threshold", nan) })},
		{"a row", true, named(func(req *resolve.Request) { req.A = bad("x") })},
		{"a row of the second list", true, named(func(req *resolve.Request) { req.B = bad("x") })},
		{"a row in a long unit", true, func() error {
			l.long, l.held = 1, 3
			defer func() { l.long, l.held = longUnit, unitHeld }()
			return named(func(req *resolve.Request) { req.B = bad("x") })()
		}},
		{"the id field", true, named(func(req *resolve.Request) { req.IDField = "\xff" })},
		{"a comparator", true, named(func(req *resolve.Request) {
			req.Entity, req.Comparators = "", []*canon.Object{canon.Obj("kind", "name", "field", "na\xffme")}
		})},
		{"a newcomer", true, func() error { _, err := l.Resolve(ctx, bad("x")[0], "organisation"); return err }},
		{"no newcomer", true, func() error { _, err := l.Resolve(ctx, canon.NewObject(), "organisation"); return err }},
		{"a newcomer of no type", true, func() error { _, err := l.Resolve(ctx, oneNamed("a", "x")[0], "dragon"); return err }},
		{"evidence", true, observe(canon.Obj("city", "\xff"))},
		{"the name of evidence", true, observe(canon.Obj("\xff", ""))},
		{"no evidence", true, observe(canon.NewObject())},
	} {
		err := x.call()
		if err == nil || x.named && !fault.Is(err, fault.Invalid) || !x.named && fault.As(err) != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if last := lastEvent(t, l); last.id != before.id {
			t.Errorf("%s: refused (%v), and event %d is there: %s", x.name, err, last.seq, last.body)
			before = last
		}
	}
	oneEdge(t, l, oneNamed("c", "Womuba Transport Ltd")[0], oneNamed("d", "Womuba Transport Limited")[0])
	if err := l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestTextsOfEvidenceAreContents: a piece of a record in the evidence lies beside
// the log, where it can be erased; the event has its address.
func TestTextsOfEvidenceAreContents(t *testing.T) {
	ctx, l := context.Background(), inside(t)
	req := byEntity(oneNamed("c", "Womuba Transport Ltd"), oneNamed("d", "Womuba Transport Limited"))
	req.IDField = resolve.DefaultIDField
	res, err := resolve.Compare(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	res.Edges[0].Evidence.Set("phrase", "womuba transport")
	res.Edges[0].Evidence.Set("name_level", 2)
	b, err := newBatch(req, res, l.long)
	if err == nil {
		err = l.writeUnit(ctx, b.size(), func(u *unit) error { return b.record(ctx, u) })
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := lastEvent(t, l).Body()
	if err != nil {
		t.Fatal(err)
	}
	address := ContentAddress("txt", []byte("womuba transport"))
	evidence, _ := body.Value("evidence").(*canon.Object)
	factors, _ := body.Value("factors").(*canon.Object)
	if evidence.Value("phrase") != address || factors.Has("phrase") || factors.Value("name_level") != canon.Number("2") {
		t.Errorf("evidence %v, factors %v", evidence.Value("phrase"), factors.Keys())
	}
	if strings.Contains(lastEvent(t, l).body, "womuba transport") {
		t.Error("the text is in the log")
	}
	if data, err := l.Blob(ctx, address); err != nil || string(data) != "womuba transport" {
		t.Errorf("%q %v", data, err)
	}
	if err := l.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
	if explanation, _ := body.Value("explanation").(string); !strings.Contains(explanation, "name_level") {
		t.Errorf("a level of two does not count as agreement: %s", explanation)
	}
}

// TestArrivalsGoByTheMatch: of the edges to one entity a match speaks before a
// review that scored higher; decisions are told with those that link first, by
// score.
func TestArrivalsGoByTheMatch(t *testing.T) {
	ctx, l := context.Background(), inside(t)
	names := []string{"Kijani Tea Exporters Ltd", "Kijani Tea Exporters Limited", "Zentari Mills Ltd", "Zentari Mills Limited"}
	oneEdge(t, l, oneNamed("a", names[0])[0], oneNamed("b", names[1])[0])
	oneEdge(t, l, oneNamed("c", names[2])[0], oneNamed("d", names[3])[0])
	edge := func(n int, decision string, score float64) resolve.Edge {
		return resolve.Edge{
			BID: l.state.recordID(int32(n)), J: n, Score: score, Decision: decision, Evidence: canon.Obj("name", canon.Float(score)),
			DecisionID: "xwd:sha256:" + strings.Repeat(fmt.Sprint(n), 64),
		}
	}
	edges := []resolve.Edge{edge(0, "review", 0.95), edge(2, "review", 0.94), edge(1, "match", 0.9), edge(3, "match", 0.91)}
	var got []string
	err := l.write(ctx, func(u *unit) error {
		row, err := newRow(canon.Obj("name", "Somebody"), "organisation")
		if err != nil {
			return err
		}
		v := &arrival{u: u, r: l.reader(ctx, u.db, u.s), row: row, form: packForm(row.rec), key: corpusKey{entity: "organisation"}, self: -1}
		v.group(edges)
		for _, c := range v.candidates {
			got = append(got, fmt.Sprintln(c.identity, c.score, c.matched, c.review, c.members))
		}
		me, err := u.store(&row, "organisation")
		if err != nil {
			return err
		}
		run, err := u.recordRun("resolve", v.call(), rawJSON("{}"), runList{ids: []string{row.id}}, runList{})
		if err != nil {
			return err
		}
		made, kept, err := v.recordEdges(edges, run, rawJSON("{}"), me, "found")
		got = append(got, fmt.Sprintln(kept))
		for _, i := range made {
			got = append(got, fmt.Sprintln(u.s.identityOf(i), u.s.decs[i].score))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"match 0.9 1 1 2", "match 0.91 1 1 2", "2", "match 0.91", "match 0.9", "review 0.95", "review 0.94"}
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", strings.Join(got, "")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"0 a b c d"}, labelsOnce(together(t, l))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func labelsOnce(list []string) []string {
	for i := range list {
		list[i] = strings.Join(slices.Compact(strings.Fields(list[i])), " ")
	}
	return list
}

// TestThresholdsKeepTheirSpelling: a threshold that was given as an integer is
// replayed as one: it is part of the pins.
func TestThresholdsKeepTheirSpelling(t *testing.T) {
	for _, whole := range []bool{false, true} {
		l := inside(t)
		req := byEntity(oneNamed("a", "Kijani Tea Exporters Ltd"), oneNamed("b", "Kijani Tea Exporters Ltd"))
		req.Threshold, req.ThresholdInt = 1, whole
		res, err := l.Compare(t.Context(), req)
		if err != nil || len(res.Edges) != 1 {
			t.Fatal(res, err)
		}
		var body string
		err = l.Query(t.Context(), `SELECT body FROM events WHERE kind = 'run.recorded'`, nil, func(v []driver.Value) error {
			body, _ = v[0].(string)
			return nil
		})
		if want := map[bool]string{false: `"threshold":"1.0"`, true: `"threshold":"1"`}[whole]; err != nil || !strings.Contains(body, want) {
			t.Errorf("whole %v: %s %v", whole, body, err)
		}
		if out, err := l.Replay(t.Context(), res.Edges[0].DecisionID); err != nil || out.Value("reproduced") != true {
			t.Errorf("whole %v: %v %v", whole, out, err)
		}
	}
}
