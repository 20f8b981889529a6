package canon_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/canon"
)

// jsonValue draws a value of at most so many levels.
func jsonValue(t *rapid.T, levels int) any {
	kinds := 5
	if levels > 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.String().Draw(t, "text")
	case 3:
		return canon.Float(rapid.Float64Range(-1e20, 1e20).Draw(t, "float"))
	case 4:
		return rapid.IntRange(-1e6, 1e6).Draw(t, "int")
	case 5:
		return []string{"x", ""}[:rapid.IntRange(0, 2).Draw(t, "texts")]
	case 6:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, jsonValue(t, levels-1))
		}
		return list
	}
	o := canon.NewObject()
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		o.Set(rapid.String().Draw(t, "key"), jsonValue(t, levels-1))
	}
	return o
}

// Indent is the compact form with white space, as the standard library puts it.
func TestIndentIsCompactWithSpace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := jsonValue(t, 4)
		compact, err := canon.Compact(v)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Indent(&want, compact, "", "  "); err != nil {
			t.Fatal(err)
		}
		got, err := canon.Indent(v)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%s\nwant\n%s\n%v", got, want.Bytes(), err)
		}
	})
}
