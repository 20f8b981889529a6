package text

import (
	"slices"
	"strings"
)

// Prepared is a text laid out for comparison: make it once a value with
// Prepare, compare it many times with a Matcher. It does not change.
type Prepared struct {
	text   string
	sorted string // the words in code point order, joined by single spaces
	wide   *wide  // nil when text is ASCII without CR LF, so that a byte is a cluster
}

// wide holds what a text beyond ASCII needs.
type wide struct {
	codes  []uint64 // extended grapheme clusters, up to three code points packed into each
	long   []string // the clusters themselves, only when one has more than three code points
	sorted []uint64 // code points of Prepared.sorted
}

// Text returns the text that was prepared.
func (p *Prepared) Text() string { return p.text }

// Prepare lays s out. The text is compared as it is: pass a normal form where
// the rule asks for one.
func Prepare(s string) Prepared {
	p := Prepared{text: s, sorted: sortWords(s)}
	if isASCII(s) && !strings.Contains(s, "\r\n") {
		return p
	}
	w := &wide{}
	clusters := splitClusters(s)
	w.codes = make([]uint64, 0, len(clusters))
	for _, c := range clusters {
		code, ok := packCluster(c)
		if !ok {
			w.long = clusters
		}
		w.codes = append(w.codes, code)
	}
	w.sorted = make([]uint64, 0, len(p.sorted))
	for _, r := range p.sorted {
		w.sorted = append(w.sorted, uint64(r))
	}
	p.wide = w
	return p
}

// packCluster puts up to three code points of 21 bits into one number, equal
// exactly when the clusters are.
func packCluster(c string) (code uint64, ok bool) {
	n := 0
	for _, r := range c {
		code = code<<21 | uint64(r)
		n++
	}
	return code, n <= 3
}

// wordBreak returns what separates words for TokenSortRatio: white space, where
// the two separators of Latin-1 beyond ASCII count only in texts that have a
// character beyond Latin-1.
func wordBreak(s string) func(rune) bool {
	for _, r := range s {
		if r > 0xff {
			return IsSpace
		}
	}
	return func(r rune) bool { return r < 0x80 && IsSpace(r) }
}

func sortWords(s string) string {
	words := strings.FieldsFunc(s, wordBreak(s))
	// Bytes of UTF-8 sort as code points do.
	if slices.IsSorted(words) {
		if joined := strings.Join(words, " "); joined != s {
			return joined
		}
		return s
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// clusters returns the number of extended grapheme clusters.
func (p *Prepared) clusters() int {
	if p.wide == nil {
		return len(p.text)
	}
	return len(p.wide.codes)
}

// sortedLen returns the number of code points of the sorted form.
func (p *Prepared) sortedLen() int {
	if p.wide == nil {
		return len(p.sorted)
	}
	return len(p.wide.sorted)
}

// clusterStrings returns the clusters as text.
func (p *Prepared) clusterStrings() []string {
	if p.wide != nil && p.wide.long != nil {
		return p.wide.long
	}
	return splitClusters(p.text)
}
