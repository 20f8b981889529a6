package resolve

import (
	"testing"
	"unicode/utf8"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

// FuzzReaders feeds every reader of field values with arbitrary text.
func FuzzReaders(f *testing.F) {
	for _, s := range []string{"", "Kijani Tea Exporters (Pty) Ltd", "12B Allen Avenue, Lagos", "1990-01-02", "NW1 6QX", "QX-200A 12-pack 84 inch",
		"김철수", "محمد", "İ\u0301ß", "((((", "a, b (c", "b.v.", "\t\n\u200b", "#5", "0012345.0", "Fund II", "\xff"} {
		f.Add(s)
	}
	rules, err := packs.ProductRuleTable()
	if err != nil {
		f.Fatal(err)
	}
	var products []*productRules
	for _, name := range []string{"electronics", "food", "home_goods", "bibliographic"} {
		p, err := compileProduct(rules, name)
		if err != nil {
			f.Fatal(err)
		}
		products = append(products, p)
	}
	reading, err := secondReading()
	if err != nil {
		f.Fatal(err)
	}
	forms, err := legalForms()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return // JSON text is always valid
		}
		d := parseDate(s)
		if got := compareDates(&d, &d); d.precision > 0 && got != 1 {
			t.Errorf("the date %q is %v like itself", s, got)
		}
		parseDateV2(s)
		readPremises(s)
		readPostcode(s)
		splitQualifier(s)
		for _, p := range products {
			x := p.specs(s)
			if got := p.compareSpecs(&x, &x); got == 0 && !p.rules.AsymmetryRefutes {
				t.Errorf("the title %q refutes itself", s)
			}
			p.codes(s)
		}
		form := forms.read(s)
		if got := forms.compare(form, form); got == got {
			t.Errorf("the form of %q says %v about itself", s, got)
		}
		reading.forms.read(s)
		reading.organisation.strip(s)
		n := reading.norm(s)
		wideTokens(n, func(token string) {
			if token == "" {
				t.Error("an empty token")
			}
		})
		numbersIn(n, false)
		nameForm(s)
		textFloat(s)
		caseFold(s)
		categoryKey(s)
		spellingKeys(&packs.Orthography{CollapseBoundaries: true}, text.Tokens(text.Norm(s)))
	})
}

// FuzzCompare compares two arbitrary records under every pack and engine: an
// answer or a clear error, the same twice, whatever the values.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"name":"Kijani Tea","lat":1,"lon":"nan"}`), []byte(`{"name":"Kijani Tea Ltd","admin_path":{"admin1":5}}`))
	f.Add([]byte(`{"id":null,"name":["a"],"address":{"street":"x"}}`), []byte(`{"id":1e400,"name":"","birth_date":99999999999999999999}`))
	f.Add([]byte(`{"name":"김철수","phone":true}`), []byte(`{"name":"\u200b","email":" A@B.c "}`))
	f.Fuzz(func(t *testing.T, left, right []byte) {
		a, errA := canon.ParseObject(left, canon.Limits{NonFinite: true})
		b, errB := canon.ParseObject(right, canon.Limits{NonFinite: true})
		if errA != nil || errB != nil {
			return
		}
		for _, entity := range Entities() {
			for _, engine := range []string{EngineV1, EngineV2} {
				req := Request{A: []*canon.Object{a}, B: []*canon.Object{b}, Entity: entity, Engine: engine, Threshold: 0.2, Block: BlockNone}
				first, err := Compare(t.Context(), req)
				if err != nil {
					continue
				}
				second, err := Compare(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				x, err := canon.Compact(first.Answer())
				if err != nil {
					t.Fatal(err)
				}
				y, err := canon.Compact(second.Answer())
				if err != nil || string(x) != string(y) {
					t.Fatalf("two answers differ:\n%s\n%s", x, y)
				}
				for _, e := range first.Edges {
					if e.Score < 0 || e.Score > 1 {
						t.Fatalf("score %v", e.Score)
					}
				}
				if _, err := ComparePair(t.Context(), PairRequest{A: a, B: b, Entity: entity, Engine: engine}); err != nil {
					continue
				}
			}
		}
	})
}
