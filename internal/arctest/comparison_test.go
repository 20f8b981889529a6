package arctest_test

import (
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
)

// TestComparison: a comparison that agrees with everything would let every
// golden test pass.
func TestComparison(t *testing.T) {
	parse := func(text string) any {
		v, err := canon.Parse([]byte(text), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct{ name, want, got, differs string }{
		{"equal", `{"a":1,"b":["x"]}`, `{"b":["x"],"a":1.0,"more":true}`, ""},
		{"number", `{"a":0.91}`, `{"a":0.9100001}`, "a: want 0.91, got 0.9100001"},
		{"text", `{"a":{"b":"x"}}`, `{"a":{"b":"y"}}`, `a.b: want "x", got "y"`},
		{"missing", `{"a":null}`, `{}`, "a: missing"},
		{"kind", `{"a":1}`, `{"a":"1"}`, `a: want 1, got "1"`},
		{"truth", `{"a":true}`, `{"a":false}`, "a: want true, got false"},
		{"longer list", `[1]`, `[1,2]`, ": want 1 items, got 2"},
		{"ignored", `{"a":{"skip":1},"list":[{"p":1}]}`, `{"a":{"skip":2},"list":[{"p":2}]}`, ""},
		{"renamed entities", `{"e":"ent_00000001","f":"ent_00000001"}`, `{"e":"ent_aaaaaaaa","f":"ent_aaaaaaaa"}`, ""},
		{"two names for one", `{"e":"ent_00000001","f":"ent_00000001"}`, `{"e":"ent_aaaaaaaa","f":"ent_bbbbbbbb"}`, "f: want the entity ent_aaaaaaaa, got ent_bbbbbbbb"},
		{"one name for two", `{"e":"ent_00000001","f":"ent_00000002"}`, `{"e":"ent_aaaaaaaa","f":"ent_aaaaaaaa"}`, "f: want an entity not seen before, got ent_aaaaaaaa"},
		{"keyed by entity", `{"ent_00000001":{"n":1},"ent_00000002":{"n":2}}`, `{"ent_bbbbbbbb":{"n":2},"ent_aaaaaaaa":{"n":1}}`, ""},
		{"keyed, one differs", `{"ent_00000001":{"n":1},"ent_00000002":{"n":2}}`, `{"ent_bbbbbbbb":{"n":3},"ent_aaaaaaaa":{"n":1}}`, `: no entity like {"n":2}`},
		{"entities in any order", `{"entities":[{"records":[{"record_id":"a"}]},{"records":[{"record_id":"b"}]}]}`,
			`{"entities":[{"records":[{"record_id":"b"}]},{"records":[{"record_id":"a"}]}]}`, ""},
	} {
		if got := arctest.NewComparison().Diff(parse(tt.want), parse(tt.got), "skip", "list.*.p"); got != tt.differs {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.differs)
		}
	}
}
