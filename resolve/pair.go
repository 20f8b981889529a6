package resolve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/address"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/internal/text"
)

// ComparePair decides on two records: people by an odds model over personal
// fields, everything else by its pack.
func ComparePair(ctx context.Context, req PairRequest) (*PairResult, error) {
	if req.Entity == "" {
		req.Entity = "person"
	}
	if req.A == nil || req.B == nil {
		return nil, fault.New(fault.Invalid, "both records must be objects of field: value")
	}
	if req.Jurisdiction == "" {
		req.Jurisdiction = "default"
	}
	p, err := planFor(req.Entity, req.PackVersion, req.Engine)
	if err != nil {
		return nil, err
	}
	a, b := readAttributes(req.A), readAttributes(req.B)
	res := &PairResult{Jurisdiction: req.Jurisdiction, Vetoes: canon.NewObject(), FieldWeights: canon.NewObject()}
	if res.ReferenceIDA, err = a.reference(); err != nil {
		return nil, err
	}
	if res.ReferenceIDB, err = b.reference(); err != nil {
		return nil, err
	}
	if p.entity == "person" && !p.v2 {
		return res, comparePeople(res, p, a, b)
	}
	return res, comparePacked(ctx, res, p, req)
}

// comparePeople fills in the verdict of the person engine.
func comparePeople(res *PairResult, p *plan, a, b attributes) error {
	v, err := judgePeople(a, b, res.Jurisdiction, p.addressGrammar())
	if err != nil {
		return err
	}
	res.Score = round(v.score, 4)
	res.Factors, res.FieldWeights = v.sims, v.weights
	var clearing any
	if len(v.signals) > 0 {
		clearing = v.signals[0]
	}
	res.Gate = canon.Obj("distinctive_cleared", len(v.signals) > 0, "clearing_signal", clearing, "floor", canon.Float(DistinctiveFloor))
	res.Vetoes = canon.Obj("id_conflict", v.veto)
	res.Identity = v.identity()
	res.Action, res.Basis = v.action(res.Identity)
	res.Explanation = v.explanation()
	res.Pins = canon.Obj("receipt_schema", 1, "engine", p.personEngine(), "comparator_lib", "jellyfish@unknown",
		"jurisdiction", res.Jurisdiction,
		"thresholds", canon.Obj("match", canon.Float(personMatch), "review", canon.Float(personReview), "distinctive_floor", canon.Float(DistinctiveFloor)),
		"tf", "default")
	return res.seal()
}

// personEngine is how decisions of the person engine name it.
func (p *plan) personEngine() string {
	if p.packVersion == PackVersion010 {
		return "arche-core@0.10.0"
	}
	return "arche-core@0.9.0"
}

// compareAddresses compares two single addresses.
func compareAddresses(x, y string, g address.Grammar) float64 {
	var list addresses
	list.add(x, g)
	list.add(y, g)
	return list.compare(0, 1, new(addressScratch))
}

// seal computes the decision id of a verdict that is no edge.
func (res *PairResult) seal() error {
	id, err := canon.PublishedID("dec", canon.Obj(
		"reference_id_a", res.ReferenceIDA, "reference_id_b", res.ReferenceIDB, "decision", res.Identity,
		"factors", res.Factors, "gate", res.Gate, "vetoes", res.Vetoes,
		"jurisdiction", res.Jurisdiction, "pins", res.Pins))
	if err != nil {
		return badText(err)
	}
	res.DecisionID = id
	return nil
}

// comparePacked fills in the verdict of a pack's comparators.
func comparePacked(ctx context.Context, res *PairResult, p *plan, req PairRequest) error {
	res.Jurisdiction = "default"
	a, b := req.A.Clone(), req.B.Clone()
	a.Set("id", "a")
	b.Set("id", "b")
	batch, err := Compare(ctx, Request{A: []*canon.Object{a}, B: []*canon.Object{b}, Entity: req.Entity, Block: BlockNone,
		Threshold: DefaultThreshold, PackVersion: req.PackVersion, Engine: req.Engine, Backend: "arche"})
	if err != nil {
		return err
	}
	// An edge's id does not cover the pack's name; an id of no edge does.
	res.Pins = batch.Pins
	res.Pins.Set("entity_pack", p.entity)
	if len(batch.Edges) == 0 {
		return res.unsurfaced(p, req)
	}
	e := &batch.Edges[0]
	res.Identity, res.Action = decisionReview, "hold"
	if e.Decision == decisionMatch {
		res.Identity, res.Action = identitySame, "merge"
	}
	res.Score, res.DecisionID = e.Score, e.DecisionID
	res.Basis = "pack:" + p.entity
	res.Factors = canon.NewObject()
	for k, v := range e.Evidence.All() {
		if f, ok := v.(canon.Float); ok {
			res.Factors.Set(k, f)
		}
	}
	res.Gate = canon.Obj("distinctive_max", canon.Float(e.DistinctiveMax), "distinctive_floor", canon.Float(DistinctiveFloor))
	res.Explanation = agreement(res.Factors)
	return nil
}

// agreement words which factors agree and which disagree.
func agreement(factors *canon.Object) string {
	var agree, disagree []string
	for k, v := range factors.All() {
		f := float64(v.(canon.Float))
		switch {
		case f >= 0.8:
			agree = append(agree, k)
		case f <= 0.01:
			disagree = append(disagree, k)
		}
	}
	slices.Sort(agree)
	slices.Sort(disagree)
	var parts []string
	if len(agree) > 0 {
		parts = append(parts, "agrees on "+strings.Join(agree, ", "))
	}
	if len(disagree) > 0 {
		parts = append(parts, "disagrees on "+strings.Join(disagree, ", "))
	}
	if len(parts) == 0 {
		return "no strong signals either way"
	}
	return strings.Join(parts, "; ")
}

// unsurfaced fills in the verdict of a pair below the review floor.
func (res *PairResult) unsurfaced(p *plan, req PairRequest) error {
	comparable := []string{}
	for _, f := range p.packFields() {
		if present(req.A, f) && present(req.B, f) {
			comparable = append(comparable, f)
		}
	}
	floor := round(DefaultThreshold-ReviewMargin, 4)
	res.Factors = canon.NewObject()
	res.Gate = canon.Obj("surfacing_floor", canon.Float(floor), "surfaced", false, "comparable_fields", comparable)
	if len(comparable) > 0 {
		res.Identity, res.Action = identityDifferent, "no_op"
		res.Basis = fmt.Sprintf("pack:%s (below surfacing floor)", p.entity)
		res.Explanation = fmt.Sprintf("no %s evidence reached the surfacing floor of %s", p.entity, canon.FloatText(floor))
	} else {
		res.Identity, res.Action = decisionReview, "hold"
		res.Basis = fmt.Sprintf("pack:%s (no comparable fields)", p.entity)
		res.Explanation = fmt.Sprintf("neither record carries a field the %[1]s pack compares; nothing was compared, so this is not an answer either way (see arche.describe('%[1]s') for the fields it reads)", p.entity)
	}
	return res.seal()
}

// present reports whether a record carries a value that is not blank.
func present(rec *canon.Object, field string) bool {
	v := rec.Value(field)
	if s, ok := v.(string); ok {
		return text.Strip(s) != ""
	}
	return v != nil
}

// packFields are the fields of a pack, sorted; coordinates are two.
func (p *plan) packFields() []string {
	var out []string
	for i := range p.comps {
		c := &p.comps[i]
		fields := []string{c.field}
		if c.kind == kindGeo {
			fields = []string{c.latField, c.lonField}
		}
		for _, f := range fields {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	slices.Sort(out)
	return out
}
