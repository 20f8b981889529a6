// Package audit makes the decisions of a ledger again and reports what moved.
//
// Run is the first thing to call. With a folder it writes one JSON line a
// decision, goes on where an earlier run of the same audit was stopped, and
// ends with a report as one HTML file. The same ledger and options give the
// same lines.
package audit
