package resolve

import (
	"math"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/internal/text"
)

// slack keeps a bound from discarding a pair that rounding would keep.
const slack = 1e-9

// scorer scores pairs of two sides. One per goroutine; it does not allocate
// while it scores.
type scorer struct {
	s      *store
	p      *plan
	a, b   *side
	floor  float64 // review floor
	sims   []float64
	match  []*text.Matcher // by comparator; made when first needed
	names  nameScratch
	addr   addressScratch
	rival  rivalScratch
	rowA   []int32 // values of the rows being compared
	rowB   []int32
	prunes bool
	cols   int // where the summary of a row starts

	masked  bool   // rows say what comparators find in them
	hasA    uint32 // of the row of A
	both    uint32 // comparators that apply to the last pair, of which pending is the weight
	pending float64

	evidence []canon.Member // of the last verdict

	wordsA []int32 // words of the row of A that fit into its summary
	rareA  []float64
	weighA float64
}

func newScorer(s *store, a, b *side, floor float64) *scorer {
	p := s.plan
	w := &scorer{s: s, p: p, a: a, b: b, floor: floor, sims: make([]float64, len(p.comps)), match: make([]*text.Matcher, len(p.comps)),
		prunes: p.prunable && floor > 0, cols: len(p.columns), masked: len(p.comps) <= mostMasked}
	for i := range w.sims {
		w.sims[i] = nothing
	}
	return w
}

// effort orders comparators by what an evaluation costs; an error that a
// comparator can raise must not be pruned away, so containment comes first.
func effort(k kind) int {
	switch k {
	case kindContainment:
		return 0
	case kindID, kindEmail, kindCategory, kindPhone, kindLegalForm, kindType, kindPremises, kindPostcode, kindNumbers:
		return 1
	case kindDate:
		return 2
	case kindTFToken, kindTokenSet:
		return 3
	case kindCode, kindSpec, kindRival:
		return 4
	case kindGeo:
		return 5
	case kindPlaceName, kindQualifier:
		return 6
	case kindName:
		return 7
	}
	return 8
}

// screenOrder is the order in which comparators are evaluated while a pair may
// still be given up: those that carry weight, cheapest first. It also says
// whether pairs can be given up at all: every weight must be a number that is
// not negative.
func (p *plan) screenOrder() {
	p.prunable = true
	for i := range p.comps {
		c := &p.comps[i]
		if c.noField || !c.weighs || !(c.weight >= 0) || math.IsInf(c.weight, 0) {
			p.prunable = false
		}
		if !c.off && (c.weight != 0 || c.kind == kindContainment) {
			p.order = append(p.order, i)
		} else {
			p.unscreened = append(p.unscreened, i)
		}
	}
	slices.SortStableFunc(p.order, func(x, y int) int { return effort(p.comps[x].kind) - effort(p.comps[y].kind) })
}

// mayFail reports whether comparing two records can be an error.
func (p *plan) mayFail() bool {
	for i := range p.comps {
		if c := &p.comps[i]; c.kind == kindContainment || c.noField || !c.weighs {
			return true
		}
	}
	return false
}

// screen computes the score of a pair, unless it cannot reach the floor. ok is
// false when the pair is not surfaced.
//
// What a comparator has yet to say is at most 1 with its weight, and a
// comparator that turns out not to apply only lowers what is possible, because
// the mean is at most 1.
func (w *scorer) screen(i, j int32) (score float64, ok bool, err error) {
	w.from(i)
	return w.with(i, j)
}

// from makes a row of A the one that rows of B are compared with.
func (w *scorer) from(i int32) {
	w.rowA = w.a.row(i)
	w.wordsA = w.wordsA[:0]
	if !w.prunes {
		return
	}
	summary := w.rowA[w.cols:]
	w.hasA = uint32(summary[summaryHas])
	w.both, w.pending = 0, 0
	if w.a.inline == 0 || w.b.inline == 0 || summary[summaryWords] < 0 || w.rowA[w.p.sketched] < 0 {
		return
	}
	w.rareA, w.weighA = w.rareA[:0], 0
	for _, id := range summary[summaryWords:] {
		if id < 0 {
			break
		}
		w.wordsA = append(w.wordsA, id)
		w.rareA = append(w.rareA, w.s.toks.rarity[id])
		w.weighA += w.s.toks.rarity[id]
	}
}

// with screens the row of A and a row of B.
func (w *scorer) with(i, j int32) (score float64, ok bool, err error) {
	w.rowB = w.b.row(j)
	if !w.prunes {
		if err := w.all(i, j); err != nil {
			return 0, false, err
		}
		score, ok = w.total()
		return score, ok && !(score < w.floor), nil
	}
	pending := w.weightOf(i, j)
	num, den := 0.0, 0.0
	for _, c := range w.p.order {
		w.sims[c] = nothing
		if !w.applies(c, i, j) {
			continue
		}
		wt := w.p.comps[c].weight
		if wt > 0 {
			if least := ((w.floor-slack)*(den+pending) - (num + pending - wt)) / wt; least > 0 && w.below(c, least) {
				return 0, false, nil
			}
		}
		s, err := w.similarity(c, i, j)
		if err != nil {
			return 0, false, err
		}
		pending -= wt
		w.sims[c] = s
		if !math.IsNaN(s) {
			num += wt * s
			den += wt
		}
		if num+pending < (w.floor-slack)*(den+pending) {
			return 0, false, nil
		}
	}
	score, ok = w.total()
	return score, ok && !(score < w.floor), nil
}

// touch looks for what the first comparators read of rows of B, side by side and
// not one after the other as rows are compared. What it returns means nothing.
func (w *scorer) touch(rows []int32) int32 {
	sum := w.b.touch(rows)
	for _, c := range w.p.order {
		cmp := &w.p.comps[c]
		if effort(cmp.kind) > effort(kindDate) {
			break
		}
		if cmp.kind != kindDate {
			continue
		}
		for _, j := range rows {
			if ref := w.b.ref(cmp.column, j); ref >= 0 {
				sum += int32(w.s.feats[c].dates[ref].precision)
			}
		}
	}
	return sum
}

// weightOf is the weight of the comparators that apply to a pair.
func (w *scorer) weightOf(i, j int32) float64 {
	if w.masked {
		both := w.hasA & uint32(w.rowB[w.cols+summaryHas])
		if both == w.both {
			return w.pending
		}
		w.both = both
	}
	w.pending = 0
	for _, c := range w.p.order {
		if w.applies(c, i, j) {
			w.pending += w.p.comps[c].weight
		}
	}
	return w.pending
}

// applies reports whether both rows have what a comparator reads.
func (w *scorer) applies(c int, i, j int32) bool {
	if w.masked {
		return w.both>>c&1 != 0
	}
	cmp := &w.p.comps[c]
	if cmp.kind == kindGeo {
		return w.a.usable(cmp.geo, i) && w.b.usable(cmp.geo, j)
	}
	return w.rowA[cmp.column] >= 0 && w.rowB[cmp.column] >= 0
}

// total is the weighted mean of the similarities, in the comparators' order.
// Comparators without weight add nothing, so screening does not compute them.
func (w *scorer) total() (score float64, ok bool) {
	num, den := 0.0, 0.0
	for c, s := range w.sims {
		wt := w.p.comps[c].weight
		if math.IsNaN(s) || wt == 0 {
			continue
		}
		num += float64(wt * s)
		den += wt
	}
	if den == 0 {
		return 0, false
	}
	return num / den, true
}

// all computes every similarity of a pair.
func (w *scorer) all(i, j int32) error {
	w.rowA, w.rowB = w.a.row(i), w.b.row(j)
	for c := range w.p.comps {
		cmp := &w.p.comps[c]
		if cmp.noField {
			return cmp.lateError()
		}
		s, err := w.similarity(c, i, j)
		if err != nil {
			return err
		}
		if !math.IsNaN(s) && !cmp.weighs {
			return cmp.weightError()
		}
		w.sims[c] = s
	}
	return nil
}

// similarity compares a pair by one comparator; nothing when it does not apply.
func (w *scorer) similarity(c int, i, j int32) (float64, error) {
	cmp := &w.p.comps[c]
	if cmp.off {
		return nothing, nil
	}
	if cmp.kind == kindGeo {
		km, ok := distanceKm(w.a.point(cmp.geo, i), w.b.point(cmp.geo, j))
		if !ok {
			return nothing, nil
		}
		return nearness(km, cmp.decay), nil
	}
	ra, rb := w.rowA[cmp.column], w.rowB[cmp.column]
	if ra < 0 || rb < 0 {
		return nothing, nil
	}
	if cmp.kind == kindContainment {
		return w.containment(c, i, j, ra, rb)
	}
	return w.compare(c, i, j, ra, rb), nil
}

// compare compares two values that are both there.
func (w *scorer) compare(c int, i, j, ra, rb int32) float64 {
	cmp, f, col := &w.p.comps[c], &w.s.feats[c], &w.s.cols[w.p.comps[c].column]
	switch cmp.kind {
	case kindName:
		return w.name(c, col, ra, rb)
	case kindPlaceName:
		return w.placeName(c, &col.norms[ra], &col.norms[rb])
	case kindTFToken:
		return w.weightedTokens(cmp, col, ra, rb)
	case kindTokenSet:
		return w.tokenSet(col, ra, rb)
	case kindID, kindEmail, kindCategory:
		if s := equalKeys(f.keys[ra], f.keys[rb]); s == 1 || len(f.cores) == 0 {
			return s
		}
		return nearID * equalKeys(f.cores[ra], f.cores[rb])
	case kindType, kindPremises, kindNumbers:
		if len(f.premises) > 0 {
			return comparePremises(&f.premises[ra], &f.premises[rb])
		}
		if f.keys[ra] < 0 || f.keys[rb] < 0 {
			return nothing
		}
		return equalKeys(f.keys[ra], f.keys[rb])
	case kindLegalForm:
		return w.s.forms.compare(legalForm(f.keys[ra]), legalForm(f.keys[rb]))
	case kindPhone:
		return comparePhones(f.phones[ra], f.phones[rb])
	case kindDate:
		if w.p.v2 {
			return compareDatesV2(&f.dates[ra], &f.dates[rb])
		}
		return compareDates(&f.dates[ra], &f.dates[rb])
	case kindAddress:
		g := w.p.addressGrammar()
		return f.addresses.compare(f.addresses.parsed(ra, g), f.addresses.parsed(rb, g), &w.addr)
	case kindPostcode:
		return comparePostcodes(f.postcodes[ra], f.postcodes[rb], func() float64 { return w.doubt(cmp, i, j) })
	case kindQualifier:
		if !f.hasQual[ra] || !f.hasQual[rb] {
			return nothing
		}
		return w.placeName(c, &f.quals[ra], &f.quals[rb])
	case kindSpec:
		return cmp.product.compareSpecs(&f.specs[ra], &f.specs[rb])
	case kindCode:
		return w.code(cmp, f, ra, rb)
	case kindRival:
		return w.rivals(cmp, col, ra, rb)
	}
	return nothing
}

func equalKeys(a, b int32) float64 {
	if a >= 0 && a == b {
		return 1
	}
	return 0
}

func (w *scorer) doubt(cmp *comparator, i, j int32) float64 {
	return doubt(w.a.point(cmp.geo, i), w.b.point(cmp.geo, j), cmp.boundary)
}

func (w *scorer) containment(c int, i, j, ra, rb int32) (float64, error) {
	cmp, f := &w.p.comps[c], &w.s.feats[c]
	a, b := &f.admin[ra], &f.admin[rb]
	if a.empty || b.empty {
		return nothing, nil
	}
	for _, p := range [...]*adminPath{a, b} {
		if p.invalid != "" {
			return 0, fault.New(fault.Invalid, "field %q holds %s where an administrative path belongs", cmp.field, p.invalid).
				WithHint("give an object with the keys admin1, admin2, settlement, outermost first; each may be left out")
		}
	}
	return compareAdmin(a, b, func() float64 { return w.doubt(cmp, i, j) }), nil
}

func (w *scorer) matcher(c int) *text.Matcher {
	if w.match[c] == nil {
		w.match[c] = new(text.Matcher)
	}
	return w.match[c]
}

func (w *scorer) placeName(c int, a, b *text.Prepared) float64 {
	switch {
	case a.Text() == "" || b.Text() == "":
		return 0
	case a == b || a.Text() == b.Text():
		return 1
	}
	return w.matcher(c).Fuzzy(a, b)
}

func (w *scorer) name(c int, col *column, ra, rb int32) float64 {
	a, b := &col.norms[ra], &col.norms[rb]
	switch {
	case a.Text() == "" || b.Text() == "":
		return 0
	case ra == rb || a.Text() == b.Text():
		return 1
	}
	if !w.s.words.mayEquate(col, ra, rb) {
		return w.matcher(c).Fuzzy(a, b)
	}
	if s, ok := w.s.words.equivalence(col.form(ra), col.form(rb), col.words.at(ra), col.words.at(rb), &w.names); ok {
		return s
	}
	return w.matcher(c).Fuzzy(a, b)
}

// wordsOf are the words that a row holds itself, nil when it does not hold those
// that a comparator compares.
func (w *scorer) wordsOf(cmp *comparator, sd *side, row []int32) []int32 {
	if sd.inline == 0 || cmp.column != w.p.sketched {
		return nil
	}
	words := row[w.cols+summaryWords:]
	if words[0] == manyInline {
		return nil
	}
	if n := slices.Index(words, noWord); n >= 0 {
		words = words[:n]
	}
	return words
}

// mayShare reports whether the names of two rows can share a word.
func (w *scorer) mayShare() bool {
	a, b := w.rowA[w.cols+summaryBits:], w.rowB[w.cols+summaryBits:]
	return a[0]&b[0]|a[1]&b[1] != 0
}

func (w *scorer) weightedTokens(cmp *comparator, col *column, ra, rb int32) float64 {
	if cmp.column == w.p.sketched && !cmp.hausa && !w.mayShare() {
		return 0
	}
	t := w.s.toks
	a, b := w.wordsOf(cmp, w.a, w.rowA), w.wordsOf(cmp, w.b, w.rowB)
	if a == nil {
		a = col.plain.at(ra)
	}
	if b == nil {
		b = col.plain.at(rb)
	}
	s := t.weighted(a, b)
	if w.p.rarity.possessive {
		s = max(s, t.weighted(col.joint.at(ra), col.joint.at(rb)))
	}
	if cmp.hausa {
		s = max(s, w.s.keyedTokens(col, ra, rb))
	}
	return s
}

func (w *scorer) tokenSet(col *column, ra, rb int32) float64 {
	sets := w.s.ruleSets(col)
	a, b := sets.at(ra), sets.at(rb)
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return float64(w.s.toks.countShared(a, b)) / float64(min(len(a), len(b)))
}

func (w *scorer) code(cmp *comparator, f *features, ra, rb int32) float64 {
	a, b := f.codes.at(ra), f.codes.at(rb)
	if len(a) == 0 || len(b) == 0 {
		return nothing
	}
	table := w.s.tables[cmp.category]
	best := 0.0
	w.s.codes.shared(a, b, func(id int32) {
		best = max(best, table.worth(w.s.codes.text[id]))
	})
	return best
}

// dialPrefixes are the country codes that a leading zero stands for.
var dialPrefixes = [...]string{"234", "233", "254", "27", "225", "221"}

func comparePhones(a, b string) float64 {
	if a == "" || b == "" {
		return 0
	}
	if a == b || sameDialled(a, b) || sameDialled(b, a) {
		return 1
	}
	return 0
}

func sameDialled(international, local string) bool {
	rest, ok := strings.CutPrefix(local, "0")
	if !ok {
		return false
	}
	for _, p := range dialPrefixes {
		if strings.HasPrefix(international, p) && international[len(p):] == rest {
			return true
		}
	}
	return false
}

// rivalScratch holds token lists while rivalry is judged.
type rivalScratch struct{ onlyA, onlyB, a, b []int32 }

// rivals is 0 when each side has a rare word of its own that is no form of the
// other's words, so that what both share is only what they sell; else nothing.
func (w *scorer) rivals(cmp *comparator, col *column, ra, rb int32) float64 {
	t, r := w.s.toks, &w.rival
	allA, allB := w.s.ruleSets(col).at(ra), w.s.ruleSets(col).at(rb)
	r.onlyA, r.onlyB = minus(r.onlyA[:0], allA, allB), minus(r.onlyB[:0], allB, allA)
	r.a = t.unrelated(r.a[:0], r.onlyA, r.onlyB)
	r.b = t.unrelated(r.b[:0], r.onlyB, allA)
	if len(r.a) == 0 || len(r.b) == 0 {
		return nothing
	}
	cut := float64(cmp.rivalFloor * w.s.ceiling)
	if w.s.sharedRarity(col, ra, rb) >= cut {
		return nothing
	}
	if w.rarestName(r.a) >= cut && w.rarestName(r.b) >= cut {
		return 0
	}
	return nothing
}

// rarestName is the rarity of the rarest token that is no ordinary English
// word, below any cut when there is none.
func (w *scorer) rarestName(ids []int32) float64 {
	best := math.Inf(-1)
	for _, id := range ids {
		if w.s.ordinary[id] == 0 {
			best = max(best, w.s.toks.rarity[id])
		}
	}
	return best
}

// minus is the tokens of a that are not in b.
func minus(out, a, b []int32) []int32 {
	for _, x := range a {
		if !containsID(b, x) {
			out = append(out, x)
		}
	}
	return out
}

func containsID(list []int32, x int32) bool {
	return slices.Contains(list, x)
}

// unrelated keeps the tokens of a that neither contain nor are contained in a
// token of b.
func (t *tokens) unrelated(out, a, b []int32) []int32 {
	for _, x := range a {
		related := false
		for _, y := range b {
			if strings.Contains(t.text[x], t.text[y]) || strings.Contains(t.text[y], t.text[x]) {
				related = true
				break
			}
		}
		if !related {
			out = append(out, x)
		}
	}
	return out
}
