package resolve

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// isWordRune reports whether r is a word character of a pattern's \w: a letter,
// a number of any kind, or the underscore.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

func wordBefore(s string, i int) bool {
	if i == 0 {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return isWordRune(r)
}

func wordAt(s string, i int) bool {
	if i >= len(s) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return isWordRune(r)
}

// boundary reports whether a word starts or ends at byte i.
func boundary(s string, i int) bool { return wordBefore(s, i) != wordAt(s, i) }

// findPhrase returns where phrase stands in s at or after from with a word
// boundary on both sides, or -1.
func findPhrase(s, phrase string, from int) int {
	for from <= len(s) {
		i := strings.Index(s[from:], phrase)
		if i < 0 {
			return -1
		}
		i += from
		if boundary(s, i) && boundary(s, i+len(phrase)) {
			return i
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		from = i + max(n, 1)
	}
	return -1
}

// vocabulary finds and removes type words of one domain.
type vocabulary struct {
	synonyms []packs.Synonym
	pin      string
	norm     func(string) string
}

// findSynonym is findPhrase for a synonym; one that counts only at the end may
// be followed by stops.
func findSynonym(s string, syn *packs.Synonym, from int) int {
	if !syn.Final {
		return findPhrase(s, syn.Text, from)
	}
	trimmed := strings.TrimRight(s, " .,)")
	i := len(trimmed) - len(syn.Text)
	if i < max(from, 1) || !strings.HasSuffix(trimmed, syn.Text) || wordBefore(s, i) {
		return -1
	}
	return i
}

// remove takes the first synonym that occurs, in match order, out of the normal
// form of s wherever it occurs. The canonical type is "" when none does.
func (v *vocabulary) remove(s string) (canonical, rest string) {
	n := v.norm(s)
	for _, syn := range v.synonyms {
		i := findSynonym(n, &syn, 0)
		if i < 0 {
			continue
		}
		var b strings.Builder
		done := 0
		for i >= 0 {
			b.WriteString(n[done:i])
			b.WriteByte(' ')
			done = i + len(syn.Text)
			i = findSynonym(n, &syn, done)
		}
		b.WriteString(n[done:])
		return syn.Canonical, text.Strip(text.Collapse(b.String()))
	}
	return "", n
}

// maxStrips is how many type words a name may end in.
const maxStrips = 4

// strip takes type words out until none is left.
func (v *vocabulary) strip(s string) string {
	for range maxStrips {
		canonical, rest := v.remove(s)
		if canonical == "" || rest == s {
			break
		}
		s = rest
	}
	return s
}

// splitQualifier parts a name from what qualifies it: "Core (qualifier)" or
// "Core, qualifier". ok is false when there is none.
func splitQualifier(s string) (core, qualifier string, ok bool) {
	s = text.Strip(s)
	if open, found := bracketed(s); found {
		core, qualifier = text.Strip(s[:open]), text.Strip(s[open+1:len(s)-1])
		if core == "" || qualifier == "" {
			return s, "", false
		}
		return core, qualifier, true
	}
	if i := strings.IndexByte(s, ','); i >= 0 {
		core, qualifier = text.Strip(s[:i]), text.Strip(s[i+1:])
		if core != "" && qualifier != "" {
			return core, qualifier, true
		}
	}
	return s, "", false
}

// bracketed finds the first "(" from which the text runs to a single closing
// ")" at its end.
func bracketed(s string) (open int, ok bool) {
	if !strings.HasSuffix(s, ")") {
		return 0, false
	}
	inner := s[:len(s)-1]
	for from := 0; ; {
		i := strings.IndexByte(inner[from:], '(')
		if i < 0 {
			return 0, false
		}
		i += from
		if !strings.Contains(inner[i+1:], ")") {
			return i, true
		}
		from = i + 1
	}
}

// asciiAlnum reports whether c is an ASCII letter or digit.
func asciiAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// cutRunes returns at most the first n characters of s.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i]
		}
		count++
	}
	return s
}
