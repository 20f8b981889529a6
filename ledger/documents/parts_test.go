package documents_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/ledger/documents"
)

// TestTemplates: each type has a template with an H2 first, no H1, guidance
// under every heading, one final newline, and what its type asks for.
func TestTemplates(t *testing.T) {
	heading := regexp.MustCompile(`^#{2,3} `)
	for _, typ := range documents.Types() {
		text := documents.TemplateOf(typ)
		lines := strings.Split(text, "\n")
		if !strings.HasPrefix(text, "## ") || !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.Contains(text, "\n\n\n\n") {
			t.Errorf("%s: first or last line, or a gap", typ)
		}
		for i, l := range lines {
			if strings.HasPrefix(l, "# ") {
				t.Errorf("%s: has an H1", typ)
			}
			if heading.MatchString(l) && (lines[i+1] != "" || lines[i+2] == "" || heading.MatchString(lines[i+2])) {
				t.Errorf("%s: no guidance under %q", typ, l)
			}
		}
	}
	count := func(typ, from, to, what string) int {
		text := documents.TemplateOf(typ)
		_, text, _ = strings.Cut(text, from)
		text, _, _ = strings.Cut(text, to)
		return strings.Count(text, what)
	}
	for _, c := range []struct {
		typ, from, to, what string
		least               int
	}{
		{"rfc", "## Implementation Plan", "\x00", "- [ ]", 5},
		{"rule", "### Good", "### Bad", "```", 4}, {"rule", "### Bad", "## Exceptions", "```", 4},
		{"guide", "## Steps", "## Verification", "\n4. ", 1},
		{"plan", "## Acceptance Criteria", "## Dependencies", "- [ ]", 2}, {"plan", "### Phase 1", "### Phase 2", "\n1. ", 1}, {"plan", "### Phase 2", "## Acc", "\n1. ", 1},
		{"spec", "## Normative", "## Constraints", "WHEN", 1}, {"spec", "## Normative", "## Constraints", "WHILE", 1}, {"spec", "## Normative", "## Constraints", "THEN", 1},
		{"spec", "## Normative", "## Constraints", "MUST", 1},
		{"scenario", "## Flows", "## Examples", ". [ACTOR REQUIRED]", 2}, {"journey", "## Journeys", "## Open", ". [ACTOR REQUIRED]", 2},
		{"evidence", "## Locator", "## Extract", "REQUIRED]", 2},
	} {
		if n := count(c.typ, c.from, c.to, c.what); n < c.least {
			t.Errorf("%s: %d of %q between %q and %q, want %d", c.typ, n, c.what, c.from, c.to, c.least)
		}
	}
	for _, typ := range []string{"scenario", "journey"} {
		for l := range strings.Lines(documents.TemplateOf(typ)) {
			if m := regexp.MustCompile(`^\d+\. `).FindString(l); m != "" && (!strings.HasPrefix(l, m+"[ACTOR REQUIRED]") || regexp.MustCompile(`MUST|SHOULD|MAY`).MatchString(l)) {
				t.Errorf("%s: step %q", typ, l)
			}
		}
	}
}

// TestReferencesAreTheGrammar compares the scanner with the grammar written as
// regular expressions.
func TestReferencesAreTheGrammar(t *testing.T) {
	explicit := regexp.MustCompile(`@[A-Za-z0-9_./-]+`)
	bare := regexp.MustCompile(`[A-Za-z0-9_-]+/[A-Za-z0-9_./-]+`)
	source := regexp.MustCompile(`(?i)\.(tsx?|jsx?|go|py|rb|rs|java|c|cpp|h|hpp|cs|php|sh|sql|md|ya?ml|json|feature)$`)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`([a-c@/. -]|src/|\.go|é|\n){0,40}`).Draw(rt, "text")
		var want []string
		spans := explicit.FindAllStringIndex(text, -1)
		for _, s := range spans {
			want = append(want, fmt.Sprintf("%s %d true", text[s[0]:s[1]], s[0]))
		}
		for _, s := range bare.FindAllStringIndex(text, -1) {
			token := text[s[0]:s[1]]
			inside := slices.ContainsFunc(spans, func(e []int) bool { return s[0] >= e[0] && s[0] < e[1] })
			last := strings.TrimSuffix(token[strings.LastIndexByte(token, '/')+1:], ".")
			if !inside && (strings.HasSuffix(token, "/") || strings.Count(token, "/") > 1 || source.MatchString(last)) {
				want = append(want, fmt.Sprintf("%s %d false", token, s[0]))
			}
		}
		var got []string
		for _, r := range documents.FindRefs(text) {
			token, at, isExplicit := documents.RefText(r)
			got = append(got, fmt.Sprintf("%s %d %t", token, at, isExplicit))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%q (-want +got)\n%s", text, diff)
		}
	})
}

func TestSpecificity(t *testing.T) {
	for _, c := range []struct {
		token, want string
		n           int
	}{
		{"@src/payments/refund/", "src/payments/", 2}, {"src/payments/post.go", "@src/payments/post.go", 3}, {"src/auth/x", "src/payments", 1},
		{"src/retry.go.", "src/retry.go", 2}, {"srcs/x", "src", 0}, {"Src/x", "src", 0}, {"src/", "src", 1}, {"../x/y", "..", 1},
	} {
		if n := documents.Specificity(c.token, c.want); n != c.n {
			t.Errorf("%q against %q: %d, want %d", c.token, c.want, n, c.n)
		}
	}
}

// TestWordsAreSubstrings: counting through the lexicon is counting in the text.
func TestWordsAreSubstrings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "é", "\u3000", " ", "\n", "\t", strings.Repeat("a", 70)}), 0, 40)
		piece := rapid.Map(parts, func(p []string) string { return strings.Join(p, "") })
		texts := []string{piece.Draw(rt, "one"), piece.Draw(rt, "two")}
		word := rapid.StringMatching(`[abé]{1,3}`).Draw(rt, "word")
		var want []int
		for _, text := range texts {
			want = append(want, min(20, strings.Count(text, word)))
		}
		if diff := cmp.Diff(want, documents.WordCount(texts, word)); diff != "" {
			rt.Fatalf("%q in %q (-want +got)\n%s", word, texts, diff)
		}
	})
}

// TestInterleave holds the worked sequences, and for any sizes: every row once,
// every source on the first page, and pages that are cuts of one sequence.
func TestInterleave(t *testing.T) {
	shape := func(sizes ...int) string {
		total := 0
		for _, n := range sizes {
			total += n
		}
		var b strings.Builder
		for _, s := range documents.Interleave(sizes, total) {
			b.WriteByte("Lgh"[s[0]-'0'])
		}
		return b.String()
	}
	for _, c := range []struct {
		sizes []int
		want  string
	}{
		{[]int{6, 2}, "LgLLLgLL"}, {[]int{4, 2, 1}, "LghLLgL"}, {[]int{2, 5}, "LgggLgg"}, {[]int{10, 3}, "LgLLgLLLLLgLL"},
	} {
		if got := shape(c.sizes...); got != c.want {
			t.Errorf("%v: %s, want %s", c.sizes, got, c.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 30), 2, 4).Draw(rt, "sizes")
		total := 0
		for _, n := range sizes {
			total += n
		}
		all := documents.Interleave(sizes, total)
		n := rapid.IntRange(0, total).Draw(rt, "n")
		if page := documents.Interleave(sizes, n); !slices.Equal(page, all[:n]) {
			rt.Fatalf("the first %d of %v are %v", n, all, page)
		}
		sorted := slices.Clone(all)
		slices.Sort(sorted)
		if len(all) != total || len(slices.Compact(sorted)) != total {
			rt.Fatalf("%v: %v", sizes, all)
		}
		for g := range sizes {
			if all[g] != fmt.Sprintf("%d.0", g) {
				rt.Fatalf("%v begins %v", sizes, all[:len(sizes)])
			}
		}
	})
}
