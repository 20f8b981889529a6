package detect

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/arche-ledger/arche/packs"
)

const (
	catAddress     = "PII-4-ADDRESS"
	maxStreetWords = 4  // capitalised words before "Street"
	maxHouse       = 6  // digits of a house number
	landmarkReach  = 80 // characters before a street in which its landmark may begin
	maxTail        = 4  // parts after a street or landmark
	maxBoxTail     = 6  // parts after a box
)

// addrMatch is an address in the view with the places of its parts; an absent
// part is the empty stretch.
type addrMatch struct {
	s, e           int
	anchor         vspan
	plot           vspan
	number, street vspan
	box            bool
	tail           int // the parts after the first comma are [tail,e)
}

// addrWords are the closed sets of the address grammar.
type addrWords struct {
	suffixes  map[string]bool
	articles  []string      // longest first
	nouns     []string      // landmark nouns
	nounsBy   [256][]string // by first byte, longest first
	kinds     map[string][]string
	countries map[string]string
	cities    map[string]string // name or alias in lower case to country
}

var addressWords = sync.OnceValue(func() *addrWords {
	a := packs.DetectAddressWords()
	w := &addrWords{
		suffixes: map[string]bool{}, articles: a.Articles, kinds: a.Landmarks, countries: a.Countries, cities: map[string]string{},
	}
	for _, s := range a.Suffixes {
		w.suffixes[s] = true
	}
	for _, kind := range landmarkKinds {
		w.nouns = append(w.nouns, a.Landmarks[kind]...)
	}
	slices.SortStableFunc(w.nouns, func(a, b string) int { return len(b) - len(a) })
	for _, n := range w.nouns {
		w.nounsBy[n[0]] = append(w.nounsBy[n[0]], n)
	}
	for _, c := range packs.Cities() {
		for _, n := range append([]string{c.Name}, c.Aliases...) {
			if n = strings.ToLower(n); w.cities[n] == "" {
				w.cities[n] = c.Country
			}
		}
	}
	return w
})

// landmarkKinds in the order in which a landmark's kind is decided.
var landmarkKinds = []string{"commercial", "religious", "infrastructure"}

var plotWords = []string{"Plot", "Block", "Unit", "Suite", "Flat", "Apartment", "Apt", "No.", "No"}

// addressMatches returns the addresses, sorted, none overlapping another: of
// those that overlap the earliest start wins, then the longest.
func (x *lexed) addressMatches() []addrMatch {
	all := append(append(x.streets(), x.boxes()...), x.landmarks()...)
	slices.SortStableFunc(all, func(a, b addrMatch) int {
		return cmp.Or(cmp.Compare(a.s, b.s), cmp.Compare(b.e, a.e))
	})
	out := all[:0]
	end := 0
	for _, m := range all {
		if m.s >= end {
			out = append(out, m)
			end = m.e
		}
	}
	return out
}

// streets finds [plot] [number] Name Street tail, one look around each suffix.
func (x *lexed) streets() []addrMatch {
	var out []addrMatch
	end := 0
	for _, i := range x.marked {
		a := x.atoms[i]
		if int(a.s) < end || !x.has(a, rSuffix) || x.wordAt(int(a.e)) {
			continue
		}
		written, shouted := suffixForm(x.str(a))
		if !written && !shouted {
			continue
		}
		s, n := x.streetStart(int(a.s), end)
		if n == 0 {
			continue
		}
		e := x.lastSuffix(int(a.e), n)
		m := addrMatch{s: s, street: vspan{s, e}, tail: x.unitEnd(e)}
		x.houseNumber(&m, end)
		x.plotBefore(&m, end)
		// "HIGH COURT" and "2nd Place" are no streets; "12 PALM ROAD" is one.
		if named := !shouted && !is(x.s[s], cDigit); !named && m.number.e == 0 && m.plot.e == 0 {
			continue
		}
		if l, ok := x.landmarkBefore(m.s, end); ok {
			m.anchor, m.s = l, l.s
		}
		m.e = x.tailEnd(m.tail)
		out = append(out, m)
		end = m.e
	}
	return out
}

// suffixForm tells whether a word is a street suffix as it is usually written,
// or one in capitals.
func suffixForm(w string) (written, shouted bool) {
	if addressWords().suffixes[w] {
		return true, false
	}
	return false, len(w) > 1 && all(w, cUpper) && addressWords().suffixes[w[:1]+strings.ToLower(w[1:])]
}

// ordinal tells whether a word is one: 1st, 22nd, 9TH.
func ordinal(w string) bool {
	n := len(w) - 2
	if n < 1 || n > 3 || !all(w[:n], cDigit) {
		return false
	}
	switch strings.ToLower(w[n:]) {
	case "st", "nd", "rd", "th":
		return true
	}
	return false
}

// unitWords lead to the number of a flat or a room after a street.
var unitWords = []string{"Apartment", "Apt.", "Apt", "Suite", "Ste.", "Ste", "Unit", "Flat", "Room"}

// unitEnd takes in "#12" and "Apt 4B" after a street that ends at e.
func (x *lexed) unitEnd(e int) int {
	p := x.sameLine(e)
	if p < len(x.s) && x.s[p] == ',' {
		p = x.sameLine(p + 1)
	}
	if p < len(x.s) && x.s[p] == '#' {
		if p = x.sameLine(p + 1); x.digitAt(p) {
			return x.joinEnd(p)
		}
		return e
	}
	for _, w := range unitWords {
		if strings.HasPrefix(x.s[p:], w) {
			if q := x.sameLine(p + len(w)); q > p+len(w) && x.digitAt(q) {
				return x.joinEnd(q)
			}
		}
	}
	return e
}

// streetStart walks back from a suffix over up to four words, capitalised or
// ordinals, and returns where they begin and how many they are.
func (x *lexed) streetStart(p, floor int) (int, int) {
	n := 0
	for n < maxStreetWords {
		q := x.spaceBack(p, floor)
		if q == p {
			break
		}
		r := x.properStart(x.joinBack(q, floor), q)
		if r == q || utf8.RuneCountInString(x.s[r:q]) < 2 || !is(x.s[r], cUpper) && !ordinal(x.s[r:q]) {
			break
		}
		p = r
		n++
	}
	return p, n
}

// properStart returns the first capital of the joined characters [r,q) that
// begins them or follows a joiner.
func (x *lexed) properStart(r, q int) int {
	for i := r; i < q; i++ {
		if is(x.s[i], cUpper) && (i == r || x.s[i-1] == '-' || x.s[i-1] == '\'') {
			return i
		}
	}
	return r
}

// lastSuffix returns the end of the last suffix that the street can reach: a
// street has at most four words before it.
func (x *lexed) lastSuffix(e, words int) int {
	best := e
	for p := e; words < maxStreetWords; words++ {
		if x.joinEnd(p) != p {
			break
		}
		q := x.skipSpace(p)
		if q == p || q >= len(x.s) || !is(x.s[q], cUpper) {
			break
		}
		p = x.joinEnd(q)
		w := q
		for w < len(x.s) && is(x.s[w], cLetter) {
			w++
		}
		if addressWords().suffixes[x.s[q:w]] && !x.wordAt(w) {
			best = w
		}
	}
	return best
}

// houseNumber takes the number before the street, a range too.
func (x *lexed) houseNumber(m *addrMatch, floor int) {
	q := x.spaceBack(m.s, floor)
	if q == m.s {
		return
	}
	s, ok := x.houseBack(q, floor)
	if !ok {
		return
	}
	if s > floor && (x.s[s-1] == '-' || x.s[s-1] == '/') {
		if r, ok := x.houseBack(s-1, floor); ok {
			s = r
		}
	}
	if x.digitBefore(s) {
		return
	}
	m.number, m.s = vspan{s, q}, s
}

// houseBack reads digits with an optional letter back from q.
func (x *lexed) houseBack(q, floor int) (int, bool) {
	s := q
	if s > floor+1 && is(x.s[s-1], cLetter) && is(x.s[s-2], cDigit) {
		s--
	}
	d := s
	for s > floor && d-s <= maxHouse && is(x.s[s-1], cDigit) {
		s--
	}
	return s, d > s && d-s <= maxHouse
}

// plotBefore takes "Plot 14," and its like before the number or street.
func (x *lexed) plotBefore(m *addrMatch, floor int) {
	if m.number.e > 0 { // the plot's own number
		if s, ok := x.plotWord(m.number.s, floor); ok {
			m.plot, m.number, m.s = vspan{s, m.number.e}, vspan{}, s
			return
		}
	}
	q := m.s
	for q > floor && (x.s[q-1] == ',' || x.spaceBack(q, floor) < q) {
		if x.s[q-1] == ',' {
			q--
		} else {
			q = x.spaceBack(q, floor)
		}
	}
	if q == m.s {
		return
	}
	w := q
	for w > floor && x.wordBefore(w) && q-w < 24 {
		w = x.back(w, 1)
	}
	if w == q {
		return
	}
	if s, ok := x.plotWord(w, floor); ok {
		m.plot, m.s = vspan{s, q}, s
	}
}

// plotWord returns where a plot word and the space before p begin.
func (x *lexed) plotWord(p, floor int) (int, bool) {
	q := x.spaceBack(p, floor)
	if q == p {
		return 0, false
	}
	for _, w := range plotWords {
		if s := q - len(w); s >= floor && x.s[s:q] == w && !x.wordBefore(s) {
			return s, true
		}
	}
	return 0, false
}

// boxes finds post-office boxes.
func (x *lexed) boxes() []addrMatch {
	var out []addrMatch
	end := 0
	for _, i := range x.marked {
		a := x.atoms[i]
		if !x.has(a, rBox) || int(a.s) < end {
			continue
		}
		q := x.sameLine(int(a.e))
		if q == int(a.e) || !x.digitAt(q) {
			continue
		}
		s := x.boxStart(int(a.s), end)
		if x.wordBefore(s) {
			continue
		}
		e := q
		for x.digitAt(e) {
			e++
		}
		m := addrMatch{s: s, plot: vspan{s, e}, box: true, tail: e}
		m.e = x.boxTail(e)
		out = append(out, m)
		end = m.e
	}
	return out
}

// boxStart takes in "P.O." before the word.
func (x *lexed) boxStart(s, floor int) int {
	p := s
	for _, letter := range []byte{'o', 'p'} {
		p = x.spaceBack(p, floor)
		if p > floor && x.s[p-1] == '.' {
			p--
		}
		if p == floor || lowerByte(x.s[p-1]) != letter {
			return s
		}
		p--
	}
	return p
}

// boxTail reads the parts after a box: words with a capital, and numbers.
func (x *lexed) boxTail(p int) int {
	for range maxBoxTail {
		q := x.comma(p)
		if q < 0 {
			break
		}
		e := x.properWords(q)
		if n := x.digitsAt(q, 1, 8); n > 0 {
			e = n
		}
		if e < 0 {
			break
		}
		p = e
	}
	return p
}
