package ledger

import (
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

// runRecord is a run as its event has it.
type runRecord struct {
	seq  int64
	call *canon.Object
	body *canon.Object
}

// run reads the run that a decision was made in, once while it is cached.
func (r *reader) run(n int32) (*runRecord, error) {
	if rr, ok := r.l.cache.runs[n]; ok {
		return rr, nil
	}
	ev, err := readEvent(r.ctx, r.db, r.s.runs[n].seq)
	if err != nil {
		return nil, err
	}
	if ev.kind != KindRunRecorded || ev.subject != "run:blake3:"+r.s.runs[n].id.hex() || ev.subject != ContentAddress("run", []byte(ev.body)) {
		return nil, alteredEvent(ev, "it is not the run that stood there")
	}
	body, err := ev.Body()
	if err != nil {
		return nil, alteredEvent(ev, "its body is no JSON object")
	}
	call, _ := body.Value("call").(*canon.Object)
	rr := &runRecord{seq: ev.seq, call: call, body: body}
	if len(r.l.cache.runs) >= runCacheMost {
		clear(r.l.cache.runs)
	}
	r.l.cache.runs[n] = rr
	return rr, nil
}

const runCacheMost = 1000

func (rr *runRecord) text(key string) string { t, _ := rr.call.Value(key).(string); return t }

// pairRequest is the pair verb's call as a run keeps it.
func (rr *runRecord) pairRequest() resolve.PairRequest {
	return resolve.PairRequest{
		Entity: rr.text("entity"), Jurisdiction: rr.text("jurisdiction"),
		PackVersion: rr.text("pack_version"), Engine: rr.text("engine"),
	}
}

// pairCall is what a run keeps of a pair request.
func pairCall(req resolve.PairRequest) *canon.Object {
	call := canon.Obj("entity", req.Entity)
	for _, o := range []struct{ key, value string }{
		{"jurisdiction", req.Jurisdiction}, {"pack_version", req.PackVersion}, {"engine", req.Engine},
	} {
		if o.value != "" {
			call.Set(o.key, o.value)
		}
	}
	return call
}

// pairVerdict is the pair verb's result as it is recorded.
func pairVerdict(p *resolve.PairResult, pins rawJSON, a, b, replaces int32) verdict {
	return verdict{
		id: p.DecisionID, verb: verbCompare, identity: p.Identity, action: p.Action, explanation: p.Explanation, score: p.Score,
		factors: p.Factors, pins: pins, a: a, b: b, replaces: replaces,
		evidence: canon.Obj("basis", p.Basis, "gate", p.Gate, "vetoes", p.Vetoes, "field_weights", p.FieldWeights,
			"reference_id_a", p.ReferenceIDA, "reference_id_b", p.ReferenceIDB, "entity_id", nil, "jurisdiction", p.Jurisdiction),
	}
}
