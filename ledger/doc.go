// Package ledger keeps what was decided as an append-only, content-addressed
// log of events in DuckDB, and answers every question as a fold of that log.
//
// Call Open, then the verbs: Compare, Resolve and Observe write; Decision,
// Explain, Replay, Entities, Cases and Path read. Append, Events and Blob are
// the same log for other packages (documents, scans, operators' commands).
//
// Promises: what was acknowledged is durable and whole; one call is one unit of
// work, entirely there or entirely absent; the same log gives the same answers,
// byte for byte; lost or altered events are reported, never absorbed; answers
// carry ids, labels, field names and numbers, never record values. A Ledger is
// safe for concurrent use; several processes may share one file.
package ledger
