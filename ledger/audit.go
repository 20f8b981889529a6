package ledger

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve"
)

// AuditOptions say which decisions Audit makes again, and how.
type AuditOptions struct {
	After  int64  // only decisions of later events; an audit goes on after the last one it saw
	Until  int64  // only decisions of this event and earlier ones; 0 is all
	Entity string // only pairs whose record a is of this type
	Verb   string // only decisions of this verb
	// Sample is how many decisions are made again, chosen by the smallest event
	// addresses, which are as good as random and the same on every machine;
	// 0 is all.
	Sample int
	// Today decides under the packs and the engine of the ledger's options
	// instead of those that each decision was made under.
	Today bool
	// Progress, when set, is told of decisions done and to do.
	Progress func(done, total int64)
}

// What an audit finds of a decision.
const (
	AuditReproduced   = "reproduced"   // the same id, byte for byte
	AuditDiffers      = "differs"      // made again, and something moved
	AuditUnreplayable = "unreplayable" // it can't be made again; the reason says why
	AuditAppears      = "appears"      // today only: a match that was not one then
)

// Audited is what became of one decision.
type Audited struct {
	Seq        int64 // its event
	DecisionID string
	RecordA    string
	RecordB    string
	EntityType string
	EntityID   string // entity of record a now, "" none
	Verb       string
	RecordedAt string
	Live       bool
	Links      bool // live and holding its records together
	NowLinks   bool // what was decided now would link
	Result     string
	Reason     string
	Then       *canon.Object // set when it differs: identity, action, score, engine
	Now        *canon.Object
	Changed    *canon.Object // name of what moved -> {then, now}
	Supersedes string        // public id of the decision it replaced, "" none
	Operator   string        // verdict of a person that stands over it, "" none
}

// chunkOf bounds how many decisions are planned and held at once.
const chunkOf = 2000

// Audit makes decisions again, each batch once for all its decisions, and calls
// each for every one in the order of their events. It returns how many there
// were. The log is not held while the engine works.
func (l *Ledger) Audit(ctx context.Context, o AuditOptions, each func(*Audited) error) (int64, error) {
	a := &auditor{l: l, o: o, corpora: map[corpusKey]*corpus{}, each: each}
	if err := l.use(ctx, func(_ *duck.DB, s *state) error {
		a.choose(s)
		return nil
	}); err != nil {
		return 0, err
	}
	for len(a.groups) > 0 {
		n, size := 0, 0
		for n < len(a.groups) && (n == 0 || size+len(a.groups[n].decs) <= chunkOf) {
			size += len(a.groups[n].decs)
			n++
		}
		if err := a.chunk(ctx, a.groups[:n]); err != nil {
			return a.done, err
		}
		clear(a.groups[:n]) // results of a batch are large
		a.groups = a.groups[n:]
	}
	return a.done, nil
}

type auditor struct {
	l       *Ledger
	o       AuditOptions
	groups  []*auditGroup
	corpora map[corpusKey]*corpus
	each    func(*Audited) error
	done    int64
	total   int64
}

// auditGroup is a run with those of its decisions that are looked at.
type auditGroup struct {
	run   int32
	decs  []int32
	err   error            // why none of them can be made again
	batch *resolve.Request // of two lists
	res   *resolve.Result  // of two lists, or of a newcomer
	pairs map[int32]*pairWork
	rows  [2][]int32 // records of the lists, for what appears today

	erased int // rows of the lists whose values were erased

	byPos map[[2]int]*resolve.Edge
	byID  map[string]*resolve.Edge // of a newcomer, by the candidate's id
}

type pairWork struct {
	req resolve.PairRequest
	res *resolve.PairResult
	err error
}

// choose takes the decisions the options ask for and groups them by run.
func (a *auditor) choose(s *state) {
	var chosen []int32
	for i := range s.decs {
		d := &s.decs[i]
		if d.seq <= a.o.After || a.o.Until > 0 && d.seq > a.o.Until ||
			a.o.Verb != "" && s.words.get(d.verb) != a.o.Verb ||
			a.o.Entity != "" && s.words.get(s.recs[d.a].typ) != baseEntity(a.o.Entity) {
			continue
		}
		chosen = append(chosen, int32(i)) //nolint:gosec // bounded by the number of events
	}
	if a.o.Sample > 0 && len(chosen) > a.o.Sample {
		slices.SortFunc(chosen, func(x, y int32) int { return bytes.Compare(s.decs[x].event[:], s.decs[y].event[:]) })
		chosen = chosen[:a.o.Sample]
		slices.Sort(chosen)
	}
	a.total = int64(len(chosen))
	for _, i := range chosen {
		run := s.decs[i].run
		if n := len(a.groups); n > 0 && a.groups[n-1].run == run && run >= 0 {
			a.groups[n-1].decs = append(a.groups[n-1].decs, i)
			continue
		}
		a.groups = append(a.groups, &auditGroup{run: run, decs: []int32{i}})
	}
}

// chunk makes the decisions of some runs again.
func (a *auditor) chunk(ctx context.Context, groups []*auditGroup) error {
	err := a.l.use(ctx, func(db *duck.DB, s *state) error {
		r := a.l.reader(ctx, db, s)
		for _, g := range groups {
			if err := a.plan(r, g); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := a.work(ctx, groups); err != nil {
		return err
	}
	return a.l.use(ctx, func(db *duck.DB, s *state) error {
		return a.compare(a.l.reader(ctx, db, s), groups)
	})
}

// hindered keeps a fault as the reason why a run can't be made again; any other
// error ends the audit.
func (g *auditGroup) hindered(err error) error {
	if f := fault.As(err); f != nil && f.Kind != fault.Internal && f.Kind != fault.Busy {
		g.err = err
		return nil
	}
	return err
}

// plan reads what a run is made again from. A newcomer is matched at once: the
// records it met are a prefix of those the next one met.
func (a *auditor) plan(r *reader, g *auditGroup) error {
	if g.run < 0 {
		g.err = r.s.noRun(g.decs[0])
		return nil
	}
	rr, err := r.run(g.run)
	if err != nil {
		return g.hindered(err)
	}
	switch {
	case r.s.paired(g.decs[0]):
		return a.planPairs(r, g, rr)
	case r.s.ofResolve(g.run):
		return g.hindered(a.planResolve(r, g, rr))
	}
	p := &replayPlan{}
	if err := r.planBatch(p, rr); err != nil {
		return g.hindered(err)
	}
	g.batch, g.erased = p.batch, p.erased
	if a.o.Today {
		g.batch.Entity, g.batch.PackVersion, g.batch.Engine = baseEntity(g.batch.Entity), a.l.opts.PackVersion, a.l.opts.Engine
		for n, side := range []string{"a", "b"} {
			entries, err := r.entries(rr, side)
			if err != nil {
				return g.hindered(err)
			}
			for _, id := range listIDs(entries) {
				g.rows[n] = append(g.rows[n], r.s.lookupRecord(id))
			}
		}
	}
	return nil
}

func (a *auditor) planPairs(r *reader, g *auditGroup, rr *runRecord) error {
	g.pairs = map[int32]*pairWork{}
	for _, i := range g.decs {
		w := &pairWork{}
		g.pairs[i] = w
		p := &replayPlan{}
		if err := r.planPair(p, rr, &r.s.decs[i]); err != nil {
			if f := fault.As(err); f == nil || f.Kind == fault.Internal {
				return err
			}
			w.err = err
			continue
		}
		w.req = *p.pair
		if a.o.Today {
			w.req.Entity, w.req.PackVersion, w.req.Engine = baseEntity(w.req.Entity), a.l.opts.PackVersion, a.l.opts.Engine
		}
	}
	return nil
}

func (a *auditor) planResolve(r *reader, g *auditGroup, rr *runRecord) error {
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
	met, err := r.metBy(rr)
	if err != nil {
		return err
	}
	key := corpusKey{rr.text("entity"), rr.text("pack_version"), rr.text("engine")}
	if a.o.Today {
		key = corpusKey{baseEntity(key.entity), a.l.opts.PackVersion, a.l.opts.Engine}
	}
	_, every := rr.body.Value("b").(*canon.Object)
	c := a.corpora[key]
	if c == nil || !every || c.n > len(met) {
		index, err := resolve.NewCorpus(key.entity, key.packVersion, key.engine)
		if err != nil {
			return err
		}
		c = &corpus{index: index}
		if every {
			a.corpora[key] = c
		}
	}
	if err := r.extend(c, met); err != nil {
		return err
	}
	if len(c.erased) > 0 {
		return fault.Wrap(ErrErased, fault.Refused, "the values of %d records that the newcomer met are not in the ledger", len(c.erased))
	}
	g.res, err = c.index.Match(r.ctx, packForm(list[0]))
	return err
}

// work runs the engine, on every core, while the log is free.
func (a *auditor) work(ctx context.Context, groups []*auditGroup) error {
	var pool errgroup.Group
	pool.SetLimit(runtime.GOMAXPROCS(0))
	for _, g := range groups {
		pool.Go(func() error { return g.decide(ctx) })
	}
	return pool.Wait()
}

func (g *auditGroup) decide(ctx context.Context) (err error) {
	switch {
	case g.err != nil:
	case g.pairs != nil:
		for _, w := range g.pairs {
			if w.err == nil {
				w.res, w.err = resolve.ComparePair(ctx, w.req)
			}
		}
	case g.batch != nil:
		if g.res, err = resolve.Compare(ctx, *g.batch); err != nil {
			break
		}
		g.byPos = make(map[[2]int]*resolve.Edge, len(g.res.Edges))
		for n := range g.res.Edges {
			e := &g.res.Edges[n]
			g.byPos[[2]int{e.I, e.J}] = e
		}
		g.batch = nil
	default:
		g.byID = make(map[string]*resolve.Edge, len(g.res.Edges))
		for n := range g.res.Edges {
			id, _ := g.res.Edges[n].BID.(string)
			g.byID[id] = &g.res.Edges[n]
		}
	}
	if err == nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return g.hindered(err)
}

// CountDecisions is how many decisions the options ask for, the sample aside.
func (l *Ledger) CountDecisions(ctx context.Context, o AuditOptions) (int64, error) {
	o.Sample = 0
	a := &auditor{l: l, o: o}
	err := l.use(ctx, func(_ *duck.DB, s *state) error {
		a.choose(s)
		return nil
	})
	return a.total, err
}
