package resolve

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sort"
	"strings"
)

// tally counts tokens that come and go, and hashes the counts in byte order
// without writing all of them out again for every change.
type tally struct {
	text   []string // by number, in the order tokens came
	counts []int64
	total  int64
	spread map[int64]int // how many tokens have each count
	chunks []*tallyChunk
	entry  func(buf []byte, token string, n int64) []byte // starts with its separator
}

// tallyChunk is a stretch of tokens in byte order with their entries written
// out.
type tallyChunk struct {
	ids   []int32
	text  []byte
	stale bool
}

const tallyChunkSize = 256

func newTally(entry func([]byte, string, int64) []byte) *tally {
	return &tally{spread: make(map[int64]int), entry: entry}
}

// counted is a token with its count.
type counted struct {
	token string
	n     int64
}

// merged brings lists in byte order together; counts of one token add up.
func merged(lists [][]counted) []counted {
	for len(lists) > 1 {
		half := lists[:0]
		for i := 0; i < len(lists); i += 2 {
			if i+1 == len(lists) {
				half = append(half, lists[i])
				continue
			}
			half = append(half, mergeTwo(lists[i], lists[i+1]))
		}
		lists = half
	}
	if len(lists) == 0 {
		return nil
	}
	return lists[0]
}

func mergeTwo(a, b []counted) []counted {
	if len(a) == 0 {
		return b
	}
	out := make([]counted, 0, max(len(a), len(b))+min(len(a), len(b))/2)
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0].token, b[0].token); {
		case c < 0:
			out = append(out, a[0])
			a = a[1:]
		case c > 0:
			out = append(out, b[0])
			b = b[1:]
		default:
			out = append(out, counted{a[0].token, a[0].n + b[0].n})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// load fills an empty tally with tokens in byte order.
func (t *tally) load(list []counted) {
	t.text, t.counts = make([]string, len(list)), make([]int64, len(list))
	ids := make([]int32, len(list))
	for i, c := range list {
		t.text[i], t.counts[i], ids[i] = c.token, c.n, int32(i) //nolint:gosec // memory ends first
		t.total += c.n
		t.spread[c.n]++
	}
	for chunk := range slices.Chunk(ids, tallyChunkSize) {
		t.chunks = append(t.chunks, &tallyChunk{ids: slices.Clip(chunk), stale: true})
	}
}

// place finds a token: its chunk, its place there, and whether it is there.
func (t *tally) place(token string) (chunk, at int, found bool) {
	if len(t.chunks) == 0 {
		t.chunks = append(t.chunks, &tallyChunk{})
	}
	chunk = max(0, sort.Search(len(t.chunks), func(i int) bool {
		return i > 0 && t.text[t.chunks[i].ids[0]] > token
	})-1)
	at, found = slices.BinarySearchFunc(t.chunks[chunk].ids, token, func(id int32, s string) int { return strings.Compare(t.text[id], s) })
	return chunk, at, found
}

// number is the place of a token's count, -1 when it never had one.
func (t *tally) number(token string) int32 {
	if len(t.chunks) == 0 {
		return -1
	}
	if chunk, at, found := t.place(token); found {
		return t.chunks[chunk].ids[at]
	}
	return -1
}

// count returns the count of a token.
func (t *tally) count(token string) int64 {
	if n := t.number(token); n >= 0 {
		return t.counts[n]
	}
	return 0
}

// add changes the count of a token. The text is kept, so it must not be part of
// something large.
func (t *tally) add(token string, by int64) {
	c, at, found := t.place(token)
	chunk := t.chunks[c]
	chunk.stale = true
	if !found {
		chunk.ids = slices.Insert(chunk.ids, at, int32(len(t.text))) //nolint:gosec // memory ends first
		t.text, t.counts = append(t.text, token), append(t.counts, 0)
	}
	id := chunk.ids[at]
	old := t.counts[id]
	n := old + by
	t.counts[id] = n
	t.total += by
	if old > 0 {
		if t.spread[old]--; t.spread[old] == 0 {
			delete(t.spread, old)
		}
	}
	if n > 0 {
		t.spread[n]++
	}
	if len(chunk.ids) > 2*tallyChunkSize {
		rest := &tallyChunk{ids: slices.Clone(chunk.ids[tallyChunkSize:]), stale: true}
		chunk.ids = slices.Clip(chunk.ids[:tallyChunkSize])
		t.chunks = slices.Insert(t.chunks, c+1, rest)
	}
}

// digest hashes head, the entries of all counted tokens without the first
// separator, and tail.
func (t *tally) digest(head string, separator int, tail []byte) string {
	h := sha256.New()
	h.Write([]byte(head))
	first := true
	for _, c := range t.chunks {
		if c.stale {
			c.text = c.text[:0]
			for _, id := range c.ids {
				if n := t.counts[id]; n > 0 {
					c.text = t.entry(c.text, t.text[id], n)
				}
			}
			c.stale = false
		}
		b := c.text
		if first && len(b) > 0 {
			b = b[separator:]
			first = false
		}
		h.Write(b)
	}
	h.Write(tail)
	return hex.EncodeToString(h.Sum(nil))
}

// least is the smallest count there is, 0 without any.
func (t *tally) least() int64 {
	if t.spread[1] > 0 {
		return 1
	}
	least := int64(0)
	for n := range t.spread {
		if least == 0 || n < least {
			least = n
		}
	}
	return least
}

// quarter is the count a quarter of the way up the sorted counts, 1 without
// any.
func (t *tally) quarter() int64 {
	kinds := 0
	for _, k := range t.spread {
		kinds += k
	}
	at := kinds / 4
	for _, n := range slices.Sorted(maps.Keys(t.spread)) {
		if at < t.spread[n] {
			return n
		}
		at -= t.spread[n]
	}
	return 1
}
