package detect

import (
	"math"
	"slices"
	"strings"
)

// AddressParts is what an address says; a part that is not there is empty.
type AddressParts struct {
	Anchor, AnchorType   string // a landmark with its relation word; commercial, religious, infrastructure or other
	Plot                 string
	StreetNumber, Street string
	Neighborhood, Area   string
	City, Region         string
	PostalCode           string
	Country              string // ISO 3166 alpha-2
}

// Address is an address found in a text.
type Address struct {
	Start, End         int // code points of the text as given
	ByteStart, ByteEnd int
	Confidence         float64
	CountryConfidence  float64
	Parts              AddressParts
}

// Names returns the names of the parts that are there, sorted.
func (p AddressParts) Names() []string {
	var out []string
	for name, v := range map[string]string{
		"anchor": p.Anchor, "anchor_type": p.AnchorType, "plot": p.Plot, "street_number": p.StreetNumber, "street": p.Street,
		"neighborhood": p.Neighborhood, "area": p.Area, "city": p.City, "region": p.Region, "postal_code": p.PostalCode, "country": p.Country,
	} {
		if v != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Addresses returns the addresses of a text with their parts, sorted by start.
func Addresses(text string) []Address {
	w := newView(text, true)
	x := lex(w)
	var out []Address
	var spans []Span
	for _, m := range x.addressMatches() {
		p, sure := x.located(m)
		s := w.span(found{s: m.s, e: m.e, conf: m.confidence(p)}, "addr")
		spans = append(spans, s)
		out = append(out, Address{Confidence: s.Confidence, CountryConfidence: sure, Parts: p})
	}
	countRunes(text, spans)
	for i, s := range spans {
		out[i].Start, out[i].End, out[i].ByteStart, out[i].ByteEnd = s.Start, s.End, s.ByteStart, s.ByteEnd
	}
	return out
}

// addresses runs the package addr.
func (x *lexed) addresses() []found {
	matches := x.addressMatches()
	out := make([]found, len(matches))
	for i, m := range matches {
		p, _ := x.located(m)
		out[i] = found{s: m.s, e: m.e, category: catAddress, conf: m.confidence(p)}
	}
	return out
}

func (x *lexed) text(v vspan) string { return x.s[v.s:v.e] }

// located reads the parts and where they are: the country named, that of the
// city, or the one whose postal codes look so.
func (x *lexed) located(m addrMatch) (AddressParts, float64) {
	p := x.parts(m)
	w := addressWords()
	if p.Country != "" {
		return p, 0.95
	}
	if c := w.cities[strings.ToLower(p.City)]; p.City != "" && c != "" {
		p.Country = c
		return p, 0.85
	}
	switch c := p.PostalCode; {
	case c == "":
		return p, 0
	case allDigits(c) && len(c) == 6:
		p.Country = "NG"
	case allDigits(c) && len(c) == 5:
		p.Country = "KE"
	case allDigits(c) && len(c) == 4:
		p.Country = "ZA"
	case ghanaPost(c):
		p.Country = "GH"
		return p, 0.95
	default:
		p.Country = "GB"
		return p, 0.95
	}
	return p, 0.65
}

// parts reads what an address says.
func (x *lexed) parts(m addrMatch) AddressParts {
	p := AddressParts{
		Anchor: x.text(m.anchor), Plot: strings.TrimRight(x.text(m.plot), ", \t\n\r"),
		StreetNumber: x.text(m.number), Street: strings.Join(strings.Fields(x.text(m.street)), " "),
	}
	if p.Anchor != "" {
		p.AnchorType = anchorType(p.Anchor)
	}
	var list []string
	for part := range strings.SplitSeq(x.s[m.tail:m.e], ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	if n := len(list); n > 0 {
		if c := addressWords().countries[strings.ToLower(list[n-1])]; c != "" {
			p.Country, list = c, list[:n-1]
		}
	}
	p.settle(p.takePostal(list))
	return p
}

func anchorType(anchor string) string {
	s := strings.ToLower(anchor)
	for _, kind := range landmarkKinds {
		for _, n := range addressWords().kinds[kind] {
			if strings.Contains(s, n) {
				return kind
			}
		}
	}
	return "other"
}

// takePostal moves the first postal code out of the list of parts.
func (p *AddressParts) takePostal(list []string) []string {
	for i, part := range list {
		w := lex(newView(part, false))
		if e := w.postcode(0); e == len(part) {
			p.PostalCode = normalPostcode(part)
			return slices.Delete(list, i, i+1)
		}
		for _, cut := range spaces(part) {
			if w.postcode(cut) == len(part) {
				p.PostalCode = normalPostcode(part[cut:])
				list[i] = strings.TrimSpace(part[:cut])
				return list
			}
		}
	}
	for i, part := range list {
		if allDigits(part) && len(part) >= 4 && len(part) <= 6 || ghanaPost(part) {
			p.PostalCode = part
			return slices.Delete(list, i, i+1)
		}
	}
	return list
}

// spaces returns the positions after each white-space run of a part.
func spaces(s string) []int {
	var out []int
	for i := 1; i < len(s); i++ {
		if is(s[i-1], cSpace) && !is(s[i], cSpace) {
			out = append(out, i)
		}
	}
	return out
}

// settle sorts the remaining parts into city, neighbourhood, area and region:
// the rightmost known city decides.
func (p *AddressParts) settle(list []string) {
	city := -1
	for i, part := range list {
		if addressWords().cities[strings.ToLower(part)] != "" {
			city = i
		}
	}
	switch {
	case city >= 0:
		p.City = list[city]
		if city > 0 {
			p.Neighborhood, p.Area = list[0], strings.Join(list[1:city], ", ")
		}
		if city+1 < len(list) {
			p.Region = list[city+1]
		}
	case len(list) == 1:
		p.City = list[0]
	case len(list) > 1:
		p.Neighborhood, p.City = list[0], list[1]
		if len(list) > 2 {
			p.Region = list[2]
		}
	}
}

// normalPostcode is upper case with one space before the last three.
func normalPostcode(s string) string {
	s = strings.ToUpper(strings.Join(strings.Fields(s), ""))
	return s[:len(s)-3] + " " + s[len(s)-3:]
}

func allDigits(s string) bool { return s != "" && all(s, cDigit) }

// ghanaPost tells whether s has the form of a Ghana Post address: AB-123-4567.
func ghanaPost(s string) bool {
	return len(s) == 11 && s[2] == '-' && s[6] == '-' && all(s[:2], cUpper) && all(s[3:6], cDigit) && all(s[7:], cDigit)
}

// confidence adds up what the parts are worth.
func (m addrMatch) confidence(p AddressParts) float64 {
	c := 0.0
	for _, part := range []struct {
		has   bool
		worth float64
	}{
		{p.Street != "", 0.4}, {p.City != "", 0.2}, {p.Country != "", 0.15}, {p.PostalCode != "", 0.1},
		{p.Plot != "" || p.StreetNumber != "", 0.1}, {p.Anchor != "", 0.05},
	} {
		if part.has {
			c += part.worth
		}
	}
	c = min(c, 1)
	switch {
	case m.box:
		c = max(c, 0.55)
	case p.Street == "":
		c = min(c, 0.6)
	}
	return math.Round(c*1e4) / 1e4
}
