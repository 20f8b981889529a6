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
	region  string   // whose local mobile numbers are read first
	regions []string // whose national numbers count
	blocked []vspan
	noTrunk bool    // its national numbers begin with no zero
	ids     []vspan // identifiers of the jurisdiction's own pack
	out     []found
}

var phoneCues = sync.OnceValue(func() *cues { return compileCues(packs.PhoneCues()) })

func (x *lexed) phones(jurisdiction string, blocked, ids []vspan) []found {
	f := &phones{lexed: x, region: jurisdiction, blocked: blocked, ids: ids}
	switch jurisdiction {
	case "":
		f.region, f.regions = defaultRegion, []string{defaultRegion, "US"}
	case "EU":
		f.regions = members
	default:
		f.regions = []string{jurisdiction}
	}
	if p := numbering().region[f.region]; p != nil {
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
	first, next := i, i // where the published candidate begins, and the one after it
	for k := i; k <= j; k++ {
		if k == next {
			first = k
		}
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
		if k == first {
			next = max(longest, k) + 1
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
				k, next = m, m+1
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
	if !known { // the published plans' spans start at the first digit or plus
		s, e = f.brackets(s, e)
	}
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
