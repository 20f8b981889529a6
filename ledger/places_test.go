package ledger

import (
	"testing"

	"pgregory.net/rapid"
)

// Places answer as a map would, through growth and replaced places.
func TestPlacesAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Uint8Range(0, 40), 1, 200).Draw(t, "keys")
		spread := rapid.Uint64Range(1, 7).Draw(t, "spread") // few hashes: many meet
		hash := func(k uint8) uint64 { return uint64(k) % spread }
		p := places{hash: func(i int32) uint64 { return hash(keys[i]) }}
		want := map[uint8]int32{}
		for i, k := range keys {
			p.put(hash(k), int32(i), func(j int32) bool { return keys[j] == k }) //nolint:gosec // short lists
			want[k] = int32(i)                                                   //nolint:gosec // short lists
		}
		for k := range uint8(42) {
			at, ok := want[k]
			if !ok {
				at = -1
			}
			if got := p.find(hash(k), func(j int32) bool { return keys[j] == k }); got != at {
				t.Fatalf("key %d is at %d, want %d", k, got, at)
			}
		}
		if p.n != len(want) {
			t.Fatalf("%d places, want %d", p.n, len(want))
		}
	})
}

func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m marks
		want := map[int32]bool{}
		for _, i := range rapid.SliceOf(rapid.Int32Range(0, 300)).Draw(t, "set") {
			m.set(i)
			want[i] = true
		}
		for i := range int32(320) {
			if m.has(i) != want[i] {
				t.Fatalf("%d: %v", i, m.has(i))
			}
		}
	})
}
