package detect

// countRunes fills in the code point offsets with one pass over the text.
func countRunes(text string, spans []Span) {
	if isASCIIText(text) {
		for i := range spans {
			spans[i].Start, spans[i].End = spans[i].ByteStart, spans[i].ByteEnd
		}
		return
	}
	index := newRuneIndex(text)
	for i := range spans {
		spans[i].Start, spans[i].End = index.at(spans[i].ByteStart), index.at(spans[i].ByteEnd)
	}
}

const indexStep = 256 // bytes between two entries of a rune index

// runeIndex counts code points up to a byte offset in constant time.
type runeIndex struct {
	text   string
	counts []int32
}

func newRuneIndex(text string) runeIndex {
	x := runeIndex{text, make([]int32, len(text)/indexStep+1)}
	n := int32(0)
	for i := range len(text) {
		if i%indexStep == 0 {
			x.counts[i/indexStep] = n
		}
		if text[i]&0xc0 != 0x80 {
			n++
		}
	}
	if len(text)%indexStep == 0 {
		x.counts[len(text)/indexStep] = n
	}
	return x
}

func (x runeIndex) at(p int) int {
	n := int(x.counts[p/indexStep])
	for i := p / indexStep * indexStep; i < p; i++ {
		if x.text[i]&0xc0 != 0x80 {
			n++
		}
	}
	return n
}
