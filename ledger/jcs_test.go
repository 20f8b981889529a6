package ledger

import (
	"database/sql/driver"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
)

// TestBodiesAreCanonical: what an event's body is written as, value by value, is
// what canon writes, and what has no such form is refused.
func TestBodiesAreCanonical(t *testing.T) {
	type row struct {
		B string `json:"b"`
		A int    `json:"a"`
	}
	for want, v := range map[string]any{
		"null":                          nil,
		"true":                          true,
		`"a\b\t\n\f\r\"\\\u0001\u001f"`: "a\b\t\n\f\r\"\\\x01\x1f",
		"\"\u00e9\u2028\U0001F600\"":    "\u00e9\u2028\U0001F600",
		"-7":                            -7,
		"9007199254740991":              int64(1)<<53 - 1,
		"0":                             canon.Float(math.Copysign(0, -1)),
		"1.5":                           1.5,
		"1e-7":                          1e-7,
		"-1e-7":                         -1e-7,
		"1e+21":                         1e21,
		"100000000000000000000":         1e20,
		"1.2345e-10":                    1.2345e-10,
		"1e+100":                        1e100,
		"0.000001":                      canon.Number("1e-6"),
		"12":                            canon.Number("12"),
		`["a","b"]`:                     []string{"a", "b"},
		`[]`:                            []any{},
		`[{"x":1},null]`:                []*canon.Object{canon.Obj("x", 1), nil},
		`{"a":2,"b":"x"}`:               row{"x", 2},
		`{"\ud83d\ude00":1,"\ufb33":2,"a":{"b":[1,2]}}`: canon.Obj("\ufb33", 2, "\U0001F600", 1, "a", canon.Obj("b", []any{1, 2})),
		`{"raw":[1]}`: canon.Obj("raw", rawJSON("[1]")),
	} {
		want = strings.NewReplacer(`\ud83d\ude00`, "\U0001F600", `\ufb33`, "\ufb33").Replace(want)
		got, err := appendJCS([]byte("x"), v)
		if err != nil || string(got[1:]) != want && !sameKeys(string(got[1:]), want) {
			t.Errorf("%#v: %s %v, want %s", v, got, err, want)
		}
	}
	deep := canon.Obj("k", math.NaN())
	for _, v := range []any{
		math.NaN(), math.Inf(1), canon.Float(math.Inf(-1)), int64(1) << 53, -(1 << 53), canon.Number("9007199254740992"), "\xff", make(chan int),
		canon.Obj("\xff", 1), canon.Obj("a", "\xff"), deep, []any{deep}, []string{"\xff"}, []*canon.Object{deep},
	} {
		if got, err := appendJCS(nil, v); err == nil {
			t.Errorf("%#v is written as %s", v, got)
		}
	}
}

// sameKeys allows the one place where the map above cannot say an order of keys
// by itself: both texts hold the same members.
func sameKeys(a, b string) bool {
	return len(a) == len(b) && strings.HasPrefix(a, "{") && strings.Contains(a, "\ufb33") && strings.Index(a, "\U0001F600") < strings.Index(a, "\ufb33")
}

// TestRowsAreInOrder: rows of tables are compared column by column, whatever
// their types.
func TestRowsAreInOrder(t *testing.T) {
	now := time.Unix(1, 0)
	for _, x := range [][2]any{
		{int64(1), int64(2)}, {1.5, 2.5}, {"a", "b"}, {false, true}, {nil, "a"}, {nil, int64(-1)}, {now, now.Add(1)}, {[]byte("a"), []byte("b")},
	} {
		a, b := x[0], x[1]
		if compareValues(a, b) >= 0 || compareValues(b, a) <= 0 || compareValues(a, a) != 0 {
			t.Errorf("%v and %v: %d %d %d", a, b, compareValues(a, b), compareValues(b, a), compareValues(a, a))
		}
	}
	if compareValues(int64(1), "a") == 0 {
		t.Error("values of two types are equal")
	}
	row := []driver.Value{int64(1), "a", nil}
	for _, x := range []struct {
		other []driver.Value
		want  int
	}{{row, -1}, {row[:2], 2}, {[]driver.Value{int64(1), "b", nil}, 1}, {[]driver.Value{int64(2), "a", nil}, 0}, {[]driver.Value{int64(1), "a", "x"}, 2}} {
		if got := firstDifference(row, x.other); got != x.want {
			t.Errorf("%v: %d, want %d", x.other, got, x.want)
		}
	}
}
