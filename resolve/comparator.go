package resolve

import (
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/packs"
)

// kind is how a comparator compares.
type kind uint8

const (
	kindAddress kind = iota
	kindCategory
	kindCode
	kindContainment
	kindDate
	kindEmail
	kindGeo
	kindID
	kindLegalForm
	kindName
	kindPhone
	kindPlaceName
	kindPostcode
	kindPremises
	kindQualifier
	kindRival
	kindSpec
	kindTFToken
	kindTokenSet
	kindType
	kindNumbers // of the second engine only
	kindCount
)

var kindNames = [kindCount]string{
	"address", "category", "code", "containment", "date", "email", "geo", "id", "legal_form", "name",
	"phone", "placename", "postcode", "premises", "qualifier", "rival", "spec", "tftoken", "tokenset", "type", "numbers",
}

func (k kind) String() string { return kindNames[k] }

// isText reports whether the kind honours strip_type and strip_qualifier.
func (k kind) isText() bool {
	switch k {
	case kindName, kindPlaceName, kindTokenSet, kindRival, kindTFToken, kindPhone, kindID, kindEmail,
		kindAddress, kindCategory, kindLegalForm:
		return true
	}
	return false
}

// comparator is one entry of a comparator list, compiled.
type comparator struct {
	kind      kind
	off       bool // of a kind that this version does not know: says nothing
	field     string
	noField   bool   // needs a field and has none: an error once a pair is scored
	label     string // name of its evidence: the field, else the kind
	weight    float64
	badWeight any // the weight that is not a number, when that is what was given
	weighs    bool
	refutes   float64
	hasFloor  bool // refutes is set

	stripType      string
	stripQualifier bool
	domain         string
	category       string
	hausa          bool
	rivalFloor     float64

	latField, lonField string
	decay, veto        float64
	hasVeto            bool
	boundary           float64

	distinctive bool
	column      int // of plan.columns
	rawColumn   int // column of the unstripped value when rarity bounds distinctiveness, else -1
	geo         int // of plan.geoPairs, else -1
	product     *productRules
}

var fieldDefaults = map[kind]string{
	kindContainment: "admin_path", kindPostcode: "postcode", kindDate: "birth_date", kindType: "name",
}

// parseComparator reads one entry. Unknown keys are ignored here; they count in
// the hash of the list.
func parseComparator(spec *canon.Object, v2 bool) (comparator, error) {
	c := comparator{rawColumn: -1, geo: -1, weighs: true}
	name, _ := spec.Get("kind")
	text, _ := name.(string)
	found := false
	known := kindNames[:]
	if !v2 {
		known = kindNames[:kindNumbers]
	}
	for k, n := range known {
		if n == text {
			c.kind, found = kind(k), true
		}
	}
	if !found {
		return c, fault.New(fault.Invalid, "unknown comparator kind %s; known kinds: %s",
			canon.Repr(name), strings.Join(known, ", "))
	}
	c.readField(spec)
	if err := c.readFloor(spec); err != nil {
		return c, err
	}
	c.readWeight(spec)
	c.readGeo(spec)
	c.stripType, _ = spec.Value("strip_type").(string)
	c.stripQualifier = truthy(spec.Value("strip_qualifier"))
	c.domain, _ = spec.Value("domain").(string)
	if v, ok := spec.Get("category"); ok && v != nil {
		c.category = canon.Text(v)
	}
	c.hausa = spec.Value("orthography") == "hausa"
	c.rivalFloor = numberOr(spec, "floor", DistinctiveFloor)
	return c, nil
}

func (c *comparator) readField(spec *canon.Object) {
	v, given := spec.Get("field")
	c.label = c.kind.String()
	field, isText := v.(string)
	switch {
	case given && isText:
		c.field, c.label = field, field
	case given:
		// A field that is no text names no field of any record.
		c.field, c.label = "\x00", canon.Text(v)
	case fieldDefaults[c.kind] != "":
		c.field = fieldDefaults[c.kind]
	case c.kind != kindGeo:
		c.noField = true
	}
}

func (c *comparator) readFloor(spec *canon.Object) error {
	v := spec.Value("refutes_below")
	if v == nil {
		return nil
	}
	f, ok := asFloat(v)
	if !ok {
		return fault.New(fault.Invalid, "refutes_below must be a number, got %s on comparator %s", canon.Repr(v), canon.Repr(c.label)).
			WithHint("give a number above 0 and up to 1")
	}
	if !(f > 0 && f <= 1) {
		return fault.New(fault.Invalid, "refutes_below must be in (0.0, 1.0], got %s on comparator %s; similarities lie in [0.0, 1.0], so it would fire always or never",
			canon.FloatText(f), canon.Repr(c.label))
	}
	c.refutes, c.hasFloor = f, true
	return nil
}

func (c *comparator) readWeight(spec *canon.Object) {
	c.weight = 1
	v, given := spec.Get("weight")
	if !given {
		return
	}
	f, ok := asFloat(v)
	if !ok {
		c.badWeight, c.weighs = v, false
		return
	}
	c.weight = f
}

func (c *comparator) readGeo(spec *canon.Object) {
	c.latField, c.lonField = "lat", "lon"
	if s, ok := spec.Value("lat").(string); ok {
		c.latField = s
	}
	if s, ok := spec.Value("lon").(string); ok {
		c.lonField = s
	}
	c.decay = numberOr(spec, "decay_km", 1.5)
	if v := spec.Value("veto_km"); v != nil {
		c.veto, c.hasVeto = asFloat(v)
	}
	boundary := 1.0
	if c.kind == kindPostcode {
		boundary = 0.1
	}
	c.boundary = numberOr(spec, "boundary_km", boundary)
}

func numberOr(spec *canon.Object, key string, def float64) float64 {
	if f, ok := asFloat(spec.Value(key)); ok {
		return f
	}
	return def
}

// lateError is the error of an entry that only shows when a pair is scored.
func (c *comparator) lateError() error {
	if c.noField {
		return fault.New(fault.Invalid, "a comparator of kind %s needs the key 'field'", canon.Repr(c.kind.String())).
			WithHint("only geo, containment, postcode, date and type have a default")
	}
	return nil
}

func (c *comparator) weightError() error {
	return fault.New(fault.Invalid, "weight must be a number, got %s on comparator %s", canon.Repr(c.badWeight), canon.Repr(c.label))
}

// useCategory looks the product category up.
func (c *comparator) useCategory() error {
	rules, err := packs.ProductRuleTable()
	if err != nil {
		return err
	}
	name := c.category
	if name == "" {
		name = rules.Default
	}
	c.product, err = compileProduct(rules, name)
	return err
}

// truthy is Python's truth of a JSON value.
func truthy(v any) bool {
	switch x := v.(type) {
	case nil:
		return false
	case bool:
		return x
	case string:
		return x != ""
	case canon.Number:
		return x.Float() != 0
	case canon.Float:
		return x != 0
	case float64:
		return x != 0
	case int:
		return x != 0
	case int64:
		return x != 0
	case []any:
		return len(x) > 0
	case *canon.Object:
		return x.Len() > 0
	}
	return true
}
