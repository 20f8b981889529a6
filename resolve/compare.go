package resolve

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// surfaced is a pair at or above the review floor, before its evidence is
// written out.
type surfaced struct {
	i, j  int32
	score float64 // rounded to 4 decimals
}

// run is one comparison being made.
type run struct {
	req     Request
	plan    *plan
	store   *store
	a, b    *side
	block   string
	floor   float64
	blocker *blocker // nil when every pair is scored

	pinned  *canon.Object // what decides the answer beside the records
	written bool          // edges are written out as their pairs surface

	surfaced atomic.Int64 // pairs of all chunks

	mu       sync.Mutex // guards what follows, which workers add up
	repeated [2]int     // records whose id another one of the list has
	ignored  map[string]bool
	badEdge  error
	pairs    int64
	found    found
	skipped  int64
	done     int64
}

// Compare scores the candidate pairs of two lists and returns those at or above
// the review floor.
func Compare(ctx context.Context, req Request) (*Result, error) {
	if req.Backend == backendSplink && req.Entity != "" {
		return compareTrained(ctx, req)
	}
	r, err := prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	r.written = true
	chunks, err := r.score(ctx)
	if err != nil {
		return nil, err
	}
	if r.badEdge != nil {
		return nil, r.badEdge
	}
	res := r.head()
	r.store, r.a, r.b = nil, nil, nil // large
	res.Edges = inOrder(chunks)
	return res, nil
}

// Stream is Compare for results too large to hold: yield gets the edges in
// their order, and the result has none. An error of yield ends it. Backend
// "splink" is not streamed.
func Stream(ctx context.Context, req Request, yield func(*Edge) error) (*Result, error) {
	if req.Backend == backendSplink && req.Entity != "" {
		return nil, fault.New(fault.Invalid, "backend %q gives its edges all at once", backendSplink).WithHint("use Compare")
	}
	r, err := prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	chunks, err := r.score(ctx)
	if err != nil {
		return nil, err
	}
	pairs := slices.Concat(chunksOf(chunks)...)
	sortSurfaced(pairs)
	const window = 8192
	res := r.head()
	for from := 0; from < len(pairs); from += window {
		edges, err := r.edges(ctx, res.Pins, pairs[from:min(len(pairs), from+window)])
		if err != nil {
			return nil, err
		}
		for i := range edges {
			if err := yield(&edges[i]); err != nil {
				return nil, err
			}
		}
	}
	return res, nil
}

func prepare(ctx context.Context, req Request) (*run, error) {
	p, block, err := requestPlan(&req)
	if err != nil {
		return nil, err
	}
	if req.IDField == "" {
		req.IDField = DefaultIDField
	}
	if err := checkPairs(&req, block); err != nil {
		return nil, err
	}
	r := &run{req: req, plan: p, block: block, floor: req.Threshold - ReviewMargin}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// DefaultMaxPairs is how many pairs a call without blocking may score: some two
// minutes on one processor.
const DefaultMaxPairs = 100_000_000

// DefaultMaxEdges is how many pairs may surface where all edges are held at
// once, some 500 bytes each, and DefaultMaxStreamed where they are streamed and
// 16 bytes each are held.
const (
	DefaultMaxEdges    = 10_000_000
	DefaultMaxStreamed = 100_000_000
)

// maxEdges is how many pairs may surface in this call.
func (r *run) maxEdges() int64 {
	switch {
	case r.req.MaxEdges > 0:
		return r.req.MaxEdges
	case r.written:
		return DefaultMaxEdges
	}
	return DefaultMaxStreamed
}

func tooManyEdges(limit int64) error {
	return fault.New(fault.Limit, "more than %d pairs match or need review, the most that one call answers", limit).
		WithHint("raise the threshold, split the lists, or leave values out that many records share")
}

// checkPairs refuses a call without blocking that would take very long, and
// says how many pairs it needs.
func checkPairs(req *Request, block string) error {
	if block != BlockNone {
		return nil
	}
	limit := req.MaxPairs
	if limit == 0 {
		limit = DefaultMaxPairs
	}
	pairs := int64(len(req.A)) * int64(len(req.B))
	if req.Dedupe {
		pairs = int64(len(req.A)) * int64(len(req.A)-1) / 2
	}
	if pairs <= limit {
		return nil
	}
	return fault.New(fault.Limit, "without blocking this call would score %d pairs, more than the %d allowed", pairs, limit).
		WithHint("compare with entity, which scores likely pairs only, split the lists, or raise the limit (--max-pairs of arche compare)")
}

// requestPlan checks what a request says about how to compare.
func requestPlan(req *Request) (*plan, string, error) {
	switch {
	case req.Entity != "" && len(req.Comparators) > 0:
		return nil, "", fault.New(fault.Invalid, "entity and comparators are both given: each says how to compare, and one would silently win").
			WithHint("pass one of the two")
	case req.Entity == "" && len(req.Comparators) == 0:
		return nil, "", fault.New(fault.Invalid, "neither entity nor comparators is given, so there is nothing to compare by").
			WithHint("pass one of the two")
	}
	if req.Entity == "" {
		p, err := customPlan(req.Comparators, req.PackVersion, req.Engine)
		return p, BlockNone, err
	}
	p, err := planFor(req.Entity, req.PackVersion, req.Engine)
	if err != nil {
		return nil, "", err
	}
	if err := checkBackend(req.Backend); err != nil {
		return nil, "", err
	}
	switch req.Block {
	case "", BlockUnion:
		return p, BlockUnion, nil
	case BlockNone:
		return p, BlockNone, nil
	}
	return nil, "", fault.New(fault.Invalid, "unknown blocking %s", canon.Repr(req.Block)).WithHint("accepted: %s, %s", BlockUnion, BlockNone)
}

func checkBackend(name string) error {
	switch name {
	case "", "arche", "auto", backendSplink:
		return nil
	}
	return fault.New(fault.Invalid, "unknown backend %s; available: 'auto' (default), 'arche', 'splink'", canon.Repr(name))
}

// maxRows keeps row numbers in 32 bits.
const maxRows = 1 << 30

// touchRows is how many rows of B are fetched together.
const touchRows = 64

// ctxRows is how many rows pass between looks at the context.
const ctxRows = 4096

// read lays both lists out.
func (r *run) read(ctx context.Context) error {
	if len(r.req.A) > maxRows || len(r.req.B) > maxRows {
		return fault.New(fault.Limit, "a list has more than %d records", maxRows)
	}
	var err error
	if r.store, err = newStore(r.plan); err != nil {
		return err
	}
	rows := len(r.req.A) + len(r.req.B)
	sides := [2]*side{newWideSide(r.plan, rows), newWideSide(r.plan, rows)}
	lists := [][]*canon.Object{r.req.A, r.req.B}
	if r.req.Dedupe {
		lists = lists[:1]
	}
	for n, list := range lists {
		for i, rec := range list {
			if rec == nil {
				return fault.New(fault.Invalid, "record %d of list_%c is not an object", i, 'a'+n)
			}
		}
	}
	if err := r.store.addAll(ctx, sides[:len(lists)], lists, r.survey()...); err != nil {
		return err
	}
	r.a, r.b = sides[0], sides[len(lists)-1]
	if err := r.store.seal(sides[:len(lists)]...); err != nil {
		return err
	}
	r.pinned = r.pins()
	r.store.forgetCounts()
	if r.block != BlockUnion {
		return nil
	}
	a, err := r.store.keyed(r.a)
	if err != nil {
		return err
	}
	b := a
	if !r.req.Dedupe {
		if b, err = r.store.keyed(r.b); err != nil {
			return err
		}
	}
	r.store.forgetKeys()
	r.blocker, err = newBlocker(ctx, a, b, len(r.store.toks.text), len(r.store.keys.text), r.req.Dedupe, r.plan.v2)
	if err != nil {
		return err
	}
	return r.blocker.checkUnbounded(r.req.MaxPairs)
}

// chunkRows is how many rows of A a worker takes at a time.
const chunkRows = 32

// chunk is what surfaced among the candidates of a few rows of A, in the order of
// the rows of both lists; edges has as many entries, or none.
type chunk struct {
	pairs []surfaced
	edges []Edge
}

// score screens every candidate pair on all processors. What it returns does
// not depend on how many there are: workers keep the pairs of each chunk of rows
// apart.
func (r *run) score(ctx context.Context) ([]chunk, error) {
	rows := len(r.req.A)
	var chunks []chunk
	for from, width := 0, rows; from < rows; {
		to := rows
		if r.blocker != nil {
			var err error
			if to, err = r.blocker.loadPairs(ctx, from, width); err != nil {
				return nil, err
			}
		}
		some, err := r.scoreRange(ctx, from, to)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, some...)
		from, width = to, to-from
	}
	if r.blocker != nil {
		r.blocker.release()
	}
	return chunks, nil
}

// scoreRange screens the candidates of a range of rows of A, chunk by chunk.
func (r *run) scoreRange(ctx context.Context, from, to int) ([]chunk, error) {
	chunks := make([]chunk, (to-from+chunkRows-1)/chunkRows)
	errs := make([]error, len(chunks))
	var next atomic.Int64
	work := func() error {
		w, err := newWorker(r)
		if err != nil {
			return err
		}
		defer w.report()
		for {
			c := int(next.Add(1)) - 1
			if c >= len(chunks) {
				return nil
			}
			first := from + c*chunkRows
			end := min(to, first+chunkRows)
			errs[c] = w.rows(ctx, first, end, &chunks[c])
			if errs[c] != nil {
				// Chunks before this one are taken and run to their end,
				// so the first error is the same whoever meets it.
				next.Store(int64(len(chunks)))
				return nil
			}
			r.progress(int64(end - first))
		}
	}
	tasks := slices.Repeat([]func() error{work}, min(workers(), len(chunks)))
	run := atOnce
	if len(tasks) == 1 {
		run = inTurn
	}
	if err := run(tasks); err != nil {
		return nil, err
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return chunks, nil
}

func chunksOf(chunks []chunk) [][]surfaced {
	out := make([][]surfaced, len(chunks))
	for i := range chunks {
		out[i] = chunks[i].pairs
	}
	return out
}

// inOrder gives the edges of all chunks by rounded score, keeping their order
// otherwise.
func inOrder(chunks []chunk) []Edge {
	type place struct {
		score     float64
		chunk, at int32
	}
	n := 0
	for i := range chunks {
		n += len(chunks[i].pairs)
	}
	places := make([]place, 0, n)
	for c := range chunks {
		for at := range chunks[c].pairs {
			places = append(places, place{chunks[c].pairs[at].score, int32(c), int32(at)})
		}
	}
	slices.SortFunc(places, func(x, y place) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.chunk, y.chunk), cmp.Compare(x.at, y.at))
	})
	edges := make([]Edge, n)
	for to, p := range places {
		edges[to] = chunks[p.chunk].edges[p.at]
	}
	return edges
}

// sortSurfaced orders pairs by rounded score, keeping their order otherwise.
func sortSurfaced(all []surfaced) {
	slices.SortStableFunc(all, func(x, y surfaced) int { return cmp.Compare(y.score, x.score) })
}

// worker scores rows of A; one per goroutine.
type worker struct {
	r       *run
	scorer  *scorer
	seal    *sealer // nil when edges are not written out here
	seek    *seeker
	every   []int32 // all rows of B, when nothing is blocked
	pairs   int64
	skipped int64
	exact   bool
	inOrder bool // pairs of a row are screened in order, because one can be an error
	touched int32
	badEdge error
	found   chunk // of the rows being scored
	counted int   // of what was found, added to what the run counts
}

func newWorker(r *run) (*worker, error) {
	w := &worker{r: r, scorer: newScorer(r.store, r.a, r.b, r.floor)}
	if r.written {
		var err error
		if w.seal, err = newSealer(r.pinned); err != nil {
			return nil, err
		}
	}
	if r.blocker != nil {
		w.seek, w.inOrder = newSeeker(r.blocker), r.plan.mayFail()
		w.exact = r.blocker.overFull.pairs > 0 && r.blocker.overFull.pairs <= exactBelow
		return w, nil
	}
	w.every = make([]int32, r.b.n)
	for j := range w.every {
		w.every[j] = int32(j)
	}
	return w, nil
}

// rows scores rows from up to to, and adds what surfaced in order.
func (w *worker) rows(ctx context.Context, from, to int, into *chunk) error {
	out := &w.found
	out.pairs, out.edges, w.counted = out.pairs[:0], out.edges[:0], 0
	for i := int32(from); i < int32(to); i++ {
		first := len(out.pairs)
		list := w.candidates(i)
		w.pairs += int64(len(list))
		w.scorer.from(i)
		for n, j := range list {
			if n%touchRows == 0 {
				w.touched += w.scorer.touch(list[n:min(len(list), n+touchRows)])
				if err := w.mayGoOn(ctx, n); err != nil {
					return err
				}
			}
			score, ok, err := w.scorer.with(i, j)
			if err != nil {
				return err
			}
			if ok {
				out.pairs = append(out.pairs, surfaced{i, j, round(score, 4)})
				if w.seal != nil {
					out.edges = append(out.edges, w.write(out.pairs[len(out.pairs)-1]))
				}
			}
		}
		if w.seek != nil {
			out.sortFrom(first)
		}
		if w.exact {
			w.skipped += w.seek.skipped(i)
		}
	}
	if err := w.mayGoOn(ctx, 0); err != nil {
		return err
	}
	into.pairs, into.edges = slices.Clone(out.pairs), slices.Clone(out.edges)
	return nil
}

// sortFrom orders what surfaced for one row of A by the row of B.
func (c *chunk) sortFrom(first int) {
	if len(c.pairs)-first < 2 {
		return
	}
	last := chunk{pairs: c.pairs[first:]}
	if len(c.edges) > 0 {
		last.edges = c.edges[first:]
	}
	sort.Sort(&last)
}

func (c *chunk) Len() int           { return len(c.pairs) }
func (c *chunk) Less(x, y int) bool { return c.pairs[x].j < c.pairs[y].j }

func (c *chunk) Swap(x, y int) {
	c.pairs[x], c.pairs[y] = c.pairs[y], c.pairs[x]
	if len(c.edges) > 0 {
		c.edges[x], c.edges[y] = c.edges[y], c.edges[x]
	}
}

// mayGoOn is nil unless the call was cancelled or too many pairs surface; the
// context is asked now and then.
func (w *worker) mayGoOn(ctx context.Context, n int) error {
	if more := len(w.found.pairs) - w.counted; more > 0 {
		w.counted += more
		if limit := w.r.maxEdges(); w.r.surfaced.Add(int64(more)) > limit {
			return tooManyEdges(limit)
		}
	}
	if n%ctxRows == 0 {
		return ctx.Err()
	}
	return nil
}

// write writes out the edge of the pair that was just screened. An error waits:
// one that comes up in scoring, in whatever row, goes first.
func (w *worker) write(p surfaced) Edge {
	if w.badEdge != nil {
		return Edge{}
	}
	v, err := w.scorer.settle(p.i, p.j, w.r.req.Threshold)
	if err != nil {
		w.badEdge = err
		return Edge{}
	}
	e := v.edge(w.r.idA(p.i), w.r.idB(p.j), p)
	e.DecisionID, w.badEdge = w.seal.id(&e)
	return e
}

func (w *worker) candidates(i int32) []int32 {
	switch {
	case w.seek != nil:
		list := w.seek.candidates(i)
		if w.inOrder {
			slices.Sort(list)
		}
		return list
	case w.r.req.Dedupe:
		return w.every[i+1:]
	}
	return w.every
}

// report adds up what the worker counted.
func (w *worker) report() {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.pairs += w.pairs
	w.r.skipped += w.skipped
	if w.r.badEdge == nil {
		w.r.badEdge = w.badEdge
	}
	if w.seek != nil {
		w.r.found.h3 += w.seek.found.h3
		w.r.found.token += w.seek.found.token
		w.r.found.id += w.seek.found.id
	}
}

func (r *run) progress(rows int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done += rows
	if r.req.Progress != nil {
		r.req.Progress(r.done, int64(len(r.req.A)))
	}
}

// workers is how many goroutines score.
func workers() int { return runtime.GOMAXPROCS(0) }
