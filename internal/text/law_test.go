package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// slowJaroWinkler is the definition, written for reading.
func slowJaroWinkler(a, b string) float64 {
	ca, cb := splitClusters(a), splitClusters(b)
	la, lb := len(ca), len(cb)
	if la == 0 || lb == 0 {
		return 0
	}
	w := max(0, max(la, lb)/2-1)
	takenA, takenB := make([]bool, la), make([]bool, lb)
	matches := 0
	for i := range ca {
		for j := max(0, i-w); j <= min(i+w, lb-1); j++ {
			if !takenB[j] && ca[i] == cb[j] {
				takenA[i], takenB[j] = true, true
				matches++
				break
			}
		}
	}
	if matches == 0 {
		return 0
	}
	mismatches, j := 0, 0
	for i := range ca {
		if !takenA[i] {
			continue
		}
		for !takenB[j] {
			j++
		}
		if ca[i] != cb[j] {
			mismatches++
		}
		j++
	}
	m := float64(matches)
	jaro := (m/float64(la) + m/float64(lb) + float64(matches-mismatches/2)/m) / 3.0
	prefix := 0
	for prefix < min(4, la, lb) && ca[prefix] == cb[prefix] {
		prefix++
	}
	if jaro > 0.7 && prefix > 0 {
		bonus := float64(prefix) * 0.1
		jaro += float64(bonus * (1.0 - jaro))
	}
	return jaro
}

func slowTokenSortRatio(a, b string) float64 {
	ra, rb := []rune(sortWords(a)), []rune(sortWords(b))
	total := len(ra) + len(rb)
	if total == 0 {
		return 1
	}
	row := make([]int, len(rb)+1)
	for i := range ra {
		diagonal := 0
		for j := range rb {
			up := row[j+1]
			if ra[i] == rb[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diagonal = up
		}
	}
	d := float64(total-2*row[len(rb)]) / float64(total)
	return float64((1.0-d)*100) / 100.0
}

var alphabets = []string{
	"ab", "abcdefghij  ", "abc \u00e9\u1ecd\u0141", "ae\u0301\u0323\u0308 ",
	"\uae40\uc774\u1100\u1161\u11a8 ", "\u0645\u062d\u0645\u062f \u064b", "\u0915\u0916\u094d\u093f\u200d ",
	"\U0001f468\u200d\U0001f469\U0001f3fd\U0001f1f3\U0001f1ec a", "a\r\n\u0085\u00a0\u3000b",
}

func textPair(t *rapid.T) (a, b string) {
	alphabet := []rune(rapid.SampledFrom(alphabets).Draw(t, "alphabet"))
	size := rapid.SampledFrom([]int{4, 20, 63, 64, 65, 66, 150, 300}).Draw(t, "size")
	draw := rapid.StringOfN(rapid.SampledFrom(alphabet), 0, size, -1)
	a = draw.Draw(t, "a")
	if rapid.Bool().Draw(t, "edit") {
		runes := []rune(a)
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			if len(runes) == 0 {
				break
			}
			i := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "delete") {
				runes = slices.Delete(runes, i, i+1)
			} else {
				runes[i] = rapid.SampledFrom(alphabet).Draw(t, "rune")
			}
		}
		return a, string(runes)
	}
	return a, draw.Draw(t, "b")
}

// One matcher runs through all pairs of a check, so masks left behind by an
// earlier pair would show.
func TestMatcherIsTheDefinition(t *testing.T) {
	var m Matcher
	rapid.Check(t, func(t *rapid.T) {
		a, b := textPair(t)
		pa, pb := Prepare(a), Prepare(b)
		jw, sort := slowJaroWinkler(a, b), slowTokenSortRatio(a, b)
		for range 2 {
			if got := m.JaroWinkler(&pa, &pb); got != jw {
				t.Fatalf("JaroWinkler(%+q, %+q) = %v, want %v", a, b, got, jw)
			}
			if got := m.TokenSortRatio(&pa, &pb); got != sort {
				t.Fatalf("TokenSortRatio(%+q, %+q) = %v, want %v", a, b, got, sort)
			}
			if got := m.Fuzzy(&pa, &pb); got != max(jw, sort) {
				t.Fatalf("Fuzzy(%+q, %+q) = %v, want %v", a, b, got, max(jw, sort))
			}
			if got := m.JaroWinkler(&pb, &pa); got != jw {
				t.Fatalf("JaroWinkler is not symmetric on %+q, %+q", a, b)
			}
		}
	})
}

func TestNormLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		n := Norm(s)
		if !utf8.ValidString(n) {
			t.Fatalf("Norm(%+q) is not UTF-8", s)
		}
		if strings.Contains(n, "  ") {
			t.Fatalf("Norm(%+q) = %+q has two spaces in a row", s, n)
		}
		if tokens := Tokens(n); strings.Join(tokens, "") != Nid(strings.Map(asciiLowerOnly, n)) {
			t.Fatalf("Tokens(%+q) = %q lose or invent characters", n, tokens)
		}
	})
}

func asciiLowerOnly(r rune) rune {
	if r < utf8.RuneSelf && isTokenByte(byte(r)) {
		return r
	}
	return ' '
}

func FuzzPrepare(f *testing.F) {
	f.Add("ada obi", "\xff\xfe")
	f.Add(strings.Repeat("a\u0301", 40), "\U0001f468\u200d\U0001f469\u200d\U0001f467")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, v := range []float64{JaroWinkler(a, b), TokenSortRatio(a, b)} {
			if !(v >= 0 && v <= 1) {
				t.Fatalf("%+q, %+q: %v is not a similarity", a, b, v)
			}
		}
		if utf8.ValidString(a) && !utf8.ValidString(Norm(a)) {
			t.Fatalf("Norm(%+q) is not UTF-8", a)
		}
	})
}

func TestLongTextsStayLinear(t *testing.T) {
	a := strings.Repeat("abcdefgh \u00e9", 20000)
	b := strings.Repeat("hgfedcba \u00e8", 20000)
	if got := JaroWinkler(a, b); !(got > 0 && got < 1) {
		t.Fatalf("JaroWinkler of long texts = %v", got)
	}
}

func BenchmarkJaroWinkler(b *testing.B) {
	benchmark(b, (*Matcher).JaroWinkler)
}

func BenchmarkTokenSortRatio(b *testing.B) {
	benchmark(b, (*Matcher).TokenSortRatio)
}

func benchmark(b *testing.B, compare func(*Matcher, *Prepared, *Prepared) float64) {
	// Many different names: a processor learns a few by heart.
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("kijani tea exporters mombasa shipping agency lagos produce buying accra gold refinery nairobi kampala steel mills cement coffee growers union trading holdings")
	prepared := make([]Prepared, 2000)
	for i := range prepared {
		name := []byte(words[rnd.IntN(len(words))] + " " + words[rnd.IntN(len(words))] + " " + words[rnd.IntN(len(words))])
		for range rnd.IntN(4) {
			name[rnd.IntN(len(name))] = byte('a' + rnd.IntN(26))
		}
		prepared[i] = Prepare(string(name))
	}
	var m Matcher
	b.ReportAllocs()
	sum, n := 0.0, 0
	for b.Loop() {
		first := &prepared[n/len(prepared)%len(prepared)]
		for j := range prepared {
			sum += compare(&m, first, &prepared[j])
			n++
		}
	}
	if sum == 0 {
		b.Fatal("nothing was similar")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/pair")
}
