package ledger_test

import (
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/ledger"
)

// TestUnsignedCheckpointIsNoFailure fails every statement of calls on a ledger
// that signs a checkpoint by itself behind each: a call that is durable is
// answered whatever becomes of its checkpoint, the ledger goes on with what is
// there, and the next call's checkpoint covers both.
func TestUnsignedCheckpointIsNoFailure(t *testing.T) {
	k := key(t)
	var f *arctest.Fault
	l := open(t, "duckdb:///:memory:", ledger.Options{Signer: k, CheckpointEvery: 1, Clock: arctest.NewClock().Now, Fault: func(op string) error {
		if f == nil {
			return nil
		}
		return f.Ask(op)
	}})
	compare(t, l, pair(0))
	acked, failed, spared := 1, 0, 0
	for n := 1; ; n++ {
		f = &arctest.Fault{N: n, Err: errDisk, Match: ofStore}
		_, err := l.Compare(t.Context(), pair(n))
		hit := f.Hit
		f = nil
		switch {
		case err != nil:
			failed++
		case hit != "":
			spared++
		}
		if err == nil {
			acked++
		}
		ents, err := l.Entities(t.Context(), "")
		if got := countOf(t, ents, err); got != acked {
			t.Fatalf("operation %d (%s): %d entities, %d calls were answered", n, hit, got, acked)
		}
		if hit == "" {
			break
		}
	}
	if failed < 5 || spared < 5 {
		t.Errorf("%d calls failed, %d were answered without their checkpoint", failed, spared)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	var note string
	for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{ledger.KindCheckpointSigned}}) {
		if err != nil {
			t.Fatal(err)
		}
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		note, _ = body.Value("note").(string)
	}
	if _, err := l.VerifyAgainst(t.Context(), note, k.Public()); err != nil {
		t.Errorf("the last checkpoint: %v", err)
	}
}
