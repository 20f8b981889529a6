package text

import "strings"

// Tokens returns the maximal runs of a-z and 0-9 in a text in normal form, in
// order. Other scripts give no tokens.
func Tokens(norm string) []string {
	var out []string
	for i := 0; i < len(norm); {
		if !isTokenByte(norm[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(norm) && isTokenByte(norm[j]) {
			j++
		}
		out = append(out, norm[i:j])
		i = j
	}
	return out
}

// PossessiveTokens returns Tokens followed by the joined form of each
// possessive: king's adds kings.
func PossessiveTokens(norm string) []string {
	out := Tokens(norm)
	eachPossessive(norm, func(start, wordEnd, end int) {
		out = append(out, norm[start:wordEnd]+"s")
	})
	return out
}

// JoinPossessives writes each possessive as one word: king's becomes kings.
// Phrases are cut from this form.
func JoinPossessives(norm string) string {
	var b strings.Builder
	done := 0
	eachPossessive(norm, func(start, wordEnd, end int) {
		b.WriteString(norm[done:wordEnd])
		b.WriteByte('s')
		done = end
	})
	if done == 0 {
		return norm
	}
	b.WriteString(norm[done:])
	return b.String()
}

// eachPossessive finds word + apostrophe (' or U+2019) + s where no token byte
// follows, left to right without overlap.
func eachPossessive(norm string, found func(start, wordEnd, end int)) {
	for i := 0; i < len(norm); {
		if !isTokenByte(norm[i]) {
			i++
			continue
		}
		start := i
		for i < len(norm) && isTokenByte(norm[i]) {
			i++
		}
		quote := 0
		switch rest := norm[i:]; {
		case strings.HasPrefix(rest, "'"):
			quote = 1
		case strings.HasPrefix(rest, "\u2019"):
			quote = len("\u2019")
		}
		end := i + quote + 1
		if quote == 0 || end > len(norm) || norm[end-1] != 's' ||
			end < len(norm) && isTokenByte(norm[end]) {
			continue
		}
		found(start, i, end)
		i = end
	}
}

func isTokenByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
