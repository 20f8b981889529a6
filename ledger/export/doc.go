// Package export writes what a ledger holds to files that others can read and
// check without it: tables in CSV, JSON Lines and Parquet, and signed bundles
// with a manifest.
//
// Same ledger and filter, same bytes. Record values stay out unless they are
// asked for by name. A file appears whole, under its name, or not at all.
package export
