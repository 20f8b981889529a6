package resolve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/packs"
)

// plan is what a call compares with, before it has seen a record: the
// comparators, compiled, and the tables they need. Plans of packs are shared.
type plan struct {
	entity      string // as asked for, without a version; "" for a caller's own comparators
	packVersion string
	v2          bool
	list        []*canon.Object
	listHash    string
	comps       []comparator
	columns     []columnSpec
	geoPairs    []geoFields
	reading     *reading // of the second engine
	nameFields  []string // fields that hold names
	rarity      rarityPlan
	sketched    int   // column whose words rows are sketched by, -1 none
	order       []int // comparators as they are evaluated while a pair may be given up
	unscreened  []int // those that carry no weight, and are not
	prunable    bool
	needsTable  bool     // some comparator weighs tokens
	blockText   []string // fields whose words are blocking keys
	blockID     []string // fields whose ids are blocking keys
	wordCols    []int    // their columns
	idCols      []int
	blockGeo    geoFields
	blockPoints int // of geoPairs
}

// rarityPlan says where token rarities come from.
type rarityPlan struct {
	table      *packs.Table // nil: calibrated from the lists
	phrases    *packs.Table // nil: none
	population *packs.Table // bounds what agreement can mean where the lists calibrate; nil mostly
	possessive bool
	pin        string // empty when calibrated

	populationPin string
	fields        []string
}

type geoFields struct{ lat, lon string }

// columnSpec is one field as a comparator reads it.
type columnSpec struct {
	field          string
	stripType      string
	stripQualifier bool
	norm           bool // prepared normal form
	lexicon        bool // name forms
	tokens         bool // token sets
	hausa          bool // spelling keys
	blockWords     bool // words that find candidates
	blockID        bool // identifiers that find candidates
	blockSecond    bool // values of kind blockAs that find candidates beside words
	blockAs        kind
	person         bool // holds names of people
	similar        bool // texts are compared by similarity
	counted        bool // its tokens calibrate the table
	rarity         bool // shared rarity of raw values
}

// planFor returns the shared plan of a pack.
func planFor(entity, packVersion, engine string) (*plan, error) {
	name, version, err := packVersionOf(entity, packVersion)
	if err != nil {
		return nil, err
	}
	v2, err := isV2(engine)
	if err != nil {
		return nil, err
	}
	key := planKey{name, version, v2}
	if p, ok := packPlans.Load(key); ok {
		return p.(*plan), nil
	}
	p, err := compilePack(key)
	if err != nil {
		return nil, err
	}
	actual, _ := packPlans.LoadOrStore(key, p)
	return actual.(*plan), nil
}

type planKey struct {
	entity, version string
	v2              bool
}

var packPlans sync.Map // planKey -> *plan

func isV2(engine string) (bool, error) {
	switch engine {
	case "", EngineV1:
		return false, nil
	case EngineV2:
		return true, nil
	}
	return false, fault.New(fault.Invalid, "unknown engine %s", canon.Repr(engine)).
		WithHint("accepted: %s (default), %s", EngineV1, EngineV2)
}

// packVersionOf splits "organisation@0.10" and checks both parts. A version in
// the name wins over the one beside it.
func packVersionOf(entity, packVersion string) (name, version string, err error) {
	name, version = entity, packVersion
	if before, after, ok := strings.Cut(entity, "@"); ok {
		name, version = before, after
	}
	if version == "" {
		version = PackVersionDefault
	}
	if _, ok, err := packs.FindEntityPack(name); err != nil {
		return "", "", err
	} else if !ok {
		return "", "", fault.New(fault.Invalid, "unknown entity pack %s; available: %s",
			canon.Repr(name), strings.Join(packs.EntityPackNames(), ", "))
	}
	if versions := packs.ResolveVersions(); !slices.Contains(versions, version) {
		return "", "", fault.New(fault.Invalid, "unknown pack version %s; available: %s",
			canon.Repr(version), strings.Join(versions, ", "))
	}
	return name, version, nil
}

func compilePack(key planKey) (*plan, error) {
	pack, _, err := packs.FindEntityPack(key.entity)
	if err != nil {
		return nil, err
	}
	raw, ok := pack.Comparators(key.version)
	table := pack.Table
	if key.v2 {
		raw, _ = pack.Comparators(PackVersion010)
		if pack.Second != nil {
			raw, table = pack.Second.Comparators, pack.Second.Table
		}
	}
	if !ok {
		return nil, fmt.Errorf("pack %s has no version %s", key.entity, key.version)
	}
	list, err := parseComparators(raw)
	if err != nil {
		return nil, err
	}
	p := &plan{entity: key.entity, packVersion: key.version, v2: key.v2, list: list}
	if err := p.compile(); err != nil {
		return nil, err
	}
	if table != "" && pack.Table == "" {
		p.calibrate()
		if p.rarity.population, err = packs.FrequencyTable(table); err != nil {
			return nil, err
		}
		p.rarity.populationPin = "shipped:" + table + "@" + p.rarity.population.Version
		p.markRarity()
		return p, nil
	}
	if table != "" {
		if err := p.useTable(table); err != nil {
			return nil, err
		}
		return p, nil
	}
	p.calibrate()
	return p, nil
}

func parseComparators(raw json.RawMessage) ([]*canon.Object, error) {
	v, err := canon.Parse(raw, canon.Limits{})
	if err != nil {
		return nil, err
	}
	items, _ := v.([]any)
	list := make([]*canon.Object, 0, len(items))
	for _, item := range items {
		o, ok := item.(*canon.Object)
		if !ok {
			return nil, fmt.Errorf("a comparator is not an object")
		}
		list = append(list, o)
	}
	return list, nil
}

// customPlan compiles a caller's own comparators.
func customPlan(list []*canon.Object, packVersion, engine string) (*plan, error) {
	if packVersion == "" {
		packVersion = PackVersionDefault
	}
	if versions := packs.ResolveVersions(); !slices.Contains(versions, packVersion) {
		return nil, fault.New(fault.Invalid, "unknown pack version %s; available: %s",
			canon.Repr(packVersion), strings.Join(versions, ", "))
	}
	v2, err := isV2(engine)
	if err != nil {
		return nil, err
	}
	p := &plan{packVersion: packVersion, v2: v2, list: list}
	if err := p.compile(); err != nil {
		return nil, err
	}
	p.calibrate()
	return p, nil
}

// calibrate makes the lists themselves the source of rarities, when some
// comparator weighs tokens.
func (p *plan) calibrate() {
	if !p.needsTable {
		return
	}
	for _, f := range p.rarity.fields {
		i := p.column(columnSpec{field: f})
		p.columns[i].tokens, p.columns[i].counted = true, true
	}
}

// useTable makes a shipped table the source of rarities.
func (p *plan) useTable(name string) error {
	t, err := packs.FrequencyTable(name)
	if err != nil {
		return err
	}
	p.rarity.table = t
	p.rarity.possessive = t.TokenRule == "possessive"
	p.rarity.pin = "shipped:" + name
	if t.DeclaredVersion != "" || p.packVersion != PackVersionDefault {
		p.rarity.pin += "@" + t.Version
	}
	if name == "place" {
		if p.rarity.phrases, err = packs.FrequencyTable("place_phrases"); err != nil {
			return err
		}
		p.rarity.pin += "+phrases@" + p.rarity.phrases.Version
	}
	p.markRarity()
	return nil
}

// compile turns the comparator list into comparators and columns.
func (p *plan) compile() error {
	hash, err := canon.PublishedHash(p.list)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the comparators hold text that is not valid UTF-8")
	}
	p.listHash = hash
	if p.v2 {
		if p.reading, err = secondReading(); err != nil {
			return err
		}
	}
	p.comps = make([]comparator, 0, len(p.list))
	for _, spec := range p.list {
		c, err := parseComparator(spec, p.v2)
		if err != nil {
			return err
		}
		c.distinctive = isDistinctive(c.kind, p.entity != "") || p.v2 && p.entity != "" && (c.kind == kindPhone || c.kind == kindEmail)
		p.comps = append(p.comps, c)
	}
	if err := p.check(); err != nil {
		return err
	}
	p.sketched = -1
	for i := range p.comps {
		p.place(&p.comps[i])
		switch c := &p.comps[i]; c.kind {
		case kindName, kindPlaceName, kindTFToken, kindTokenSet, kindNumbers:
			p.nameFields = append(p.nameFields, c.field)
		}
	}
	p.blocking()
	p.screenOrder()
	return nil
}

// check applies the rules that look at the list as a whole.
func (p *plan) check() error {
	for i := range p.comps {
		if p.comps[i].kind == kindTFToken {
			p.needsTable = true
			if f := p.comps[i].field; !slices.Contains(p.rarity.fields, f) {
				p.rarity.fields = append(p.rarity.fields, f)
			}
		}
	}
	for i := range p.comps {
		c := &p.comps[i]
		if c.kind == kindLegalForm && p.packVersion == PackVersionDefault && !p.v2 {
			c.off = true // the kind came with 0.10; before, it said nothing
		}
		if c.kind == kindRival && !p.needsTable {
			return fault.New(fault.Invalid, "comparator kind 'rival' weighs tokens by how rare they are, and no comparator of this list counts them").
				WithHint("add a comparator of kind 'tftoken' on the same field")
		}
		if c.kind == kindCode || c.kind == kindSpec {
			if err := c.useCategory(); err != nil {
				return err
			}
		}
	}
	return nil
}

func isDistinctive(k kind, entity bool) bool {
	switch k {
	case kindName, kindID:
		return true
	case kindPlaceName, kindTFToken, kindCode, kindTokenSet:
		return entity
	}
	return false
}

// place gives a comparator its column.
func (p *plan) place(c *comparator) {
	if c.kind == kindGeo || c.kind == kindContainment || c.kind == kindPostcode {
		c.geo = p.geoPair(c.latField, c.lonField)
	}
	if c.kind == kindGeo {
		return
	}
	spec := columnSpec{field: c.field}
	if c.kind.isText() {
		spec.stripType, spec.stripQualifier = c.stripType, c.stripQualifier
	}
	c.column = p.column(spec)
	col := &p.columns[c.column]
	switch c.kind {
	case kindName, kindPlaceName, kindAddress, kindQualifier, kindRival:
		col.similar = true
	}
	switch c.kind {
	case kindName:
		col.norm, col.lexicon = true, true
		col.person = p.entity == "person"
	case kindPlaceName:
		col.norm = true
	case kindTokenSet, kindRival, kindTFToken:
		if c.kind == kindTFToken && p.sketched < 0 {
			p.sketched = c.column
		}
		col.tokens = true
		col.person = p.entity == "person"
		col.hausa = col.hausa || c.hausa
	}
}

func (p *plan) column(spec columnSpec) int {
	for i, c := range p.columns {
		if c.field == spec.field && c.stripType == spec.stripType && c.stripQualifier == spec.stripQualifier {
			return i
		}
	}
	p.columns = append(p.columns, spec)
	return len(p.columns) - 1
}

func (p *plan) geoPair(lat, lon string) int {
	f := geoFields{lat, lon}
	if i := slices.Index(p.geoPairs, f); i >= 0 {
		return i
	}
	p.geoPairs = append(p.geoPairs, f)
	return len(p.geoPairs) - 1
}

// markRarity gives every distinctive text comparator the raw column that its
// distinctiveness is read from. Only tables of a whole population bound it.
func (p *plan) markRarity() {
	for i := range p.comps {
		c := &p.comps[i]
		switch c.kind {
		case kindName, kindPlaceName, kindTFToken, kindTokenSet:
			if c.distinctive {
				c.rawColumn = p.column(columnSpec{field: c.field})
				p.columns[c.rawColumn].rarity = true
			}
		}
	}
}

// blocking collects the fields that candidate pairs are found by.
func (p *plan) blocking() {
	p.blockGeo = geoFields{"lat", "lon"}
	seenGeo := false
	for i := range p.comps {
		c := &p.comps[i]
		switch c.kind {
		case kindTFToken, kindName, kindPlaceName, kindAddress:
			if !slices.Contains(p.blockText, c.field) {
				p.blockText = append(p.blockText, c.field)
			}
		case kindID:
			if !slices.Contains(p.blockID, c.field) {
				p.blockID = append(p.blockID, c.field)
			}
		case kindGeo:
			if !seenGeo {
				p.blockGeo = geoFields{c.latField, c.lonField}
				seenGeo = true
			}
		}
	}
	if p.entity == "" {
		return
	}
	for _, f := range p.blockText {
		i := p.column(columnSpec{field: f})
		p.columns[i].blockWords = true
		p.wordCols = append(p.wordCols, i)
	}
	for _, f := range p.blockID {
		i := p.column(columnSpec{field: f})
		p.columns[i].blockID = true
		p.idCols = append(p.idCols, i)
	}
	for i := range p.comps {
		c := &p.comps[i]
		if !p.v2 || c.kind != kindPhone && c.kind != kindEmail && c.kind != kindDate {
			continue
		}
		col := p.column(columnSpec{field: c.field})
		p.columns[col].blockAs, p.columns[col].blockSecond = c.kind, true
		p.wordCols = append(p.wordCols, col)
	}
	p.blockPoints = p.geoPair(p.blockGeo.lat, p.blockGeo.lon)
}
