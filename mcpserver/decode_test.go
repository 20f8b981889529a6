package mcpserver

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

func ptr(f float64) *float64 { return &f }

var everyKind = []Arg{
	{Name: "text", Kind: Text},
	{Name: "opt", Kind: Text, Nullable: true},
	{Name: "enum", Kind: Enum, Enum: []string{"red", "green"}, Accept: func(s string) bool { return s == "red@2" }},
	{Name: "number", Kind: Number, Default: canon.Float(0.7)},
	{Name: "int", Kind: Integer, Min: ptr(0), Max: ptr(500), Default: 100},
	{Name: "bool", Kind: Bool, Default: false},
	{Name: "object", Kind: Object, NonEmpty: true},
	{Name: "objects", Kind: Objects},
	{Name: "texts", Kind: Texts, Nullable: true, MaxLen: 3},
}

func TestDecodeArgs(t *testing.T) {
	const filled = `{"text":null,"opt":null,"enum":null,"number":0.7,"int":100,"bool":false,"object":null,"objects":null,"texts":null}`
	with := func(key, value string) string {
		o, err := canon.ParseObject([]byte(filled), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := canon.Parse([]byte(value), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		o.Set(key, v)
		b, err := canon.Compact(o)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	tests := []struct{ name, raw, want, problem string }{
		{"nothing", ``, filled, ""},
		{"null", `null`, filled, ""},
		{"empty", `{}`, filled, ""},
		{"object as text", `"{\"bool\":true}"`, with("bool", "true"), ""},
		{"text", `{"text":" a\u0000"}`, with("text", `" a\u0000"`), ""},
		{"number for text", `{"text":5}`, "", "argument text must be text"},
		{"null for text", `{"text":null}`, "", "argument text must be text"},
		{"array text for text", `{"text":"[1]"}`, with("text", `"[1]"`), ""},
		{"absent by null", `{"opt":null}`, filled, ""},
		{"absent by text null", `{"opt":"null"}`, filled, ""},
		{"absent by empty", `{"opt":""}`, filled, ""},
		{"object text for optional text", `{"opt":"{\"a\":1}"}`, "", "argument opt must be text, not an array or object"},
		{"enum", `{"enum":"green"}`, with("enum", `"green"`), ""},
		{"enum, accepted beside", `{"enum":"red@2"}`, with("enum", `"red@2"`), ""},
		{"enum, other case", `{"enum":"Red"}`, "", "argument enum must be one of red, green"},
		{"integer for number", `{"number":1}`, with("number", "1.0"), ""},
		{"text for number", `{"number":" 0.8 "}`, with("number", "0.8"), ""},
		{"exponent", `{"number":"5e-1"}`, with("number", "0.5"), ""},
		{"too large", `{"number":1e999}`, "", "argument number must be a finite number"},
		{"NaN as text", `{"number":"NaN"}`, "", "argument number must be a finite number"},
		{"true for number", `{"number":true}`, "", "argument number must be a finite number"},
		{"integer", `{"int":3.0}`, with("int", "3"), ""},
		{"integer as text", `{"int":"12"}`, with("int", "12"), ""},
		{"fraction", `{"int":1.5}`, "", "argument int must be an integer from 0 to 500"},
		{"negative", `{"int":-1}`, "", "argument int must be an integer from 0 to 500"},
		{"bool", `{"bool":true}`, with("bool", "true"), ""},
		{"yes", `{"bool":"Yes"}`, with("bool", "true"), ""},
		{"off", `{"bool":"off"}`, filled, ""},
		{"one", `{"bool":1}`, with("bool", "true"), ""},
		{"maybe", `{"bool":"maybe"}`, "", "argument bool must be true or false"},
		{"null for bool", `{"bool":null}`, "", "argument bool must be true or false"},
		{"object, order and literals kept", `{"object":{"z":1.50,"a":12345678901234567890}}`, with("object", `{"z":1.50,"a":12345678901234567890}`), ""},
		{"object as text", `{"object":"{\"b\":1,\"a\":2}"}`, with("object", `{"b":1,"a":2}`), ""},
		{"empty object", `{"object":{}}`, "", "argument object must be a non-empty object of field: value"},
		{"array for object", `{"object":[1]}`, "", "argument object must be a non-empty object of field: value"},
		{"objects", `{"objects":[{"a":1}]}`, with("objects", `[{"a":1}]`), ""},
		{"objects as text", `{"objects":"[{\"a\":1}]"}`, with("objects", `[{"a":1}]`), ""},
		{"no objects", `{"objects":[]}`, with("objects", `[]`), ""},
		{"objects with a text", `{"objects":[{"a":1},"secret"]}`, "", "argument objects must be an array of objects: item 1 is none"},
		{"objects with null", `{"objects":[null]}`, "", "argument objects must be an array of objects: item 0 is none"},
		{"one object for objects", `{"objects":{"a":1}}`, "", "argument objects must be an array of objects"},
		{"texts", `{"texts":["a","b"]}`, with("texts", `["a","b"]`), ""},
		{"texts as text", `{"texts":"[\"a\"]"}`, with("texts", `["a"]`), ""},
		{"too many texts", `{"texts":["a","b","c","d"]}`, "", "argument texts must be an array of texts, at most 3"},
		{"texts with a number", `{"texts":["a",1]}`, "", "argument texts must be an array of texts: item 1 is none"},
		{"unknown", `{"txet":"secret"}`, "", `unknown argument "txet"`},
		{"two unknown", `{"a":1,"b":2}`, "", `unknown arguments "a", "b"`},
		{"two problems", `{"text":1,"bool":"x"}`, "", "argument text must be text; argument bool must be true or false"},
		{"repeated key", `{"text":"a","text":"b"}`, with("text", `"b"`), ""},
		{"lone surrogate", `{"text":"\ud800"}`, "", "arguments: lone surrogate at byte 15"},
		{"deep", `{"object":{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`, "", "arguments: more than 512 levels of nesting at byte 525"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := decodeArgs("tool", everyKind, json.RawMessage(tt.raw))
			if tt.problem != "" {
				f := fault.As(err)
				if f == nil {
					t.Fatalf("error %v, want %q", err, tt.problem)
				}
				if diff := cmp.Diff(tt.problem, f.Message); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
				if strings.Contains(f.Message+f.Hint, "secret") {
					t.Error("the message quotes a value")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := canon.Compact(a.Filled())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("filled (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeArgsNoObject(t *testing.T) {
	for _, raw := range []string{`[]`, `5`, `"text"`, `true`} {
		_, err := decodeArgs("tool", everyKind, json.RawMessage(raw))
		if e, ok := protocolError(err); !ok || e.Code != -32602 {
			t.Errorf("%s: error %v, want the protocol's -32602", raw, err)
		}
	}
}

func TestMissingNamesRule(t *testing.T) {
	decl := []Arg{{Name: "entity", Kind: Enum, Enum: []string{"a", "b"}, Required: true}, {Name: "n", Kind: Number}}
	_, err := decodeArgs("describe", decl, nil)
	f := fault.As(err)
	if f == nil || f.Message != "argument entity is missing: it must be one of a, b" || f.Hint != "describe takes: entity (required), n" {
		t.Errorf("fault %+v", f)
	}
}

// FuzzDecodeArgs holds that whatever bytes come, the layer answers arguments of
// the declared kinds or a fault, and never quotes a long value.
func FuzzDecodeArgs(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"text":"a"}`, `{"number":"0.8","bool":"yes","int":"3"}`, `"{\"object\":{\"a\":1}}"`,
		`{"objects":"[{}]","texts":"[\"a\"]"}`, `{"number":1e999}`, `{"object":"{\"a\":[[[[]]]]}"}`, "{\"text\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := decodeArgs("tool", everyKind, raw)
		if err != nil {
			if _, protocol := protocolError(err); fault.As(err) == nil && !protocol {
				t.Fatalf("an error that is no fault: %v", err)
			}
			return
		}
		if n := a.Number("number"); math.IsNaN(n) || math.IsInf(n, 0) {
			t.Fatalf("number %v", n)
		}
		if n := a.Int("int"); n < 0 || n > 500 {
			t.Fatalf("int %d", n)
		}
		if o := a.Object("object"); o != nil && o.Len() == 0 {
			t.Fatal("empty object")
		}
		if _, err := canon.Published(a.Filled()); err != nil {
			t.Fatalf("arguments that can't be attested: %v", err)
		}
	})
}

// FuzzDecodeLine holds that any line gives a message or a well-formed refusal.
func FuzzDecodeLine(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `not json`, `[]`, `{"jsonrpc":"2.0","id":"x","result":{}}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"id":NaN}`, "\xff", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, bad := decodeLine(line{data: data})
		if (msg == nil) == (bad == nil) {
			t.Fatal("neither or both of a message and a refusal")
		}
		if bad != nil && !json.Valid(bad.line()) {
			t.Fatalf("refusal is not JSON: %q", bad.line())
		}
	})
}
