package address

// match is one hit of a rule: places of its parts, -1 where a part is absent.
type match struct {
	start, end        int
	plot, plotEnd     int
	number, numberEnd int
	street, streetEnd int
	anchor, anchorEnd int
	tail              int // the tail is [tail, end)
}

func noMatch(i int) match {
	return match{start: i, end: -1, plot: -1, number: -1, street: -1, anchor: -1, tail: -1}
}

var plotWords = []string{"Plot", "Block", "Unit", "Suite", "Flat", "Apt", "Apartment", "No", "No."}

// streetAddress matches [plot,] [number] street tail at i.
func (sc *scanner) streetAddress(i int) (match, bool) {
	m := noMatch(i)
	if plotEnd, next := sc.plot(i); next >= 0 {
		if sc.numberAndStreet(&m, next) {
			m.plot, m.plotEnd = i, plotEnd
			return m, true
		}
		m = noMatch(i)
	}
	return m, sc.numberAndStreet(&m, i)
}

// plot matches a plot word, spaces, a word, and what sets it off from the rest.
func (sc *scanner) plot(i int) (end, next int) {
	if !sc.is(i, isUpper) {
		return -1, -1
	}
	for _, w := range plotWords {
		k := sc.literalText(i, w)
		if k < 0 {
			continue
		}
		if k = sc.spaces(k); k < 0 || !sc.is(k, isWord) {
			continue
		}
		for sc.is(k, isWord) {
			k++
		}
		end = k
		for k < len(sc.runes) && (sc.is(k, isSpace) || sc.runes[k] == ',') {
			k++
		}
		if k > end {
			return end, k
		}
	}
	return -1, -1
}

func (sc *scanner) numberAndStreet(m *match, i int) bool {
	if sc.is(i, isDigit) {
		end := sc.digits(i, 4)
		if sc.is(end, isUpper|isLower) {
			end++
		}
		if next := sc.spaces(end); next >= 0 && sc.streetAndTail(m, next) {
			m.number, m.numberEnd = i, end
			return true
		}
		return false // a street does not start with a digit
	}
	return sc.streetAndTail(m, i)
}

// streetAndTail matches one to four capitalised words before a street suffix;
// the longest row of words wins.
func (sc *scanner) streetAndTail(m *match, i int) bool {
	end := -1
	for k, words := i, 0; words < 4; words++ {
		if k = sc.capital(k); k < 0 {
			break
		}
		if k = sc.spaces(k); k < 0 {
			break
		}
		if e := sc.suffix(k); e >= 0 {
			end = e
		}
	}
	if end < 0 {
		return false
	}
	m.street, m.streetEnd, m.tail = i, end, end
	m.end = sc.tail(end)
	return true
}

const longestSuffix = 9

// suffix matches a street suffix that ends at a word boundary.
func (sc *scanner) suffix(i int) int {
	if !sc.is(i, isUpper) {
		return -1
	}
	var word [longestSuffix]byte
	n := 0
	for sc.is(i+n, isWord) {
		if n == longestSuffix || sc.runes[i+n] >= 0x80 {
			return -1
		}
		word[n] = byte(sc.runes[i+n])
		n++
	}
	if sc.vocab.suffixes[string(word[:n])] {
		return i + n
	}
	return -1
}

// tail matches up to four comma-separated segments and returns its end.
func (sc *scanner) tail(i int) int {
	for range 4 {
		k := sc.comma(i)
		if k < 0 {
			break
		}
		if k = sc.segment(k); k < 0 {
			break
		}
		i = k
	}
	return i
}

// segment matches one part of a tail: a place name (with a postcode after it
// where the grammar reads those), a postcode, four to six digits, or a digital
// address of the form AA-123-4567.
func (sc *scanner) segment(i int) int {
	if sc.grammar == WithPostcodes {
		if end := sc.townPostcode(i); end >= 0 {
			return end
		}
		if end := sc.postcode(i); end >= 0 {
			return end
		}
	}
	if end := sc.segmentWord(i); end >= 0 {
		for range 3 {
			next := sc.follow(end)
			if next < 0 {
				break
			}
			end = next
		}
		return end
	}
	if end := sc.digits(i, 6); end >= i+4 {
		return end
	}
	return sc.digitalAddress(i)
}

// townPostcode matches a name of one to four words, the fewest that do, and a
// postcode after it.
func (sc *scanner) townPostcode(i int) int {
	end := sc.segmentWord(i)
	for words := 0; end >= 0; words++ {
		if k := sc.spaces(end); k >= 0 {
			if code := sc.postcode(k); code >= 0 {
				return code
			}
		}
		if words == 3 {
			break
		}
		end = sc.follow(end)
	}
	return -1
}

// follow matches spaces and one more word of a name.
func (sc *scanner) follow(i int) int {
	k := sc.spaces(i)
	if k < 0 {
		return -1
	}
	if end := sc.segmentWord(k); end >= 0 {
		return end
	}
	for _, w := range [...]string{"es", "of", "the"} {
		if end := sc.literalText(k, w); end >= 0 {
			return end
		}
	}
	return -1
}

func (sc *scanner) digitalAddress(i int) int {
	if !sc.is(i, isUpper) || !sc.is(i+1, isUpper) {
		return -1
	}
	dash := func(i int) bool { return i < len(sc.runes) && sc.runes[i] == '-' }
	if i += 2; !dash(i) || sc.digits(i+1, 3) != i+4 {
		return -1
	}
	if i += 4; !dash(i) || sc.digits(i+1, 4) != i+5 {
		return -1
	}
	return i + 5
}

// box matches a post-office box and the run of words and commas after it.
func (sc *scanner) box(i int) (match, bool) {
	m := noMatch(i)
	k := sc.boxWord(i)
	if k < 0 {
		return m, false
	}
	if k = sc.spaces(k); k < 0 || !sc.is(k, isDigit) {
		return m, false
	}
	for sc.is(k, isDigit) {
		k++
	}
	m.plot, m.plotEnd, m.tail, m.end = i, k, k, k
	for range 6 {
		k := int(sc.spaceEnd[m.end])
		if k >= len(sc.runes) || sc.runes[k] != ',' || !sc.is(k+1, isJoin|isSpace) {
			break
		}
		for k++; sc.is(k, isJoin|isSpace); k++ {
		}
		m.end = k
	}
	return m, true
}

func (sc *scanner) boxWord(i int) int {
	letter := func(i int, c byte) bool { return i < len(sc.runes) && foldLetter(sc.runes[i]) == c }
	dotSpaces := func(i int) int {
		if i < len(sc.runes) && sc.runes[i] == '.' {
			i++
		}
		return int(sc.spaceEnd[i])
	}
	if letter(i, 'P') {
		if i = dotSpaces(i + 1); !letter(i, 'O') {
			return -1
		}
		i = dotSpaces(i + 1)
	}
	if letter(i, 'B') && letter(i+1, 'O') && letter(i+2, 'X') {
		return i + 3
	}
	return -1
}

// landmark matches a relation word and what it relates to: a capitalised name,
// or a landmark noun with up to three small words before it.
func (sc *scanner) landmark(i int) int {
	if !sc.is(i, isRelation) || !sc.boundary(i) {
		return -1
	}
	for _, p := range sc.vocab.prepositions {
		k := sc.literal(i, p)
		if k < 0 {
			continue
		}
		if k = sc.spaces(k); k < 0 {
			continue
		}
		for _, a := range sc.vocab.articles {
			after := sc.literal(k, a)
			if after < 0 {
				continue
			}
			if after = sc.spaces(after); after < 0 {
				continue
			}
			if end := sc.landmarkName(after); end >= 0 {
				return end
			}
		}
		if end := sc.landmarkName(k); end >= 0 {
			return end
		}
	}
	return -1
}

func (sc *scanner) landmarkName(i int) int {
	if end := sc.capital(i); end >= 0 {
		for range 5 {
			k := sc.spaces(end)
			if k < 0 || !sc.is(k, isJoin) {
				break
			}
			end = int(sc.joinEnd[k])
		}
		return end
	}
	places := [4]int{i}
	n := 1
	for ; n < 4; n++ {
		k := places[n-1]
		if !sc.is(k, isLower) {
			break
		}
		if k = sc.spaces(int(sc.joinEnd[k])); k < 0 {
			break
		}
		places[n] = k
	}
	for n--; n >= 0; n-- {
		if end := sc.landmarkNoun(places[n]); end >= 0 {
			return end
		}
	}
	return -1
}

func (sc *scanner) landmarkNoun(i int) int {
	if !sc.is(i, isLower) {
		return -1
	}
	for _, w := range sc.vocab.landmarks {
		end := sc.literal(i, w)
		if end < 0 || !sc.boundary(end) {
			continue
		}
		if next := sc.spaces(end); next >= 0 && sc.is(next, isLower) {
			continue
		}
		return end
	}
	return -1
}

// landmarkAddress matches a landmark and a tail at i.
func (sc *scanner) landmarkAddress(i int) (match, bool) {
	m := noMatch(i)
	end := sc.landmark(i)
	if end < 0 {
		return m, false
	}
	m.anchor, m.anchorEnd, m.tail = i, end, end
	m.end = sc.tail(end)
	return m, true
}
