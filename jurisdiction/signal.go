package jurisdiction

import (
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/arche-ledger/arche/packs"
)

// signal is a compiled row of the inference rules. The standard engine has
// ASCII word boundaries and no look-ahead, so the parsed pattern is walked
// here instead. Patterns hold no nested repetition: the walk is linear.
type signal struct {
	packs.Signal
	pattern, before, notBefore *syntax.Regexp
	first                      [256]bool // bytes a match can begin with
}

// ruleset is a version of the rules, compiled.
type ruleset struct {
	*packs.Signals
	signals []signal
	byByte  [256][]int // signals a match of which can begin with a byte
}

var rulesets sync.Map // version to *ruleset

// rulesFor returns a version of the rules, nil when there is none.
func rulesFor(version string) *ruleset {
	if r, ok := rulesets.Load(version); ok {
		return r.(*ruleset)
	}
	rules, ok := packs.LoadSignals(version)
	if !ok {
		return nil
	}
	r := &ruleset{Signals: rules, signals: make([]signal, len(rules.Signals))}
	for i, s := range rules.Signals {
		r.signals[i] = signal{Signal: s, pattern: mustPattern(s.Pattern), before: mustPattern(s.Before), notBefore: mustPattern(s.NotBefore)}
		firstBytes(r.signals[i].pattern, &r.signals[i].first)
		for b, first := range r.signals[i].first {
			if first {
				r.byByte[b] = append(r.byByte[b], i)
			}
		}
	}
	rulesets.Store(version, r)
	return r
}

// spaceClass is white space as the rules count it, inside a class.
const spaceClass = `\x09-\x0d\x1c-\x20\x85\p{Z}`

// mustPattern parses a shipped pattern, nil for "". Digits and white space
// are Unicode's.
func mustPattern(p string) *syntax.Regexp {
	if p == "" {
		return nil
	}
	var b strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '\\' && p[i+1] == 'd':
			b.WriteString(`\p{Nd}`)
			i++
		case p[i] == '\\' && p[i+1] == 's' && class:
			b.WriteString(spaceClass)
			i++
		case p[i] == '\\' && p[i+1] == 's':
			b.WriteString("[" + spaceClass + "]")
			i++
		case p[i] == '\\':
			b.WriteString(p[i : i+2])
			i++
		default:
			class = p[i] == '[' || class && p[i] != ']'
			b.WriteByte(p[i])
		}
	}
	re, err := syntax.Parse(b.String(), syntax.Perl)
	if err != nil {
		panic("jurisdiction: shipped pattern: " + err.Error())
	}
	return re
}

// find returns the end of a match that begins at byte i, or -1.
func (s *signal) find(doc string, i int) int {
	end := -1
	walk(s.pattern, doc, i, func(j int) bool {
		if s.before != nil && !walk(s.before, doc, j, reached) {
			return false
		}
		if s.notBefore != nil && walk(s.notBefore, doc, j, reached) {
			return false
		}
		end = j
		return true
	})
	return end
}

func reached(int) bool { return true }

// walk matches re at byte i and calls next with the end of each way to match
// it, most wanted first, until next is satisfied.
func walk(re *syntax.Regexp, doc string, i int, next func(int) bool) bool {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next(i)
	case syntax.OpLiteral:
		for _, want := range re.Rune {
			r, n := utf8.DecodeRuneInString(doc[i:])
			if n == 0 || r != want && (re.Flags&syntax.FoldCase == 0 || !sameFold(r, want)) {
				return false
			}
			i += n
		}
		return next(i)
	case syntax.OpCharClass:
		r, n := utf8.DecodeRuneInString(doc[i:])
		return n > 0 && inClass(re.Rune, r) && next(i+n)
	case syntax.OpWordBoundary:
		return atEdge(doc, i) && next(i)
	case syntax.OpCapture:
		return walk(re.Sub[0], doc, i, next)
	case syntax.OpConcat:
		return walkAll(re.Sub, doc, i, next)
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return walk(sub, doc, i, next) })
	case syntax.OpQuest:
		return walk(re.Sub[0], doc, i, next) || next(i)
	case syntax.OpStar:
		return repeat(re.Sub[0], doc, i, 0, -1, next)
	case syntax.OpPlus:
		return repeat(re.Sub[0], doc, i, 1, -1, next)
	case syntax.OpRepeat:
		return repeat(re.Sub[0], doc, i, re.Min, re.Max, next)
	}
	panic("jurisdiction: pattern with an operator the matcher does not know: " + re.String())
}

func walkAll(subs []*syntax.Regexp, doc string, i int, next func(int) bool) bool {
	if len(subs) == 0 {
		return next(i)
	}
	return walk(subs[0], doc, i, func(j int) bool { return walkAll(subs[1:], doc, j, next) })
}

// repeat matches a class or a literal least to most times (most < 0: no
// limit), as often as it can first.
func repeat(re *syntax.Regexp, doc string, i, least, most int, next func(int) bool) bool {
	ends := []int{i}
	for most < 0 || len(ends) <= most {
		end := -1
		if !walk(re, doc, ends[len(ends)-1], func(j int) bool { end = j; return true }) || end == ends[len(ends)-1] {
			break
		}
		ends = append(ends, end)
	}
	for n := len(ends) - 1; n >= least; n-- {
		if next(ends[n]) {
			return true
		}
	}
	return false
}

func inClass(ranges []rune, r rune) bool {
	for k := 0; k < len(ranges); k += 2 {
		if r < ranges[k] {
			return false
		}
		if r <= ranges[k+1] {
			return true
		}
	}
	return false
}

func sameFold(r, want rune) bool {
	for f := unicode.SimpleFold(want); f != want; f = unicode.SimpleFold(f) {
		if f == r {
			return true
		}
	}
	return false
}

// atEdge reports whether byte i lies between a word character and none.
func atEdge(doc string, i int) bool {
	before, n := utf8.DecodeLastRuneInString(doc[:i])
	after, m := utf8.DecodeRuneInString(doc[i:])
	return (n > 0 && isWord(before)) != (m > 0 && isWord(after))
}

// isWord reports whether r is a letter or a number of any script, or "_".
// Combining marks are not.
func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

// firstBytes marks the bytes that a match of re can begin with and reports
// whether re can match nothing.
func firstBytes(re *syntax.Regexp, set *[256]bool) (empty bool) {
	switch re.Op {
	case syntax.OpLiteral:
		markRange(set, re.Rune[0], re.Rune[0])
		if re.Flags&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(re.Rune[0]); f != re.Rune[0]; f = unicode.SimpleFold(f) {
				markRange(set, f, f)
			}
		}
		return false
	case syntax.OpCharClass:
		for k := 0; k < len(re.Rune); k += 2 {
			markRange(set, re.Rune[k], re.Rune[k+1])
		}
		return false
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !firstBytes(sub, set) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			empty = firstBytes(sub, set) || empty
		}
		return empty
	case syntax.OpCapture, syntax.OpPlus:
		return firstBytes(re.Sub[0], set)
	case syntax.OpQuest, syntax.OpStar:
		firstBytes(re.Sub[0], set)
		return true
	case syntax.OpRepeat:
		return firstBytes(re.Sub[0], set) || re.Min == 0
	}
	return true
}

func markRange(set *[256]bool, lo, hi rune) {
	for r := lo; r <= hi && r < utf8.RuneSelf; r++ {
		set[r] = true
	}
	if hi >= utf8.RuneSelf {
		for b := 0xC0; b < 256; b++ {
			set[b] = true
		}
	}
}

// count returns how often each signal begins in [from, to), in table order, and
// where the last match ends. Matches of one signal do not overlap, those of
// different signals may.
func (rules *ruleset) count(doc string, from, to int) (counts []int, end int) {
	counts = make([]int, len(rules.signals))
	free := make([]int, len(rules.signals)) // where the next match of each may begin
	for i := from; i < to; i++ {
		for _, k := range rules.byByte[doc[i]] {
			if i < free[k] {
				continue
			}
			if e := rules.signals[k].find(doc, i); e > i {
				counts[k]++
				free[k] = e
				end = max(end, e)
			}
		}
	}
	return counts, end
}
