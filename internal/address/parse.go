// Package address reads postal addresses of the kind that records hold: plot,
// number and street, post-office boxes, and places described by a landmark
// ("opposite the bank"), with the neighbourhood, city, region and postal code
// that follow.
//
// Parse is the way in. It is pure, keeps no state and takes time linear in the
// text, whatever the text.
package address

import (
	"strings"

	"github.com/arche-ledger/arche/internal/text"
)

// Grammar selects what a tail may hold.
type Grammar int

// The grammars, by the published versions that read addresses this way.
const (
	WithPostcodes    Grammar = iota // British postcodes are postal codes (0.10)
	WithoutPostcodes                // British postcodes are words like others (0.9)
)

// Parts is what an address says; a part that is not there is empty.
type Parts struct {
	Anchor       string // relation word and landmark, as written
	Plot         string // plot, block, unit ... or the whole box line
	StreetNumber string
	Street       string // spaces collapsed
	Neighborhood string
	Area         string
	City         string
	Region       string
	PostalCode   string
}

// Parse reads the first address in s, with British postcodes.
func Parse(s string) Parts { return ParseAs(s, WithPostcodes) }

// ParseAs reads the first address in s under the given grammar. A text without
// an address gives empty parts; one that only names a landmark gives an anchor.
func ParseAs(s string, g Grammar) Parts {
	sc := newScanner(s, g)
	defer sc.release()
	parts := sc.first()
	if parts.Anchor == "" {
		if from, to := sc.findLandmark(0, len(sc.runes)); from >= 0 {
			parts.Anchor = text.Strip(sc.text(from, to))
		}
	}
	return parts
}

// candidate is an address and the span that ranks it.
type candidate struct {
	start, end int
	parts      Parts
}

// before ranks by start, then by length; an equal span keeps the earlier rule.
func (c candidate) before(o candidate) bool {
	return c.start < o.start || c.start == o.start && c.end > o.end
}

func (sc *scanner) first() Parts {
	best := candidate{start: len(sc.runes) + 1}
	take := func(c candidate) {
		if c.before(best) {
			best = c
		}
	}
	sc.each(isUpper|isDigit, (*scanner).streetAddress, func(m match) bool {
		c := sc.streetCandidate(m)
		take(c)
		// A later street reaches back at most lookBack for its landmark.
		return m.end-lookBack <= best.start
	})
	sc.each(isBox, (*scanner).box, func(m match) bool {
		parts := Parts{Plot: collapse(sc.text(m.plot, m.plotEnd))}
		sc.readTail(&parts, m)
		take(candidate{m.start, m.end, parts})
		return false
	})
	sc.each(isRelation, (*scanner).landmarkAddress, func(m match) bool {
		if m.start > best.start {
			return false
		}
		parts := Parts{Anchor: text.Strip(sc.text(m.anchor, m.anchorEnd))}
		sc.readTail(&parts, m)
		if sc.vocab.namesLandmark(text.Lower(parts.Anchor)) ||
			parts.City != "" || parts.Neighborhood != "" || parts.PostalCode != "" {
			take(candidate{m.start, m.end, parts})
			return false
		}
		return true
	})
	return best.parts
}

// each calls found with the matches of a rule, left to right without overlap,
// until found returns false. A match starts with a character of class start.
func (sc *scanner) each(start uint8, rule func(*scanner, int) (match, bool), found func(match) bool) {
	for i := 0; i < len(sc.runes); {
		if !sc.is(i, start) {
			i++
			continue
		}
		m, ok := rule(sc, i)
		if !ok {
			i++
			continue
		}
		if !found(m) {
			return
		}
		i = m.end
	}
}

func collapse(s string) string { return strings.Join(text.Fields(s), " ") }

const lookBack = 80 // characters before a street in which its landmark may stand

func (sc *scanner) streetCandidate(m match) candidate {
	parts := Parts{Street: collapse(sc.text(m.street, m.streetEnd))}
	if m.plot >= 0 {
		parts.Plot = collapse(sc.text(m.plot, m.plotEnd))
	}
	if m.number >= 0 {
		parts.StreetNumber = sc.text(m.number, m.numberEnd)
	}
	sc.readTail(&parts, m)
	start := m.start
	from := max(0, start-lookBack)
	// The landmark must lie wholly in the stretch, so look at it alone.
	if from < start {
		stretch := newScanner(sc.text(from, start), sc.grammar)
		defer stretch.release()
		if a, b := stretch.findLandmark(0, len(stretch.runes)); a >= 0 {
			parts.Anchor = text.Strip(stretch.text(a, b))
			start = from + a
		}
	}
	return candidate{start, m.end, parts}
}

// findLandmark returns the leftmost landmark that starts in [from, to).
func (sc *scanner) findLandmark(from, to int) (start, end int) {
	for i := from; i < to; i++ {
		if end := sc.landmark(i); end >= 0 {
			return i, end
		}
	}
	return -1, -1
}
