package detect

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arche-ledger/arche/packs"
)

// plan is the numbering plan of one region; its expressions are compiled when
// the region is first met.
type plan struct {
	packs.PhoneRegion
	national func() *regexp.Regexp
}

// plans are all numbering plans, by region and by calling code.
type plans struct {
	region map[string]*plan
	code   map[string][]*plan // the main region first
}

var numbering = sync.OnceValue(func() *plans {
	out := &plans{map[string]*plan{}, map[string][]*plan{}}
	for _, r := range packs.PhoneRegions() {
		p := &plan{PhoneRegion: r}
		p.national = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + r.National + `)$`) })
		if r.Region != "001" {
			out.region[r.Region] = p
		}
		if r.Main {
			out.code[r.Code] = slices.Insert(out.code[r.Code], 0, p)
		} else {
			out.code[r.Code] = append(out.code[r.Code], p)
		}
	}
	return out
})

// members are the regions whose national numbers count under jurisdiction EU.
var members = []string{"AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE", "IT", "LT", "LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK"}

// international reads digits that begin with a calling code and returns the
// number in E.164 form, or "". The trunk zero may stand after the code.
func (ps *plans) international(d string) string {
	for n := 1; n <= 3 && n < len(d); n++ {
		regions := ps.code[d[:n]]
		if len(regions) == 0 {
			continue
		}
		for _, rest := range []string{d[n:], strings.TrimPrefix(d[n:], "0")} {
			for _, p := range regions {
				if len(rest) >= minSubscriber && slices.Contains(p.Lengths, len(rest)) && (rest[0] != '0' || p.Region == "IT" || len(rest) == len(d)-n && p.Trunk != "0") {
					return "+" + d[:n] + rest
				}
			}
		}
		return ""
	}
	return ""
}

const minSubscriber = 5 // digits after the calling code of the shortest number taken

// inRegion reads digits as a national number of a region and returns its E.164
// form, or "".
//
// loose takes a number without the trunk prefix too, and one whose length is
// possible though no range is known to hold it.
func (ps *plans) inRegion(region, d string, loose bool) string {
	home := ps.region[region]
	if home == nil {
		return ""
	}
	for _, p := range ps.code[home.Code] { // regions of one code call each other alike
		if e := p.read(d, loose); e != "" {
			return e
		}
	}
	return ""
}

func (p *plan) read(d string, loose bool) string {
	if p.Trunk != "" && strings.HasPrefix(d, p.Trunk) {
		if rest := d[len(p.Trunk):]; p.national().MatchString(rest) {
			return "+" + p.Code + rest
		}
	}
	if (loose || p.Trunk == "" || p.Trunk == "1") && p.national().MatchString(d) {
		return "+" + p.Code + d
	}
	if loose && p.Trunk == "0" && d[0] == '0' && len(d) >= 10 && slices.Contains(p.Lengths, len(d)-1) {
		return "+" + p.Code + d[1:]
	}
	return ""
}

// mobilePlan is a published plan with its prefixes as they stand after the
// calling code.
type mobilePlan struct {
	packs.MobilePlan
	abroad []string
}

// mobilePlans are the published plans in matching order, by what is looked up.
type mobilePlans struct {
	byCode   map[string][]mobilePlan
	byRegion map[string]mobilePlan
	byLocal  [maxPhone + 1][]mobilePlan // by digits of a local number
}

var mobiles = sync.OnceValue(func() *mobilePlans {
	out := &mobilePlans{byCode: map[string][]mobilePlan{}, byRegion: map[string]mobilePlan{}}
	for _, p := range packs.MobilePlans() {
		m := mobilePlan{MobilePlan: p}
		for _, prefix := range p.Prefixes {
			if !p.Subscriber {
				prefix = strings.TrimLeft(prefix, "0")
			}
			m.abroad = append(m.abroad, prefix)
		}
		out.byCode[p.Code] = append(out.byCode[p.Code], m)
		out.byRegion[p.Country] = m
		out.byLocal[p.Local] = append(out.byLocal[p.Local], m)
	}
	return out
})

// publishedInternational reads a calling code of the published plans and a
// mobile number after it.
func publishedInternational(d string) string {
	for n := 1; n <= 3 && n < len(d); n++ {
		for _, p := range mobiles().byCode[d[:n]] {
			if len(d)-n == p.Intl && begins(d[n:], p.abroad) {
				return "+" + d
			}
		}
	}
	return ""
}

func begins(d string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(d, p) })
}

// local reads digits as a local number of the plan and returns its E.164 form,
// or "".
func (p mobilePlan) local(d string) string {
	if len(d) != p.Local || !begins(d, p.Prefixes) {
		return ""
	}
	if p.Subscriber {
		return "+" + p.Code + d
	}
	return "+" + p.Code + strings.TrimLeft(d, "0")
}
