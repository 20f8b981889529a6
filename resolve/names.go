package resolve

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// equivalent is the confidence from which two names are spellings of one.
const equivalent = 0.8

// groupSet is a set of equivalence groups.
type groupSet [2]uint64

func (g groupSet) has(i int16) bool { return g[i>>6]&(1<<(i&63)) != 0 }

// spellings is the table of equivalent name spellings.
type spellings struct {
	of map[string]spelling
}

// spelling is what is known of a word that stands in the table.
type spelling struct {
	key    int16    // the group it leads to, -1 none
	member groupSet // the groups it stands in
}

var nameSpellings = sync.OnceValues(func() (*spellings, error) {
	t, err := packs.NameEquivalenceTable()
	if err != nil {
		return nil, err
	}
	s := &spellings{of: make(map[string]spelling)}
	word := func(w string) spelling {
		if e, ok := s.of[w]; ok {
			return e
		}
		return spelling{key: -1}
	}
	for i, group := range t.Groups {
		for _, w := range group {
			e := word(w)
			e.member[i>>6] |= 1 << (i & 63)
			s.of[w] = e
		}
	}
	for w, g := range t.Key {
		e := word(w)
		e.key = int16(g)
		s.of[w] = e
	}
	return s, nil
})

// nameWords says what the words of name forms lead to. Words are numbered with
// the tokens of the store.
type nameWords struct {
	table  *spellings
	toks   *tokens
	group  []int16    // by word: the group it leads to, -1 none
	member []groupSet // by word: the groups it stands in
	lead   []uint8    // by word: the bit of what it leads to
	has    []uint64   // by word: the bits of what leads to it
}

func newNameWords(toks *tokens) (*nameWords, error) {
	t, err := nameSpellings()
	return &nameWords{table: t, toks: toks}, err
}

// extend looks up the words that came since.
func (w *nameWords) extend() {
	more := len(w.toks.text) - len(w.group)
	w.group, w.member = slices.Grow(w.group, more), slices.Grow(w.member, more)
	w.lead, w.has = slices.Grow(w.lead, more), slices.Grow(w.has, more)
	for i := len(w.group); i < len(w.toks.text); i++ {
		e, ok := w.table.of[w.toks.text[i]]
		if !ok {
			e.key = -1
		}
		w.group, w.member = append(w.group, e.key), append(w.member, e.member)
		lead, has := w.sketch(int32(i))
		w.lead, w.has = append(w.lead, lead), append(w.has, has)
	}
}

// nameForm is the form in which spellings are compared: "Last, First" turned
// round, without accents, lower case.
func nameForm(s string) string {
	s = text.Strip(s)
	if s == "" {
		return ""
	}
	if i := strings.IndexByte(s, ','); i >= 0 {
		l, r := text.Strip(s[:i]), text.Strip(s[i+1:])
		if l != "" && r != "" {
			s = r + " " + l
		}
	}
	return lowerTitle(text.Strip(text.Collapse(text.StripMarks(s))))
}

// lowerTitle is lower case by way of title case, which turns a sharp s or a
// dotless i that starts a word into what their capitals turn into.
func lowerTitle(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return strings.ToLower(s)
	}
	var b strings.Builder
	inWord := false
	for _, r := range s {
		switch {
		case inWord:
			b.WriteString(text.Lower(string(r)))
		case r == 'ß':
			b.WriteString("Ss")
		default:
			b.WriteRune(unicode.ToTitle(r))
		}
		inWord = unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
			unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
	}
	return text.Lower(b.String())
}

// nameScratch is what comparing name forms needs beside the forms; one per
// goroutine.
type nameScratch struct {
	used    []bool
	matcher *text.Matcher // made when first needed
}

// manyWords is the product of word counts from which matching takes a detour
// that is linear in the words.
const manyWords = 4096

// matched counts the words of a that lead to a word of b, each used once: in
// order, the first free one.
func (w *nameWords) matched(a, b []int32, s *nameScratch) int {
	if len(a)*len(b) > manyWords {
		return w.matchedMany(a, b)
	}
	if cap(s.used) < len(b) {
		s.used = make([]bool, len(b)*2)
	}
	used := s.used[:len(b)]
	clear(used)
	n := 0
	for _, t := range a {
		g := w.group[t]
		for k, u := range b {
			if used[k] || !(g < 0 && t == u || g >= 0 && w.member[u].has(g)) {
				continue
			}
			used[k] = true
			n++
			break
		}
	}
	return n
}

// matchedMany is matched for long texts. A word outside all groups leads only to
// itself, so such words are counted; for each group the first free word only
// moves forward.
func (w *nameWords) matchedMany(a, b []int32) int {
	plain := make(map[int32]int)
	for _, u := range b {
		plain[u]++
	}
	used := make([]bool, len(b))
	next := make(map[int16]int)
	n := 0
	for _, t := range a {
		g := w.group[t]
		if g < 0 {
			if plain[t] > 0 {
				plain[t]--
				n++
			}
			continue
		}
		k := next[g]
		for k < len(b) && (used[k] || !w.member[b[k]].has(g)) {
			k++
		}
		next[g] = k
		if k < len(b) {
			used[k] = true
			n++
		}
	}
	return n
}

// equivalence returns the confidence that two name forms are spellings of one
// name, or false. forms are the whole forms, a and b their words.
func (w *nameWords) equivalence(formA, formB *text.Prepared, a, b []int32, s *nameScratch) (float64, bool) {
	if formA.Text() == "" || formB.Text() == "" {
		return 0, false
	}
	if formA.Text() == formB.Text() {
		return 1, true
	}
	longest := max(len(a), len(b))
	n := w.matched(a, b, s)
	// The similarity term gives at most 0.4: fewer than two thirds cannot do.
	if 3*n < 2*longest {
		return 0, false
	}
	e := float64(n) / float64(longest)
	j := w.closest(formA, formB, a, b, s)
	c := min(float64(e*0.6)+float64(j*0.4), 1)
	if c < equivalent {
		return 0, false
	}
	return canon.Round(c, 4), true
}

// closest is the greatest Jaro-Winkler similarity of the whole forms and of any
// two words.
func (w *nameWords) closest(formA, formB *text.Prepared, a, b []int32, s *nameScratch) float64 {
	if len(a)*len(b) > manyWords {
		a, b = distinctIDs(slices.Clone(a)), distinctIDs(slices.Clone(b))
	}
	for _, t := range a {
		if slices.Contains(b, t) {
			return 1
		}
	}
	if s.matcher == nil {
		s.matcher = new(text.Matcher)
	}
	best := s.matcher.JaroWinkler(formA, formB)
	for _, t := range a {
		for _, u := range b {
			best = max(best, text.JaroWinkler(w.toks.text[t], w.toks.text[u]))
		}
	}
	return best
}

// maxText is the length in bytes up to which texts are compared by similarity;
// the time that takes grows with the product of two lengths.
const maxText = 1 << 18

func tooLong(what string) error {
	return fault.New(fault.Limit, "%s is longer than %d bytes, the most that is compared by similarity", what, maxText).
		WithHint("shorten the value, or compare it by a comparator of kind id")
}

// compareNames is the name similarity of two single texts.
func compareNames(a, b string) (float64, error) {
	if max(len(a), len(b)) > maxText {
		return 0, tooLong("a name")
	}
	x, y := text.Norm(a), text.Norm(b)
	if x == "" || y == "" {
		return 0, nil
	}
	if x == y {
		return 1, nil
	}
	words, err := newNameWords(newTokens())
	if err != nil {
		return 0, err
	}
	fa, fb := text.Prepare(nameForm(a)), text.Prepare(nameForm(b))
	wa, wb := formWords(words.toks, fa.Text()), formWords(words.toks, fb.Text())
	words.extend()
	var s nameScratch
	if c, ok := words.equivalence(&fa, &fb, wa, wb, &s); ok {
		return c, nil
	}
	return text.Fuzzy(x, y), nil
}

// formWords numbers the words of a name form.
func formWords(toks *tokens, form string) []int32 {
	fields := text.Fields(form)
	out := make([]int32, len(fields))
	for i, f := range fields {
		out[i] = toks.id(f)
	}
	return out
}
