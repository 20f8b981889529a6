// Package resolve decides whether records are the same person, place,
// organisation, artist or product, says on what evidence, and abstains when the
// evidence is thin.
//
// Start with Compare (two lists), ComparePair (two records) or Corpus (one
// record against many that stay). All functions are pure: the same input and
// pins give the same bytes on every machine, with any number of threads. They
// never see a ledger, a clock or the environment, and are safe for concurrent
// use unless a type says otherwise.
package resolve
