package resolve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve/splink"
)

// Scratch is the database that a trained model counts in. A caller that offers
// the backend passes a way to open one in Request.OpenScratch.
type Scratch = splink.Scratch

// backendSplink names the trained backend.
const backendSplink = "splink"

// compareTrained links the lists with a trained model. Its edges have no gate
// and no conflicts: a pair matches when its probability reaches the threshold.
func compareTrained(ctx context.Context, req Request) (*Result, error) {
	p, _, err := requestPlan(&req)
	if err != nil {
		return nil, err
	}
	if req.IDField == "" {
		req.IDField = DefaultIDField
	}
	in := splink.Input{
		A: req.A, B: req.B, Dedupe: req.Dedupe, Entity: p.entity, Comparators: p.trainedComparators(),
		Floor: max(0, req.Threshold-ReviewMargin), Open: req.OpenScratch, Progress: req.Progress,
	}
	if len(req.Model) > 0 {
		if in.Model, err = splink.ReadModel(req.Model); err != nil {
			return nil, err
		}
	}
	out, err := splink.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	return trainedResult(&req, p, out)
}

func (p *plan) trainedComparators() []splink.Comparator {
	out := make([]splink.Comparator, 0, len(p.comps))
	for i := range p.comps {
		c := &p.comps[i]
		out = append(out, splink.Comparator{Kind: c.kind.String(), Field: c.field, Lat: c.latField, Lon: c.lonField})
	}
	return out
}

func trainedResult(req *Request, p *plan, out *splink.Output) (*Result, error) {
	res := &Result{Edges: make([]Edge, len(out.Pairs))}
	var err error
	if res.Model, err = out.Model.JSON(); err != nil {
		return nil, badText(err)
	}
	res.Pins, res.Blocking = trainedPins(req, p, out, res.Model), trainedBlocking(req, out)
	seal, err := newSealer(res.Pins)
	if err != nil {
		return nil, err
	}
	list := req.B
	if req.Dedupe {
		list = req.A
	}
	for n, pair := range out.Pairs {
		e := &res.Edges[n]
		*e = Edge{
			AID: canon.Text(recordID(req.A[pair.I], req.IDField, pair.I)), BID: canon.Text(recordID(list[pair.J], req.IDField, pair.J)),
			I: pair.I, J: pair.J, Score: round(pair.Probability, 4), Decision: decisionReview, Evidence: canon.NewObject(),
		}
		if pair.Probability >= req.Threshold {
			e.Decision = decisionMatch
		}
		for k, g := range pair.Gammas {
			if g >= 0 {
				e.Evidence.Set(out.Columns[k]+"_level", int(g))
			}
		}
		e.Evidence.Set("match_probability", canon.Float(canon.Round(pair.Probability, 6)))
		if e.DecisionID, err = seal.id(e); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(res.Edges, func(x, y Edge) int {
		switch {
		case x.Score > y.Score:
			return -1
		case x.Score < y.Score:
			return 1
		}
		return 0
	})
	res.Warnings = trainedWarnings(req, out)
	return res, nil
}

func trainedPins(req *Request, p *plan, out *splink.Output, model []byte) *canon.Object {
	settings, training, link := "derived", "expectation-maximisation", "link_only"
	if !out.Derived {
		settings, training = "given", "none"
	}
	if req.Dedupe {
		link = "dedupe_only"
	}
	var rules []string
	for _, r := range out.Model.Rules {
		rules = append(rules, r.SQL)
	}
	var threshold any = canon.Float(req.Threshold)
	if req.ThresholdInt {
		threshold = int(req.Threshold)
	}
	return canon.Obj(
		"engine", splink.Engine, "backend", backendSplink, "settings", settings, "training", training, "link_type", link,
		"duckdb_version", out.Database, "model_sha256", hexSum(model), "corpus_sha256", out.Corpus,
		"blocking_sha256", hexSum([]byte(strings.Join(rules, "\n"))), "lambda", canon.Float(out.Model.Lambda),
		"threshold", threshold, "review_margin", canon.Float(ReviewMargin), "gate", false, "comparators_sha256", p.listHash,
	)
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func trainedBlocking(req *Request, out *splink.Output) *canon.Object {
	labels := make([]any, len(out.Model.Rules))
	for i, r := range out.Model.Rules {
		labels[i] = r.Label
	}
	all := float64(len(req.A)) * float64(len(req.B))
	if req.Dedupe {
		all = float64(len(req.A)) * float64(len(req.A)-1) / 2
	}
	reduction := 0.0
	if all > 0 {
		reduction = round(1-float64(out.Candidates)/all, 4)
	}
	return canon.Obj("candidate_pairs", out.Candidates, "reduction_ratio", canon.Float(reduction),
		"strategies", canon.Obj("splink_rules", len(labels), "derived", canon.Obj("blocking", labels)))
}

func trainedWarnings(req *Request, out *splink.Output) []string {
	var warnings []string
	if !out.Converged {
		warnings = append(warnings, fmt.Sprintf("the model did not come to rest in %d rounds of training; read its probabilities with care", out.Rounds))
	}
	lists := []struct {
		name string
		rows []*canon.Object
	}{{"list_a", req.A}, {"list_b", req.B}}
	for _, l := range lists {
		if n := repeatedIDs(l.rows, req.IDField); n > 0 {
			warnings = append(warnings, repeatWarning(l.name, n, req.IDField))
		}
	}
	return warnings
}
