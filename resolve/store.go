package resolve

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/arche-ledger/arche/internal/address"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// store holds the features of all records of a call: every distinct value of a
// field is read once, records hold numbers of values.
type store struct {
	grows   bool // records are added for ever, one by one
	plan    *plan
	toks    *tokens // of names, for rarity
	phrases *tokens // word pairs that the phrase table counts
	words   *nameWords
	keys    *tokens // ids, e-mails, categories and other texts that agree or not
	codes   *tokens
	cols    []column
	feats   []features // by comparator
	tables  map[string]*codeTable
	forms   *formTable
	hausa   *packs.Orthography
	domains map[string]*vocabulary

	work, list []int32 // scratch while keys are gathered

	// What calibration counts: plain tokens of the fields that weigh tokens.
	counts   []int64 // by token
	total    int64
	tfPin    string
	ceiling  float64 // rarity of the rarest counted token
	english  *packs.Table
	ordinary []int8 // by token: 1 for an ordinary English word
}

// column is one field as comparators read it.
type column struct {
	spec   columnSpec
	strip  *vocabulary
	values textIndex // of the texts of values
	texts  []string
	refs   []int32 // by text: the value's number
	asked  int     // how often values were looked up

	forgets bool    // see recent
	total   int     // records to read
	recent  *recent // in place of all these

	// Numbers of tokens, phrases, keys and codes. Columns are read side by side
	// and number for themselves; seal brings the numbers together. In a corpus
	// all columns share one numbering from the start.
	toks, phrases, keys, codes *tokens
	list, work                 []int32
	word                       []byte

	norms    []text.Prepared
	forms    []text.Prepared // name forms that differ from the normal form
	formAt   []int32         // which of them is the value's; -1 for the normal form
	words    spans           // of name forms
	bags     []bag           // of normal forms
	sketch   []uint64        // what the words of name forms lead to
	plain    spans           // token sets
	joint    spans           // token sets with joined possessives, when the table has that rule
	high     []float64       // rarity of the rarest token that is rare
	pairs    spans           // phrases
	block    spans           // words that find candidates
	blockIDs []int32         // identifiers that find candidates, -1 none
	spelled  [][]spellingKey // keys under spelling rules, when a comparator asks for them
	blank    []bool          // raw value that counts as absent when rarity is asked

	long bool // a value was too long to be compared

	// For calibration: how many records hold the value, and tokens that occur
	// more than once in it, each further time.
	uses  []int64
	twice spans
	nulls int64 // records where the field is there and null
}

// features are one comparator's readings of its column's values.
type features struct {
	keys      []int32 // -1 for an empty key, which agrees with nothing
	cores     []int32 // keys of identifiers without leading zeros
	phones    []string
	dates     []date
	addresses addresses
	postcodes []postcode
	premises  []premises // of the second engine
	specs     []specs
	codes     spans
	quals     []text.Prepared
	hasQual   []bool
	admin     []adminPath
}

// vocabularies are the synonyms of types by domain, of the plan's pack version.
func (p *plan) vocabularies() (map[string]*vocabulary, error) {
	domains, err := packs.TypeDomains(p.vocabularyVersion())
	if err != nil {
		return nil, err
	}
	out := make(map[string]*vocabulary, len(domains))
	for name, d := range domains {
		out[name] = &vocabulary{synonyms: d.Synonyms, pin: d.Pin, norm: text.Norm}
	}
	return out, nil
}

func newStore(p *plan) (*store, error) {
	toks := newTokens()
	words, err := newNameWords(toks)
	if err != nil {
		return nil, err
	}
	forms, err := legalForms()
	if err != nil {
		return nil, err
	}
	s := &store{plan: p, toks: toks, phrases: newTokens(), words: words, keys: newTokens(), codes: newTokens(),
		forms: forms, feats: make([]features, len(p.comps)), tables: make(map[string]*codeTable)}
	if s.domains, err = p.vocabularies(); err != nil {
		return nil, err
	}
	if p.v2 {
		s.forms, s.domains["organization"] = p.reading.forms, p.reading.organisation
	}
	languages, err := packs.Orthographies()
	if err != nil {
		return nil, err
	}
	if rules, ok := languages["hausa"]; ok {
		s.hausa = &rules
	}
	for _, spec := range p.columns {
		s.cols = append(s.cols, column{spec: spec, strip: s.domains[spec.stripType],
			toks: newTokens(), phrases: newTokens(), keys: newTokens(), codes: newTokens()})
	}
	return s, nil
}

// stayOpen lets records be added for ever: all columns share one numbering,
// and lists are kept sorted by text.
func (s *store) stayOpen() {
	s.grows = true
	s.toks.open, s.phrases.open, s.codes.open = true, true, true
	for _, t := range [...]*tokens{s.toks, s.phrases, s.keys, s.codes} {
		t.stayOpen()
	}
	for i := range s.cols {
		c := &s.cols[i]
		c.toks, c.phrases, c.keys, c.codes = s.toks, s.phrases, s.keys, s.codes
	}
}

// vocabularyVersion is the version of the type words.
func (p *plan) vocabularyVersion() string {
	if p.v2 {
		return PackVersion010
	}
	return p.packVersion
}

// addressGrammar is how addresses are read: the packs of 0.9 know no British
// postcodes, and what they decided stays as it was. A caller's own comparators
// read them under either version, as the published vectors do.
func (p *plan) addressGrammar() address.Grammar {
	if p.entity != "" && p.vocabularyVersion() == PackVersionDefault {
		return address.WithoutPostcodes
	}
	return address.WithPostcodes
}

// norm is the normal form of a text in this engine.
func (p *plan) norm(s string, person bool) string {
	if !p.v2 {
		return text.Norm(s)
	}
	n := p.reading.norm(s)
	if person {
		n = p.reading.personName(n)
	}
	return n
}

func (p *plan) idKey(s string) string {
	if p.v2 {
		return coreID(idV2(s))
	}
	return idKey(s)
}

// take returns the number of the record's value in a column and counts its use.
func (s *store) take(col int, rec *canon.Object) int32 {
	ref := s.ref(col, rec)
	if s.cols[col].spec.counted {
		s.cols[col].count(ref, rec)
	}
	return ref
}

// sideBySide is the number of records from which columns are read in parallel.
const sideBySide = 512

// addAll reads lists into sides, column by column, and does what else is to be
// done with the records beside.
func (s *store) addAll(ctx context.Context, sides []*side, lists [][]*canon.Object, beside ...func() error) error {
	total := 0
	for i, list := range lists {
		sides[i].grow(len(list))
		total += len(list)
	}
	var tasks []func() error
	for _, col := range s.heaviestFirst() {
		tasks = append(tasks, func() error { return s.readColumn(ctx, col, sides, lists) })
	}
	for i, f := range s.plan.geoPairs {
		tasks = append(tasks, func() error {
			for n, list := range lists {
				sides[n].points[i] = s.plan.readPoints(list, f)
			}
			return ctx.Err()
		})
	}
	tasks = append(tasks, beside...)
	if total < sideBySide {
		return inTurn(tasks)
	}
	return atOnce(tasks)
}

// inTurn runs tasks one after the other: starting goroutines would cost more
// than small tasks do.
func inTurn(tasks []func() error) error {
	for _, task := range tasks {
		if err := task(); err != nil {
			return err
		}
	}
	return nil
}

// atOnce runs tasks on all processors.
func atOnce(tasks []func() error) error {
	var group errgroup.Group
	group.SetLimit(workers())
	for _, task := range tasks {
		group.Go(task)
	}
	return group.Wait()
}

// heaviestFirst orders columns so that the one that takes longest starts first.
func (s *store) heaviestFirst() []int {
	cost := make([]int, len(s.cols))
	order := make([]int, len(s.cols))
	for i := range s.cols {
		spec := s.cols[i].spec
		order[i] = i
		for _, need := range [...]bool{spec.norm, spec.lexicon, spec.tokens, spec.rarity, spec.blockWords, spec.stripType != ""} {
			if need {
				cost[i]++
			}
		}
	}
	for i := range s.plan.comps {
		if c := &s.plan.comps[i]; c.kind == kindAddress {
			cost[c.column] += 4
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cost[b] - cost[a] })
	return order
}

// roomFor makes room for the values of n records, so that a small list does not
// grow its tables step by step.
func (c *column) roomFor(n int) {
	c.total = n
	n = min(n, 1<<13)
	if !c.spec.norm {
		const sparse = 4 // other fields are missing, or repeat, in most records
		n /= sparse
	}
	c.values.room(n)
	c.texts, c.refs, c.forgets = make([]string, 0, n), make([]int32, 0, n), true
	c.blank = make([]bool, 0, n)
	if c.spec.norm {
		c.norms = make([]text.Prepared, 0, n)
		c.bags = make([]bag, 0, n)
	}
	if c.spec.tokens || c.spec.rarity || c.spec.blockWords || c.spec.lexicon {
		c.toks.room(n)
	}
	for _, list := range []struct {
		used  bool
		spans *spans
	}{{c.spec.tokens || c.spec.rarity, &c.plain}, {c.spec.lexicon, &c.words}, {c.spec.blockWords, &c.block}} {
		if list.used {
			list.spans.ids = make([]int32, 0, 3*n)
			list.spans.ends = make([]uint32, 0, n)
		}
	}
}

// forgetCounts lets go of what only calibration needs.
func (s *store) forgetCounts() {
	for i := range s.cols {
		s.cols[i].uses, s.cols[i].twice = nil, spans{}
	}
}

// forgetKeys lets go of the blocking keys of values, once rows have theirs.
func (s *store) forgetKeys() {
	for i := range s.cols {
		s.cols[i].block, s.cols[i].blockIDs = spans{}, nil
	}
}

func (s *store) readColumn(ctx context.Context, col int, sides []*side, lists [][]*canon.Object) error {
	total := 0
	for _, list := range lists {
		total += len(list)
	}
	s.cols[col].roomFor(total)
	for i := range s.plan.comps {
		c, some := &s.plan.comps[i], min(total, 1<<13)/2
		switch {
		case c.column != col:
		case c.kind == kindDate:
			s.feats[i].dates = make([]date, 0, some)
		case c.kind == kindPhone:
			s.feats[i].phones = make([]string, 0, some)
		}
	}
	for n, list := range lists {
		sd := sides[n]
		for row, rec := range list {
			if row%ctxRows == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			sd.refs[row*sd.width+col] = s.take(col, rec)
		}
	}
	if s.cols[col].long {
		return tooLong(fmt.Sprintf("field %q of a record", s.cols[col].spec.field))
	}
	s.cols[col].forget() // large, and not asked again
	return nil
}
