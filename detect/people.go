package detect

// Beyond the lexicon: words beside a known name, whole names after a cue, and
// pairs of known words in small letters.

const (
	extendedConf = 0.6 // a capitalised word beside a known name
	cuedConf     = 0.5 // words after a title or a cue
)

// walk goes over the atoms between name hits.
type walk struct {
	*lexed
	out []nameHit
	i   int // the next atom
}

// people adds to the name hits what stands beside and between them. The result
// is sorted by start and does not overlap.
func (x *lexed) people(hits []nameHit) []nameHit {
	w := &walk{lexed: x, out: make([]nameHit, 0, len(hits)+8)}
	for k, h := range hits {
		w.between(h.s)
		w.out = x.extendLeft(w.out, h, w.i)
		w.out = append(w.out, h)
		for w.i < len(x.atoms) && int(x.atoms[w.i].s) < h.e {
			w.i++
		}
		limit := len(x.s)
		if k+1 < len(hits) {
			limit = hits[k+1].s
		}
		w.extendRight(limit)
	}
	w.between(len(x.s))
	return w.out
}

// between reads the atoms that end at limit or before.
func (w *walk) between(limit int) {
	for w.i < len(w.atoms) && int(w.atoms[w.i].e) <= limit {
		if k := w.cued(w.i, limit); k > w.i {
			for j := w.i + 1; j < k; j++ {
				t := w.tokenAt(j)
				w.out = append(w.out, nameHit{t.s, t.e, cuedConf})
				j = t.last
			}
			w.i = k
			continue
		}
		if w.lowerPair(w.i, limit) {
			a, b := w.atoms[w.i], w.atoms[w.i+1]
			w.out = append(w.out, nameHit{int(a.s), int(a.e), nameConf}, nameHit{int(b.s), int(b.e), nameConf})
			w.i += 2
			continue
		}
		w.i++
	}
}

// extendRight adds up to two capitalised words after the last hit.
func (w *walk) extendRight(limit int) {
	for n := 0; n < 2 && w.i < len(w.atoms) && w.extends(w.i, w.out[len(w.out)-1].e); n++ {
		t := w.tokenAt(w.i)
		if t.e > limit || w.street(w.i) {
			return
		}
		w.out = append(w.out, nameHit{t.s, t.e, extendedConf})
		w.i = t.last + 1
	}
}

// extendLeft adds the capitalised word before a hit; i is the hit's atom.
func (x *lexed) extendLeft(out []nameHit, h nameHit, i int) []nameHit {
	if i == 0 || i == len(x.atoms) {
		return out
	}
	a := x.atoms[i-1]
	if len(out) > 0 && out[len(out)-1].e > int(a.s) || !x.oneSpace(int(a.e), h.s) || !x.nameShaped(i-1) {
		return out
	}
	if x.alnumBefore(int(a.s)) || a.s > 0 && joinsBefore(x.s, int(a.s)) || x.street(i) {
		return out
	}
	return append(out, nameHit{s: int(a.s), e: int(a.e), conf: extendedConf})
}

// streetWords is how many words a street may be named by, the suffix aside.
const streetWords = 4

// street tells whether the capitalised words from atom i on end in a street
// suffix: they name a street then, and the address says so.
func (x *lexed) street(i int) bool {
	for k := i; k+1 < len(x.atoms) && k < i+streetWords; k++ {
		a, b := x.atoms[k], x.atoms[k+1]
		if b.caps&capFirst == 0 || !x.oneSpace(int(a.e), int(b.s)) {
			return false
		}
		if x.has(b, rSuffix) {
			return true
		}
	}
	return false
}

func joinsBefore(s string, p int) bool { return s[p-1] == '\'' || s[p-1] == '-' || s[p-1] == '@' }

// extends tells whether atom i carries on a name that ends at e.
func (x *lexed) extends(i, e int) bool {
	return x.oneSpace(e, int(x.atoms[i].s)) && x.nameShaped(i)
}

// oneSpace tells whether one space, and nothing else, stands between.
func (x *lexed) oneSpace(e, s int) bool {
	return s > e && x.s[e] != '\n' && x.s[e] != '\r' && x.spaceAt(e) == s-e
}

// nameShaped tells whether atom i looks like a name and like nothing else.
func (x *lexed) nameShaped(i int) bool {
	a := x.atoms[i]
	const other = rOrdinary | rCity | rSuffix | rTitle | rPlace | rNever
	if a.kind != aLetters || a.caps&capFirst == 0 || a.len() < minNameLen || x.has(a, other) {
		return false
	}
	if a.caps&capAll != 0 && a.len() < 5 {
		return false // an abbreviation
	}
	t := x.tokenAt(i)
	for k := t.first + 1; k <= t.last; k++ {
		if p := x.atoms[k]; p.caps&capAll != 0 && p.len() > 1 && a.caps&capAll == 0 {
			return false // Steuer-ID
		}
	}
	return !x.wordAt(t.e) && (t.e >= len(x.s) || x.s[t.e] != '@')
}

// cued returns the index after the name that follows the cue at atom i, or i.
func (x *lexed) cued(i, limit int) int {
	a := x.atoms[i]
	if !x.has(a, rTitle|rPersonCue) || i+1 >= len(x.atoms) {
		return i
	}
	e := int(a.e)
	if e < len(x.s) && (x.s[e] == '.' && x.has(a, rTitle) || x.s[e] == ':') {
		e++
	}
	k, words := i+1, 0
	for k < len(x.atoms) && words < 3 && x.extends(k, e) {
		t := x.tokenAt(k)
		if t.e > limit {
			break
		}
		e, k = t.e, t.last+1
		words++
	}
	need := 2
	if x.has(a, rTitle) && a.caps&capFirst != 0 {
		need = 1
	}
	if words < need {
		return i
	}
	return k
}

// lowerPair tells whether atoms i and i+1 are a known given name and a known
// family name in small letters.
func (x *lexed) lowerPair(i, limit int) bool {
	if i+1 >= len(x.atoms) {
		return false
	}
	a, b := x.atoms[i], x.atoms[i+1]
	if int(b.e) > limit || a.caps|b.caps&capFirst != 0 || !x.has(a, rName) || !x.has(b, rName) {
		return false
	}
	if x.has(a, rFrequent|rNever) || x.has(b, rFrequent|rNever) || x.has(a, rOrdinary) && x.has(b, rOrdinary) {
		return false
	}
	if !(x.has(a, rGiven) && x.has(b, rFamily) || x.has(a, rFamily) && x.has(b, rGiven)) {
		return false
	}
	return longEnough(x.str(a)) && longEnough(x.str(b)) && x.oneSpace(int(a.e), int(b.s)) &&
		x.wholeWord(a) && x.wholeWord(b)
}
