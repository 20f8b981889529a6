// Package attest signs answers and checks what was signed.
//
// An envelope says: this tool, given arguments with this hash, answered with
// this hash, naming these decisions, at this time. Its proof is a compact JWS
// (EdDSA over Ed25519) whose key names itself as a did:key. LoadKey or
// GenerateKey gives a Key, NewSigner makes envelopes with it, Verify checks one
// offline with nothing but the envelope and, for authorship, a pinned key.
//
// Signing is deterministic: the same statement and key give the same token.
// Every function is safe for concurrent use. No error text holds key material.
package attest
