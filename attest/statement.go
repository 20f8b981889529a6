package attest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
)

// Schema names the form of the envelope.
const Schema = "arche.attestation.v1"

// signedFields are the keys of a statement, in the envelope's order.
var signedFields = []string{"schema", "tool", "inputs_sha256", "response_sha256", "caller", "decision_ids", "issued_at", "engine", "signer"}

// Options says how a Signer dates and names its envelopes.
type Options struct {
	// Engine is the program and version that answered, e.g. arche@1.0.0.
	Engine string
	// Now is the clock; nil means the system's.
	Now func() time.Time
}

// Signer makes envelopes with one key.
type Signer struct {
	key  *Key
	opts Options
}

// NewSigner returns a signer with key.
func NewSigner(key *Key, opts Options) *Signer {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Signer{key, opts}
}

// DID returns the did:key that the envelopes are verified with.
func (s *Signer) DID() string { return s.key.did }

// Key returns the signing key, for signatures over other forms than answers.
func (s *Signer) Key() *Key { return s.key }

// Attest signs that tool, called with args (every default filled in), gave
// answer. caller is who asked, nil when unknown. A key "attestation" of the
// answer is no part of what is signed, so that whoever removes the envelope
// from an answer has the bytes that were hashed.
func (s *Signer) Attest(tool string, args, answer any, caller *string) (*canon.Object, error) {
	inputs, err := canon.PublishedHash(args)
	if err != nil {
		return nil, fmt.Errorf("attest %s: arguments: %w", tool, err)
	}
	plain, err := plainAnswer(answer)
	response, hashing := canon.PublishedHash(plain)
	if err := errors.Join(err, hashing); err != nil {
		return nil, fmt.Errorf("attest %s: answer: %w", tool, err)
	}
	var who any
	if caller != nil {
		who = *caller
	}
	env := canon.Obj(
		"schema", Schema,
		"tool", tool,
		"inputs_sha256", inputs,
		"response_sha256", response,
		"caller", who,
		"decision_ids", toAny(DecisionIDs(plain)),
		"issued_at", s.opts.Now().UTC().Format("2006-01-02T15:04:05+00:00"),
		"engine", s.opts.Engine,
		"signer", s.key.did,
	)
	payload, err := payloadBytes(env)
	if err != nil {
		return nil, fmt.Errorf("attest %s: %w", tool, err)
	}
	env.Set("jws", s.key.SignPayload(tokenType, payload))
	return env, nil
}

// plainAnswer is the answer as a JSON value without its envelope.
func plainAnswer(answer any) (any, error) {
	text, err := canon.Compact(answer)
	if err != nil {
		return nil, err
	}
	v, err := canon.Parse(text, canon.Limits{Depth: 1 << 16, NonFinite: true})
	if o, ok := v.(*canon.Object); ok {
		o.Delete("attestation")
	}
	return v, err
}

var idPattern = regexp.MustCompile(`^(dec|xwd|red|rec|ent):(sha256|hmac-sha256):[0-9a-f]{64}$`)

// DecisionIDs returns the sorted distinct public ids found in a JSON value under
// a key decision_id, or in an array under a key decision_ids, at any depth.
func DecisionIDs(v any) []string {
	ids := []string{}
	add := func(v any) {
		if s, ok := v.(string); ok && idPattern.MatchString(s) {
			ids = append(ids, s)
		}
	}
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				walk(e)
			}
		case *canon.Object:
			for key, e := range x.All() {
				switch list, ok := e.([]any); {
				case key == "decision_id":
					add(e)
				case key == "decision_ids" && ok:
					for _, id := range list {
						add(id)
					}
				}
				walk(e)
			}
		}
	}
	walk(v)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func toAny(ids []string) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}
