package packs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/arche-ledger/arche/internal/canon"
)

// Signals is one version of the rules that infer a jurisdiction from text.
type Signals struct {
	Ruleset         string             `json:"ruleset"`
	Weights         map[string]float64 `json:"weights"`   // by tier
	CountCap        int                `json:"count_cap"` // matches of one signal that count
	LeastConfidence float64            `json:"least_confidence"`
	LeastMargin     float64            `json:"least_margin"`
	Corroborating   []string           `json:"corroborating"` // name prefixes that name no country by themselves
	Signals         []Signal           `json:"signals"`
}

// Signal is one sign of a country. Pattern is a regular expression over
// Unicode text, case-sensitive: \b, \d and \s have their Unicode meaning.
type Signal struct {
	Name      string `json:"name"`
	Tier      string `json:"tier"`
	Country   string `json:"country"`
	Pattern   string `json:"pattern"`
	Before    string `json:"before"`     // what must follow the match, "" = anything
	NotBefore string `json:"not_before"` // what must not follow it, "" = anything may
}

// The versions of the inference rules: the published one, and ours, which reads
// Ghana and Kenya better and a calling code after a space.
const (
	RulesetPublished = "2026.08.1"
	RulesetLatest    = "2026.12.1"
)

// LoadSignals returns a version of the inference rules, "" for the published
// one; ok is false for a version that does not exist. Do not write to them.
func LoadSignals(version string) (s *Signals, ok bool) {
	if version == "" {
		version = RulesetPublished
	}
	s, ok = signalVersions()[version]
	return s, ok
}

var signalVersions = sync.OnceValue(func() map[string]*Signals {
	out := map[string]*Signals{}
	for _, version := range []string{RulesetPublished, RulesetLatest} {
		s := &Signals{}
		if err := readJurisdictionFile("signals-"+version+".json", s); err != nil || s.Ruleset != version {
			panic(fmt.Sprintf("packs: shipped signals %s: %v", version, err))
		}
		out[version] = s
	}
	return out
})

// PlaceRoles is the pack of phrases that give a place its role in a sentence.
type PlaceRoles struct {
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	MaxGap     int              `json:"max_gap"` // code points between a cue and its place
	Fillers    []string         `json:"fillers"` // words that may stand between without cost
	Confidence []RoleConfidence `json:"confidence"`
	Rules      []RoleRule       `json:"rules"`
	Pin        string           `json:"-"` // name@version:sha256: and 16 hex digits
}

// RoleConfidence is the confidence of a place by how near its cue stands
// (2 adjacent, 1 in the window, 0 none) and how its span was found (2 parsed,
// 1 gazetteer, 0 licensed by the cue alone).
type RoleConfidence struct {
	Cue        int     `json:"cue"`
	Span       int     `json:"span"`
	Confidence float64 `json:"confidence"`
}

// RoleRule binds cues to roles. Kind is single (roles[0]), pair (roles[0] and
// roles[1], joined by one of Join) or intrinsic (the cue is part of the place).
type RoleRule struct {
	ID          string   `json:"id"`
	Kind        string   `json:"kind"`
	Roles       []string `json:"roles"`
	Cues        []string `json:"cues"`
	Join        []string `json:"join"`
	Priority    int      `json:"priority"`
	MinSpanTier int      `json:"min_span_tier"`
}

// LoadPlaceRoles returns the shipped pack of place roles with its pin.
var LoadPlaceRoles = sync.OnceValue(func() *PlaceRoles {
	p := &PlaceRoles{}
	if err := readJurisdictionFile("place-roles-v1.json", p); err != nil {
		panic("packs: shipped place roles: " + err.Error())
	}
	p.Pin = p.pin()
	return p
})

// pin digests what decides: the rules, the fillers and the window.
func (p *PlaceRoles) pin() string {
	rules := make([]any, len(p.Rules))
	for i, r := range p.Rules {
		rules[i] = canon.Obj("cues", texts(r.Cues), "id", r.ID, "join", texts(r.Join), "kind", r.Kind,
			"min_span_tier", r.MinSpanTier, "priority", r.Priority, "roles", texts(r.Roles))
	}
	raw, err := canon.Sorted(canon.Obj("fillers", texts(p.Fillers), "max_gap", p.MaxGap, "pack", p.Name,
		"rules", rules, "version", p.Version))
	if err != nil {
		panic("packs: place roles: " + err.Error())
	}
	sum := sha256.Sum256(raw)
	return p.Name + "@" + p.Version + ":sha256:" + hex.EncodeToString(sum[:])[:16]
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
