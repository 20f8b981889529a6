package splink

import (
	"fmt"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
)

// shape is how the values of a column compare: it selects the comparison levels
// and what of a value can be a blocking key.
type shape int

const (
	shapeName     shape = iota // a whole name
	shapeNamePart              // a given or family name
	shapeDate
	shapeID
	shapeExact    // e-mail, category: equal or not
	shapePhone    // equal or not, whatever the country prefix
	shapeCode     // postcode
	shapeNumber   // house number
	shapeText     // one line of an address, a place name
	shapeAddress  // a whole address
	shapeDistance // a pair of coordinates
)

// column is one field of the records as the database sees it. A distance has
// two fields and two database columns.
type column struct {
	field string
	lon   string // second field of a distance
	shape shape
}

// name is how answers and models name the column.
func (c column) name() string {
	if c.shape == shapeDistance {
		return c.field + "_" + c.lon
	}
	return c.field
}

var kindShapes = map[string]shape{
	"name": shapeName, "placename": shapeName, "date": shapeDate, "id": shapeID,
	"email": shapeExact, "phone": shapePhone, "category": shapeExact, "postcode": shapeCode,
	"address": shapeAddress, "geo": shapeDistance,
}

// part is a field that packs do not name but lists often carry: names and
// addresses in pieces, which a trained model uses better than the joined text.
type part struct {
	field string
	shape shape
	of    string // the pack kind that the pieces stand in for
}

var parts = []part{
	{"given_name", shapeNamePart, "name"}, {"first_name", shapeNamePart, "name"}, {"middle_name", shapeNamePart, "name"},
	{"surname", shapeNamePart, "name"}, {"last_name", shapeNamePart, "name"}, {"family_name", shapeNamePart, "name"},
	{"birth_date", shapeDate, "date"}, {"date_of_birth", shapeDate, "date"}, {"dob", shapeDate, "date"},
	{"sex", shapeExact, ""}, {"gender", shapeExact, ""},
	{"street_number", shapeNumber, "address"}, {"house_number", shapeNumber, "address"},
	{"address_1", shapeText, "address"}, {"street", shapeText, "address"}, {"address_2", shapeText, "address"},
	{"suburb", shapeText, "address"}, {"neighborhood", shapeText, "address"}, {"city", shapeText, "address"}, {"town", shapeText, "address"},
	{"postcode", shapeCode, "address"}, {"postal_code", shapeCode, "address"}, {"zip", shapeCode, "address"},
	{"state", shapeExact, "address"}, {"region", shapeExact, "address"}, {"county", shapeExact, "address"}, {"country", shapeExact, "address"},
	{"phone", shapePhone, ""}, {"email", shapeExact, ""},
}

// localities are the columns that follow from one another: a town fixes its
// postcode and its state. A model that took them for independent would call
// neighbours the same person, so they make one comparison.
var localities = map[string]bool{ // true for what covers a wide area
	"suburb": false, "neighborhood": false, "city": false, "town": false,
	"postcode": false, "postal_code": false, "zip": false,
	"state": true, "region": true, "county": true, "country": true,
}

// groups puts the columns that are compared together side by side: the
// localities, when there are several, in the place of the first.
func groups(cols []column) [][]column {
	var out [][]column
	at := -1
	for _, c := range cols {
		_, locality := localities[c.field]
		if locality && at >= 0 {
			out[at] = append(out[at], c)
			continue
		}
		if locality {
			at = len(out)
		}
		out = append(out, []column{c})
	}
	return out
}

// piecesToReplace is how many fields of a kind must be there in pieces before
// the joined field is left out: both would count one agreement twice.
const piecesToReplace = 2

// maxColumns bounds the model; the first ones in pack order stay.
const maxColumns = 14

// pickColumns returns the columns that both lists carry: the pieces of names and
// addresses, and the pack's own fields where no pieces stand in for them.
func pickColumns(comparators []Comparator, carried func(field string) bool) []column {
	pieces := make(map[string]int)
	for _, p := range parts {
		if p.of != "" && p.of != "date" && carried(p.field) {
			pieces[p.of]++
		}
	}
	replaced := func(kind string) bool {
		if kind == "placename" {
			kind = "name"
		}
		return pieces[kind] >= piecesToReplace
	}
	var out []column
	add := func(c column) {
		for _, o := range out {
			if o.field == c.field || o.shape == shapeDate && c.shape == shapeDate {
				return
			}
		}
		if len(out) < maxColumns {
			out = append(out, c)
		}
	}
	for _, p := range parts {
		if p.of == "name" && replaced("name") && carried(p.field) {
			add(column{field: p.field, shape: p.shape})
		}
	}
	for _, c := range comparators {
		s, ok := kindShapes[c.Kind]
		switch {
		case !ok || replaced(c.Kind):
		case s == shapeDistance:
			if carried(c.Lat) && carried(c.Lon) {
				add(column{field: c.Lat, lon: c.Lon, shape: s})
			}
		case carried(c.Field):
			add(column{field: c.Field, shape: s})
		}
	}
	for _, p := range parts {
		if p.of != "name" && carried(p.field) && !(p.of == "address" && !replaced("address") && p.shape == shapeText && hasShape(out, shapeAddress)) {
			add(column{field: p.field, shape: p.shape})
		}
	}
	return out
}

func hasShape(cols []column, s shape) bool {
	for _, c := range cols {
		if c.shape == s {
			return true
		}
	}
	return false
}

// value is a field of a record in the form that the model compares: lower case
// without marks, ids and dates without their punctuation habits. "" is missing.
func (c column) value(rec *canon.Object) string {
	v, ok := rec.Get(c.field)
	if !ok || v == nil {
		return ""
	}
	s := canon.Text(v)
	switch c.shape {
	case shapeID:
		return text.Nid(s)
	case shapePhone:
		return localNumber(text.Nid(s))
	case shapeDate:
		return isoDate(text.Norm(s))
	}
	return strings.TrimRight(text.Norm(s), " ")
}

// localNumber is a phone number without country code or trunk prefix, as far as
// that can be told without a numbering plan: its last nine digits.
func localNumber(s string) string { return s[max(0, len(s)-9):] }

// isoDate rewrites eight digits that can only be year, month and day, and dates
// with the year first, as YYYY-MM-DD; any other text stays.
func isoDate(s string) string {
	var groups []string
	digits := strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case len(digits) == 1 && len(digits[0]) == 8:
		groups = []string{digits[0][:4], digits[0][4:6], digits[0][6:]}
	case len(digits) == 3 && len(digits[0]) == 4 && len(digits[1]) <= 2 && len(digits[2]) <= 2:
		groups = digits
	default:
		return s
	}
	return fmt.Sprintf("%s-%02s-%02s", groups[0], groups[1], groups[2])
}

// coordinate reads a field of a distance.
func coordinate(rec *canon.Object, field string) any {
	switch v := rec.Value(field).(type) {
	case canon.Number:
		if f := v.Float(); f >= -1000 && f <= 1000 {
			return f
		}
	case canon.Float:
		if v >= -1000 && v <= 1000 {
			return float64(v)
		}
	case string:
		if f := canon.Number(text.Strip(v)).Float(); f >= -1000 && f <= 1000 {
			return f
		}
	}
	return nil
}
