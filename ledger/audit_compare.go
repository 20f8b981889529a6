package ledger

import (
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

// compare holds what was decided now against the log, in the order of events.
func (a *auditor) compare(r *reader, groups []*auditGroup) error {
	var seqs []int64
	bySeq := map[int64]int32{}
	groupOf := map[int32]*auditGroup{}
	for _, g := range groups {
		for _, i := range g.decs {
			seqs = append(seqs, r.s.decs[i].seq)
			bySeq[r.s.decs[i].seq] = i
			groupOf[i] = g
		}
	}
	err := r.receipts(seqs, bySeq, func(rec *receipt) error {
		found, err := a.judge(r, groupOf[rec.i], rec)
		if err != nil {
			return err
		}
		return a.found(found)
	})
	if err != nil {
		return err
	}
	for _, g := range groups {
		if a.o.Today && a.o.Sample == 0 && g.byPos != nil {
			if err := a.appearing(r, g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *auditor) found(f *Audited) error {
	if err := a.each(f); err != nil {
		return err
	}
	if f.Result == AuditAppears {
		return nil
	}
	a.done++
	if a.o.Progress != nil {
		a.o.Progress(a.done, a.total)
	}
	return nil
}

// judge compares one decision with what was decided now.
func (a *auditor) judge(r *reader, g *auditGroup, rec *receipt) (*Audited, error) {
	s, d := r.s, &r.s.decs[rec.i]
	f := &Audited{
		Seq: d.seq, DecisionID: s.publicID(rec.i), RecordA: s.recordID(d.a), RecordB: s.recordID(d.b),
		EntityType: s.words.get(s.recs[d.a].typ), Verb: s.words.get(d.verb), RecordedAt: wireTime(d.at),
		Live: s.live(rec.i), Links: s.joins(rec.i),
	}
	f.EntityID, _ = s.entityOf(d.a).(string)
	f.Supersedes, _ = r.otherID(rec.i, d.replaces).(string)
	if op, ok := s.ops[orderedPair(d.a, d.b)]; ok && op.verdict != verdictUndone {
		f.Operator = op.verdict
	}
	now, why := g.outcomeOf(rec, f.RecordB)
	if why != nil {
		f.Result, f.Reason = AuditUnreplayable, reasonOf(why)
		return f, nil
	}
	f.NowLinks = now.identity == "match" || now.identity == "same_entity"
	if g.erased > 0 && now.id != f.DecisionID {
		why = erasedRows(g.erased)
		for _, x := range []int32{d.a, d.b} {
			if _, err := r.need(x); err != nil {
				why = err
			}
		}
		f.Result, f.Reason, f.NowLinks = AuditUnreplayable, reasonOf(why), false
		return f, nil
	}
	if now.id == f.DecisionID && now.identity == s.identityOf(rec.i) && now.score == d.score {
		f.Result = AuditReproduced
		return f, nil
	}
	now.complete(g)
	p := &replayPlan{extra: canon.NewObject(), then: r.view(rec)}
	answer := p.answer(f.DecisionID, &now.outcome)
	f.Result = AuditDiffers
	f.Then, _ = answer.Value("then").(*canon.Object)
	f.Now, _ = answer.Value("now").(*canon.Object)
	f.Changed, _ = answer.Value("changed").(*canon.Object)
	return f, nil
}

func reasonOf(err error) string {
	if f := fault.As(err); f != nil {
		return f.Message
	}
	return "the engine refused"
}

// remade is an outcome whose factors and pins are filled in when they are asked
// for: most decisions come out the same.
type remade struct {
	outcome
	edge *resolve.Edge
}

// outcomeOf is what was decided now of the pair of a decision, or why nothing was.
func (g *auditGroup) outcomeOf(rec *receipt, recordB string) (*remade, error) {
	if g.err != nil {
		return nil, g.err
	}
	if g.pairs != nil {
		w := g.pairs[rec.i]
		if w.err != nil {
			return nil, w.err
		}
		return &remade{outcome: outcome{
			identity: w.res.Identity, action: w.res.Action, id: w.res.DecisionID, score: w.res.Score, factors: w.res.Factors, pins: w.res.Pins,
		}}, nil
	}
	var e *resolve.Edge
	if g.byID != nil {
		e = g.byID[recordB]
	} else {
		at, err := rec.place()
		if err != nil {
			return nil, err
		}
		e = g.byPos[at]
	}
	if e == nil {
		return &remade{outcome: outcome{identity: "unsurfaced", action: "no_op", factors: canon.NewObject()}}, nil
	}
	return &remade{outcome: outcome{identity: e.Decision, id: e.DecisionID, score: e.Score}, edge: e}, nil
}

func (m *remade) complete(g *auditGroup) {
	if m.edge != nil {
		v := edgeVerdict(m.edge, "", nil, 0, 0)
		m.action, m.factors = v.action, v.factors
	}
	if m.pins == nil && g.res != nil {
		m.pins = g.res.Pins
	}
}

// appearing are matches of today between records of one run that no decision of
// that run was about.
func (a *auditor) appearing(r *reader, g *auditGroup) error {
	had := map[[2]int32]bool{}
	for _, i := range g.decs {
		d := &r.s.decs[i]
		had[[2]int32{d.a, d.b}] = true
	}
	for n := range g.res.Edges {
		e := &g.res.Edges[n]
		if e.Decision != "match" || e.I >= len(g.rows[0]) || e.J >= len(g.rows[1]) {
			continue
		}
		x, y := g.rows[0][e.I], g.rows[1][e.J]
		if x < 0 || y < 0 || x == y || had[[2]int32{x, y}] {
			continue
		}
		had[[2]int32{x, y}] = true
		f := &Audited{
			Seq: r.s.decs[g.decs[len(g.decs)-1]].seq, DecisionID: e.DecisionID, RecordA: r.s.recordID(x), RecordB: r.s.recordID(y),
			EntityType: r.s.words.get(r.s.recs[x].typ), Result: AuditAppears, NowLinks: true,
			Now: canon.Obj("identity", e.Decision, "score", canon.Float(e.Score), "engine", g.res.Pins.Value("engine"), "decision_id", e.DecisionID),
		}
		f.EntityID, _ = r.s.entityOf(x).(string)
		if err := a.found(f); err != nil {
			return err
		}
	}
	return nil
}
