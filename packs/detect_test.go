package packs_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/arche-ledger/arche/packs"
)

// Every detection table is read and holds what its readers rely on.
func TestDetectionTables(t *testing.T) {
	names := packs.NameTokens()
	if len(names) != 11287 || !slices.IsSortedFunc(names, func(a, b packs.NameToken) int { return cmpText(a.Text, b.Text) }) {
		t.Errorf("the lexicon holds %d words, or is not sorted", len(names))
	}
	if g := packs.DetectNameGroups(); len(g.Groups) != 20 || g.MinLength != 3 {
		t.Errorf("%d spelling groups of words from %d characters", len(g.Groups), g.MinLength)
	}
	if n := len(packs.Cities()); n != 102 {
		t.Errorf("%d cities", n)
	}
	words := packs.OrdinaryWords()
	if !slices.IsSortedFunc(words, func(a, b packs.OrdinaryWord) int { return cmpText(a.Text, b.Text) }) {
		t.Error("the ordinary words are not sorted")
	}
	if a := packs.DetectAddressWords(); len(a.Relations) != 45 || len(a.Suffixes) != 29 || len(a.Countries) != 31 {
		t.Errorf("address words: %d relations, %d suffixes, %d countries", len(a.Relations), len(a.Suffixes), len(a.Countries))
	}
	if n := len(packs.MobilePlans()); n != 31 {
		t.Errorf("%d mobile plans", n)
	}
	ids := packs.DetectIDs()
	if len(ids.Patterns) != 27 || len(ids.Orders["africa"]) != 27 || ids.Window != 80 {
		t.Errorf("%d published identifiers, %d in the shared pack", len(ids.Patterns), len(ids.Orders["africa"]))
	}
	for country, n := range packs.IBANLengths() {
		if len(country) != 2 || n < 15 || n > 34 {
			t.Errorf("an IBAN of %q has %d characters", country, n)
		}
	}
	for _, r := range packs.CardRanges() {
		if len(r.From) != len(r.To) || r.From > r.To || len(r.Lengths) == 0 {
			t.Errorf("card range %+v", r)
		}
	}
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestNumberingPlans(t *testing.T) {
	regions := map[string]bool{}
	for _, r := range packs.PhoneRegions() {
		if r.Code == "" || len(r.Lengths) == 0 {
			t.Errorf("%s: calling code %q, lengths %v", r.Region, r.Code, r.Lengths)
		}
		if _, err := regexp.Compile(r.National); err != nil {
			t.Errorf("%s: %v", r.Region, err)
		}
		regions[r.Region] = true
	}
	for _, p := range packs.MobilePlans() {
		if !regions[p.Country] {
			t.Errorf("%s has mobile prefixes and no numbering plan", p.Country)
		}
	}
}
