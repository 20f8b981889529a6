package resolve

import (
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
)

// This file reads values: what each comparator needs of one, computed once.

// ref returns the number of the record's value in a column, -1 when missing.
func (s *store) ref(col int, rec *canon.Object) int32 {
	c := &s.cols[col]
	v, ok := s.plan.value(rec, c.spec.field)
	if !ok {
		return -1
	}
	str, isText := v.(string)
	key := str
	if !isText {
		// A number and the text that looks like it are different values.
		str = canon.Text(v)
		key = "\x00" + str
	}
	if ref, ok := c.known(key); ok {
		return ref
	}
	if c.spec.similar && len(str) > maxText {
		c.long = true
		return -1
	}
	stripped := c.stripped(str)
	ref := int32(-1)
	if stripped != "" || c.spec.stripType == "" && !c.spec.stripQualifier {
		ref = s.read(col, v, stripped)
	}
	if !s.grows { // most candidates of a corpus have values of their own
		c.know(key, ref)
	}
	return ref
}

// Where most values occur once, an index of all of them is large and finds
// little: after some thousand values a column decides to remember the last ones
// alone. A value that was forgotten is read again, under another number.
const (
	indexedFirst = 1 << 15
	recentValues = 1 << 13
)

// recent remembers values by the low bits of their hash.
type recent struct {
	hashes [recentValues]uint32 // so that the text of another value is not looked at
	keys   [recentValues]string
	refs   [recentValues]int32
}

// known returns the number that a value has, if it is remembered.
func (c *column) known(key string) (int32, bool) {
	if r := c.recent; r != nil {
		hash := textHash(key)
		at := hash % recentValues
		return r.refs[at], r.hashes[at] == hash && r.keys[at] == key && key != ""
	}
	c.asked++
	at, _, ok := c.values.find(c.texts, key)
	if !ok {
		return 0, false
	}
	return c.refs[at], true
}

func (c *column) know(key string, ref int32) {
	if r := c.recent; r != nil {
		hash := textHash(key)
		at := hash % recentValues
		r.hashes[at], r.keys[at], r.refs[at] = hash, key, ref
		return
	}
	c.values.add(int32(len(c.texts)), textHash(key))
	c.texts, c.refs = append(c.texts, key), append(c.refs, ref)
	if c.forgets && len(c.texts) == indexedFirst && c.asked < indexedFirst*5/4 {
		more := int(float64(c.total-c.asked) * float64(len(c.texts)) / float64(c.asked))
		c.forget()
		c.recent = new(recent)
		c.know(key, ref)
		c.reserve(more)
	}
}

// reserve makes room for more values like those that came, so that long lists
// do not grow step by step.
func (c *column) reserve(more int) {
	values := int(c.size())
	if values == 0 || more <= 0 {
		return
	}
	c.blank, c.norms, c.formAt = roomLike(c.blank, more), roomLike(c.norms, more), roomLike(c.formAt, more)
	c.uses = roomLike(c.uses, more)
	for _, list := range [...]*spans{&c.words, &c.plain, &c.block} {
		if len(list.ends) > 0 {
			list.ids = slices.Grow(list.ids, int(float64(len(list.ids))/float64(values)*float64(more)))
			list.ends = slices.Grow(list.ends, more)
		}
	}
}

// roomLike makes room for more entries in a list that is used.
func roomLike[T any](list []T, more int) []T {
	if len(list) == 0 {
		return list
	}
	return slices.Grow(list, more)
}

// forget lets go of the numbers of values.
func (c *column) forget() { c.values, c.texts, c.refs, c.recent = textIndex{}, nil, nil, nil }

// count notes a use of a value. A null counts as the text that stands for it.
func (c *column) count(ref int32, rec *canon.Object) {
	if ref >= 0 {
		c.uses[ref]++
	} else if v, ok := rec.Get(c.spec.field); ok && v == nil {
		c.nulls++
	}
}

// value returns a field's value unless it is missing: absent, null or the empty
// text.
func (p *plan) value(rec *canon.Object, field string) (any, bool) {
	if p.v2 {
		return p.valueV2(rec, field)
	}
	v, ok := rec.Get(field)
	if !ok || v == nil || v == "" {
		return nil, false
	}
	return v, true
}

func (p *plan) point(rec *canon.Object, f geoFields) point {
	if p.v2 {
		return pointV2(readPoint(rec, f))
	}
	return readPoint(rec, f)
}

func (c *column) stripped(s string) string {
	if c.spec.stripQualifier {
		s, _, _ = splitQualifier(s)
	}
	if c.strip != nil {
		s = c.strip.strip(s)
	}
	return s
}

// read computes the features of a new value and returns its number.
func (s *store) read(col int, v any, stripped string) int32 {
	c := &s.cols[col]
	ref := c.size()
	c.blank = append(c.blank, !truthy(v))
	spec := c.spec
	norm := ""
	if spec.norm || spec.lexicon || spec.tokens || spec.rarity || spec.blockWords {
		norm = s.plan.norm(stripped, spec.person)
	}
	if spec.norm {
		c.norms = append(c.norms, text.Prepare(norm))
	}
	var list []int32
	if spec.lexicon || spec.tokens || spec.rarity || spec.blockWords {
		list = c.tokenList(norm, s.plan.v2)
	}
	switch {
	case spec.blockSecond:
		c.work = c.work[:0]
		for _, k := range secondKeys(spec.blockAs, stripped) {
			c.work = append(c.work, c.toks.id(k))
		}
		c.block.add(distinctIDs(c.work))
	case spec.blockWords && s.plan.v2:
		c.work = append(c.work[:0], list...)
		c.block.add(distinctIDs(c.work))
	case spec.blockWords:
		c.readBlockWords(stripped, list)
	}
	if spec.blockID {
		c.blockIDs = append(c.blockIDs, c.key(s.plan.idKey(stripped)))
	}
	if spec.lexicon {
		c.readForm(stripped, norm, list, s.plan.reading)
	}
	if spec.tokens || spec.rarity {
		s.readTokens(c, norm, list)
	}
	for i := range s.plan.comps {
		if cmp := &s.plan.comps[i]; cmp.column == col && cmp.kind != kindGeo && !cmp.noField {
			s.readFeature(i, v, stripped)
		}
	}
	return ref
}

func (c *column) size() int32 { return int32(len(c.blank)) }

// tokenList numbers the tokens of a normal form in order; the list is valid
// until the next call.
func (c *column) tokenList(norm string, v2 bool) []int32 {
	c.list = c.list[:0]
	if v2 && !asciiOnly(norm) {
		wideTokens(norm, func(t string) { c.list = append(c.list, c.toks.id(t)) })
		return c.list
	}
	for i := 0; i < len(norm); {
		if !isTokenByte(norm[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(norm) && isTokenByte(norm[j]) {
			j++
		}
		c.list = append(c.list, c.toks.id(norm[i:j]))
		i = j
	}
	return c.list
}

func isTokenByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// plainWords reports whether a normal form is tokens with single spaces between
// them, and nothing else.
func plainWords(norm string) bool {
	for i := range len(norm) {
		if !isTokenByte(norm[i]) && (norm[i] != ' ' || i == 0 || i == len(norm)-1) {
			return false
		}
	}
	return true
}

func (c *column) readForm(stripped, norm string, list []int32, r *reading) {
	if plainWords(norm) && plainASCII(stripped) {
		c.formAt = append(c.formAt, -1)
		c.words.add(list)
		return
	}
	form := nameForm(stripped)
	if r != nil {
		form = r.nameForm(stripped)
	}
	if form == norm {
		c.formAt = append(c.formAt, -1)
	} else {
		c.formAt = append(c.formAt, int32(len(c.forms)))
		c.forms = append(c.forms, text.Prepare(form))
	}
	c.words.add(formWords(c.toks, form))
}

// form returns the name form of a value.
func (c *column) form(ref int32) *text.Prepared {
	if at := c.formAt[ref]; at >= 0 {
		return &c.forms[at]
	}
	return &c.norms[ref]
}

// readBlockWords notes the words that find candidates. They are the tokens of
// the folded text, which are the tokens of the normal form unless a control or
// a foreign character makes a difference.
func (c *column) readBlockWords(stripped string, list []int32) {
	if plainASCII(stripped) {
		c.work = append(c.work[:0], list...)
	} else {
		c.work = c.work[:0]
		folded := text.Fold(stripped)
		for i := 0; i < len(folded); {
			if !asciiAlnum(folded[i]) {
				i++
				continue
			}
			c.word = c.word[:0]
			for i < len(folded) && asciiAlnum(folded[i]) {
				ch := folded[i]
				if ch >= 'A' && ch <= 'Z' {
					ch += 'a' - 'A'
				}
				c.word = append(c.word, ch)
				i++
			}
			c.work = append(c.work, c.toks.idOf(c.word))
		}
	}
	c.block.add(distinctIDs(c.work))
}

// plainASCII reports whether a text is ASCII without control characters.
func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func (s *store) readTokens(c *column, norm string, list []int32) {
	if c.spec.counted {
		c.uses = append(c.uses, 0)
		c.twice.add(repeats(list))
	}
	if c.spec.hausa {
		c.spelled = append(c.spelled, spellingKeys(s.hausa, text.Tokens(norm)))
	}
	c.work = append(c.work[:0], list...)
	c.plain.add(c.toks.set(c.work))
	if !s.plan.rarity.possessive {
		return
	}
	// The tokens come first again, then the joined forms.
	c.work = append(c.work[:0], list...)
	for _, t := range text.PossessiveTokens(norm)[len(text.Tokens(norm)):] {
		c.work = append(c.work, c.toks.id(t))
	}
	c.joint.add(c.toks.set(c.work))
	if c.spec.rarity && s.plan.rarity.phrases != nil {
		s.readPhrases(c, norm)
	}
}

// repeats returns each further occurrence of a number that occurred before.
func repeats(ids []int32) []int32 {
	var out []int32
	if len(ids) > largeSet {
		seen := make(map[int32]bool, len(ids))
		for _, id := range ids {
			if seen[id] {
				out = append(out, id)
			}
			seen[id] = true
		}
		return out
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			out = append(out, id)
		}
	}
	return out
}

func (s *store) readPhrases(c *column, norm string) {
	list := text.Tokens(text.JoinPossessives(norm))
	var ids []int32
	for i := 0; i+1 < len(list); i++ {
		phrase := list[i] + " " + list[i+1]
		count, ok := s.plan.rarity.phrases.Count(phrase)
		if !ok {
			continue
		}
		id := c.phrases.id(phrase)
		if int(id) == len(c.phrases.rarity) {
			c.phrases.rarity = append(c.phrases.rarity, distinctiveness(count/s.plan.rarity.phrases.Total))
		}
		ids = append(ids, id)
	}
	c.pairs.add(c.phrases.set(ids))
}

// readFeature computes what comparator i needs of a value beside norms and
// tokens.
func (s *store) readFeature(i int, v any, stripped string) {
	cmp, f := &s.plan.comps[i], &s.feats[i]
	c := &s.cols[cmp.column]
	switch cmp.kind {
	case kindID:
		if s.plan.v2 {
			id := idV2(stripped)
			f.cores = append(f.cores, c.key(coreID(id)))
			f.keys = append(f.keys, c.key(id))
			return
		}
		f.keys = append(f.keys, c.key(text.Nid(stripped)))
	case kindNumbers:
		f.keys = append(f.keys, c.key(numbersIn(s.plan.norm(stripped, false), s.plan.entity == "person")))
	case kindEmail:
		f.keys = append(f.keys, c.key(text.Lower(text.Strip(stripped))))
	case kindCategory:
		f.keys = append(f.keys, c.key(categoryKey(stripped)))
	case kindPhone:
		f.phones = append(f.phones, text.Nid(stripped))
	case kindType:
		key := ""
		if d := s.domains[cmp.domain]; d != nil {
			key, _ = d.remove(stripped)
		}
		f.keys = append(f.keys, c.key(key))
	case kindLegalForm:
		f.keys = append(f.keys, int32(s.forms.read(stripped)))
	case kindPremises:
		if s.plan.v2 {
			f.premises = append(f.premises, readPremisesV2(s.plan.norm(stripped, false)))
			return
		}
		f.keys = append(f.keys, c.key(readPremises(stripped)))
	case kindDate:
		if s.plan.v2 {
			f.dates = append(f.dates, parseDateV2(stripped))
			return
		}
		f.dates = append(f.dates, parseDate(stripped))
	case kindAddress:
		if s.grows {
			f.addresses.later(stripped)
			return
		}
		f.addresses.add(stripped, s.plan.addressGrammar())
	case kindPostcode:
		f.postcodes = append(f.postcodes, readPostcode(stripped))
	case kindQualifier:
		_, q, ok := splitQualifier(stripped)
		f.quals = append(f.quals, text.Prepare(text.Norm(q)))
		f.hasQual = append(f.hasQual, ok)
	case kindContainment:
		f.admin = append(f.admin, readAdminPath(v))
	case kindSpec:
		f.specs = append(f.specs, cmp.product.specs(stripped))
	case kindCode:
		var ids []int32
		for _, code := range cmp.product.codes(stripped) {
			ids = append(ids, c.codes.id(code))
		}
		f.codes.add(c.codes.set(ids))
	}
}

func (c *column) key(k string) int32 {
	if k == "" {
		return -1
	}
	return c.keys.id(k)
}

// categoryKey brings spellings of a category together: case, and runs of space,
// underscore and hyphen.
func categoryKey(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if r == '_' || r == '-' || text.IsSpace(r) {
			if !gap {
				b.WriteByte(' ')
			}
			gap = true
			continue
		}
		gap = false
		b.WriteRune(r)
	}
	return caseFold(text.Strip(b.String()))
}
