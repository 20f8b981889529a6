package canon_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/canon"
)

// FuzzParse holds the parser to the standard library's: what it accepts is JSON
// with the same meaning, and what it refuses is not JSON, or breaks one of the
// rules it adds (UTF-8, surrogates, depth).
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e3,"\u00e9\ud83d\ude00\n",null,true,false],"b":{}}`, `[[[]]]`, `"\ud800"`, "1e999", " 0 ", `{"a":1,"a":2}`, "\"\xff\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := canon.Parse(data, canon.Limits{})
		if err != nil {
			if json.Valid(data) && utf8.Valid(data) && !bytes.Contains(data, []byte(`\`)) && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) < canon.DefaultDepth {
				t.Fatalf("refused %q: %v", data, err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted %q", data)
		}
		compact, err := canon.Compact(v)
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs any
		if json.Unmarshal(compact, &ours) == nil && json.Unmarshal(data, &theirs) == nil {
			a, _ := json.Marshal(ours)
			b, _ := json.Marshal(theirs)
			if !bytes.Equal(a, b) {
				t.Fatalf("%q became %q", data, compact)
			}
		}
		for _, form := range []func(any) ([]byte, error){canon.Published, canon.Sorted} {
			once, err := form(v)
			if err != nil {
				t.Fatal(err)
			}
			again, err := canon.Parse(once, canon.Limits{})
			if err != nil {
				t.Fatalf("a canonical form does not parse: %q: %v", once, err)
			}
			twice, err := form(again)
			if err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("a canonical form is not its own: %q, %q, %v", once, twice, err)
			}
		}
	})
}

func anyValue(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.Float64Range(-1e300, 1e300), func(x float64) any { return canon.Float(x) }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just[any](nil),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(anyValue(depth-1), 0, 4), func(a []any) any { return a }),
		rapid.Map(rapid.SliceOfN(rapid.Map(rapid.String(), func(s string) canon.Member { return canon.Member{Key: s} }), 0, 12), func(m []canon.Member) any {
			for i := range m {
				m[i].Value = int64(i)
			}
			return canon.NewObject(m...)
		}),
	)
}

// Key order and floats survive writing and reading; the sorted forms do not
// depend on key order.
func TestWriteReadLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(2).Draw(t, "value")
		compact, err := canon.Compact(v)
		if err != nil {
			t.Fatal(err)
		}
		read, err := canon.Parse(compact, canon.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", compact, err)
		}
		back, err := canon.Compact(read)
		if err != nil || !bytes.Equal(compact, back) {
			t.Fatalf("%s came back as %s, %v", compact, back, err)
		}
		if canon.Text(v) != canon.Text(read) {
			t.Fatalf("text form changes: %s, %s", canon.Text(v), canon.Text(read))
		}
		if o, ok := v.(*canon.Object); ok {
			reversed := &canon.Object{}
			keys := o.Keys()
			for i := len(keys) - 1; i >= 0; i-- {
				reversed.Set(keys[i], o.Value(keys[i]))
			}
			a, errA := canon.Published(o)
			b, errB := canon.Published(reversed)
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Fatalf("published form depends on key order: %s, %s", a, b)
			}
		}
	})
}
