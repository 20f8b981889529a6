package jurisdiction

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/packs"
)

// Coverage is what plan_protection answers and every scan carries: what a
// statute governs, what the installed detectors can find of it, and what not.
// It speaks of capability, not of recall.
type Coverage struct {
	Verdict              string     `json:"verdict"` // full, partial, none or no-statute
	StatuteID            *string    `json:"statute_id"`
	Jurisdiction         *string    `json:"jurisdiction"` // in capitals
	DetectorPackages     []string   `json:"detector_packages"`
	DetectableCategories []string   `json:"detectable_categories"`
	Governed             []string   `json:"governed"`
	Covered              []string   `json:"covered"`
	Uncovered            []string   `json:"uncovered"`
	CalibrationMismatch  []Mismatch `json:"calibration_mismatch"`
	DegradedCategories   []string   `json:"degraded_categories"`
	Note                 string     `json:"note"`
	// AlsoDetected are the categories that further detectors find and redact
	// without their being counted as covered.
	AlsoDetected []string `json:"also_detected"`
}

// Mismatch is a package whose tables come from somewhere else.
type Mismatch struct {
	Detector      string   `json:"detector"`
	CalibratedFor []string `json:"calibrated_for"`
	Categories    []string `json:"categories"`
	Note          string   `json:"note"`
}

// CountAll is the coverage version (ARCHE_COVERAGE) under which the further
// detectors count as coverage. Any other keeps the published claims, which
// claim less than is found.
const CountAll = "2"

// Plan returns the coverage block for a jurisdiction and a named statute, both
// already under the ceiling and either may be "". The error is a fault for a
// name that is no statute.
func Plan(jurisdiction, statute, version string) (*Coverage, error) {
	code, s, absent, err := resolve(jurisdiction, statute)
	if err != nil {
		return nil, err
	}
	names := Packages(code)
	c := coverage(code, s, names, detect.Categories(code), version)
	c.addNote(absent)
	return c, nil
}

// Packages returns the detector packages that run for a jurisdiction in
// capitals, in running order.
func Packages(code string) []string {
	table := packs.LoadJurisdictions()
	own := ""
	if code == "" {
		own = table.UnknownPackage
	} else if row, ok := table.Lookup(code); ok {
		own = row.Package
	}
	if own == "" {
		return table.CrossCutting()
	}
	return append([]string{own}, table.CrossCutting()...)
}

// coverage counts what a set of packages finds of what a statute governs. also
// is what the further detectors find.
func coverage(code string, s *packs.Statute, names, also []string, version string) *Coverage {
	c := &Coverage{
		Jurisdiction:         optional(code),
		DetectorPackages:     names,
		DetectableCategories: detectable(names),
		Governed:             []string{}, Covered: []string{}, Uncovered: []string{},
		CalibrationMismatch: mismatches(code, names),
		DegradedCategories:  []string{},
	}
	c.AlsoDetected = without(sortedSet(also, nil), c.DetectableCategories)
	if version == CountAll {
		c.DetectableCategories = sortedSet(c.DetectableCategories, c.AlsoDetected)
		c.AlsoDetected = []string{}
	}
	if s == nil {
		c.Verdict = "no-statute"
		return c
	}
	c.StatuteID = &s.ID
	c.Governed = s.Governed()
	for _, m := range s.Mappings {
		spelled := slices.Contains(c.DetectableCategories, m.Category)
		if version == CountAll {
			spelled = spelled || slices.ContainsFunc(m.Also, func(a string) bool { return slices.Contains(c.DetectableCategories, a) })
		}
		if spelled {
			c.Covered = append(c.Covered, m.Category)
		} else {
			c.Uncovered = append(c.Uncovered, m.Category)
		}
	}
	slices.Sort(c.Covered)
	slices.Sort(c.Uncovered)
	for _, m := range c.CalibrationMismatch {
		for _, category := range m.Categories {
			if slices.Contains(c.Covered, category) {
				c.DegradedCategories = sortedSet(c.DegradedCategories, []string{category})
			}
		}
	}
	c.Verdict = verdict(len(c.Covered), len(c.Uncovered))
	return c
}

func verdict(covered, uncovered int) string {
	switch {
	case uncovered == 0:
		return "full"
	case covered == 0:
		return "none"
	}
	return "partial"
}

func detectable(names []string) []string {
	var out []string
	for _, name := range names {
		p, _ := packs.LoadJurisdictions().Package(name)
		out = append(out, p.Categories...)
	}
	return sortedSet(out, nil)
}

// mismatches lists the running packages that were built for somewhere else
// than the jurisdiction; without a jurisdiction there is nothing to compare.
func mismatches(code string, names []string) []Mismatch {
	out := []Mismatch{}
	if code == "" {
		return out
	}
	table := packs.LoadJurisdictions()
	row, _ := table.Lookup(code)
	home := append([]string{"GLOBAL", code}, row.Regions...)
	for _, name := range names {
		p, _ := table.Package(name)
		if slices.ContainsFunc(home, func(r string) bool { return slices.Contains(p.Regions, r) }) {
			continue
		}
		m := Mismatch{Detector: name, CalibratedFor: sortedSet(p.Regions, nil), Categories: []string{}, Note: p.Note}
		if p.CrossCutting {
			m.Categories = sortedSet(p.Categories, nil)
		}
		out = append(out, m)
	}
	return out
}

func (c *Coverage) addNote(absent *Absent) {
	switch c.Verdict {
	case "no-statute":
		c.Note = "nothing is governed here, so nothing can be covered: " + absent.Reason
	case "full":
		c.Note = fmt.Sprintf("for every category that %s governs a detector is installed; that is what it can find, not a promise that it found all", *c.StatuteID)
	case "none":
		c.Note = fmt.Sprintf("nothing that %s governs has a detector here, so a clean result means that nothing was looked for", *c.StatuteID)
	default:
		c.Note = fmt.Sprintf("%s that %s governs %s counted on here: %s. A clean result does not mean that they are absent.",
			plural(len(c.Uncovered), "category", "categories"), *c.StatuteID,
			map[bool]string{true: "has no detector", false: "have no detector"}[len(c.Uncovered) == 1], firstOf(c.Uncovered, 4))
	}
	if len(c.DegradedCategories) > 0 && c.Verdict == "partial" {
		c.Note += fmt.Sprintf(" For %s the detector was built for another region: %s.",
			plural(len(c.DegradedCategories), "further category", "further categories"), strings.Join(c.DegradedCategories, ", "))
	}
	if len(c.AlsoDetected) > 0 {
		c.Note += " What also_detected lists is looked for, returned and redacted without being counted."
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// firstOf lists up to n names and says how many more there are.
func firstOf(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// sortedSet returns the distinct members of two lists, sorted, never nil.
func sortedSet(a, b []string) []string {
	out := append(append([]string{}, a...), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// without returns the members of a that are not in b, never nil.
func without(a, b []string) []string {
	return slices.DeleteFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
