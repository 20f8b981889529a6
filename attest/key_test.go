package attest_test

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/attest"
)

func TestWriteKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "folder", "key.pem")
	key := testKey(t, 1)
	if err := attest.WriteKey(path, key, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	err = attest.WriteKey(path, testKey(t, 101), false)
	if err == nil || !strings.Contains(err.Error(), "exists; pass --force to replace it") {
		t.Errorf("overwriting: %v", err)
	}
	if again, err := attest.LoadKey(path); err != nil || again.DID() != key.DID() {
		t.Errorf("the first key is gone: %v, %v", again, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := attest.WriteKey(path, testKey(t, 101), true); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("replaced key: %v, %v", info.Mode(), err)
	}
	if again, err := attest.LoadKey(path); err != nil || again.DID() != testKey(t, 101).DID() {
		t.Errorf("replaced key: %v, %v", again, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("files left behind: %v, %v", left, err)
	}
	if err := attest.WriteKey(filepath.Dir(path), key, true); err == nil {
		t.Error("a folder is replaced by a key")
	}
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestLoadKeyErrors(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	xKey, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public := attest.PublicPEM(testKey(t, 1).Public())
	for want, data := range map[string][]byte{
		"no PEM block found":                                     []byte("not a key"),
		"cannot load PEM: the block is \"PUBLIC KEY\"":           public,
		"Expected Ed25519PrivateKey from PEM; got RSAPrivateKey": pkcs8(t, rsaKey),
		"got ECPrivateKey":                                       pkcs8(t, ecKey),
		"got X25519PrivateKey":                                   pkcs8(t, xKey),
		"PEM; got RSAPrivateKey":                                 pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte{1}}),
		"Password was not given but private key is encrypted":    pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}}),
		"not a PKCS#8 key":                                       pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte{1, 2, 3}}),
		"larger than":                                            make([]byte, 1<<17),
	} {
		path := filepath.Join(t.TempDir(), "k.pem")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := attest.LoadKey(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q in one line, got %v", want, err)
		}
	}
	dir := t.TempDir()
	if _, err := attest.LoadKey(dir); err == nil || !strings.Contains(err.Error(), "Is a directory") {
		t.Errorf("folder: %v", err)
	}
	missing := filepath.Join(dir, "none.pem")
	want := fmt.Sprintf("signing key %s does not exist; make one with: arche attest keygen %s", missing, missing)
	if _, err := attest.LoadKey(missing); err == nil || err.Error() != want {
		t.Errorf("missing: %v, want %s", err, want)
	}
}

func TestHomeIsExpanded(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := attest.WriteKey(filepath.Join(home, "k.pem"), testKey(t, 1), false); err != nil {
		t.Fatal(err)
	}
	if key, err := attest.LoadKey("~/k.pem"); err != nil || key.DID() != testKey(t, 1).DID() {
		t.Errorf("%v, %v", key, err)
	}
	if _, err := attest.LoadKey("~other/k.pem"); err == nil {
		t.Error("another user's home was guessed")
	}
}

func TestKeyIsNeverPrinted(t *testing.T) {
	key := testKey(t, 1)
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%v %+v %#v %s", key, key, key, key)} {
		if strings.Contains(text, "1 2 3 4") || strings.Contains(text, "0x1, 0x2") || !strings.Contains(text, "did:key:z6Mk") {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestGenerateKey(t *testing.T) {
	a, errA := attest.GenerateKey()
	b, errB := attest.GenerateKey()
	if errA != nil || errB != nil || a.DID() == b.DID() || !strings.HasPrefix(a.DID(), "did:key:z6Mk") {
		t.Errorf("%v %v %v %v", a, b, errA, errB)
	}
}

func TestParsePublic(t *testing.T) {
	key := testKey(t, 1)
	raw := filepath.Join(t.TempDir(), "raw")
	if err := os.WriteFile(raw, key.Public(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{raw, key.DID()} {
		if pub, err := attest.ParsePublic(given); err != nil || !pub.Equal(key.Public()) {
			t.Errorf("%s: %v, %v", given, pub, err)
		}
	}
	private := key.PrivatePEM()
	if err := os.WriteFile(raw, private, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := attest.ParsePublic(raw); err == nil || strings.Contains(err.Error(), "MC4C") {
		t.Errorf("a private key is taken as a public one, or shown: %v", err)
	}
}
