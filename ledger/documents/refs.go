package documents

import (
	"path"
	"slices"
	"strings"
)

// ref is one path named in a document's text.
type ref struct {
	token    string // as written, with its @
	at       int32  // where in the text
	explicit bool   // @path
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func isPathByte(c byte) bool { return isWordByte(c) || c == '.' || c == '/' }

// findRefs returns the paths that a text names, the explicit ones first, each
// kind in order of the text: @path, and bare paths that look like files of a
// source tree rather than like "and/or".
func findRefs(s string) []ref {
	var explicit, bare []ref
	for i := 0; i < len(s); {
		slash := strings.IndexAny(s[i:], "/@")
		if slash < 0 {
			break
		}
		at := i + slash
		if s[at] == '@' {
			end := run(s, at+1)
			if end > at+1 {
				explicit = append(explicit, ref{strings.Clone(s[at:end]), int32(at), true})
			}
			i = max(end, at+1)
			continue
		}
		start := at
		for start > i && isWordByte(s[start-1]) {
			start--
		}
		end := run(s, at+1)
		if start == at || end == at+1 { // nothing before the slash, or nothing after it
			i = at + 1
			continue
		}
		if token := s[start:end]; looksLikePath(token) {
			bare = append(bare, ref{strings.Clone(token), int32(start), false})
		}
		i = end
	}
	return append(explicit, bare...)
}

// run is where the run of path bytes that begins at i ends.
func run(s string, i int) int {
	for i < len(s) && isPathByte(s[i]) {
		i++
	}
	return i
}

func looksLikePath(token string) bool {
	if strings.HasSuffix(token, "/") || strings.Count(token, "/") >= 2 {
		return true
	}
	last := strings.TrimSuffix(token[strings.LastIndexByte(token, '/')+1:], ".")
	return slices.Contains(vocabulary.SourceExtensions, strings.ToLower(path.Ext(last)))
}

// specificity is how many leading segments a token shares with a wanted path.
// A full stop that ends a sentence does not count.
func specificity(token, want string) int {
	token, want = trimRef(token), trimRef(want)
	n := 0
	for {
		a, restA, moreA := strings.Cut(token, "/")
		b, restB, moreB := strings.Cut(want, "/")
		if a != b {
			return n
		}
		n++
		if !moreA || !moreB {
			return n
		}
		token, want = restA, restB
	}
}

func trimRef(s string) string {
	s = strings.TrimPrefix(s, "@")
	if t := strings.TrimSuffix(s, "."); !strings.HasSuffix(t, "/") && !strings.HasSuffix(t, ".") {
		s = t
	}
	return strings.TrimSuffix(s, "/")
}
