package detect

const (
	catEmail  = "PII-3-EMAIL"
	emailConf = 0.95
	maxLabel  = 63 // bytes of a domain label
)

// emails finds e-mail addresses, one look around each '@'. Letters of any
// script may stand in the local part.
func (x *lexed) emails() []vspan {
	var out []vspan
	end := 0
	for _, at := range x.ats {
		p := int(at)
		e := x.domainEnd(p + 1)
		if e < 0 || p < end {
			continue
		}
		if s := x.localStart(p, end); s >= 0 {
			out = append(out, vspan{s, e})
			end = e
		}
	}
	return out
}

// localStart returns where the local part before the '@' at p begins: the
// leftmost word boundary of the atoms and single dots that reach up to p.
func (x *lexed) localStart(p, floor int) int {
	best, i := -1, p
	defer func() { x.work += p - i }()
	for i > floor {
		b := x.s[i-1]
		switch {
		case b < 0x80 && class[b]&cAtom != 0:
			i--
		case b == '.' && i < p && x.s[i] != '.':
			i--
			continue // no local part begins with a dot
		case b >= 0x80 && isLetterOrMark(x.runeBefore(i)):
			i = x.back(i, 1)
		default:
			return best
		}
		if x.boundary(i) && !isMark(x.runeAt(i)) {
			best = i
		}
	}
	return best
}

func isLetterOrMark(r rune) bool { return isLetterRune(r) || isMark(r) }

// domainEnd returns where the domain that begins at p ends: labels up to the
// last one that can be a top-level domain. It is -1 when there is none.
func (x *lexed) domainEnd(p int) int {
	best, from := -1, p
	defer func() { x.work += p - from }()
	for {
		q := p
		for q < len(x.s) {
			if b := x.s[q]; b < 0x80 && (is(b, cAlnum) || b == '-') {
				q++
			} else if b >= 0x80 && isLetterOrMark(x.runeAt(q)) {
				q = x.ahead(q, 1)
			} else {
				break
			}
		}
		if x.s[p-1] == '.' {
			if e := x.topLevel(p); e >= 0 {
				best = e
			}
		}
		if q == p || q-p > maxLabel || x.s[p] == '-' || x.s[q-1] == '-' || q >= len(x.s) || x.s[q] != '.' {
			return best
		}
		p = q + 1
	}
}

// topLevel returns the end of 2 to 24 letters at p that end at a boundary.
func (x *lexed) topLevel(p int) int {
	q := p
	for q < len(x.s) && is(x.s[q], cLetter) {
		q++
	}
	if q-p < 2 || q-p > 24 || x.wordAt(q) {
		return -1
	}
	return q
}
