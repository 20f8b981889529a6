package attest

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// Question is what Verify is asked: an envelope, and what else the verifier has.
type Question struct {
	// Envelope is the parsed JSON; anything but an object with a jws fails.
	Envelope any
	// Inputs and Response are the arguments (defaults filled in) and the answer
	// without its attestation; nil means not given.
	Inputs, Response any
	// Key is the pinned key; nil means the key that the token itself names,
	// which shows integrity but not who signed.
	Key ed25519.PublicKey
}

// Check is the outcome of Verify.
type Check struct {
	Valid         bool  // a good signature, and an envelope that says what was signed
	Trusted       bool  // the signature is by the pinned key
	Signer        any   // the did:key signed as signer, else the token's kid; text or nil
	Tool          any   // text or nil
	DecisionIDs   []any // ids in the signed statement
	InputsMatch   *bool // nil when not given or the signature failed
	ResponseMatch *bool
	Problems      []string
	whole, signed *canon.Object
}

// OK reports whether the envelope is valid and everything given matches it.
// Trust is not needed for it.
func (c *Check) OK() bool {
	return c.Valid && (c.InputsMatch == nil || *c.InputsMatch) && (c.ResponseMatch == nil || *c.ResponseMatch)
}

// Answer returns the check in the order of its published form.
func (c *Check) Answer() *canon.Object {
	problems := make([]any, len(c.Problems))
	for i, p := range c.Problems {
		problems[i] = p
	}
	return canon.Obj("ok", c.OK(), "valid", c.Valid, "trusted", c.Trusted, "signer", c.Signer, "tool", c.Tool,
		"decision_ids", c.DecisionIDs, "inputs_match", optional(c.InputsMatch), "response_match", optional(c.ResponseMatch),
		"problems", problems)
}

func optional(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

// Verify checks an envelope offline. A whole answer that carries one under
// "attestation" is taken too: then the answer around it must hash to what was
// signed, unless a Response was given.
func Verify(q Question) *Check {
	c := &Check{DecisionIDs: []any{}, Problems: []string{}}
	envelope, _ := q.Envelope.(*canon.Object)
	if envelope != nil && !envelope.Has("jws") {
		if inner, ok := envelope.Value("attestation").(*canon.Object); ok {
			c.whole, envelope = envelope, inner
		}
	}
	compact, ok := envelope.Value("jws").(string)
	if !ok || compact == "" {
		return c.problem("no jws in the envelope")
	}
	t, err := openToken(compact, q.Key)
	if kid, ok := t.kid.(string); ok {
		c.Signer = kid
	}
	if err != nil {
		return c.problem("signature: %s", fault.As(err).Message)
	}
	c.Trusted = q.Key != nil
	c.signed = body(t.payload)
	c.read()
	c.checkStatement(EncodeDID(t.key))
	c.checkEnvelope(envelope)
	c.Valid = len(c.Problems) == 0
	c.checkHashes(q)
	return c
}

func (c *Check) problem(format string, args ...any) *Check {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
	return c
}

// body is the signed statement, empty when the payload is no object.
func body(payload []byte) *canon.Object {
	o, err := canon.ParseObject(payload, canon.Limits{Unique: true})
	if err != nil {
		return &canon.Object{}
	}
	return o
}

// read takes what the check shows out of the signed statement.
func (c *Check) read() {
	if s, ok := c.signed.Value("signer").(string); ok {
		c.Signer = s
	}
	if s, ok := c.signed.Value("tool").(string); ok {
		c.Tool = s
	}
	if ids, ok := c.signed.Value("decision_ids").([]any); ok {
		c.DecisionIDs = ids
	}
}

func (c *Check) checkStatement(signedBy string) {
	if schema := c.signed.Value("schema"); schema != Schema {
		c.problem("schema %s is not %s", clip(canon.Repr(schema)), Schema)
	}
	if signer, ok := c.signed.Value("signer").(string); ok && signer != signedBy {
		c.problem("the signed signer is not the key that signed")
	}
}

// comparedFields is the order in which differing plain fields are reported.
var comparedFields = []string{"tool", "inputs_sha256", "response_sha256", "decision_ids", "caller", "schema", "issued_at", "engine", "signer"}

// checkEnvelope compares the readable fields with the signed ones. A field that
// was taken away is no problem: the signed one stands. One that was added is.
func (c *Check) checkEnvelope(envelope *canon.Object) {
	for _, field := range comparedFields {
		if plain, ok := envelope.Get(field); ok && !sameJSON(plain, c.signed.Value(field)) {
			c.problem("envelope field '%s' differs from what was signed", field)
		}
	}
	for _, field := range envelope.Keys() {
		if field != "jws" && !slices.Contains(signedFields, field) {
			c.problem("envelope field %s is not part of what was signed", clip(canon.Repr(field)))
		}
	}
}

func sameJSON(a, b any) bool {
	x, errX := canon.Sorted(a)
	y, errY := canon.Sorted(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func (c *Check) checkHashes(q Question) {
	match := func(v any, field, problem string) *bool {
		hash, err := canon.PublishedHash(v)
		same := err == nil && hash == c.signed.Value(field)
		if !same {
			c.problem("%s", problem)
		}
		return &same
	}
	if q.Inputs != nil {
		c.InputsMatch = match(q.Inputs, "inputs_sha256", "the inputs supplied do not hash to what was signed")
	}
	switch {
	case q.Response != nil:
		c.ResponseMatch = match(q.Response, "response_sha256", "the response supplied does not hash to what was signed")
	case c.whole != nil:
		answer := c.whole.Clone()
		answer.Delete("attestation")
		same := match(answer, "response_sha256", "the answer around the attestation does not hash to what was signed")
		if !*same { // a match adds no line to the published report
			c.ResponseMatch = same
		}
	}
}
