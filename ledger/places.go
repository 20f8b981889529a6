package ledger

import "hash/maphash"

// places finds places in a slice by what stands there: a table with open
// addressing that keeps the places alone, a tenth of what a map with the keys
// would take. The zero value with hash set is empty.
type places struct {
	hash  func(i int32) uint64 // of what stands at a place
	slots []int32              // place + 1, 0 = free; a power of two, at most two thirds full
	n     int
}

// seed keeps files from being made so that everything hashes alike.
var seed = maphash.MakeSeed()

func (a *address) hash() uint64 { return maphash.Bytes(seed, a[:]) }

// find is the place whose hash is h and that same takes, -1 when there is none.
func (p *places) find(h uint64, same func(i int32) bool) int32 {
	if s := p.slot(h, same); s >= 0 && p.slots[s] > 0 {
		return p.slots[s] - 1
	}
	return -1
}

// slot is where a place is, or would be put; -1 in an empty table.
func (p *places) slot(h uint64, same func(i int32) bool) int {
	if len(p.slots) == 0 {
		return -1
	}
	mask := uint64(len(p.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		if i := p.slots[at]; i == 0 || same(i-1) {
			return int(at) //nolint:gosec // less than the length
		}
	}
}

// put sets the place for a hash; one that same takes is replaced.
func (p *places) put(h uint64, i int32, same func(i int32) bool) {
	p.reserve(p.n + 1)
	s := p.slot(h, same)
	if p.slots[s] == 0 {
		p.n++
	}
	p.slots[s] = i + 1
}

// reserve makes room for n places.
func (p *places) reserve(n int) {
	size := max(len(p.slots), 16)
	for size*2/3 < n {
		size *= 2
	}
	if size == len(p.slots) {
		return
	}
	old := p.slots
	p.slots = make([]int32, size)
	for _, i := range old {
		if i > 0 {
			p.slots[p.slot(p.hash(i-1), never)] = i
		}
	}
}

func never(int32) bool { return false }
