package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
)

// TestCheckpointsOfDamagedLogs: while a ledger has its state, an event that is
// gone or has no link is named before anything is signed, proven or compared.
func TestCheckpointsOfDamagedLogs(t *testing.T) {
	l, ctx := openHere(t, Options{}), t.Context()
	key, err := attest.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Kijani", "Zentari", "Harmuko"} {
		mustCompare(t, l, twoRows("organisation", name+" Tea Exporters Ltd", name+" Tea Exporters Limited"))
	}
	note, err := l.Checkpoint(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	_, seq, _, err := l.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	first, last := linkBefore(t, l, 2), eventOfKind(t, l, KindCheckpointSigned)
	verbs := map[string]func() error{
		"checkpoint":     func() error { _, err := l.Checkpoint(ctx, key); return err },
		"prove":          func() error { _, err := l.Prove(ctx, last.id, key); return err },
		"verify against": func() error { _, err := l.VerifyAgainst(ctx, note, key.Public()); return err },
	}
	for _, x := range []struct{ name, want, sql string }{
		{"an event gone", "not where it belongs", "DELETE FROM events WHERE seq = 3"},
		{"the first event gone", "", "DELETE FROM events WHERE seq = 1"},
		{"an event twice", "not where it belongs", "INSERT INTO events SELECT * FROM events WHERE seq = 3"},
		{"no link", "event 3 has no link", "UPDATE events SET link = 'x y' WHERE seq = 3"},
		{"no first link", "event 1 has no link", "UPDATE events SET link = NULL WHERE seq = 1"},
	} {
		for name, call := range verbs {
			for _, grown := range []bool{false, true} {
				if grown && name == "checkpoint" && !strings.Contains(x.name, "first") {
					continue // it looks at what is new, and at the first
				}
				if err := l.use(ctx, func(db *duck.DB, s *state) error { return l.grow(ctx, db, s) }); err != nil {
					t.Fatal(err)
				}
				if !grown {
					l.tree = nil
				}
				within(t, l, func() {
					if err := call(); !errors.Is(err, ErrAltered) || !strings.Contains(err.Error(), x.want) {
						t.Errorf("%s, %s (tree %v): %v", x.name, name, grown, err)
					}
				}, x.sql)
			}
		}
	}
	if _, after, _, err := l.Head(ctx); err != nil || after != seq {
		t.Errorf("%d events before, %d after, %v", seq, after, err)
	}
	if got := linkBefore(t, l, 2); got != first {
		t.Error("the first link changed")
	}
	for name, call := range verbs {
		if err := call(); err != nil {
			t.Errorf("put back: %s: %v", name, err)
		}
	}
	if _, err := openHere(t, Options{}).VerifyAgainst(ctx, note, key.Public()); !errors.Is(err, ErrRewritten) || !fault.Is(err, fault.Damaged) {
		t.Errorf("an empty ledger: %v", err)
	}
}
