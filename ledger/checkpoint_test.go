package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/proof"
)

func key(t testing.TB) *attest.Key {
	t.Helper()
	k, err := attest.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCheckpointNoticesAnotherHistory(t *testing.T) {
	k, other := key(t), key(t)
	path := filePath(t)
	l := open(t, path, ledger.Options{})
	compare(t, l, pair(1))
	compare(t, l, pair(2))
	note, err := l.Checkpoint(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, l, pair(3))
	c, err := l.VerifyAgainst(t.Context(), note, k.Public())
	if err != nil || c.Size != 8 {
		t.Fatalf("%+v %v", c, err)
	}
	if _, err := l.VerifyAgainst(t.Context(), note, other.Public()); !errors.Is(err, proof.ErrRefused) {
		t.Errorf("another key: %v", err)
	}
	for i := range note { // every byte of a checkpoint counts
		bad := []byte(note)
		bad[i] ^= 1
		if _, err := l.VerifyAgainst(t.Context(), string(bad), k.Public()); err == nil {
			t.Fatalf("byte %d (%q) flipped and nobody noticed", i, note[i])
		}
	}
	for _, bad := range []string{note + "\n", note + note, strings.TrimSuffix(note, "\n"), "x" + note, ""} {
		if _, err := proof.Open(bad, k.Public()); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
	// A ledger with other events is not the one that was signed.
	m := memory(t)
	for n := range 5 {
		compare(t, m, pair(n+10))
	}
	if _, err := m.VerifyAgainst(t.Context(), note, k.Public()); !errors.Is(err, ledger.ErrRewritten) {
		t.Errorf("another ledger: %v", err)
	}
}

func TestCheckpointsAreSignedByThemselves(t *testing.T) {
	k := key(t)
	l := open(t, filePath(t), ledger.Options{Signer: k, CheckpointEvery: 10})
	for n := range 8 {
		compare(t, l, pair(n))
	}
	signed := 0
	for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{ledger.KindCheckpointSigned}}) {
		if err != nil {
			t.Fatal(err)
		}
		signed++
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.VerifyAgainst(t.Context(), body.Value("note").(string), k.Public()); err != nil {
			t.Error(err)
		}
	}
	if signed < 2 {
		t.Errorf("%d checkpoints over 32 events", signed)
	}
	if err := l.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestCheckpointAfterSoManyEvents: a checkpoint follows the unit that fills the
// number, counted from the last one, and no other.
func TestCheckpointAfterSoManyEvents(t *testing.T) {
	for _, c := range []struct {
		every int64
		want  []int64
	}{{4, []int64{5, 10, 15}}, {5, []int64{9}}, {8, []int64{9}}, {9, []int64{13}}, {100, nil}, {0, nil}, {-1, nil}} {
		l := open(t, "duckdb:///:memory:", ledger.Options{Signer: key(t), CheckpointEvery: c.every})
		for n := range 3 { // four events each
			compare(t, l, pair(n))
		}
		var at []int64
		for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{ledger.KindCheckpointSigned}}) {
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, e.Seq())
		}
		if !slices.Equal(at, c.want) {
			t.Errorf("every %d: at %v, want %v", c.every, at, c.want)
		}
	}
}

func TestProofFilesCheckOffline(t *testing.T) {
	k := key(t)
	l := open(t, filePath(t), ledger.Options{})
	var ids []string
	for n := range 7 {
		ids = append(ids, compare(t, l, pair(n)).Edges[0].DecisionID)
	}
	for _, id := range ids {
		data, err := l.Prove(t.Context(), id, k)
		if err != nil {
			t.Fatal(err)
		}
		f, c, err := ledger.CheckProof(data, k.Public())
		if err != nil {
			t.Fatalf("%s: %v\n%s", id, err, data)
		}
		if !strings.HasPrefix(f.Event.Subject, id+"@") || c.Size < 28 {
			t.Errorf("proof of %s is about %s, size %d", id, f.Event.Subject, c.Size)
		}
	}
	for e, err := range l.Events(t.Context(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := l.Prove(t.Context(), e.ID(), k)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ledger.CheckProof(data, k.Public()); err != nil {
			t.Errorf("event %d: %v", e.Seq(), err)
		}
		if e.Seq() > 12 {
			break
		}
	}
}

func TestEveryByteOfAProofCounts(t *testing.T) {
	k := key(t)
	l := memory(t)
	id := compare(t, l, pair(1)).Edges[0].DecisionID
	compare(t, l, pair(2))
	data, err := l.Prove(t.Context(), id, k)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for _, mask := range []byte{1, 0x20} {
			bad := append([]byte(nil), data...)
			bad[i] ^= mask
			if _, _, err := ledger.CheckProof(bad, k.Public()); err == nil {
				t.Fatalf("byte %d (%q) changed and the proof is accepted", i, data[i])
			}
		}
	}
	text := string(data)
	for name, bad := range map[string]string{
		"trailing bytes":   text + " ",
		"unknown form":     strings.Replace(text, "arche.proof.v1", "arche.proof.v2", 1),
		"a key twice":      strings.Replace(text, `"form": "arche.proof.v1",`, `"form": "arche.proof.v1", "form": "arche.proof.v1",`, 1),
		"a key more":       strings.Replace(text, `"form": "arche.proof.v1",`, `"form": "arche.proof.v1", "alg": "none",`, 1),
		"cut":              text[:len(text)/2],
		"no hashes":        strings.Replace(text, `"hashes"`, `"hashez"`, 1),
		"not json":         "{",
		"another event id": strings.Replace(text, `"seq": 4`, `"seq": 5`, 1),
	} {
		if bad == text {
			t.Fatalf("%s changed nothing", name)
		}
		if _, _, err := ledger.CheckProof([]byte(bad), k.Public()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, _, err := ledger.CheckProof(data, key(t).Public()); err == nil {
		t.Error("another key: accepted")
	}
}

func FuzzCheckProof(f *testing.F) {
	k, err := attest.NewKey([]byte(fmt.Sprintf("%032d", 7)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"form": "arche.proof.v1", "event": {}, "inclusion": {}, "checkpoint": "", "key": ""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, err := ledger.CheckProof(data, k.Public()); err == nil {
			t.Errorf("accepted %q", data)
		}
	})
}
