package audit

import (
	"math"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// worstKept is how many findings a summary keeps for the report.
const worstKept = 500

// Summary is what an audit came to.
type Summary struct {
	Total        int64 // decisions looked at
	Population   int64 // decisions that the options ask for, more than Total when sampled, 0 when not
	Reproduced   int64
	Differing    int64
	Unreplayable int64
	Appearing    int64            // today only: matches that were none then
	Overruled    int64            // decisions over which a person's stands; the audit leaves them alone
	First, Last  int64            // events of the first and last decision
	Changes      map[string]int64 // what moved, by name of pin or factor
	Verdicts     map[string]int64 // "match -> review"
	Reasons      map[string]int64 // why decisions could not be made again
	Worst        []*Finding       // verdicts that moved first, then by score moved

	links linkage
}

// Finding is a decision that does not come out the same, as its line has it.
type Finding struct {
	Line   *canon.Object
	weight float64
}

func newSummary() *Summary {
	return &Summary{Changes: map[string]int64{}, Verdicts: map[string]int64{}, Reasons: map[string]int64{}, links: newLinkage()}
}

// line is a finding of the audit as it is written and read again.
func line(f *ledger.Audited) *canon.Object {
	o := canon.Obj("seq", f.Seq, "result", f.Result, "decision_id", f.DecisionID, "record_a", f.RecordA, "record_b", f.RecordB,
		"entity_type", f.EntityType, "verb", f.Verb, "recorded_at", f.RecordedAt)
	set := func(key, text string) {
		if text != "" {
			o.Set(key, text)
		}
	}
	set("entity_id", f.EntityID)
	if f.Links {
		o.Set("links", true)
	}
	if f.NowLinks {
		o.Set("now_links", true)
	}
	set("reason", f.Reason)
	set("supersedes", f.Supersedes)
	set("operator", f.Operator)
	for _, part := range []struct {
		key string
		v   *canon.Object
	}{{"then", f.Then}, {"now", f.Now}, {"changed", f.Changed}} {
		if part.v != nil {
			o.Set(part.key, part.v)
		}
	}
	return o
}

func text(o *canon.Object, key string) string { s, _ := o.Value(key).(string); return s }

func truth(o *canon.Object, key string) bool { b, _ := o.Value(key).(bool); return b }

func object(o *canon.Object, key string) *canon.Object {
	v, _ := o.Value(key).(*canon.Object)
	return v
}

func seqOf(o *canon.Object) int64 {
	switch x := o.Value("seq").(type) {
	case int64:
		return x
	case canon.Number:
		return int64(x.Float())
	}
	return 0
}

// add counts one line.
func (s *Summary) add(o *canon.Object) {
	result := text(o, "result")
	if result == ledger.AuditAppears {
		s.Appearing++
		s.keep(o, 1)
		s.links.add(text(o, "record_a"), text(o, "record_b"), text(o, "entity_id"), false, true)
		return
	}
	s.Total++
	if s.First == 0 {
		s.First = seqOf(o)
	}
	s.Last = seqOf(o)
	if text(o, "operator") != "" {
		s.Overruled++
	} else {
		then := truth(o, "links")
		now := then // what can't be made again stays as it is
		if result == ledger.AuditDiffers {
			now = truth(o, "now_links")
		}
		s.links.add(text(o, "record_a"), text(o, "record_b"), text(o, "entity_id"), then, now)
	}
	switch result {
	case ledger.AuditReproduced:
		s.Reproduced++
	case ledger.AuditUnreplayable:
		s.Unreplayable++
		s.Reasons[shorten(text(o, "reason"))]++
		s.keep(o, 0)
	case ledger.AuditDiffers:
		s.Differing++
		for name := range object(o, "changed").All() {
			s.Changes[name]++
		}
		s.keep(o, s.verdict(o))
	}
}

// verdict counts how the verdict moved and weighs the finding by it.
func (s *Summary) verdict(o *canon.Object) float64 {
	then, now := object(o, "then"), object(o, "now")
	weight := math.Abs(number(then, "score") - number(now, "score"))
	if a, b := text(then, "identity"), text(now, "identity"); a != b {
		s.Verdicts[a+" -> "+b]++
		weight += 2
	}
	return weight
}

func number(o *canon.Object, key string) float64 {
	switch x := o.Value(key).(type) {
	case canon.Float:
		return float64(x)
	case canon.Number:
		return x.Float()
	}
	return 0
}

// shorten takes the record's address out of a reason, so that equal reasons
// count as one.
func shorten(reason string) string {
	words := strings.Fields(reason)
	for i, w := range words {
		if strings.HasPrefix(w, "rec:sha256:") || strings.HasPrefix(w, "'") && strings.Contains(w, ":sha256:") {
			words[i] = "..."
		}
	}
	return strings.Join(words, " ")
}

// keep holds the worst findings; the earliest stay among equals.
func (s *Summary) keep(o *canon.Object, weight float64) {
	s.Worst = append(s.Worst, &Finding{o, weight})
	if len(s.Worst) >= 2*worstKept {
		s.trim()
	}
}

func (s *Summary) trim() {
	slices.SortStableFunc(s.Worst, func(a, b *Finding) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return int(seqOf(a.Line) - seqOf(b.Line))
	})
	s.Worst = s.Worst[:min(len(s.Worst), worstKept)]
}

// Clean reports whether every decision came out the same.
func (s *Summary) Clean() bool { return s.Differing == 0 && s.Unreplayable == 0 && s.Appearing == 0 }

// Bound is the share of all decisions that differ or can't be made again at
// most, with 95 % confidence; 0 when nothing was left out.
func (s *Summary) Bound() float64 {
	if s.Total >= s.Population || s.Total == 0 {
		return 0
	}
	return upperBound(s.Differing+s.Unreplayable, s.Total)
}

// upperBound is the one-sided 95 % limit of Clopper and Pearson: the share at
// which seeing k or fewer of n would have a chance of one in twenty.
func upperBound(k, n int64) float64 {
	if k >= n {
		return 1
	}
	low, high := float64(k)/float64(n), 1.0
	for range 60 {
		p := (low + high) / 2
		if binomialCDF(k, n, p) > 0.05 {
			low = p
		} else {
			high = p
		}
	}
	return high
}

// binomialCDF is the chance of k or fewer successes in n.
func binomialCDF(k, n int64, p float64) float64 {
	sum := 0.0
	logChoose := 0.0
	for i := int64(0); i <= k; i++ {
		if i > 0 {
			logChoose += math.Log(float64(n-i+1)) - math.Log(float64(i))
		}
		sum += math.Exp(logChoose + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// Answer is the summary as JSON.
func (s *Summary) Answer() *canon.Object {
	merges, splits := s.links.moved()
	return canon.Obj(
		"clean", s.Clean(), "decisions", s.Total, "population", max(s.Population, s.Total), "reproduced", s.Reproduced, "differing", s.Differing,
		"unreplayable", s.Unreplayable, "appearing", s.Appearing, "overruled_by_operator", s.Overruled,
		"differing_at_most", canon.Float(canon.Round(s.Bound(), 6)), "first_event", s.First, "last_event", s.Last,
		"changes", counts(s.Changes), "verdicts", counts(s.Verdicts), "reasons", counts(s.Reasons),
		"entities_merging", listOf(merges), "entities_falling_apart", listOf(splits),
	)
}

func listOf(groups [][]string) []any {
	out := []any{}
	for _, g := range groups {
		out = append(out, g)
	}
	return out
}

// byCount are the names with the most counts first.
func byCount(m map[string]int64) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	slices.SortFunc(names, func(a, b string) int {
		if m[a] != m[b] {
			return int(m[b] - m[a])
		}
		return strings.Compare(a, b)
	})
	return names
}

func counts(m map[string]int64) *canon.Object {
	o := canon.NewObject()
	for _, k := range byCount(m) {
		o.Set(k, m[k])
	}
	return o
}
