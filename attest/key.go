package attest

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/internal/disk"
	"github.com/arche-ledger/arche/internal/fault"
)

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
	// maxKeyFile bounds what is read as a key: a PKCS#8 Ed25519 PEM has 119 bytes.
	maxKeyFile = 64 << 10
)

// Key is an Ed25519 private key with its name. Its fields are private so that
// no formatting of it prints the key.
type Key struct {
	private ed25519.PrivateKey
	did     string
}

// NewKey makes a key of a 32-byte seed.
func NewKey(seed []byte) (*Key, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fault.New(fault.Invalid, "an Ed25519 seed has %d bytes, not %d", ed25519.SeedSize, len(seed))
	}
	private := ed25519.NewKeyFromSeed(seed)
	return &Key{private, EncodeDID(private.Public().(ed25519.PublicKey))}, nil
}

// GenerateKey makes a key of random bytes from the operating system.
func GenerateKey() (*Key, error) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	return NewKey(seed)
}

// DID returns the did:key that names the public half.
func (k *Key) DID() string { return k.did }

// String returns the did:key, so that a printed key shows its name only.
func (k *Key) String() string { return k.did }

// GoString is String: %#v prints no key material either.
func (k *Key) GoString() string { return k.did }

// Public returns the public half.
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// PrivatePEM returns the key as unencrypted PKCS#8 PEM.
func (k *Key) PrivatePEM() []byte {
	der, _ := x509.MarshalPKCS8PrivateKey(k.private) // never fails for Ed25519
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der})
}

// PublicPEM returns a public key as SubjectPublicKeyInfo PEM.
func PublicPEM(pub ed25519.PublicKey) []byte {
	der, _ := x509.MarshalPKIXPublicKey(pub) // never fails for Ed25519
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: der})
}

// ParsePrivatePEM reads an unencrypted PKCS#8 Ed25519 private key.
func ParsePrivatePEM(data []byte) (*Key, error) {
	block, _ := pem.Decode(data)
	switch {
	case block == nil:
		return nil, fault.New(fault.Invalid, "cannot load PEM: no PEM block found")
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return nil, fault.New(fault.Invalid, "Password was not given but private key is encrypted").
			WithHint("keep the key unencrypted in a file of mode 0600, or make one with: arche attest keygen OUT")
	case block.Type == "RSA PRIVATE KEY":
		return nil, wrongType("RSAPrivateKey")
	case block.Type == "EC PRIVATE KEY":
		return nil, wrongType("ECPrivateKey")
	case block.Type != privateBlock:
		return nil, fault.New(fault.Invalid, "cannot load PEM: the block is %q, not %q", clip(block.Type), privateBlock)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "cannot load PEM: the block is not a PKCS#8 key")
	}
	if k, ok := parsed.(ed25519.PrivateKey); ok {
		return NewKey(k.Seed())
	}
	got := "another type"
	switch parsed.(type) {
	case *rsa.PrivateKey:
		got = "RSAPrivateKey"
	case *ecdsa.PrivateKey:
		got = "ECPrivateKey"
	case *ecdh.PrivateKey:
		got = "X25519PrivateKey"
	}
	return nil, wrongType(got)
}

func wrongType(got string) error {
	return fault.New(fault.Invalid, "Expected Ed25519PrivateKey from PEM; got %s", got).
		WithHint("make a key with: arche attest keygen OUT")
}

// ParsePublicPEM reads an Ed25519 public key from SubjectPublicKeyInfo PEM, or
// from exactly 32 raw bytes.
func ParsePublicPEM(data []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		if len(data) == ed25519.PublicKeySize {
			return ed25519.PublicKey(data), nil
		}
		return nil, fault.New(fault.Invalid, "the public key file is neither PEM nor 32 raw bytes")
	}
	if block.Type != publicBlock {
		return nil, fault.New(fault.Invalid, "the public key file holds %q, not %q", clip(block.Type), publicBlock)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the public key file is not a SubjectPublicKeyInfo")
	}
	pub, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, fault.New(fault.Invalid, "the public key is not Ed25519")
	}
	return pub, nil
}

// LoadKey reads the signing key at path; a leading ~ is the user's home. Every
// error is one line for the operator who gave the path.
func LoadKey(path string) (*Key, error) {
	name, err := expandHome(path)
	if err != nil {
		return nil, err
	}
	data, err := readKeyFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "signing key %s does not exist; make one with: arche attest keygen %s", path, path)
	case err != nil:
		return nil, keyFault(path, err)
	}
	key, err := ParsePrivatePEM(data)
	if err != nil {
		return nil, keyFault(path, err)
	}
	return key, nil
}

// keyFault names the file in front of the reason.
func keyFault(path string, err error) error {
	reason := fault.As(err)
	if reason == nil {
		text := err
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			text = pathErr.Err
		}
		return fault.Wrap(err, fault.Invalid, "signing key %s: %v", path, text)
	}
	f := fault.Wrap(err, reason.Kind, "signing key %s: %s", path, reason.Message)
	f.Hint = reason.Hint
	return f
}

func readKeyFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return nil, fault.New(fault.Invalid, "Is a directory")
	}
	data, reading := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if len(data) > maxKeyFile {
		return nil, fault.New(fault.Limit, "cannot load PEM: the file is larger than %d bytes", maxKeyFile)
	}
	return data, errors.Join(err, reading)
}

func expandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "signing key %s: the home folder is not known", path)
	}
	return filepath.Join(home, rest), nil
}

// WriteKey writes the private key to path, mode 0600, making parent folders
// (0700). An existing file is kept unless force is set; then it is replaced in
// one step, so that no moment leaves half a key.
func WriteKey(path string, key *Key, force bool) error {
	return writeKey(disk.Disk{}, path, key, force)
}

func writeKey(d disk.Disk, path string, key *Key, force bool) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return keyFault(path, err)
	}
	switch info, err := os.Stat(path); {
	case err == nil && !force:
		return keyExists(path)
	case err == nil && info.IsDir():
		return fault.New(fault.Refused, "%s is a folder", path)
	}
	temp, err := writeBeside(d, dir, key.PrivatePEM())
	if err != nil {
		return keyFault(path, err)
	}
	if force {
		err = d.Replace(temp, path)
	} else {
		err = d.Place(temp, path) // somebody may have been quicker
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return errors.Join(keyExists(path), d.Remove(temp))
	case err != nil:
		_ = os.Remove(temp) // gone when it was renamed
		return keyFault(path, err)
	}
	return nil
}

func keyExists(path string) error {
	return fault.New(fault.Refused, "%s exists; pass --force to replace it (envelopes signed with the old key stop verifying against the new did:key)", path)
}

// writeBeside makes data durable in a new private file of a folder.
func writeBeside(d disk.Disk, dir string, data []byte) (name string, err error) {
	f, err := d.CreateTemp(dir, ".arche-key-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name()) // the write error is told
		return "", err
	}
	return f.Name(), nil
}

// ParsePublic reads a pinned key: the PEM (or 32 raw bytes) in the file of that
// name when there is one, else a did:key.
func ParsePublic(didOrFile string) (ed25519.PublicKey, error) {
	if info, err := os.Stat(didOrFile); err == nil && !info.IsDir() {
		data, err := readKeyFile(didOrFile)
		if err != nil {
			return nil, keyFault(didOrFile, err)
		}
		return ParsePublicPEM(data)
	}
	return DecodeDID(didOrFile)
}
