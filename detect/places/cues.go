package places

import (
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/arche-ledger/arche/internal/text"
)

// cue is a phrase of the pack where it stands in the text.
type cue struct {
	start, end int
	cuePhrase
}

// cues finds the cue phrases and settles their borders with the spans: one
// inside a span is none, one that reaches into a span takes that part of it.
func (d *doc) cues(spans []span) ([]cue, []span) {
	var out []cue
	k := 0
	for i := 0; i < len(d.runes); i++ {
		c, ok := d.cueAt(i)
		if !ok {
			continue
		}
		i = c.end - 1
		for k < len(spans) && spans[k].end <= c.start {
			k++
		}
		inside := false
		for j := k; j < len(spans) && spans[j].start < c.end; j++ {
			s := &spans[j]
			if s.start <= c.start && c.end <= s.end {
				inside = true
				break
			}
			if c.start < s.start && c.end <= s.end {
				s.start, s.parse = c.end, nil
				for s.start < s.end && d.runes[s.start] == ' ' {
					s.start++
				}
			}
		}
		if !inside {
			out = append(out, c)
		}
	}
	spans = slices.DeleteFunc(spans, func(s span) bool { return s.start >= s.end })
	return out, spans
}

func (d *doc) cueAt(i int) (cue, bool) {
	list := d.words.cues[d.lower[i]]
	if list == nil || !d.edge(i) {
		return cue{}, false
	}
	for _, p := range list {
		if end := d.phrase(i, p.folded); end >= 0 && d.edge(end) {
			return cue{i, end, p}, true
		}
	}
	return cue{}, false
}

// license adds the capitalised phrases that cues lead to.
func (d *doc) license(cues []cue, spans []span) []span {
	out := slices.Clone(spans)
	for _, c := range cues {
		start, end, ok := d.licensable(c.end)
		if !ok {
			continue
		}
		s := span{start, end, licensed, nil}
		touched := between(spans, s.start, s.end)
		if slices.ContainsFunc(touched, func(x span) bool { return x.tier == parsed }) {
			continue
		}
		if len(touched) == 0 {
			if near, _ := d.nearest(spans, c.end); near < 0 {
				out = append(out, s)
			}
			continue
		}
		for _, x := range touched {
			if x.start >= s.start && x.end <= s.end {
				s.tier = max(s.tier, x.tier)
			}
		}
		if s.tier > licensed {
			out = slices.DeleteFunc(out, func(x span) bool { return x.start >= s.start && x.end <= s.end && x.tier < parsed })
			out = append(out, s)
		}
	}
	return apart(out)
}

// between returns the spans, sorted and apart, that overlap [from, to).
func between(spans []span, from, to int) []span {
	lo := sort.Search(len(spans), func(k int) bool { return spans[k].end > from })
	hi := lo
	for hi < len(spans) && spans[hi].start < to {
		hi++
	}
	return spans[lo:hi]
}

// licensable matches the phrase after place i that a cue there would license:
// fillers, a house number, a capitalised name, up to two more parts.
func (d *doc) licensable(i int) (start, end int, ok bool) {
	k := d.spaces(i)
	if k < 0 {
		return 0, 0, false
	}
	for {
		e := int(d.wordEnd[k])
		if e == k || !d.words.fillers[text.Lower(d.text(k, min(e, k+8)))] {
			break
		}
		if k = d.spaces(e); k < 0 {
			return 0, 0, false
		}
	}
	start = k
	if n := d.digits(k, 4); n > k {
		if n < len(d.runes) && (d.runes[n]|0x20) >= 'a' && (d.runes[n]|0x20) <= 'z' {
			n++
		}
		if k = d.spaces(n); k < 0 {
			return 0, 0, false
		}
	}
	first := k
	if end = d.capital(k); end < 0 {
		return 0, 0, false
	}
	if d.words.refused[strings.TrimRight(text.Lower(d.text(first, end)), ".")] {
		return 0, 0, false
	}
	end = d.names(end, 5, true)
	for range 2 {
		k := int(d.spaceEnd[end])
		if k >= len(d.runes) || d.runes[k] != ',' {
			break
		}
		if k = int(d.spaceEnd[k+1]); d.capital(k) < 0 {
			break
		}
		end = d.names(d.capital(k), 2, false)
	}
	return start, end, true
}

// names returns the end of up to most more words of a name.
func (d *doc) names(end, most int, linked bool) int {
	for range most {
		k := d.spaces(end)
		if k < 0 {
			break
		}
		next := d.capital(k)
		if next < 0 && linked {
			for _, w := range [...]string{"of", "es"} {
				if e := d.phrase(k, []rune(w)); e >= 0 && d.text(k, e) == w && d.edge(e) {
					next = e
				}
			}
		}
		if next < 0 {
			break
		}
		end = next
	}
	return end
}

// nearest returns the first span that starts in the window after place i and
// how near it is: 2 next to it, fillers aside, 1 further, or -1.
func (d *doc) nearest(spans []span, i int) (k, tier int) {
	k = sort.Search(len(spans), func(k int) bool { return spans[k].start >= i })
	if k == len(spans) {
		return -1, 0
	}
	tier = d.gap(i, spans[k].start)
	if tier == 0 {
		return -1, 0
	}
	return k, tier
}

// gap tells how near place to is to the end of a cue: 2, 1, or 0 when it is out
// of the window.
func (d *doc) gap(from, to int) int {
	if to < from || to-from > d.words.pack.MaxGap {
		return 0
	}
	between := d.runes[from:to]
	if slices.ContainsFunc(between, func(r rune) bool { return strings.ContainsRune(".;!?\n", r) }) {
		return 0
	}
	pieces := strings.FieldsFunc(string(between), func(r rune) bool {
		return text.IsSpace(r) || strings.ContainsRune(",:;", r) || unicode.Is(unicode.Pd, r)
	})
	for _, p := range pieces {
		if !d.words.fillers[text.Lower(p)] {
			return 1
		}
	}
	return 2
}
