package address_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/address"
)

// The parts are those the published programs read: 0.9 without postcodes, 0.10
// with them.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		in      string
		grammar address.Grammar
		want    address.Parts
	}{
		{"", address.WithPostcodes, address.Parts{}},
		{"12 Allen Avenue, Ikeja, Lagos", address.WithPostcodes,
			address.Parts{StreetNumber: "12", Street: "Allen Avenue", Neighborhood: "Ikeja", City: "Lagos"}},
		{"10 Downing Street, London SW1A 2AA", address.WithoutPostcodes,
			address.Parts{StreetNumber: "10", Street: "Downing Street", City: "London SW1A"}},
		{"10 Downing Street, London SW1A 2AA", address.WithPostcodes,
			address.Parts{StreetNumber: "10", Street: "Downing Street", City: "London", PostalCode: "SW1A 2AA"}},
		{"12 Allen Avenue, w1a1aa", address.WithPostcodes,
			address.Parts{StreetNumber: "12", Street: "Allen Avenue", PostalCode: "W1A 1AA"}},
		{"P.O.  Box 12, Nairobi", address.WithPostcodes, address.Parts{Plot: "P.O. Box 12", City: "Nairobi"}},
		{"opposite GTBank, Allen  Avenue, Ikeja", address.WithPostcodes,
			address.Parts{Anchor: "opposite GTBank", Street: "Allen Avenue", City: "Ikeja"}},
		{"near the Big Mosque, Kano 700001", address.WithPostcodes, address.Parts{Anchor: "near the Big Mosque", City: "Kano"}},
		{"behind the old market", address.WithPostcodes, address.Parts{Anchor: "behind the old market"}},
		{"after Kofi called", address.WithPostcodes, address.Parts{Anchor: "after Kofi called"}},
		{"Plot 5, 12 Ring Road, Osu, Cantonments, Accra, Greater Accra, Ghana", address.WithPostcodes,
			address.Parts{Plot: "Plot 5", StreetNumber: "12", Street: "Ring Road", Neighborhood: "Osu", Area: "Cantonments", City: "Accra", Region: "Greater Accra"}},
		{"Eko\nSW1A 2AA", address.WithPostcodes, address.Parts{}},
		{"12 Moi Road, Eko\nSW1A 2AA", address.WithPostcodes,
			address.Parts{StreetNumber: "12", Street: "Moi Road", City: "Eko", PostalCode: "SW1A 2AA"}},
		{"12345 Ring Road, GA-123-4567", address.WithPostcodes,
			address.Parts{StreetNumber: "2345", Street: "Ring Road", PostalCode: "GA-123-4567"}},
		{"12 ring road, accra", address.WithPostcodes, address.Parts{}},
		{"Foo Road, Bar offshore", address.WithPostcodes, address.Parts{Street: "Foo Road", City: "Bar of"}},
	} {
		if diff := cmp.Diff(c.want, address.ParseAs(c.in, c.grammar)); diff != "" {
			t.Errorf("ParseAs(%q, %d) (-want +got):\n%s", c.in, c.grammar, diff)
		}
	}
}

var pieces = []string{
	"12", "1234A", "Plot 5", "No. 7", ", ", ",", " ", "\n", "Allen", "O'Neil", "Avenue", "St", "Road", "Lagos", "Accra",
	"of", "the", "near", "opposite", "behind the", "market", "gas station", "P.O. Box 9", "SW1A 2AA", "100001",
	"GA-123-4567", "Kenya", "\u00c9mile", "\u540d\u524d", "a", "-", ".", "\u017f", "\xff",
}

// Everything an address says must stand in the text, spaces and the form of
// postal codes aside.
func TestPartsComeFromTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " "}).Draw(t, "glue"))
		for _, g := range []address.Grammar{address.WithPostcodes, address.WithoutPostcodes} {
			p := address.ParseAs(s, g)
			squeezed := strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), "")
			for _, part := range []string{p.Anchor, p.Plot, p.StreetNumber, p.Street, p.Neighborhood, p.City, p.Region} {
				if !strings.Contains(squeezed, strings.Join(strings.Fields(part), "")) {
					t.Fatalf("%q: part %q is not in the text", s, part)
				}
			}
			if p.Street == "" && (p.StreetNumber != "" || p.Area != "" && p.City == "") {
				t.Fatalf("%q: parts without what they belong to: %+v", s, p)
			}
			if again := address.ParseAs(s, g); again != p {
				t.Fatalf("%q reads differently twice", s)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range pieces {
		f.Add(s + " " + s + ", " + s)
	}
	f.Add("opposite GTBank, Plot 5, 12 Allen Avenue, Ikeja, Lagos SW1A 2AA")
	f.Fuzz(func(t *testing.T, s string) {
		address.ParseAs(s, address.WithoutPostcodes)
		if p := address.Parse(s); p.Neighborhood != "" && p.City == "" {
			t.Fatalf("%q: a neighbourhood without a city", s)
		}
	})
}

// A hostile text must cost what its length says: each of these would take
// hours in quadratic time and ends at once in linear time.
func TestHostileTextsStayLinear(t *testing.T) {
	const n = 30_000
	for _, unit := range []string{"A", "Aa ", "Aa  ", "1 ", "near ", "near the ", "P ", "Box 1,", "Plot A ", ", Aa", "Aa St, ", "near Aa bank, ", "Aa SW1A ", "aa bank "} {
		address.Parse(strings.Repeat(unit, n))
		address.Parse(strings.Repeat(unit, 4) + strings.Repeat(" ", n) + strings.Repeat(unit, n/4) + "Avenue")
	}
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, in string }{
		{"street", "Plot 5, 12 Ring Road, Osu, Accra, Ghana"},
		{"lower", "12 kobapo street dedomu 1203"},
		{"landmark", "opposite the Big Mosque, Kano"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				address.Parse(c.in)
			}
		})
	}
}
