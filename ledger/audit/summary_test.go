package audit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
)

// differing is a line of a decision that moved.
func differing(seq int64, then, now string, a, b float64) *canon.Object {
	return canon.Obj("seq", seq, "result", ledger.AuditDiffers, "decision_id", fmt.Sprint("d", seq), "record_a", fmt.Sprint("a", seq), "record_b", fmt.Sprint("b", seq),
		"links", then == "match", "now_links", now == "match",
		"then", canon.Obj("identity", then, "score", canon.Float(a)), "now", canon.Obj("identity", now, "score", canon.Float(b)),
		"changed", canon.Obj("name", canon.Obj("then", canon.Float(a), "now", canon.Float(b)), "pins.tf", canon.Obj("now", "x")))
}

func read(t *testing.T, o *canon.Object) *canon.Object {
	t.Helper()
	text, err := canon.Compact(o)
	if err != nil {
		t.Fatal(err)
	}
	back, err := canon.ParseObject(text, canon.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// counted are lines of every kind.
func counted() []*canon.Object {
	unreplayable := func(seq int64, reason string) *canon.Object {
		return canon.Obj("seq", seq, "result", ledger.AuditUnreplayable, "decision_id", fmt.Sprint("d", seq), "record_a", "x", "record_b", "y", "links", true,
			"reason", reason, "then", nil, "supersedes", "d0")
	}
	overruled := differing(9, "match", "review", 0.9, 0.6)
	overruled.Set("operator", "same")
	return []*canon.Object{
		canon.Obj("seq", int64(3), "result", ledger.AuditReproduced, "record_a", "a7", "record_b", "q", "links", true, "entity_id", "ent_q"),
		differing(4, "review", "review", 0.6, 0.7),
		differing(5, "match", "review", 0.9, 0.8),
		unreplayable(6, "the record rec:sha256:"+strings.Repeat("a", 64)+" is erased"),
		differing(7, "review", "match", 0.5, 0.95),
		unreplayable(8, "the record rec:sha256:"+strings.Repeat("b", 64)+" is erased"),
		overruled,
		canon.Obj("seq", int64(10), "result", ledger.AuditAppears, "decision_id", "d10", "record_a", "n1", "record_b", "n2", "entity_id", "ent_n",
			"now", canon.Obj("identity", "match", "score", canon.Float(0.99))),
		unreplayable(11, "the list 'row:sha256:"+strings.Repeat("c", 64)+"' is gone"),
	}
}

// TestSummaryCounts: each kind of line counts where it belongs, read from a file
// as well as made anew.
func TestSummaryCounts(t *testing.T) {
	fresh, again := newSummary(), newSummary()
	for _, o := range counted() {
		fresh.add(o)
		again.add(read(t, o))
	}
	for name, s := range map[string]*Summary{"fresh": fresh, "again": again} {
		s.trim()
		got := []int64{s.Total, s.Reproduced, s.Differing, s.Unreplayable, s.Appearing, s.Overruled, s.First, s.Last}
		if diff := cmp.Diff([]int64{8, 1, 4, 3, 1, 1, 3, 11}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]int64{"match -> review": 2, "review -> match": 1}, s.Verdicts); diff != "" {
			t.Errorf("%s verdicts (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]int64{"name": 4, "pins.tf": 4}, s.Changes); diff != "" {
			t.Errorf("%s changes (-want +got)\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]int64{"the record ... is erased": 2, "the list ... is gone": 1}, s.Reasons); diff != "" {
			t.Errorf("%s reasons (-want +got)\n%s", name, diff)
		}
		var order []string
		for _, f := range s.Worst {
			order = append(order, text(f.Line, "decision_id"))
		}
		// Verdicts that moved by how far, then what appears, then scores that moved, then what can't be made again, the earliest first.
		if diff := cmp.Diff([]string{"d7", "d9", "d5", "d10", "d4", "d6", "d8", "d11"}, order); diff != "" {
			t.Errorf("%s order (-want +got)\n%s", name, diff)
		}
		merges, splits := s.links.moved()
		if diff := cmp.Diff([][][]string{{{"b7", "ent_q"}, {"n1", "n2"}}, {{"a5", "b5"}}}, [][][]string{merges, splits}); diff != "" {
			t.Errorf("%s linkage (-want +got)\n%s", name, diff)
		}
		if s.Clean() {
			t.Errorf("%s is clean", name)
		}
	}
	if seqOf(canon.Obj("seq", "x")) != 0 || number(canon.Obj("score", "x"), "score") != 0 {
		t.Error("a text is a number")
	}
	for _, one := range []func(s *Summary){func(s *Summary) { s.Differing = 1 }, func(s *Summary) { s.Unreplayable = 1 }, func(s *Summary) { s.Appearing = 1 }} {
		s := newSummary()
		if !s.Clean() {
			t.Error("nothing is not clean")
		}
		if one(s); s.Clean() {
			t.Errorf("%+v is clean", s)
		}
	}
}

// TestWorstAreKept: of many findings the worst stay, the earliest among equals.
func TestWorstAreKept(t *testing.T) {
	s := newSummary()
	for seq := int64(1); seq <= 3*worstKept; seq++ {
		s.add(differing(seq, "review", "review", 0.5, 0.5))
		if len(s.Worst) >= 2*worstKept {
			t.Fatalf("%d findings are held", len(s.Worst))
		}
	}
	s.add(differing(9999, "match", "review", 0.9, 0.5))
	s.trim()
	if len(s.Worst) != worstKept || seqOf(s.Worst[0].Line) != 9999 || seqOf(s.Worst[1].Line) != 1 || seqOf(s.Worst[worstKept-1].Line) != worstKept-1 {
		t.Errorf("%d are kept, from %d to %d", len(s.Worst), seqOf(s.Worst[0].Line), seqOf(s.Worst[len(s.Worst)-1].Line))
	}
	page := s.page(Options{}, "link")
	table := page.Sections[len(page.Sections)-1].Table
	if len(table.Rows) != rowsShown || table.More != 3*worstKept+1-rowsShown {
		t.Errorf("%d rows and %d more", len(table.Rows), table.More)
	}
}

func TestBoundOfAShare(t *testing.T) {
	for _, c := range []struct {
		total, population, bad int64
		want                   float64
	}{{0, 100, 0, 0}, {10, 10, 3, 0}, {10, 9, 3, 0}, {10, 11, 10, 1}, {10, 100, 0, 0.258866}} {
		s := newSummary()
		s.Total, s.Population, s.Unreplayable = c.total, c.population, c.bad
		if got := s.Bound(); got < c.want-1e-5 || got > c.want+1e-5 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// written is the report as its reader sees it.
func written(t *testing.T, s *Summary, o Options) (page *export.Page, text string) {
	t.Helper()
	page = s.page(o, "abcd")
	var out bytes.Buffer
	if err := export.WriteHTML(&out, page); err != nil {
		t.Fatal(err)
	}
	return page, out.String()
}

// TestReportSaysWhatMoved: the report's sentence, facts, scope and tables are
// those of the summary.
func TestReportSaysWhatMoved(t *testing.T) {
	s := newSummary()
	page, _ := written(t, s, Options{})
	if page.Lead != "No decision fits what was asked for." || page.Footer[2] != "all decisions" {
		t.Errorf("%s %v", page.Lead, page.Footer)
	}
	if chart := page.Sections[0].Chart; chart != nil {
		t.Errorf("a chart of nothing: %+v", chart)
	}
	s.add(counted()[0])
	if page, _ = written(t, s, Options{}); page.Lead != "Every decision was made again under the packs and pins it was made under and came out the same." {
		t.Error(page.Lead)
	}
	for _, o := range counted()[1:] {
		s.add(o)
	}
	s.trim()
	var o Options
	o.Entity, o.Verb, o.Sample, o.Today = "organisation", "resolve", 8, true
	s.Population = 100
	page, html := written(t, s, o)
	if want := "Each decision was made again under today's packs and engine; 7 of 8 did not come out the same."; page.Lead != want {
		t.Errorf("%s, want %s", page.Lead, want)
	}
	if want := "entity organisation, verb resolve, sample of 8, under today's packs and engine"; page.Footer[2] != want {
		t.Errorf("%s, want %s", page.Footer[2], want)
	}
	facts := map[string]string{}
	for _, f := range page.Facts {
		facts[f.Name] = f.Value + " " + f.Tone
	}
	if diff := cmp.Diff(map[string]string{"decisions made again": "8 ", "reproduced, byte for byte": "1 good", "differ": "4 bad", "can't be made again": "3 open",
		"left to a person's decision": "1 ", "of all 100 differ at most (95 % confidence)": fmt.Sprintf("%.2f %% open", 100*s.Bound()), "new matches today": "1 open"}, facts); diff != "" {
		t.Errorf("facts (-want +got)\n%s", diff)
	}
	parts := map[string]export.Part{}
	for _, p := range page.Sections {
		parts[p.Title] = p
	}
	if c := parts["What moved"].Chart; c == nil || !cmp.Equal(c.Labels, []string{"name", "pins.tf"}) || !cmp.Equal(c.Series[0].Values, []int64{4, 4}) {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([][]string{{"match -> review", "2"}, {"review -> match", "1"}}, parts["Verdicts that moved"].Table.Rows); diff != "" {
		t.Errorf("verdicts (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"the record ... is erased", "2"}, {"the list ... is gone", "1"}}, parts["Why decisions can't be made again"].Table.Rows); diff != "" {
		t.Errorf("reasons (-want +got)\n%s", diff)
	}
	if g := parts["Entities that would become one"].Table; len(g.Rows) != 2 || g.More != 0 {
		t.Errorf("%+v", g)
	}
	rows := parts["Decisions, worst first"].Table.Rows
	if diff := cmp.Diff([]string{"d7", "review 0.5000", "match 0.9500", "name: 0.5 to 0.95\npins.tf: absent to x", ""}, rows[0]); diff != "" {
		t.Errorf("the worst (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"d6", "-", "the record rec:sha256:" + strings.Repeat("a", 64) + " is erased", "", "d0"}, rows[5]); diff != "" {
		t.Errorf("one that can't be made again (-want +got)\n%s", diff)
	}
	for _, want := range []string{"events 3 to 11 of the log, head abcd", "d10"} {
		if !strings.Contains(html, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// TestCommonMovesAreSaidOnce: what every finding has stands above them.
func TestCommonMovesAreSaidOnce(t *testing.T) {
	s := newSummary()
	for seq := int64(1); seq <= 2; seq++ {
		s.add(canon.Obj("seq", seq, "result", ledger.AuditDiffers, "decision_id", fmt.Sprint("d", seq), "then", canon.Obj("identity", "match"), "now", canon.Obj("identity", "match"),
			"changed", canon.Obj("pins.tf", canon.Obj("then", "a", "now", "b"))))
	}
	part := s.worst()
	if part.Text != "Moved in every decision listed:\npins.tf: a to b" || part.Table.Rows[0][3] != "nothing else" || part.Table.Rows[1][3] != "nothing else" {
		t.Errorf("%s %v", part.Text, part.Table.Rows)
	}
	s.Worst = s.Worst[:1]
	if part = s.worst(); part.Text != "" || part.Table.Rows[0][3] != "pins.tf: a to b" || part.Table.More != 1 {
		t.Errorf("%s %v", part.Text, part.Table)
	}
}

// TestLongTablesAreCut: 200 rows of groups, 30 bars, and how many more there are.
func TestLongTablesAreCut(t *testing.T) {
	var found [][]string
	counts := map[string]int64{}
	for n := range 201 {
		found = append(found, []string{fmt.Sprint(n), "x"})
		counts[fmt.Sprintf("pin%03d", n)] = int64(n)
	}
	if g := groups(found); len(g.Rows) != 200 || g.More != 1 || g.Rows[0][0] != "0, x" {
		t.Errorf("%d rows and %d more", len(g.Rows), g.More)
	}
	if g := groups(found[:200]); len(g.Rows) != 200 || g.More != 0 {
		t.Errorf("%d rows and %d more", len(g.Rows), g.More)
	}
	if c := chart(counts, "decisions"); len(c.Labels) != 30 || c.Labels[0] != "pin200" || c.Series[0].Values[29] != 171 {
		t.Errorf("%+v", c)
	}
}

// TestLineOfAFinding: what is there is written under its name, what is not is left
// out.
func TestLineOfAFinding(t *testing.T) {
	bare := ledger.Audited{Seq: 7, DecisionID: "d", RecordA: "a", RecordB: "b", EntityType: "person", Verb: "resolve", RecordedAt: "2026", Result: ledger.AuditReproduced}
	full := bare
	full.EntityID, full.Links, full.NowLinks, full.Reason, full.Supersedes, full.Operator = "ent_x", true, true, "why", "was", "same"
	full.Then, full.Now, full.Changed = canon.Obj("identity", "match"), canon.Obj("identity", "review"), canon.Obj("name", nil)
	only := bare
	only.NowLinks = true
	const head = `{"seq":7,"result":"reproduced","decision_id":"d","record_a":"a","record_b":"b","entity_type":"person","verb":"resolve","recorded_at":"2026"`
	for want, f := range map[string]*ledger.Audited{
		head + `}`:                  &bare,
		head + `,"now_links":true}`: &only,
		head + `,"entity_id":"ent_x","links":true,"now_links":true,"reason":"why","supersedes":"was","operator":"same",` +
			`"then":{"identity":"match"},"now":{"identity":"review"},"changed":{"name":null}}`: &full,
	} {
		got, err := canon.Compact(line(f))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}
