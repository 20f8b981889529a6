package resolve

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// This file holds what crosswalk.v2 reads differently. The first engine stays as
// it was published; every difference is here or asks plan.v2.

// reading is how the second engine reads texts.
type reading struct {
	fillers, fieldFillers map[string]bool
	titles                map[string]bool
	letters               map[rune]string
	words                 map[string]string
	aliases               map[string]map[string][]string
	forms                 *formTable
	organisation          *vocabulary
}

var secondReading = sync.OnceValues(func() (*reading, error) {
	ext, err := packs.ExtendedReading()
	if err != nil {
		return nil, err
	}
	r := &reading{letters: make(map[rune]string), words: make(map[string]string), aliases: ext.Aliases,
		fillers: setOf(ext.Fillers), fieldFillers: setOf(ext.FieldFillers), titles: setOf(ext.Titles)}
	for from, to := range ext.Letters {
		c, _ := utf8.DecodeRuneInString(from)
		r.letters[c] = to
	}
	for from, to := range ext.Words {
		r.words[text.Norm(from)] = to
	}
	return r, r.extendForms(ext)
})

func setOf(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// extendForms adds the longer spellings and further forms to the published
// vocabularies of legal forms and of organisation types.
func (r *reading) extendForms(ext *packs.Extended) error {
	base, err := packs.LegalFormVocabulary()
	if err != nil {
		return err
	}
	domains, err := packs.TypeDomains(PackVersion010)
	if err != nil {
		return err
	}
	voc := *base
	voc.Synonyms = r.mergeForms(base.Synonyms, ext)
	voc.Relations = append(slices.Clone(base.Relations), ext.FormRelations...)
	voc.Pin = ext.Pin
	r.forms = newFormTable(&voc)
	r.forms.norm = r.norm
	r.organisation = &vocabulary{norm: r.norm, pin: ext.Pin}
	r.organisation.synonyms = r.mergeForms(domains["organization"].Synonyms, ext)
	return nil
}

// mergeForms merges synonyms, longest first; those that are short enough to be
// words of names count only at the end.
func (r *reading) mergeForms(base []packs.Synonym, ext *packs.Extended) []packs.Synonym {
	out := slices.Clone(base)
	known := make(map[string]bool)
	for _, s := range base {
		known[s.Text] = true
	}
	add := func(list []packs.Synonym, final bool) {
		for _, s := range list {
			s.Text, s.Final = r.norm(s.Text), final
			if !known[s.Text] {
				known[s.Text] = true
				out = append(out, s)
			}
		}
	}
	add(ext.LegalForms, false)
	add(ext.FinalForms, true)
	slices.SortStableFunc(out, func(a, b packs.Synonym) int { return len(b.Text) - len(a.Text) })
	return out
}

// norm is the normal form with other alphabets written in Latin letters. Scripts
// without an alphabet of their own in the table stay as they are.
func (r *reading) norm(s string) string {
	n := text.Norm(s)
	if strings.Contains(n, "&") {
		n = text.Strip(text.Collapse(strings.ReplaceAll(n, "&", " and ")))
	}
	if asciiOnly(n) {
		return n
	}
	var b strings.Builder
	for i, word := range strings.Split(n, " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		r.latin(&b, word)
	}
	return b.String()
}

// latin writes one word in Latin letters.
func (r *reading) latin(b *strings.Builder, word string) {
	if w, ok := r.words[word]; ok {
		b.WriteString(w)
		return
	}
	for _, c := range word {
		if l, ok := r.letters[c]; ok {
			b.WriteString(l)
		} else if d := digitValue(c); d >= 0 {
			b.WriteByte(byte('0' + d))
		} else {
			b.WriteRune(c)
		}
	}
}

// personName drops titles before a name.
func (r *reading) personName(n string) string {
	words := text.Fields(n)
	first := 0
	for first < len(words)-1 && r.titles[strings.TrimRight(words[first], ".")] {
		first++
	}
	if first == 0 {
		return n
	}
	return strings.Join(words[first:], " ")
}

// filler reports whether a value stands for no value.
func (r *reading) filler(v any, name bool) bool {
	s, ok := v.(string)
	if !ok {
		if _, number := v.(canon.Number); !number {
			return false
		}
		s = canon.Text(v)
	}
	n := text.Strip(text.Norm(s))
	if n == "" || r.fillers[n] {
		return true
	}
	if name {
		return false
	}
	return r.fieldFillers[n] || oneDigit(text.Nid(n))
}

// fillerDigits is the length from which one repeated digit is no identifier.
const fillerDigits = 4

// oneDigit reports whether an identifier is one digit over and over.
func oneDigit(id string) bool {
	if len(id) < fillerDigits || id[0] < '0' || id[0] > '9' {
		return false
	}
	return strings.Trim(id, id[:1]) == ""
}

// valueV2 is value with fillers left out and other names of a field tried.
func (p *plan) valueV2(rec *canon.Object, field string) (any, bool) {
	name := slices.Contains(p.nameFields, field)
	take := func(f string) (any, bool) {
		v, ok := rec.Get(f)
		if !ok || v == nil || v == "" || p.reading.filler(v, name) {
			return nil, false
		}
		return v, true
	}
	if v, ok := take(field); ok {
		return v, true
	}
	for _, alias := range p.reading.aliases[p.entity][field] {
		if v, ok := take(alias); ok {
			return v, true
		}
	}
	return nil, false
}

// pointV2 is a point on the globe or none.
func pointV2(p point) point {
	if !p.usable || !p.finite() || p.lat < -90 || p.lat > 90 || p.lon < -180 || p.lon > 180 {
		return point{}
	}
	return p
}

// wideTokens calls yield with the tokens of a normal form: runs of letters and
// digits of any script; runs in scripts that do not part words give each two
// neighbouring characters.
func wideTokens(n string, yield func(token string)) {
	for i := 0; i < len(n); {
		c, size := utf8.DecodeRuneInString(n[i:])
		if !isTokenRune(c) {
			i += size
			continue
		}
		unparted := isUnparted(c)
		j := i
		for j < len(n) {
			c, size = utf8.DecodeRuneInString(n[j:])
			if !isTokenRune(c) || isUnparted(c) != unparted {
				break
			}
			j += size
		}
		if unparted {
			bigrams(n[i:j], yield)
		} else {
			yield(n[i:j])
		}
		i = j
	}
}

func isTokenRune(c rune) bool {
	if c < utf8.RuneSelf {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
	}
	return unicode.In(c, unicode.L, unicode.M, unicode.N)
}

func isUnparted(c rune) bool {
	return c > 0xe00 && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func bigrams(run string, yield func(string)) {
	if utf8.RuneCountInString(run) == 1 {
		yield(run)
		return
	}
	prev := -1
	for i := range run {
		if prev >= 0 {
			_, size := utf8.DecodeRuneInString(run[i:])
			yield(run[prev : i+size])
		}
		prev = i
	}
}

// romans are the numbers that series are counted in.
var romans = map[string]string{
	"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "x": "10",
	"xi": "11", "xii": "12", "xiii": "13", "xiv": "14", "xv": "15", "xvi": "16", "xvii": "17", "xviii": "18", "xix": "19", "xx": "20",
}

// generations tell a parent from a child of the same name.
var generations = map[string]string{"jr": "jr", "jnr": "jr", "junior": "jr", "sr": "sr", "snr": "sr", "senior": "sr"}

// numbersIn returns the numbers of a name, each once, sorted: tokens that hold a
// digit and, after the first word, Roman numerals; for people only those of
// more than one letter, and words for generations.
func numbersIn(n string, person bool) string {
	var out []string
	first := true
	wideTokens(n, func(t string) {
		switch {
		case strings.ContainsAny(t, "0123456789"):
			if z := strings.TrimLeft(t, "0"); z != "" {
				t = z
			}
			out = append(out, t)
		case !first && romans[t] != "" && (!person || len(t) > 1):
			out = append(out, romans[t])
		case !first && person && generations[t] != "":
			out = append(out, generations[t])
		}
		first = false
	})
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// parseDateV2 is parseDate for values as exports hold them: a bare number that
// is neither a year nor eight digits is no date.
func parseDateV2(s string) date {
	_, lengths, n := digitRuns(s)
	if n == 1 && lengths[0] != 4 && lengths[0] != 8 {
		return date{}
	}
	return parseDate(s)
}

// What it is worth that a whole date, or a year and a month, agrees with what
// less the other side says. Dates of one precision agree wholly.
const (
	yearAgreement  = 0.6
	monthAgreement = 0.8
)

func compareDatesV2(a, b *date) float64 {
	s := compareDates(a, b)
	if s == 1 && a.precision != b.precision {
		if min(a.precision, b.precision) == 1 {
			return yearAgreement
		}
		return monthAgreement
	}
	return s
}

// idV2 is an identifier as it was before a spreadsheet made a number of it.
func idV2(s string) string {
	s = text.Strip(s)
	if dot := strings.IndexByte(s, '.'); dot > 0 && allDigits(s[:dot]) && strings.Trim(s[dot+1:], "0") == "" && len(s) > dot+1 {
		s = s[:dot]
	}
	return text.Nid(s)
}

// nearID is what two identifiers are worth that differ in leading zeros.
const nearID = 0.5

// coreID is an identifier of digits without its leading zeros.
func coreID(id string) string {
	if !allDigits(id) {
		return id
	}
	return strings.TrimLeft(id, "0")
}

// secondKeys are the further values a record is found by: each is a key of its
// own while few records share it, and narrows words that many share.
func secondKeys(k kind, s string) []string {
	switch k {
	case kindPhone:
		const local = 8 // digits that a country code and a leading zero leave alone
		if id := text.Nid(s); len(id) >= local {
			return []string{"\x01p" + id[len(id)-local:]}
		}
	case kindEmail:
		if e := text.Lower(text.Strip(s)); e != "" {
			return []string{"\x01e" + e}
		}
	case kindDate:
		d := parseDateV2(s)
		if d.precision != 3 {
			return nil
		}
		var out []string
		for _, n := range d.number[:d.readings] {
			out = append(out, "\x01d"+string(rune(n)))
		}
		return out
	}
	return nil
}

// compareNamesV2 is the name similarity of two single texts.
func compareNamesV2(a, b string) (float64, error) {
	r, err := secondReading()
	if err != nil {
		return 0, err
	}
	if max(len(a), len(b)) > maxText {
		return 0, tooLong("a name")
	}
	if r.filler(a, true) || r.filler(b, true) {
		return 0, nil
	}
	x, y := r.personName(r.norm(a)), r.personName(r.norm(b))
	if x == "" || y == "" {
		return 0, nil
	}
	if x == y {
		return 1, nil
	}
	words, err := newNameWords(newTokens())
	if err != nil {
		return 0, err
	}
	fa, fb := text.Prepare(r.nameForm(a)), text.Prepare(r.nameForm(b))
	wa, wb := formWords(words.toks, fa.Text()), formWords(words.toks, fb.Text())
	words.extend()
	s, ok := words.equivalence(&fa, &fb, wa, wb, new(nameScratch))
	if !ok {
		s = text.Fuzzy(x, y)
	}
	if p, q := numbersIn(x, true), numbersIn(y, true); p != "" && q != "" && p != q {
		s = min(s, mostWithOtherNumber)
	}
	return s, nil
}

// mostWithOtherNumber keeps names whose numbers or generations differ at review.
const mostWithOtherNumber = nameMatch - 0.01

func (r *reading) nameForm(s string) string {
	return r.personName(text.Strip(text.Collapse(r.norm(nameForm(s)))))
}
