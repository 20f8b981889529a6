package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

// list is the array under key, whatever Go type the answer made it of.
func list(o *canon.Object, key string) []any {
	switch x := o.Value(key).(type) {
	case []any:
		return x
	case []string:
		out := make([]any, len(x))
		for i, s := range x {
			out[i] = s
		}
		return out
	case []*canon.Object:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = e
		}
		return out
	}
	return nil
}

func object(o *canon.Object, key string) *canon.Object {
	v, _ := o.Value(key).(*canon.Object)
	return v
}

// word is a text, number or truth of an answer as a person reads it; null is "-".
func word(v any) string {
	switch x := v.(type) {
	case nil:
		return "-"
	case string:
		return x
	case bool:
		return fmt.Sprint(x)
	case []any, []string, []*canon.Object, *canon.Object:
		b, err := canon.Compact(x)
		if err != nil {
			return "?"
		}
		return string(b)
	}
	return canon.Text(v)
}

// score is a number with four decimals; null is "-".
func score(v any) string {
	switch x := v.(type) {
	case canon.Float:
		return canon.FixedText(float64(x), 4)
	case float64:
		return canon.FixedText(x, 4)
	case canon.Number:
		return canon.FixedText(x.Float(), 4)
	}
	return word(v)
}

// words joins a list with commas; an empty one is "-".
func words(items []any) string {
	if len(items) == 0 {
		return "-"
	}
	out := make([]string, len(items))
	for i, v := range items {
		out[i] = word(v)
	}
	return strings.Join(out, ", ")
}

// factors is "name 1.0000, city 0.5000", names sorted; text evidence is left out.
func factors(o *canon.Object) string {
	keys := o.Keys()
	sort.Strings(keys)
	var out []string
	for _, k := range keys {
		if v := o.Value(k); v != nil {
			if _, isText := v.(string); !isText {
				out = append(out, k+" "+score(v))
			}
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

// label is how a record is named: the caller's id, and the address when that is
// something else.
func label(r *canon.Object) string {
	id, name := word(r.Value("record_id")), word(r.Value("label"))
	if name == id || name == "-" {
		return id
	}
	return name + "  " + id
}

// rowf prints one "name  value" line.
func (a *app) rowf(name, format string, args ...any) {
	a.printf("%-13s %s\n", name, fmt.Sprintf(format, args...))
}

// values prints revealed values, sorted by field, under a record.
func (a *app) values(indent string, v any) {
	o, ok := v.(*canon.Object)
	if !ok {
		return
	}
	keys := o.Keys()
	sort.Strings(keys)
	for _, k := range keys {
		a.printf("%s%s = %s\n", indent, k, word(o.Value(k)))
	}
}

// reveal prints the values that --reveal asked for, or that they were erased.
func (a *app) reveal(indent string, o *canon.Object, key string) {
	v, asked := o.Get(key)
	switch {
	case !asked:
	case v == nil:
		a.printf("%s(values erased)\n", indent)
	default:
		a.values(indent, v)
	}
}
