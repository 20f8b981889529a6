package proof

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
)

// form is the version of proof files.
const form = "arche.proof.v1"

// Event is an event as a proof shows it. Prev is the link before it.
type Event struct {
	Log, ID, Kind, Subject, Supersedes, Body, Actor, RecordedAt, Prev, Link string
	Seq                                                                     int64
	Version                                                                 int
}

// Rehash recomputes an event's address and link from what is shown of it.
type Rehash func(e *Event) (id, link string, err error)

// File is a proof: an event, its place in the tree of a checkpoint, and the
// checkpoint.
type File struct {
	Event      Event
	Size       uint64
	Hashes     [][]byte // inclusion proof, leaf to root
	Checkpoint string   // signed note
	Key        string   // did:key of the signer; it must be the verifier's
}

// Inclusion computes the inclusion proof of the event at index (from 0) among
// all links of a tree.
func Inclusion(links []string, index uint64) ([][]byte, error) {
	size := uint64(len(links))
	nodes, err := proof.Inclusion(index, size)
	if err != nil {
		return nil, fmt.Errorf("inclusion proof: %w", err)
	}
	want := map[compact.NodeID][]byte{}
	for _, id := range nodes.IDs {
		want[id] = nil
	}
	r := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	visit := func(id compact.NodeID, hash []byte) {
		if _, ok := want[id]; ok {
			want[id] = append([]byte(nil), hash...)
		}
	}
	for _, link := range links {
		h, err := leafHash(link)
		if err == nil {
			err = r.Append(h, visit)
		}
		if err != nil {
			return nil, fmt.Errorf("inclusion proof: %w", err)
		}
	}
	hashes := make([][]byte, len(nodes.IDs))
	for i, id := range nodes.IDs {
		hashes[i] = want[id]
	}
	return nodes.Rehash(hashes, rfc6962.DefaultHasher.HashChildren) // it has all the hashes it asks for
}

// Marshal writes the file in its one form.
func (f *File) Marshal() ([]byte, error) {
	hashes := make([]any, len(f.Hashes))
	for i, h := range f.Hashes {
		hashes[i] = base64.StdEncoding.EncodeToString(h)
	}
	e := &f.Event
	var supersedes any
	if e.Supersedes != "" {
		supersedes = e.Supersedes
	}
	text, err := canon.Indent(canon.Obj(
		"form", form,
		"event", canon.Obj("log", e.Log, "seq", e.Seq, "v", e.Version, "id", e.ID, "kind", e.Kind, "subject", e.Subject,
			"supersedes", supersedes, "body", e.Body, "actor", e.Actor, "recorded_at", e.RecordedAt, "prev", e.Prev, "link", e.Link),
		"inclusion", canon.Obj("index", e.Seq-1, "size", canon.Number(fmt.Sprint(f.Size)), "hashes", hashes),
		"checkpoint", f.Checkpoint,
		"key", f.Key,
	))
	if err != nil {
		return nil, fmt.Errorf("write proof: %w", err)
	}
	return append(text, '\n'), nil
}

// Check reads a proof file and checks every element of it: the event's address
// and link, the inclusion proof, the checkpoint's signature by the verifier's
// key. The file must be byte for byte what Marshal writes.
func Check(data []byte, key ed25519.PublicKey, rehash Rehash) (*File, Checkpoint, error) {
	f, err := parse(data)
	if err != nil {
		return nil, Checkpoint{}, err
	}
	again, _ := f.Marshal() // nothing where it holds text that is none, which is not what was read
	if !bytes.Equal(again, data) {
		return nil, Checkpoint{}, refuse("the proof file is not in the form it was written in: a key twice or unknown, or bytes beside it")
	}
	id, link, err := rehash(&f.Event)
	if err != nil {
		return nil, Checkpoint{}, refuse("the event cannot be read")
	}
	if id != f.Event.ID {
		return nil, Checkpoint{}, refuse("the event's content does not fit its address")
	}
	if link != f.Event.Link {
		return nil, Checkpoint{}, refuse("the event's link does not fit its place, actor or time")
	}
	c, err := Open(f.Checkpoint, key)
	if err != nil {
		return nil, Checkpoint{}, err
	}
	if f.Key != attest.EncodeDID(key) {
		return nil, Checkpoint{}, refuse("the proof file names another signer than the key given")
	}
	leaf, err := leafHash(f.Event.Link)
	if err != nil {
		return nil, Checkpoint{}, err
	}
	if f.Event.Seq < 1 || f.Size != c.Size {
		return nil, Checkpoint{}, refuse("the proof is for another tree than the checkpoint's")
	}
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(f.Event.Seq-1), c.Size, leaf, f.Hashes, c.Root); err != nil { //nolint:gosec // at least 1
		return nil, Checkpoint{}, refuse("the event is not in the checkpoint's tree")
	}
	return f, c, nil
}

// parse reads the elements of a proof file. Whether there is anything else in
// it shows when it is written again.
func parse(data []byte) (*File, error) {
	const most = 16 << 20
	if len(data) > most {
		return nil, refuse("the proof file is larger than 16 MiB")
	}
	o, err := canon.ParseObject(data, canon.Limits{Depth: 8})
	if err != nil {
		return nil, refuse("the proof file is no JSON object")
	}
	if o.Value("form") != form {
		return nil, refuse("the proof file has a form this program does not know; it knows %s", form)
	}
	e, ok1 := o.Value("event").(*canon.Object)
	in, ok2 := o.Value("inclusion").(*canon.Object)
	if !ok1 || !ok2 {
		return nil, refuse("the proof file has no event or no inclusion proof")
	}
	f := &File{}
	for _, x := range []struct {
		from *canon.Object
		key  string
		to   *string
	}{
		{e, "log", &f.Event.Log}, {e, "id", &f.Event.ID}, {e, "kind", &f.Event.Kind}, {e, "subject", &f.Event.Subject},
		{e, "supersedes", &f.Event.Supersedes}, {e, "body", &f.Event.Body}, {e, "actor", &f.Event.Actor},
		{e, "recorded_at", &f.Event.RecordedAt}, {e, "prev", &f.Event.Prev}, {e, "link", &f.Event.Link},
		{o, "checkpoint", &f.Checkpoint}, {o, "key", &f.Key},
	} {
		*x.to, _ = x.from.Value(x.key).(string)
	}
	seq, ok1 := whole(e.Value("seq"))
	version, ok2 := whole(e.Value("v"))
	size, ok3 := whole(in.Value("size"))
	if !ok1 || !ok2 || !ok3 {
		return nil, refuse("the proof file has numbers that are no whole numbers")
	}
	f.Event.Seq, f.Event.Version, f.Size = seq, int(version), uint64(size) //nolint:gosec // not negative
	list, _ := in.Value("hashes").([]any)
	for _, h := range list {
		text, _ := h.(string)
		raw, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || len(raw) != 32 {
			return nil, refuse("the inclusion proof holds something that is no hash")
		}
		f.Hashes = append(f.Hashes, raw)
	}
	return f, nil
}

func whole(v any) (int64, bool) {
	n, ok := v.(canon.Number)
	if !ok || !n.IsInt() || n.Float() < 0 || n.Float() > math.MaxInt32 {
		return 0, false
	}
	return int64(n.Float()), true
}

// Hex is a root as people compare it.
func Hex(root []byte) string { return hex.EncodeToString(root) }
