package proof_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/ledger/proof"
)

// linkOf is the n-th link of a log that holds nothing else.
func linkOf(n int) string { return fmt.Sprintf("%064x", n+1) }

// rehash fits the events below: their link is what their seq says.
func rehash(e *proof.Event) (id, link string, err error) {
	if e.Kind == "broken" {
		return "", "", errors.New("broken")
	}
	return "evt:" + e.Body, linkOf(int(e.Seq) - 1), nil
}

// provenFile is the proof of the event at index in a log of n.
func provenFile(t *testing.T, key *attest.Key, index, n int) *proof.File {
	t.Helper()
	tree := proof.NewTree()
	var links []string
	for i := range n {
		links = append(links, linkOf(i))
		if err := tree.Add(linkOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := tree.Root()
	if err != nil || tree.Size() != uint64(n) {
		t.Fatal(tree.Size(), err)
	}
	text, err := proof.Sign(proof.Checkpoint{Origin: proof.Origin(linkOf(0)), Size: uint64(n), Root: root}, key)
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := proof.Inclusion(links, uint64(index))
	if err != nil {
		t.Fatal(err)
	}
	return &proof.File{
		Event: proof.Event{Log: "main", ID: "evt:x", Kind: "k", Subject: "s", Body: "x", Actor: "a", RecordedAt: "t", Prev: linkOf(index - 1), Link: linkOf(index),
			Seq: int64(index + 1), Version: 1},
		Size: uint64(n), Hashes: hashes, Checkpoint: text, Key: key.DID(),
	}
}

// TestEveryPlaceIsProven: each event of logs of many sizes, and of no other place.
func TestEveryPlaceIsProven(t *testing.T) {
	key := signer(t, "a")
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 17} {
		for index := range n {
			f := provenFile(t, key, index, n)
			data, err := f.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			got, c, err := proof.Check(data, key.Public(), rehash)
			if err != nil || c.Size != uint64(n) || got.Event.Seq != int64(index+1) || proof.Hex(c.Root) != hex.EncodeToString(c.Root) {
				t.Fatalf("event %d of %d: %v", index+1, n, err)
			}
			if n > 1 {
				f.Event.Seq = int64((index+1)%n + 1)
				f.Event.Link = linkOf(int(f.Event.Seq) - 1)
				if data, err = f.Marshal(); err != nil {
					t.Fatal(err)
				}
				if _, _, err := proof.Check(data, key.Public(), rehash); !errors.Is(err, proof.ErrRefused) {
					t.Fatalf("event %d of %d passes for event %d: %v", index+1, n, f.Event.Seq, err)
				}
			}
		}
	}
}

// TestProofsThatAreNone: each element that is wrong is refused, in one sentence.
func TestProofsThatAreNone(t *testing.T) {
	key := signer(t, "a")
	text := func(change func(f *proof.File)) []byte {
		f := provenFile(t, key, 2, 5)
		change(f)
		data, err := f.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	same := func(*proof.File) {}
	edit := func(old, now string) []byte {
		data := text(same)
		if !bytes.Contains(data, []byte(old)) {
			t.Fatalf("%q is not in %s", old, data)
		}
		return bytes.Replace(data, []byte(old), []byte(now), 1)
	}
	for name, x := range map[string]struct {
		data []byte
		want string
	}{
		"too large":         {make([]byte, 16<<20+1), "larger than 16 MiB"},
		"as large":          {make([]byte, 16<<20), "no JSON object"},
		"no object":         {[]byte("[]"), "no JSON object"},
		"another form":      {edit("arche.proof.v1", "arche.proof.v2"), "a form this program does not know"},
		"no event":          {[]byte(`{"form": "arche.proof.v1", "inclusion": {}}`), "no event or no inclusion"},
		"no inclusion":      {[]byte(`{"form": "arche.proof.v1", "event": {}}`), "no event or no inclusion"},
		"no number":         {edit(`"seq": 3`, `"seq": "3"`), "no whole numbers"},
		"a negative number": {edit(`"seq": 3`, `"seq": -3`), "no whole numbers"},
		"a large number":    {edit(`"seq": 3`, `"seq": 2147483648`), "no whole numbers"},
		"no version":        {edit(`"v": 1`, `"v": 1.5`), "no whole numbers"},
		"no size":           {edit(`"size": 5`, `"size": null`), "no whole numbers"},
		"a short hash":      {text(func(f *proof.File) { f.Hashes[0] = f.Hashes[0][:31] }), "no hash"},
		"a hash of no text": {[]byte(strings.Replace(string(text(same)), `"hashes": [`, `"hashes": [7,`, 1)), "no hash"},
		"a key twice":       {edit(`"form"`, `"form": "arche.proof.v1", "form"`), "not in the form"},
		"a key more":        {edit(`"form"`, `"more": 1, "form"`), "not in the form"},
		"another index":     {edit(`"index": 2`, `"index": 3`), "not in the form"},
		"a space more":      {append(text(same), ' '), "not in the form"},
		"a broken event":    {text(func(f *proof.File) { f.Event.Kind = "broken" }), "cannot be read"},
		"another content":   {text(func(f *proof.File) { f.Event.Body = "y" }), "does not fit its address"},
		"another link":      {text(func(f *proof.File) { f.Event.Link = linkOf(9) }), "link does not fit"},
		"no checkpoint":     {text(func(f *proof.File) { f.Checkpoint = "x" }), "not signed by the key"},
		"another key":       {text(func(f *proof.File) { f.Key = signer(t, "b").DID() }), "names another signer"},
		"event nought":      {text(func(f *proof.File) { f.Event.Seq, f.Event.Link = 0, linkOf(-1) }), "another tree"},
		"another size":      {text(func(f *proof.File) { f.Size = 6 }), "another tree"},
		"hashes exchanged":  {text(func(f *proof.File) { f.Hashes[0], f.Hashes[1] = f.Hashes[1], f.Hashes[0] }), "not in the checkpoint's tree"},
		"a hash less":       {text(func(f *proof.File) { f.Hashes = f.Hashes[1:] }), "not in the checkpoint's tree"},
	} {
		if f, _, err := proof.Check(x.data, key.Public(), rehash); !errors.Is(err, proof.ErrRefused) || !strings.Contains(err.Error(), x.want) || f != nil {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	replaced := text(func(f *proof.File) { f.Event.Supersedes = "evt:before" })
	if f, _, err := proof.Check(replaced, key.Public(), rehash); err != nil || f.Event.Supersedes != "evt:before" {
		t.Errorf("%v %v", f, err)
	}
}

// TestLinksThatAreNone: what is no link is in no tree.
func TestLinksThatAreNone(t *testing.T) {
	tree := proof.NewTree()
	empty, err := tree.Root()
	if err != nil || len(empty) != 32 {
		t.Fatalf("%x %v", empty, err)
	}
	for _, link := range []string{"", "zz", strings.Repeat("0", 62), strings.Repeat("0", 66), strings.Repeat("g", 64)} {
		if err := tree.Add(link); !errors.Is(err, proof.ErrRefused) {
			t.Errorf("%q: %v", link, err)
		}
		if _, err := proof.Inclusion([]string{link}, 0); !errors.Is(err, proof.ErrRefused) {
			t.Errorf("%q: %v", link, err)
		}
	}
	if _, err := proof.Inclusion([]string{linkOf(1)}, 1); err == nil {
		t.Error("an event behind the end is proven")
	}
	if tree.Size() != 0 {
		t.Errorf("%d links", tree.Size())
	}
}

// foreign signs anything, as somebody with the key could.
type foreign struct{ key *attest.Key }

func (f foreign) Public() ed25519.PublicKey { return f.key.Public() }
func (f foreign) Sign(m []byte) []byte      { return f.key.Sign(m) }

// TestNotesOfOtherForms: what the key holder signed in another form is none of
// ours.
func TestNotesOfOtherForms(t *testing.T) {
	key := signer(t, "a")
	origin := "arche-ledger/x"
	signed := func(text string) string {
		out, err := note.Sign(&note.Note{Text: text}, proof.NoteSigner(origin, foreign{key}))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	whole := string(log.Checkpoint{Origin: origin, Size: 3, Hash: bytes.Repeat([]byte{1}, 32)}.Marshal())
	if _, err := proof.Open(signed(whole), key.Public()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"an extension": whole + "more\n",
		"a short root": string(log.Checkpoint{Origin: origin, Size: 3, Hash: bytes.Repeat([]byte{1}, 31)}.Marshal()),
	} {
		if _, err := proof.Open(signed(text), key.Public()); !errors.Is(err, proof.ErrRefused) || !strings.Contains(err.Error(), "more than name, size and root") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := proof.Sign(proof.Checkpoint{Origin: "a\nb", Size: 1, Root: make([]byte, 32)}, key); err == nil {
		t.Error("a name of two lines was signed")
	}
	if _, err := proof.Sign(proof.Checkpoint{Origin: "a+b c", Size: 1, Root: make([]byte, 32)}, key); err == nil {
		t.Error("a name that no note can hold was signed")
	}
	if got := proof.Origin("abc"); got != "arche-ledger/abc" {
		t.Errorf("%s", got)
	}
	if got := proof.Origin(linkOf(0)); got != "arche-ledger/"+linkOf(0)[:16] {
		t.Errorf("%s", got)
	}
}
