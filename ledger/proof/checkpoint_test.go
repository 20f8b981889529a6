package proof_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/ledger/proof"
)

func signer(t *testing.T, letter string) *attest.Key {
	t.Helper()
	k, err := attest.NewKey([]byte(strings.Repeat(letter, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestNoteHoldsNothingElse: a signed note is refused when anybody put something
// beside what was signed, a good signature of their own included.
func TestNoteHoldsNothingElse(t *testing.T) {
	ours, theirs := signer(t, "a"), signer(t, "b")
	c := proof.Checkpoint{Origin: proof.Origin(strings.Repeat("0f", 32)), Size: 7, Root: bytes.Repeat([]byte{9}, 32)}
	note, err := proof.Sign(c, ours)
	if err != nil {
		t.Fatal(err)
	}
	other, err := proof.Sign(c, theirs)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := proof.Open(note, ours.Public()); err != nil || got.Size != c.Size || !bytes.Equal(got.Root, c.Root) || got.Origin != c.Origin {
		t.Fatalf("%+v %v", got, err)
	}
	body, line, _ := strings.Cut(note, "\n\n")
	_, second, _ := strings.Cut(other, "\n\n")
	for name, bad := range map[string]string{
		"another's signature behind": note + second,
		"another's signature before": body + "\n\n" + second + line,
		"ours twice":                 note + line,
		"a line in the body":         body + "\nextra\n\n" + line,
		"another size":               strings.Replace(note, "\n7\n", "\n8\n", 1),
		"another log":                strings.Replace(note, "arche-ledger/", "arche-ledgar/", 1),
		"padding left out":           strings.TrimSuffix(strings.TrimSuffix(note, "\n"), "=") + "\n",
		"signed by another":          other,
	} {
		if bad == note {
			t.Fatalf("%s changed nothing", name)
		}
		if _, err := proof.Open(bad, ours.Public()); !errors.Is(err, proof.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := proof.Open(note, theirs.Public()); !errors.Is(err, proof.ErrRefused) {
		t.Errorf("checked with another key: %v", err)
	}
	if _, err := proof.Open(note, nil); !errors.Is(err, proof.ErrRefused) {
		t.Errorf("checked with no key: %v", err)
	}
}

// TestOthersOpenOurNotes: the signed note is one to programs that know nothing
// of ours, the way it names the key included.
func TestOthersOpenOurNotes(t *testing.T) {
	key := signer(t, "a")
	c := proof.Checkpoint{Origin: proof.Origin(strings.Repeat("0f", 32)), Size: 7, Root: bytes.Repeat([]byte{9}, 32)}
	text, err := proof.Sign(c, key)
	if err != nil {
		t.Fatal(err)
	}
	named, err := note.NewEd25519VerifierKey(c.Origin, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(named)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := note.Open([]byte(text), note.VerifierList(verifier))
	if err != nil || len(opened.Sigs) != 1 || !strings.HasPrefix(opened.Text, c.Origin+"\n7\n") {
		t.Errorf("%+v, %v", opened, err)
	}
}
