package export

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
)

// Forms of the in-toto statement in a DSSE envelope.
const (
	PredicateType = "https://github.com/arche-ledger/arche/export/v1"
	statementType = "https://in-toto.io/Statement/v1"
	payloadType   = "application/vnd.in-toto+json"
	dsseSuffix    = ".dsse.json"
)

// envelope is a DSSE envelope with one signature.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// pae is what a DSSE signature is over.
func pae(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// Statement is an in-toto statement in a DSSE envelope: the files and their
// digests as the subjects, what they were cut from as the predicate.
func Statement(files []File, m Manifest, key *attest.Key) ([]byte, error) {
	subjects := make([]any, len(files))
	for i, f := range files {
		subjects[i] = canon.Obj("name", f.Name, "digest", canon.Obj("sha256", f.SHA256))
	}
	statement := canon.Obj(
		"_type", statementType,
		"subject", subjects,
		"predicateType", PredicateType,
		"predicate", canon.Obj("what", m.What, "created_at", m.CreatedAt, "program", m.Program, "head", m.Head,
			"filter", m.Filter, "count", m.Count, "columns", m.Columns),
	)
	payload, err := canon.Compact(statement)
	if err != nil {
		return nil, fmt.Errorf("encode statement: %w", err)
	}
	return envelope{
		PayloadType: payloadType,
		Payload:     base64.StdEncoding.EncodeToString(payload),
		Signatures:  []signature{{key.DID(), base64.StdEncoding.EncodeToString(key.Sign(pae(payload)))}},
	}.encode(), nil
}

// encode returns the one spelling of an envelope that Verify accepts.
func (e envelope) encode() []byte {
	text, _ := canon.Indent(e) // of texts
	return append(text, '\n')
}

// statement checks a DSSE envelope of the export against the file it is about.
func (r *Report) statement(dir, name string) error {
	if !strings.HasSuffix(name, dsseSuffix) {
		return nil
	}
	text, err := readSmall(dir, name)
	if err != nil {
		return fileFault(name, err)
	}
	subjects, err := openStatement(text, r.Manifest)
	if err != nil {
		r.problem("%s: %v", name, err)
		return nil
	}
	about := map[string]string{}
	for _, s := range subjects {
		about[s.Name] = s.Digest["sha256"]
	}
	for _, f := range r.Manifest.Files {
		if f.Name == name {
			continue
		}
		if about[f.Name] != f.SHA256 {
			r.problem("%s does not speak of %s", filepath.Base(name), f.Name)
		}
		delete(about, f.Name)
	}
	if len(about) > 0 || len(subjects) != len(r.Manifest.Files)-1 {
		r.problem("%s is about a file that is not here", filepath.Base(name))
	}
	return nil
}

// subject is one file that a statement is about.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

func openStatement(text []byte, m *Manifest) ([]subject, error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil || len(e.Signatures) != 1 || e.PayloadType != payloadType {
		return nil, fmt.Errorf("not a DSSE envelope with one signature over an in-toto statement")
	}
	if !bytes.Equal(e.encode(), text) {
		return nil, fmt.Errorf("the envelope is not as arche writes it")
	}
	if m.Signer == nil || e.Signatures[0].KeyID != *m.Signer {
		return nil, fmt.Errorf("the envelope is signed by another key than the manifest")
	}
	pub, err := attest.DecodeDID(e.Signatures[0].KeyID)
	if err != nil {
		return nil, err
	}
	payload, err := base64.StdEncoding.Strict().DecodeString(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("the payload is not base64")
	}
	sig, err := base64.StdEncoding.Strict().DecodeString(e.Signatures[0].Sig)
	if err != nil || !ed25519.Verify(pub, pae(payload), sig) {
		return nil, fmt.Errorf("the signature does not verify")
	}
	var s struct {
		Type          string    `json:"_type"`
		Subject       []subject `json:"subject"`
		PredicateType string    `json:"predicateType"`
	}
	if err := json.NewDecoder(bytes.NewReader(payload)).Decode(&s); err != nil || s.Type != statementType ||
		s.PredicateType != PredicateType || len(s.Subject) == 0 {
		return nil, fmt.Errorf("the payload is no statement about one export")
	}
	return s.Subject, nil
}
