package resolve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// productRules is one product category, compiled.
type productRules struct {
	name       string
	rules      packs.ProductCategory
	units      []string // in the order they are tried
	aliases    map[string]string
	identity   map[string]int // identity unit -> number
	attributes []attribute    // sorted by name
	stop       map[string]bool
	maxChars   int
}

type attribute struct {
	name  string
	terms []string // with a space on both sides
}

func compileProduct(all *packs.ProductRules, name string) (*productRules, error) {
	cat, ok := all.Categories[name]
	if !ok {
		return nil, fault.New(fault.Invalid, "unknown product category %s; registered: %s",
			canon.Repr(name), strings.Join(slices.Sorted(maps.Keys(all.Categories)), ", "))
	}
	p := &productRules{name: name, rules: cat, units: all.Units, aliases: all.UnitAliases, maxChars: all.MaxTitleChars,
		identity: make(map[string]int), stop: make(map[string]bool)}
	for i, u := range cat.IdentityUnits {
		p.identity[u] = i
	}
	for _, s := range cat.StopCodes {
		p.stop[s] = true
	}
	for _, a := range slices.Sorted(maps.Keys(cat.IdentityAttributes)) {
		at := attribute{name: a}
		for _, term := range cat.IdentityAttributes[a] {
			at.terms = append(at.terms, " "+term+" ")
		}
		p.attributes = append(p.attributes, at)
	}
	return p, nil
}

// codes returns the model and part numbers of a title, each once.
func (p *productRules) codes(s string) []string {
	s = cutRunes(s, p.maxChars)
	var out []string
	for i := 0; i < len(s); {
		if !asciiAlnum(s[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(s) && (asciiAlnum(s[j]) || s[j] == '-' || s[j] == '/') {
			j++
		}
		if j-i >= 3 {
			if c := text.Nid(s[i:j]); p.isCode(c) && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
		i = j
	}
	return out
}

func (p *productRules) isCode(c string) bool {
	digits := 0
	for i := range len(c) {
		if c[i] >= '0' && c[i] <= '9' {
			digits++
		}
	}
	switch {
	case len(c) < p.rules.MinCodeLen || digits == 0:
		return false
	case digits == len(c) && len(c) < p.rules.MinBareNumberLen:
		return false
	case p.stop[c]:
		return false
	}
	return !p.rules.QuantitiesAreSpecs || !p.isQuantity(c)
}

// isQuantity reports whether c is a number and a unit and nothing else.
func (p *productRules) isQuantity(c string) bool {
	unit := strings.TrimLeft(c, "0123456789")
	return unit != c && unit != "" && slices.Contains(p.units, unit)
}

// quantity is one amount in an identity unit.
type quantity struct {
	unit  int
	value float64
}

// specs are the amounts and attribute terms of a title.
type specs struct {
	amounts []quantity
	terms   [][]int // per attribute, the terms that occur
}

func (p *productRules) specs(s string) specs {
	n := text.Norm(cutRunes(s, p.maxChars))
	out := specs{amounts: p.amounts(n)}
	if len(p.attributes) == 0 {
		return out
	}
	padded := " " + strings.Join(text.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune(",/()[]-", r) {
			return ' '
		}
		return r
	}, strings.ToLower(n))), " ") + " "
	out.terms = make([][]int, len(p.attributes))
	for i, a := range p.attributes {
		for k, term := range a.terms {
			if strings.Contains(padded, term) {
				out.terms[i] = append(out.terms[i], k)
			}
		}
	}
	return out
}

// amounts reads "12.5 oz", "84-inch", "5ft" and the like.
func (p *productRules) amounts(n string) []quantity {
	var out []quantity
	for i := 0; i < len(n); {
		digits, size := scanDigits(n[i:])
		if size == 0 || i > 0 && asciiAlnum(n[i-1]) {
			i++
			continue
		}
		number, end := digits, i+size
		if end < len(n) && n[end] == '.' {
			if f, fsize := scanDigits(n[end+1:]); fsize > 0 {
				number += "." + f
				end += 1 + fsize
			}
		}
		unit, stop := p.unitAt(n, end)
		if unit == "" {
			i++
			continue
		}
		if id, ok := p.identity[unit]; ok {
			if v, err := strconv.ParseFloat(number, 64); err == nil {
				out = append(out, quantity{id, v})
			}
		}
		i = stop
	}
	return out
}

// scanDigits reads a run of digits of any script as ASCII digits.
func scanDigits(s string) (digits string, size int) {
	var b []byte
	for i, r := range s {
		d := digitValue(r)
		if d < 0 {
			return string(b), i
		}
		b = append(b, byte('0'+d))
	}
	return string(b), len(s)
}

// unitAt reads the unit that follows a number: spaces, a hyphen, spaces, unit.
func (p *productRules) unitAt(n string, i int) (unit string, end int) {
	t := skipSpace(n[i:])
	t = skipSpace(strings.TrimPrefix(t, "-"))
	at := len(n) - len(t)
	for _, u := range p.units {
		if !strings.HasPrefix(t, u) {
			continue
		}
		if stop := at + len(u); stop == len(n) || !(n[stop] >= 'a' && n[stop] <= 'z' || n[stop] >= '0' && n[stop] <= '9') {
			if alias, ok := p.aliases[u]; ok {
				u = alias
			}
			return u, stop
		}
	}
	return "", 0
}

// compareSpecs is 1 when everything both titles state agrees, 0 when something
// differs, nothing when they state nothing in common.
func (p *productRules) compareSpecs(a, b *specs) float64 {
	verdicts, agree := 0, true
	for unit := range p.rules.IdentityUnits {
		inA, inB, meet := false, false, false
		for _, x := range a.amounts {
			inA = inA || x.unit == unit
			for _, y := range b.amounts {
				meet = meet || x.unit == unit && y.unit == unit && x.value == y.value
			}
		}
		for _, y := range b.amounts {
			inB = inB || y.unit == unit
		}
		if inA && inB {
			verdicts++
			agree = agree && meet
		}
	}
	for i := range p.attributes {
		ta, tb := a.terms[i], b.terms[i]
		switch {
		case len(ta) > 0 && len(tb) > 0:
			verdicts++
			agree = agree && meets(ta, tb)
		case p.rules.AsymmetryRefutes && len(ta)+len(tb) > 0:
			verdicts++
			agree = false
		}
	}
	switch {
	case verdicts == 0:
		return nothing
	case agree:
		return 1
	}
	return 0
}

func meets(a, b []int) bool {
	for _, x := range a {
		if slices.Contains(b, x) {
			return true
		}
	}
	return false
}

// codeTable counts in how many titles of both lists each code stands.
type codeTable struct {
	df       map[string]int
	tally    *tally // instead of df where records come and go
	baseline float64
	pin      string
}

// baselineOf is twice the typical count (the one a quarter up the sorted
// counts), at least 2.
func baselineOf(counts []int) float64 {
	typical := 1.0
	if len(counts) > 0 {
		slices.Sort(counts)
		typical = float64(counts[len(counts)/4])
	}
	return max(2, 2*typical)
}

// finish computes the baseline and the pin.
func (t *codeTable) finish() {
	counts := make([]int, 0, len(t.df))
	for _, n := range t.df {
		counts = append(counts, n)
	}
	t.baseline = baselineOf(counts)
	h := sha256.New()
	h.Write([]byte("["))
	for i, code := range slices.Sorted(maps.Keys(t.df)) {
		if i > 0 {
			h.Write([]byte(", "))
		}
		fmt.Fprintf(h, "('%s', %s)", code, canon.FloatText(float64(t.df[code])))
	}
	h.Write([]byte("]"))
	t.pin = "codes@sha256:" + hex.EncodeToString(h.Sum(nil))[:16]
}

// worth is how much sharing a code says.
func (t *codeTable) worth(code string) float64 {
	var df int
	if t.tally != nil {
		df = int(t.tally.count(code))
	} else {
		df = t.df[code]
	}
	if df <= 0 {
		return 1
	}
	return min(1, t.baseline/float64(df))
}
