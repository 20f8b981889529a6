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
	toks   *tokens
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

func newTally(toks *tokens, entry func([]byte, string, int64) []byte) *tally {
	return &tally{toks: toks, spread: make(map[int64]int), entry: entry}
}

// count returns the count of a token.
func (t *tally) count(id int32) int64 {
	if int(id) >= len(t.counts) {
		return 0
	}
	return t.counts[id]
}

// add changes the count of a token.
func (t *tally) add(id int32, by int64) {
	for int(id) >= len(t.counts) {
		t.counts = append(t.counts, 0)
	}
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
	t.touch(id)
}

// touch marks the chunk of a token as changed, placing the token if it is new.
func (t *tally) touch(id int32) {
	if len(t.chunks) == 0 {
		t.chunks = append(t.chunks, &tallyChunk{})
	}
	token := t.toks.text[id]
	c := sort.Search(len(t.chunks), func(i int) bool {
		return i > 0 && t.toks.text[t.chunks[i].ids[0]] > token
	}) - 1
	chunk := t.chunks[max(c, 0)]
	chunk.stale = true
	at, found := slices.BinarySearchFunc(chunk.ids, token, func(id int32, s string) int { return strings.Compare(t.toks.text[id], s) })
	if found {
		return
	}
	chunk.ids = slices.Insert(chunk.ids, at, id)
	if len(chunk.ids) > 2*tallyChunkSize {
		rest := &tallyChunk{ids: slices.Clone(chunk.ids[tallyChunkSize:]), stale: true}
		chunk.ids = slices.Clip(chunk.ids[:tallyChunkSize])
		t.chunks = slices.Insert(t.chunks, max(c, 0)+1, rest)
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
					c.text = t.entry(c.text, t.toks.text[id], n)
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
