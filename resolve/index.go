package resolve

import (
	"hash/maphash"
	"math/bits"
)

// textIndex finds the place of a text in a list of distinct texts. It holds
// places and a part of their hashes, not the texts, so it takes a fraction of a
// map's room.
type textIndex struct {
	slots []uint64 // half a hash, and the place + 1; 0 is free
	n     int
}

// textSeed makes the hashes of this process. Nothing that leaves it depends on
// them.
var textSeed = maphash.MakeSeed()

func textHash(s string) uint32 { return uint32(maphash.String(textSeed, s) >> 32) }

// room makes an index for n texts.
func (x *textIndex) room(n int) {
	x.slots, x.n = make([]uint64, 1<<bits.Len(uint(n+n/3+7))), 0
}

// find returns the place of a text in the list, and its hash.
func (x *textIndex) find(list []string, s string) (place int32, hash uint32, found bool) {
	hash = textHash(s)
	place, found = x.findBy(hash, func(place int32) bool { return list[place] == s })
	return place, hash, found
}

// findBy is find for texts that are in no list.
func (x *textIndex) findBy(hash uint32, same func(place int32) bool) (place int32, found bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	mask := uint32(len(x.slots) - 1)
	for at := hash & mask; x.slots[at] != 0; at = (at + 1) & mask {
		if e := x.slots[at]; uint32(e>>32) == hash && same(int32(uint32(e)-1)) {
			return int32(uint32(e) - 1), true
		}
	}
	return 0, false
}

// add notes the place of a text that find did not find, under its hash.
func (x *textIndex) add(place int32, hash uint32) {
	if 4*(x.n+1) > 3*len(x.slots) {
		x.grow()
	}
	x.n++
	x.put(uint64(hash)<<32 | uint64(uint32(place)+1))
}

func (x *textIndex) put(e uint64) {
	mask := uint32(len(x.slots) - 1)
	at := uint32(e>>32) & mask
	for x.slots[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = e
}

func (x *textIndex) grow() {
	old := x.slots
	x.slots = make([]uint64, max(16, 2*len(old)))
	for _, e := range old {
		if e != 0 {
			x.put(e)
		}
	}
}
