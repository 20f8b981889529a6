package packs_test

import (
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/packs"
)

func TestJurisdictionTable(t *testing.T) {
	table := packs.LoadJurisdictions()
	want := []string{"BASELINE", "GDPR", "GHANA-DPA", "HIPAA-SAFE-HARBOR", "KENYA-DPA", "NDPA-2023", "POPIA", "UK-GDPR"}
	if diff := cmp.Diff(want, table.StatuteIDs()); diff != "" {
		t.Errorf("statutes (-want +got):\n%s", diff)
	}
	with := 0
	for _, r := range table.Rows() {
		if r.Statute != "" {
			with++
		}
		if r.Package != "" {
			if _, ok := table.Package(r.Package); !ok {
				t.Errorf("%s names the package %q, which does not exist", r.Code, r.Package)
			}
		}
	}
	if with != 36 {
		t.Errorf("%d jurisdictions have a statute, want 36", with)
	}
	if !slices.IsSortedFunc(table.Rows(), func(a, b packs.Jurisdiction) int { return strings.Compare(a.Code, b.Code) }) {
		t.Error("rows are not sorted by code")
	}
}

func TestMeant(t *testing.T) {
	table := packs.LoadJurisdictions()
	for written, want := range map[string]string{
		"UK": "GB", "Nigeria": "NG", " NG ": "NG", "usa": "US", "NG": "", "ng": "", "Atlantis": "", "": "", "EL": "GR",
	} {
		if got := table.Meant(written); got != want {
			t.Errorf("Meant(%q) = %q, want %q", written, got, want)
		}
	}
}

func TestStatutePolicy(t *testing.T) {
	s, _ := packs.LoadJurisdictions().Statute("BASELINE")
	if got := s.Policy("PII-2-NATIONAL_ID"); got.Action != "mask" || got.Tier != "high" {
		t.Errorf("BASELINE on a national id: %+v", got)
	}
	if got := s.Policy("PII-1-DOB"); got.Action != "mask" || got.Tier != "moderate" || got.Citation == "" {
		t.Errorf("BASELINE on an unmapped category: %+v", got)
	}
	if n := len(must(packs.LoadJurisdictions().Statute("NDPA-2023")).Governed()); n != 27 {
		t.Errorf("NDPA-2023 governs %d categories, want 27", n)
	}
}

func must(s *packs.Statute, _ bool) *packs.Statute { return s }

func TestParseStatuteRefuses(t *testing.T) {
	const good = `{"id":"X","jurisdiction":"XX","version":"v1","review":"self-reviewed",
		"unmapped":{"action":"mask","tier":"low","citation":"c"},"mappings":[{"category":"PII-1-NAME","action":"mask"}]}`
	if _, err := packs.ParseStatute([]byte(good)); err != nil {
		t.Fatalf("a sound pack: %v", err)
	}
	for name, change := range map[string][2]string{
		"no id":                 {`"id":"X"`, `"id":""`},
		"unknown action":        {`"action":"mask"}]`, `"action":"hide"}]`},
		"unknown tier":          {`"tier":"low"`, `"tier":"lowest"`},
		"review without a name": {"self-reviewed", "regulator-reviewed"},
		"no mappings":           {`"mappings":[{"category":"PII-1-NAME","action":"mask"}]`, `"x":1`},
		"mapped twice":          {`[{`, `[{"category":"PII-1-NAME","action":"drop"},{`},
		"not JSON":              {`{`, ``},
	} {
		if _, err := packs.ParseStatute([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSignalPatternsParse(t *testing.T) {
	for version, want := range map[string]int{"": 28, packs.RulesetLatest: 39} {
		s, ok := packs.LoadSignals(version)
		if !ok || len(s.Signals) != want {
			t.Fatalf("version %q: %v, %d signals, want %d", version, ok, len(s.Signals), want)
		}
		for _, sig := range s.Signals {
			for _, p := range []string{sig.Pattern, sig.Before, sig.NotBefore} {
				if _, err := syntax.Parse(p, syntax.Perl); err != nil {
					t.Errorf("%s: %v", sig.Name, err)
				}
			}
			if s.Weights[sig.Tier] == 0 {
				t.Errorf("%s has the unknown tier %q", sig.Name, sig.Tier)
			}
		}
	}
	if _, ok := packs.LoadSignals("2020.01.1"); ok {
		t.Error("a version nobody shipped is there")
	}
}

func TestPlaceRolesPin(t *testing.T) {
	if got, want := packs.LoadPlaceRoles().Pin, "arche.place_roles@v1:sha256:52ff7520cad60a44"; got != want {
		t.Errorf("pin = %s, want %s", got, want)
	}
}
