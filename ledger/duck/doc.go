// Package duck is the only importer of the DuckDB driver. It opens database
// files hardened, one process at a time, and closes them completely.
//
// OpenStore gives a Store: a file behind a gate (an advisory lock taken before
// DuckDB opens it) and a lease (kept a little longer than a unit of work, given
// up when another process waits). Store.Use runs one unit of work on the open
// database. OpenScratch gives a separate database for heavy joins that never
// touches a ledger. Head is the small file beside a ledger that remembers where
// its log ended.
//
// Promises: no statement outlives its use, so a closed file is really closed;
// errors that a caller may show are faults without paths; a fatal error of the
// database closes the opening at once. A Store is safe for concurrent use, a DB
// is not.
package duck
