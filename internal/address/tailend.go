package address

// Text is a running text laid out for finding the parts that follow a place in
// it. It does not change.
type Text struct{ sc *scanner }

// NewText lays a text out.
func NewText(s string) *Text { return &Text{newScanner(s, WithPostcodes)} }

// TailEnd returns where the comma-separated parts after code point i end; i
// itself when there are none. Unlike a record's field a text goes on, so the
// tail stops before prose. Constant time.
func (t *Text) TailEnd(i int) int { return t.sc.strictTail(i) }

// PostalCountry tells a country from the form of a postal code.
func PostalCountry(code string) (country string, confidence float64) {
	sc := newScanner(code, WithPostcodes)
	switch n := len(sc.runes); {
	case normalPostcode(code) != "":
		return "GB", 0.95
	case sc.digitalAddress(0) == n:
		return "GH", 0.95
	case sc.digits(0, n) < n:
		return "", 0
	case n == 6:
		return "NG", 0.65
	case n == 5:
		return "KE", 0.65
	case n == 4:
		return "ZA", 0.65
	}
	return "", 0
}

// strictTail is tail without the words that a text goes on with: a linking word
// counts only between two words of a name, and a name is not cut.
func (sc *scanner) strictTail(i int) int {
	for range 6 {
		k := sc.comma(i)
		if k < 0 || sc.lineBreaks(i, k) > 1 {
			break
		}
		if k = sc.strictSegment(k); k < 0 {
			break
		}
		i = k
	}
	return i
}

// lineBreaks counts them in [from, to): a second one ends a paragraph.
func (sc *scanner) lineBreaks(from, to int) int {
	n := 0
	for _, r := range sc.runes[from:to] {
		if r == '\n' {
			n++
		}
	}
	return n
}

func (sc *scanner) strictSegment(i int) int {
	if end := sc.townPostcode(i); end >= 0 {
		return end
	}
	if end := sc.postcode(i); end >= 0 {
		return end
	}
	if end := sc.segmentWord(i); end >= 0 {
		for words := 1; words < 4; {
			k := sc.spaces(end)
			if k < 0 {
				break
			}
			next := sc.segmentWord(k)
			for _, w := range [...]string{"es", "of", "the"} {
				if e := sc.literalText(k, w); next < 0 && e >= 0 {
					if e = sc.spaces(e); e >= 0 {
						next = sc.segmentWord(e)
						words++
					}
				}
			}
			if next < 0 || words >= 4 {
				break
			}
			end = next
			words++
		}
		return end
	}
	if end := sc.digits(i, 6); end >= i+4 && !sc.is(end, isWord) {
		return end
	}
	return sc.digitalAddress(i)
}
