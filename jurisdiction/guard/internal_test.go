package guard

import (
	"errors"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/detect"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
	"github.com/arche-ledger/arche/packs"
)

// No shipped statute lacks a detector altogether, so the fifth refusal is seen
// on one made up.
func TestRefusesWhenNothingIsLookedFor(t *testing.T) {
	s := &packs.Statute{ID: "MADE-UP"}
	plan := &jurisdiction.Coverage{Verdict: "none", DetectorPackages: []string{"emails", "ip"}}
	reason, citation := check(Request{}, s, nil, plan)
	want := "no installed detector can find anything that MADE-UP governs, so a clean result would mean that nothing was looked for (detectors=['emails', 'ip'])"
	if reason != want || citation == nil || *citation != "MADE-UP" {
		t.Errorf("reason %s, citation %v", reason, citation)
	}
}

func guardWith(t *testing.T, scan func(string, detect.Options) ([]detect.Span, error)) *Guard {
	t.Helper()
	g, refusal := New(Request{Key: "k", Jurisdiction: "NG"})
	if refusal != nil {
		t.Fatal(refusal.Reason)
	}
	g.scan = scan
	return g
}

func TestAnyErrorRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		scan func(string, detect.Options) ([]detect.Span, error)
		says string
	}{
		"a fault":       {func(string, detect.Options) ([]detect.Span, error) { return nil, fault.New(fault.Limit, "too much") }, "too much"},
		"another error": {func(string, detect.Options) ([]detect.Span, error) { return nil, errors.New("/etc/secret 123") }, "internal error"},
		"a panic":       {func(string, detect.Options) ([]detect.Span, error) { panic("Casey 123") }, "internal error"},
		"never at rest": {func(s string, _ detect.Options) ([]detect.Span, error) {
			i := strings.IndexAny(s, "abcdefghijklmnopqrstuvwxyz")
			return []detect.Span{{Category: "PII-1-NAME", ByteStart: i, ByteEnd: i + 1}}, nil
		}, "did not come to rest"},
	} {
		res := guardWith(t, c.scan).Scan(t.Context(), strings.Repeat("abcdefghijklmnopqrstuvwxyz", 9))
		if !res.Denied || res.Text != "" || len(res.Fields) != 0 || res.Reason != "guard error (fail-closed): "+c.says && c.says != "did not come to rest" ||
			!strings.Contains(res.Reason, c.says) {
			t.Errorf("%s: %+v", name, res)
		}
		if res.Coverage == nil {
			t.Errorf("%s: no coverage", name)
		}
	}
}

// spansOf makes a scanner that finds words wherever they stand.
func spansOf(words map[string]string) func(string, detect.Options) ([]detect.Span, error) {
	return func(doc string, _ detect.Options) ([]detect.Span, error) {
		var out []detect.Span
		for word, category := range words {
			for from := 0; ; {
				i := strings.Index(doc[from:], word)
				if i < 0 {
					break
				}
				i += from
				out = append(out, detect.Span{Category: category, ByteStart: i, ByteEnd: i + len(word)})
				from = i + 1
			}
		}
		return out, nil
	}
}

func TestRegions(t *testing.T) {
	g := guardWith(t, nil)
	regions := g.regions([]detect.Span{
		{Category: "PII-4-ADDRESS", ByteStart: 0, ByteEnd: 20},
		{Category: "PII-1-NAME", ByteStart: 5, ByteEnd: 9},
		{Category: "PII-3-EMAIL", ByteStart: 20, ByteEnd: 25}, // touches, does not overlap
		{Category: "PII-2-NIN", ByteStart: 30, ByteEnd: 40},
		{Category: "PII-3-PHONE", ByteStart: 30, ByteEnd: 40}, // as wide: the first names the region
	})
	if len(regions) != 3 {
		t.Fatalf("regions %+v", regions)
	}
	for i, want := range []struct{ category, action string }{
		{"PII-4-ADDRESS", "tokenize"}, {"PII-3-EMAIL", "tokenize"}, {"PII-2-NIN", "mask"},
	} {
		if r := regions[i]; r.category != want.category || r.action != want.action {
			t.Errorf("region %d: %s %s, want %s %s", i, r.category, r.action, want.category, want.action)
		}
	}
}

func TestDropLeavesNothing(t *testing.T) {
	g := guardWith(t, spansOf(map[string]string{"4111": "PII-5-CARD", "zq": "PII-1-NAME"}))
	res := g.Scan(t.Context(), "x 4111 z4111q y")
	if res.Denied || len(res.Fields) != 3 {
		t.Fatalf("%+v", res)
	}
	// What the drop brings together is looked at again.
	if strings.Contains(res.Text, "4111") || strings.Contains(res.Text, "zq") {
		t.Errorf("text %q", res.Text)
	}
	if res.Fields[0].Token != nil || res.Fields[0].Action != "drop" || res.Fields[2].Category != "PII-1-NAME" {
		t.Errorf("fields %+v", res.Fields)
	}
}

func TestOverlapWithAPlaceholderKeepsIt(t *testing.T) {
	g := guardWith(t, nil)
	const doc = "a [NAME:de11776532b6f1b0] b"
	d := newDocument(doc, 0, len(doc))
	taken := d.replace([]region{{end: len(doc), category: "PII-4-ADDRESS", action: "generalize", width: len(doc)}}, g.substitute)
	text := d.text
	if !taken || !strings.Contains(text, "[NAME:de11776532b6f1b0]") || d.to != len(text) || strings.Count(text, "[ADDRESS:") != 2 {
		t.Errorf("text %q", text)
	}
}
