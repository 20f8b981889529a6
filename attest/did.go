package attest

import (
	"crypto/ed25519"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/mr-tron/base58"
)

const (
	didPrefix = "did:key:z"
	// codec is the multicodec of an Ed25519 public key, as a varint.
	codec = "\xed\x01"
	// alphabet is Bitcoin's base58.
	alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	// maxDID bounds what DecodeDID reads: base58 decoding is quadratic, and a
	// did:key of 32 bytes has 57 characters.
	maxDID = 256
)

// EncodeDID names an Ed25519 public key as did:key:z6Mk...
func EncodeDID(pub ed25519.PublicKey) string {
	return didPrefix + base58.Encode(append([]byte(codec), pub...))
}

// DecodeDID reads the Ed25519 public key out of a did:key.
func DecodeDID(did string) (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(did, didPrefix)
	if !ok {
		return nil, fault.New(fault.Invalid, "Not a did:key with base58btc multibase: %s", canon.Repr(clip(did)))
	}
	if len(did) > maxDID {
		return nil, fault.New(fault.Invalid, "did:key has %d characters; an Ed25519 one has about 57", len(did))
	}
	for _, r := range text {
		if !strings.ContainsRune(alphabet, r) {
			return nil, fault.New(fault.Invalid, "Invalid base58btc character: %s", canon.Repr(string(r)))
		}
	}
	raw := []byte{}
	if text != "" {
		raw, _ = base58.Decode(text) // of characters that were just checked
	}
	if !strings.HasPrefix(string(raw), codec) {
		return nil, fault.New(fault.Invalid, "did:key is not Ed25519 (expected multicodec prefix ed01, got %s)",
			hex.EncodeToString(raw[:min(2, len(raw))]))
	}
	if n := len(raw) - len(codec); n != ed25519.PublicKeySize {
		return nil, fault.New(fault.Invalid, "did:key holds %d key bytes; Ed25519 has %d", n, ed25519.PublicKeySize)
	}
	return ed25519.PublicKey(raw[len(codec):]), nil
}

// clip shortens a foreign text for a message.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
