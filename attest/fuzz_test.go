package attest_test

import (
	"strings"
	"testing"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"pgregory.net/rapid"
)

func FuzzVerify(f *testing.F) {
	_, _, env := sample(f)
	text, err := canon.Compact(env)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"jws":"..","attestation":{"jws":"a.b.c"}}`)
	f.Add(`{"jws":"eyJhbGciOiJFZERTQSJ9.e30.AAAA"}`)
	key := testKey(f, 1)
	f.Fuzz(func(t *testing.T, data string) {
		v, err := attest.ParseJSON([]byte(data))
		if err != nil {
			return
		}
		check := attest.Verify(attest.Question{Envelope: v, Key: key.Public()})
		if check.OK() && !strings.Contains(data, str(env, "jws")) {
			t.Fatalf("a token that was never signed passes: %s", data)
		}
		if !check.Valid && len(check.Problems) == 0 {
			t.Fatal("refused without a reason")
		}
		_ = check.Text()
		if _, err := canon.Indent(check.Answer()); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDID(f *testing.F) {
	f.Add(testKey(f, 1).DID())
	f.Add("did:key:z6Mk")
	f.Add("did:key:z" + strings.Repeat("1", 300))
	f.Fuzz(func(t *testing.T, did string) {
		pub, err := attest.DecodeDID(did)
		if err == nil && attest.EncodeDID(pub) != did {
			t.Fatalf("%q reads as a key that is written %q", did, attest.EncodeDID(pub))
		}
	})
}

func FuzzPEM(f *testing.F) {
	private := testKey(f, 1).PrivatePEM()
	public := attest.PublicPEM(testKey(f, 1).Public())
	f.Add(private)
	f.Add(public)
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if key, err := attest.ParsePrivatePEM(data); err == nil {
			again := key.PrivatePEM()
			if k, err := attest.ParsePrivatePEM(again); err != nil || k.DID() != key.DID() {
				t.Fatal("a key does not survive writing")
			}
		}
		if pub, err := attest.ParsePublicPEM(data); err == nil && len(pub) != 32 {
			t.Fatal("a public key of another size")
		}
	})
}

func TestDIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")
		key, err := attest.NewKey(seed)
		if err != nil {
			t.Fatal(err)
		}
		pub, err := attest.DecodeDID(key.DID())
		if err != nil || !pub.Equal(key.Public()) || !strings.HasPrefix(key.DID(), "did:key:z6Mk") {
			t.Fatalf("%s: %v", key.DID(), err)
		}
	})
}
