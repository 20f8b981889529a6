// Package jurisdiction decides which law governs a text, what that law says of
// each category of personal data, and what the installed detectors can and
// cannot find of it.
//
// Call [Infer] to read a country out of a text, [Plan] for the coverage block,
// [Detect] for personal data with citations. Package guard below it redacts.
// The caller's policy goes through a [Ceiling] first, so that a call can never
// choose a weaker law than the operator did.
//
// Everything here is pure: the tables are embedded, the environment is the
// caller's, and the same input gives the same bytes. All functions are safe
// for concurrent use. No answer carries a piece of the text it was made from.
package jurisdiction
