package export_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"testing"
)

// verifier is the key of key(t, 1) as the other library asks for one.
type verifier struct{ t testing.TB }

func (v verifier) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(key(v.t, 1).Public(), data, sig) {
		return errors.New("bad signature")
	}
	return nil
}

func (v verifier) KeyID() (string, error) { return key(v.t, 1).DID(), nil }

func (v verifier) Public() crypto.PublicKey { return key(v.t, 1).Public() }
