package jurisdiction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/jurisdiction"
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
