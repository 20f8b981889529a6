package resolve

import (
	"github.com/arche-ledger/arche/internal/address"
	"github.com/arche-ledger/arche/internal/text"
)

// part numbers the components of an address in the order their similarities are
// summed.
type part uint8

const (
	partAnchor part = iota
	partStreet
	partPostalCode
	partPlot
	partStreetNumber
	partNeighborhood
	partCity
	partArea
	partRegion
	partCount
)

var partWeights = [partCount]float64{3, 2.5, 2, 1.5, 1.5, 1, 0.6, 0.5, 0.4}

// exact parts agree wholly or not at all.
var exactPart = [partCount]bool{partPostalCode: true, partPlot: true, partStreetNumber: true}

// locating parts say where in a city; without one a match is capped.
var locatingPart = [partCount]bool{partAnchor: true, partStreet: true, partPostalCode: true,
	partPlot: true, partStreetNumber: true, partNeighborhood: true}

const vagueCap = 0.6

// component is one part of one address in normal form.
type component struct {
	part part
	text text.Prepared
}

// addresses are parsed addresses, their components end to end.
type addresses struct {
	whole []text.Prepared
	parts []component
	ends  []uint32

	// Where values come one by one and most are never compared: their texts, and
	// 1 + the place of those parsed.
	unread []string
	places []int32
}

// later keeps an address to be parsed when it is compared.
func (a *addresses) later(s string) {
	a.unread, a.places = append(a.unread, s), append(a.places, 0)
}

// parsed is the place of a value's parsed address.
func (a *addresses) parsed(ref int32, g address.Grammar) int32 {
	if a.places == nil {
		return ref
	}
	if a.places[ref] == 0 {
		a.add(a.unread[ref], g)
		a.places[ref] = int32(len(a.ends)) //nolint:gosec // memory ends first
	}
	return a.places[ref] - 1
}

// add parses one more address by grammar g.
func (a *addresses) add(s string, g address.Grammar) {
	a.whole = append(a.whole, text.Prepare(text.Norm(s)))
	p := address.ParseAs(s, g)
	for i, v := range [partCount]string{p.Anchor, p.Street, p.PostalCode, p.Plot, p.StreetNumber, p.Neighborhood, p.City, p.Area, p.Region} {
		if v == "" {
			continue
		}
		n := text.Norm(v)
		if part(i) == partAnchor {
			n = address.BareLandmark(v)
		}
		a.parts = append(a.parts, component{part(i), text.Prepare(n)})
	}
	a.ends = append(a.ends, uint32(len(a.parts)))
}

func (a *addresses) at(ref int32) []component {
	start := uint32(0)
	if ref > 0 {
		start = a.ends[ref-1]
	}
	return a.parts[start:a.ends[ref]]
}

// addressScratch keeps a matcher for each part, so that the masks of the left
// side survive a row of pairs.
type addressScratch struct {
	matchers [partCount + 1]*text.Matcher // made when first needed; the last is for whole texts
}

func (w *addressScratch) matcher(k part) *text.Matcher {
	if w.matchers[k] == nil {
		w.matchers[k] = new(text.Matcher)
	}
	return w.matchers[k]
}

// compare is the weighted mean over the parts both addresses have, or the
// similarity of the whole texts when they have none in common.
func (a *addresses) compare(ra, rb int32, w *addressScratch) float64 {
	x, y := &a.whole[ra], &a.whole[rb]
	pa, pb := a.at(ra), a.at(rb)
	if x.Text() == "" && len(pa) == 0 || y.Text() == "" && len(pb) == 0 {
		return 0
	}
	if x.Text() != "" && x.Text() == y.Text() {
		return 1
	}
	sum, weight, located, any := 0.0, 0.0, false, false
	for i, j := 0, 0; i < len(pa) && j < len(pb); {
		switch ca, cb := &pa[i], &pb[j]; {
		case ca.part < cb.part:
			i++
		case ca.part > cb.part:
			j++
		default:
			k := ca.part
			sum += float64(partWeights[k] * comparePart(k, &ca.text, &cb.text, w))
			weight += partWeights[k]
			located = located || locatingPart[k]
			any = true
			i++
			j++
		}
	}
	if !any {
		return w.matcher(partCount).Fuzzy(x, y)
	}
	s := sum / weight
	if !located {
		s = min(s, vagueCap)
	}
	return s
}

func comparePart(k part, a, b *text.Prepared, w *addressScratch) float64 {
	switch {
	case a.Text() == "" || b.Text() == "":
		return 0
	case a.Text() == b.Text():
		return 1
	case exactPart[k]:
		return 0
	}
	return w.matcher(k).Fuzzy(a, b)
}
