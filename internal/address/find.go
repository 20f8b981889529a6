package address

import (
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/text"
)

// Found is an address in running text.
type Found struct {
	Start, End int // code points
	Parts      Parts
	Country    string // ISO code, "" when nothing tells it
	// CountryConfidence is 0.95 for a country or a code that only one has,
	// 0.85 for a known city, 0.65 for the length of a postal code.
	CountryConfidence float64
	Confidence        float64 // 0 to 1, by what the address says
	AnchorType        string  // commercial, religious, infrastructure, other; "" without an anchor
}

// Components returns the names of what the address says, sorted.
func (f Found) Components() []string {
	var out []string
	for _, c := range []struct{ name, value string }{
		{"anchor", f.Parts.Anchor}, {"anchor_type", f.AnchorType}, {"area", f.Parts.Area}, {"city", f.Parts.City},
		{"country", f.Country}, {"neighborhood", f.Parts.Neighborhood}, {"plot", f.Parts.Plot},
		{"postal_code", f.Parts.PostalCode}, {"region", f.Parts.Region}, {"street", f.Parts.Street},
		{"street_number", f.Parts.StreetNumber},
	} {
		if c.value != "" {
			out = append(out, c.name)
		}
	}
	return out
}

// Gazetteer is what Find knows of the world beyond the grammar's own words.
type Gazetteer struct {
	Countries map[string]string   // lower-case name to ISO code
	Cities    map[string]string   // lower-case name or alias to ISO code
	Landmarks map[string][]string // landmark nouns by commercial, religious, infrastructure
}

// Text is a text laid out for finding addresses in it. It does not change.
type Text struct{ sc *scanner }

// NewText lays a text out.
func NewText(s string) *Text { return &Text{newScanner(s, WithPostcodes)} }

// TailEnd returns where the comma-separated parts after place i end; i itself
// when there are none.
func (t *Text) TailEnd(i int) int { return t.sc.strictTail(i) }

// Find returns the addresses in the text, in order and apart. The earliest
// start wins, then the longest. Linear in the text.
//
// It reads the grammar of Parse a little differently, because text goes on
// where a record's field ends: a tail stops before prose, a box needs a word
// boundary, a landmark belongs to a street that follows it at once, a house
// number is taken whole, and streets in capitals, ordinals, house ranges and
// units after the street count.
func (t *Text) Find(g Gazetteer) []Found {
	sc := t.sc
	var all []Found
	add := func(start int, m match, p Parts, floor, roof float64) {
		all = append(all, g.found(sc, start, m, p, floor, roof))
	}
	sc.each(isUpper|isDigit, (*scanner).streetInText, func(m match) bool {
		p := Parts{Street: collapse(sc.text(m.street, m.streetEnd))}
		if m.plot >= 0 {
			p.Plot = collapse(sc.text(m.plot, m.plotEnd))
		}
		if m.number >= 0 {
			p.StreetNumber = sc.text(m.number, m.numberEnd)
		}
		sc.readTail(&p, m)
		start := m.start
		if a, b := sc.landmarkBefore(start); a >= 0 {
			p.Anchor, start = text.Strip(sc.text(a, b)), a
		}
		add(start, m, p, 0, 1)
		return true
	})
	sc.each(isBox, (*scanner).boxInText, func(m match) bool {
		p := Parts{Plot: collapse(sc.text(m.plot, m.plotEnd))}
		sc.readTail(&p, m)
		add(m.start, m, p, 0.55, 1)
		return true
	})
	sc.each(isRelation, (*scanner).landmarkInText, func(m match) bool {
		p := Parts{Anchor: text.Strip(sc.text(m.anchor, m.anchorEnd))}
		sc.readTail(&p, m)
		if sc.vocab.namesLandmark(text.Lower(p.Anchor)) || p.City != "" || p.Neighborhood != "" || p.PostalCode != "" {
			add(m.start, m, p, 0, 0.6)
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b Found) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	return apart(all)
}

// apart keeps what overlaps nothing kept before it. A street that starts within
// what follows a landmark or a box belongs to it.
func apart(all []Found) []Found {
	var out []Found
	for _, f := range all {
		if len(out) == 0 || f.Start >= out[len(out)-1].End {
			out = append(out, f)
			continue
		}
		last := &out[len(out)-1]
		if f.End <= last.End || f.Parts.Street == "" || last.Parts.Street != "" {
			continue
		}
		if f.Parts.Anchor == "" {
			f.Parts.Anchor, f.AnchorType = last.Parts.Anchor, last.AnchorType
		}
		if f.Parts.Plot == "" {
			f.Parts.Plot = last.Parts.Plot
		}
		f.Start, f.Confidence = last.Start, max(f.Confidence, last.Confidence)
		*last = f
	}
	return out
}

// found completes an address with its country and confidence.
func (g Gazetteer) found(sc *scanner, start int, m match, p Parts, floor, roof float64) Found {
	f := Found{Start: start, End: m.end, Parts: p}
	f.Country, f.CountryConfidence = g.country(sc, m, p)
	if p.Anchor != "" {
		f.AnchorType = g.anchorType(text.Lower(p.Anchor))
	}
	for _, c := range []struct {
		has    bool
		weight float64
	}{
		{p.Street != "", 0.4}, {p.City != "", 0.2}, {f.Country != "", 0.15}, {p.PostalCode != "", 0.1},
		{p.Plot != "" || p.StreetNumber != "", 0.1}, {p.Anchor != "", 0.05},
	} {
		if c.has {
			f.Confidence += c.weight
		}
	}
	f.Confidence = min(max(f.Confidence, floor), roof, 1)
	return f
}

func (g Gazetteer) country(sc *scanner, m match, p Parts) (code string, confidence float64) {
	if m.tail >= 0 && m.tail < m.end {
		tail := sc.text(m.tail, m.end)
		last := text.Lower(text.Strip(tail[strings.LastIndexByte(tail, ',')+1:]))
		if code := g.Countries[last]; code != "" {
			return code, 0.95
		}
	}
	if code := g.Cities[text.Lower(p.City)]; code != "" {
		return code, 0.85
	}
	if p.PostalCode == "" {
		return "", 0
	}
	return PostalCountry(p.PostalCode)
}

// PostalCountry tells a country from the form of a postal code.
func PostalCountry(code string) (country string, confidence float64) {
	sc := newScanner(code, WithPostcodes)
	switch n := len(sc.runes); {
	case normalPostcode(code) != "":
		return "GB", 0.95
	case sc.digitalAddress(0) == n:
		return "GH", 0.95
	case sc.digits(0, n) < n:
		return "", 0
	case n == 6:
		return "NG", 0.65
	case n == 5:
		return "KE", 0.65
	case n == 4:
		return "ZA", 0.65
	}
	return "", 0
}

func (g Gazetteer) anchorType(anchor string) string {
	for _, kind := range []string{"commercial", "religious", "infrastructure"} {
		for _, noun := range g.Landmarks[kind] {
			if strings.Contains(anchor, noun) {
				return kind
			}
		}
	}
	return "other"
}

// strictTail is tail without the words that a text goes on with: a linking word
// counts only between two words of a name, and a name is not cut.
func (sc *scanner) strictTail(i int) int {
	for range 6 {
		k := sc.comma(i)
		if k < 0 || sc.lineBreaks(i, k) > 1 {
			break
		}
		if k = sc.strictSegment(k); k < 0 {
			break
		}
		i = k
	}
	return i
}

// lineBreaks counts them in [from, to): a second one ends a paragraph.
func (sc *scanner) lineBreaks(from, to int) int {
	n := 0
	for _, r := range sc.runes[from:to] {
		if r == '\n' {
			n++
		}
	}
	return n
}

func (sc *scanner) strictSegment(i int) int {
	if end := sc.townPostcode(i); end >= 0 {
		return end
	}
	if end := sc.postcode(i); end >= 0 {
		return end
	}
	if end := sc.segmentWord(i); end >= 0 {
		for words := 1; words < 4; {
			k := sc.spaces(end)
			if k < 0 {
				break
			}
			next := sc.segmentWord(k)
			for _, w := range [...]string{"es", "of", "the"} {
				if e := sc.literalText(k, w); next < 0 && e >= 0 {
					if e = sc.spaces(e); e >= 0 {
						next = sc.segmentWord(e)
						words++
					}
				}
			}
			if next < 0 || words >= 4 {
				break
			}
			end = next
			words++
		}
		return end
	}
	if end := sc.digits(i, 6); end >= i+4 && !sc.is(end, isWord) {
		return end
	}
	return sc.digitalAddress(i)
}

// streetInText matches a street address as it stands in prose.
func (sc *scanner) streetInText(i int) (match, bool) {
	if sc.is(i, isDigit) && i > 0 && sc.is(i-1, isDigit) {
		return noMatch(i), false // the number was tried from its first digit
	}
	m, ok := sc.streetAddress(i)
	if !ok {
		m = noMatch(i)
		if ok = sc.proseStreet(&m, i); !ok {
			return m, false
		}
	}
	m.tail = sc.unit(m.streetEnd)
	m.end = sc.strictTail(m.tail)
	return m, true
}

// proseStreet matches what streetAddress does not know: a house range or a long
// house number, an ordinal in the street's name, capitals throughout.
func (sc *scanner) proseStreet(m *match, i int) bool {
	k := i
	if sc.is(i, isDigit) {
		k = sc.digits(i, 6)
		if k < len(sc.runes) && (sc.runes[k] == '-' || sc.runes[k] == '–' || sc.runes[k] == '/') && sc.is(k+1, isDigit) {
			k = sc.digits(k+1, 6)
		}
		if sc.is(k, isUpper|isLower) && !sc.is(k+1, isWord) {
			k++
		}
		if next := sc.spaces(k); next >= 0 && (i == 0 || !sc.is(i-1, isWord)) && sc.proseName(m, next) {
			m.number, m.numberEnd = i, k
			return true
		}
		k = i
	}
	return sc.proseName(m, k)
}

// proseName matches one to four words, capitalised, in capitals, or one of them
// an ordinal, before a street suffix in either case.
func (sc *scanner) proseName(m *match, i int) bool {
	if i > 0 && sc.is(i-1, isWord) {
		return false
	}
	end, k := -1, i
	for words := 0; words < 4; words++ {
		next := sc.ordinal(k)
		if next < 0 {
			if next = sc.capital(k); next < 0 || sc.cueWord(k, next) {
				break
			}
		}
		if k = sc.spaces(next); k < 0 {
			break
		}
		if e := sc.suffix(k); e >= 0 {
			end = e
		} else if e := sc.capitalSuffix(k); e >= 0 {
			end = e
		}
	}
	if end < 0 {
		return false
	}
	m.street, m.streetEnd = i, end
	return true
}

// ordinal matches 1st, 22nd, 9th.
func (sc *scanner) ordinal(i int) int {
	k := sc.digits(i, 3)
	if k == i || k+2 > len(sc.runes) || sc.is(k+2, isWord) {
		return -1
	}
	switch string(sc.runes[k : k+2]) {
	case "st", "nd", "rd", "th", "ST", "ND", "RD", "TH":
		return k + 2
	}
	return -1
}

// capitalSuffix matches a street suffix in capitals.
func (sc *scanner) capitalSuffix(i int) int {
	end := i
	for sc.is(end, isUpper) {
		end++
	}
	if end < i+2 || end > i+longestSuffix || sc.is(end, isWord) {
		return -1
	}
	if w := sc.text(i, end); sc.vocab.suffixes[w[:1]+strings.ToLower(w[1:])] {
		return end
	}
	return -1
}

// cueWord reports a word in capitals that leads to a place and is no part of
// its name.
func (sc *scanner) cueWord(from, to int) bool {
	switch sc.text(from, to) {
	case "FROM", "TO", "AT", "IN", "ON", "BY", "OF", "VIA", "NEAR", "AND", "OR", "FOR", "THE", "WITH", "INTO", "ONTO", "BEHIND",
		"OPPOSITE", "BETWEEN", "DELIVER", "SEND":
		return true
	}
	return false
}

// unit takes in what tells a flat or a room after the street: #12, Apt 4B.
func (sc *scanner) unit(i int) int {
	k := int(sc.spaceEnd[i])
	if c := k; c < len(sc.runes) && sc.runes[c] == ',' {
		k = int(sc.spaceEnd[c+1])
	}
	if k < len(sc.runes) && sc.runes[k] == '#' {
		if k = int(sc.spaceEnd[k+1]); sc.is(k, isDigit) {
			return int(sc.joinEnd[k])
		}
		return i
	}
	for _, w := range [...]string{"Apartment", "Apt.", "Apt", "Suite", "Ste.", "Ste", "Unit", "Flat", "Room"} {
		if e := sc.literalText(k, w); e >= 0 {
			if e = sc.spaces(e); e >= 0 && sc.is(e, isDigit) {
				return int(sc.joinEnd[e])
			}
		}
	}
	return i
}

// landmarkBefore returns a landmark that leads straight to place i, or with its
// own town between, and whose name does not run into i.
func (sc *scanner) landmarkBefore(i int) (start, end int) {
	from := max(0, i-lookBack)
	for k := from; k < i; k++ {
		if sc.landmark(k) < 0 {
			continue
		}
		stretch := newScanner(sc.text(from, i), sc.grammar)
		for ; k < i; k++ {
			end := stretch.landmark(k - from)
			if end < 0 {
				continue
			}
			for _, e := range [...]int{end, stretch.strictTail(end)} {
				gap := int(stretch.spaceEnd[e])
				if gap < i-from && stretch.runes[gap] == ',' {
					gap = int(stretch.spaceEnd[gap+1])
				}
				if gap == i-from {
					return k, from + end
				}
			}
		}
	}
	return -1, -1
}

// boxInText matches a post-office box that begins a word.
func (sc *scanner) boxInText(i int) (match, bool) {
	m, ok := sc.box(i)
	if !ok || i > 0 && sc.is(i-1, isWord) {
		return m, false
	}
	m.end = sc.strictTail(m.tail)
	return m, true
}

func (sc *scanner) landmarkInText(i int) (match, bool) {
	m, ok := sc.landmarkAddress(i)
	if ok {
		m.end = sc.strictTail(m.tail)
	}
	return m, ok
}
