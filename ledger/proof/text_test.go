package proof_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/ledger/proof"
)

// TestTextThatIsNoneIsRefused: a proof file whose texts have no canonical form is
// refused by name, however it says them, and is never written.
func TestTextThatIsNoneIsRefused(t *testing.T) {
	key := signer(t, "a")
	f := provenFile(t, key, 1, 3)
	f.Event.Actor = "ada\xff"
	if data, err := f.Marshal(); err == nil {
		t.Errorf("written as %q", data)
	}
	f.Event.Actor = "ada"
	data, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := proof.Check(data, key.Public(), rehash); err != nil {
		t.Fatal(err)
	}
	for _, actor := range []string{`ada\ud800`, "ada\xff", `ada\udc00\ud800`} {
		forged := strings.Replace(string(data), `"actor": "ada"`, `"actor": "`+actor+`"`, 1)
		if got, _, err := proof.Check([]byte(forged), key.Public(), rehash); !errors.Is(err, proof.ErrRefused) || got != nil {
			t.Errorf("%q: %v %v", actor, got, err)
		}
	}
}

// TestLinksThatAreNoneAreRefused: a link is 64 hex digits, for the tree, for a
// proof and for what an event is found to have.
func TestLinksThatAreNoneAreRefused(t *testing.T) {
	key := signer(t, "a")
	for _, link := range []string{"", "x", strings.Repeat("0", 63), strings.Repeat("g", 64), strings.Repeat("0", 66)} {
		tree := proof.NewTree()
		if err := tree.Add(link); !errors.Is(err, proof.ErrRefused) || tree.Size() != 0 {
			t.Errorf("%q is in a tree of %d: %v", link, tree.Size(), err)
		}
		if _, err := proof.Inclusion([]string{linkOf(0), link}, 0); !errors.Is(err, proof.ErrRefused) {
			t.Errorf("%q is proven: %v", link, err)
		}
		f := provenFile(t, key, 1, 3)
		f.Event.Link = link
		data, err := f.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		same := func(e *proof.Event) (id, link string, err error) { return "evt:" + e.Body, e.Link, nil }
		if _, _, err := proof.Check(data, key.Public(), same); !errors.Is(err, proof.ErrRefused) || !strings.Contains(err.Error(), "a link is not 64 hex digits") {
			t.Errorf("%q: %v", link, err)
		}
	}
	if _, err := proof.Inclusion([]string{linkOf(0)}, 1); err == nil {
		t.Error("a place that is not there was proven")
	}
}
