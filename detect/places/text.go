package places

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/internal/address"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// doc is a text laid out for scanning: code points, and where the run of word
// characters and of spaces at each place ends.
type doc struct {
	runes    []rune
	lower    []rune // each folded by itself
	spaceEnd []int32
	wordEnd  []int32 // of letters, numbers, underscores, apostrophes and hyphens
	address  *address.Text
	source   string
	found    []detect.Address // by position, apart; set by spans
	words    *vocabulary
}

func newText(s string) *doc {
	runes := []rune(s)
	n := len(runes)
	d := &doc{
		runes: runes, lower: make([]rune, n),
		spaceEnd: make([]int32, n+1), wordEnd: make([]int32, n+1),
		address: address.NewText(s), source: s, words: vocab(),
	}
	d.spaceEnd[n], d.wordEnd[n] = int32(n), int32(n)
	for i := n - 1; i >= 0; i-- {
		r := runes[i]
		d.lower[i] = fold(r)
		d.spaceEnd[i], d.wordEnd[i] = int32(i), int32(i)
		if text.IsSpace(r) {
			d.spaceEnd[i] = int32(i + 1)
			if i+1 < n && text.IsSpace(runes[i+1]) {
				d.spaceEnd[i] = d.spaceEnd[i+1]
			}
		}
		if inWord(r) {
			d.wordEnd[i] = int32(i + 1)
			if i+1 < n && inWord(runes[i+1]) {
				d.wordEnd[i] = d.wordEnd[i+1]
			}
		}
	}
	return d
}

func (d *doc) blank() bool { return int(d.spaceEnd[0]) == len(d.runes) }

func (d *doc) text(from, to int) string { return string(d.runes[from:to]) }

// fold maps letters that differ in case alone to one.
func fold(r rune) rune {
	switch r {
	case 'ı', 'İ':
		return 'i'
	case 'ſ':
		return 's'
	case '\u212a':
		return 'k'
	}
	return unicode.ToLower(r)
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

func inWord(r rune) bool { return isWord(r) || r == '\'' || r == '’' || r == '-' }

func (d *doc) word(i int) bool { return i >= 0 && i < len(d.runes) && isWord(d.runes[i]) }

// edge reports whether place i lies between a word character and none.
func (d *doc) edge(i int) bool { return d.word(i-1) != d.word(i) }

func (d *doc) upper(i int) bool {
	return i < len(d.runes) && d.runes[i] >= 'A' && d.runes[i] <= 'Z'
}

// capital returns the end of the capitalised word at i, or -1.
func (d *doc) capital(i int) int {
	if !d.upper(i) {
		return -1
	}
	return int(d.wordEnd[i])
}

// spaces returns the end of one or more spaces at i, or -1.
func (d *doc) spaces(i int) int {
	if i < len(d.runes) && int(d.spaceEnd[i]) > i {
		return int(d.spaceEnd[i])
	}
	return -1
}

func (d *doc) digits(i, most int) int {
	for most > 0 && i < len(d.runes) && unicode.Is(unicode.Nd, d.runes[i]) {
		i++
		most--
	}
	return i
}

// phrase returns the end of a phrase at i in any case, or -1.
func (d *doc) phrase(i int, p []rune) int {
	if i+len(p) > len(d.lower) {
		return -1
	}
	for k, r := range p {
		if d.lower[i+k] != r {
			return -1
		}
	}
	return i + len(p)
}

// cuePhrase is a phrase of the pack with the rule it belongs to.
type cuePhrase struct {
	folded []rune
	text   string
	rule   *packs.RoleRule
}

// vocabulary is what the tables say, laid out for scanning.
type vocabulary struct {
	pack      *packs.PlaceRoles
	cues      map[rune][]cuePhrase // by first letter, longest first
	relations map[rune][][]rune    // by first letter, longest first
	articles  [][]rune
	landmarks []string
	refused   map[string]bool // titles and calendar words
	fillers   map[string]bool
	countries map[string]string // lower-case name to ISO code
	cities    map[string]bool   // names and aliases, lower case
	intrinsic *packs.RoleRule
	locatives map[string]bool
}

var vocab = sync.OnceValue(func() *vocabulary {
	words := packs.DetectAddressWords()
	v := &vocabulary{
		pack:      packs.LoadPlaceRoles(),
		cues:      map[rune][]cuePhrase{},
		relations: map[rune][][]rune{},
		refused:   map[string]bool{},
		fillers:   map[string]bool{},
		countries: words.Countries,
		cities:    map[string]bool{},
		locatives: map[string]bool{},
	}
	for _, list := range [][]string{words.Titles, words.Calendar} {
		for _, w := range list {
			v.refused[w] = true
		}
	}
	for _, w := range v.pack.Fillers {
		v.fillers[w] = true
	}
	for w := range strings.FieldsSeq("at on in near off from to into onto opposite behind beside along by around toward towards") {
		v.locatives[w] = true
	}
	for _, c := range packs.Cities() {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			v.cities[text.Lower(name)] = true
		}
	}
	for _, kind := range []string{"commercial", "religious", "infrastructure"} {
		v.landmarks = append(v.landmarks, words.Landmarks[kind]...)
	}
	for _, a := range words.Articles {
		v.articles = append(v.articles, folded(a))
	}
	for _, r := range words.Relations {
		f := folded(r)
		v.relations[f[0]] = append(v.relations[f[0]], f)
	}
	for i := range v.pack.Rules {
		rule := &v.pack.Rules[i]
		if rule.Kind == "intrinsic" {
			v.intrinsic = rule
			continue
		}
		for _, c := range rule.Cues {
			f := folded(c)
			v.cues[f[0]] = append(v.cues[f[0]], cuePhrase{f, text.Lower(c), rule})
		}
	}
	for _, list := range v.cues {
		slices.SortStableFunc(list, func(a, b cuePhrase) int { return len(b.folded) - len(a.folded) })
	}
	return v
})

func folded(s string) []rune {
	out := []rune(s)
	for i, r := range out {
		out[i] = fold(r)
	}
	return out
}

func (v *vocabulary) namesLandmark(lower string) bool {
	return slices.ContainsFunc(v.landmarks, func(noun string) bool { return strings.Contains(lower, noun) })
}
