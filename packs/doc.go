// Package packs holds the embedded data tables: entity packs and name
// frequencies for matching, patterns and lexicons for detection, statutes,
// signals and role cues for protection.
//
// It reads and digests, and decides nothing. Tables are loaded on first use and
// kept; every table that a decision can depend on has a version or digest that
// the decision pins. All functions are safe for concurrent use.
package packs
