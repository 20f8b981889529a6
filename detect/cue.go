package detect

import "strings"

// cue is a phrase beside a value that says what the value is: words with white
// space between, then optional parts. "tax [id|identification] [no|#]".
type cue struct {
	words    []string
	optional [][]string // each longest first
}

// cues is a list of cues by the byte they begin with.
type cues struct {
	by      [256][]cue
	longest int // characters of the longest cue, white space runs counted as one
}

const cueSlack = 8 // characters allowed for white space inside a cue

func compileCues(list []string) *cues {
	if len(list) == 0 {
		return nil
	}
	c := &cues{}
	for _, src := range list {
		head, rest, _ := strings.Cut(src, " [")
		q := cue{words: strings.Fields(foldText(head))}
		for part := range strings.SplitSeq(rest, " [") {
			if part = strings.TrimSuffix(part, "]"); part != "" {
				q.optional = append(q.optional, strings.Split(foldText(part), "|"))
			}
		}
		b := q.words[0][0]
		c.by[b] = append(c.by[b], q)
		c.longest = max(c.longest, len(src)+cueSlack)
	}
	return c
}

// before tells whether a cue ends at most gap characters before p, with
// neither digit nor line end between. A negative gap allows only white space
// and one colon or hyphen.
func (c *cues) before(w *view, p, gap int) bool {
	return c.lastBefore(w, p, gap) >= 0
}

// lastBefore returns where the last cue before p begins, or -1.
func (c *cues) lastBefore(w *view, p, gap int) int {
	if c == nil {
		return -1
	}
	lo := gapStart(w, p, gap)
	found := -1
	from := w.back(lo, c.longest)
	w.work += p - from
	for q := from; q < p; q++ {
		list := c.by[lowerByte(w.s[q])]
		if len(list) == 0 || w.wordBefore(q) {
			continue
		}
		for i := range list {
			if list[i].endsIn(w, q, lo, p) {
				found = q
				break
			}
		}
	}
	return found
}

// after tells whether a cue begins at most gap characters after p.
func (c *cues) after(w *view, p, gap int) bool {
	if c == nil {
		return false
	}
	for n := 0; n <= gap && p < len(w.s) && w.s[p] != '\n' && !is(w.s[p], cDigit); n++ {
		if list := c.by[lowerByte(w.s[p])]; len(list) > 0 && !w.wordBefore(p) {
			for i := range list {
				if list[i].endsIn(w, p, p, len(w.s)) {
					return true
				}
			}
		}
		p = w.ahead(p, 1)
	}
	return false
}

// gapStart returns the earliest position from which a cue's end may reach p.
func gapStart(w *view, p, gap int) int {
	lo := p
	if gap >= 0 {
		for n := 0; n < gap && lo > 0; n++ {
			b := w.s[lo-1]
			if class[b]&cDigit != 0 || b == '\n' {
				break
			}
			lo = w.back(lo, 1)
		}
		return lo
	}
	signs := 0
	for lo > 0 && p-lo < cueSlack {
		b := w.s[lo-1]
		switch q := w.back(lo, 1); {
		case w.spaceAt(q) > 0:
			lo = q
		case (b == ':' || b == '-') && signs == 0:
			signs++
			lo = q
		default:
			return lo
		}
	}
	return lo
}

// endsIn tells whether the cue stands at q and ends within [lo,hi] before
// something other than a letter.
func (c *cue) endsIn(w *view, q, lo, hi int) bool {
	e := q
	for i, word := range c.words {
		if i > 0 {
			n := w.skipSpace(e)
			if n == e || n > e+cueSlack {
				return false
			}
			e = n
		}
		if e = w.matchFold(e, word); e < 0 {
			return false
		}
	}
	return c.tail(w, e, 0, lo, hi)
}

func (c *cue) tail(w *view, e, k, lo, hi int) bool {
	if e > hi {
		return false
	}
	if k < len(c.optional) {
		s := min(w.skipSpace(e), e+cueSlack)
		for _, word := range c.optional[k] {
			if n := w.matchFold(s, word); n >= 0 && c.tail(w, n, k+1, lo, hi) {
				return true
			}
		}
		return c.tail(w, e, k+1, lo, hi)
	}
	return e >= lo && (e >= len(w.s) || !is(w.s[e], cLetter))
}
