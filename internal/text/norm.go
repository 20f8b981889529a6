package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Norm is the normal form that names and addresses are compared in: stripped,
// lower case, compatibility-decomposed, without combining marks, format and
// control characters, each run of white space one space.
//
// A tab or line break inside the text is a control character and vanishes; a
// space uncovered at the ends by a vanished character stays.
func Norm(s string) string {
	s = Strip(s)
	if isASCII(s) {
		return normASCII(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	decompose(Lower(s), func(r rune, class uint8) {
		switch {
		case class != 0 || unicode.In(r, unicode.Cf, unicode.Cc):
		case IsSpace(r):
			if !gap {
				b.WriteByte(' ')
			}
			gap = true
		default:
			gap = false
			b.WriteRune(r)
		}
	})
	return b.String()
}

func normASCII(s string) string {
	clean := true
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c == 0x7f || c >= 'A' && c <= 'Z' || c == ' ' && s[i-1] == ' ' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	buf := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case c < 0x20 || c == 0x7f:
			continue
		case c == ' ' && len(buf) > 0 && buf[len(buf)-1] == ' ':
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		buf = append(buf, c)
	}
	return string(buf)
}

// Fold is the form blocking keys are cut from: lower case, compatibility-
// decomposed, without combining marks. White space and controls stay.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	decompose(Lower(s), func(r rune, class uint8) {
		if class == 0 {
			b.WriteRune(r)
		}
	})
	return b.String()
}

// StripMarks is the compatibility decomposition without nonspacing marks
// (category Mn), which keeps case, controls and spacing marks.
func StripMarks(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	decompose(s, func(r rune, _ uint8) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	})
	return b.String()
}

// Nid keeps the ASCII letters and digits of s, in lower case: the form in which
// identifiers are compared.
func Nid(s string) string {
	buf := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z':
			buf = append(buf, c+'a'-'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			buf = append(buf, c)
		}
	}
	if len(buf) == len(s) && string(buf) == s {
		return s
	}
	return string(buf)
}

const (
	hangulBase, hangulEnd      = 0xac00, 0xd7a4
	jamoL, jamoV, jamoT        = 0x1100, 0x1161, 0x11a7
	jamoVCount, jamoTCount     = 21, 28
	jamoPerLead            int = jamoVCount * jamoTCount
)

// decompose calls yield with each character of the compatibility decomposition
// of s and its combining class, in the order of s: marks are not reordered,
// because every caller drops them. The library's own decomposition would break
// up long runs of marks with joiners that have class 0.
func decompose(s string, yield func(r rune, class uint8)) {
	for len(s) > 0 {
		if s[0] < utf8.RuneSelf {
			yield(rune(s[0]), 0)
			s = s[1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		if r >= hangulBase && r < hangulEnd {
			i := int(r - hangulBase)
			yield(rune(jamoL+i/jamoPerLead), 0)
			yield(rune(jamoV+i%jamoPerLead/jamoTCount), 0)
			if t := i % jamoTCount; t != 0 {
				yield(rune(jamoT+t), 0)
			}
			s = s[n:]
			continue
		}
		p := norm.NFKD.PropertiesString(s)
		if d := p.Decomposition(); d != nil {
			for _, dr := range string(d) {
				yield(dr, norm.NFKD.PropertiesString(string(dr)).CCC())
			}
		} else {
			yield(r, p.CCC())
		}
		s = s[n:]
	}
}
