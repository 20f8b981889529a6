package detect

import (
	"fmt"
	"strings"
	"testing"
)

// hostile are texts that make backtracking scanners slow.
var hostile = []string{
	"a-", "a.", "a@", "a-a-a-", "1 ", "1.", "1.1.1.", "1,", "0 ", "0.", "00 ", "1-", "1:", "a:", "::", "::1 ", "did:", "did:a:", "'", "’", "-",
	"near Xx ", "near the ", "near Xx, ", "near ", "Ab Cd Ef Gh Road ", "Road ", "Road, ", "Plot 1, ", "St ", "Box 1, ", "P.O. Box 1, Ab, ", "12 Ab Street, ",
	"opposite Xx Street ", "N1 ", "N1,", "000 ", "1 000 ", "000,", "1,000 DH ", "500 naira ", "$1,", "$", "$1 ", "5 usd ", "Fatima ", "Fatima-", "Fatima'", "Mr ",
	"with Aa ", "jean ", "grace mwangi ", "Lagos", "Lagos ", "Port ", "ID ", "tax ", "tax id ", "ID 1234567 ", "nin 1234 ", "born ", "born 1.1.", "1/1/", "01.01.01.",
	"May 5 ", "5 May ", "call 0803 ", "+234 ", "0803 555 ", "+", "(", "(0", "4111 ", "4111 1111 1111 1111 ", "DE89", "DE89 ", "GB12", "A1", "A1 ", "12 34 56 ",
	"http://", "www.", "ISBN ", "ISBN-978-", "978 ", "x@x.", "@x.", ".@", "\u200b", "1\u200b2", "a\u200b", "e\u0301", "\u0661", "\uff11", "ab12-", "ET-AA-", "RC ", "AAA-", "_1", "1_",
}

// Twice the text must not take more than twice the looks at it, give or take a
// constant: looks are counted, not timed.
func TestLinear(t *testing.T) {
	const n = 5 << 10
	for _, piece := range hostile {
		short := work(strings.Repeat(piece, n/len(piece)+1))
		long := work(strings.Repeat(piece, 2*(n/len(piece)+1)))
		if long > 2*short+short/4+4<<10 {
			t.Errorf("%q: %d looks at 5 KB, %d at 10 KB", piece, short, long)
		}
		if per := short / n; per > 400 {
			t.Errorf("%q: %d looks a byte", piece, per)
		}
	}
}

// work counts the looks of all scanners at a text.
func work(text string) int {
	total := 0
	for _, jurisdiction := range []string{"NG", "EU", ""} {
		w := newView(text, true)
		scanView(w, jurisdiction)
		total += w.work
	}
	w := newView(text, true)
	entitiesOf(w, nil)
	return total + w.work
}

// BenchmarkHostile gives the time of 20 KB of each hostile text.
func BenchmarkHostile(b *testing.B) {
	for _, piece := range hostile {
		text := strings.Repeat(piece, (20<<10)/len(piece))
		b.Run(fmt.Sprintf("%q", piece), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				scanAll(text, "NG")
			}
		})
	}
}
