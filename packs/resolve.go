package packs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// EntityPack is the comparator list of one kind of thing, in every version that
// was ever shipped.
type EntityPack struct {
	Table    string                     `json:"table"` // frequency table, "" when the lists calibrate themselves
	Versions map[string]json.RawMessage `json:"versions"`
	Second   *SecondPack                `json:"v2"` // the list of the second engine, nil when it is the newest list
}

// SecondPack is a pack as the second engine compares it.
type SecondPack struct {
	Table       string          `json:"table"`
	Comparators json.RawMessage `json:"comparators"`
}

// Comparators returns the comparator list of a pack version as JSON. A pack
// that did not change keeps the list of the version before.
func (p EntityPack) Comparators(version string) (json.RawMessage, bool) {
	for i := slices.Index(resolveVersions, version); i >= 0; i-- {
		if c, ok := p.Versions[resolveVersions[i]]; ok {
			return c, true
		}
	}
	return nil, false
}

// resolveVersions are the pack versions, oldest first.
var resolveVersions = []string{"0.9", "0.10"}

// ResolveVersions returns the versions of the entity packs, oldest first; the
// first is the default.
func ResolveVersions() []string { return slices.Clone(resolveVersions) }

// Changed returns the versions in which the pack's own list is new.
func (p EntityPack) Changed() []string {
	var out []string
	for _, v := range resolveVersions {
		if _, ok := p.Versions[v]; ok {
			out = append(out, v)
		}
	}
	return out
}

var entityPacks = sync.OnceValues(func() (map[string]EntityPack, error) {
	var out map[string]EntityPack
	err := readResolveJSON("entities.json", &out)
	return out, err
})

// EntityPackNames returns the names of the entity packs, sorted.
func EntityPackNames() []string {
	all, err := entityPacks()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(all))
}

// FindEntityPack returns the pack of a name.
func FindEntityPack(name string) (EntityPack, bool, error) {
	all, err := entityPacks()
	p, ok := all[name]
	return p, ok, err
}

// Synonym is a phrase and what it stands for.
type Synonym struct {
	Text, Canonical string
	Final           bool // counts only at the end
}

// UnmarshalJSON reads a pair of texts.
func (s *Synonym) UnmarshalJSON(data []byte) error {
	var pair [2]string
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	s.Text, s.Canonical = pair[0], pair[1]
	return nil
}

// TypeDomain is the vocabulary of one domain of type words, in match order:
// longest first, in normal form.
type TypeDomain struct {
	Pin      string    `json:"pin"` // 16 hexadecimal digits; empty before 0.10
	Synonyms []Synonym `json:"synonyms"`
}

var typeDomains = sync.OnceValues(func() (map[string]map[string]TypeDomain, error) {
	var out map[string]map[string]TypeDomain
	err := readResolveJSON("type_tokens.json", &out)
	return out, err
})

// TypeDomains returns the type vocabularies of a pack version by domain.
func TypeDomains(version string) (map[string]TypeDomain, error) {
	all, err := typeDomains()
	if err != nil {
		return nil, err
	}
	d, ok := all[version]
	if !ok {
		return nil, fmt.Errorf("no type vocabulary of version %q", version)
	}
	return d, nil
}

// FormRelation says how two different legal forms compare; a nil value means
// the comparison says nothing.
type FormRelation struct {
	A, B  string
	Value *float64
}

// UnmarshalJSON reads [form, form, value].
func (r *FormRelation) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&r.A, &r.B, &r.Value})
}

// LegalForms is the vocabulary of legal forms.
type LegalForms struct {
	Pin             string         `json:"pin"`
	Synonyms        []Synonym      `json:"synonyms"` // in match order
	BusinessMarkers []string       `json:"business_markers"`
	Relations       []FormRelation `json:"relations"`
}

// LegalFormVocabulary returns the legal forms.
var LegalFormVocabulary = sync.OnceValues(func() (*LegalForms, error) {
	out := new(LegalForms)
	err := readResolveJSON("legal_forms.json", out)
	return out, err
})

// NameEquivalences are groups of spellings of one given or family name. Key
// gives the group that a spelling leads to; a spelling can stand in several.
type NameEquivalences struct {
	Groups [][]string     `json:"groups"`
	Key    map[string]int `json:"key"`
}

// NameEquivalenceTable returns the groups of equivalent name spellings.
var NameEquivalenceTable = sync.OnceValues(func() (*NameEquivalences, error) {
	out := new(NameEquivalences)
	err := readResolveJSON("name_equivalences.json", out)
	return out, err
})

// ProductCategory says how codes and quantities are read from product titles.
type ProductCategory struct {
	MinCodeLen         int                 `json:"min_code_len"`
	MinBareNumberLen   int                 `json:"min_bare_number_len"`
	IdentityUnits      []string            `json:"identity_units"`
	StopCodes          []string            `json:"stop_codes"`
	QuantitiesAreSpecs bool                `json:"quantities_are_specs"`
	IdentityAttributes map[string][]string `json:"identity_attributes"`
	AsymmetryRefutes   bool                `json:"asymmetry_refutes"`
}

// ProductRules are the product categories and the units they share.
type ProductRules struct {
	Categories    map[string]ProductCategory `json:"categories"`
	Default       string                     `json:"default"`
	Units         []string                   `json:"spec_units_in_alternation_order"`
	UnitAliases   map[string]string          `json:"unit_aliases"`
	MaxTitleChars int                        `json:"max_title_chars"`
}

// ProductRuleTable returns the product rules.
var ProductRuleTable = sync.OnceValues(func() (*ProductRules, error) {
	out := new(ProductRules)
	err := readResolveJSON("product_categories.json", out)
	return out, err
})

// Orthography is how one language's spellings are brought together.
type Orthography struct {
	CollapseBoundaries bool              `json:"collapse_word_boundaries"`
	Rewrites           []SpellingRewrite `json:"rewrites"`
	Canonical          map[string]string `json:"variant_to_canonical"`
}

// SpellingRewrite is a pattern and its replacement.
type SpellingRewrite struct {
	Pattern string `json:"pattern"`
	Replace string `json:"replace"`
}

// Orthographies returns the spelling rules by language.
var Orthographies = sync.OnceValues(func() (map[string]Orthography, error) {
	var out map[string]Orthography
	err := readResolveJSON("orthography.json", &out)
	return out, err
})

// Extended is what the second engine reads beyond the published tables.
type Extended struct {
	Fillers       []string                       `json:"fillers"`       // values that stand for no value, in normal form
	FieldFillers  []string                       `json:"field_fillers"` // the same, but not in names
	Titles        []string                       `json:"titles"`        // words before a person's name
	Aliases       map[string]map[string][]string `json:"aliases"`       // pack, field, other names of the field
	Letters       map[string]string              `json:"letters"`       // letters of other alphabets in Latin letters
	Words         map[string]string              `json:"words"`         // names of other alphabets in a known Latin spelling
	LegalForms    []Synonym                      `json:"legal_forms"`
	FinalForms    []Synonym                      `json:"final_forms"` // count only at the end of a name
	FormRelations []FormRelation                 `json:"form_relations"`
	Pin           string                         `json:"-"` // hash of the file
}

// ExtendedReading returns the tables of the second engine.
var ExtendedReading = sync.OnceValues(func() (*Extended, error) {
	out := new(Extended)
	if err := readResolveJSON("extended.json", out); err != nil {
		return nil, err
	}
	data, err := resolveFiles.ReadFile("data/resolve/extended.json")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	out.Pin = "extended@" + hex.EncodeToString(sum[:8])
	return out, nil
})
