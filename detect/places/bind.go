package places

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/internal/address"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// binding is a role that a cue gives a place.
type binding struct {
	role       string
	negated    bool
	cue        string
	start, end int
	rule       *packs.RoleRule
	tier       int
}

// bind returns the spans, with those that a pair of cues adds, and the bindings
// of each. Pairs come first.
func (d *doc) bind(cues []cue, spans []span) ([]span, [][]binding) {
	pairs := map[int][]binding{} // by the start of the span
	for _, c := range cues {
		if c.rule.Kind == "pair" {
			spans = d.bindPair(c, spans, pairs)
		}
	}
	out := make([][]binding, len(spans))
	for k, s := range spans {
		out[k] = pairs[s.start]
	}
	for _, c := range cues {
		if c.rule.Kind == "pair" {
			continue
		}
		k, tier := d.nearest(spans, c.end)
		if k < 0 || spans[k].tier < c.rule.MinSpanTier {
			continue
		}
		b := binding{c.rule.Roles[0], d.negatedBefore(c.start), c.text, c.start, c.end, c.rule, tier}
		if b.negated {
			b.role = "unknown"
		}
		out[k] = append(out[k], b)
	}
	for k, s := range spans {
		if e := d.relationEnd(s); e >= 0 {
			rule := d.words.intrinsic
			out[k] = append(out[k], binding{rule.Roles[0], false, text.Lower(d.text(s.start, e)), s.start, e, rule, 2})
		}
	}
	return spans, out
}

// relationEnd returns the end of the relation word a span begins with, or -1.
func (d *doc) relationEnd(s span) int {
	for _, relation := range d.words.relations[d.lower[s.start]] {
		if e := d.phrase(s.start, relation); e >= 0 && e < s.end && d.runes[e] == ' ' {
			return e
		}
	}
	return -1
}

// bindPair binds "between A and B" when all of it is there. A and B may be
// phrases that only this cue licenses.
func (d *doc) bindPair(c cue, spans []span, bindings map[int][]binding) []span {
	a, tier, spans := d.pairSide(spans, c.end)
	if a == nil {
		return spans
	}
	join, joinEnd := d.join(a.end, c.rule.Join)
	if joinEnd < 0 {
		return spans
	}
	b, _, spans := d.pairSide(spans, joinEnd)
	if b == nil {
		return spans
	}
	bindings[a.start] = append(bindings[a.start], binding{c.rule.Roles[0], false, c.text, c.start, c.end, c.rule, max(tier, 1)})
	bindings[b.start] = append(bindings[b.start],
		binding{c.rule.Roles[1], false, text.Lower(join), joinEnd - len([]rune(join)), joinEnd, c.rule, 2})
	return spans
}

// pairSide returns the span that follows place i: the nearest in the window, or
// a phrase licensed here that starts before it and overlaps none. The last
// result is the spans with it.
func (d *doc) pairSide(spans []span, i int) (s *span, tier int, with []span) {
	k, tier := d.nearest(spans, i)
	start, end, ok := d.licensable(i)
	if ok && len(between(spans, start, end)) == 0 && (k < 0 || start < spans[k].start) {
		s := span{start, end, licensed, nil}
		at := sort.Search(len(spans), func(k int) bool { return spans[k].start > start })
		return &s, d.gap(i, start), slices.Insert(slices.Clone(spans), at, s)
	}
	if k < 0 {
		return nil, 0, spans
	}
	return &spans[k], tier, spans
}

// join matches a joining word after place i, commas and spaces aside.
func (d *doc) join(i int, words []string) (join string, end int) {
	for i < len(d.runes) && (text.IsSpace(d.runes[i]) || d.runes[i] == ',') {
		i++
	}
	for _, w := range words {
		if e := d.phrase(i, folded(w)); e >= 0 && !d.word(e) {
			return d.text(i, e), e
		}
	}
	return "", -1
}

// negations are the words that turn a cue around, longest first.
var negations = [][]string{
	{"do", "not"}, {"no", "longer"}, {"don't"}, {"don’t"}, {"dont"}, {"doesn't"}, {"doesn’t"}, {"doesnt"},
	{"won't"}, {"won’t"}, {"wont"}, {"never"}, {"stop"}, {"not"},
}

// negatedBefore reports whether the text before a cue ends in a negation and at
// most two words.
func (d *doc) negatedBefore(i int) bool {
	before := d.runes[max(0, i-d.words.pack.MaxGap):i]
	if len(before) == 0 || !text.IsSpace(before[len(before)-1]) {
		return false
	}
	words := text.Fields(text.Lower(string(before)))
	for skip := 0; skip <= 2 && skip < len(words); skip++ {
		rest := words[:len(words)-skip]
		for _, n := range negations {
			if len(rest) >= len(n) && slices.Equal(rest[len(rest)-len(n):], n) {
				return true
			}
		}
		if strings.ContainsFunc(rest[len(rest)-1], func(r rune) bool { return !isWord(r) && r != '\'' && r != '’' }) {
			return false
		}
	}
	return false
}

// place settles the role of a span.
func (d *doc) place(s span, all []binding) Place {
	p := Place{Role: "unknown", Start: s.start, End: s.end, Evidence: []string{[]string{
		"span:cue_licensed_unverified", "span:gazetteer", "span:parsed"}[s.tier]}}
	top := 0
	for _, b := range all {
		top = max(top, b.rule.Priority)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(b binding) bool { return b.rule.Priority < top })
	tier := 0
	switch {
	case len(all) == 0:
		p.Evidence = append(p.Evidence, "cue:absent")
	case slices.ContainsFunc(all, func(b binding) bool { return b.role != all[0].role }):
		var rules []string
		last := all[0]
		for _, b := range all {
			rules = append(rules, b.rule.ID)
			if b.end > last.end {
				last = b
			}
		}
		slices.Sort(rules)
		p.Evidence = append(p.Evidence, "cue_conflict:"+strings.Join(slices.Compact(rules), "|"))
		p.setCue(last)
	default:
		best := all[0]
		for _, b := range all {
			if b.tier > best.tier || b.tier == best.tier && len(b.cue) > len(best.cue) {
				best = b
			}
		}
		p.setCue(best)
		p.Role = best.role
		switch {
		case best.role == "unknown":
			p.Evidence = append(p.Evidence, "cue:negated")
		case best.tier == 2:
			p.Evidence = append(p.Evidence, "cue:adjacent")
			tier = 2
		default:
			p.Evidence = append(p.Evidence, "cue:windowed")
			tier = 1
		}
	}
	for _, c := range d.words.pack.Confidence {
		if c.Cue == tier && c.Span == s.tier {
			p.Confidence = canon.Float(c.Confidence)
		}
	}
	d.describe(&p, s)
	return p
}

func (p *Place) setCue(b binding) {
	p.Cue, p.CueStart, p.CueEnd, p.CueRule = &b.cue, &b.start, &b.end, &b.rule.ID
}

// describe adds what the place's text says of an address and a country.
func (d *doc) describe(p *Place, s span) {
	parse := s.parse
	words := d.text(s.start, s.end)
	if parse == nil {
		parse = d.addressIn(s)
	}
	p.Jurisdiction, p.ComponentsPresent = "XX", []string{}
	if parse != nil {
		p.ComponentsPresent = parse.Parts.Names()
		if parse.Parts.Country != "" {
			p.Jurisdiction, p.JurisdictionConfidence = parse.Parts.Country, canon.Float(parse.CountryConfidence)
		}
	} else {
		switch {
		case s.tier == known && d.relationEnd(s) >= 0:
			p.ComponentsPresent = []string{"anchor"}
		case s.tier == known:
			p.ComponentsPresent = []string{"city"}
		case s.tier == parsed && d.postcode(s.start) == s.end:
			p.ComponentsPresent = []string{"postal_code"}
		}
		code, confidence := d.countryOf(words, s)
		if code != "" {
			p.Jurisdiction, p.JurisdictionConfidence = code, canon.Float(confidence)
		}
	}
	p.HasAddress = len(p.ComponentsPresent) > 0
}

// addressIn returns the first address within a span that is none itself. One
// that the span cuts is read again in the span's own words.
func (d *doc) addressIn(s span) *detect.Address {
	k := sort.Search(len(d.found), func(k int) bool { return d.found[k].End > s.start })
	if k == len(d.found) || d.found[k].Start >= s.end {
		return nil
	}
	if f := &d.found[k]; f.Start >= s.start && f.End <= s.end {
		return f
	}
	if all := detect.Addresses(d.text(s.start, s.end)); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// countryOf tells a country from the words of a place without an address.
func (d *doc) countryOf(words string, s span) (code string, confidence float64) {
	if code := d.countryNamed(text.Lower(words)); code != "" {
		return code, 0.99
	}
	outward := false
	for i := s.start; i < s.end; i++ {
		if end := d.postcode(i); end >= 0 && end <= s.end {
			return "GB", 0.95
		}
		outward = outward || d.outward(i, s.end)
	}
	for _, part := range text.Fields(words) {
		if c, confidence := address.PostalCountry(strings.Trim(part, ",")); c == "GH" {
			return c, confidence
		}
	}
	if outward {
		return "GB", 0.85
	}
	for _, n := range []int{6, 5, 4} {
		for i := s.start; i < s.end; i++ {
			if d.edge(i) && d.digits(i, n) == i+n && d.edge(i+n) && i+n <= s.end {
				return map[int]string{6: "NG", 5: "KE", 4: "ZA"}[n], 0.7
			}
		}
	}
	return "", 0
}

// outward matches the first half of a British postcode.
func (d *doc) outward(i, limit int) bool {
	if !d.upper(i) || !d.edge(i) {
		return false
	}
	k := i + 1
	if d.upper(k) {
		k++
	}
	if d.digits(k, 1) == k {
		return false
	}
	k++
	if d.upper(k) || d.digits(k, 1) > k {
		k++
	}
	return k <= limit && d.edge(k)
}

// countryNamed returns the code of the country a text names first, the longest
// name where several begin.
func (d *doc) countryNamed(lower string) (code string) {
	at, length := len(lower), 0
	for name, c := range d.words.countries {
		if i := indexWord(lower, name); i >= 0 && (i < at || i == at && len(name) > length) {
			at, length, code = i, len(name), c
		}
	}
	return code
}

// indexWord finds a word or phrase that no word character touches.
func indexWord(s, word string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+len(word):])
		if !isWord(before) && !isWord(after) {
			return i
		}
		from = i + len(word)
	}
}
