package packs

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed data/detect
var detectFS embed.FS

// detectText returns a file of the detection tables. The files are embedded
// and read by the package's tests, so a failure is a broken build.
func detectText(name string) string {
	b, err := detectFS.ReadFile("data/detect/" + name)
	if err != nil {
		panic(fmt.Sprintf("packs: detection table %s: %v", name, err))
	}
	return string(b)
}

func detectJSON[T any](name string) T {
	var v T
	if err := json.Unmarshal([]byte(detectText(name)), &v); err != nil {
		panic(fmt.Sprintf("packs: detection table %s: %v", name, err))
	}
	return v
}

// detectLines returns the lines of a table, empty lines and lines that begin
// with # left out.
func detectLines(name string) []string {
	var out []string
	for line := range strings.Lines(detectText(name)) {
		if line = strings.TrimRight(line, "\n"); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// NameToken is one known word of a name in normal form (no marks, lower case).
type NameToken struct {
	Text          string
	Given, Family bool // both false when only a spelling group holds it
}

// NameTokens returns the name lexicon in ascending order.
var NameTokens = sync.OnceValue(func() []NameToken {
	var out []NameToken
	for _, line := range detectLines("names.txt") {
		t, k, _ := strings.Cut(line, "\t")
		out = append(out, NameToken{t, k == "g" || k == "b", k == "f" || k == "b"})
	}
	return out
})

// NameGroups are the spellings that are names in any case, and the rules for
// them.
type NameGroups struct {
	Groups    [][]string `json:"case_insensitive_groups"`
	MinLength int        `json:"min_length"` // shortest spelling used, in characters
	StopWords []string   `json:"stop_words"`
}

// DetectNameGroups returns the spelling groups.
var DetectNameGroups = sync.OnceValue(func() NameGroups { return detectJSON[NameGroups]("name-groups.json") })

// City is a city of the gazetteer.
type City struct {
	Name, Country string // country: ISO 3166 alpha-2
	Aliases       []string
}

// Cities returns the gazetteer in its published order.
var Cities = sync.OnceValue(func() []City {
	var out []City
	for _, line := range detectLines("cities.tsv") {
		f := strings.Split(line, "\t")
		c := City{Name: f[0], Country: f[1]}
		if f[2] != "" {
			c.Aliases = strings.Split(f[2], "|")
		}
		out = append(out, c)
	}
	return out
})

// OrdinaryWord is a common English word in lower case: capitalised, it is no
// evidence of a name.
type OrdinaryWord struct {
	Text     string
	Frequent bool // among the few hundred most frequent
}

// OrdinaryWords returns the common English words, sorted.
var OrdinaryWords = sync.OnceValue(func() []OrdinaryWord {
	var out []OrdinaryWord
	for _, line := range detectLines("ordinary.txt") {
		w, frequent := strings.CutSuffix(line, "+")
		out = append(out, OrdinaryWord{w, frequent})
	}
	return out
})

// NameLimits hold what is and is not evidence of a name.
type NameLimits struct {
	LowerNouns []string `json:"lower_nouns"` // spellings that are common nouns in lower case
	Never      []string `json:"never"`       // words never taken for a name
	Titles     []string `json:"titles"`      // before a family name
	Cues       []string `json:"cues"`        // before a given and a family name
}

// DetectNameLimits returns the limits.
var DetectNameLimits = sync.OnceValue(func() NameLimits { return detectJSON[NameLimits]("name-limits.json") })

// AddressWords is the vocabulary of addresses.
type AddressWords struct {
	Relations []string            `json:"relations"` // "opposite", "near", ...; longest first
	Articles  []string            `json:"articles"`  // longest first
	Landmarks map[string][]string `json:"landmarks"` // commercial, religious, infrastructure
	Suffixes  []string            `json:"street_suffixes"`
	Countries map[string]string   `json:"countries"` // lower-case name to ISO code
	Titles    []string            `json:"titles"`
	Calendar  []string            `json:"calendar"`
}

// DetectAddressWords returns the vocabulary of addresses.
var DetectAddressWords = sync.OnceValue(func() AddressWords { return detectJSON[AddressWords]("address.json") })

// MobilePlan is the published mobile numbering of one country.
type MobilePlan struct {
	Country, Code string // ISO code; calling code
	Local, Intl   int    // digits of a local number, and after the calling code
	Subscriber    bool   // prefixes are those of the subscriber number: no trunk zero
	Prefixes      []string
}

// MobilePlans returns the mobile plans in matching order.
var MobilePlans = sync.OnceValue(func() []MobilePlan {
	var out []MobilePlan
	for _, line := range detectLines("phones-africa.tsv") {
		f := strings.Split(line, "\t")
		local, _ := strconv.Atoi(f[2])
		intl, _ := strconv.Atoi(f[3])
		out = append(out, MobilePlan{f[0], f[1], local, intl, f[4] == "subscriber", strings.Split(f[5], ",")})
	}
	return out
})

// CurrencyWords are the African currency symbols and words in matching order.
type CurrencyWords struct {
	Prefix []string `json:"prefix"`
	Suffix []string `json:"suffix"`
	Words  []string `json:"words"`
}

// DetectCurrencies returns the currency table.
var DetectCurrencies = sync.OnceValue(func() CurrencyWords { return detectJSON[CurrencyWords]("currencies.json") })

// KnownDIDMethods are the DID methods taken for certain.
var KnownDIDMethods = map[string]bool{
	"ethr": true, "indy": true, "ion": true, "jwk": true, "key": true, "pkh": true, "polygon": true, "sov": true, "web": true,
}

// IDPattern describes one national identifier. Shapes are written in the signs
// package detect explains.
type IDPattern struct {
	Key        string   `json:"key"`
	Country    string   `json:"country"` // ISO 3166 alpha-2, EU, or "" for any
	Category   string   `json:"category"`
	Shapes     []string `json:"shapes"`
	Fence      string   `json:"fence"` // what may not touch it: digit or alnum
	AnyCase    bool     `json:"any_case"`
	Check      string   `json:"check"`      // a test besides the shape
	Cues       []string `json:"cues"`       // phrases of which one must stand before it
	Gap        int      `json:"gap"`        // characters from cue to value; negative: only white space and one sign
	Confidence float64  `json:"confidence"` // with a check passed
	Shy        bool     `json:"shy"`        // not after a word that counts something else ("order")
	Epoch      bool     `json:"epoch"`      // without context, not when it reads as a time in milliseconds

	// Of patterns beyond the published ones.
	Bare      []string `json:"bare"`       // jurisdictions in which shape and check suffice without a cue
	CueAlone  bool     `json:"cue_alone"`  // beside a cue the check need not hold
	BareShape []string `json:"bare_shape"` // shapes that count without a cue; all when empty
	Valid     []string `json:"valid"`      // examples tests must find (with the first cue before them)
	Invalid   []string `json:"invalid"`    // examples tests must not find
}

// IDTables are the published identifier patterns: the order of patterns in
// each pack, and the words that raise confidence in the shared African pack.
type IDTables struct {
	Patterns []IDPattern         `json:"patterns"`
	Orders   map[string][]string `json:"orders"`
	Window   int                 `json:"context_window"` // characters either side
	Context  map[string][]string `json:"context"`        // by country, in lower case
}

// DetectIDs returns the published identifier patterns.
var DetectIDs = sync.OnceValue(func() IDTables { return detectJSON[IDTables]("ids.json") })

// CountingWords stand before numbers that count things, not people.
type CountingWords struct {
	Words   []string `json:"words"`
	Fillers []string `json:"fillers"` // may stand between the word and the number
}

// DetectCountingWords returns the words.
var DetectCountingWords = sync.OnceValue(func() CountingWords { return detectJSON[CountingWords]("counted.json") })

// PhoneRegion is the numbering plan of one region.
type PhoneRegion struct {
	Region, Code, Trunk string // Trunk is dialled before national numbers; may be empty
	Main                bool   // of several regions of one code, the main one
	Lengths             []int  // possible digits after the code
	Leading             string // expression for the leading digits that tell regions of one code apart; may be empty
	National            string // expression for whole national numbers without the trunk prefix
}

// PhoneRegions returns the numbering plans, sorted by region.
var PhoneRegions = sync.OnceValue(func() []PhoneRegion {
	var out []PhoneRegion
	for _, line := range detectLines("phones.tsv") {
		f := strings.Split(line, "\t")
		p := PhoneRegion{Region: f[0], Code: f[1], Trunk: f[2], Main: f[3] == "m", Leading: f[5], National: f[6]}
		for n := range strings.SplitSeq(f[4], ",") {
			if v, err := strconv.Atoi(n); err == nil {
				p.Lengths = append(p.Lengths, v)
			}
		}
		out = append(out, p)
	}
	return out
})

// PhoneCues are the words before telephone numbers.
var PhoneCues = sync.OnceValue(func() []string { return detectJSON[[]string]("phone-cues.json") })

// WorldIDs returns the identifier patterns beyond the published ones.
var WorldIDs = sync.OnceValue(func() []IDPattern { return detectJSON[[]IDPattern]("ids-world.json") })

// IBANLengths returns the characters of an IBAN by country.
var IBANLengths = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for _, line := range detectLines("iban.tsv") {
		c, n, _ := strings.Cut(line, "\t")
		out[c], _ = strconv.Atoi(n)
	}
	return out
})

// CardRange is a range of first digits that card schemes use.
type CardRange struct {
	From, To string // equally long
	Lengths  []int  // digits of the whole number
	Cue      bool   // counts only beside a cue
}

// CardRanges returns the ranges.
var CardRanges = sync.OnceValue(func() []CardRange {
	var out []CardRange
	for _, line := range detectLines("cards.tsv") {
		f := strings.Split(line, "\t")
		r := CardRange{From: f[0], To: f[1], Cue: f[3] == "c"}
		for n := range strings.SplitSeq(f[2], ",") {
			v, _ := strconv.Atoi(n)
			r.Lengths = append(r.Lengths, v)
		}
		out = append(out, r)
	}
	return out
})

// CardCues are the words before card numbers.
var CardCues = sync.OnceValue(func() []string { return detectJSON[[]string]("bank-cues.json") })

// BirthWords say that a date is one of birth.
type BirthWords struct {
	Cues   []string `json:"cues"`
	Months []string `json:"months"` // in lower case, several languages
}

// DetectBirthWords returns the words.
var DetectBirthWords = sync.OnceValue(func() BirthWords { return detectJSON[BirthWords]("birth.json") })
