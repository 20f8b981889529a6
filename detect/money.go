package detect

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/arche-ledger/arche/packs"
)

const moneyConf = 0.85

// currency holds the African currency symbols and words, folded, by the byte
// they end or begin with.
type currency struct {
	prefix        map[byte][]string // by last byte, longest first
	suffix, words map[byte][]string // by first byte, in matching order
	longest       int
}

var currencies = sync.OnceValue(func() *currency {
	t := packs.DetectCurrencies()
	c := &currency{map[byte][]string{}, map[byte][]string{}, map[byte][]string{}, 0}
	for _, s := range t.Prefix {
		s = foldText(s)
		b := s[len(s)-1]
		c.prefix[b] = addLongestFirst(c.prefix[b], s)
	}
	for _, s := range t.Suffix {
		s = foldText(s)
		c.suffix[s[0]] = append(c.suffix[s[0]], s)
	}
	for _, s := range t.Words {
		s = foldText(s)
		c.words[s[0]] = append(c.words[s[0]], s)
	}
	return c
})

// localMoney finds amounts with an African currency: symbol before, symbol
// after, word after; a later kind gives way to an earlier one.
func (x *lexed) localMoney() []entity {
	c := &collector{x: x}
	for _, list := range [][]entity{x.symbolFirst(), x.amountFirst(currencies().suffix, false), x.amountFirst(currencies().words, true)} {
		c.addFree(list)
	}
	return c.all
}

// symbolFirst finds "N5,000" and "KSh 20".
func (x *lexed) symbolFirst() []entity {
	var out []entity
	end := 0
	for _, n := range x.nums {
		i, a := int(n), x.atoms[n]
		if int(a.s) < end || a.len() > 3 {
			continue
		}
		s := x.symbolBefore(x.spaceBack(int(a.s), end), end)
		if s < 0 {
			continue
		}
		if e := x.amountEnd(i); e > 0 {
			out = append(out, entity{s, e, "MONEY", moneyConf, "african"})
			end = e
		}
	}
	return out
}

// symbolBefore returns the earliest start of a symbol that ends at p, or -1.
func (x *lexed) symbolBefore(p, floor int) int {
	if p == 0 {
		return -1
	}
	for _, sym := range currencies().prefix[foldedLast(x.s, p)] {
		s := x.back(p, utf8.RuneCountInString(sym))
		if s >= floor && x.matchFold(s, sym) == p && !x.alnumBefore(s) {
			return s
		}
	}
	return -1
}

func foldedLast(s string, p int) byte {
	if b := s[p-1]; b < utf8.RuneSelf {
		return lowerByte(b)
	}
	return s[p-1]
}

// amountEnd returns the end of the amount that begins with atom i: groups of
// three, then a fraction, not before an ordinal's ending; -1 when there is
// none.
func (x *lexed) amountEnd(i int) int {
	ends := []int{int(x.atoms[i].e)}
	for k := i + 1; k < len(x.atoms); k++ {
		a, e := x.atoms[k], ends[len(ends)-1]
		x.work++
		sep := int(a.s) - e
		point := sep == 1 && (x.s[e] == ',' || x.s[e] == '.')
		if a.kind != aDigits || !point && (sep <= 0 || x.spaceAt(e) != sep) {
			break
		}
		if a.len() == 3 || point && a.len() < 3 {
			ends = append(ends, int(a.e))
		}
		if a.len() != 3 {
			break
		}
	}
	for _, end := range slices.Backward(ends) {
		if !x.ordinal(end) {
			return end
		}
	}
	return -1
}

func (x *lexed) ordinal(p int) bool {
	if p+2 > len(x.s) || x.wordAt(p+2) {
		return false
	}
	switch strings.ToLower(x.s[p : p+2]) {
	case "st", "nd", "rd", "th":
		return true
	}
	return false
}

// amountFirst finds amounts before a symbol or, after white space, a word.
func (x *lexed) amountFirst(table map[byte][]string, word bool) []entity {
	var out []entity
	end := 0
	for i, a := range x.atoms {
		if a.kind != aLetters || i == 0 || x.atoms[i-1].kind != aDigits || int(x.atoms[i-1].e) < end {
			continue
		}
		p := x.skipSpace(int(x.atoms[i-1].e))
		if p != int(a.s) || word && p == int(x.atoms[i-1].e) {
			continue
		}
		for _, sym := range table[lowerByte(x.s[p])] {
			e := x.matchFold(p, sym)
			if e < 0 || word && e < len(x.s) && is(x.s[e], cLetter) || !word && x.alnumAt(e) {
				continue
			}
			if s := x.amountStart(i-1, word, end); s >= 0 {
				out = append(out, entity{s, e, "MONEY", moneyConf, "african"})
				end = e
			}
			break
		}
	}
	return out
}

// amountStart returns the earliest start of an amount that ends with atom k.
// An amount that may begin inside a longer number takes its last three digits.
func (x *lexed) amountStart(k int, inside bool, floor int) int {
	best := x.groupsStart(k, inside, floor)
	a := x.atoms[k]
	if k > 0 && a.len() < 3 && x.atoms[k-1].kind == aDigits && a.s == x.atoms[k-1].e+1 && strings.IndexByte(",.", x.s[a.s-1]) >= 0 {
		if s := x.groupsStart(k-1, inside, floor); s >= 0 {
			best = s
		}
	}
	return best
}

func (x *lexed) groupsStart(k int, inside bool, floor int) int {
	best := -1
	for ; k >= 0; k-- {
		a := x.atoms[k]
		x.work++
		if int(a.s) < floor {
			break
		}
		if a.len() <= 3 {
			best = int(a.s)
		} else if inside {
			best = int(a.e) - 3
		}
		if a.len() != 3 || k == 0 || x.atoms[k-1].kind != aDigits {
			break
		}
		e, s := int(x.atoms[k-1].e), int(a.s)
		if s-e != 1 && x.spaceAt(e) != s-e || s-e == 1 && strings.IndexByte(",.", x.s[e]) < 0 && x.spaceAt(e) != 1 {
			break
		}
	}
	return best
}

// money finds amounts in dollars, euros and pounds.
func (x *lexed) money() []entity {
	var out []entity
	end, run := 0, 0 // run: where the digits and commas around the atom end
	for _, n := range x.nums {
		a := x.atoms[n]
		if int(a.s) < end {
			continue
		}
		s := x.signBefore(int(a.s), end)
		if int(a.s) >= run {
			run = x.digitsAndCommas(int(a.e))
		}
		e := x.cents(run)
		if s < 0 {
			if e = x.unitAfter(e); e < 0 {
				continue
			}
			s = int(a.s)
		}
		out = append(out, entity{s, e, "MONEY", moneyConf, "regex"})
		end = e
	}
	return out
}

// signBefore returns where a currency sign before p, or before one white-space
// character, begins; -1 when none stands there.
func (x *lexed) signBefore(p, floor int) int {
	q := p
	if r := x.runeBefore(p); r != 0 {
		if b := x.back(p, 1); x.spaceAt(b) > 0 {
			q = b
		}
	}
	switch x.runeBefore(q) {
	case '$', '€', '£':
		if s := x.back(q, 1); s >= floor {
			return s
		}
	}
	return -1
}

func (x *lexed) digitsAndCommas(p int) int {
	e := p
	for e < len(x.s) && (is(x.s[e], cDigit) || x.s[e] == ',') {
		e++
	}
	x.work += e - p
	return e
}

// cents takes in a point and one or two digits after e.
func (x *lexed) cents(e int) int {
	if e < len(x.s) && x.s[e] == '.' && x.digitAt(e+1) {
		if e += 2; x.digitAt(e) {
			e++
		}
	}
	return e
}

var units = []string{"usd", "eur", "gbp", "dollars", "dollar", "euros", "euro", "pounds", "pound"}

func (x *lexed) unitAfter(e int) int {
	if x.digitAt(e) {
		return -1
	}
	p := e + x.spaceAt(e)
	for _, u := range units {
		if q := x.matchFold(p, u); q >= 0 && !x.wordAt(q) {
			return q
		}
	}
	return -1
}
