package documents

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// longToken is the length from which a run of text without white space is not
// kept as a word: text in scripts that write none would be kept twice.
const longToken = 64

// lexicon numbers the words of all documents. A query looks through the
// words once and then only at numbers: a word without white space occurs in a
// text exactly as often as in its runs between white space.
type lexicon struct {
	mu    sync.RWMutex
	ids   map[string]uint32
	words []string
}

// count is a word's number and how often it occurs in a document, capped:
// 27 bits and 5.
type count uint32

const countBits = 5

func newCount(word uint32, n uint8) count { return count(word<<countBits | uint32(n)) }
func (c count) word() uint32              { return uint32(c) >> countBits }
func (c count) times() int                { return int(c & (1<<countBits - 1)) }

// maxWords is how many words can be numbered.
const maxWords = 1 << (32 - countBits)

// wordCounts are the words of a body; whole is false when some run was too
// long to be kept, so that the text itself must be looked at.
type wordCounts struct {
	counts []count
	whole  bool
}

var counters = sync.Pool{New: func() any { return map[string]uint8{} }}

// index counts the words of a text.
func (v *lexicon) index(text string) wordCounts {
	seen := counters.Get().(map[string]uint8)
	out := wordCounts{whole: true}
	for i := 0; i < len(text); {
		start := i
		for i < len(text) {
			if c := text[i]; c < utf8.RuneSelf {
				if c == ' ' || c >= '\t' && c <= '\r' {
					break
				}
				i++
				continue
			}
			r, n := utf8.DecodeRuneInString(text[i:])
			if unicode.IsSpace(r) {
				break
			}
			i += n
		}
		switch token := text[start:i]; {
		case token == "":
		case len(token) > longToken:
			out.whole = false
		default:
			if n := seen[token]; n < occurrenceCap {
				seen[token] = n + 1
			}
		}
		if i < len(text) { // over the white space
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
		}
	}
	var all bool
	out.counts, all = v.number(seen)
	out.whole = out.whole && all
	clear(seen)
	counters.Put(seen)
	return out
}

// number turns counted words into numbers, giving new words the next ones; all
// is false when there are no more numbers.
func (v *lexicon) number(seen map[string]uint8) (out []count, all bool) {
	out, all = make([]count, 0, len(seen)), true
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ids == nil {
		v.ids = map[string]uint32{}
	}
	for token, n := range seen { // the order of the numbers never shows
		id, known := v.ids[token]
		if !known && len(v.words) == maxWords {
			all = false
			continue
		}
		if !known {
			id = uint32(len(v.words))
			token = strings.Clone(token)
			v.ids[token] = id
			v.words = append(v.words, token)
		}
		out = append(out, newCount(id, n))
	}
	return out, all
}

// finder says for each numbered word how often a wanted word occurs in it.
type finder []uint8

// find looks through the vocabulary for a lower-cased word without white
// space.
func (v *lexicon) find(word string) finder {
	v.mu.RLock()
	words := v.words
	v.mu.RUnlock()
	out := make(finder, len(words))
	for i, w := range words {
		if strings.Contains(w, word) {
			out[i] = uint8(min(occurrenceCap, strings.Count(w, word)))
		}
	}
	return out
}

// occurrences is how often the finder's word occurs among the counted ones, up
// to the cap. Words that are newer than the finder are not in it: the document
// is newer than the query.
func (f finder) occurrences(counts []count) int {
	n := 0
	for _, c := range counts {
		if w := int(c.word()); w < len(f) && f[w] > 0 {
			n += int(f[w]) * c.times()
			if n >= occurrenceCap {
				return occurrenceCap
			}
		}
	}
	return n
}
