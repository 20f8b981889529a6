package ledger

import (
	"context"
	"slices"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// Cases answers all open cases of a type, of every type when it is "", in the
// order in which they were recorded. The type is that of record a.
func (l *Ledger) Cases(ctx context.Context, entityType string) (*canon.Object, error) {
	var out *canon.Object
	err := l.use(ctx, func(db *duck.DB, s *state) error {
		r := l.reader(ctx, db, s)
		var open []int32
		for i := range s.decs {
			n := int32(i) //nolint:gosec // bounded by the number of events
			if s.openCase(n) && (entityType == "" || s.words.get(s.recs[s.decs[i].a].typ) == entityType) {
				open = append(open, n)
			}
		}
		views, err := r.caseViews(open)
		if err != nil {
			return err
		}
		out = canon.Obj("count", len(views), "cases", views)
		return nil
	})
	return out, err
}

// openCase reports whether a decision waits for evidence: a review that nothing
// superseded and no operator settled, or any that an operator sent to review.
func (s *state) openCase(i int32) bool {
	if !s.live(i) {
		return false
	}
	if op, ok := s.ops[orderedPair(s.decs[i].a, s.decs[i].b)]; ok && op.verdict != verdictUndone {
		return op.verdict == VerdictReview
	}
	return s.identityOf(i) == "review"
}

func (s *state) openCases() int {
	n := 0
	for i := range s.decs {
		if s.openCase(int32(i)) { //nolint:gosec // bounded by the number of events
			n++
		}
	}
	return n
}

// caseViews makes the views of cases; one made once stays, because neither the
// decision nor its records can change.
func (r *reader) caseViews(open []int32) ([]any, error) {
	missing := make([]int32, 0, len(open))
	for _, i := range open {
		if _, ok := r.l.cache.cases[i]; !ok {
			missing = append(missing, i)
		}
	}
	for part := range slices.Chunk(missing, r.l.cache.shelf/2) { // a case has two records
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.makeCaseViews(part); err != nil {
			return nil, err
		}
	}
	views := make([]any, len(open))
	for n, i := range open {
		v := r.l.cache.cases[i]
		if len(r.s.ops) > 0 { // what a person says of the pair can change
			v = v.Clone()
			if err := r.addOperator(v, i); err != nil {
				return nil, err
			}
		}
		views[n] = v
	}
	return views, nil
}

// shelfMost bounds the records whose contents lie on the shelf at a time.
const shelfMost = 200_000

// makeCaseViews makes the views of cases whose records fit the shelf.
func (r *reader) makeCaseViews(part []int32) error {
	recs := make([]int32, 0, 2*len(part))
	for _, i := range part {
		recs = append(recs, r.s.decs[i].a, r.s.decs[i].b)
	}
	slices.Sort(recs)
	if err := r.stock(slices.Compact(recs)); err != nil {
		return err
	}
	defer func() { r.shelf = nil }()
	return r.receiptsAhead(part, func(rec *receipt) error {
		v, err := r.caseView(rec)
		if err == nil {
			r.l.cache.cases[rec.i] = v
		}
		return err
	})
}

// stretch is a piece of the log with decisions to be read: events from the one
// before the first of them.
type stretch struct {
	from   int64 // seq of the first of them
	n      int   // how many they are
	events []Event
}

// receipts reads the events of many decisions stretch by stretch, checks each
// and hands them over in log order.
func (r *reader) receipts(seqs []int64, bySeq map[int64]int32, take func(*receipt) error) error {
	slices.Sort(seqs)
	return r.stretches(seqs, func(p stretch) error { return r.takeReceipts(&p, bySeq, take) })
}

// receiptsAhead is receipts for a take that does not use the database: it reads
// on meanwhile.
func (r *reader) receiptsAhead(decs []int32, take func(*receipt) error) error {
	bySeq := make(map[int64]int32, len(decs))
	seqs := make([]int64, len(decs))
	for n, i := range decs {
		seqs[n] = r.s.decs[i].seq
		bySeq[seqs[n]] = i
	}
	slices.Sort(seqs)
	return ahead(func(put func(stretch) error) error { return r.stretches(seqs, put) },
		func(p stretch) error { return r.takeReceipts(&p, bySeq, take) })
}

// stretches reads the events of some places, seqs ascending.
func (r *reader) stretches(seqs []int64, put func(stretch) error) error {
	for len(seqs) > 0 {
		// One stretch reads as far as events lie close together.
		n := 1
		for n < len(seqs) && seqs[n]-seqs[0] < stretchMost && seqs[n]-seqs[n-1] < 500 {
			n++
		}
		events, err := readEvents(r.ctx, r.db, seqs[0]-2, int(seqs[n-1]-seqs[0])+2)
		if err == nil {
			err = put(stretch{seqs[0], n, events})
		}
		if err != nil {
			return err
		}
		seqs = seqs[n:]
	}
	return nil
}

// stretchMost is how far a stretch reaches.
const stretchMost = 4096

// takeReceipts checks the decisions of a stretch, on all cores, and hands them
// over.
func (r *reader) takeReceipts(p *stretch, bySeq map[int64]int32, take func(*receipt) error) error {
	found := make([]receipt, len(p.events))
	err := spread(len(p.events), func(from, to int) error {
		for k := from; k < to; k++ {
			e := &p.events[k]
			i, ok := bySeq[e.seq]
			if !ok || e.seq < p.from { // the one before is read for its link
				continue
			}
			prev := zeroLink
			if k > 0 {
				prev = p.events[k-1].link
			}
			if err := checkEvent(e, e.seq-1, prev); err != nil {
				return err
			}
			body, err := r.checkReceipt(i, e)
			if err != nil {
				return err
			}
			found[k] = receipt{i: i, body: body}
		}
		return nil
	})
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(rec receipt) bool { return rec.body == nil })
	if len(found) != p.n {
		return altered("events of decisions are gone between event %d and event %d", p.from, p.from+stretchMost)
	}
	if r.shelf != nil {
		recs := make([]int32, 0, 2*len(found))
		for k := range found {
			recs = append(recs, r.s.decs[found[k].i].a, r.s.decs[found[k].i].b)
		}
		if err := r.parseShelf(recs); err != nil {
			return err
		}
	}
	for k := range found {
		r.l.cache.checked.set(found[k].i)
		if err := take(&found[k]); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) caseView(rec *receipt) (*canon.Object, error) {
	d := &r.s.decs[rec.i]
	a, err := r.named(d.a)
	if err != nil {
		return nil, err
	}
	b, err := r.named(d.b)
	if err != nil {
		return nil, err
	}
	supporting, refuting := weigh(rec)
	would, err := r.wouldResolve(rec)
	if err != nil {
		return nil, err
	}
	out := canon.Obj(
		"decision_id", r.s.publicID(rec.i), "a", a, "b", b, "score", canon.Float(d.score),
		"explanation", rec.text("explanation"), "supporting", supporting, "refuting", refuting, "would_resolve", would,
	)
	return out, nil
}

// wouldResolve names the fields that would settle a case: what the pack asks
// for, else the usual fields that are missing.
func (r *reader) wouldResolve(rec *receipt) ([]string, error) {
	d := &r.s.decs[rec.i]
	a, err := r.packed(d.a)
	if err != nil {
		return nil, err
	}
	b, err := r.packed(d.b)
	if err != nil {
		return nil, err
	}
	var most, threshold *float64
	if f, ok := number(rec.object("evidence").Value("distinctive_max")); ok {
		most = &f
	}
	if f, ok := number(rec.object("pins").Value("threshold")); ok {
		threshold = &f
	}
	typ := r.s.words.get(r.s.recs[d.a].typ)
	engine := ""
	if rec.object("pins").Value("engine") == resolve.EngineV2 {
		engine = resolve.EngineV2
	}
	labels, ok, err := resolve.WouldResolveWith(typ, r.packVersionOf(rec), engine, a, b, d.score, most, threshold)
	if err == nil && ok && len(labels) > 0 {
		return labels, nil
	}
	return missingOf(a, b, rec.object("factors")), nil
}

// packVersionOf is the version of the packs that a decision was made under.
func (r *reader) packVersionOf(rec *receipt) string {
	if rec.object("pins").Has("data_assets") {
		return resolve.PackVersion010
	}
	return r.l.opts.PackVersion
}
