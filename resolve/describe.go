package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/packs"
)

// Entities returns the names of the entity packs, sorted.
func Entities() []string { return packs.EntityPackNames() }

// CheckNames compares two names and says in which band they fall.
func CheckNames(a, b string) *canon.Object {
	out, err := CheckNamesWith("", a, b)
	if err != nil {
		// Only an embedded table that does not parse leads here.
		panic("resolve: " + err.Error())
	}
	return out
}

// Bands of name equivalence.
const (
	nameMatch  = 0.85
	nameReview = 0.7
)

// CheckNamesWith is CheckNames under a given engine.
func CheckNamesWith(engine, a, b string) (*canon.Object, error) {
	v2, err := isV2(engine)
	if err != nil {
		return nil, err
	}
	compare := compareNames
	if v2 {
		compare = compareNamesV2
	}
	score, err := compare(a, b)
	if err != nil {
		return nil, err
	}
	decision := "no_match"
	switch {
	case score >= nameMatch:
		decision = decisionMatch
	case score >= nameReview:
		decision = decisionReview
	}
	return canon.Obj("decision", decision, "score", canon.Float(round(score, 4)),
		"bands", canon.Obj("match", canon.Float(nameMatch), "review", canon.Float(nameReview))), nil
}

// purposes say what each pack decides.
var purposes = map[string]string{
	"artist":              "decides whether two records are one performing or recording artist",
	"organisation":        "decides whether two records are one registered organisation",
	"person":              "decides whether two records are one human being",
	"place":               "decides whether two records are one site or facility",
	"product_electronics": "decides whether two titles are one model of electronics",
	"product_grocery":     "decides whether two titles are one grocery item in one size",
	"product_home_goods":  "decides whether two titles are one household item in one variant",
}

// kindNotes say what each kind does with its field.
var kindNotes = [kindCount]string{
	kindAddress:     "reads both addresses into parts and compares part by part; without parts in common, the whole texts",
	kindCategory:    "equal or not, whatever the case and the separators",
	kindCode:        "a shared model or part number counts the more, the fewer titles of both lists hold it",
	kindContainment: "walks down the administrative levels both sides name until they differ",
	kindDate:        "equal at the coarser precision of the two; a slip of one day, month or year counts a little",
	kindEmail:       "equal or not, whatever the case",
	kindGeo:         "distance between the points, falling off exponentially",
	kindID:          "equal or not, letters and digits only; agreement is decisive",
	kindLegalForm:   "legal forms that exclude each other hold the pair at review",
	kindName:        "known spellings of one name first, then similarity of the texts",
	kindPhone:       "equal or not, with or without the country code",
	kindPlaceName:   "similarity of the texts, whatever the word order",
	kindPostcode:    "same district, and same unit inside it",
	kindPremises:    "a different unit, house or plot number holds the pair at review",
	kindQualifier:   "similarity of what follows the name in brackets or after a comma",
	kindRival:       "two rare words that differ, with nothing rare in common, hold the pair at review",
	kindSpec:        "a different size, quantity or variant holds the pair at review",
	kindTFToken:     "shared words, each counting by how rare it is",
	kindTokenSet:    "share of the smaller name's words that the other has",
	kindType:        "the type word in the name; shown as evidence",
	kindNumbers:     "different numbers in the names hold the pair at review",
}

// described is one label of a pack's fields.
type described struct {
	label   string
	kinds   []any
	notes   []any
	weight  float64
	refutes bool
	geo     *canon.Object
}

// DescribePack says which fields a pack reads, how, and with what weight.
func DescribePack(entity, packVersion string) (*canon.Object, error) {
	return DescribePackWith(entity, packVersion, "")
}

// DescribePackWith is DescribePack under a given engine.
func DescribePackWith(entity, packVersion, engine string) (*canon.Object, error) {
	p, err := planFor(entity, packVersion, engine)
	if err != nil {
		return nil, err
	}
	pack, _, err := packs.FindEntityPack(p.entity)
	if err != nil {
		return nil, err
	}
	fields := p.describe()
	slices.SortStableFunc(fields, func(a, b described) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.label, b.label))
	})
	list := make([]any, 0, len(fields))
	var names []string
	for _, f := range fields {
		o := canon.Obj("field", f.label, "kinds", f.kinds, "weight", canon.Float(f.weight), "notes", f.notes, "refutes", f.refutes)
		if f.geo != nil {
			o.Set("geo", f.geo)
		}
		list = append(list, o)
		names = append(names, strings.Split(f.label, " + ")...)
	}
	slices.Sort(names)
	var table any
	if pack.Table != "" {
		table = pack.Table
	}
	purpose := purposes[strings.ReplaceAll(p.entity, "organization", "organisation")]
	return canon.Obj("entity", entity, "purpose", purpose, "frequency_table", table, "fields", list,
		"field_names", names, "ignores_everything_else", true,
		"pack_version", p.packVersion, "versions", pack.Changed()), nil
}

// fieldLabel is how answers name what a comparator reads.
func fieldLabel(c *comparator) string {
	if c.kind == kindGeo {
		return c.latField + " + " + c.lonField
	}
	return c.field
}

func (p *plan) describe() []described {
	var out []described
	for i := range p.comps {
		c := &p.comps[i]
		label := fieldLabel(c)
		at := slices.IndexFunc(out, func(d described) bool { return d.label == label })
		if at < 0 {
			out = append(out, described{label: label})
			at = len(out) - 1
		}
		d := &out[at]
		d.kinds = append(d.kinds, c.kind.String())
		if note := kindNotes[c.kind]; !slices.Contains(d.notes, any(note)) {
			d.notes = append(d.notes, note)
		}
		d.weight += c.weight
		d.refutes = d.refutes || c.hasFloor
		if c.kind == kindGeo {
			d.geo = canon.Obj("decay_km", canon.Float(c.decay))
			if c.hasVeto {
				d.geo.Set("veto_km", canon.Float(c.veto))
			}
		}
	}
	return out
}
