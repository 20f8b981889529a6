package places

import (
	"slices"
	"strings"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/internal/text"
)

// The tiers of a span: how sure it is that it names a place.
const (
	licensed = iota // a capitalised phrase that a cue leads to
	known           // in the gazetteer, or a landmark
	parsed          // an address
)

// span is a stretch that names a place.
type span struct {
	start, end, tier int
	parse            *detect.Address // of an address that is the span
}

// apart sorts spans (start, longest, higher tier) and keeps those that overlap
// none kept before them.
func apart(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int {
		switch {
		case a.start != b.start:
			return a.start - b.start
		case a.end != b.end:
			return b.end - a.end
		}
		return b.tier - a.tier
	})
	end := 0
	return slices.DeleteFunc(spans, func(s span) bool {
		if s.start < end {
			return true
		}
		end = s.end
		return false
	})
}

// spans finds what names a place by itself.
func (d *doc) spans() []span {
	out := d.addresses()
	out = append(out, d.landmarks()...)
	out = d.addPostcodes(out)
	out = append(out, d.cities()...)
	return apart(out)
}

// addresses returns the parsed addresses. A street without a number could be
// anything ("meet Grace Street"), so it counts after a locative only.
func (d *doc) addresses() []span {
	var out []span
	d.found = detect.Addresses(d.source)
	for i := range d.found {
		f := &d.found[i]
		bare := f.Parts.StreetNumber == "" && f.Parts.Plot == "" && !slices.Contains(d.runes[f.Start:f.End], ',')
		if bare && !d.afterLocative(f.Start) {
			continue
		}
		out = append(out, span{f.Start, f.End, parsed, f})
	}
	return out
}

// afterLocative reports whether a locative, and perhaps "the", leads to place i.
func (d *doc) afterLocative(i int) bool {
	word, before := d.wordBefore(i)
	if strings.EqualFold(word, "the") {
		word, _ = d.wordBefore(before)
	}
	return d.words.locatives[text.Lower(word)]
}

// wordBefore returns the word that ends in white space before place i.
func (d *doc) wordBefore(i int) (word string, start int) {
	end := i
	for end > 0 && text.IsSpace(d.runes[end-1]) {
		end--
	}
	if end == i {
		return "", i
	}
	start = end
	for start > 0 && isWord(d.runes[start-1]) && end-start < 16 {
		start--
	}
	if d.word(start - 1) {
		return "", start
	}
	return d.text(start, end), start
}

// landmarks returns places told by a relation word and a landmark noun in
// whatever case: "opposite first bank".
func (d *doc) landmarks() []span {
	var out []span
	for i := 0; i < len(d.runes); i++ {
		words, end := d.landmark(i)
		if end < 0 {
			continue
		}
		whole := d.address.TailEnd(end)
		if d.words.namesLandmark(text.Lower(d.text(words, end))) {
			out = append(out, span{i, whole, known, nil})
		}
		i = whole - 1
	}
	return out
}

// landmark matches a relation word, an article, and one to six words at i and
// returns where the words start and end.
func (d *doc) landmark(i int) (words, end int) {
	list := d.words.relations[d.lower[i]]
	if list == nil || !d.edge(i) {
		return -1, -1
	}
	for _, relation := range list {
		k := d.phrase(i, relation)
		if k < 0 {
			continue
		}
		if k = d.spaces(k); k < 0 {
			continue
		}
		for _, article := range d.words.articles {
			if after := d.phrase(k, article); after >= 0 {
				if after = d.spaces(after); after >= 0 && d.inWord(after) {
					return after, d.row(after, 6)
				}
			}
		}
		if d.inWord(k) {
			return k, d.row(k, 6)
		}
	}
	return -1, -1
}

func (d *doc) inWord(i int) bool { return i < len(d.runes) && int(d.wordEnd[i]) > i }

// row returns the end of up to most words, one space apart.
func (d *doc) row(i, most int) int {
	end := int(d.wordEnd[i])
	for n := 1; n < most && end < len(d.runes) && d.runes[end] == ' ' && d.inWord(end+1); n++ {
		end = int(d.wordEnd[end+1])
	}
	return end
}

// addPostcodes adds British postcodes: as the end of a span that one runs out
// of, else as a span with the one or two capitalised words before it.
func (d *doc) addPostcodes(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	base := len(spans)
	k := 0
	for i := 0; i < len(d.runes); i++ {
		end := d.postcode(i)
		if end < 0 {
			continue
		}
		for k < base && spans[k].end < i {
			k++
		}
		grown := false
		for j := k; j < base && spans[j].start < i; j++ {
			if s := &spans[j]; i <= s.end && s.end < end {
				s.end, s.parse, grown = end, nil, true
				break
			}
		}
		if !grown {
			spans = append(spans, span{d.nameBefore(i), end, parsed, nil})
		}
		i = end - 1
	}
	return spans
}

// postcode matches a British postcode in capitals at i.
func (d *doc) postcode(i int) int {
	if !d.upper(i) || !d.edge(i) {
		return -1
	}
	k := i + 1
	if d.upper(k) {
		k++
	}
	if d.digits(k, 1) == k {
		return -1
	}
	k++
	inward := func(k int) int {
		if k < len(d.runes) {
			k = int(d.spaceEnd[k])
		}
		if d.digits(k, 1) > k && d.upper(k+1) && d.upper(k+2) && d.edge(k+3) {
			return k + 3
		}
		return -1
	}
	if d.upper(k) || d.digits(k, 1) > k {
		if end := inward(k + 1); end >= 0 {
			return end
		}
	}
	return inward(k)
}

// nameBefore returns the start of the one or two capitalised words, each with
// white space after it, that lead to place i; i itself without them.
func (d *doc) nameBefore(i int) int {
	start := i
	for range 2 {
		end := start
		for end > 0 && text.IsSpace(d.runes[end-1]) {
			end--
		}
		if end == start {
			break
		}
		word := end
		for word > 0 && inWord(d.runes[word-1]) && end-word < 64 {
			word--
		}
		for word < end && !d.upper(word) {
			word++
		}
		if word == end {
			break
		}
		start = word
	}
	return start
}

// cities returns what the gazetteer holds in runs of capitalised words. At each
// word the longest name counts.
func (d *doc) cities() []span {
	const most = 4
	var out []span
	for i := 0; i < len(d.runes); {
		end := d.capital(i)
		if end < 0 {
			i++
			continue
		}
		starts, ends := [most]int{i}, [most]int{end}
		n := 1
		for n < most {
			k := d.spaces(end)
			if k < 0 {
				break
			}
			if end = d.capital(k); end < 0 {
				break
			}
			starts[n], ends[n] = k, end
			n++
		}
		for from := range n {
			for to := n - 1; to >= from; to-- {
				name := strings.Join(text.Fields(d.text(starts[from], ends[to])), " ")
				if d.words.cities[text.Lower(name)] {
					out = append(out, span{starts[from], ends[to], known, nil})
					break
				}
			}
		}
		i = ends[n-1]
	}
	return out
}
