package detect

import (
	"slices"

	"github.com/arche-ledger/arche/packs"
)

const (
	catDID    = "PII-2-DID"
	catWallet = "PII-5-CRYPTO_WALLET"
)

// found is a detection in the view, before offsets of the original are known.
type found struct {
	s, e      int
	category  string
	conf      float64
	canonical string
	published bool // of phones: a published plan knows it
	bare      bool // of identifiers beyond the published ones: no cue stands before it
}

// digital finds decentralised identifiers and wallet addresses, by start.
func (x *lexed) digital() []found {
	out := append(x.dids(), x.wallets()...)
	slices.SortStableFunc(out, func(a, b found) int { return a.s - b.s })
	return out
}

func (x *lexed) dids() []found {
	var out []found
	end := 0
	for _, c := range x.cols {
		p := int(c)
		s := p - 3
		if s < end || x.s[s:p] != "did" || x.wordBefore(s) {
			continue
		}
		m := p + 1
		for m < len(x.s) && m-p <= 32 && is(x.s[m], cDigit|cLower) {
			m++
		}
		if m == p+1 || m >= len(x.s) || x.s[m] != ':' {
			continue
		}
		e := m + 1
		for e < len(x.s) && e-m <= 256 && (is(x.s[e], cAlnum) || x.s[e] == '.' || x.s[e] == '_' || x.s[e] == ':' || x.s[e] == '-') {
			e++
		}
		for e-m > 4 && x.alnumAt(e) {
			e--
		}
		if e-m <= 4 || x.alnumAt(e) {
			continue
		}
		end = e
		method := x.s[p+1 : m]
		switch {
		case method == "method": // the placeholder of specifications
		case packs.KnownDIDMethods[method]:
			out = append(out, found{s: s, e: e, category: catDID, conf: 1})
		default:
			out = append(out, found{s: s, e: e, category: catDID, conf: 0.7})
		}
	}
	return out
}

// wallets judges each run of letters and digits that holds a digit.
func (x *lexed) wallets() []found {
	var out []found
	end := 0
	for _, n := range x.nums {
		a := x.atoms[n]
		if int(a.s) < end {
			continue
		}
		s, e := x.alnumRun(int(a.s), end)
		end = e
		if c := walletConf(x.s[s:e]); c > 0 {
			out = append(out, found{s: s, e: e, category: catWallet, conf: c})
		}
	}
	return out
}

// alnumRun returns the run of ASCII letters and digits around p.
func (x *lexed) alnumRun(p, floor int) (s, e int) {
	s, e = p, p
	for s > floor && is(x.s[s-1], cAlnum) {
		s--
	}
	for e < len(x.s) && is(x.s[e], cAlnum) {
		e++
	}
	x.work += e - s
	return s, e
}

// walletConf returns the confidence that a run is a wallet address; 0 for none.
func walletConf(r string) float64 {
	n := len(r)
	switch {
	case n < 9:
		return 0
	case n == 42 && r[0] == '0' && r[1] == 'x' && all(r[2:], cHex):
		lowers, uppers := false, false
		for i := 2; i < n; i++ {
			lowers = lowers || is(r[i], cLower)
			uppers = uppers || is(r[i], cUpper)
		}
		if lowers && uppers {
			return 0.9
		}
		return 0.85
	case (r[:3] == "bc1" || r[:3] == "tb1") && n <= 90 && all(r[3:], cDigit|cLower):
		return 0.9
	case (r[0] == '1' || r[0] == '3') && n >= 26 && n <= 35 && all(r[1:], cBase58):
		return 0.85
	}
	return 0
}

func all(s string, c uint8) bool {
	for i := range len(s) {
		if class[s[i]]&c == 0 {
			return false
		}
	}
	return true
}
