package detect

import (
	"net/netip"
	"strings"
)

const (
	catIP         = "PII-8-IP_ADDRESS"
	maxIP6        = 45 // characters of the longest IPv6 address, zone aside
	versionWindow = 16 // characters before a dotted number in which "version" speaks against an address
)

// addresses4 finds dotted quads that are IPv4 addresses.
func (x *lexed) addresses4() []vspan {
	var out []vspan
	next := 0
	for _, n := range x.nums {
		i, a := int(n), x.atoms[n]
		if i < next || i+3 >= len(x.atoms) || a.len() > 3 || x.wordBefore(int(a.s)) || !x.quad(i) {
			continue
		}
		s, e := int(a.s), int(x.atoms[i+3].e)
		if _, err := netip.ParseAddr(x.s[s:e]); err == nil && !x.versionBefore(s) {
			out = append(out, vspan{s, e})
		}
		next = i + 4
	}
	return out
}

// quad tells whether four short numbers joined by dots start at atom i.
func (x *lexed) quad(i int) bool {
	for k := i + 1; k <= i+3; k++ {
		p, a := x.atoms[k-1], x.atoms[k]
		if a.kind != aDigits || a.len() > 3 || a.s != p.e+1 || x.s[p.e] != '.' {
			return false
		}
	}
	return !x.wordAt(int(x.atoms[i+3].e))
}

// versionBefore looks for the word "v" or "version" shortly before p.
func (x *lexed) versionBefore(p int) bool {
	w := x.s[x.back(p, versionWindow):p]
	for i := 0; i < len(w); i++ {
		if lowerByte(w[i]) != 'v' || i > 0 && isWordRune(lastRune(w[:i])) {
			continue
		}
		for _, n := range []int{1, len("version")} {
			if i+n <= len(w) && strings.EqualFold(w[i:i+n], "version"[:n]) && (i+n == len(w) || !isWordRune(firstRune(w[i+n:]))) {
				return true
			}
		}
	}
	return false
}

// addresses6 finds IPv6 addresses, with an embedded IPv4 address or a zone.
func (x *lexed) addresses6() []vspan {
	var out []vspan
	end := 0
	for _, c := range x.cols {
		p := int(c)
		if p < end {
			continue
		}
		s := p
		for s > end && is(x.s[s-1], cHex) {
			s--
		}
		e := p
		for e < len(x.s) && (is(x.s[e], cHex) || x.s[e] == ':') {
			e++
		}
		end = e
		if e-s < 3 || e-s > maxIP6 || s > 0 && (x.wordBefore(s) || x.s[s-1] == ':') {
			continue
		}
		if q := x.parse6(s, e); q > 0 {
			out = append(out, vspan{s, q})
			end = max(end, q)
		}
	}
	return out
}

// parse6 returns the end of the address in the run of hex digits and colons
// [s,e), or 0.
func (x *lexed) parse6(s, e int) int {
	if e < len(x.s) && x.s[e] == '.' {
		q := e
		for q < len(x.s) && q-e < 13 && (is(x.s[q], cDigit) || x.s[q] == '.') {
			q++
		}
		for q > e && x.s[q-1] == '.' {
			q--
		}
		if q > e && valid6(x.s[s:q]) {
			e = q
		}
	}
	if x.s[e-1] == ':' && x.s[e-2] != ':' {
		e-- // the colon of the sentence
	} else if x.wordAt(e) {
		return 0
	}
	if !valid6(x.s[s:e]) {
		return 0
	}
	if e+1 < len(x.s) && x.s[e] == '%' {
		q := e + 1
		for q < len(x.s) && (is(x.s[q], cWord) || x.s[q] == '.' || x.s[q] == '-') {
			q++
		}
		if q > e+1 {
			return q
		}
	}
	return e
}

func valid6(s string) bool {
	if strings.Trim(s, ":") == "" {
		return false
	}
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}
