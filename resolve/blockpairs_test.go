package resolve

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// wordy makes a list whose rows hold the given words, without coordinates and
// identifiers.
func wordy(rows [][]int32) *keyed {
	k := &keyed{n: len(rows), coordless: len(rows)}
	for _, words := range rows {
		k.tokens.add(words)
		k.ids.add(nil)
	}
	return k
}

// shareKey says by the rule itself which rows share a word or a pair of words
// that few enough rows hold.
func shareKey(a, b [][]int32, words int) func(i, j int) bool {
	count := func(list [][]int32, ws ...int32) int {
		n := 0
		for _, row := range list {
			has := true
			for _, w := range ws {
				has = has && slices.Contains(row, w)
			}
			if has {
				n++
			}
		}
		return n
	}
	common := make([]bool, words)
	full := make(map[[2]int32]bool)
	for w := range int32(words) {
		common[w] = count(a, w)*count(b, w) > maxPairsPerKey
	}
	for w := range int32(words) {
		for v := w + 1; v < int32(words); v++ {
			full[[2]int32{w, v}] = count(a, w, v)*count(b, w, v) > maxPairsPerKey
		}
	}
	return func(i, j int) bool {
		var both []int32
		for _, w := range a[i] {
			if !slices.Contains(b[j], w) {
				continue
			}
			if !common[w] {
				return true
			}
			both = append(both, w)
		}
		for n, w := range both {
			for _, v := range both[n+1:] {
				if !full[[2]int32{w, v}] {
					return true
				}
			}
		}
		return false
	}
}

// Candidates are what the rule says, in however many passes they are found, and
// no pass lays out more than it may.
func TestPassesFindTheSame(t *testing.T) {
	passes := 0
	rapid.Check(t, func(t *rapid.T) {
		const words = 9
		draw := rapid.Custom(func(t *rapid.T) []int32 {
			mask := rapid.IntRange(0, 1<<words-1).Draw(t, "words") | rapid.IntRange(0, 1<<words-1).Draw(t, "more")
			var row []int32
			for w := range int32(words) {
				if mask>>w&1 != 0 {
					row = append(row, w)
				}
			}
			return row
		})
		a := rapid.SliceOfN(draw, 30, 60).Draw(t, "a")
		b, dedupe := a, rapid.Bool().Draw(t, "dedupe")
		if !dedupe {
			b = rapid.SliceOfN(draw, 30, 60).Draw(t, "b")
		}
		shares := shareKey(a, b, words)
		room := rapid.SampledFrom([]int64{1, 300, 2000, pairRoom}).Draw(t, "room")
		k := blockerOf(t.Context(), t, a, b, words, dedupe)
		if k.join != nil {
			k.join.room, k.join.remember = room, rapid.SampledFrom([]int{0, 20, mostHeld}).Draw(t, "remembered")
		}
		full := -1
		for from := 0; from < len(a); {
			to, err := k.loadPairs(t.Context(), from, len(a))
			if err != nil {
				t.Fatal(err)
			}
			if full >= 0 && k.overFull.wordPairs != full {
				t.Fatalf("%d over-full pairs in one pass and %d in another", full, k.overFull.wordPairs)
			}
			full = k.overFull.wordPairs
			if k.join != nil && k.join.held > max(room, ownRoom(a, b)) {
				t.Fatalf("a pass lays out %d, more than %d", k.join.held, room)
			}
			seek := newSeeker(k)
			for i := from; i < to; i++ {
				got := slices.Sorted(slices.Values(seek.candidates(int32(i))))
				var want []int32
				for j := range b {
					if (!dedupe || j > i) && shares(i, j) {
						want = append(want, int32(j))
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("row %d of %v finds %v, want %v", i, a, got, want)
				}
			}
			from = to
		}
		if k.join != nil {
			passes = max(passes, k.join.passes)
		}
	})
	if passes < 2 {
		t.Error("no list took more than one pass")
	}
}

// ownRoom is the most that a single row can take.
func ownRoom(a, b [][]int32) int64 {
	most := 0
	for _, row := range a {
		most = max(most, len(row)*(len(row)-1)/2*(len(b)+1))
	}
	return int64(most)
}

type fataler interface{ Fatal(args ...any) }

func blockerOf(ctx context.Context, t fataler, a, b [][]int32, words int, dedupe bool) *blocker {
	listA := wordy(a)
	listB := listA
	if !dedupe {
		listB = wordy(b)
	}
	k, err := newBlocker(ctx, listA, listB, words, 0, dedupe, false)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Skewed lists: every row holds many words that are common, so that pairs are
// hundreds of times as many as rows. The join holds what it may, whatever the
// number of rows.
func TestJoinIsBounded(t *testing.T) {
	const words, held, room = 200, 20, 1 << 14
	skewed := func(rows int, seed uint64) [][]int32 {
		out := make([][]int32, rows)
		for i := range out {
			for len(out[i]) < held {
				seed = seed*6364136223846793005 + 1442695040888963407
				if w := int32(seed >> 33 % words); !slices.Contains(out[i], w) {
					out[i] = append(out[i], w)
				}
			}
			slices.Sort(out[i])
		}
		return out
	}
	var most []int64
	for _, rows := range []int{500, 1500} {
		k := blockerOf(t.Context(), t, skewed(rows, 1), skewed(rows, 2), words, false)
		if k.join == nil {
			t.Fatal("no word is common")
		}
		k.join.room = room
		found := 0
		for from, width := 0, rows; from < rows; {
			to, err := k.loadPairs(t.Context(), from, width)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(k.pairs.of.ids) + len(k.pairs.rows.ids); int64(n) != k.join.held && k.join.held < int64(n) || n > room {
				t.Fatalf("rows %d to %d take %d, more than %d", from, to, n, room)
			}
			found += len(k.pairs.of.ids)
			from, width = to, to-from
		}
		if found < 50*rows || k.join.passes < 2 {
			t.Errorf("%d rows: %d pairs in %d passes: not the skew that this test is about", rows, found, k.join.passes)
		}
		most = append(most, k.join.held)
	}
	if most[1] > room {
		t.Errorf("%d entries for four times the rows, %d before", most[1], most[0])
	}
}

// A join that is told to stop does.
func TestJoinStops(t *testing.T) {
	rows := make([][]int32, 40)
	for i := range rows {
		rows[i] = []int32{0, 1}
	}
	k := blockerOf(t.Context(), t, rows, rows, 2, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.loadPairs(ctx, 0, len(rows)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
