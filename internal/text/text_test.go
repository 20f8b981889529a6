package text_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/text"
)

func TestNorm(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" \u00a0\x1cAda\u3000", "ada"},
		{"Ada\tObi\n", "adaobi"},
		{"Ada   Obi", "ada obi"},
		{"\u200b Ada", " ada"},
		{"Acme\u2122 Ltd", "acmeTM ltd"},
		{"Stra\u00dfe \u0141\u00f8", "stra\u00dfe \u0142\u00f8"},
		{"\u1eb8\u0301k\u1ecd\u0301", "eko"},
		{"\u039f\u0394\u039f\u03a3 \u03a3", "\u03bf\u03b4\u03bf\u03c2 \u03c3"},
		{"\uac01", "\u1100\u1161\u11a8"},
		{"\u0915\u093f", "\u0915\u093f"},
		{"a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301b", "ab"},
	} {
		if got := text.Norm(c.in); got != c.want {
			t.Errorf("Norm(%+q) = %+q, want %+q", c.in, got, c.want)
		}
	}
}

func TestNidFoldAndMarks(t *testing.T) {
	if got := text.Nid("RC-12\u00e9 34a"); got != "rc1234a" {
		t.Errorf("Nid = %q", got)
	}
	if got := text.Fold(" \u00c9ko\t\u200b"); got != " eko\t\u200b" {
		t.Errorf("Fold = %q", got)
	}
	if got := text.StripMarks("\u00c9\u0915\u094d\u093f"); got != "E\u0915\u093f" {
		t.Errorf("StripMarks = %q", got)
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		norm         string
		plain, extra []string
		joined       string
	}{
		{"king's college", []string{"king", "s", "college"}, []string{"kings"}, "kings college"},
		{"king\u2019s", []string{"king", "s"}, []string{"kings"}, "kings"},
		{"king's2 o'sullivan", []string{"king", "s2", "o", "sullivan"}, nil, "king's2 o'sullivan"},
		{"a's's", []string{"a", "s", "s"}, []string{"as"}, "as's"},
		{"\uae40 12-b", []string{"12", "b"}, nil, "\uae40 12-b"},
		{"", nil, nil, ""},
	} {
		if diff := cmp.Diff(c.plain, text.Tokens(c.norm)); diff != "" {
			t.Errorf("Tokens(%q) (-want +got):\n%s", c.norm, diff)
		}
		if diff := cmp.Diff(append(c.plain[:len(c.plain):len(c.plain)], c.extra...), text.PossessiveTokens(c.norm)); diff != "" {
			t.Errorf("PossessiveTokens(%q) (-want +got):\n%s", c.norm, diff)
		}
		if got := text.JoinPossessives(c.norm); got != c.joined {
			t.Errorf("JoinPossessives(%q) = %q, want %q", c.norm, got, c.joined)
		}
	}
}

// The figures are those of the published program's libraries.
func TestSimilarity(t *testing.T) {
	for _, c := range []struct {
		a, b     string
		jw, sort float64
	}{
		{"", "", 0, 1},
		{"a", "", 0, 0},
		{"martha", "marhta", 0.9611111111111111, 0.8333333333333335},
		{"dixon", "dicksonx", 0.8133333333333332, 0.6153846153846154},
		{"ada obi", "obi ada", 0.35714285714285715, 1},
		{"kwame", "kwame", 1, 1},
		{"\u0915\u094d\u0937", "\u0915\u094d\u0937", 1, 1},
		{"e\u0301a", "ea", 0.6666666666666666, 0.8},
	} {
		if got := text.JaroWinkler(c.a, c.b); got != c.jw {
			t.Errorf("JaroWinkler(%q, %q) = %v, want %v", c.a, c.b, got, c.jw)
		}
		if got := text.TokenSortRatio(c.a, c.b); got != c.sort {
			t.Errorf("TokenSortRatio(%q, %q) = %v, want %v", c.a, c.b, got, c.sort)
		}
		if got, want := text.Fuzzy(c.a, c.b), max(c.jw, c.sort); got != want {
			t.Errorf("Fuzzy(%q, %q) = %v, want %v", c.a, c.b, got, want)
		}
	}
}
