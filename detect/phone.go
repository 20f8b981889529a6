package detect

import (
	"strings"
	"sync"

	"github.com/arche-ledger/arche/packs"
)

const (
	catPhone      = "PII-3-PHONE"
	phoneConf     = 0.9
	nationalConf  = 0.8 // by the numbering plan of the jurisdiction
	cuedPhoneConf = 0.75
	defaultRegion = "NG"
	minPhone      = 7  // digits
	maxPhone      = 15 // digits
	maxPhoneChars = 20 // characters from first digit to last
)

// phones finds telephone numbers: by the mobile prefixes of the published
// plans, and by the numbering plans of all regions when a plus, an exit code,
// a trunk zero or a cue says that the digits are a telephone number. blocked
// are stretches known to be something else, ids those that may be: there only
// a plus or a local mobile prefix makes a telephone number.
type phones struct {
	*lexed
	region  string // whose national numbers count
	blocked []vspan
	noTrunk bool    // its national numbers begin with no zero
	ids     []vspan // identifiers of the jurisdiction's own pack
	out     []found
}

var phoneCues = sync.OnceValue(func() *cues { return compileCues(packs.PhoneCues()) })

func (x *lexed) phones(region string, blocked, ids []vspan) []found {
	f := &phones{lexed: x, region: region, blocked: blocked, ids: ids}
	if p := numbering().region[region]; p != nil {
		f.noTrunk = p.Trunk != "0"
	}
	next := 0
	for _, n := range x.nums {
		i := int(n)
		if i < next || !f.startsNumber(i) {
			continue
		}
		j := i
		for j+1 < len(x.atoms) && f.linked(j) {
			j++
		}
		f.cluster(i, j)
		next = j + 1
	}
	return f.out
}

// startsNumber tells whether nothing alphanumeric touches atom i from the left.
func (f *phones) startsNumber(i int) bool {
	return !f.alnumBefore(int(f.atoms[i].s))
}

// linked tells whether the next atom is digits of the same cluster: only
// separators of telephone numbers between, and no line end.
func (f *phones) linked(j int) bool {
	a, b := f.atoms[j], f.atoms[j+1]
	if b.kind != aDigits || b.s-a.e > maxPhoneChars || b.s == a.e {
		return false
	}
	for p := int(a.e); p < int(b.s); {
		c := f.s[p]
		switch {
		case c == '\n' || c == '\r':
			return false
		case c == '-' || c == '.' || c == '(' || c == ')':
			p++
		case f.spaceAt(p) > 0:
			p += f.spaceAt(p)
		case c == 0xe2 && dash(f.s[p:]):
			p += 3
		default:
			return false
		}
	}
	return true
}

// dash tells whether a hyphen other than ASCII's stands at the start.
func dash(s string) bool {
	return len(s) >= 3 && s[:2] == "\xe2\x80" && s[2] >= 0x90 && s[2] <= 0x93 || strings.HasPrefix(s, "−")
}

// cluster finds the numbers among linked digit atoms: from each atom on the
// longest stretch that is a number.
func (f *phones) cluster(i, j int) {
	first := i // where the text would be read from had no number been refused
	for k := i; k <= j; k++ {
		a := f.atoms[k]
		plus := a.s > 0 && f.s[a.s-1] == '+'
		if k != first && !plus && !f.mayBegin(a) {
			continue
		}
		last, longest, digits := k-1, -1, 0
		for m := k; m <= j; m++ {
			n := f.atoms[m].len()
			size := int(f.atoms[m].e - a.s)
			if digits+n > maxPhone+2 || size > maxPhoneChars+10 {
				break
			}
			digits += n
			last = m
			if size <= maxPhoneChars && !f.alnumAt(int(f.atoms[m].e)) {
				longest = m
			}
		}
		for m := last; m >= k; m-- {
			whole := k == first && m == longest
			if m < last {
				digits -= f.atoms[m+1].len()
			}
			if digits < minPhone {
				break
			}
			if f.alnumAt(int(f.atoms[m].e)) || !whole && !plus && !f.mayBegin(a) {
				continue
			}
			if h, ok := f.judge(k, m, whole); ok {
				f.out = append(f.out, h)
				k, first = m, m+1
				break
			}
		}
	}
}

// mayBegin tells whether a number may begin with a group inside a longer run of
// groups: with a trunk zero, or anywhere when the jurisdiction has none.
func (f *phones) mayBegin(a atom) bool {
	return a.len() > 1 && f.s[a.s] == '0' || f.noTrunk && a.len() >= 2 && a.len() <= 4
}

// judge decides the digits from atom k to atom m. whole is true when they are
// all of their cluster.
func (f *phones) judge(k, m int, whole bool) (found, bool) {
	s, e := int(f.atoms[k].s), int(f.atoms[m].e)
	plus := s > 0 && f.s[s-1] == '+'
	var buf [maxPhone + 8]byte
	d := buf[:0]
	for n := k; n <= m; n++ {
		if len(d)+f.atoms[n].len() > maxPhone+2 {
			return found{}, false
		}
		d = append(d, f.s[f.atoms[n].s:f.atoms[n].e]...)
	}
	f.work += len(d)
	if len(d) < minPhone {
		return found{}, false
	}
	n := number{f: f, digits: string(d), s: s, e: e, k: k, m: m, plus: plus, whole: whole}
	e164, conf, known := n.read()
	if e164 == "" {
		return found{}, false
	}
	if plus && !f.alnumBefore(s-1) {
		s--
	}
	s, e = f.brackets(s, e)
	return found{s: s, e: e, category: catPhone, conf: conf, canonical: e164, published: known}, true
}

// brackets takes in the bracket of which the number holds only one half.
func (f *phones) brackets(s, e int) (int, int) {
	switch open, shut := strings.Count(f.s[s:e], "("), strings.Count(f.s[s:e], ")"); {
	case shut > open && s > 0 && f.s[s-1] == '(':
		s--
	case open > shut && e < len(f.s) && f.s[e] == ')':
		e++
	}
	return s, e
}

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
	if n.plus || exit && n.tidy() && !n.f.counted(n.s) && !n.blocked() {
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
	if len(d) > 10 && !overlapAny(n.f.ids, n.s, n.e) && (n.m == n.k || !n.shortGroups()) && (n.f.cue(n.s) || !n.f.counted(n.s)) {
		if e := publishedInternational(d); e != "" {
			return e
		}
	}
	region := n.f.region
	if e := mobiles().byRegion[region].local(d); e != "" {
		return e
	}
	if d[0] != '0' || !n.whole && !n.uniform(n.k) || n.document() || n.f.counted(n.s) || overlapAny(n.f.ids, n.s, n.e) {
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
	if len(d) > 12 || n.f.counted(n.s) || overlapAny(n.f.ids, n.s, n.e) || n.document() || n.blocked() || n.dated() || n.zipCode() {
		return "", 0
	}
	cue := n.f.cue(n.s)
	if !cue && (n.m == n.k && len(d) < 10 || d[0] != '0' && !n.grouped()) {
		return "", 0
	}
	regions := []string{n.f.region}
	if n.f.region == "EU" {
		regions = members
	}
	for _, r := range regions {
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
