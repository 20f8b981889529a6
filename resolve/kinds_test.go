package resolve

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
	"github.com/arche-ledger/arche/packs"
)

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestDates(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"1990-01-02", "19900102", 1}, {"1990-01-02", "02/01/1990", 1}, {"1990", "1990-01-02", 1}, {"01/1990", "1990-01-15", 1},
		{"1990-01-02", "1990-01-03", 0.35}, {"1990-01-31", "1990-02-01", 0.35}, {"1990-05-13", "1991-05-13", 0.35},
		{"1990-05-13", "1975-11-30", 0}, {"1990", "1991", 0}, {"n/a", "1990", nothing}, {"1990 1991", "1990", nothing},
		{"1990-13-45", "1990", nothing}, {"29.02.2001", "2001", nothing}, {"29.02.2000", "2000-02", 1}, {"٢٠٢٠-01-02", "2020-01-02", 1},
		{"1.2.3.1990", "1990", nothing}, {"123456", "123456", 1}, {"", "", nothing},
	} {
		a, b := parseDate(c.a), parseDate(c.b)
		if got := compareDates(&a, &b); !same(got, c.want) {
			t.Errorf("%q against %q = %v, want %v", c.a, c.b, got, c.want)
		}
		if got := compareDates(&b, &a); !same(got, c.want) {
			t.Errorf("%q against %q = %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

func TestPremises(t *testing.T) {
	for s, want := range map[string]string{
		"Unit 5": "5", " unit 5B": "5b", "5b Allen Avenue": "5b", "Allen Avenue 12": "12", "Road 12, Lagos": "12", "flat12": "12",
		"A#5": "5", "12345": "", "Road 12345": "", "Road 12-": "", "No. 7 Crescent": "7", "Plot . 9": "9", "": "", "house": "", "12,": "12",
		"Shop 3, 9 Main Road": "3", "outfloor 4": "4",
	} {
		if got := readPremises(s); got != want {
			t.Errorf("premises of %q = %q, want %q", s, got, want)
		}
	}
}

func TestPostcodes(t *testing.T) {
	none := func() float64 { return 0 }
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"SW1A", "sw1a 1aa", 0.5}, {"SW1A 1AA", "sw1a1aa", 1}, {"SW1A 1AA", "SW1A 2BB", 0.5}, {"SW1A 1AA", "NW1 6QX", 0},
		{"10001-1234", "10001", 0.5}, {"100-01", "10001", 1}, {" - ", "-", nothing},
	} {
		if got := comparePostcodes(readPostcode(c.a), readPostcode(c.b), none); !same(got, c.want) {
			t.Errorf("%q against %q = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestLegalForms(t *testing.T) {
	forms, err := legalForms()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"Acme Ltd", "Acme Limited", nothing}, {"Acme Ltd", "Acme PLC", 0.5}, {"Acme Ltd", "Acme LLP", 0}, {"Acme", "Acme Ltd", nothing},
		{"Acme Ventures", "Acme Ltd", 0}, {"Acme & Sons", "Acme Enterprises", nothing}, {"Acme (Pty) Ltd", "Acme Pty Ltd", 0},
		{"Acme Ltd/Gte", "Acme Ltd", nothing}, {"Import B.V.", "Import BV", nothing},
	} {
		if got := forms.compare(forms.read(c.a), forms.read(c.b)); !same(got, c.want) {
			t.Errorf("%q against %q = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestStripType(t *testing.T) {
	domains, err := packs.TypeDomains(PackVersion010)
	if err != nil {
		t.Fatal(err)
	}
	v := &vocabulary{synonyms: domains["organization"].Synonyms, norm: text.Norm}
	for s, want := range map[string]string{
		"Kijani Tea Exporters Ltd": "kijani tea exporters", "Produce Buying Company": "", "Acme": "Acme",
		"Union Mill Estate Factory Plantation": "mill", "Limitedness": "Limitedness",
	} {
		if got := v.strip(s); got != want {
			t.Errorf("strip(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestQualifiers(t *testing.T) {
	for _, c := range []struct{ s, core, qualifier string }{
		{"Elim Pharmacy (Ikeja)", "Elim Pharmacy", "Ikeja"}, {"Elim Pharmacy, Ikeja", "Elim Pharmacy", "Ikeja"}, {"X (a) (b)", "X (a)", "b"},
		{"(a)", "(a)", ""}, {"X (a", "X (a", ""}, {"X (), a", "X ()", "a"}, {"a,", "a,", ""}, {"", "", ""}, {"X ((a)", "X", "(a"},
	} {
		core, q, ok := splitQualifier(c.s)
		if core != c.core || q != c.qualifier || ok != (c.qualifier != "") {
			t.Errorf("split(%q) = %q, %q, %v", c.s, core, q, ok)
		}
	}
}

func TestPhones(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"+234 803 555 0199", "08035550199", 1}, {"0803 555 0199", "+234 (803) 555-0199", 1}, {"27821234567", "0821234567", 1},
		{"44821234567", "0821234567", 0}, {"", "", 0}, {"n/a", "n/a", 1},
	} {
		if got := comparePhones(text.Nid(c.a), text.Nid(c.b)); got != c.want {
			t.Errorf("%q against %q = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestProducts(t *testing.T) {
	rules, err := packs.ProductRuleTable()
	if err != nil {
		t.Fatal(err)
	}
	specOf := func(category string) func(a, b string) float64 {
		p, err := compileProduct(rules, category)
		if err != nil {
			t.Fatal(err)
		}
		return func(a, b string) float64 {
			x, y := p.specs(a), p.specs(b)
			return p.compareSpecs(&x, &y)
		}
	}
	home, food := specOf("home_goods"), specOf("food")
	for _, c := range []struct {
		compare func(a, b string) float64
		a, b    string
		want    float64
	}{
		{home, "84 inch", "84.0 inch", 1}, {home, "Rug 5ft x 7ft", "Rug 7ft", 1}, {home, "Rug red", "Rug", 0}, {home, "Rug", "Rug", nothing},
		{food, "1,5 l", "1.5 l", 0}, {food, "12-pack", "12 pk", 1}, {food, "x12 pack", "12 pack", nothing}, {food, "3.5.2 g", "3.5 g", 0},
		{food, "500ml milk", "milk 500 ml", 1}, {food, "500 ml", "1 l", nothing},
	} {
		if got := c.compare(c.a, c.b); !same(got, c.want) {
			t.Errorf("%q against %q = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	p, err := compileProduct(rules, "electronics")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.codes("Router WNR-3500L 1080p 4K 12345 1234"); len(got) != 2 || got[0] != "wnr3500l" || got[1] != "12345" {
		t.Errorf("codes = %q", got)
	}
}

// The bounds never lie below what they bound.
func TestBoundsHold(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) string {
		return text.Norm(rapid.StringOfN(rapid.RuneFrom([]rune("aaabbcdé 12-z")), 0, 90, -1).Draw(t, "s"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Prepare(draw.Draw(t, "a")), text.Prepare(draw.Draw(t, "b"))
		if a.Text() == "" || b.Text() == "" {
			return
		}
		x, y := bagOf(&a), bagOf(&b)
		var m text.Matcher
		if got, bound := m.Fuzzy(&a, &b), mostSimilar(&x, &y, a.Text(), b.Text()); got > bound {
			t.Fatalf("%q and %q are %v alike, bound %v", a.Text(), b.Text(), got, bound)
		}
	})
}

// Names that are equivalent are never ruled out by the sketch of their words.
func TestSketchHolds(t *testing.T) {
	draw := rapid.SampledFrom([]string{"mohammed", "muhammad", "mamadou", "bello", "diallo", "jallow", "fatima", "fatuma", "abu", "bakr", "ali", "x"})
	rapid.Check(t, func(t *rapid.T) {
		words, err := newNameWords(newTokens())
		if err != nil {
			t.Fatal(err)
		}
		var col column
		var ids [2][]int32
		for side := range ids {
			for _, w := range rapid.SliceOfN(draw, 1, 5).Draw(t, "name") {
				ids[side] = append(ids[side], words.toks.id(w))
			}
			col.words.add(ids[side])
		}
		words.extend()
		for side := range ids {
			has := uint64(0)
			for _, id := range ids[side] {
				has |= words.has[id]
			}
			col.sketch = append(col.sketch, has)
		}
		n := words.matched(ids[0], ids[1], new(nameScratch))
		if 3*n >= 2*max(len(ids[0]), len(ids[1])) && !words.mayEquate(&col, 0, 1) {
			t.Fatalf("%v and %v share %d words and were ruled out", ids[0], ids[1], n)
		}
	})
}

// Matching many words takes a detour to the same count.
func TestManyWordsMatchTheSame(t *testing.T) {
	draw := rapid.SampledFrom([]string{"mohammed", "muhammad", "mamadou", "bello", "diallo", "jallow", "ali", "aly", "x", "y", "tea"})
	rapid.Check(t, func(t *rapid.T) {
		words, err := newNameWords(newTokens())
		if err != nil {
			t.Fatal(err)
		}
		var ids [2][]int32
		for side := range ids {
			for _, w := range rapid.SliceOfN(draw, 1, 12).Draw(t, "name") {
				ids[side] = append(ids[side], words.toks.id(w))
			}
		}
		words.extend()
		if got, want := words.matchedMany(ids[0], ids[1]), words.matched(ids[0], ids[1], new(nameScratch)); got != want {
			t.Fatalf("%d words match, want %d", got, want)
		}
	})
}

// British postcodes are read under the packs that were published with them, and
// by a caller's own comparators.
func TestAddressGrammarFollowsPack(t *testing.T) {
	a := canon.Obj("name", "Thabo Nkosi", "address", "12 Allen Ave, Ikeja")
	b := canon.Obj("name", "Thabo Nkosi", "address", "Flat 3, 10 Downing Street, London SW1A 2AA")
	for version, inPack := range map[string]string{PackVersionDefault: "0.297", PackVersion010: "0.28"} {
		for _, list := range [][]*canon.Object{nil, {canon.Obj("kind", "address", "field", "address", "weight", 1)}} {
			req := Request{A: []*canon.Object{a}, B: []*canon.Object{b}, Comparators: list, Threshold: 0.1, PackVersion: version}
			want := "0.28"
			if list == nil {
				req.Entity, want = "person", inPack
			}
			res, err := Compare(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(res.Edges[0].Evidence.Value("address")); got != want {
				t.Errorf("packs %s: address %s, want %s", version, got, want)
			}
		}
	}
}

func TestPremisesBySort(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"Flat 3, 12 Allen Avenue", "Flat 4, 12 Allen Avenue", 0}, {"Flat 3, 12 Allen Avenue", "12 Allen Avenue, Apt 3", 1},
		{"2nd Floor, 12 Allen Avenue", "12 Allen Avenue, third floor", 0}, {"Floor 2, 12 Allen Avenue", "2nd floor 12 Allen Avenue", 1},
		{"Floor 2", "Flat 3", nothing}, {"12 Allen Avenue", "14 Allen Avenue", 0}, {"012 Allen Avenue", "12 Allen Avenue", 1},
		{"Allen Avenue 12, Lagos", "12 Allen Avenue", 1}, {"Allen Avenue", "12 Allen Avenue", nothing}, {"Room 7b", "Room 7B", 1}, {"", "", nothing},
		{"Ground floor, 5 Hill St", "0 floor", nothing}, {"Flat 3, 12 Allen Avenue", "Flat 3, 14 Allen Avenue", 0},
		{"Long Street, 8001 Cape Town", "12 Long Street, 8001 Cape Town", nothing},
	} {
		a, b := readPremisesV2(text.Norm(c.a)), readPremisesV2(text.Norm(c.b))
		if got := comparePremises(&a, &b); !same(got, c.want) {
			t.Errorf("%q against %q = %v, want %v (%q, %q)", c.a, c.b, got, c.want, a, b)
		}
	}
}
