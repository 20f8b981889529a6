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
	const step = contentCacheMost / 4 // a case has two records
	for batch := range slices.Chunk(open, step) {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.makeCaseViews(batch); err != nil {
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

// makeCaseViews makes the views that are missing; their records fit the cache.
func (r *reader) makeCaseViews(open []int32) error {
	var seqs []int64
	bySeq := map[int64]int32{}
	var recs []int32
	for _, i := range open {
		if _, ok := r.l.cache.cases[i]; !ok {
			d := &r.s.decs[i]
			seqs = append(seqs, d.seq)
			bySeq[d.seq] = i
			recs = append(recs, d.a, d.b)
		}
	}
	slices.Sort(recs)
	if err := r.fetch(slices.Compact(recs)); err != nil {
		return err
	}
	return r.receipts(seqs, bySeq, func(rec *receipt) error {
		v, err := r.caseView(rec)
		r.l.cache.cases[rec.i] = v
		return err
	})
}

// receipts reads the events of many decisions in ranges and checks each.
func (r *reader) receipts(seqs []int64, bySeq map[int64]int32, take func(*receipt) error) error {
	slices.Sort(seqs)
	for len(seqs) > 0 {
		// One range reads as far as events lie close together.
		n := 1
		for n < len(seqs) && n < foldChunk && seqs[n]-seqs[0] < foldChunk && seqs[n]-seqs[n-1] < 500 {
			n++
		}
		var found []*receipt
		events, err := readEvents(r.ctx, r.db, seqs[0]-2, int(seqs[n-1]-seqs[0])+2)
		if err != nil {
			return err
		}
		for k := range events {
			i, ok := bySeq[events[k].seq]
			if !ok || events[k].seq < seqs[0] { // the one before is read for its link
				continue
			}
			prev := zeroLink
			if k > 0 {
				prev = events[k-1].link
			}
			if err := checkEvent(&events[k], events[k].seq-1, prev); err != nil {
				return err
			}
			body, err := r.checkReceipt(i, &events[k])
			if err != nil {
				return err
			}
			r.l.cache.checked[i] = true
			found = append(found, &receipt{i: i, body: body})
		}
		if len(found) != n {
			return altered("events of decisions are gone between event %d and event %d", seqs[0], seqs[n-1])
		}
		for _, rec := range found {
			if err := take(rec); err != nil {
				return err
			}
		}
		seqs = seqs[n:]
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
	labels, ok, err := resolve.WouldResolve(typ, r.packVersionOf(rec), a, b, d.score, most, threshold)
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
