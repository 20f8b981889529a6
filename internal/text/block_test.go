package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Texts of any length around the word and block limits compare as lists do.
func TestBlocksEqualLists(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) string {
		n := rapid.SampledFrom([]int{1, 30, 63, 64, 65, 100, 127, 128, 129, 200, 255, 256, 257, 300}).Draw(t, "n")
		return strings.TrimSpace(rapid.StringOfN(rapid.RuneFrom([]rune("abcd e")), n, n, -1).Draw(t, "s"))
	})
	var m Matcher
	rapid.Check(t, func(t *rapid.T) {
		a, b := Prepare(draw.Draw(t, "a")), Prepare(draw.Draw(t, "b"))
		if a.clusters() == 0 || b.clusters() == 0 {
			return
		}
		if got, want := m.JaroWinkler(&a, &b), jaroWinklerLists(a.codeList(), b.codeList()); got != want {
			t.Fatalf("JaroWinkler(%q, %q) = %v, want %v", a.text, b.text, got, want)
		}
		if got, want := m.TokenSortRatio(&a, &b), sortRatio(a.sortedLen(), b.sortedLen(), lcsLong(&a, &b)); got != want {
			t.Fatalf("TokenSortRatio(%q, %q) = %v, want %v", a.text, b.text, got, want)
		}
	})
}
