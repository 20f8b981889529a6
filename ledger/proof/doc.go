// Package proof makes and checks what a stranger needs to trust a ledger's log
// without having it: signed checkpoints (C2SP tlog-checkpoint in a signed note)
// over the RFC 6962 tree of the log's links, and proof files that show one
// event to be in the tree of a checkpoint.
//
// Sign makes a checkpoint, Open checks one; File.Marshal writes a proof and
// Check reads and checks one. The functions are pure, look at every element,
// and refuse unknown versions, algorithms, keys named twice and trailing bytes.
// Who signed is decided by the key that the verifier brings, never by one that
// the file names.
package proof
