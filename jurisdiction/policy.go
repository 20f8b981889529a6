package jurisdiction

import (
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/packs"
)

// Ceiling is the policy the operator set for every call. What is set here is
// used in place of a call's argument; what is empty the call decides.
type Ceiling struct {
	Jurisdiction string // ARCHE_JURISDICTION
	Statute      string // ARCHE_STATUTE
}

// Apply returns the jurisdiction and statute a call runs under. The two are
// independent: Kenyan detectors can run under a South African statute.
func (c Ceiling) Apply(jurisdiction, statute string) (string, string) {
	if c.Jurisdiction != "" {
		jurisdiction = c.Jurisdiction
	}
	if c.Statute != "" {
		statute = c.Statute
	}
	return jurisdiction, statute
}

// Absent tells why no statute governs and which could be named instead.
type Absent struct {
	Reason       string
	Alternatives []string
	Meant        string // the code that was probably meant, "" = none
}

// ForJurisdiction returns the statute of a jurisdiction, or why there is none.
func ForJurisdiction(code string) (*packs.Statute, *Absent) {
	table := packs.LoadJurisdictions()
	upper := strings.ToUpper(code)
	if upper == "" {
		return nil, &Absent{Reason: table.AbsenceEmpty, Alternatives: slices.Clone(table.Alternatives)}
	}
	row, known := table.Lookup(upper)
	if known && row.Statute != "" {
		s, _ := table.Statute(row.Statute)
		return s, nil
	}
	a := &Absent{Reason: row.Absence, Alternatives: row.Alternatives}
	if a.Reason == "" {
		a.Reason = strings.ReplaceAll(table.AbsenceUnknown, "{code}", shownCode(code))
	}
	if a.Alternatives == nil {
		a.Alternatives = table.Alternatives
	}
	a.Alternatives = slices.Clone(a.Alternatives)
	if a.Meant = table.Meant(code); a.Meant != "" {
		a.Reason += "; " + a.Meant + " is the code that was probably meant"
	}
	return nil, a
}

// shownCode is a jurisdiction as an answer may repeat it: what does not look
// like a code or a name could be anything, personal data too.
func shownCode(code string) string {
	trimmed := strings.TrimSpace(code)
	if trimmed == "" || len(trimmed) > 24 || strings.ContainsFunc(trimmed, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != ' ' && r != '-'
	}) {
		return "the jurisdiction given"
	}
	return strings.ToUpper(trimmed)
}

// resolve returns the jurisdiction in capitals and its statute: the one named,
// else the jurisdiction's own. Absent is set when there is none; the error is
// for a name that is no statute.
func resolve(jurisdiction, statute string) (string, *packs.Statute, *Absent, error) {
	jurisdiction = strings.ToUpper(jurisdiction)
	if statute != "" {
		s, ok := packs.LoadJurisdictions().Statute(statute)
		if !ok {
			return jurisdiction, nil, nil, noStatute(statute)
		}
		return jurisdiction, s, nil, nil
	}
	s, absent := ForJurisdiction(jurisdiction)
	return jurisdiction, s, absent, nil
}

// Policy returns the statute that governs under a jurisdiction and a named
// statute, both already under the ceiling. A nil statute comes with the reason;
// the error is a fault for a name that is no statute.
func Policy(jurisdiction, statute string) (*packs.Statute, *Absent, error) {
	_, s, absent, err := resolve(jurisdiction, statute)
	return s, absent, err
}

func noStatute(id string) error {
	name := "the statute given"
	if looksLikeID(id) {
		name = "statute '" + id + "'"
	}
	return fault.New(fault.NotFound, "%s not found", name).
		WithHint("statute ids are exact: %s", strings.Join(packs.LoadJurisdictions().StatuteIDs(), ", "))
}

// looksLikeID reports whether a statute id can be repeated in an answer:
// capitals, hyphens and at most a year, so neither a path nor a number of
// somebody.
func looksLikeID(id string) bool {
	digits := 0
	for _, r := range id {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case (r < 'A' || r > 'Z') && r != '-':
			return false
		}
	}
	return digits <= 4 && len(id) <= 40
}

// Statutes returns the ids of all statutes, sorted.
func Statutes() []string { return packs.LoadJurisdictions().StatuteIDs() }

// WithStatute returns the jurisdictions that have a statute, sorted.
func WithStatute() []string {
	var out []string
	for _, r := range packs.LoadJurisdictions().Rows() {
		if r.Statute != "" {
			out = append(out, r.Code)
		}
	}
	return out
}
