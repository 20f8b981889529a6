package mcpserver

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/resolve"
)

func TestPage(t *testing.T) {
	decl := append([]Arg{{Name: "entity_type", Kind: Text, Nullable: true}}, PageArgs()...)
	tests := []struct{ raw, want, filled string }{
		{`{}`, `{"count":3,"cases":[1,2,3]}`, `{"entity_type":null}`},
		{`{"limit":null}`, `{"count":3,"cases":[1,2,3]}`, `{"entity_type":null}`},
		{`{"limit":2}`, `{"count":3,"cases":[1,2],"offset":0,"returned":2,"truncated":true}`, `{"entity_type":null,"limit":2}`},
		{`{"limit":2,"offset":2}`, `{"count":3,"cases":[3],"offset":2,"returned":1,"truncated":false}`, `{"entity_type":null,"limit":2,"offset":2}`},
		{`{"offset":1}`, `{"count":3,"cases":[2,3],"offset":1,"returned":2,"truncated":false}`, `{"entity_type":null,"offset":1}`},
		{`{"limit":9007199254740991,"offset":9}`, `{"count":3,"cases":[],"offset":3,"returned":0,"truncated":false}`, `{"entity_type":null,"limit":9007199254740991,"offset":9}`},
	}
	for _, tt := range tests {
		a, err := decodeArgs("cases", decl, json.RawMessage(tt.raw))
		if err != nil {
			t.Fatal(err)
		}
		got, err := canon.Compact(page(canon.Obj("count", 3, "cases", []any{1, 2, 3}), "cases", a))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.raw, diff)
		}
		filled, err := canon.Compact(a.Filled())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.filled, string(filled)); diff != "" {
			t.Errorf("%s attested (-want +got):\n%s", tt.raw, diff)
		}
	}
}

func TestPersonalIDs(t *testing.T) {
	row := func(field string, v any) []*canon.Object { return []*canon.Object{canon.Obj(field, v)} }
	tests := []struct {
		field string
		id    any
		warns bool
	}{
		{"id", "s1", false},
		{"id", canon.Number("12345678901"), false},
		{"supplier_no", "12345678901", false},
		{"National_ID", "12345678901", true},
		{"e-mail", "a", true},
		{"id", "ada@example.org", true},
		{"id", "ada @ example", false},
	}
	for _, tt := range tests {
		got := personalIDs(resolve.Request{A: row(tt.field, tt.id), IDField: tt.field})
		if (len(got) == 1) != tt.warns {
			t.Errorf("%s: warnings %q, want some: %v", tt.field, got, tt.warns)
		}
	}
}
