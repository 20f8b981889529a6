package resolve

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-ledger/arche/internal/address"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// personField is one thing the person engine compares: the attributes it is
// read from, the first that is there wins, and how often records of one person
// (m) and of two (u) agree on it.
type personField struct {
	name    string
	sources []string
	m, u    float64
}

var personFields = [...]personField{
	{"name", []string{"full_name", "name"}, 0.92, 0.01},
	{"phone", []string{"phone", "phone_number"}, 0.95, 1e-5},
	{"national_id", []string{"national_id", "nin", "bvn", "pvc", "drivers_licence", "ghana_card", "passport", "sa_id", "kenya_id",
		"nid", "nida", "cni", "cnie", "bi", "kebele_id", "ssnit", "nhif"}, 0.999, 1e-6},
	{"email", []string{"email"}, 0.98, 1e-6},
	{"address", []string{"address"}, 0.85, 0.05},
	{"dob", []string{"date", "dob", "date_of_birth"}, 0.95, 0.003},
	{"geo", nil, 0.9, 0.15},
}

// Thresholds of the person engine.
const (
	personMatch    = 0.85
	personReview   = 0.4
	exactFrom      = 0.99
	leastFields    = 2
	personGeoDecay = 1.5
	nameSupports   = 0.7
	addressSupport = 0.6
)

// nameRates are how often two people of a country share a name.
type nameRates struct {
	base   float64
	common map[string]float64
}

var personRates = map[string]nameRates{
	"NG": {0.02, map[string]float64{"mohammed": 0.08, "muhammad": 0.08, "mohamed": 0.08, "abubakar": 0.05, "ibrahim": 0.05,
		"abdullahi": 0.04, "musa": 0.04, "fatima": 0.04, "amina": 0.04, "usman": 0.03, "adamu": 0.03, "aisha": 0.03}},
	"GH": {0.02, map[string]float64{"kwame": 0.06, "ama": 0.06, "kofi": 0.05, "akua": 0.05, "mohammed": 0.05,
		"yaa": 0.04, "kwesi": 0.04, "ibrahim": 0.04, "efua": 0.03}},
	"KE": {0.015, map[string]float64{"john": 0.04, "mary": 0.04, "james": 0.03, "peter": 0.03, "mohamed": 0.03, "wanjiku": 0.03, "hassan": 0.02}},
	"ZA": {0.012, map[string]float64{"john": 0.03, "sipho": 0.03, "thabo": 0.025, "nomsa": 0.02, "lindiwe": 0.02, "mohammed": 0.02}},
	"FR": {0.008, map[string]float64{"jean": 0.04, "pierre": 0.03, "mohammed": 0.03, "marie": 0.05, "nicolas": 0.02}},
}

// nigerianAddressRate is the address rate where addresses repeat more.
const nigerianAddressRate = 0.06

// attributes are a record's fields as text, without id and missing values.
type attributes struct {
	keys   []string
	values map[string]string
}

func readAttributes(rec *canon.Object) attributes {
	out := attributes{values: make(map[string]string)}
	for k, v := range rec.All() {
		if k == "id" || v == nil || v == "" {
			continue
		}
		out.keys = append(out.keys, k)
		out.values[k] = canon.Text(v)
	}
	return out
}

// reference is the content address of a record without its id.
func (a attributes) reference() (string, error) {
	attrs := canon.NewObject()
	for _, k := range a.keys {
		attrs.Set(k, text.Norm(a.values[k]))
	}
	id, err := canon.PublishedID("ref", canon.Obj("attributes", attrs, "source_system", ""))
	if err != nil {
		return "", badText(err)
	}
	return id, nil
}

// first returns the value of the first of the names that is there, in the order
// of the record's own fields.
func (a attributes) first(names []string) (string, bool) {
	for _, k := range a.keys {
		if slices.Contains(names, k) {
			return a.values[k], true
		}
	}
	return "", false
}

func (a attributes) point() point {
	lat, okLat := textFloat(a.values["lat"])
	lon, okLon := textFloat(a.values["lon"])
	return point{lat, lon, okLat && okLon}
}

// digitsOf keeps the decimal digits of a text, as ASCII.
func digitsOf(s string) string {
	var b []byte
	for _, r := range s {
		if d := digitValue(r); d >= 0 {
			b = append(b, byte('0'+d))
		}
	}
	return string(b)
}

// birthday returns the date of birth unless it is a filler: no digits, zeros
// only, or no more than a year.
func birthday(s string) bool {
	d := digitsOf(s)
	return len(d) > 4 && strings.Trim(d, "0") != ""
}

// personSims compares two people field by field, rounded to 4 decimals.
func personSims(a, b attributes, g address.Grammar) (*canon.Object, error) {
	sims := canon.NewObject()
	for _, f := range personFields {
		if f.name == "geo" {
			if km, ok := distanceKm(a.point(), b.point()); ok {
				sims.Set(f.name, canon.Float(round(nearness(km, personGeoDecay), 4)))
			}
			continue
		}
		x, okX := a.first(f.sources)
		y, okY := b.first(f.sources)
		if f.name == "dob" {
			okX, okY = okX && birthday(x), okY && birthday(y)
		}
		if !okX || !okY {
			continue
		}
		s, err := personSim(f.name, x, y, g)
		if err != nil {
			return nil, err
		}
		sims.Set(f.name, canon.Float(round(s, 4)))
	}
	return sims, nil
}

// personSim compares one field of two people.
func personSim(field, x, y string, g address.Grammar) (float64, error) {
	switch field {
	case "name":
		return compareNames(x, y)
	case "phone":
		return comparePhones(text.Nid(x), text.Nid(y)), nil
	case "national_id":
		return equalTexts(text.Nid(x), text.Nid(y)), nil
	case "email":
		return equalTexts(text.Lower(text.Strip(x)), text.Lower(text.Strip(y))), nil
	case "address":
		return compareAddresses(x, y, g), nil
	}
	dx, dy := parseDate(x), parseDate(y)
	if s := compareDates(&dx, &dy); !math.IsNaN(s) {
		return s, nil
	}
	return equalTexts(digitsOf(x), digitsOf(y)), nil
}

func equalTexts(x, y string) float64 {
	if x != "" && x == y {
		return 1
	}
	return 0
}

// evidenceBits is the evidence of a similarity in bits.
func evidenceBits(s, m, u float64) float64 {
	m, u = min(max(m, 0.0001), 0.9999), min(max(u, 0.0001), 0.9999)
	agree, disagree := math.Log2(m/u), math.Log2((1-m)/(1-u))
	switch {
	case s >= exactFrom:
		return agree
	case s <= 0.01:
		return disagree
	}
	return s*agree + (1-s)*disagree
}

// rate is u of a field for a jurisdiction; for names, of the commonest word.
func (f *personField) rate(jurisdiction, x, y string) float64 {
	j := strings.ToUpper(jurisdiction)
	switch f.name {
	case "address":
		if j == "NG" {
			return nigerianAddressRate
		}
		return f.u
	case "name":
		rates, ok := personRates[j]
		if !ok {
			return f.u
		}
		nx, ny := text.Norm(x), text.Norm(y)
		u := rates.base
		if nx == ny {
			if c, ok := rates.common[nx]; ok {
				return c
			}
			return u
		}
		for _, t := range append(text.Fields(nx), text.Fields(ny)...) {
			u = max(u, rates.common[t])
		}
		return u
	}
	return f.u
}

// personVerdict is what the person engine makes of two records.
type personVerdict struct {
	sims    *canon.Object
	weights *canon.Object
	score   float64
	signals []string
	veto    bool
	exact   int
}

func (v *personVerdict) sim(name string) float64 {
	if f, ok := v.sims.Value(name).(canon.Float); ok {
		return float64(f)
	}
	return math.NaN()
}

func judgePeople(a, b attributes, jurisdiction string, g address.Grammar) (*personVerdict, error) {
	sims, err := personSims(a, b, g)
	if err != nil {
		return nil, err
	}
	v := &personVerdict{sims: sims, weights: canon.NewObject()}
	sum := 0.0
	for i := range personFields {
		f := &personFields[i]
		s := v.sim(f.name)
		if math.IsNaN(s) {
			continue
		}
		x, _ := a.first(f.sources)
		y, _ := b.first(f.sources)
		u := f.rate(jurisdiction, x, y)
		w := evidenceBits(s, f.m, u)
		sum += w
		v.weights.Set(f.name, canon.Obj("sim", canon.Float(s), "m", canon.Float(f.m), "u", canon.Float(u), "bits", canon.Float(round(w, 4))))
	}
	odds := math.Exp2(sum)
	v.score = odds / (1 + odds)
	if math.IsInf(odds, 1) {
		v.score = 1
	}
	if err := v.findSignals(a, b); err != nil {
		return nil, err
	}
	v.veto = v.sim("national_id") < exactFrom
	return v, nil
}

// findSignals collects what makes the agreement distinctive, and the weighted
// overlap of the names.
func (v *personVerdict) findSignals(a, b attributes) error {
	for _, id := range [...]string{"national_id", "phone", "email"} {
		if v.sim(id) >= exactFrom {
			v.signals = append(v.signals, id)
			v.exact++
		}
	}
	x, okX := a.first(personFields[0].sources)
	y, okY := b.first(personFields[0].sources)
	if okX && okY {
		overlap, rarest, err := populationOverlap(x, y)
		if err != nil {
			return err
		}
		tf := round(overlap, 4)
		v.sims.Set("name_tf", canon.Float(tf))
		if tf >= rareFrom && rarest >= rareFrom {
			v.signals = append(v.signals, "tftoken")
		}
	}
	if v.sim("dob") >= exactFrom && v.sim("name") >= personMatch {
		v.signals = append(v.signals, "dob+name")
	}
	return nil
}

// populationOverlap is the weighted overlap of two names by the person table,
// and the rarity of the rarest common word.
func populationOverlap(x, y string) (overlap, rarest float64, err error) {
	table, err := packs.FrequencyTable("person")
	if err != nil {
		return 0, 0, err
	}
	t := newTokens()
	t.open = true
	var sets [2][]int32
	for i, s := range [2]string{x, y} {
		for _, tok := range text.Tokens(text.Norm(s)) {
			sets[i] = append(sets[i], t.id(tok))
		}
		sets[i] = t.set(sets[i])
	}
	t.weigh(table)
	return t.weighted(sets[0], sets[1]), t.rarestShared(sets[0], sets[1]), nil
}

func (v *personVerdict) identity() string {
	switch {
	case v.veto:
		return identityDifferent
	case v.score >= personMatch && len(v.signals) > 0 && v.weights.Len() >= leastFields:
		return identitySame
	case v.score >= personReview:
		return decisionReview
	}
	return identityDifferent
}

// action says what to do about the identity, and on what basis.
func (v *personVerdict) action(identity string) (action, basis string) {
	if identity != identitySame {
		return "no_op", ""
	}
	corroborated := v.sim("name") >= nameSupports || v.sim("address") >= addressSupport || v.sim("dob") >= exactFrom || v.exact >= 2
	if len(v.signals) == 1 && v.exact == 1 && !corroborated {
		return "hold", "single_identifier"
	}
	return "merge", "corroborated"
}

func (v *personVerdict) explanation() string {
	var parts []string
	for _, e := range [...]struct{ field, text string }{
		{"national_id", "national ID match"}, {"phone", "phone match"}, {"email", "email match"}} {
		if v.sim(e.field) >= exactFrom {
			parts = append(parts, e.text)
		}
	}
	percent := func(what string, s float64) string {
		return what + " similarity " + strconv.FormatFloat(100*s, 'f', 0, 64) + "%"
	}
	if s := v.sim("name"); s >= 0.8 {
		parts = append(parts, percent("name", s))
	}
	if s := v.sim("address"); s >= addressSupport {
		parts = append(parts, percent("address", s))
	}
	if v.sim("dob") >= exactFrom {
		parts = append(parts, "DOB match")
	}
	if v.sim("geo") >= 0.6 {
		parts = append(parts, "nearby location")
	}
	if len(parts) == 0 {
		return "no strong agreeing signals"
	}
	return strings.Join(parts, "; ")
}
