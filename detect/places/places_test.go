package places_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/detect/places"
	"github.com/arche-ledger/arche/internal/canon"
)

// vector is a golden case of extract_places.
type vector struct {
	ID     string         `json:"id"`
	Tool   string         `json:"tool"`
	Args   map[string]any `json:"args"`
	Want   map[string]any `json:"want"`
	Ignore []string       `json:"ignore"`
	Tags   []string       `json:"tags"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	departures := map[string]string{}
	raw, err := os.ReadFile("../../testdata/golden/departures.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &departures); err != nil {
		t.Fatal(err)
	}
	var out []vector
	for _, name := range []string{"detect.jsonl", "seed.jsonl"} {
		f, err := os.Open("../../testdata/golden/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var v vector
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			if departures[v.ID] == "" && v.Tool == "extract_places" {
				out = append(out, v)
			}
		}
	}
	return out
}

func answer(t *testing.T, doc string) map[string]any {
	t.Helper()
	raw, err := canon.Indent(places.Extract(doc))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestGolden(t *testing.T) {
	n := 0
	for _, v := range vectors(t) {
		doc, ok := v.Args["text"].(string)
		if !ok {
			continue
		}
		n++
		if diff := cmp.Diff(v.Want, answer(t, doc)); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", v.ID, doc, diff)
		}
	}
	if n < 50 {
		t.Errorf("only %d cases were run", n)
	}
}

func TestBeyondThePublished(t *testing.T) {
	for _, c := range []struct {
		doc  string
		want []string // role and text
	}{
		{"1147 Fennel Blvd #3202, Jacksonville", []string{"unknown 1147 Fennel Blvd #3202, Jacksonville"}},
		{"Deliver to 612-614 9th Street, Marlow", []string{"destination 612-614 9th Street, Marlow"}},
		{"FROM 12 PALM ROAD TO 9 RING ROAD", []string{"origin 12 PALM ROAD", "destination 9 RING ROAD"}},
		{"to 12345 Main Street now", []string{"destination 12345 Main Street"}},
		{"to 12 Long Street, Lagos then go", []string{"destination 12 Long Street, Lagos"}},
		{"play Xbox 360 at home", nil},
	} {
		var got []string
		for _, p := range places.Extract(c.doc).Places {
			got = append(got, p.Role+" "+string([]rune(c.doc)[p.Start:p.End]))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.doc, diff)
		}
	}
}

// FuzzExtract holds the promises of the answer on any text.
func FuzzExtract(f *testing.F) {
	for _, seed := range []string{"", "from Lagos to Abuja", "near Xx near Xx", "SW1A 1AA", "between A and B", "don't go to Lagos", "\xff from Ab Road", "to to to", "P.O. Box 1, Ab"} {
		f.Add(seed)
	}
	roles := []string{"origin", "destination", "location", "via", "unknown"}
	f.Fuzz(func(t *testing.T, doc string) {
		a := places.Extract(doc)
		end := 0
		for _, p := range a.Places {
			if p.Start < end || p.End <= p.Start || p.End > utf8.RuneCountInString(doc) {
				t.Fatalf("place [%d, %d) after %d", p.Start, p.End, end)
			}
			end = p.End
			if !slices.Contains(roles, p.Role) || !slices.IsSorted(p.ComponentsPresent) {
				t.Errorf("place %+v", p)
			}
		}
		if a.Count != len(a.Places) {
			t.Errorf("count %d of %d", a.Count, len(a.Places))
		}
	})
}

func BenchmarkExtract(b *testing.B) {
	for name, unit := range map[string]string{
		"office": "Please pick up the parcel from 7B Allen Avenue, Ikeja, Lagos and deliver it to the shop near Shoprite Mall. Thank you very much. ",
		"near":   "near Xx ", "road": "Ab Cd Ef Gh Road ", "box": "Box 1, a ", "caps": "AB CD EF ", "postcode": "SW1A ", "digits": "1111 ", "to": "to ",
	} {
		doc := strings.Repeat(unit, 20<<10/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				places.Extract(doc)
			}
		})
	}
}

// TestWorkIsLinear compares allocations, which grow with the work, of a text and
// its double.
func TestWorkIsLinear(t *testing.T) {
	for _, unit := range []string{"near Xx ", "Ab Cd Ef Gh Road ", "Box 1, a ", "AB CD EF ", "SW1A ", "1111 ", "to ", "between ", "from Xx to ", "Lagos ", "nigeria", "a-a-a-"} {
		cost := func(n int) float64 {
			doc := strings.Repeat(unit, n/len(unit))
			return testing.AllocsPerRun(1, func() { places.Extract(doc) })
		}
		small, large := cost(8<<10), cost(16<<10)
		if large > 2.6*small+200 {
			t.Errorf("%q: %v allocations for 8 KB, %v for 16 KB", unit, small, large)
		}
	}
}
