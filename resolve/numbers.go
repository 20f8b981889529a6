package resolve

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/text"
)

// asFloat reads a JSON value as a number: numbers, true and false, and text as
// people and spreadsheets write numbers (space around, digits of any script,
// underscores between digits, exponents, nan, inf). ok is false for the rest.
func asFloat(v any) (f float64, ok bool) {
	switch x := v.(type) {
	case canon.Number:
		f = x.Float()
		if x.IsInt() && math.IsInf(f, 0) {
			return 0, false
		}
		return f, true
	case canon.Float:
		return float64(x), true
	case float64:
		return x, true
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	case string:
		return textFloat(x)
	}
	return 0, false
}

func textFloat(s string) (float64, bool) {
	s = text.Strip(s)
	if s == "" || len(s) > 4096 {
		return 0, false
	}
	var b strings.Builder
	for _, r := range s {
		if d := digitValue(r); d >= 0 {
			r = rune('0' + d)
		}
		b.WriteRune(r)
	}
	s = b.String()
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "nan", "inf", "infinity":
		if len(s)-len(strings.TrimLeft(s, "+-")) > 1 {
			return 0, false
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil { // a signed nan
			return math.NaN(), true
		}
		return f, true
	}
	if !plainDecimal(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// plainDecimal reports whether s is sign, digits, point, digits, exponent, with
// underscores only between digits.
func plainDecimal(s string) bool {
	i := 0
	sign := func() {
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
	}
	digits := func() bool {
		start := i
		for i < len(s) {
			switch {
			case s[i] >= '0' && s[i] <= '9':
			case s[i] == '_' && i > start && i+1 < len(s) && s[i-1] != '_' && s[i+1] >= '0' && s[i+1] <= '9':
			default:
				return i > start
			}
			i++
		}
		return i > start
	}
	sign()
	whole := digits()
	fraction := false
	if i < len(s) && s[i] == '.' {
		i++
		fraction = digits()
	}
	if !whole && !fraction {
		return false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		sign()
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

// digitValue is the value of a decimal digit of any script, -1 for others.
func digitValue(r rune) int {
	if r < 0x80 {
		if r >= '0' && r <= '9' {
			return int(r - '0')
		}
		return -1
	}
	if !unicode.Is(unicode.Nd, r) {
		return -1
	}
	// Decimal digits come in runs of ten that start at a zero.
	zero := r
	for zero > r-9 && unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	if r >= 0x1d7ce && r <= 0x1d7ff { // five runs without a gap between them
		zero = 0x1d7ce
	}
	return int(r-zero) % 10
}

// round rounds to n decimals as canon.Round does: of the exact binary value,
// ties to even. Away from ties a scaled rounding gives the same and costs less.
func round(f float64, n int) float64 {
	scale := [...]float64{1, 10, 100, 1000, 10000}[n]
	y := f * scale
	if math.Abs(y) < 1e9 {
		r := math.RoundToEven(y)
		if d := math.Abs(y - r); d < 0.4999999 {
			if r == 0 {
				return canon.Round(f, n) // keeps the sign of zero
			}
			return r / scale
		}
	}
	return canon.Round(f, n)
}

// The constants of log10: log10(2) in two parts, the first with trailing zero
// bits so that products with small integers are exact, and 1/ln(10).
const (
	log10TwoHigh = 3.01029995663611771306e-01
	log10TwoLow  = 3.69423907715893078616e-13
	invLn10      = 4.34294481903251816668e-01
)

// log10 is the decimal logarithm as the C library computes it: exponent and
// mantissa apart, then put together. Rarities are pinned by hashes of answers,
// so the last bit must not depend on the platform.
func log10(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log10(x)
	}
	fraction, exp := math.Frexp(x)
	// mantissa in [1,2) with exponent k; negative k moves the mantissa below 1.
	k := exp - 1
	m := fraction * 2
	if k < 0 {
		k++
		m = fraction
	}
	y := float64(k)
	z := float64(y*log10TwoLow) + float64(invLn10*exactLog(m))
	return z + float64(y*log10TwoHigh)
}

// exactLog is the natural logarithm of m in [0.5, 2), correctly rounded in all
// but about one case in a billion: the library's value is corrected by one
// Newton step in double-double arithmetic.
func exactLog(m float64) float64 {
	y := math.Log(m)
	if y == 0 {
		return y
	}
	eh, el := expDouble(y)
	// log m = y + log(m/e^y), and m/e^y is 1 plus something tiny.
	r := ((m - eh) - el) / eh
	return y + (r - r*r/2)
}

// expDouble is e^y as the sum of two float64, for |y| < 1.
func expDouble(y float64) (hi, lo float64) {
	// e^y = (e^(y/16))^16; the series of the small argument in double-double.
	a := y / 16
	hi, lo = 1, 0
	const terms = 16
	for n := terms; n >= 1; n-- {
		// sum = 1 + a/n * sum
		ph, pl := mulDouble(hi, lo, a, 0)
		qh, ql := divDouble(ph, pl, float64(n))
		hi, lo = addDouble(qh, ql, 1)
	}
	for range 4 {
		hi, lo = mulDouble(hi, lo, hi, lo)
	}
	return hi, lo
}

func twoSum(a, b float64) (s, e float64) {
	s = a + b
	bb := s - a
	e = (a - (s - bb)) + (b - bb)
	return s, e
}

func mulDouble(ah, al, bh, bl float64) (hi, lo float64) {
	p := ah * bh
	e := math.FMA(ah, bh, -p)
	e += float64(ah*bl) + float64(al*bh)
	return twoSum(p, e)
}

func addDouble(ah, al, b float64) (hi, lo float64) {
	s, e := twoSum(ah, b)
	return twoSum(s, e+al)
}

func divDouble(ah, al, b float64) (hi, lo float64) {
	q := ah / b
	r := math.FMA(-q, b, ah)
	return twoSum(q, (r+al)/b)
}
