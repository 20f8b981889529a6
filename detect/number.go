package detect

import (
	"strings"
)

// number is one candidate.
type number struct {
	f           *phones
	digits      string
	s, e, k, m  int
	plus, whole bool
}

// read returns the number in E.164 form with its confidence, or "". known is
// true when a published plan reads it.
func (n *number) read() (e164 string, conf float64, known bool) {
	d := n.digits
	exit := strings.HasPrefix(d, "00") && !n.plus && len(d) > 10
	if exit {
		d = d[2:]
	}
	if n.plus || exit && n.tidy() && !n.counted() && !n.blocked() {
		if e := publishedInternational(d); e != "" {
			return e, phoneConf, !exit
		}
		if len(d) <= maxPhone+1 {
			if e := numbering().international(d); e != "" {
				return e, phoneConf, false
			}
		}
	}
	if len(n.digits) <= maxPhone && (n.whole || n.digits[0] == '0') && !n.blocked() {
		if e := n.published(); e != "" {
			return e, phoneConf, true
		}
	}
	if n.plus || !n.tidy() {
		return "", 0, false
	}
	e164, conf = n.national()
	return e164, conf, false
}

// published applies the published plans to digits without a plus.
func (n *number) published() string {
	d := n.digits
	if len(d) > 10 && !overlapAny(n.f.ids, n.s, n.e) && (n.m == n.k || !n.shortGroups()) && (n.f.cue(n.s) || !n.counted()) {
		if e := publishedInternational(d); e != "" {
			return e
		}
	}
	region := n.f.region
	if e := mobiles().byRegion[region].local(d); e != "" {
		return e
	}
	if d[0] != '0' || !n.whole && !n.uniform(n.k) || n.document() || n.counted() || overlapAny(n.f.ids, n.s, n.e) {
		return ""
	}
	for _, p := range mobiles().byLocal[len(d)] {
		if e := p.local(d); e != "" {
			if own := numbering().inRegion(region, d, false); own != "" {
				return own // the jurisdiction's number, though another plan knows the digits
			}
			return e
		}
	}
	return ""
}

// national reads a number by the plan of the jurisdiction, or of any region
// when a cue stands before it.
func (n *number) national() (string, float64) {
	d := n.digits
	if len(d) > 12 || n.counted() || overlapAny(n.f.ids, n.s, n.e) || n.document() || n.blocked() || n.dated() || n.zipCode() {
		return "", 0
	}
	cue := n.f.cue(n.s)
	if !cue && (n.m == n.k && len(d) < 10 || d[0] != '0' && !n.grouped()) {
		return "", 0
	}
	for _, r := range n.f.regions {
		if e := numbering().inRegion(r, d, false); e != "" {
			return e, nationalConf
		}
	}
	if !cue {
		return "", 0
	}
	if e := numbering().inRegion(n.f.region, d, true); e != "" {
		return e, cuedPhoneConf
	}
	if e := numbering().inRegion("US", d, false); e != "" && n.grouped() {
		return e, cuedPhoneConf
	}
	if d[0] == '0' && len(d) >= 9 {
		for _, r := range cuedRegions {
			if e := numbering().inRegion(r, d, false); e != "" {
				return e, cuedPhoneConf
			}
		}
	}
	return "", 0
}

// cuedRegions are those whose national numbers a cue alone brings in.
var cuedRegions = append([]string{"GB", "FR", "DE", "NG", "KE", "GH", "ZA", "IE", "AU", "IN"}, members...)

// cue tells whether a word such as "call" or "tel" stands shortly before s.
func (f *phones) cue(s int) bool { return phoneCues().before(f.view, s, 6) }

// counted tells whether undivided digits count things: no word before them
// makes an order number of groups written like a telephone number's.
func (n *number) counted() bool { return n.m == n.k && n.f.counted(n.s) }

// document tells whether a prefix such as ORD- makes the number a document's.
func (n *number) document() bool {
	e := n.s - 1
	if e < 3 || n.f.s[e] != '-' {
		return false
	}
	s, _ := n.f.alnumRun(e, max(e-4, 0))
	return documentPrefixes[n.f.s[s:e]]
}

// tidy tells whether at most two separators stand between groups, so that two
// numbers side by side are not read as one, and nothing marks an amount.
func (n *number) tidy() bool {
	for i := n.k; i < n.m; i++ {
		if n.f.atoms[i+1].s-n.f.atoms[i].e > 3 {
			return false
		}
	}
	s, e := n.s, n.e
	if s > 0 && strings.IndexByte("$#./", n.f.s[s-1]) >= 0 || e < len(n.f.s) && n.f.s[e] == '%' {
		return false
	}
	return !(n.f.atoms[n.k].len() == 1 && n.k < n.m && n.f.s[n.f.atoms[n.k].e] == '.') // a decimal fraction
}

// grouped tells whether the digits are written in the groups of a telephone
// number without a trunk prefix: three groups or more.
func (n *number) grouped() bool {
	if n.m-n.k < 2 || !n.whole && !n.apart() {
		return false
	}
	from := n.k
	if n.s > 0 && n.f.s[n.s-1] == '(' {
		from++ // the bracket sets the first group off
	}
	return n.uniform(from)
}

// uniform tells whether one separator joins all groups from atom from on.
func (n *number) uniform(from int) bool {
	a := n.f.atoms
	for i := from; i < n.m; i++ {
		if n.f.s[a[i].e:a[i+1].s] != n.f.s[a[from].e:a[from+1].s] {
			return false
		}
	}
	return true
}

// apart tells whether the groups stand apart from the digits around them: the
// separators on both sides differ from those within.
func (n *number) apart() bool {
	a := n.f.atoms
	inner := n.f.s[a[n.m-1].e:a[n.m].s]
	before := n.k == 0 || a[n.k-1].kind != aDigits || n.f.s[a[n.k-1].e:a[n.k].s] != inner
	after := n.m+1 == len(a) || a[n.m+1].kind != aDigits || n.f.s[a[n.m].e:a[n.m+1].s] != inner
	return before && after
}

// zipCode tells whether the digits are an American postal code after its
// state: MA 02110-1301.
func (n *number) zipCode() bool {
	a := n.f.atoms
	if n.m != n.k+1 || a[n.k].len() != 5 || a[n.m].len() != 4 || n.f.s[a[n.k].e] != '-' || n.k == 0 {
		return false
	}
	state := a[n.k-1]
	return state.kind == aLetters && state.len() == 2 && state.caps&capAll != 0 && n.f.skipSpace(int(state.e)) == n.s
}

// dated tells whether the groups read as a date or an IP address.
func (n *number) dated() bool {
	a := n.f.atoms
	if n.m > n.k && n.shortGroups() {
		return true
	}
	for i := max(n.k-2, 0); i+2 < len(a) && i <= n.m; i++ {
		x, y, z := a[i], a[i+1], a[i+2]
		if y.s != x.e+1 || z.s != y.e+1 || x.kind != aDigits || y.kind != aDigits || z.kind != aDigits {
			continue
		}
		if y.len() <= 2 && (x.len() == 4 && z.len() <= 2 || z.len() == 4 && x.len() <= 2) && between(n.f.str(y), 0, 31) {
			return true
		}
	}
	return false
}

// shortGroups tells whether all groups are short and joined by dots.
func (n *number) shortGroups() bool {
	for i := n.k; i <= n.m; i++ {
		if n.f.atoms[i].len() > 3 || i < n.m && n.f.s[n.f.atoms[i].e] != '.' {
			return false
		}
	}
	return true
}

// blocked tells whether the candidate overlaps something better known.
func (n *number) blocked() bool { return overlapAny(n.f.blocked, n.s, n.e) }

// overlapAny tells whether [s,e) overlaps one of the sorted, disjoint list.
func overlapAny(list []vspan, s, e int) bool {
	lo, hi := 0, len(list)
	for lo < hi {
		if m := (lo + hi) / 2; list[m].e <= s {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < len(list) && list[lo].s < e
}
