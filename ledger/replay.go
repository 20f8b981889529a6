package ledger

import (
	"context"
	"slices"
	"strconv"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// Replay makes a decision again from what the ledger stores, under the pins it
// was made under, and answers what differs.
func (l *Ledger) Replay(ctx context.Context, id string) (*canon.Object, error) {
	var p *replayPlan
	err := l.use(ctx, func(db *duck.DB, s *state) error {
		r := l.reader(ctx, db, s)
		i, err := r.find(id)
		if err != nil {
			return err
		}
		p, err = r.planReplay(i)
		return err
	})
	if err != nil {
		return nil, err
	}
	// The engine runs without the ledger: a batch may take long.
	now, err := p.run(ctx)
	if err != nil {
		return nil, err
	}
	if p.erased > 0 && now.id != id {
		return nil, erasedRows(p.erased)
	}
	return p.answer(id, now), nil
}

// replayPlan is everything a decision is made again from.
type replayPlan struct {
	then     *canon.Object // view of the stored decision
	extra    *canon.Object // further keys of the answer
	batch    *resolve.Request
	pos      [2]int
	erased   int // rows of the lists that are empty now
	pair     *resolve.PairRequest
	newcomer *canon.Object // of a resolve, with the corpus it met
	corpus   *resolve.Corpus
	bID      string
}

// outcome is a decision made again; id is "" when the pair did not surface.
type outcome struct {
	identity, action, id string
	score                float64
	factors, pins        *canon.Object
}

func (r *reader) planReplay(i int32) (*replayPlan, error) {
	rec, err := r.receipt(i)
	if err != nil {
		return nil, err
	}
	d := &r.s.decs[i]
	if d.run < 0 {
		return nil, r.s.noRun(i)
	}
	rr, err := r.run(d.run)
	if err != nil {
		return nil, err
	}
	p := &replayPlan{then: r.view(rec), extra: canon.NewObject(), bID: r.s.recordID(d.b)}
	r.addAlso(p.extra, i)
	if err := r.addOperator(p.extra, i); err != nil {
		return nil, err
	}
	switch {
	case r.s.paired(i):
		err = r.planPair(p, rr, d)
	case r.s.ofResolve(d.run):
		err = r.planResolve(p, rr)
	default:
		for _, x := range []int32{d.a, d.b} {
			if _, err := r.need(x); err != nil {
				return nil, err
			}
		}
		if err = r.planBatch(p, rr); err == nil {
			p.pos, err = rec.place()
		}
	}
	return p, err
}

func (s *state) noRun(i int32) error {
	return fault.New(fault.NotFound, "decision %s has no stored run to replay against", canon.Repr(s.publicID(i)))
}

// ofResolve reports whether a run is that of a newcomer.
func (s *state) ofResolve(run int32) bool { return s.words.get(s.runs[run].verb) == "resolve" }

// place is where the two records of a batch's decision stand in its lists.
func (rec *receipt) place() (at [2]int, err error) {
	pos, _ := rec.body.Value("pos").([]any)
	for n := range at {
		f := -1.0
		if len(pos) == len(at) {
			f, _ = number(pos[n])
		}
		if at[n] = int(f); f < 0 || f != float64(at[n]) {
			return at, altered("decision %s does not say where its records stood in their lists", clip(rec.text("decision_id")))
		}
	}
	return at, nil
}

// erasedRows says why a batch that lost rows does not give its decisions again:
// a pack that weighs values by the lists themselves needs all of them.
func erasedRows(n int) error {
	return fault.Wrap(ErrErased, fault.Refused, "the values of %d records of the batch are not in the ledger, so the decision cannot be made again", n)
}

func (r *reader) planPair(p *replayPlan, rr *runRecord, d *decision) error {
	req := rr.pairRequest()
	var err error
	if req.A, err = r.need(d.a); err != nil {
		return err
	}
	req.B, err = r.need(d.b)
	p.pair = &req
	return err
}

// need is a record's content, an error when its values are not in the ledger.
func (r *reader) need(i int32) (*canon.Object, error) {
	switch rec := &r.s.recs[i]; {
	case rec.absent:
		return nil, fault.Wrap(ErrErased, fault.Refused, "the values of record %s did not come in with the log, so the decision cannot be made again", r.s.recordID(i)).
			WithHint("give the record again, in a comparison or to resolve")
	case rec.erased:
		return nil, fault.Wrap(ErrErased, fault.Refused, "the values of record %s were erased, so the decision cannot be made again", r.s.recordID(i))
	}
	return r.contentOf(i)
}

// planResolve rebuilds what the newcomer met.
func (r *reader) planResolve(p *replayPlan, rr *runRecord) error {
	entries, err := r.entries(rr, "a")
	if err != nil {
		return err
	}
	list, idx, err := r.recordsOf(entries)
	if err != nil || len(list) != 1 {
		return noNewcomer(err, rr)
	}
	if _, err := r.need(idx[0]); err != nil {
		return err
	}
	key := corpusKey{rr.text("entity"), rr.text("pack_version"), rr.text("engine")}
	index, err := resolve.NewCorpus(key.entity, key.packVersion, key.engine)
	if err != nil {
		return err
	}
	met, err := r.metBy(rr)
	if err != nil {
		return err
	}
	c := &corpus{index: index}
	if err := r.extend(c, met); err != nil {
		return err
	}
	if len(c.erased) > 0 {
		return fault.Wrap(ErrErased, fault.Refused, "the values of %d records that the newcomer met are not in the ledger, so the decision cannot be made again", len(c.erased))
	}
	p.newcomer, p.corpus = packForm(list[0]), index
	return nil
}

// noNewcomer is what is wrong with a resolve whose list does not hold one record.
func noNewcomer(err error, rr *runRecord) error {
	if err != nil {
		return err
	}
	return altered("the run of event %d has no newcomer", rr.seq)
}

// metBy are the records that a resolve compared its newcomer with.
func (r *reader) metBy(rr *runRecord) ([]int32, error) {
	every, ok := rr.body.Value("b").(*canon.Object)
	if !ok {
		entries, err := r.entries(rr, "b")
		if err != nil {
			return nil, err
		}
		_, idx, err := r.recordsOf(entries)
		return idx, err
	}
	name, _ := every.Value("every").(string)
	count, _ := number(every.Value("count"))
	typ := r.s.words.put(name)
	n := int(count)
	if count < 0 || count > float64(len(r.s.byType[typ])) || r.s.digestOf(typ, n) != every.Value("digest") {
		return nil, altered("the records that the run of event %d met are not the stored ones", rr.seq)
	}
	return r.s.byType[typ][:n], nil
}

// entries is one list of a run.
func (r *reader) entries(rr *runRecord, side string) ([]any, error) {
	switch x := rr.body.Value(side).(type) {
	case []any:
		return x, nil
	case string:
		return r.l.rawList(r.ctx, r.db, x, rr.seq)
	}
	return nil, altered("the run of event %d has no list %s", rr.seq, side)
}

// recordsOf are the rows of a run's list and the records they are.
func (r *reader) recordsOf(entries []any) ([]*canon.Object, []int32, error) {
	idx := make([]int32, len(entries))
	for n, id := range listIDs(entries) {
		if idx[n] = r.s.lookupRecord(id); idx[n] < 0 {
			return nil, nil, altered("a run names record %s, which was never stored", clip(id))
		}
	}
	rows := make([]*canon.Object, 0, len(entries))
	for part := range slices.Chunk(idx, contentCacheMost/2) { // a part fits the cache, a long list need not
		if err := r.fetch(part); err != nil {
			return nil, nil, err
		}
		for _, i := range part {
			if r.s.recs[i].erased {
				rows = append(rows, canon.NewObject()) // keeps the place; the caller says so
				continue
			}
			o, err := r.contentOf(i)
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows, o)
		}
	}
	return rows, idx, nil
}

// planBatch rebuilds both lists of a comparison.
func (r *reader) planBatch(p *replayPlan, rr *runRecord) error {
	req := resolve.Request{
		Entity: rr.text("entity"), Backend: rr.text("backend"), IDField: rr.text("id_field"), Block: rr.text("block"),
		PackVersion: rr.text("pack_version"), Engine: rr.text("engine"), OpenScratch: OpenScratch,
	}
	if model := rr.text("model"); model != "" {
		req.Model = []byte(model)
	}
	text := rr.text("threshold")
	var err error
	if req.Threshold, err = strconv.ParseFloat(text, 64); err != nil {
		return altered("the run of event %d has no threshold", rr.seq)
	}
	req.ThresholdInt = canon.Number(text).IsInt()
	if c := rr.text("comparators"); c != "" {
		v, err := canon.Parse([]byte(c), canon.Limits{})
		list, ok := v.([]any)
		if err != nil || !ok {
			return altered("the comparators of the run of event %d are no list", rr.seq)
		}
		for _, x := range list {
			o, _ := x.(*canon.Object)
			req.Comparators = append(req.Comparators, o)
		}
	}
	if req.A, err = r.side(p, rr, "a"); err != nil {
		return err
	}
	if req.Dedupe = rr.body.Value("verb") == verbDedupe; !req.Dedupe {
		if req.B, err = r.side(p, rr, "b"); err != nil {
			return err
		}
	}
	p.batch = &req
	return nil
}

// side is a list of a run as it was given: the records, and the row itself
// where one was handed in under a stored address.
func (r *reader) side(p *replayPlan, rr *runRecord, name string) ([]*canon.Object, error) {
	entries, err := r.entries(rr, name)
	if err != nil {
		return nil, err
	}
	rows, idx, err := r.recordsOf(entries)
	if err != nil {
		return nil, err
	}
	for n, e := range entries {
		if r.s.recs[idx[n]].erased {
			p.erased++
			continue
		}
		o, ok := e.(*canon.Object)
		if !ok {
			continue
		}
		address, _ := o.Value("row").(string)
		data, err := readBlob(r.ctx, r.db, address, rr.seq)
		if err != nil {
			return nil, err
		}
		if !fitsAddress(address, data) {
			return nil, altered("the row %s does not fit its address", clip(address))
		}
		if rows[n], err = canon.ParseObject(data, canon.Limits{Depth: 1 << 16, NonFinite: true}); err != nil {
			return nil, altered("the row %s is no record", clip(address))
		}
	}
	return rows, nil
}

// run makes the decision again.
func (p *replayPlan) run(ctx context.Context) (*outcome, error) {
	if p.pair != nil {
		res, err := resolve.ComparePair(ctx, *p.pair)
		if err != nil {
			return nil, err
		}
		return &outcome{identity: res.Identity, action: res.Action, id: res.DecisionID, score: res.Score, factors: res.Factors, pins: res.Pins}, nil
	}
	var res *resolve.Result
	var err error
	if p.corpus != nil {
		res, err = p.corpus.Match(ctx, p.newcomer)
	} else {
		res, err = resolve.Compare(ctx, *p.batch)
	}
	if err != nil {
		return nil, err
	}
	for n := range res.Edges {
		e := &res.Edges[n]
		if p.corpus != nil && e.BID == p.bID || p.corpus == nil && e.I == p.pos[0] && e.J == p.pos[1] {
			v := edgeVerdict(e, "", nil, 0, 0)
			return &outcome{identity: v.identity, action: v.action, id: v.id, score: v.score, factors: v.factors, pins: res.Pins}, nil
		}
	}
	return &outcome{identity: "unsurfaced", action: "no_op", factors: canon.NewObject(), pins: res.Pins}, nil
}

func (p *replayPlan) answer(id string, now *outcome) *canon.Object {
	thenPins, _ := p.then.Value("pins").(*canon.Object)
	thenFactors, _ := p.then.Value("factors").(*canon.Object)
	score, _ := number(p.then.Value("score"))
	changed := canon.NewObject()
	differ := func(key string, a, b any, same bool) {
		if !same {
			changed.Set(key, canon.Obj("then", a, "now", b))
		}
	}
	differ("identity", p.then.Value("identity"), now.identity, p.then.Value("identity") == now.identity)
	differ("action", p.then.Value("action"), now.action, p.then.Value("action") == now.action)
	differ("score", canon.Float(score), canon.Float(now.score), canon.FixedText(score, 4) == canon.FixedText(now.score, 4))
	compareTrees(changed, "factors.", thenFactors, now.factors)
	compareTrees(changed, "pins.", thenPins, now.pins)
	var nowID any
	if now.id != "" {
		nowID = now.id
	}
	out := canon.Obj(
		"decision_id", id,
		"reproduced", now.id == id,
		"then", canon.Obj("identity", p.then.Value("identity"), "action", p.then.Value("action"), "score", canon.Float(score), "engine", thenPins.Value("engine")),
		"now", canon.Obj("identity", now.identity, "action", now.action, "score", canon.Float(now.score), "engine", now.pins.Value("engine"), "decision_id", nowID),
		"changed", changed,
	)
	for key, v := range p.extra.All() {
		out.Set(key, v)
	}
	return out
}

// compareTrees notes every leaf of two objects that differs, paths sorted.
func compareTrees(changed *canon.Object, prefix string, then, now *canon.Object) {
	a, b := map[string]any{}, map[string]any{}
	leaves(prefix, then, a)
	leaves(prefix, now, b)
	var paths []string
	for k := range a {
		paths = append(paths, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			paths = append(paths, k)
		}
	}
	slices.Sort(paths)
	for _, k := range paths {
		if !sameLeaf(a[k], b[k]) {
			changed.Set(k, canon.Obj("then", a[k], "now", b[k]))
		}
	}
}

func leaves(prefix string, o *canon.Object, out map[string]any) {
	for k, v := range o.All() {
		if nested, ok := v.(*canon.Object); ok {
			leaves(prefix+k+".", nested, out)
		} else {
			out[prefix+k] = v
		}
	}
}

// sameLeaf compares values as events keep them: numbers by value.
func sameLeaf(a, b any) bool {
	x, err1 := appendJCS(nil, a)
	y, err2 := appendJCS(nil, b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
