package jurisdiction_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
	"github.com/arche-ledger/arche/packs"
)

func TestInferGolden(t *testing.T) {
	for _, v := range vectors(t, "infer_jurisdiction") {
		doc, ok := v.text("text")
		if _, given := v.Args["text"]; !ok || !given {
			continue
		}
		v.check(t, jurisdiction.Infer(doc))
	}
}

func TestInferNeverAnswersTheText(t *testing.T) {
	raw, err := canon.Indent(jurisdiction.Infer("RC 918273 and GB 123456789, Foo GmbH, 07700900123"))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"918273", "123456789", "07700900123"} {
		if strings.Contains(string(raw), value) {
			t.Errorf("the answer holds %s:\n%s", value, raw)
		}
	}
}

// The later rules read what the published ones cannot.
func TestLatestRules(t *testing.T) {
	for doc, want := range map[string]string{
		"SSNIT number on the form, paid GHS 500":      "GH",
		"send it to GA-183-8164":                      "GH",
		"KSh 5,000 to +254 712 345 678":               "KE",
		"£5, call +44 7700 900123":                    "GB",
		"NIN 12345678901":                             "NG",
		"notice under POPIA":                          "ZA",
		"nothing here":                                "",
		"Acme Ltd. VAT GB 123456789, Companies House": "GB",
	} {
		inf, err := jurisdiction.InferUnder(doc, packs.RulesetLatest)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if inf.Country != nil {
			got = *inf.Country
		}
		if got != want || inf.RulesetVersion != packs.RulesetLatest {
			t.Errorf("%q: %q under %s, want %q", doc, got, inf.RulesetVersion, want)
		}
	}
	if _, err := jurisdiction.InferUnder("x", "1999.01.1"); !fault.Is(err, fault.Invalid) {
		t.Errorf("an unknown version: %v", err)
	}
	if !slices.Contains(jurisdiction.Inferable(packs.RulesetLatest), "GH") || slices.Contains(jurisdiction.Inferable(""), "GH") {
		t.Error("Ghana can be inferred under the later rules only")
	}
}

func FuzzInfer(f *testing.F) {
	for _, seed := range []string{"", "NIN 12345678901", "R 1.00 £5 Ltd", "HM \u2003 Revenue", "\xff\xfe", "₦5 +234 1/2/26"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		inf := jurisdiction.Infer(doc)
		if inf.Abstained != (inf.Country == nil) {
			t.Errorf("abstained %v with country %v", inf.Abstained, inf.Country)
		}
		if inf.Confidence < 0 || inf.Confidence > 1 || inf.Margin < 0 || inf.Margin > inf.Confidence {
			t.Errorf("confidence %v, margin %v", inf.Confidence, inf.Margin)
		}
	})
}

func BenchmarkInfer(b *testing.B) {
	for _, c := range []struct{ name, unit string }{
		{"office text", "Payment of £20 to Foo Ltd, Lagos, was made on 12/05/2026. "},
		{"digits", "0712345678901234567"}, {"capitals", "ABCDEFGHIJ"}, {"spaces", "HM                  "},
	} {
		doc := strings.Repeat(c.unit, 1<<20/len(c.unit))
		b.Run(fmt.Sprintf("%s/1MB", c.name), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				jurisdiction.Infer(doc)
			}
		})
	}
}
