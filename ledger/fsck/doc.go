// Package fsck examines a ledger file that does not open or lost events, and
// makes a working one of it: Repair works on a copy, says what was recovered
// against the remembered head, and puts the copy in place only when told to;
// what was there before stays in a folder of its own. Doctor tells the state of
// a ledger and what to do about each problem.
package fsck
