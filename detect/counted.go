package detect

import (
	"strings"
	"sync"

	"github.com/arche-ledger/arche/packs"
)

var counting = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	w := packs.DetectCountingWords()
	for _, s := range w.Words {
		m[s] = 1
	}
	for _, s := range w.Fillers {
		m[s] = 2
	}
	return m
})

const maxCountGap = 4 // signs between a counting word and its number

// counted tells whether the word before p says that a number counts things
// ("order", "tracking no."), so that digits alone are no identifier.
func (x *lexed) counted(p int) bool {
	for range 2 {
		word, s := x.wordBack(p)
		switch c := counting()[word]; {
		case c&1 != 0:
			return true
		case c&2 != 0:
			p = s
		default:
			return false
		}
	}
	return false
}

// wordBack returns the word that ends shortly before p, in lower case, and its
// start.
func (x *lexed) wordBack(p int) (string, int) {
	e := p
	for e > 0 && p-e < maxCountGap && strings.IndexByte(" :#.-/=(\t", x.s[e-1]) >= 0 {
		e--
	}
	s := e
	for s > 0 && e-s < 12 && is(x.s[s-1], cAlnum) {
		s--
	}
	return strings.ToLower(x.s[s:e]), s
}

const minDigest = 24 // hex digits from which a run reads as a digest

// insideDigest tells whether [s,e) lies in a long run of hex digits that has
// letters too.
func (x *lexed) insideDigest(s, e int) bool {
	if !(s > 0 && is(x.s[s-1], cLetter)) && !(e < len(x.s) && is(x.s[e], cLetter)) {
		return false
	}
	lo, hi := s, e
	for lo > 0 && s-lo < 64 && is(x.s[lo-1], cHex) {
		lo--
	}
	for hi < len(x.s) && hi-e < 64 && is(x.s[hi], cHex) {
		hi++
	}
	x.work += hi - lo
	return hi-lo >= minDigest
}
