package documents

import (
	"context"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/arche-ledger/arche/internal/canon"
)

// Limits of one answer of search_documents: without and with full bodies.
const (
	snippetDefault, snippetCap = 50, 200
	fullDefault, fullCap       = 3, 20
	occurrenceCap              = 20 // what repeating a word can add to a score
)

// SearchRequest is what search_documents looks for. At least one of PathRef,
// Content, Types and Status must be given.
type SearchRequest struct {
	PathRef    string
	Content    string
	Match      string // any, exact, else all
	Source     string
	Types      []string
	Status     string
	MtimeAfter string // RFC 3339, or <N>d, <N>h
	Sort       string // mtime, else relevance
	Mode       string // full, else snippets
	Limit      int
}

// query is a checked request.
type query struct {
	scope   string
	types   map[string]bool
	status  string
	pathRef string
	words   []string   // lower case
	finders []finder   // beside words; nil for one that holds white space
	parts   [][]finder // beside words: the words of one that holds white space
	any     bool       // one word is enough
	after   int64      // nanoseconds; math.MinInt64 without a bound
	byTime  bool
	full    bool
	limit   int
}

// compile checks the request in the published order.
func (r *SearchRequest) compile(v *view, now time.Time) (q query, err error) {
	if err := checkTypes(r.Types); err != nil {
		return q, err
	}
	if q.scope, err = checkSource(r.Source, v.declared()); err != nil {
		return q, err
	}
	q.pathRef = strings.TrimSpace(r.PathRef)
	if q.pathRef == "" && r.Content == "" && len(r.Types) == 0 && r.Status == "" {
		return q, invalid("specify at least one filter (path_ref, content, types, or status)")
	}
	if r.Limit < 0 {
		return q, invalid("limit must be non-negative")
	}
	if q.after, err = parseAfter(r.MtimeAfter, now); err != nil {
		return q, err
	}
	if r.Content != "" {
		if q.words = wordsOf(r.Content, r.Match); len(q.words) == 0 {
			return q, invalid("content must contain at least one word")
		}
	}
	if len(r.Types) > 0 {
		q.types = map[string]bool{}
		for _, t := range r.Types {
			q.types[t] = true
		}
	}
	q.status, q.any = r.Status, r.Match == "any"
	q.byTime, q.full = r.Sort == "mtime", r.Mode == "full"
	q.limit = pageSize(r.Limit, snippetDefault, snippetCap)
	if q.full {
		q.limit = pageSize(r.Limit, fullDefault, fullCap)
	}
	return q, nil
}

func wordsOf(content, match string) []string {
	content = strings.ToLower(content)
	if match == "exact" {
		return []string{content}
	}
	return strings.Fields(content)
}

// parseAfter reads mtime_after; "" is no bound.
func parseAfter(s string, now time.Time) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return math.MinInt64, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return clampNano(t), nil
	}
	form := invalid(`invalid mtime_after: expected RFC3339 timestamp or relative duration like "30d" or "24h", got %q`, s)
	if len(s) < 2 {
		return 0, form
	}
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || n < 0 {
		return 0, form
	}
	unit, limit, name := time.Duration(0), 0, ""
	switch s[len(s)-1] {
	case 'd':
		unit, limit, name = 24*time.Hour, 36500, "day"
	case 'h':
		unit, limit, name = time.Hour, 876000, "hour"
	default:
		return 0, invalid("invalid mtime_after: unknown duration unit %q (expected 'd' or 'h')", s[len(s)-1:])
	}
	if n > limit {
		return 0, invalid("invalid mtime_after: %s count too large: %d (max %d)", name, n, limit)
	}
	return clampNano(now.Add(-time.Duration(n) * unit)), nil
}

// clampNano is a time in nanoseconds since 1970, held within what 64 bits say.
func clampNano(t time.Time) int64 {
	switch {
	case t.Year() < 1700:
		return math.MinInt64
	case t.Year() > 2250:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// hit is a matching document.
type hit struct {
	doc   *document
	score int
	rank  int // of its type
	place int // in scanning order
}

// Search answers the documents that match, best first, with the evidence for
// each: results, coverage, and unavailable_sources when a declared source is
// not there.
func (b *Base) Search(ctx context.Context, req SearchRequest) (*canon.Object, error) {
	v, err := b.see(ctx)
	if err != nil {
		return nil, err
	}
	q, err := req.compile(v, b.now())
	if err != nil {
		return nil, err
	}
	if v.scanErr != nil {
		return nil, v.scanErr
	}
	if err := v.loadingManifest(); err != nil {
		return nil, err
	}
	q.lookUp(v.docs, &b.words)
	hits, err := q.run(ctx, v.docs)
	if err != nil {
		return nil, err
	}
	page := q.page(hits)
	rows := make([]any, len(page))
	var l loader
	defer l.close()
	for i, h := range page {
		rows[i] = q.row(h.doc, v.manifest, &l)
	}
	coverage := &canon.Object{}
	for _, d := range v.docs {
		if inScope(d, q.scope) {
			n, _ := coverage.Value(d.source.id).(int)
			coverage.Set(d.source.id, n+1)
		}
	}
	o := canon.Obj("results", rows, "coverage", coverage)
	if len(hits) > len(page) {
		o.Set("truncated", true)
		o.Set("hits", len(hits))
	}
	addMissing(o, v.missing)
	return o, nil
}

// lookUp prepares the documents, on all processors, and finds the words in the
// lexicon.
func (q *query) lookUp(docs []*document, v *lexicon) {
	if len(q.words) == 0 && q.pathRef == "" {
		return
	}
	_ = inParts(len(docs), 64, func(_, from, to int) error { // nothing in it fails
		var l loader
		defer l.close()
		for _, d := range docs[from:to] {
			d.prepare(v, &l)
		}
		return nil
	})
	for _, w := range q.words {
		var whole finder
		var parts []finder
		if w != "" && !strings.ContainsFunc(w, unicode.IsSpace) {
			whole = v.find(w)
		} else {
			for part := range strings.FieldsSeq(w) {
				parts = append(parts, v.find(part))
			}
		}
		q.finders, q.parts = append(q.finders, whole), append(q.parts, parts)
	}
}

// inParts runs f over 0..n in as many parts as there are processors, unless
// the parts would be smaller than least.
func inParts(n, least int, f func(part, from, to int) error) error {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/least))
	var g errgroup.Group
	for p := range parts {
		g.Go(func() error { return f(p, p*n/parts, (p+1)*n/parts) })
	}
	return g.Wait()
}

// run scores every document, on all processors.
func (q *query) run(ctx context.Context, docs []*document) ([]hit, error) {
	found := make([][]hit, runtime.GOMAXPROCS(0))
	err := inParts(len(docs), 256, func(part, from, to int) error {
		var l loader
		defer l.close()
		for i, d := range docs[from:to] {
			if i%512 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if score, ok := q.score(d, &l); ok {
				found[part] = append(found[part], hit{d, score, rankOf(d.typ), from + i})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := found[0]
	for _, f := range found[1:] {
		out = append(out, f...)
	}
	return out, nil
}

// score is what a document earns, or not ok when a filter leaves it out: a
// hundred for each step of specificity, and the capped number of occurrences.
func (q *query) score(d *document, l *loader) (int, bool) {
	if !inScope(d, q.scope) || q.types != nil && !q.types[d.typ] ||
		q.status != "" && d.status != q.status || d.stamp.mtime <= q.after && q.after != math.MinInt64 {
		return 0, false
	}
	steps := 0
	if q.pathRef != "" {
		for _, r := range d.searched().refs {
			steps = max(steps, specificity(r.token, q.pathRef))
		}
		if steps == 0 {
			return 0, false
		}
	}
	if len(q.words) == 0 {
		return 100 * steps, true
	}
	matched, occurrences := false, 0
	for i, w := range q.words {
		n := q.bodyCount(d, i, l)
		s := d.searched().wordSpecificity(w, n)
		if s == 0 && !q.any {
			return 0, false
		}
		matched = matched || s > 0
		steps += s
		occurrences += n
		if s == 3 {
			occurrences += countUpTo(d.searched().lowTitle, w)
		}
	}
	if !matched {
		return 0, false
	}
	return 100*steps + min(occurrenceCap, occurrences), true
}

// bodyCount is how often the i-th word occurs in a body, up to occurrenceCap.
// The text is read for a phrase whose words are all there, and for a document
// whose words could not all be counted.
func (q *query) bodyCount(d *document, i int, l *loader) int {
	words := &d.searched().words
	if f := q.finders[i]; f != nil && words.whole {
		return f.occurrences(words.counts)
	}
	for _, f := range q.parts[i] {
		if words.whole && f.occurrences(words.counts) == 0 {
			return 0
		}
	}
	data, ok := l.read(d)
	if !ok {
		return 0
	}
	return countUpTo(strings.ToLower(string(data[d.searchFrom(len(data)):])), q.words[i])
}

// wordSpecificity is 3 for a word in the title, 2 in a heading line, 1
// elsewhere in the body, 0 when it does not occur.
func (p *prepared) wordSpecificity(word string, inBody int) int {
	switch {
	case strings.Contains(p.lowTitle, word):
		return 3
	case inBody == 0:
		return 0
	case !strings.Contains(word, "\n") && strings.Contains(p.headings, word):
		return 2
	}
	return 1
}

// countUpTo counts a word in a text, up to occurrenceCap.
func countUpTo(text, word string) int {
	n := 0
	for n < occurrenceCap {
		i := strings.Index(text, word)
		if i < 0 {
			break
		}
		n++
		text = text[i+max(1, len(word)):]
	}
	return n
}

// row is a result as the answer shows it.
func (q *query) row(d *document, m *manifest, l *loader) *canon.Object {
	read := &opened{}
	if q.full || len(q.words) > 0 || q.pathRef != "" {
		if o, ok := l.open(d); ok {
			read = o
		}
	}
	o := canon.Obj("path", valid(d.path), "title", d.title, "type", valid(d.typ))
	if d.status != "" {
		o.Set("status", d.status)
	}
	o.Set("mtime", d.mtime())
	if len(d.tags) > 0 {
		o.Set("tags", d.tags)
	}
	d.annotate(o)
	o.Set("matches", q.evidence(d, read))
	if q.full {
		if body := valid(read.body(d)); body != "" {
			o.Set("body", body)
		}
	}
	o.Set("incoming_relations", m.incoming(d))
	o.Set("outgoing_relations", m.outgoing(d))
	return o
}

// evidence is why a document matched: its references in the order they were
// found, then one entry for each word.
func (q *query) evidence(d *document, read *opened) []any {
	out := []any{}
	add := func(kind, ref string, specificity int, excerpt string) {
		out = append(out, canon.Obj("kind", kind, "ref", valid(ref), "specificity", specificity, "excerpt", excerpt))
	}
	if q.pathRef != "" {
		for _, r := range d.searched().refs {
			s := specificity(r.token, q.pathRef)
			if s == 0 {
				continue
			}
			kind := "path_ref_mention"
			if r.explicit {
				kind = "path_ref_explicit"
			}
			add(kind, r.token, s, read.text.excerpt(int(r.at), int(r.at)+len(r.token)))
		}
	}
	body := read.text.low[read.lowBody:]
	for _, w := range q.words {
		at := strings.Index(body, w)
		s := d.searched().wordSpecificity(w, at+1)
		switch {
		case s == 3:
			title := newText(d.title)
			in := strings.Index(title.low, w)
			add("content", w, s, title.excerpt(title.original(in), title.original(in+len(w))))
		case s > 0:
			at += read.lowBody
			add("content", w, s, read.text.excerpt(read.text.original(at), read.text.original(at+len(w))))
		}
	}
	return out
}

// incoming and outgoing are the relations of a document as rows show them,
// empty for a mounted one: relations connect local documents.
func (m *manifest) incoming(d *document) []any {
	if d.source.global {
		return []any{}
	}
	return m.edges(m.in[d.rel], func(t triple) string { return t.Source })
}

func (m *manifest) outgoing(d *document) []any {
	if d.source.global {
		return []any{}
	}
	return m.edges(m.out[d.rel], func(t triple) string { return t.Target })
}

func (m *manifest) edges(places []int32, other func(triple) string) []any {
	out := make([]any, 0, len(places))
	for _, i := range places {
		t := m.relations[i]
		out = append(out, canon.Obj("path", valid(basePrefix+other(t)), "type", t.Type))
	}
	return out
}
