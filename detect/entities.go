package detect

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/fault"
)

// Entity is a typed stretch of text. Like a Span it never carries the text.
type Entity struct {
	Type       string  `json:"type"`
	Start      int     `json:"start"` // code points
	End        int     `json:"end"`
	Confidence float64 `json:"confidence"`
	Source     string  `json:"source"` // african, lexicon, regex, plan, or the name of a proposer
}

// Proposer is a model that proposes entities the rules cannot know, such as
// organisations. None is built in.
type Proposer interface {
	// Name is the source its entities carry.
	Name() string
	// Propose returns entities with code point offsets into text.
	Propose(text string) ([]Entity, error)
}

// EntityOptions choose the entities. The zero value asks for all.
type EntityOptions struct {
	Types []string // in either case; empty for all
	Model Proposer // may be nil
}

// entityTypes are the types the rules find, then those a model would add.
var entityTypes = []string{
	"PERSON", "PHONE", "EMAIL", "NATIONAL_ID", "MONEY", "DATE", "URL", "ISBN",
	"ORGANIZATION", "LOCATION", "ADDRESS", "EVENT", "PRODUCT", "WORK_OF_ART",
}

// EntityTypes returns the types that may be asked for.
func EntityTypes() []string { return slices.Clone(entityTypes) }

// anywhere is no jurisdiction's code: entities are found the same everywhere.
const anywhere = "*"

const maxTypeEcho = 40 // characters of an unknown type that an error repeats

// entity is an entity in the view.
type entity struct {
	s, e   int
	typ    string
	conf   float64
	source string
}

// Entities returns the entities of a text sorted by start. A type nobody knows
// is a fault that lists the known ones.
func Entities(text string, opts EntityOptions) ([]Entity, error) {
	if len(text) > maxText {
		return nil, fault.New(fault.Limit, "the text has %d bytes; at most %d are scanned at once", len(text), maxText)
	}
	want := map[string]bool{}
	for _, t := range opts.Types {
		u := strings.ToUpper(t)
		if !slices.Contains(entityTypes, u) {
			if len(t) > maxTypeEcho {
				t = t[:maxTypeEcho]
			}
			return nil, fault.New(fault.Invalid, "entity_types: %q is no entity type; known are %s", t, strings.Join(entityTypes, ", "))
		}
		want[u] = true
	}
	w := newView(text, true)
	list := entitiesOf(w, want)
	if w.joined {
		apart := newView(text, false)
		list = addApart(list, w, entitiesOf(apart, want), apart)
	}
	out := finishEntities(text, w, list)
	if opts.Model != nil {
		more, err := opts.Model.Propose(text)
		if err != nil {
			return nil, err
		}
		out = addProposed(out, more, opts.Model.Name())
	}
	if len(want) > 0 {
		out = slices.DeleteFunc(out, func(e Entity) bool { return !want[e.Type] })
	}
	return out, nil
}

// collector gathers entities step by step and answers what is still free.
type collector struct {
	x   *lexed
	all []entity
}

// entitiesOf runs the steps of the wanted types (all when none is named) in
// their published order; the result is sorted. A type nobody asked for does
// not keep another from its place.
func entitiesOf(w *view, want map[string]bool) []entity {
	c := &collector{x: lex(w)}
	wanted := func(t string) bool { return len(want) == 0 || want[t] }
	var planned []entity
	if wanted("ISBN") {
		c.addFree(c.x.isbns())
	}
	if wanted("PHONE") {
		planned = c.addPhones()
	}
	if wanted("PERSON") {
		c.addFree(c.x.personSpans())
	}
	if wanted("EMAIL") {
		c.add(c.x.anyEmails())
	}
	if wanted("NATIONAL_ID") {
		c.addIDs(c.x.africa(anywhere))
	}
	if wanted("MONEY") {
		c.add(c.x.localMoney())
		c.addFree(c.x.money())
	}
	if wanted("DATE") {
		for _, dates := range c.x.dates() {
			c.addFree(dates)
		}
	}
	if wanted("URL") {
		c.add(c.x.urls())
	}
	c.addFree(planned)
	slices.SortStableFunc(c.all, func(a, b entity) int { return cmp.Compare(a.s, b.s) })
	return c.all
}

// addPhones adds the telephone numbers that the published plans or groups of
// digits show, and returns those that only a numbering plan knows.
func (c *collector) addPhones() []entity {
	var known, planned []entity
	for _, p := range c.x.phones(defaultRegion, nil, nil) {
		if p.published {
			known = append(known, entity{p.s, p.e, "PHONE", phoneConf, "african"})
		} else {
			planned = append(planned, entity{p.s, p.e, "PHONE", p.conf, "plan"})
		}
	}
	c.addFree(known)
	c.addFree(c.x.anyPhones())
	return planned
}

func (c *collector) add(list []entity) { c.all = append(c.all, list...) }

// addFree adds those of a list, which do not overlap each other, that overlap
// nothing found before.
func (c *collector) addFree(list []entity) {
	if len(list) == 0 {
		return
	}
	taken := newTaken(c.all)
	for _, e := range list {
		if !taken.overlaps(e.s, e.e) {
			c.all = append(c.all, e)
		}
	}
}

// addIDs adds identifiers: they give way to all but telephone numbers, which
// they replace.
func (c *collector) addIDs(ids []found) {
	others := slices.DeleteFunc(slices.Clone(c.all), func(e entity) bool { return e.typ == "PHONE" })
	taken := newTaken(others)
	var kept []entity
	for _, f := range ids {
		if !taken.overlaps(f.s, f.e) {
			kept = append(kept, entity{f.s, f.e, "NATIONAL_ID", f.conf, "african"})
		}
	}
	replaced := newTaken(kept)
	c.all = slices.DeleteFunc(c.all, func(e entity) bool { return e.typ == "PHONE" && replaced.overlaps(e.s, e.e) })
	c.all = append(c.all, kept...)
}

// taken answers overlap questions in logarithmic time.
type taken struct{ starts, reach []int }

func newTaken(list []entity) taken {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b entity) int { return cmp.Compare(a.s, b.s) })
	t := taken{make([]int, len(sorted)), make([]int, len(sorted))}
	far := 0
	for i, e := range sorted {
		far = max(far, e.e)
		t.starts[i], t.reach[i] = e.s, far
	}
	return t
}

func (t taken) overlaps(s, e int) bool {
	i, _ := slices.BinarySearch(t.starts, e)
	return i > 0 && t.reach[i-1] > s
}

// personSpans joins neighbouring words of names: white space, or white space
// around one initial, between them. Two words or more make a person.
func (x *lexed) personSpans() []entity {
	lex := x.lexiconNames()
	hits := slices.DeleteFunc(x.people(lex), func(h nameHit) bool { return x.s[h.s:h.e] == strings.ToLower(x.s[h.s:h.e]) })
	var out []entity
	for i := 0; i < len(hits); {
		j := i + 1
		for j < len(hits) && x.joinsNames(hits[j-1].e, hits[j].s) {
			j++
		}
		if j-i >= 2 {
			out = append(out, entity{hits[i].s, hits[j-1].e, "PERSON", nameConf, "lexicon"})
		}
		i = j
	}
	return out
}

func (x *lexed) joinsNames(e, s int) bool {
	p := x.skipSpace(e)
	if p == s {
		return p > e
	}
	if p == e || p >= s || !is(x.s[p], cUpper) {
		return false
	}
	if p++; p < s && x.s[p] == '.' {
		p++
	}
	q := x.skipSpace(p)
	return q == s && q > p
}

// addApart adds what only the view with format characters shows.
func addApart(list []entity, w *view, more []entity, apart *view) []entity {
	var have []entity
	for _, e := range list {
		have = append(have, entity{s: w.origStart(e.s), e: w.origEnd(e.e)})
	}
	taken := newTaken(have)
	for _, e := range more {
		s, end := apart.origStart(e.s), apart.origEnd(e.e)
		if !taken.overlaps(s, end) {
			e.s, e.e = w.viewStart(s), w.viewStart(end)
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b entity) int { return cmp.Compare(a.s, b.s) })
	return list
}

func finishEntities(text string, w *view, list []entity) []Entity {
	spans := make([]Span, len(list))
	for i, e := range list {
		spans[i] = Span{ByteStart: w.origStart(e.s), ByteEnd: w.origEnd(e.e)}
	}
	countRunes(text, spans)
	out := make([]Entity, len(list))
	for i, e := range list {
		out[i] = Entity{e.typ, spans[i].Start, spans[i].End, math.Round(e.conf*1e4) / 1e4, e.source}
	}
	return out
}

// addProposed adds a model's entities where the rules found nothing.
func addProposed(out, more []Entity, source string) []Entity {
	var have []entity
	for _, e := range out {
		have = append(have, entity{s: e.Start, e: e.End})
	}
	taken := newTaken(have)
	for _, e := range more {
		if e.Start < e.End && !taken.overlaps(e.Start, e.End) {
			e.Source = source
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Entity) int { return cmp.Compare(a.Start, b.Start) })
	return out
}
