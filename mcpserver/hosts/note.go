package hosts

import (
	"strings"
)

const (
	markStart = "<!-- archcore:start -->"
	markEnd   = "<!-- archcore:end -->"
)

// editNote puts the usage note between our markers: in the place of the first
// span that is there, further ones dropped, else at the end after an empty
// line. Markers without a partner are left alone.
func editNote(text string) string {
	eol := "\n"
	if strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	block := strings.ReplaceAll(markStart+" managed by arche — edit outside these markers\n"+usageNote+markEnd, "\n", eol)
	spans := findSpans(text)
	if len(spans) == 0 {
		kept := strings.TrimRight(text, "\r\n")
		if strings.TrimSpace(kept) == "" {
			return block + eol
		}
		return text + strings.Repeat(eol, missingLines(text)) + block + eol
	}
	var b strings.Builder
	at := 0
	for i, s := range spans {
		b.WriteString(text[at:s[0]])
		if i == 0 {
			b.WriteString(block)
		}
		at = s[1]
	}
	b.WriteString(text[at:])
	return b.String()
}

// missingLines is how many line ends a text needs to end in one empty line.
func missingLines(text string) int {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	switch {
	case strings.HasSuffix(text, "\n\n"):
		return 0
	case strings.HasSuffix(text, "\n"):
		return 1
	}
	return 2
}

// findSpans finds start markers, each with the end marker that follows it
// before another start. Both stand at the beginning of a line.
func findSpans(text string) [][2]int {
	var out [][2]int
	start := -1
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			next = len(text) - at - 1
		}
		line := text[at : at+next+1]
		switch {
		case strings.HasPrefix(line, markStart):
			start = at
		case strings.HasPrefix(line, markEnd) && start >= 0:
			out = append(out, [2]int{start, at + len(markEnd)})
			start = -1
		}
		at += next + 1
	}
	return out
}
