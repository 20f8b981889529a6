// Package detect finds personal data in text.
//
// Call [Scan] for personal data under a jurisdiction, [Entities] for typed
// entities without one, [Addresses] for parsed addresses, and [NewStream] for
// texts too large to hold. The package reads nothing but its arguments and the
// embedded tables of package packs: no environment, no clock, no statute.
// Citations, tiers and actions belong to a statute and are added by package
// jurisdiction.
//
// Every scanner takes time linear in the text. Scanners work on a folded view
// (format characters dropped, digits folded to ASCII, canonically composed)
// and report positions in the text as it was given. The same text and options
// give the same spans on every platform; all functions are safe for concurrent
// use.
package detect

import (
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
)

// Options choose what Scan looks for. The zero value is "no jurisdiction".
type Options struct {
	// Jurisdiction is an ISO 3166 alpha-2 code (or EU) in either case. An
	// unknown code selects the detectors that are common to all countries.
	Jurisdiction string
}

// Span is one stretch of personal data. Offsets are half-open. A Span never
// carries the text it covers.
type Span struct {
	Category   string  // PII-<class>-<NAME>
	Start, End int     // code points of the text as given
	ByteStart  int     // bytes of the text as given
	ByteEnd    int     //
	Confidence float64 // 0 to 1, rounded to 4 decimals
	Detector   string  // the detector package; AlsoPackage for additions of ours
	Canonical  string  // one spelling for all spellings of the value (E.164, folded digits ...); empty when it has none. A value: never answer it
}

// AlsoPackage is the Detector of what the published detectors cannot find.
const AlsoPackage = "also"

// NormalJurisdiction returns the form of a jurisdiction code used for routing.
func NormalJurisdiction(code string) string { return strings.ToUpper(code) }

// maxText is the longest text that is held at once; a stream has no limit.
const maxText = 1<<31 - 1

// Scan returns the personal data in text, package by package in the order of
// [Packages], additions of ours last. Spans of different packages may overlap.
// A text of 2 GiB or more is refused.
func Scan(text string, opts Options) ([]Span, error) {
	if len(text) > maxText {
		return nil, fault.New(fault.Limit, "the text has %d bytes; at most %d are scanned at once", len(text), maxText)
	}
	return scanAll(text, NormalJurisdiction(opts.Jurisdiction)), nil
}

// Categories returns, sorted, what Scan can report under a jurisdiction beyond
// the categories its published packages claim: the coverage block's
// also_detected.
func Categories(jurisdiction string) []string {
	return alsoCategories(NormalJurisdiction(jurisdiction))
}

// Fold returns text as the scanners see it: format characters dropped, decimal
// digits of any script and full-width forms as ASCII, canonically composed.
func Fold(text string) string { return newView(text, true).s }
