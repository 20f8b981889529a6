package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/go-jose/go-jose/v4"
)

const (
	algorithm = "EdDSA"
	tokenType = "arche+jws"
)

// SignPayload makes a compact token over bytes of any form. typ goes into the
// token's header and says what the bytes are.
func (k *Key) SignPayload(typ string, payload []byte) string {
	opts := (&jose.SignerOptions{}).WithType(jose.ContentType(typ)).WithHeader("kid", k.did)
	// None of these fails for an Ed25519 key and headers that are texts.
	signer, _ := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: k.private}, opts)
	token, _ := signer.Sign(payload)
	compact, _ := token.CompactSerialize()
	return compact
}

// Sign signs bytes as they are, for forms with an encoding of their own (DSSE).
func (k *Key) Sign(message []byte) []byte { return ed25519.Sign(k.private, message) }

// OpenPayload checks a token of SignPayload and returns its bytes and the
// did:key that the signature verifies with: the pinned key's, or without one
// that of the token's own kid, which shows integrity but not who signed. A typ
// other than the wanted one is refused, so that no signature is taken for
// another thing's.
func OpenPayload(compact, typ string, pinned ed25519.PublicKey) (payload []byte, signer string, err error) {
	t, err := openToken(compact, pinned)
	if err != nil {
		return nil, "", err
	}
	if t.typ != typ {
		return nil, "", fault.New(fault.Invalid, "the token is signed as %s, not as %s", clip(canon.Repr(t.typ)), typ)
	}
	return t.payload, EncodeDID(t.key), nil
}

// payloadBytes is the signed form of the statement: sorted keys, compact, and
// everything outside printable ASCII escaped (surrogate pairs, lower-case hex).
func payloadBytes(v any) ([]byte, error) {
	sorted, err := canon.Sorted(v)
	out := make([]byte, 0, len(sorted))
	for _, r := range string(sorted) { // non-ASCII occurs inside texts only
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out, err
}

// token is what a compact JWS says once its signature was checked.
type token struct {
	kid     any // the header's kid and typ as they stand, nil when absent
	typ     any
	key     ed25519.PublicKey
	payload []byte
}

// openToken checks a compact JWS with the pinned key, or, without one, with the
// key that the token's own kid names. On error the token still carries the kid,
// as far as it was read. The order of the checks is part of the answer: segments,
// header, algorithm, payload, signature decoding, key, signature.
//
// It reads base64 as leniently as the published verifier in order to give the
// same reasons, but the signature counts over the token's own bytes, and a
// signature segment that is not the one spelling of its bytes is refused. So no
// changed byte of a token passes.
func openToken(compact string, pinned ed25519.PublicKey) (token, error) {
	var t token
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return t, fault.New(fault.Invalid, "Expected 3 JWS segments, got %d", len(parts))
	}
	header, err := parseHeader(parts[0])
	if err != nil {
		return t, err
	}
	if alg, _ := header.Value("alg").(string); alg != algorithm {
		return t, fault.New(fault.Invalid, "Unsupported alg: %s; expected EdDSA", clip(canon.Repr(header.Value("alg"))))
	}
	t.kid, t.typ = header.Value("kid"), header.Value("typ")
	if header.Has("crit") || header.Has("b64") {
		return t, fault.New(fault.Invalid, "Unsupported header: crit and b64 are not understood here")
	}
	if parts[1] == "" {
		return t, fault.New(fault.Invalid, "Detached JWS but no detached_payload supplied")
	}
	if t.payload, err = lenientBase64(parts[1]); err != nil {
		return t, fault.New(fault.Invalid, "Payload decode failed: %v", err)
	}
	signature, err := lenientBase64(parts[2])
	if err != nil {
		return t, fault.New(fault.Invalid, "Signature decode failed: %v", err)
	}
	if t.key, err = tokenKey(t.kid, pinned); err != nil {
		return t, err
	}
	canonical := base64.RawURLEncoding.EncodeToString(signature) == parts[2]
	if !canonical || !ed25519.Verify(t.key, []byte(parts[0]+"."+parts[1]), signature) {
		return t, fault.New(fault.Invalid, "Ed25519 signature verification failed")
	}
	return t, nil
}

func parseHeader(segment string) (*canon.Object, error) {
	raw, err := lenientBase64(segment)
	if err != nil {
		return nil, fault.New(fault.Invalid, "Header parse failed: %v", err)
	}
	v, err := canon.Parse(raw, canon.Limits{Depth: 8})
	if err != nil {
		var syntax *canon.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset == 0 {
			return nil, fault.New(fault.Invalid, "Header parse failed: Expecting value: line 1 column 1 (char 0)")
		}
		return nil, fault.New(fault.Invalid, "Header parse failed: %v", err)
	}
	header, ok := v.(*canon.Object)
	if !ok {
		return nil, fault.New(fault.Invalid, "Header parse failed: the header is not an object")
	}
	return header, nil
}

const noKey = "No trusted key available: pass public_key=, or a resolver=. To verify a token's integrity without " +
	"authenticating its issuer, pass allow_did_key_from_kid=True, but note that a self-asserted key proves nothing about who signed."

func tokenKey(kid any, pinned ed25519.PublicKey) (ed25519.PublicKey, error) {
	if pinned != nil {
		return pinned, nil
	}
	did, ok := kid.(string)
	if !ok || !strings.HasPrefix(did, "did:key:") {
		return nil, fault.New(fault.Invalid, "%s", noKey)
	}
	pub, err := DecodeDID(did)
	if err != nil {
		return nil, fault.New(fault.Invalid, "did:key decode failed: %s", fault.As(err).Message)
	}
	return pub, nil
}

// lenientBase64 reads base64url (or base64) as the published verifier does: with
// or without padding, skipping characters outside the alphabet, up to the
// padding that completes a group of four.
func lenientBase64(s string) ([]byte, error) {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		return nil, errors.New("string argument should contain only ASCII characters")
	}
	kept := make([]byte, 0, len(s))
	pads := 0
	// As much padding as the length lacks is read behind the text.
	for _, c := range []byte(s + strings.Repeat("=", (4-len(s)%4)%4)) {
		switch c {
		case '=':
			if len(kept)%4 < 2 {
				continue
			}
			if pads++; len(kept)%4+pads == 4 {
				return base64.RawURLEncoding.DecodeString(string(kept))
			}
			continue
		case '+':
			c = '-'
		case '/':
			c = '_'
		}
		if strings.IndexByte(alphabet64, c) >= 0 {
			kept, pads = append(kept, c), 0
		}
	}
	switch len(kept) % 4 {
	case 0:
		return base64.RawURLEncoding.DecodeString(string(kept))
	case 1:
		//nolint:staticcheck // a wire string: verifiers compare it
		return nil, fault.New(fault.Invalid, "Invalid base64-encoded string: number of data characters (%d) cannot be 1 more than a multiple of 4", len(kept))
	}
	//nolint:staticcheck // a wire string: verifiers compare it
	return nil, fault.New(fault.Invalid, "Incorrect padding")
}

// alphabet64 is that of base64url.
const alphabet64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
