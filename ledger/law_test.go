package ledger_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/resolve"
)

// long reports whether the long form of a test is wanted: ARCHE_LONG=1.
func long() bool { return os.Getenv("ARCHE_LONG") != "" }

// checks sets how many random cases rapid draws in this test: few by default,
// many in the long form.
func checks(t *testing.T, quick, many string) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	old := f.Value.String()
	n := quick
	if long() {
		n = many
	}
	if err := flag.Set("rapid.checks", n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("rapid.checks", old) })
}

// history drives a ledger through random calls and checks laws on the way.
type history struct {
	t       *rapid.T
	ctx     context.Context
	l       *ledger.Ledger
	records []string          // record ids seen in answers
	learnt  map[string]string // record id -> a value it must hold
	serial  int
}

var (
	lawNames = []string{
		"Zentari Mills", "Zentari Mills Ltd", "Zentari Mills Limited", "Harmuko Foods", "Harmuko Foods Plc", "Central Cooperative Society",
		"General Supplies", "Kijani Tea Exporters", "Kijani Tea Exporters Ltd", "Womuba Transport",
	}
	lawIDs = []string{"RC-1", "RC-2", "RC-3"}
)

func (h *history) record(withID bool) *canon.Object {
	o := canon.NewObject()
	if withID && rapid.IntRange(0, 9).Draw(h.t, "has id") > 0 {
		o.Set("id", fmt.Sprintf("x%d", rapid.IntRange(0, 12).Draw(h.t, "id")))
	}
	o.Set("name", rapid.SampledFrom(lawNames).Draw(h.t, "name"))
	switch rapid.IntRange(0, 5).Draw(h.t, "extra") {
	case 0, 1:
		o.Set("registration_id", rapid.SampledFrom(lawIDs).Draw(h.t, "registration"))
	case 2:
		o.Set("city", rapid.SampledFrom([]string{"Nairobi", "Nakuru", ""}).Draw(h.t, "city"))
	case 3:
		o.Set("tags", []any{canon.Obj("a", canon.Number("1.0"))})
	}
	return o
}

func (h *history) remember(id any) {
	if s, ok := id.(string); ok && !slices.Contains(h.records, s) {
		h.records = append(h.records, s)
	}
}

func (h *history) must(err error) {
	if err != nil {
		h.t.Fatalf("%v", err)
	}
}

func (h *history) compare() {
	req := resolve.Request{Entity: "organisation", Threshold: resolve.DefaultThreshold}
	switch rapid.IntRange(0, 6).Draw(h.t, "form") {
	case 0:
		req.Entity = "person"
	case 1:
		req.Entity, req.Comparators = "", []*canon.Object{canon.Obj("field", "name", "kind", "name", "weight", canon.Number("2.0"))}
	case 2:
		req.Threshold = 0.9
	}
	for range rapid.IntRange(1, 3).Draw(h.t, "rows a") {
		req.A = append(req.A, h.record(true))
	}
	for range rapid.IntRange(1, 3).Draw(h.t, "rows b") {
		req.B = append(req.B, h.record(true))
	}
	res, err := h.l.Compare(h.ctx, req)
	h.must(err)
	for _, e := range res.Edges {
		d, err := h.l.Decision(h.ctx, e.DecisionID)
		if err != nil && strings.Contains(err.Error(), "no decision") {
			continue // both sides were one record
		}
		h.must(err)
		h.remember(d.Value("record_a"))
		h.remember(d.Value("record_b"))
	}
}

func (h *history) resolve() {
	out, err := h.l.Resolve(h.ctx, h.record(false), rapid.SampledFrom([]string{"organisation", "organisation", "person"}).Draw(h.t, "type"))
	h.must(err)
	h.remember(out.Value("record_id"))
	h.checkViews(out)
}

func (h *history) observe() {
	if len(h.records) == 0 {
		return
	}
	id := rapid.SampledFrom(h.records).Draw(h.t, "record")
	evidence := canon.NewObject()
	h.serial++
	value := ""
	switch rapid.IntRange(0, 4).Draw(h.t, "evidence") {
	case 0:
		evidence.Set("registration_id", rapid.SampledFrom(lawIDs).Draw(h.t, "registration"))
	case 1:
		evidence.Set("name", rapid.SampledFrom(lawNames).Draw(h.t, "name"))
	case 2:
		value = fmt.Sprintf("note %d", h.serial)
		evidence.Set("remark", value)
	case 3:
		evidence.Set("city", nil)
	case 4:
		evidence.Set("national_id", rapid.SampledFrom(lawIDs).Draw(h.t, "national id"))
	}
	out, err := h.l.Observe(h.ctx, id, evidence)
	h.must(err)
	h.checkViews(out)
	if n := out.Value("new_record_id"); n != nil {
		h.remember(n)
		if value != "" {
			h.learnt[n.(string)] = value
		}
	} else if value != "" {
		h.t.Fatalf("evidence %q made no new version", value)
	}
}

// checkViews: no decision supersedes itself.
func (h *history) checkViews(out *canon.Object) {
	list, _ := out.Value("decisions").([]any)
	for _, x := range list {
		d := x.(*canon.Object)
		if id := d.Value("decision_id"); d.Value("supersedes") == id || d.Value("superseded_by") == id {
			h.t.Fatalf("decision %v supersedes itself", id)
		}
	}
}

// membersOf is entity id -> members.
func (h *history) membersOf() map[string][]string {
	out := map[string][]string{}
	ents, err := h.l.Entities(h.ctx, "")
	h.must(err)
	for _, x := range ents.Value("entities").([]any) {
		e := x.(*canon.Object)
		id := e.Value("entity_id").(string)
		for _, r := range e.Value("records").([]any) {
			out[id] = append(out[id], r.(*canon.Object).Value("record_id").(string))
		}
		if len(out[id]) < 2 {
			h.t.Fatalf("entity %s has %d members", id, len(out[id]))
		}
	}
	return out
}

// checkGrowth: where nothing was superseded, an entity keeps its id and its
// members, or all of them are in one entity that was there before.
func (h *history) checkGrowth(before, after map[string][]string) {
	for id, members := range before {
		now, ok := after[id]
		if !ok {
			for other, all := range after {
				if _, old := before[other]; old && contains(all, members) {
					ok = true
				}
			}
			if !ok {
				h.t.Fatalf("entity %s is gone and nobody has its members", id)
			}
			continue
		}
		if !contains(now, members) {
			h.t.Fatalf("entity %s lost members", id)
		}
	}
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(x string) bool { return !slices.Contains(all, x) })
}

// checkPaths: path and entities say the same about pairs.
func (h *history) checkPaths(members map[string][]string) {
	of := map[string]string{}
	for id, list := range members {
		for _, r := range list {
			if of[r] != "" {
				h.t.Fatalf("record %s is in two entities", r)
			}
			of[r] = id
		}
	}
	for range 6 {
		if len(h.records) == 0 {
			return
		}
		a := rapid.SampledFrom(h.records).Draw(h.t, "from")
		b := rapid.SampledFrom(h.records).Draw(h.t, "to")
		p, err := h.l.Path(h.ctx, a, b)
		h.must(err)
		want := a == b || of[a] != "" && of[a] == of[b]
		if p.Value("same_entity") != want {
			h.t.Fatalf("path says %v of two records whose entities are %q and %q", p.Value("same_entity"), of[a], of[b])
		}
		steps, _ := p.Value("decisions").([]any)
		if p.Value("hops") != len(steps) {
			h.t.Fatalf("%v hops and %d decisions", p.Value("hops"), len(steps))
		}
	}
}

func (h *history) answers() []string {
	var out []string
	for _, f := range []func(context.Context, string) (*canon.Object, error){h.l.Entities, h.l.Cases} {
		o, err := f(h.ctx, "")
		h.must(err)
		b, err := canon.Indent(o)
		h.must(err)
		out = append(out, string(b))
	}
	return out
}

// checkGlimpses: a decision is answered from its own rows as from the whole.
func (h *history) checkGlimpses(ids []string) {
	read := func(before func()) []string {
		var out []string
		for _, id := range ids {
			for _, f := range []func(context.Context, string) (*canon.Object, error){h.l.Decision, h.l.Explain} {
				before()
				o, err := f(h.ctx, id)
				h.must(err)
				b, err := canon.Indent(o)
				h.must(err)
				out = append(out, string(b))
			}
		}
		return out
	}
	whole := read(func() {})
	if diff := cmp.Diff(whole, read(h.l.Glimpse)); diff != "" {
		h.t.Fatalf("a glimpse answers differently (-whole +glimpse)\n%s", diff)
	}
}

func (h *history) checkEnd() {
	ids := map[string]bool{}
	for e, err := range h.l.Events(h.ctx, ledger.Filter{Kinds: []string{ledger.KindDecisionRecorded}}) {
		h.must(err)
		id, _, _ := strings.Cut(e.Subject(), "@")
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		r, err := h.l.Replay(h.ctx, id)
		h.must(err)
		if r.Value("reproduced") != true {
			b, _ := canon.Compact(r)
			h.t.Fatalf("%s is not reproduced: %s", id, b)
		}
		d, err := h.l.Decision(h.ctx, id)
		h.must(err)
		if d.Value("supersedes") == id || d.Value("superseded_by") == id {
			h.t.Fatalf("decision %s supersedes itself", id)
		}
		_, err = h.l.Explain(h.ctx, id)
		h.must(err)
	}
	h.checkGlimpses(slices.Sorted(maps.Keys(ids)))
	for rec, value := range h.learnt {
		data, err := h.l.Blob(h.ctx, rec)
		h.must(err)
		if !strings.Contains(string(data), value) {
			h.t.Fatalf("record %s lost %q", rec, value)
		}
	}
	h.must(h.l.Verify(h.ctx, nil))
	rows, err := h.l.Dump(h.ctx)
	h.must(err)
	before := h.answers()
	h.l.LoadProjections() // what follows is answered from the tables, not from the log
	h.must(h.l.Rebuild(h.ctx))
	again, err := h.l.Dump(h.ctx)
	h.must(err)
	if diff := cmp.Diff(rows, again); diff != "" {
		h.t.Fatalf("rebuild changed rows (-increment +rebuild)\n%s", diff)
	}
	if diff := cmp.Diff(before, h.answers()); diff != "" {
		h.t.Fatalf("rebuild changed answers (-before +after)\n%s", diff)
	}
}

// TestRandomHistories holds the ledger's laws over random calls: rebuild equals
// increment, every decision replays to its own id, none supersedes itself, no
// evidence is lost, entity ids stay under growth, path and entities agree.
func TestRandomHistories(t *testing.T) {
	checks(t, "8", "500")
	steps := 25
	if long() {
		steps = 200
	}
	rapid.Check(t, func(rt *rapid.T) {
		l, err := ledger.Open("duckdb:///:memory:", ledger.Options{Clock: arctest.NewClock().Now})
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close()
		h := &history{t: rt, ctx: context.Background(), l: l, learnt: map[string]string{}}
		members := h.membersOf()
		for range steps {
			grows := true
			switch rapid.IntRange(0, 9).Draw(rt, "call") {
			case 0, 1, 2, 3:
				h.compare()
			case 4, 5, 6:
				h.resolve()
			default:
				h.observe()
				grows = false
			}
			after := h.membersOf()
			if grows {
				h.checkGrowth(members, after)
			}
			members = after
			h.checkPaths(members)
		}
		h.checkEnd()
	})
}
