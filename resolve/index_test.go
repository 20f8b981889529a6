package resolve

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/canon"
)

// An index finds what a map finds.
func TestTextIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var toks tokens
		toks.room(rapid.IntRange(0, 20).Draw(t, "room"))
		want := make(map[string]int32)
		for _, s := range rapid.SliceOfN(rapid.StringN(0, 3, 6), 0, 200).Draw(t, "texts") {
			if _, ok := want[s]; !ok {
				want[s] = int32(len(want))
			}
			if got := toks.id(s); got != want[s] {
				t.Fatalf("%q has number %d, want %d", s, got, want[s])
			}
		}
		for s, id := range want {
			if got, ok := toks.find(s); !ok || got != id {
				t.Fatalf("%q is found at %d, %v, want %d", s, got, ok, id)
			}
		}
		if _, ok := toks.find("not there"); ok {
			t.Fatal("finds what is not there")
		}
		rank := toks.seal(true)
		for s, id := range want {
			if got, ok := toks.find(s); !ok || got != rank[id] || toks.text[got] != s {
				t.Fatalf("once sealed, %q is found at %d, %v, want %d", s, got, ok, rank[id])
			}
		}
	})
}

// Columns that stop remembering values give the same features.
func TestColumnForgets(t *testing.T) {
	const seen = indexedFirst + recentValues
	p, err := planFor("person", "", "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStore(p)
	if err != nil {
		t.Fatal(err)
	}
	col := p.column(columnSpec{field: "name"})
	c := &s.cols[col]
	c.roomFor(1)
	for i := range seen {
		name := "n" + strconv.Itoa(i)
		ref := s.take(col, canon.Obj("name", name))
		if c.norms[ref].Text() != name {
			t.Fatalf("%q is read as %q", name, c.norms[ref].Text())
		}
		if i%7 == 0 {
			if again := s.take(col, canon.Obj("name", name)); again != ref {
				t.Fatalf("%q is %d, then %d", name, ref, again)
			}
		}
	}
	if c.recent == nil || len(c.texts) != 0 {
		t.Fatal("every value is still remembered")
	}
	ref := s.take(col, canon.Obj("name", "n0"))
	if c.norms[ref].Text() != "n0" {
		t.Errorf("a forgotten value is read as %q", c.norms[ref].Text())
	}
	total := int64(0)
	for _, n := range c.uses {
		total += n
	}
	if want := int64(seen + (seen+6)/7 + 1); total != want {
		t.Errorf("%d uses are counted, want %d", total, want)
	}
}

// Numbers are written as the general way writes them.
func TestAppendFixed(t *testing.T) {
	check := func(t *rapid.T, f float64) {
		if got, want := string(appendFixed(nil, f)), `"`+canon.FixedText(f, 4)+`"`; got != want {
			t.Fatalf("%v is written %s, want %s", f, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, round(rapid.Float64Range(0, 1).Draw(t, "similarity"), 4))
		check(t, float64(rapid.IntRange(0, 20_000_000_000).Draw(t, "ten thousandths"))/10000)
		check(t, rapid.Float64().Draw(t, "any"))
		check(t, rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 0.00005, 0.99995, 1e6, math.NaN(), math.Inf(1)}).Draw(t, "special"))
	})
}
