package packs

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed data/jurisdiction
var jurisdictionFS embed.FS

// Statute is one statute pack: what the law of a jurisdiction governs and what
// is to be done with it. Facts of law; reviewed as Review says.
type Statute struct {
	ID             string         `json:"id"`
	Jurisdiction   string         `json:"jurisdiction"` // country code, EU, or * for none
	Version        string         `json:"version"`
	Review         string         `json:"review"` // self-reviewed or regulator-reviewed
	Reviewer       string         `json:"reviewer"`
	InForce        string         `json:"in_force"` // ISO date, may be empty
	Authority      string         `json:"authority"`
	BreachHours    int            `json:"breach_notice_hours"` // 0 = none stated
	LawfulBases    []string       `json:"lawful_bases"`
	SubjectRights  []string       `json:"subject_rights"`
	TransferBases  []string       `json:"transfer_bases"` // bases under which data may cross a border
	RetentionYears map[string]int `json:"retention_years"`
	Unmapped       Mapping        `json:"unmapped"` // for a category no mapping names
	Mappings       []Mapping      `json:"mappings"`

	byCategory map[string]int
}

// Mapping is what a statute says of one category of personal data.
type Mapping struct {
	Category   string   `json:"category"`
	Also       []string `json:"also"`   // other spellings under which detectors report it
	Action     string   `json:"action"` // a key of ActionSeverity
	Tier       string   `json:"tier"`   // high, moderate or low
	Citation   string   `json:"citation"`
	NeedsBasis []string `json:"needs_basis"` // lawful bases that special data needs
}

// ActionSeverity orders actions: of two that meet in one stretch of text, the
// more severe is taken.
var ActionSeverity = map[string]int{"drop": 5, "mask": 4, "tokenize": 3, "generalize": 2, "audit": 1, "retain": 0}

// Policy returns what the statute says of a category: its mapping, or the
// statute's rule for categories it does not name.
func (s *Statute) Policy(category string) Mapping {
	if i, ok := s.byCategory[category]; ok {
		return s.Mappings[i]
	}
	m := s.Unmapped
	m.Category = category
	return m
}

// Governed returns the categories the statute names, sorted.
func (s *Statute) Governed() []string {
	out := make([]string, len(s.Mappings))
	for i, m := range s.Mappings {
		out[i] = m.Category
	}
	slices.Sort(out)
	return out
}

// Jurisdiction is one row of the table of jurisdictions.
type Jurisdiction struct {
	Code         string   `json:"code"`
	Name         string   `json:"name"`
	Also         []string `json:"also"`         // other names and codes people write
	Statute      string   `json:"statute"`      // "" = no pack ships
	Absence      string   `json:"absence"`      // why there is none, when something is to be said
	Alternatives []string `json:"alternatives"` // statutes that can be named instead
	Package      string   `json:"package"`      // package of national identifiers, "" = none
	Regions      []string `json:"regions"`      // wider regions it belongs to
}

// Package is one package of detectors: what it claims to find and where its
// tables come from.
type Package struct {
	Name         string   `json:"name"`
	Regions      []string `json:"regions"` // GLOBAL, a wider region, or country codes
	Categories   []string `json:"categories"`
	CrossCutting bool     `json:"cross_cutting"` // runs in every jurisdiction
	Note         string   `json:"note"`          // why it finds less elsewhere
}

// Jurisdictions is the table of jurisdictions, statutes and packages.
type Jurisdictions struct {
	// UnknownPackage is the package of national identifiers that runs when no
	// jurisdiction was given.
	UnknownPackage string
	AbsenceUnknown string // reason with {code} for a code without a statute
	AbsenceEmpty   string // reason when no jurisdiction was given
	Alternatives   []string

	rows     []Jurisdiction
	byCode   map[string]int
	byName   map[string]string
	packages []Package
	statutes map[string]*Statute
}

// LoadJurisdictions returns the shipped table. It is read once and never
// changes; do not write to what it returns.
var LoadJurisdictions = sync.OnceValue(func() *Jurisdictions {
	t, err := readJurisdictions()
	if err != nil {
		panic("packs: shipped jurisdiction data: " + err.Error())
	}
	return t
})

// Lookup returns the row of a code in capitals.
func (t *Jurisdictions) Lookup(code string) (Jurisdiction, bool) {
	i, ok := t.byCode[code]
	if !ok {
		return Jurisdiction{}, false
	}
	return t.rows[i], true
}

// Meant returns the code that a near miss stands for: a country's name,
// another code of it, or its code among spaces. It is "" for the code itself
// and for what nobody knows.
func (t *Jurisdictions) Meant(written string) string {
	key := strings.ToUpper(strings.TrimSpace(written))
	if _, ok := t.byCode[key]; ok {
		if key == strings.ToUpper(written) {
			return ""
		}
		return key
	}
	return t.byName[key]
}

// Rows returns all rows by code.
func (t *Jurisdictions) Rows() []Jurisdiction { return slices.Clone(t.rows) }

// Package returns a package of detectors by name.
func (t *Jurisdictions) Package(name string) (Package, bool) {
	for _, p := range t.packages {
		if p.Name == name {
			return p, true
		}
	}
	return Package{}, false
}

// PackageNames returns the names of all packages, national ones first.
func (t *Jurisdictions) PackageNames() []string {
	out := make([]string, len(t.packages))
	for i, p := range t.packages {
		out[i] = p.Name
	}
	return out
}

// CrossCutting returns the names of the packages that run everywhere, in
// running order.
func (t *Jurisdictions) CrossCutting() []string {
	var out []string
	for _, p := range t.packages {
		if p.CrossCutting {
			out = append(out, p.Name)
		}
	}
	return out
}

// Statute returns a statute by its exact id.
func (t *Jurisdictions) Statute(id string) (*Statute, bool) {
	s, ok := t.statutes[id]
	return s, ok
}

// StatuteIDs returns the ids of all statutes, sorted.
func (t *Jurisdictions) StatuteIDs() []string {
	out := make([]string, 0, len(t.statutes))
	for id := range t.statutes {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func readJurisdictions() (*Jurisdictions, error) {
	var table struct {
		UnknownPackage string `json:"unknown_package"`
		Absence        struct {
			Unknown string `json:"unknown"`
			Empty   string `json:"empty"`
		} `json:"absence"`
		Alternatives  []string       `json:"alternatives"`
		Jurisdictions []Jurisdiction `json:"jurisdictions"`
	}
	var packages struct {
		Packages []Package `json:"packages"`
	}
	if err := readJurisdictionFile("jurisdictions.json", &table); err != nil {
		return nil, err
	}
	if err := readJurisdictionFile("packages.json", &packages); err != nil {
		return nil, err
	}
	t := &Jurisdictions{
		UnknownPackage: table.UnknownPackage,
		AbsenceUnknown: table.Absence.Unknown,
		AbsenceEmpty:   table.Absence.Empty,
		Alternatives:   table.Alternatives,
		rows:           table.Jurisdictions,
		packages:       packages.Packages,
		byCode:         map[string]int{},
		byName:         map[string]string{},
		statutes:       map[string]*Statute{},
	}
	for i, r := range t.rows {
		t.byCode[r.Code] = i
		for _, n := range append([]string{r.Name}, r.Also...) {
			t.byName[strings.ToUpper(n)] = r.Code
		}
	}
	return t, t.readStatutes()
}

func (t *Jurisdictions) readStatutes() error {
	files, err := jurisdictionFS.ReadDir("data/jurisdiction/statutes")
	if err != nil {
		return err
	}
	for _, f := range files {
		raw, err := jurisdictionFS.ReadFile("data/jurisdiction/statutes/" + f.Name())
		if err != nil {
			return err
		}
		s, err := ParseStatute(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		t.statutes[s.ID] = s
	}
	for _, r := range t.rows {
		if _, ok := t.statutes[r.Statute]; r.Statute != "" && !ok {
			return fmt.Errorf("jurisdiction %s names the statute %s, which does not ship", r.Code, r.Statute)
		}
	}
	return nil
}

// ParseStatute reads and checks one statute pack.
func ParseStatute(raw []byte) (*Statute, error) {
	s := &Statute{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, err
	}
	if s.ID == "" || s.Jurisdiction == "" || s.Version == "" || s.Mappings == nil {
		return nil, fmt.Errorf("id, jurisdiction, version and mappings are required")
	}
	switch {
	case s.Review == "self-reviewed":
	case s.Review == "regulator-reviewed" && s.Reviewer != "":
	default:
		return nil, fmt.Errorf("review is self-reviewed, or regulator-reviewed with a named reviewer")
	}
	s.byCategory = map[string]int{}
	for i := range s.Mappings {
		m := &s.Mappings[i]
		if m.Tier == "" {
			m.Tier = "moderate"
		}
		if m.Citation == "" {
			m.Citation = s.Unmapped.Citation
		}
		if err := m.check(); err != nil {
			return nil, err
		}
		for _, c := range append([]string{m.Category}, m.Also...) {
			if _, twice := s.byCategory[c]; twice {
				return nil, fmt.Errorf("category %s is mapped twice", c)
			}
			s.byCategory[c] = i
		}
	}
	return s, s.Unmapped.check()
}

func (m *Mapping) check() error {
	if _, ok := ActionSeverity[m.Action]; !ok {
		return fmt.Errorf("action %q of %s is none of drop, mask, tokenize, generalize, audit, retain", m.Action, m.Category)
	}
	if !slices.Contains([]string{"high", "moderate", "low"}, m.Tier) {
		return fmt.Errorf("tier %q of %s is none of high, moderate, low", m.Tier, m.Category)
	}
	return nil
}

func readJurisdictionFile(name string, into any) error {
	raw, err := jurisdictionFS.ReadFile("data/jurisdiction/" + name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
