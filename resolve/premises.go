package resolve

import (
	"strings"

	"github.com/arche-ledger/arche/internal/text"
)

// The second engine reads every number that an address gives a part of a
// building by, and compares numbers of one sort only: a floor with a floor, a
// flat with a flat.

type premiseSort uint8

const (
	sortNumber premiseSort = iota // of the house
	sortUnit
	sortFloor
	sortRoom
	sortBlock
	sortShop
	sortPlot
	sortCount
)

var premiseSorts = map[string]premiseSort{
	"house": sortNumber, "no": sortNumber, "number": sortNumber,
	"unit": sortUnit, "flat": sortUnit, "apt": sortUnit, "apartment": sortUnit, "suite": sortUnit, "ste": sortUnit,
	"floor": sortFloor, "fl": sortFloor, "level": sortFloor,
	"room": sortRoom, "rm": sortRoom, "block": sortBlock, "plot": sortPlot,
	"shop": sortShop, "stall": sortShop, "kiosk": sortShop,
}

// ordinalWords are floors written out.
var ordinalWords = map[string]string{"ground": "0", "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5",
	"sixth": "6", "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10"}

// premises holds the number of each sort, "" where an address gives none.
type premises [sortCount]string

func readPremisesV2(norm string) premises {
	var p premises
	set := func(s premiseSort, number string) {
		if p[s] == "" {
			p[s] = number
		}
	}
	list := text.Tokens(norm)
	for i, t := range list {
		sort, named := premiseSorts[t]
		if !named {
			continue
		}
		if sort == sortFloor && i > 0 {
			if n := ordinal(list[i-1]); n != "" {
				set(sort, n)
				continue
			}
		}
		if i+1 < len(list) && isPremiseNumber(list[i+1]) {
			set(sort, strings.TrimLeft(list[i+1], "0"))
		}
	}
	if p[sortNumber] == "" {
		p[sortNumber] = houseNumber(norm)
	}
	return p
}

// houseNumber is the number that opens the street's part of an address, or that
// ends it. Parts before it that only name a flat or floor are passed over.
func houseNumber(norm string) string {
	for part := range strings.SplitSeq(norm, ",") {
		list := text.Tokens(part)
		if onlyPremises(list) {
			continue
		}
		if len(list) < 2 {
			return ""
		}
		if isPremiseNumber(list[0]) {
			return strings.TrimLeft(list[0], "0")
		}
		last := list[len(list)-1]
		if _, named := premiseSorts[list[len(list)-2]]; isPremiseNumber(last) && !named && len(last) <= 5 {
			return strings.TrimLeft(last, "0")
		}
		return ""
	}
	return ""
}

// onlyPremises reports whether a part of an address is no more than flats and
// floors with their numbers.
func onlyPremises(list []string) bool {
	named := false
	for _, t := range list {
		_, sort := premiseSorts[t]
		named = named || sort
		if !sort && !isPremiseNumber(t) && ordinal(t) == "" {
			return false
		}
	}
	return named || len(list) == 0
}

// isPremiseNumber reports whether a token is digits and at most one letter.
func isPremiseNumber(t string) bool {
	rest := strings.TrimLeft(t, "0123456789")
	return rest != t && len(rest) <= 1
}

// ordinal reads "2nd", "second" and the like.
func ordinal(t string) string {
	if n, ok := ordinalWords[t]; ok {
		return n
	}
	n := strings.TrimRight(t, "stndrh")
	if n != t && n != "" && strings.Trim(n, "0123456789") == "" {
		return strings.TrimLeft(n, "0")
	}
	return ""
}

// comparePremises is 0 when a number of one sort differs, 1 when all that both
// give agree, nothing when they give none in common.
func comparePremises(a, b *premises) float64 {
	s := nothing
	for i := range a {
		switch {
		case a[i] == "" || b[i] == "":
		case a[i] != b[i]:
			return 0
		default:
			s = 1
		}
	}
	return s
}
