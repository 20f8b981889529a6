package ledger

import (
	"context"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/resolve"
)

// Observe adds evidence about a stored record: a new version of it is stored
// and every decision that names it is made again on that version.
func (l *Ledger) Observe(ctx context.Context, recordID string, evidence *canon.Object) (*canon.Object, error) {
	if evidence.Len() == 0 {
		return nil, fault.New(fault.Invalid, "evidence must be a non-empty object of field: value")
	}
	if _, err := canon.Sorted(evidence); err != nil {
		return nil, badText(err)
	}
	var out *canon.Object
	err := l.write(ctx, func(u *unit) error {
		given := u.s.lookupRecord(recordID)
		if given < 0 {
			return noRecord(recordID)
		}
		o := &observation{u: u, r: u.reader(), given: given, from: u.s.newest(given), evidence: evidence}
		var err error
		out, err = o.run()
		return err
	})
	return out, err
}

// observation is evidence on its way in.
type observation struct {
	u        *unit
	r        *reader
	given    int32 // the record the caller named
	from     int32 // its newest version, which the evidence applies to
	to       int32 // the version with the evidence
	evidence *canon.Object
	merged   *canon.Object // the version with the evidence, new fields last
}

func (o *observation) run() (*canon.Object, error) {
	s := o.u.s
	fields := o.evidence.Keys()
	slices.Sort(fields)
	var err error
	if o.merged, err = o.merge(); err != nil {
		return nil, err
	}
	entityType := s.words.get(s.recs[o.from].typ)
	version, err := newRow(o.merged, entityType)
	if err != nil {
		return nil, err
	}
	again, err := o.open()
	if err != nil {
		return nil, err
	}
	var made []int32
	if version.id == s.recordID(o.from) {
		o.to = o.from
		made, err = o.confirm(again, fields)
	} else {
		if o.to, err = o.u.store(&version, entityType); err != nil {
			return nil, err
		}
		made, err = o.decideAgain(again, fields)
	}
	if err != nil {
		return nil, err
	}
	return o.answer(fields, made)
}

// confirm handles evidence that says what was known: decisions of batches are
// made again as pairs, those about one pair stand.
func (o *observation) confirm(again []pending, fields []string) ([]int32, error) {
	var batches []pending
	for _, p := range again {
		if !o.u.s.paired(p.i) {
			batches = append(batches, p)
		}
	}
	var made []int32
	if len(batches) > 0 {
		var err error
		if made, err = o.decideAgain(batches, fields); err != nil {
			return nil, err
		}
	}
	out := make([]int32, 0, len(again))
	for _, p := range again {
		a, b := o.sides(p.i)
		switch {
		case o.u.s.paired(p.i):
			out = append(out, p.i)
		case a != b: // between two versions of one record nothing is decided again
			out, made = append(out, made[0]), made[1:]
		}
	}
	return out, nil
}

// paired reports whether a decision, whose run is known, was made about one pair:
// by an observation, or by comparing two records alone.
func (s *state) paired(i int32) bool {
	verb := s.words.get(s.runs[s.decs[i].run].verb)
	return verb == "observe" || verb == verbCompare
}

// merge lays the evidence that is not blank over the newest version.
func (o *observation) merge() (*canon.Object, error) {
	if o.u.s.recs[o.from].erased {
		return nil, errNoBlob
	}
	old, err := o.r.contentOf(o.from)
	if err != nil {
		return nil, err
	}
	merged := old.Clone()
	for k, v := range o.evidence.All() {
		if !blank(v) {
			merged.Set(k, v)
		}
	}
	return merged, nil
}

// pending is a decision to be made again.
type pending struct {
	i   int32
	req resolve.PairRequest
}

// open lists the live decisions on the record, newest first; those of one batch
// were made at once and stand in its order, best first. Those of a batch
// with comparators of its own cannot be made again by the pair verb and stay.
func (o *observation) open() ([]pending, error) {
	s := o.u.s
	list := slices.Clone(s.recs[o.from].decs)
	if o.given != o.from {
		list = append(list, s.recs[o.given].decs...)
	}
	slices.SortFunc(list, func(x, y int32) int { return compareInt(y, x) })
	s.batchesForward(list)
	var out []pending
	for _, i := range slices.Compact(list) {
		if !s.live(i) || s.decs[i].run < 0 {
			continue
		}
		rr, err := o.r.run(s.decs[i].run)
		if err != nil {
			return nil, err
		}
		if rr.call.Has("comparators") {
			continue
		}
		req := resolve.PairRequest{
			Entity: s.words.get(s.recs[o.from].typ), PackVersion: o.u.l.opts.PackVersion, Engine: o.u.l.opts.Engine,
		}
		if s.paired(i) {
			req = rr.pairRequest()
		}
		out = append(out, pending{i, req})
	}
	return out, nil
}

// batchesForward turns each stretch of decisions of one batch, newest first, into
// the order in which the batch recorded them.
func (s *state) batchesForward(list []int32) {
	for start := 0; start < len(list); {
		run, end := s.decs[list[start]].run, start+1
		for end < len(list) && s.decs[list[end]].run == run {
			end++
		}
		if run >= 0 && !s.paired(list[start]) {
			slices.Reverse(list[start:end])
		}
		start = end
	}
}

// sides are the two records of a decision with the observed one in its place.
func (o *observation) sides(i int32) (a, b int32) {
	d := &o.u.s.decs[i]
	a, b = d.a, d.b
	if a == o.from || a == o.given {
		a = o.to
	}
	if b == o.from || b == o.given {
		b = o.to
	}
	return a, b
}

// decideAgain records the run, the observation and the new decisions.
func (o *observation) decideAgain(again []pending, fields []string) ([]int32, error) {
	verdicts := make([]verdict, 0, len(again))
	for _, p := range again {
		a, b := o.sides(p.i)
		if a == b {
			continue
		}
		res, err := o.compare(p.req, a, b)
		if err != nil {
			return nil, err
		}
		pins, err := appendJCS(nil, res.Pins)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, pairVerdict(res, pins, a, b, p.i))
		verdicts[len(verdicts)-1].req = p.req
	}
	runs, err := o.recordRuns(verdicts)
	if err != nil {
		return nil, err
	}
	if err := o.recordObservation(fields, runs); err != nil {
		return nil, err
	}
	made := make([]int32, 0, len(verdicts))
	for n := range verdicts {
		v := &verdicts[n]
		withheld := ""
		if linkingIdentity(v.identity) {
			bad, err := o.r.contradicts(v.a, v.b)
			if err != nil {
				return nil, err
			}
			if bad {
				withheld = withheldConflict
			}
		}
		i, err := o.u.recordVerdict(v, runs[n], withheld)
		if err != nil {
			return nil, err
		}
		made = append(made, i)
	}
	return made, nil
}

func (o *observation) compare(req resolve.PairRequest, a, b int32) (*resolve.PairResult, error) {
	var err error
	if req.A, err = o.side(a); err != nil {
		return nil, err
	}
	if req.B, err = o.side(b); err != nil {
		return nil, err
	}
	if req.A == nil || req.B == nil {
		return nil, errNoBlob
	}
	return resolve.ComparePair(o.r.ctx, req)
}

// side is a record of a decision: the observed one with its new fields last, so
// that what was known speaks before another name for the same field.
func (o *observation) side(i int32) (*canon.Object, error) {
	if i == o.to {
		return o.merged, nil
	}
	return o.r.contentOf(i)
}

// recordRuns appends one run for each call among the verdicts and gives each
// verdict's run.
func (o *observation) recordRuns(verdicts []verdict) ([]string, error) {
	out := make([]string, len(verdicts))
	for n := range verdicts {
		if out[n] != "" {
			continue
		}
		call := verdicts[n].req
		list := runList{}
		var same []int
		for m := n; m < len(verdicts); m++ {
			if sameCall(verdicts[m].req, call) && string(verdicts[m].pins) == string(verdicts[n].pins) {
				same = append(same, m)
				list.ids = append(list.ids, o.u.s.recordID(verdicts[m].a+verdicts[m].b-o.to))
			}
		}
		run, err := o.u.recordRun("observe", pairCall(call), verdicts[n].pins, runList{ids: []string{o.u.s.recordID(o.to)}}, list)
		if err != nil {
			return nil, err
		}
		for _, m := range same {
			out[m] = run
		}
	}
	return out, nil
}

func sameCall(a, b resolve.PairRequest) bool {
	return a.Entity == b.Entity && a.Jurisdiction == b.Jurisdiction && a.PackVersion == b.PackVersion && a.Engine == b.Engine
}

func (o *observation) recordObservation(fields []string, runs []string) error {
	s := o.u.s
	var run any
	if len(runs) > 0 {
		run = runs[0]
	}
	body, err := appendJCS(nil, canon.Obj("given", s.recordID(o.given), "fields", fields, "new_record", s.recordID(o.to), "run", run))
	if err != nil {
		return err
	}
	subject := "obs:" + s.recordID(o.from)
	supersedes := ""
	if last, ok := s.others[subject]; ok {
		supersedes = last.event
	}
	_, err = o.u.add(KindEvidenceObserved, subject, supersedes, body, observedBody{newRecord: s.recordID(o.to)})
	return err
}

func (o *observation) answer(fields []string, made []int32) (*canon.Object, error) {
	s := o.u.s
	decisions := make([]any, len(made))
	for n, i := range made {
		rec, err := o.u.receiptOf(o.r, i)
		if err != nil {
			return nil, err
		}
		decisions[n] = o.r.view(rec)
	}
	out := canon.Obj("record_id", s.recordID(o.given), "fields", fields, "decisions", decisions, "open_cases", s.openCases())
	if o.to != o.from {
		out.Set("new_record_id", s.recordID(o.to))
	}
	if o.given != o.from {
		out.Set("applied_to", s.recordID(o.from))
	}
	return out, nil
}
