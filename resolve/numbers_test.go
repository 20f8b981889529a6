package resolve

import (
	"math"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
	"pgregory.net/rapid"
)

func TestLog10(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{5e-05, -4.301029995663981},
		{4.467436852780086e-06, -5.3499415775314345},
		{0.5, -0.3010299956639812},
		{0.6666666666666666, -0.17609125905568127},
		{1e-12, -12.0},
		{0.25, -0.6020599913279624},
		{0.25, -0.6020599913279624},
		{0.42857142857142855, -0.36797678529459443},
		{0.026932340705058025, -1.5697259001676027},
		{7e-05, -4.154901959985743},
		{1.0, 0.0},
		{0.1, -1.0},
		{0.3, -0.5228787452803376},
		{1.051770567179694e-06, -5.978078986679338},
	} {
		if got := log10(c.x); got != c.want {
			t.Errorf("log10(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-12, 1).Draw(t, "x")
		if got, near := log10(x), math.Log10(x); math.Abs(got-near) > 4e-16*max(1, math.Abs(near)) {
			t.Fatalf("log10(%v) = %v, far from %v", x, got, near)
		}
	})
}

func TestRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.Float64Range(-1e7, 1e7),
			rapid.Map(rapid.IntRange(-40000, 40000), func(n int) float64 { return float64(n) / 20000 })).Draw(t, "f")
		n := rapid.IntRange(0, 4).Draw(t, "n")
		got, want := round(f, n), canon.Round(f, n)
		if math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("round(%v, %d) = %v, want %v", f, n, got, want)
		}
	})
}

func TestAsFloat(t *testing.T) {
	for _, c := range []struct {
		in   any
		want float64
		ok   bool
	}{
		{" 6.5 ", 6.5, true}, {"1_000", 1000, true}, {"1__0", 0, false}, {"_1", 0, false}, {"1_", 0, false},
		{"1e3", 1000, true}, {".5", 0.5, true}, {"5.", 5, true}, {".", 0, false}, {"", 0, false}, {"0x10", 0, false},
		{"\u0663.\u0665", 3.5, true}, {"+7", 7, true}, {"--7", 0, false}, {"inf", math.Inf(1), true}, {"-Infinity", math.Inf(-1), true},
		{true, 1, true}, {false, 0, true}, {nil, 0, false}, {canon.Number("12"), 12, true}, {canon.Number("1e400"), math.Inf(1), true},
		{[]any{}, 0, false}, {"12 3", 0, false}, {"1e", 0, false}, {"1e_3", 0, false},
	} {
		got, ok := asFloat(c.in)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("asFloat(%v) = %v, %v, want %v, %v", c.in, got, ok, c.want, c.ok)
		}
	}
	if f, ok := asFloat("nan"); !ok || !math.IsNaN(f) {
		t.Errorf("asFloat(nan) = %v, %v", f, ok)
	}
}
