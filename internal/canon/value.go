// Package canon holds JSON values whose key order and number literals are kept,
// and the byte forms that ids and events are computed over.
//
// A value is one of nil, bool, string, Number, Float, int, int64, []any,
// *Object, or any other type whose MarshalJSON or struct tags give such a
// value (answers only). Parse makes values; Published, Sorted, RFC8785 and
// Indent write them. All functions are pure and safe for concurrent use.
package canon

import (
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Number is a JSON number literal exactly as it was written. The literals NaN,
// Infinity and -Infinity occur only where Parse was told to accept them.
type Number string

// IsInt reports whether the literal is an integer: it has no '.', 'e' or 'E'
// and is not one of the non-finite words.
func (n Number) IsInt() bool {
	return !strings.ContainsAny(string(n), ".eENI")
}

// Float returns the nearest float64; literals beyond its range give an infinity.
func (n Number) Float() float64 {
	switch n {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// MarshalJSON writes the literal; non-finite words become null, which is the
// only JSON there is for them.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := n.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return []byte(n), nil
}

// Float is a float64 whose JSON literal always shows that it is a float: 1 is
// written 1.0, so that hashes over answers tell it from the integer 1.
type Float float64

// MarshalJSON writes the shortest literal that reads back to the same value,
// with ".0" where it would look like an integer. NaN and infinities are null.
func (f Float) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return []byte(FloatText(float64(f))), nil
}

// FloatText is the shortest decimal that reads back to f: plain notation for
// exponents -4 to 15, scientific (1e-05, 1e+16) otherwise, always with a sign
// of being a float. Non-finite values give nan, inf, -inf.
func FloatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if f == 0 {
		if math.Signbit(f) {
			return "-0.0"
		}
		return "0.0"
	}
	sci := strconv.FormatFloat(f, 'e', -1, 64)
	exp, err := strconv.Atoi(sci[strings.IndexByte(sci, 'e')+1:])
	if err == nil && (exp < -4 || exp >= 16) {
		return sci
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Round rounds the exact binary value of f to n decimals, ties to even.
func Round(f float64, n int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', n, 64), 64)
	if err != nil {
		return f
	}
	return r
}

// Member is one key and value of an object.
type Member struct {
	Key   string
	Value any
}

// Object is a JSON object that keeps the order of its keys. The zero value is
// an empty object.
type Object struct {
	members []Member
	index   map[string]int // built once there are indexFrom keys
}

// indexFrom is the number of keys from which looking through them all takes
// longer than an index; most records, bodies and answers have fewer.
const indexFrom = 17

// NewObject makes an object of the given members; a repeated key keeps its
// first position and its last value.
func NewObject(members ...Member) *Object {
	o := &Object{members: make([]Member, 0, len(members))}
	for _, m := range members {
		o.Set(m.Key, m.Value)
	}
	return o
}

// Obj makes an object of alternating keys and values. It panics when a key is
// not text: that is a mistake in the program, not in its input.
func Obj(pairs ...any) *Object {
	o := &Object{members: make([]Member, 0, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

func (o *Object) find(key string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].Key == key {
			return i
		}
	}
	return -1
}

// Get returns the value under key and whether the key is there.
func (o *Object) Get(key string) (any, bool) {
	i := o.find(key)
	if i < 0 {
		return nil, false
	}
	return o.members[i].Value, true
}

// Value returns the value under key, nil when absent.
func (o *Object) Value(key string) any {
	v, _ := o.Get(key)
	return v
}

// Has reports whether the key is there.
func (o *Object) Has(key string) bool { return o.find(key) >= 0 }

// Set puts value under key: in place when the key is there, else at the end.
func (o *Object) Set(key string, value any) {
	if i := o.find(key); i >= 0 {
		o.members[i].Value = value
		return
	}
	o.members = append(o.members, Member{key, value})
	if o.index != nil {
		o.index[key] = len(o.members) - 1
	} else if len(o.members) >= indexFrom {
		o.reindex()
	}
}

func (o *Object) reindex() {
	o.index = make(map[string]int, len(o.members))
	for i, m := range o.members {
		o.index[m.Key] = i
	}
}

// Delete removes key if it is there.
func (o *Object) Delete(key string) {
	i := o.find(key)
	if i < 0 {
		return
	}
	o.members = slices.Delete(o.members, i, i+1)
	if o.index != nil {
		o.reindex()
	}
}

// Len returns the number of keys; a nil object has none.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.members)
}

// Keys returns the keys in order.
func (o *Object) Keys() []string {
	keys := make([]string, 0, o.Len())
	for k := range o.All() {
		keys = append(keys, k)
	}
	return keys
}

// All iterates over keys and values in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for _, m := range o.members {
			if !yield(m.Key, m.Value) {
				return
			}
		}
	}
}

// Clone copies the object; nested values are shared.
func (o *Object) Clone() *Object {
	c := &Object{members: slices.Clone(o.members)}
	if len(c.members) >= indexFrom {
		c.reindex()
	}
	return c
}

// MarshalJSON writes the members in their order.
func (o *Object) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("null"), nil
	}
	return Compact(o)
}
