package address

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/text"
)

// readTail sorts the comma-separated parts after a street, box or landmark into
// postal code, city, neighbourhood, area and region.
func (sc *scanner) readTail(p *Parts, m match) {
	if m.tail >= m.end {
		return
	}
	var parts []string
	for part := range strings.SplitSeq(sc.text(m.tail, m.end), ",") {
		if part = text.Strip(part); part != "" {
			parts = append(parts, part)
		}
	}
	if n := len(parts); n > 0 && sc.vocab.countries[text.Lower(parts[n-1])] {
		parts = parts[:n-1]
	}
	parts = sc.takePostalCode(p, parts)
	city := -1
	for i, part := range parts {
		if sc.vocab.cities[text.Lower(part)] {
			city = i
		}
	}
	switch {
	case city >= 0:
		p.City = parts[city]
		if city > 0 {
			p.Neighborhood = parts[0]
			p.Area = strings.Join(parts[1:city], ", ")
		}
		if city+1 < len(parts) {
			p.Region = parts[city+1]
		}
	case len(parts) == 1:
		p.City = parts[0]
	case len(parts) > 1:
		p.Neighborhood, p.City = parts[0], parts[1]
		if len(parts) > 2 {
			p.Region = parts[2]
		}
	}
}

// takePostalCode finds the postal code and returns the parts without it.
func (sc *scanner) takePostalCode(p *Parts, parts []string) []string {
	if sc.grammar == WithPostcodes {
		for i, part := range parts {
			if !strings.ContainsFunc(part, unicode.IsDigit) {
				continue // as every postcode has
			}
			if code := normalPostcode(part); code != "" {
				p.PostalCode = code
				return append(parts[:i], parts[i+1:]...)
			}
			if head, code := splitPostcode(part); code != "" {
				p.PostalCode = code
				parts[i] = head
				return parts
			}
		}
	}
	for i, part := range parts {
		if isPostalCode(part) {
			p.PostalCode = part
			return append(parts[:i], parts[i+1:]...)
		}
	}
	return parts
}

// isPostalCode reports four to six digits or the form AA-123-4567.
func isPostalCode(s string) bool {
	if len(s) < 4 || len(s) > 6*utf8.UTFMax {
		return false
	}
	sc := newScanner(s, WithoutPostcodes)
	defer sc.release()
	n := len(sc.runes)
	return n >= 4 && sc.digits(0, 6) == n || sc.digitalAddress(0) == n
}
