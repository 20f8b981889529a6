package jurisdiction

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/packs"
)

// Inference is the answer of infer_jurisdiction. Evidence names signals and
// counts, never the matched text: a sample can be a registration number.
type Inference struct {
	Country            *string     `json:"country"` // nil when it abstains
	Confidence         canon.Float `json:"confidence"`
	Margin             canon.Float `json:"margin"`
	RunnerUp           *string     `json:"runner_up"`
	Abstained          bool        `json:"abstained"`
	Reason             string      `json:"reason"`
	RulesetVersion     string      `json:"ruleset_version"`
	Evidence           []Evidence  `json:"evidence"`
	StatuteID          *string     `json:"statute_id"`
	PolicyAvailable    bool        `json:"policy_available"`
	PolicyReason       string      `json:"policy_reason"`
	PolicyAlternatives []string    `json:"policy_alternatives"`
}

// Evidence is one signal that was found.
type Evidence struct {
	Signal  string      `json:"signal"`
	Tier    string      `json:"tier"`
	Country string      `json:"country"`
	Count   int         `json:"count"`  // all matches
	Weight  canon.Float `json:"weight"` // unrounded; matches beyond the cap add nothing
	Source  string      `json:"source"` // "text"
}

// Infer names the country whose law governs a text, or abstains when the
// evidence is weak, split or close. It runs under the published rules.
func Infer(doc string) *Inference {
	rules := rulesFor("")
	counts, _ := rules.count(doc, 0, len(doc))
	return rules.infer(counts)
}

// InferUnder is Infer under a version of the rules, "" for the published one.
// The error is a fault for a version that does not exist.
func InferUnder(doc, version string) (*Inference, error) {
	rules, err := needRules(version)
	if err != nil {
		return nil, err
	}
	counts, _ := rules.count(doc, 0, len(doc))
	return rules.infer(counts), nil
}

func needRules(version string) (*ruleset, error) {
	if rules := rulesFor(version); rules != nil {
		return rules, nil
	}
	return nil, fault.New(fault.Invalid, "no such version of the inference rules").
		WithHint("there are %s and %s", packs.RulesetPublished, packs.RulesetLatest)
}

// infer decides on how often each signal was found, in table order; nil is none.
func (rules *ruleset) infer(counts []int) *Inference {
	inf := &Inference{RulesetVersion: rules.Ruleset, Evidence: []Evidence{}}
	var ranking []score
	for k, n := range counts {
		if n == 0 {
			continue
		}
		s := rules.signals[k]
		weight := rules.Weights[s.Tier] * float64(min(n, rules.CountCap))
		inf.Evidence = append(inf.Evidence, Evidence{s.Name, s.Tier, s.Country, n, canon.Float(weight), "text"})
		i := slices.IndexFunc(ranking, func(c score) bool { return c.country == s.Country })
		if i < 0 {
			ranking, i = append(ranking, score{country: s.Country}), len(ranking)
		}
		ranking[i].weight += weight
	}
	slices.SortStableFunc(inf.Evidence, func(a, b Evidence) int {
		if a.Weight != b.Weight {
			return compareFloat(float64(b.Weight), float64(a.Weight))
		}
		return strings.Compare(a.Signal, b.Signal)
	})
	inf.decide(ranking, rules.Signals)
	inf.addPolicy()
	return inf
}

// score is the evidence for one country.
type score struct {
	country string
	weight  float64
}

func (inf *Inference) decide(ranking []score, rules *packs.Signals) {
	inf.Abstained = true
	if len(ranking) == 0 {
		inf.Reason = "nothing in the text points at a jurisdiction"
		return
	}
	total := 0.0
	for _, c := range ranking {
		total += c.weight
	}
	slices.SortStableFunc(ranking, func(a, b score) int { return compareFloat(b.weight, a.weight) })
	top, second := ranking[0], 0.0
	if len(ranking) > 1 {
		second = ranking[1].weight
		inf.RunnerUp = &ranking[1].country
	}
	confidence, margin := top.weight/total, (top.weight-second)/total
	inf.Confidence, inf.Margin = canon.Float(canon.Round(confidence, 4)), canon.Float(canon.Round(margin, 4))

	strongest, names, independent := inf.support(top.country, rules.Corroborating)
	switch {
	case strongest == "" && independent < 2:
		inf.Reason = fmt.Sprintf("%s leads on weak evidence alone; a country is named on a registration identifier or two independent signals", top.country)
	case confidence < rules.LeastConfidence:
		inf.Reason = fmt.Sprintf("the evidence is split: %s holds %s, and %s is needed", top.country, percent(confidence), percent(rules.LeastConfidence))
	case margin < rules.LeastMargin:
		inf.Reason = fmt.Sprintf("%s and %s lie %s apart, and %s is needed", top.country, ranking[1].country, percent(margin), percent(rules.LeastMargin))
	default:
		inf.Abstained = false
		inf.Country = &top.country
		inf.Reason = fmt.Sprintf("strongest signal %s, %s of total evidence weight", strongest, percent(confidence))
		if strongest == "" {
			inf.Reason = fmt.Sprintf("%d independent signals agree, %s of total evidence weight", names, percent(confidence))
		}
	}
}

// support returns a country's strongest tier-A signal, the number of its
// signals, and the number of those that can name a country by themselves.
func (inf *Inference) support(country string, corroborating []string) (strongest string, names, independent int) {
	for _, e := range inf.Evidence {
		if e.Country != country {
			continue
		}
		if e.Tier == "A" && strongest == "" {
			strongest = e.Signal
		}
		names++
		if !slices.ContainsFunc(corroborating, func(p string) bool { return strings.HasPrefix(e.Signal, p) }) {
			independent++
		}
	}
	return strongest, names, independent
}

func (inf *Inference) addPolicy() {
	country := ""
	if inf.Country != nil {
		country = *inf.Country
	}
	s, absent := ForJurisdiction(country)
	inf.PolicyAlternatives = []string{}
	if absent != nil {
		inf.PolicyReason, inf.PolicyAlternatives = absent.Reason, absent.Alternatives
		return
	}
	inf.StatuteID, inf.PolicyAvailable = &s.ID, true
}

// percent writes a share as a whole percentage, halves to even.
func percent(share float64) string {
	return strconv.FormatFloat(share*100, 'f', 0, 64) + "%"
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Inferable returns the countries that a version of the rules can name, sorted;
// none for a version that does not exist.
func Inferable(version string) []string {
	rules := rulesFor(version)
	if rules == nil {
		return nil
	}
	var out []string
	for _, s := range rules.signals {
		out = append(out, s.Country)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
