package splink_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger/duck"
	"github.com/arche-ledger/arche/resolve/splink"
)

var person = []splink.Comparator{
	{Kind: "name", Field: "name"}, {Kind: "tftoken", Field: "name"}, {Kind: "date", Field: "birth_date"},
	{Kind: "phone", Field: "phone"}, {Kind: "address", Field: "address"},
}

func open(threads int) func() (splink.Scratch, error) {
	return func() (splink.Scratch, error) { return duck.OpenScratch(duck.Options{Threads: threads}) }
}

// people makes two lists in which b's row i is a corrupted copy of a's for the
// first two thirds.
func people(n int, joined bool) (a, b []*canon.Object) {
	rnd := rand.New(rand.NewPCG(3, 4))
	syllables := strings.Fields("ka mo ru te li sa no vi du pe ga ho")
	word := func(k int) string {
		s := ""
		for range k {
			s += syllables[rnd.IntN(len(syllables))]
		}
		return s
	}
	var given, family, streets []string
	for range 40 {
		given, family, streets = append(given, word(2)), append(family, word(3)), append(streets, word(3)+" road")
	}
	pick := func(l []string) string { return l[int(float64(len(l))*rnd.Float64()*rnd.Float64())] }
	typo := func(s string) string {
		if len(s) < 3 || rnd.IntN(3) > 0 {
			return s
		}
		i := rnd.IntN(len(s) - 1)
		return s[:i] + "x" + s[i+1:]
	}
	record := func(id string, v [5]string) *canon.Object {
		if joined {
			return canon.Obj("id", id, "name", v[0]+" "+v[1], "birth_date", v[2], "address", strings.TrimSpace(v[3]+" "+v[4]))
		}
		return canon.Obj("id", id, "given_name", v[0], "surname", v[1], "birth_date", v[2], "street_number", v[3], "street", v[4])
	}
	fresh := func() [5]string {
		return [5]string{pick(given), pick(family), fmt.Sprintf("%d-%02d-%02d", 1950+rnd.IntN(50), 1+rnd.IntN(12), 1+rnd.IntN(28)), fmt.Sprint(1 + rnd.IntN(90)), pick(streets)}
	}
	for i := range n {
		v := fresh()
		a = append(a, record(fmt.Sprintf("a%d", i), v))
		if i >= 2*n/3 {
			b = append(b, record(fmt.Sprintf("b%d", i), fresh()))
			continue
		}
		for k := range v {
			v[k] = typo(v[k])
		}
		if rnd.IntN(10) == 0 {
			v[rnd.IntN(5)] = ""
		}
		b = append(b, record(fmt.Sprintf("b%d", i), v))
	}
	return a, b
}

func f1(pairs []splink.Pair, threshold float64, truth int) float64 {
	right, found := 0, 0
	for _, p := range pairs {
		if p.Probability >= threshold {
			found++
			if p.I == p.J && p.I < truth {
				right++
			}
		}
	}
	return 2 * float64(right) / float64(found+truth)
}

func TestRunLinks(t *testing.T) {
	for _, joined := range []bool{false, true} {
		t.Run(fmt.Sprintf("joined=%v", joined), func(t *testing.T) {
			a, b := people(900, joined)
			out, err := splink.Run(t.Context(), splink.Input{A: a, B: b, Entity: "person", Comparators: person, Floor: 0.55, Open: open(2)})
			if err != nil {
				t.Fatal(err)
			}
			if got := f1(out.Pairs, 0.7, 600); got < 0.95 {
				t.Errorf("F1 = %.3f with rules %+v", got, out.Model.Rules)
			}
			if !out.Converged || out.Candidates == 0 || out.Database == "" || len(out.Corpus) != 64 {
				t.Errorf("output %+v", out)
			}
		})
	}
}

// The result does not depend on threads, and a saved model gives it again.
func TestRunIsDeterministic(t *testing.T) {
	a, b := people(600, false)
	in := splink.Input{A: a, B: b, Entity: "person", Comparators: person, Floor: 0.3, Open: open(1)}
	first, err := splink.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	model, err := first.Model.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{1, 2, 4} {
		in.Open = open(threads)
		again, err := splink.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("%d threads (-one +more):\n%s", threads, diff)
		}
	}
	if in.Model, err = splink.ReadModel(model); err != nil {
		t.Fatal(err)
	}
	loaded, err := splink.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Pairs, loaded.Pairs); diff != "" {
		t.Fatalf("the saved model decides differently:\n%s", diff)
	}
	if loaded.Derived || loaded.Corpus != first.Corpus {
		t.Errorf("loaded run: derived %v, corpus %s", loaded.Derived, loaded.Corpus)
	}
}

func TestRunDedupe(t *testing.T) {
	a, b := people(450, false)
	list := append(slices.Clone(a), b...)
	out, err := splink.Run(t.Context(), splink.Input{A: list, Dedupe: true, Entity: "person", Comparators: person, Floor: 0.7, Open: open(2)})
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for _, p := range out.Pairs {
		if p.I >= p.J {
			t.Fatalf("pair %d, %d is not in order", p.I, p.J)
		}
		if p.J-p.I == 450 && p.I < 300 {
			right++
		}
	}
	if precision, recall := float64(right)/float64(len(out.Pairs)), float64(right)/300; precision < 0.95 || recall < 0.9 {
		t.Errorf("precision %.3f, recall %.3f", precision, recall)
	}
}

// Lists without a common person but with neighbours: what follows from one
// another must not add up to a match.
func TestRunFindsNothingWhereNothingIs(t *testing.T) {
	a, _ := people(400, false)
	rnd := rand.New(rand.NewPCG(8, 9))
	for i, rec := range a {
		rec.Set("surname", fmt.Sprintf("%s%x", rec.Value("surname"), i*7919))
		town := rnd.IntN(60)
		rec.Set("suburb", fmt.Sprintf("%cville %d", 'a'+town%26, town))
		rec.Set("postcode", fmt.Sprint(1000+town*13))
	}
	out, err := splink.Run(t.Context(), splink.Input{A: a, Dedupe: true, Entity: "person", Comparators: person, Floor: 0.55, Open: open(1)})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Pairs) > 2 {
		t.Errorf("%d pairs, lambda %v, columns %v", len(out.Pairs), out.Model.Lambda, out.Columns)
	}
	if !slices.Contains(out.Columns, "suburb_postcode") {
		t.Errorf("columns %v compare the town twice", out.Columns)
	}
}

func TestRunPlaces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var a, b []*canon.Object
	for i := range 200 {
		lat, lon := rnd.Float64()*10, rnd.Float64()*10
		name := fmt.Sprintf("%s %s clinic", string(rune('a'+i%26))+"ville", string(rune('a'+i/26))+"ton")
		a = append(a, canon.Obj("id", i, "name", name, "lat", canon.Float(lat), "lon", canon.Float(lon)))
		b = append(b, canon.Obj("id", i, "name", strings.Replace(name, "v", "w", 1), "lat", canon.Float(lat+0.001), "lon", fmt.Sprint(lon)))
	}
	place := []splink.Comparator{{Kind: "placename", Field: "name"}, {Kind: "geo", Lat: "lat", Lon: "lon"}}
	out, err := splink.Run(t.Context(), splink.Input{A: a, B: b, Entity: "place", Comparators: place, Floor: 0.5, Open: open(2)})
	if err != nil {
		t.Fatal(err)
	}
	if got := f1(out.Pairs, 0.7, 200); got < 0.95 {
		t.Errorf("F1 = %.3f", got)
	}
	model, err := out.Model.JSON()
	if err != nil {
		t.Fatal(err)
	}
	in := splink.Input{A: a, B: b, Entity: "place", Comparators: place, Floor: 0.5, Open: open(2)}
	if in.Model, err = splink.ReadModel(model); err != nil {
		t.Fatal(err)
	}
	again, err := splink.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(out.Pairs, again.Pairs); diff != "" {
		t.Errorf("the saved model decides differently:\n%s", diff)
	}
}

func TestRunRefuses(t *testing.T) {
	one := []*canon.Object{canon.Obj("id", 1, "name", "x")}
	none := []*canon.Object{canon.Obj("id", 1, "colour", "red")}
	for _, list := range [][]*canon.Object{one, none} {
		_, err := splink.Run(t.Context(), splink.Input{A: list, B: list, Entity: "person", Comparators: person, Open: open(1)})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("Run = %v, want a refusal", err)
		}
	}
	two := []*canon.Object{canon.Obj("id", 1, "name", "x", "phone", "1"), canon.Obj("id", 2)}
	if _, err := splink.Run(t.Context(), splink.Input{A: two, B: two, Entity: "person", Comparators: person}); !fault.Is(err, fault.Internal) {
		t.Errorf("Run without a database = %v", err)
	}
	for _, lists := range [][2][]*canon.Object{{two, two}, {two, two[:1]}} {
		out, err := splink.Run(t.Context(), splink.Input{A: lists[0], B: lists[1], Entity: "person", Comparators: person, Open: open(1)})
		if err != nil || out == nil {
			t.Errorf("Run on tiny lists = %v", err)
		}
	}
}

// Models that read well and cannot run, or read the wrong lists.
func TestRunRefusesModels(t *testing.T) {
	a, b := people(30, false)
	for name, c := range map[string]struct {
		rule, condition string
		dedupe          bool
	}{
		"type":     {`l."surname" = r."surname"`, `CAST("surname_l" AS INTEGER) = 1`, false},
		"function": {`l."surname" = r."surname"`, `levenshtein("surname_l") = 1`, false},
		"capitals": {`l."Surname" = r."Surname"`, `"surname_l" = "surname_r"`, false},
		"row":      {`l."__row" = r."__row"`, `"surname_l" = "surname_r"`, false},
		"dedupe":   {`l."surname" = r."surname"`, `"surname_l" = "surname_r"`, true},
	} {
		text := fmt.Sprintf(`{"link_type":"link_only","probability_two_random_records_match":0.1,"blocking_rules_to_generate_predictions":[%q],
			"comparisons":[{"output_column_name":"x","comparison_levels":[{"sql_condition":%q,"m_probability":0.9,"u_probability":0.1},{"sql_condition":"ELSE","m_probability":0.1,"u_probability":0.9}]}]}`, c.rule, c.condition)
		model, err := splink.ReadModel([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err = splink.Run(t.Context(), splink.Input{A: a, B: b, Dedupe: c.dedupe, Entity: "person", Comparators: person, Model: model, Open: open(1)})
		f := fault.As(err)
		if f == nil || f.Kind != fault.Invalid {
			t.Errorf("%s: %v, want a refusal", name, err)
		} else if surname := a[0].Value("surname").(string); strings.Contains(f.Message+f.Hint, surname) {
			t.Errorf("%s: the refusal quotes a value: %v", name, err)
		}
	}
}

func TestRunStops(t *testing.T) {
	a, b := people(300, false)
	ctx, cancel := context.WithCancel(t.Context())
	stages := 0
	in := splink.Input{A: a, B: b, Entity: "person", Comparators: person, Open: open(1)}
	in.Progress = func(done, total int64) {
		if stages++; done == 2 {
			cancel()
		}
	}
	if _, err := splink.Run(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want a cancelled context", err)
	}
	if stages > 3 {
		t.Errorf("%d stages ran after the end", stages)
	}
}
