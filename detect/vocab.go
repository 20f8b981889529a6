package detect

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/arche-ledger/arche/packs"
)

// Roles a word of the vocabulary plays.
const (
	rName      = 1 << iota // known word of a name
	rGiven                 // ... seen as a given name
	rFamily                // ... seen as a family name
	rGroup                 // begins a spelling that is a name in any case
	rCity                  // begins the name of a city
	rOrdinary              // common English word
	rFrequent              // ... among the most frequent
	rSuffix                // ends the name of a street
	rRelation              // begins a relation of a landmark ("opposite")
	rNever                 // not taken for a name
	rLowerNoun             // no name in lower case without another beside it
	rTitle                 // stands before a family name
	rPersonCue             // stands before a whole name
	rPlace                 // name of a country, month or day: no part of a name
	rBox                   // "box"
	rMonth                 // name of a month
	rCue                   // begins a cue of an identifier
)

// rMarked are the roles whose atoms scanners visit one by one.
const rMarked = rGroup | rCity | rSuffix | rRelation | rBox | rMonth | rCue

const (
	hashSeed  = 2166136261
	hashPrime = 16777619
)

// entry is one word of the vocabulary, in folded lower case, and what can
// begin with it.
type entry struct {
	text      string
	roles     uint32
	groups    []string // name spellings, longest first
	cities    []string // city names and aliases in lower case, longest first
	relations []string // landmark relations in lower case, longest first
}

// vocabulary is every word the scanners look for, found in one probe a word.
type vocabulary struct {
	entries []entry
	table   []int32 // open addressing by hash; 0 is empty
	index   map[string]int32
}

var words = sync.OnceValue(buildVocabulary)

func buildVocabulary() *vocabulary {
	v := &vocabulary{entries: make([]entry, 1, 40000), index: make(map[string]int32, 40000)}
	v.addNames()
	v.addPlaces()
	for _, w := range packs.OrdinaryWords() {
		e := v.add(w.Text)
		e.roles |= rOrdinary
		if w.Frequent {
			e.roles |= rFrequent
		}
	}
	v.add("box").roles |= rBox
	v.add("pobox").roles |= rBox
	v.addLimits()
	for i := 1; i < len(v.entries); i++ {
		e := &v.entries[i]
		if e.text[0] == 0 || isASCIIText(e.text) {
			continue
		}
		if j, ok := v.index[normalName(e.text)]; ok {
			e.roles |= v.entries[j].roles & (rName | rGiven | rFamily)
		}
	}
	v.fill()
	return v
}

func (v *vocabulary) addNames() {
	for _, t := range packs.NameTokens() {
		roles := uint32(rName)
		if t.Given {
			roles |= rGiven
		}
		if t.Family {
			roles |= rFamily
		}
		v.add(t.Text).roles |= roles
		v.add(nameOnly(t.Text)).roles |= roles
	}
	groups := packs.DetectNameGroups()
	for _, g := range groups.Groups {
		for _, s := range g {
			if utf8.RuneCountInString(s) < groups.MinLength {
				continue
			}
			s = foldText(s)
			e := v.add(firstWord(s))
			e.roles |= rGroup
			e.groups = addLongestFirst(e.groups, s)
		}
	}
}

func (v *vocabulary) addPlaces() {
	for _, c := range packs.Cities() {
		for _, s := range append([]string{c.Name}, c.Aliases...) {
			s = foldText(s)
			e := v.add(firstWord(s))
			e.roles |= rCity
			e.cities = addLongestFirst(e.cities, s)
		}
	}
	a := packs.DetectAddressWords()
	for _, s := range a.Suffixes {
		v.add(foldText(s)).roles |= rSuffix
	}
	for _, s := range a.Relations {
		s = foldText(s)
		e := v.add(firstWord(s))
		e.roles |= rRelation
		e.relations = addLongestFirst(e.relations, s)
	}
}

func (v *vocabulary) addLimits() {
	l := packs.DetectNameLimits()
	a := packs.DetectAddressWords()
	for role, list := range map[uint32][]string{
		rNever: l.Never, rLowerNoun: l.LowerNouns, rTitle: l.Titles, rPersonCue: l.Cues, rPlace: a.Calendar,
		rMonth: packs.DetectBirthWords().Months,
	} {
		for _, w := range list {
			v.add(foldText(w)).roles |= role
		}
	}
	for _, p := range packs.WorldIDs() {
		for _, c := range p.Cues {
			v.add(firstWord(foldText(c))).roles |= rCue
		}
	}
	for c := range a.Countries {
		v.add(firstWord(c)).roles |= rPlace
	}
}

// nameOnly is the key of a word that is known only by its form without marks,
// so that its other roles do not apply.
func nameOnly(t string) string { return "\x00" + t }

func addLongestFirst(list []string, s string) []string {
	i := 0
	for i < len(list) && len(list[i]) >= len(s) {
		if list[i] == s {
			return list
		}
		i++
	}
	list = append(list, "")
	copy(list[i+1:], list[i:])
	list[i] = s
	return list
}

// firstWord returns the leading run of letters and the marks on them.
func firstWord(s string) string {
	for i, r := range s {
		if !isLetterRune(r) && !(i > 0 && isMark(r)) {
			return s[:i]
		}
	}
	return s
}

// foldText composes and folds case rune by rune.
func foldText(s string) string { return strings.Map(lower, norm.NFC.String(s)) }

// normalName is the form under which words of names are looked up: marks
// dropped, compatibility forms resolved, lower case.
func normalName(s string) string {
	if isASCIIText(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

func isASCIIText(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (v *vocabulary) add(text string) *entry {
	i, ok := v.index[text]
	if !ok {
		i = int32(len(v.entries))
		v.index[text] = i
		v.entries = append(v.entries, entry{text: text})
	}
	return &v.entries[i]
}

// fill builds the probe table over the words a scanner can meet in ASCII.
func (v *vocabulary) fill() {
	v.table = make([]int32, 1<<18)
	for i := 1; i < len(v.entries); i++ {
		t := v.entries[i].text
		if !isASCIIText(t) || t == "" || t[0] == 0 {
			continue
		}
		h := uint32(hashSeed)
		for k := range len(t) {
			h = (h ^ uint32(t[k]|0x20)) * hashPrime
		}
		p := slot(h)
		for v.table[p] != 0 {
			p = (p + 1) & (1<<18 - 1)
		}
		v.table[p] = int32(i)
	}
}

func slot(h uint32) uint32 { return (h ^ h>>15) & (1<<18 - 1) }

// findASCII returns the entry of a word of ASCII letters in any case; h is the
// running hash of its lower-case bytes.
func (v *vocabulary) findASCII(h uint32, s string) int32 {
	for p := slot(h); v.table[p] != 0; p = (p + 1) & (1<<18 - 1) {
		if i := v.table[p]; equalLower(s, v.entries[i].text) {
			return i
		}
	}
	return 0
}

// equalLower compares ASCII letters with a lower-case word.
func equalLower(s, want string) bool {
	if len(s) != len(want) {
		return false
	}
	for i := range len(s) {
		if s[i]|0x20 != want[i] {
			return false
		}
	}
	return true
}

// findFolded returns the entry of any word: by its folded form, else, for
// names only, by its form without marks.
func (v *vocabulary) findFolded(s string) int32 {
	if i, ok := v.index[foldText(s)]; ok {
		return i
	}
	return v.index[nameOnly(normalName(s))]
}

// roles returns the roles of a word given as text.
func (v *vocabulary) rolesOf(s string) uint32 { return v.entries[v.findFolded(s)].roles }

// matchFold returns the end of want (folded) at position p, or -1.
func (w *view) matchFold(p int, want string) int {
	for i := 0; i < len(want); {
		if p >= len(w.s) {
			return -1
		}
		if b := w.s[p]; b < utf8.RuneSelf && want[i] < utf8.RuneSelf {
			if lowerByte(b) != want[i] {
				return -1
			}
			p++
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(w.s[p:])
		q, m := utf8.DecodeRuneInString(want[i:])
		if lower(r) != q {
			return -1
		}
		p += n
		i += m
	}
	return p
}
