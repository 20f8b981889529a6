package proof

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"

	"github.com/arche-ledger/arche/internal/fault"
)

// Checkpoint is a log's size and root, as a key holder signed them.
type Checkpoint struct {
	Origin string // names the log
	Size   uint64 // events in the tree
	Root   []byte // 32 bytes
}

// Signer signs; attest.Key is one.
type Signer interface {
	Sign(message []byte) []byte
	Public() ed25519.PublicKey
}

// Origin is the name of the log whose first event has this link. It tells logs
// apart and holds nothing secret.
func Origin(firstLink string) string { return "arche-ledger/" + firstLink[:min(16, len(firstLink))] }

// algEd25519 is the signature type of signed notes that keys are named by.
const algEd25519 = 1

// keyHash is how a signed note names a key.
func keyHash(name string, pub ed25519.PublicKey) uint32 {
	h := sha256.New()
	h.Write([]byte(name + "\n"))
	h.Write([]byte{algEd25519})
	h.Write(pub)
	return binary.BigEndian.Uint32(h.Sum(nil))
}

type noteSigner struct {
	name string
	key  Signer
}

func (s noteSigner) Name() string                    { return s.name }
func (s noteSigner) KeyHash() uint32                 { return keyHash(s.name, s.key.Public()) }
func (s noteSigner) Sign(msg []byte) ([]byte, error) { return s.key.Sign(msg), nil }

type noteVerifier struct {
	name string
	pub  ed25519.PublicKey
}

func (v noteVerifier) Name() string                { return v.name }
func (v noteVerifier) KeyHash() uint32             { return keyHash(v.name, v.pub) }
func (v noteVerifier) Verify(msg, sig []byte) bool { return ed25519.Verify(v.pub, msg, sig) }

// Sign writes a checkpoint as a signed note.
func Sign(c Checkpoint, key Signer) (string, error) {
	text := log.Checkpoint{Origin: c.Origin, Size: c.Size, Hash: c.Root}.Marshal()
	signed, err := note.Sign(&note.Note{Text: string(text)}, noteSigner{c.Origin, key})
	if err != nil {
		return "", fmt.Errorf("sign checkpoint: %w", err)
	}
	return string(signed), nil
}

// ErrRefused means that something shown as proof proves nothing.
var ErrRefused = errors.New("proof refused")

func refuse(format string, args ...any) error {
	return fault.Wrap(ErrRefused, fault.Invalid, format, args...)
}

// Open checks a signed note against the verifier's key and reads its
// checkpoint. The note must be exactly what Sign writes.
func Open(text string, key ed25519.PublicKey) (Checkpoint, error) {
	origin, _, _ := strings.Cut(text, "\n")
	if len(key) != ed25519.PublicKeySize {
		return Checkpoint{}, refuse("the key to check against is no Ed25519 key")
	}
	c, rest, _, err := log.ParseCheckpoint([]byte(text), origin, noteVerifier{origin, key})
	if err != nil {
		return Checkpoint{}, fault.Wrap(errors.Join(ErrRefused, err), fault.Invalid, "the checkpoint is not signed by the key given")
	}
	out := Checkpoint{Origin: c.Origin, Size: c.Size, Root: c.Hash}
	if len(rest) > 0 || len(c.Hash) != sha256.Size {
		return Checkpoint{}, refuse("the checkpoint holds more than name, size and root")
	}
	// Signatures of others may stand beside ours in general; here one is written
	// and anything more was added by somebody.
	if body := (log.Checkpoint{Origin: c.Origin, Size: c.Size, Hash: c.Hash}).Marshal(); !onlyOneSignature(text, string(body)) {
		return Checkpoint{}, refuse("the checkpoint is not in the form it was signed in")
	}
	return out, nil
}

// onlyOneSignature reports whether the text is the body and one signature line
// in the one form base64 has for it.
func onlyOneSignature(text, body string) bool {
	rest, ok := strings.CutPrefix(text, body+"\n")
	if !ok || strings.Count(rest, "\n") != 1 || !strings.HasSuffix(rest, "\n") {
		return false
	}
	sig := rest[strings.LastIndexByte(rest, ' ')+1 : len(rest)-1]
	_, err := base64.StdEncoding.Strict().DecodeString(sig)
	return err == nil
}

// Tree is the RFC 6962 tree over links, grown one at a time.
type Tree struct{ r *compact.Range }

// NewTree is an empty tree.
func NewTree() *Tree {
	return &Tree{(&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)}
}

// leafHash is the hash of a link as a leaf: of its 32 bytes.
func leafHash(link string) ([]byte, error) {
	raw, err := hex.DecodeString(link)
	if err != nil || len(raw) != 32 {
		return nil, refuse("a link is not 64 hex digits")
	}
	return rfc6962.DefaultHasher.HashLeaf(raw), nil
}

// Add appends a link, 64 hex digits.
func (t *Tree) Add(link string) error {
	h, err := leafHash(link)
	if err == nil {
		err = t.r.Append(h, nil)
	}
	return err
}

// Size is the number of links.
func (t *Tree) Size() uint64 { return t.r.End() }

// Root is the root hash.
func (t *Tree) Root() ([]byte, error) {
	if t.r.End() == 0 {
		return rfc6962.DefaultHasher.EmptyRoot(), nil
	}
	return t.r.GetRootHash(nil) // a range from the beginning has one
}
