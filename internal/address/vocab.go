package address

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"

	"github.com/arche-ledger/arche/internal/text"
)

//go:embed vocab.json
var vocabJSON []byte

// vocabulary is the closed set of words the grammar knows. Order matters where
// alternatives are tried in turn: prepositions, articles and landmarks are
// longest first.
type vocabulary struct {
	suffixes     map[string]bool
	prepositions [][]rune
	prepStart    map[rune]bool
	ascii        [128]uint8 // character classes
	articles     [][]rune
	landmarks    [][]rune
	landmarkText []string
	countries    map[string]bool
	cities       map[string]bool // names and aliases, lower case
}

var vocab = sync.OnceValue(func() *vocabulary {
	var file struct {
		StreetSuffixes []string   `json:"street_suffixes"`
		Prepositions   []string   `json:"prepositions"`
		Articles       []string   `json:"articles"`
		Landmarks      []string   `json:"landmarks"`
		Countries      []string   `json:"countries"`
		Cities         [][]string `json:"cities"` // name, then aliases
	}
	if err := json.Unmarshal(vocabJSON, &file); err != nil {
		panic("address: the embedded vocabulary does not parse: " + err.Error())
	}
	v := &vocabulary{
		suffixes:     make(map[string]bool),
		prepositions: runeLists(file.Prepositions),
		prepStart:    make(map[rune]bool),
		articles:     runeLists(file.Articles),
		landmarks:    runeLists(file.Landmarks),
		landmarkText: file.Landmarks,
		countries:    make(map[string]bool),
		cities:       make(map[string]bool),
	}
	for _, s := range file.StreetSuffixes {
		v.suffixes[s] = true
	}
	for _, p := range v.prepositions {
		v.prepStart[p[0]] = true
	}
	for r := range v.ascii {
		v.ascii[r] = classify(rune(r))
		if v.prepStart[rune(r)] {
			v.ascii[r] |= isRelation
		}
		if strings.ContainsRune("PpBb", rune(r)) {
			v.ascii[r] |= isBox
		}
	}
	for _, c := range file.Countries {
		v.countries[c] = true
	}
	for _, names := range file.Cities {
		for _, n := range names {
			v.cities[text.Lower(n)] = true
		}
	}
	return v
})

func runeLists(words []string) [][]rune {
	out := make([][]rune, len(words))
	for i, w := range words {
		out[i] = []rune(w)
	}
	return out
}

func (v *vocabulary) namesLandmark(lower string) bool {
	for _, w := range v.landmarkText {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}
