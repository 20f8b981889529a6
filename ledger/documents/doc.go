// Package documents is the knowledge base of a project: markdown files with a
// YAML head under .archcore/, typed relations between them, and the history of
// both in a ledger.
//
// Open gives a Base; its methods are the tools. The files on disk are the
// truth that people edit. Every call looks at the disk first (size, times and
// inode of each file, then the bytes where those moved) and tells the ledger
// what changed by hand, as one batch of the actor "filesystem"; a second look
// tells nothing. Writes go: project lock, look, intent, temporary file, fsync,
// rename, fsync of the folder, ledger commit, answer. After a crash between
// any two steps the next look leaves the old or the new state and a ledger
// that agrees with the disk.
//
// Paths in arguments and answers use '/' and are relative to the project or to
// .archcore/; no error of this package holds an absolute path. A Base may be
// used by any number of goroutines, and any number of processes may work on
// one project.
package documents
