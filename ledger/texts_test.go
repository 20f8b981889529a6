package ledger_test

import (
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
)

// TestTextsOfEventsAreText: bytes that are no UTF-8 would come back as something
// else. A subject says what an event is about and is refused; an actor is noted as
// well as it can be, whether the call or the operator names it.
func TestTextsOfEventsAreText(t *testing.T) {
	l := open(t, "duckdb:///:memory:", ledger.Options{Actor: "steward\xff"})
	draft := func(subject string) []ledger.Draft {
		return []ledger.Draft{{Kind: "project.initialised", Subject: subject, Body: canon.Obj("size", 1)}}
	}
	if _, err := l.Append(t.Context(), draft("doc:\xff.md")); !fault.Is(err, fault.Invalid) {
		t.Errorf("a subject of other bytes: %v", err)
	}
	if _, err := l.Append(t.Context(), draft("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(ledger.WithActor(t.Context(), "agent\xfe"), draft("b")); err != nil {
		t.Fatal(err)
	}
	var actors []string
	for e, err := range l.Events(t.Context(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		actors = append(actors, e.Actor())
	}
	if len(actors) != 2 || actors[0] != "steward\uFFFD" || actors[1] != "agent\uFFFD" {
		t.Errorf("%q", actors)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestLastTime: a ledger without events has no last time.
func TestLastTime(t *testing.T) {
	l := memory(t)
	if at, err := l.LastTime(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("empty: %v, %v", at, err)
	}
	compare(t, l, pair(1))
	var last ledger.Event
	for e, err := range l.Events(t.Context(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if at, err := l.LastTime(t.Context()); err != nil || !at.Equal(last.RecordedAt()) {
		t.Errorf("%v, %v; the last event is of %v", at, err, last.RecordedAt())
	}
}
