package detect

import (
	"math"
	"slices"
)

const catNIN = "PII-2-NIN"

// The published packages in running order, and which jurisdictions run what.
var (
	crossCutting = []string{"names", "locations", "emails", "ip", "digital_id", "addr", "core"}
	ownPack      = map[string]string{"NG": "ng", "KE": "ke", "ZA": "za", "GH": "gh"}
	sharedPack   = map[string]bool{
		"": true, "RW": true, "TZ": true, "UG": true, "ET": true, "CI": true, "SN": true,
		"CM": true, "EG": true, "MA": true, "AO": true, "MZ": true,
	}
)

// Packages returns the published detector packages that run under a
// jurisdiction, in running order.
func Packages(jurisdiction string) []string {
	j := NormalJurisdiction(jurisdiction)
	var out []string
	switch {
	case ownPack[j] != "":
		out = append(out, ownPack[j])
	case sharedPack[j]:
		out = append(out, "africa")
	}
	return append(out, crossCutting...)
}

// scanAll scans the view without format characters and, where one of them
// stood between two words, the view with them: a value that either shows is
// found.
func scanAll(text, jurisdiction string) []Span {
	w := newView(text, true)
	out := scanView(w, jurisdiction)
	if w.joined {
		out = addFree(out, scanView(newView(text, false), jurisdiction))
	}
	countRunes(text, out)
	return out
}

// scanView runs all packages over one view.
func scanView(w *view, jurisdiction string) []Span {
	x := lex(w)
	also := x.also(jurisdiction)
	var out []Span
	var ids []found
	for _, pack := range Packages(jurisdiction) {
		list := x.run(pack, jurisdiction, also, ids)
		if ids == nil && !slices.Contains(crossCutting, pack) {
			ids = list
		}
		for _, f := range list {
			out = append(out, w.span(f, pack))
		}
	}
	return covered(out, also, w)
}

// run runs one published package.
func (x *lexed) run(pack, jurisdiction string, also, ids []found) []found {
	switch pack {
	case "africa":
		return x.africa(jurisdiction)
	case "names":
		return nameFound(x.people(x.names()))
	case "locations":
		return plain(x.locations(), catLocation, locConf)
	case "emails":
		return plain(x.emails(), catEmail, emailConf)
	case "ip":
		return x.addressesIP()
	case "digital_id":
		return x.digital()
	case "addr":
		return x.addresses()
	case "core":
		return x.phones(jurisdiction, places(announced(also, true)), places(append(x.certain(ids), announced(also, false)...)))
	}
	return x.country(pack)
}

// announced keeps the additions that a cue or a structure of their own tells,
// or the others.
func announced(list []found, want bool) []found {
	return slices.DeleteFunc(slices.Clone(list), func(f found) bool { return f.bare == want })
}

// certain drops the identifiers that bare digits could be besides a telephone
// number.
func (x *lexed) certain(ids []found) []found {
	return slices.DeleteFunc(slices.Clone(ids), func(f found) bool {
		word, _ := x.wordBack(f.s)
		return f.category == catNIN && word != "nin"
	})
}

// places returns where detections lie, sorted, overlapping ones as one.
func places(list []found) []vspan {
	slices.SortFunc(list, func(a, b found) int { return a.s - b.s })
	var out []vspan
	for _, f := range list {
		if n := len(out); n > 0 && f.s < out[n-1].e {
			out[n-1].e = max(out[n-1].e, f.e)
			continue
		}
		out = append(out, vspan{f.s, f.e})
	}
	return out
}

func plain(spans []vspan, category string, conf float64) []found {
	out := make([]found, len(spans))
	for i, s := range spans {
		out[i] = found{s: s.s, e: s.e, category: category, conf: conf}
	}
	return out
}

func nameFound(hits []nameHit) []found {
	out := make([]found, len(hits))
	for i, h := range hits {
		out[i] = found{s: h.s, e: h.e, category: catName, conf: h.conf}
	}
	return out
}

// addressesIP merges both kinds of IP address by start.
func (x *lexed) addressesIP() []found {
	out := append(plain(x.addresses4(), catIP, 1), plain(x.addresses6(), catIP, 1)...)
	slices.SortStableFunc(out, func(a, b found) int { return a.s - b.s })
	return out
}

// span turns a detection in the view into one in the original, code points
// still to be counted.
func (w *view) span(f found, detector string) Span {
	return Span{
		Category: f.category, ByteStart: w.origStart(f.s), ByteEnd: w.origEnd(f.e),
		Confidence: math.Round(f.conf*1e4) / 1e4, Detector: detector, Canonical: f.canonical,
	}
}

// addFree adds the spans that overlap none of their category.
func addFree(out, more []Span) []Span {
	by := map[string][]Span{}
	for _, s := range out {
		by[s.Category] = append(by[s.Category], s)
	}
	reach := map[string][]int{} // furthest end of the spans up to each, by start
	for c, list := range by {
		slices.SortFunc(list, func(a, b Span) int { return a.ByteStart - b.ByteStart })
		ends := make([]int, len(list))
		far := 0
		for i, s := range list {
			far = max(far, s.ByteEnd)
			ends[i] = far
		}
		reach[c] = ends
	}
	for _, s := range more {
		list := by[s.Category]
		i, _ := slices.BinarySearchFunc(list, s.ByteEnd, func(t Span, end int) int { return t.ByteStart - end })
		if i == 0 || reach[s.Category][i-1] <= s.ByteStart {
			out = append(out, s)
		}
	}
	return out
}
