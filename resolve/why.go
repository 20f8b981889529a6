package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
)

// Effects that a missing field could have, strongest first.
var effects = [...]string{"hard_constraint", "decisive_for", "can_prevent_match", "independent_signal"}

// gap is a field that a pair does not carry on both sides.
type gap struct {
	label  string
	effect int
	weight float64
	why    string
}

// WhyUnresolved says why a pair is not a match and which fields could settle it.
func WhyUnresolved(ctx context.Context, a, b *canon.Object, entity, packVersion string) (*canon.Object, error) {
	return WhyUnresolvedWith(ctx, a, b, entity, packVersion, "")
}

// WhyUnresolvedWith is WhyUnresolved under a given engine.
func WhyUnresolvedWith(ctx context.Context, a, b *canon.Object, entity, packVersion, engine string) (*canon.Object, error) {
	p, err := planFor(entity, packVersion, engine)
	if err != nil {
		return nil, err
	}
	res, err := Compare(ctx, Request{A: []*canon.Object{withID(a, "a")}, B: []*canon.Object{withID(b, "b")},
		Entity: entity, PackVersion: packVersion, Engine: engine, Threshold: DefaultThreshold, Backend: "arche"})
	if err != nil {
		return nil, err
	}
	if len(res.Edges) == 0 {
		return whyAnswer("not_surfaced", "the pair was not surfaced as a candidate at all, so there is no verdict to explain. That is not a statement that the records differ", nil, nil, nil), nil
	}
	e := &res.Edges[0]
	if e.Decision == decisionMatch {
		return whyAnswer(decisionMatch, "already resolved", nil, nil, nil), nil
	}
	present, gaps := p.gaps(a, b)
	if e.DistinctiveMax >= DistinctiveFloor {
		return whyAnswer(decisionReview, cause(e), present, nil, nil), nil
	}
	why := fmt.Sprintf("the records agree, and what they agree on is ordinary in this pack's reference population (distinctive_max %s < floor 0.75). Agreement on a common token is not evidence of identity",
		canon.FloatText(e.DistinctiveMax))
	return whyAnswer(decisionReview, why, present, gaps, present), nil
}

func withID(rec *canon.Object, id string) *canon.Object {
	if rec.Has("id") {
		return rec
	}
	out := rec.Clone()
	out.Set("id", id)
	return out
}

// cause names what holds a pair at review whose agreement is distinctive.
func cause(e *Edge) string {
	var against []string
	for k := range e.Evidence.All() {
		if strings.HasSuffix(k, "_conflict") || k == "geo_conflict_km" {
			against = append(against, strings.TrimSuffix(strings.TrimSuffix(k, "_km"), "_conflict"))
		}
		if v, ok := e.Evidence.Value(k).(canon.Float); ok && k == "admin_path" && v == 0 {
			against = append(against, k)
		}
	}
	slices.Sort(against)
	low := e.Score < DefaultThreshold
	score := fmt.Sprintf("the score %s is below the match threshold %s", canon.FloatText(e.Score), canon.FloatText(DefaultThreshold))
	held := fmt.Sprintf("%s disagree in a way that caps the pair at review, whatever else agrees: that contradiction has to be settled first", strings.Join(against, ", "))
	switch {
	case low && len(against) > 0:
		return "the records share something distinctive, but " + score + ", and " + held
	case low:
		return "the records share something distinctive, but " + score + ": the fields they both carry agree too little. Nothing contradicts; the values themselves would have to come closer"
	case len(against) > 0:
		return "the records agree distinctively, and " + held
	}
	return "the records agree distinctively, and a hard constraint contradicts them: an administrative-unit disagreement or a geographic impossibility. More evidence will not settle this; the contradiction has to be resolved"
}

func whyAnswer(decision, why string, present []string, missing []gap, unhelpful []string) *canon.Object {
	resolve := make([]any, 0, len(missing))
	for _, g := range missing {
		resolve = append(resolve, canon.Obj("field", g.label, "effect", effects[g.effect], "why", g.why))
	}
	useless := make([]any, 0, len(unhelpful))
	for _, label := range unhelpful {
		useless = append(useless, canon.Obj("field", label,
			"why", "already supplied and already agreeing. More similarity here cannot raise distinctiveness -- rarity is a fact about the population, not about how well the strings match"))
	}
	if present == nil {
		present = []string{}
	}
	return canon.Obj("decision", decision, "why", why, "fields_present", present, "would_resolve", resolve, "will_not_help", useless)
}

// gaps walks the pack: labels that both records carry, in pack order, and the
// others by what they could do.
func (p *plan) gaps(a, b *canon.Object) (present []string, missing []gap) {
	seen := make(map[string]bool)
	for i := range p.comps {
		c := &p.comps[i]
		label := fieldLabel(c)
		if seen[label] {
			continue
		}
		seen[label] = true
		if p.carried(c, a) && p.carried(c, b) {
			present = append(present, label)
			continue
		}
		missing = append(missing, describeGap(c, label))
	}
	slices.SortStableFunc(missing, func(x, y gap) int {
		return cmp.Or(cmp.Compare(x.effect, y.effect), cmp.Compare(y.weight, x.weight), strings.Compare(x.label, y.label))
	})
	return present, missing
}

func (p *plan) carried(c *comparator, rec *canon.Object) bool {
	keys := []string{c.field}
	if c.kind == kindGeo {
		keys = []string{c.latField, c.lonField}
	}
	for _, k := range keys {
		v := rec.Value(k)
		if p.v2 {
			// A filler is no value there, and a field has more than one name.
			v, _ = p.value(rec, k)
		}
		if v == nil {
			return false
		}
		if s, ok := v.(string); ok && text.Strip(s) == "" {
			return false
		}
	}
	return true
}

func describeGap(c *comparator, label string) gap {
	g := gap{label: label, weight: c.weight}
	switch {
	case c.kind == kindGeo && c.hasVeto:
		g.effect = 0
		g.why = fmt.Sprintf("coordinates more than %s km apart cap the pair at review, whatever the names agree on; they never promote a match and never give no_match", canon.FloatText(c.veto))
	case c.hasFloor:
		g.effect, g.why = 2, "a disagreement here holds the pair at review; agreement never promotes one"
	case c.kind == kindID:
		g.effect, g.why = 1, "an exact identifier: its agreement is the strongest the pack accepts"
	case c.kind == kindGeo:
		g.effect = 3
		g.why = fmt.Sprintf("nearness, falling off over %s km; without a veto distance it can only weaken the score, never cap the decision", canon.FloatText(c.decay))
	case c.kind == kindContainment:
		g.effect, g.why = 3, "the administrative path: records in two districts are usually two things"
	default:
		g.effect = 3
		g.why = fmt.Sprintf("an independent signal (%s) that carries weight %s", c.kind, canon.FloatText(c.weight))
	}
	return g
}

// WouldResolve names the fields that would settle a stored review, strongest
// first. distinctiveMax and threshold are nil where the decision does not know
// them. ok is false when the pack has no advice: a contradiction holds the pair,
// nothing is missing, or entity is no pack.
func WouldResolve(entity, packVersion string, a, b *canon.Object, score float64, distinctiveMax *float64, threshold *float64) (labels []string, ok bool, err error) {
	return WouldResolveWith(entity, packVersion, "", a, b, score, distinctiveMax, threshold)
}

// WouldResolveWith is WouldResolve for a review that was decided under a given
// engine.
func WouldResolveWith(entity, packVersion, engine string, a, b *canon.Object, score float64, distinctiveMax *float64, threshold *float64) (labels []string, ok bool, err error) {
	p, err := planFor(entity, packVersion, engine)
	if err != nil {
		return nil, false, err
	}
	low := threshold != nil && score < *threshold
	if distinctiveMax != nil && *distinctiveMax >= DistinctiveFloor && !low {
		return nil, false, nil
	}
	_, missing := p.gaps(a, b)
	for _, g := range missing {
		labels = append(labels, g.label)
	}
	return labels, len(labels) > 0, nil
}
