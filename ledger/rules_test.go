package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/fault"
)

// TestCheckEvent: an event is believed where it stands, with its content, actor
// and time, and nowhere else.
func TestCheckEvent(t *testing.T) {
	prev := strings.Repeat("ab", 32)
	sound := func() *Event {
		e := &Event{log: logMain, seq: 8, version: eventVersion, kind: "project.initialised", subject: "project", body: `{"size":1}`,
			actor: "steward", recordedAt: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)}
		e.id = eventID(e.version, e.kind, e.subject, e.supersedes, e.body)
		e.link = chainLink(prev, e)
		return e
	}
	if err := checkEvent(sound(), 7, prev); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, says string
		seq        int64
		prev       string
		change     func(e *Event)
	}{
		{"a gap before it", "missing before it", 6, prev, nil},
		{"its place twice", "missing before it", 8, prev, nil},
		{"another body", "does not fit its address", 7, prev, func(e *Event) { e.body = `{"size":2}` }},
		{"another kind", "does not fit its address", 7, prev, func(e *Event) { e.kind = "project.renamed" }},
		{"another subject", "does not fit its address", 7, prev, func(e *Event) { e.subject = "projects" }},
		{"another version", "does not fit its address", 7, prev, func(e *Event) { e.version++ }},
		{"an older one", "does not fit its address", 7, prev, func(e *Event) { e.supersedes = e.id }},
		{"another actor", "its link does not fit", 7, prev, func(e *Event) { e.actor = "agent" }},
		{"another time", "its link does not fit", 7, prev, func(e *Event) { e.recordedAt = e.recordedAt.Add(time.Microsecond) }},
		{"another link", "its link does not fit", 7, prev, func(e *Event) { e.link = prev }},
		{"another one before it", "its link does not fit", 7, strings.Repeat("cd", 32), nil},
	} {
		e := sound()
		if c.change != nil {
			c.change(e)
		}
		err := checkEvent(e, c.seq, c.prev)
		if !fault.Is(err, fault.Damaged) || !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "event 8") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestSurvivor: of two entities that become one, a pair's verb keeps the one with
// the earlier link; a batch keeps side a's, unless side b's alone was there before.
func TestSurvivor(t *testing.T) {
	const before, now = 10, 20
	for _, c := range []struct {
		name           string
		batch          bool
		bornA, bornB   int64
		firstA, firstB int64
		want           int32
	}{
		{"pair, a earlier", false, before, before, 1, 2, 0},
		{"pair, b earlier", false, before, before, 2, 1, 1},
		{"pair, equal", false, before, before, 1, 1, 0},
		{"pair, b earlier and a born before", false, before, now, 2, 1, 1},
		{"batch, both before", true, before, before, 2, 1, 0},
		{"batch, b alone before", true, now, before, 1, 2, 1},
		{"batch, a alone before", true, before, now, 2, 1, 0},
		{"batch, both in it", true, now, now, 2, 1, 0},
	} {
		s := &state{ents: []entity{{born: c.bornA, first: c.firstA}, {born: c.bornB, first: c.firstB}}}
		if got := s.survivor(0, 1, change{at: now, batch: c.batch}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestCovers: only values of the field count, and all of them.
func TestCovers(t *testing.T) {
	id, other := func(v string) exactValue { return exactValue{"national_id", v} }, exactValue{"email", "x"}
	for _, c := range []struct {
		a, b []exactValue
		want bool
	}{
		{nil, nil, true},
		{nil, []exactValue{other}, true},
		{[]exactValue{id("1")}, []exactValue{id("1")}, true},
		{[]exactValue{id("1"), id("2")}, []exactValue{id("2")}, true},
		{[]exactValue{id("1")}, []exactValue{id("2")}, false},
		{[]exactValue{id("1")}, []exactValue{id("1"), id("2")}, false},
		{[]exactValue{other}, []exactValue{id("1")}, false},
		{[]exactValue{id("1")}, []exactValue{id("1"), other}, true},
	} {
		if got := covers(c.a, c.b, "national_id"); got != c.want {
			t.Errorf("%v covers %v: %v", c.a, c.b, got)
		}
	}
	if !hasField([]exactValue{id("1"), other}, "email") || hasField([]exactValue{id("1")}, "email") || hasField(nil, "email") {
		t.Error("fields are not told apart")
	}
}

// TestArrivalDecides: what a newcomer's edges come to, in the order of what weighs
// most.
func TestArrivalDecides(t *testing.T) {
	match, review := candidate{identity: "match", matched: 2}, candidate{identity: "review"}
	for _, c := range []struct {
		name      string
		v         arrival
		edges     int
		verdict   string
		noteHolds string
	}{
		{"nothing near", arrival{nearest: -1}, 0, "not_found", "came close"},
		{"near pairs alone", arrival{nearest: -1}, 1, "review", "open cases"},
		{"one entity reviewed", arrival{candidates: []candidate{review}}, 3, "review", "open cases"},
		{"one entity", arrival{candidates: []candidate{review, match}, nearest: 1}, 2, "found", "2 member(s)"},
		{"one entity and a loose record", arrival{candidates: []candidate{match}, loose: []int{0}}, 2, "found", "2 member(s)"},
		{"one loose record", arrival{nearest: -1, loose: []int{0}}, 1, "found", "not yet in any entity"},
		{"one entity that it contradicts", arrival{candidates: []candidate{match}, conflicts: []string{"isni"}}, 2, "conflict", "isni"},
		{"a near one that it contradicts", arrival{candidates: []candidate{review}, conflicts: []string{"isni"}}, 2, "conflict", "isni"},
		{"two entities", arrival{candidates: []candidate{match, match}, conflicts: []string{"isni"}}, 2, "ambiguous", "2 entities"},
	} {
		verdict, note := c.v.decide(c.edges)
		if verdict != c.verdict || !strings.Contains(note, c.noteHolds) {
			t.Errorf("%s: %s, %q", c.name, verdict, note)
		}
	}
	if a, b := conflictNote([]string{"isni"}, true), conflictNote([]string{"isni"}, false); a == b {
		t.Errorf("a conflict with a match reads as one without: %s", a)
	}
}
