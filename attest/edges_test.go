package attest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/mr-tron/base58"
)

// TestFailedKeyIsOldOrNew fails every change of a file while a key is written:
// there is the old key, the new one or none, and never half of one.
func TestFailedKeyIsOldOrNew(t *testing.T) {
	for _, force := range []bool{false, true} {
		hits := arctest.Sweep(t, 1, nil, func(f *arctest.Fault) {
			path := filepath.Join(t.TempDir(), "k.pem")
			if force {
				if err := attest.WriteKey(path, testKey(t, 1), false); err != nil {
					t.Fatal(err)
				}
			}
			failed := attest.WriteKeyWith(f.Ask, path, testKey(t, 2), force)
			key, err := attest.LoadKey(path)
			switch {
			case err == nil && key.DID() == testKey(t, 2).DID():
			case failed == nil:
				t.Errorf("%v: written and not there: %v", f, err)
			case force && (err != nil || key.DID() != testKey(t, 1).DID()):
				t.Errorf("%v: the old key is gone: %v", f, err)
			case !force && !fault.Is(err, fault.NotFound):
				t.Errorf("%v: %v", f, err)
			}
			if failed != nil && !strings.HasPrefix(failed.Error(), "signing key "+path) {
				t.Errorf("%v: %v", f, failed)
			}
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(left) > 1 && f.Hit != "file.remove" && !f.Onward {
				t.Errorf("%v: %d files, %v", f, len(left), err)
			}
		})
		if hits < 6 {
			t.Errorf("only %d changes were failed", hits)
		}
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := attest.WriteKey(filepath.Join(blocked, "k.pem"), testKey(t, 1), false); !fault.Is(err, fault.Invalid) {
		t.Errorf("below a file: %v", err)
	}
}

func TestWrongKeysAreRefused(t *testing.T) {
	for _, n := range []int{0, 31, 33} {
		if _, err := attest.NewKey(make([]byte, n)); !fault.Is(err, fault.Invalid) {
			t.Errorf("a seed of %d bytes: %v", n, err)
		}
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	encrypted := &pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"DEK-Info": "AES-128-CBC,00"}, Bytes: []byte{1}}
	for want, block := range map[string]*pem.Block{
		"got ECPrivateKey":         {Type: "EC PRIVATE KEY", Bytes: ecDER},
		"private key is encrypted": encrypted,
	} {
		if key, err := attest.ParsePrivatePEM(pem.EncodeToMemory(block)); err == nil || !strings.Contains(err.Error(), want) || key != nil {
			t.Errorf("%v %v, want %q", key, err, want)
		}
	}
	spki, err := x509.MarshalPKIXPublicKey(ec.Public())
	if err != nil {
		t.Fatal(err)
	}
	for want, data := range map[string][]byte{
		"neither PEM nor 32 raw bytes": make([]byte, 31),
		"holds \"PRIVATE KEY\"":        pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1}}),
		"not a SubjectPublicKeyInfo":   pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte{1}}),
		"not Ed25519":                  pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki}),
	} {
		if pub, err := attest.ParsePublicPEM(data); err == nil || !strings.Contains(err.Error(), want) || pub != nil {
			t.Errorf("%v %v, want %q", pub, err, want)
		}
	}
	public := attest.PublicPEM(testKey(t, 1).Public())
	if pub, err := attest.ParsePublicPEM(public); err != nil || !pub.Equal(testKey(t, 1).Public()) {
		t.Errorf("%v %v", pub, err)
	}
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 1<<17), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := attest.ParsePublic(big); !fault.Is(err, fault.Limit) {
		t.Errorf("a large public key file: %v", err)
	}
	if _, err := attest.ParsePublic(t.TempDir()); err == nil {
		t.Error("a folder is a key")
	}
}

func TestHomeIsNotKnown(t *testing.T) {
	t.Setenv("HOME", "")
	if _, err := attest.LoadKey("~/k.pem"); err == nil || !strings.Contains(err.Error(), "the home folder is not known") {
		t.Errorf("%v", err)
	}
}

func TestWrongDIDsAreRefused(t *testing.T) {
	named := func(raw []byte) string { return "did:key:z" + base58.Encode(raw) }
	key := append([]byte("\xed\x01"), testKey(t, 1).Public()...)
	ones := func(n int) string { return "did:key:z" + strings.Repeat("1", n-len("did:key:z")) }
	for did, want := range map[string]string{
		"did:web:example.test":        "Not a did:key",
		"did:key:z":                   "not Ed25519 (expected multicodec prefix ed01, got )",
		"did:key:z0":                  "Invalid base58btc character: '0'",
		named(key[:33]):               "holds 31 key bytes",
		named(append(key, 0)):         "holds 33 key bytes",
		named([]byte{0xec, 1}):        "got ec01",
		ones(256):                     "not Ed25519",
		ones(257):                     "has 257 characters",
		strings.Repeat("é", 300):      "Not a did:key with base58btc multibase: '" + strings.Repeat("é", 40) + "...'",
		strings.Repeat("x", 80):       "'" + strings.Repeat("x", 80) + "'",
		"x" + strings.Repeat("é", 99): "'x" + strings.Repeat("é", 39) + "...'",
	} {
		if pub, err := attest.DecodeDID(did); err == nil || !strings.Contains(err.Error(), want) || pub != nil {
			t.Errorf("%s: %v %v, want %q", did, pub, err, want)
		}
	}
}

// TestSegmentsAreReadAsPublished: base64 of both alphabets, with and without
// padding, and the reasons when it is none.
func TestSegmentsAreReadAsPublished(t *testing.T) {
	for in, want := range map[string]string{
		"-_-_": "\xfb\xff\xbf", "+/+/": "\xfb\xff\xbf", "-/ +_\n": "\xfb\xff\xbf", "": "", "QUI": "AB", "QUI=": "AB", "QQ": "A", "QQ==": "A",
		"QQ=": "A", "QUI==": "AB", "QUJD=": "ABC", "QQ==QUJD": "A", "QUJD": "ABC", "Q*U*J*D": "ABC", "azAz9ZYw": "k03\xf5\x96\x30",
	} {
		if got, err := attest.LenientBase64(in); err != nil || string(got) != want {
			t.Errorf("%q: %q %v, want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"QUJDé": "only ASCII", "QQ\u0080": "only ASCII", "QQ==é": "only ASCII", "QQ==\xff": "only ASCII", "Q": "number of data characters (1)", "QUJDR": "(5)", "QU*": "Incorrect padding", "QUI*": "Incorrect padding", "QU J": "Incorrect padding", "=QUI": "Incorrect padding", "QU=I": "Incorrect padding",
	} {
		if got, err := attest.LenientBase64(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q %v, want %q", in, got, err, want)
		}
	}
}

func token(parts ...string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = base64.RawURLEncoding.EncodeToString([]byte(p))
	}
	return strings.Join(out, ".")
}

func TestWrongTokensAreRefused(t *testing.T) {
	good := testKey(t, 1).SignPayload("x", []byte(`{}`))
	pinned := testKey(t, 1).Public()
	if payload, signer, err := attest.OpenPayload(good, "x", pinned); err != nil || string(payload) != "{}" || signer != testKey(t, 1).DID() {
		t.Fatalf("%s %s %v", payload, signer, err)
	}
	for compact, want := range map[string]string{
		"a.b":                                    "Expected 3 JWS segments, got 2",
		"a.b.c.d":                                "Expected 3 JWS segments, got 4",
		"é.b.c":                                  "Header parse failed: string argument should contain only ASCII characters",
		token("", "{}", "s"):                     "Expecting value: line 1 column 1 (char 0)",
		token("[1]", "{}", "s"):                  "the header is not an object",
		token(`{"alg":"EdDSA",`, "{}", "s"):      "Header parse failed: ",
		token(`{"alg":"none"}`, "{}", "s"):       "Unsupported alg: 'none'; expected EdDSA",
		token(`{"alg":"HS256"}`, "{}", "s"):      "Unsupported alg: 'HS256'",
		token(`{}`, "{}", "s"):                   "Unsupported alg: None",
		token(`{"alg":"EdDSA","crit":[]}`, "{}"): "Expected 3",
		token(`{"alg":"EdDSA","crit":["b64"]}`, "{}", "s"):                 "crit and b64 are not understood",
		token(`{"alg":"EdDSA","b64":false}`, "{}", "s"):                    "crit and b64 are not understood",
		token(`{"alg":"EdDSA"}`, "", "s"):                                  "Detached JWS",
		token(`{"alg":"EdDSA"}`, "{}", "") + "A":                           "Signature decode failed",
		strings.Replace(token(`{"alg":"EdDSA"}`, "{}", "s"), ".", ".A", 1): "verification failed",
		token(`{"alg":"EdDSA"}`) + ".A.cw":                                 "Payload decode failed: Invalid base64",
		good + "A":                                                         "failed",
		good[:len(good)-4] + "AAAA":                                        "verification failed",
	} {
		if _, _, err := attest.OpenPayload(compact, "x", pinned); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", compact, err, want)
		}
	}
	for header, want := range map[string]string{
		`{"alg":"EdDSA"}`:                          "No trusted key available",
		`{"alg":"EdDSA","kid":7}`:                  "No trusted key available",
		`{"alg":"EdDSA","kid":"x"}`:                "No trusted key available",
		`{"alg":"EdDSA","kid":"did:key:zInvalid"}`: "did:key decode failed: ",
	} {
		if _, _, err := attest.OpenPayload(token(header, "{}", "s"), "x", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", header, err, want)
		}
	}
	if _, _, err := attest.OpenPayload(good, "y", pinned); err == nil || !strings.Contains(err.Error(), "signed as 'x', not as y") {
		t.Errorf("another type: %v", err)
	}
}

// TestSignedTextIsASCII: what is signed escapes everything else, as the
// published program does.
func TestSignedTextIsASCII(t *testing.T) {
	caller := "a~\x7f\u00e9\uffff\U00010000\U0001F600"
	env, err := testSigner(t).Attest("x", &canon.Object{}, canon.Obj("n", 1), &caller)
	if err != nil {
		t.Fatal(err)
	}
	payload, _, err := attest.OpenPayload(str(env, "jws"), "arche+jws", testKey(t, 1).Public())
	if err != nil {
		t.Fatal(err)
	}
	if want := `"caller":"a~\u007f\u00e9\uffff\ud800\udc00\ud83d\ude00"`; !strings.Contains(string(payload), want) {
		t.Errorf("%s has no %s", payload, want)
	}
	if check := attest.Verify(attest.Question{Envelope: env}); !check.OK() {
		t.Errorf("%s", indent(t, check.Answer()))
	}
	bad := make(chan int)
	for _, x := range [][2]any{{bad, canon.Obj()}, {canon.Obj(), bad}} {
		if _, err := testSigner(t).Attest("x", x[0], x[1], nil); err == nil || !strings.HasPrefix(err.Error(), "attest x: ") {
			t.Errorf("what is no JSON is signed: %v", err)
		}
	}
}

func TestDecisionIDsAreThoseUnderTheirKeys(t *testing.T) {
	id := func(c string) string { return "dec:sha256:" + strings.Repeat(c, 64) }
	v := canon.Obj(
		"decision_id", id("a"),
		"other", id("b"),
		"others", []any{id("c")},
		"decision_ids", []any{id("e"), id("d"), id("e"), 7, "dec:sha256:short"},
		"list", []any{canon.Obj("decision_id", "rec:hmac-sha256:"+strings.Repeat("1", 64)), canon.Obj("decision_ids", id("f"))},
	)
	want := strings.Join([]string{id("a"), id("d"), id("e"), "rec:hmac-sha256:" + strings.Repeat("1", 64)}, " ")
	if got := strings.Join(attest.DecisionIDs(v), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestWhatIsNoEnvelopeIsNoAttestation: nothing is valid that has no token, and a
// token signed by another key than it says is not.
func TestWhatIsNoEnvelopeIsNoAttestation(t *testing.T) {
	for _, v := range []any{nil, "x", 7, canon.Obj(), canon.Obj("jws", ""), canon.Obj("jws", 7), canon.Obj("attestation", "x"), canon.Obj("attestation", canon.Obj())} {
		if check := attest.Verify(attest.Question{Envelope: v}); check.OK() || check.Valid || check.Trusted || len(check.Problems) != 1 || check.Problems[0] != "no jws in the envelope" {
			t.Errorf("%v: %s", v, indent(t, check.Answer()))
		}
	}
	said := canon.Obj("schema", attest.Schema, "signer", testKey(t, 9).DID())
	text, err := canon.Compact(said)
	if err != nil {
		t.Fatal(err)
	}
	jws := testKey(t, 1).SignPayload("arche+jws", text)
	for _, pin := range []bool{false, true} {
		q := attest.Question{Envelope: canon.Obj("jws", jws)}
		if pin {
			q.Key = testKey(t, 1).Public()
		}
		check := attest.Verify(q)
		if check.Valid || check.Trusted != pin || !strings.Contains(strings.Join(check.Problems, "; "), "the signed signer is not the key that signed") {
			t.Errorf("%s", indent(t, check.Answer()))
		}
	}
	for _, payload := range []string{`[]`, `{"schema":"arche.attestation.v1","schema":"arche.attestation.v1"}`, `{"schema":"arche.attestation.v2"}`} {
		jws := testKey(t, 1).SignPayload("arche+jws", []byte(payload))
		if check := attest.Verify(attest.Question{Envelope: canon.Obj("jws", jws)}); check.Valid || !strings.Contains(check.Problems[0], "is not arche.attestation.v1") {
			t.Errorf("%s: %s", payload, indent(t, check.Answer()))
		}
	}
}
