package canon_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/blake3"

	"github.com/arche-ledger/arche/internal/canon"
)

func parse(t *testing.T, s string) any {
	t.Helper()
	v, err := canon.Parse([]byte(s), canon.Limits{NonFinite: true})
	if err != nil {
		t.Fatalf("Parse(%s): %v", s, err)
	}
	return v
}

// Ids and bytes are those of the published programs.
func TestPublishedIDs(t *testing.T) {
	for _, c := range []struct{ name, prefix, in, bytes, id string }{
		{
			"comparator list", "cmp",
			`[{"field":"name","kind":"name","weight":2},{"kind":"geo","lat":"lat","lon":"lon","weight":1.0}]`,
			`[{"field":"name","kind":"name","weight":2},{"kind":"geo","lat":"lat","lon":"lon","weight":"1.0000"}]`,
			"df1683141c5f5b9a28e4b4609d1a8ea0a2296eb3a92b090469a803f96a9e47ff",
		},
		{
			"edge of custom comparators", "xwd",
			`{"schema":"arche.crosswalk_edge.v1","a_id":1,"b_id":"é2","score":0.8255,"decision":"match","evidence":{"name":1.0,"geo":0.476,"distance_km":1.11},"distinctive_max":1.0,
			  "pins":{"engine":"crosswalk.v1","comparators_sha256":"df1683141c5f5b9a28e4b4609d1a8ea0a2296eb3a92b090469a803f96a9e47ff","block":"none","threshold":0.7,"review_margin":0.15,"distinctive_floor":0.75,"tf":null}}`,
			`{"a_id":1,"b_id":"é2","decision":"match","distinctive_max":"1.0000","evidence":{"distance_km":"1.1100","geo":"0.4760","name":"1.0000"},"pins":{"block":"none","comparators_sha256":"df1683141c5f5b9a28e4b4609d1a8ea0a2296eb3a92b090469a803f96a9e47ff","distinctive_floor":"0.7500","engine":"crosswalk.v1","review_margin":"0.1500","tf":null,"threshold":"0.7000"},"schema":"arche.crosswalk_edge.v1","score":"0.8255"}`,
			"957d4713b1a50a343e63a7c4c58f91e99c394811edfc7acc0e65f37b7d5b7208",
		},
		{
			"self-calibrated table", "tf",
			`{"format":"arche-tf/1","unknown_floor":5e-05,"token_rule":"plain","total":4.0,"counts":{"ngozi":2.0,"adeyemi":2.0}}`,
			`{"counts":{"adeyemi":"2.0000","ngozi":"2.0000"},"format":"arche-tf/1","token_rule":"plain","total":"4.0000","unknown_floor":"0.0001"}`,
			"0586d9b3cf846fa4ea60ce77733a2312316d8166f58f2c9e598c3c7e79c3ba94",
		},
		{
			"record", "rec",
			`{"entity_type":"organisation","attributes":{"id":"s1","name":"Kijani Tea Exporters Ltd","city":"Nairobi","lat":-1.28}}`,
			`{"attributes":{"city":"Nairobi","id":"s1","lat":"-1.2800","name":"Kijani Tea Exporters Ltd"},"entity_type":"organisation"}`,
			"d0e320521be5fb15f38c62a890ed2692bef04b3fa73d7bdf838860ac4460517f",
		},
		{
			"record with awkward values", "rec",
			`{"attributes":{"id":7,"name":"Société \"Kanélé\"\n🌾","lat":11.90001,"lon":8.5,"beds":4,"open":true,"note":null,"tags":["x",-0.0,1e-9,1e22],"":"e"},"entity_type":"place"}`,
			`{"attributes":{"":"e","beds":4,"id":7,"lat":"11.9000","lon":"8.5000","name":"Société \"Kanélé\"\n🌾","note":null,"open":true,"tags":["x","-0.0000","0.0000","10000000000000000000000.0000"]},"entity_type":"place"}`,
			"5e876e56e8c79b562e4b66753942a09efc7ca3a9b1f4183af60b934e8bf5cb0a",
		},
		{
			"text record", "rec",
			`{"text":"Patient NIN 12345678901\n","entity_type":"document"}`,
			`{"entity_type":"document","text":"Patient NIN 12345678901\n"}`,
			"aecffc4356b2bef5f8bd6163bc1cb8721ea0b4b6356053757425c411a0cd3445",
		},
		{
			"reference", "ref",
			`{"attributes":{"name":"zubairu kantudu","phone":"08035557890"},"source_system":""}`,
			`{"attributes":{"name":"zubairu kantudu","phone":"08035557890"},"source_system":""}`,
			"8c210443e8a2fafa4d086e5cc25992ac0b44a164c7bcb1f2797ac82eb9ad582a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := parse(t, c.in)
			got, err := canon.Published(v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.bytes, string(got)); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
			id, err := canon.PublishedID(c.prefix, v)
			if err != nil || id != c.prefix+":sha256:"+c.id {
				t.Errorf("id = %s, %v", id, err)
			}
		})
	}
}

func TestPublishedValues(t *testing.T) {
	for in, want := range map[string]string{
		"1.0": `"1.0000"`, "-0.0": `"-0.0000"`, "0.00005": `"0.0001"`, "0.00015": `"0.0001"`, "1e-9": `"0.0000"`,
		"NaN": `"nan"`, "Infinity": `"inf"`, "-Infinity": `"-inf"`, "1e400": `"inf"`, "12": "12", "-0": "0", "1E2": `"100.0000"`,
		"123456789012345678901234567890":    "123456789012345678901234567890",
		`"\u0000\b\t\n\f\r\u001f\"\\\/"`:    "\"\\u0000\\b\\t\\n\\f\\r\\u001f\\\"\\\\/\"",
		"\"<&>\u007f\u2028\u00e9\"":         "\"<&>\u007f\u2028\u00e9\"",
		"{\"\U0001f600\":1,\"\ufb01\":2}":   "{\"\ufb01\":2,\"\U0001f600\":1}",
		`{"a":1,"b":2,"a":3}`:               `{"a":3,"b":2}`,
		`[[],{},[null,true,false]]`:         `[[],{},[null,true,false]]`,
		`"\ud83d\ude00"`:                    "\"\U0001f600\"",
		`{"b":{"d":1,"c":[{"z":1,"y":2}]}}`: `{"b":{"c":[{"y":2,"z":1}],"d":1}}`,
	} {
		got, err := canon.Published(parse(t, in))
		if err != nil || string(got) != want {
			t.Errorf("Published(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
	if _, err := canon.Published("\xff"); err == nil {
		t.Error("Published accepts text that is not UTF-8")
	}
}

// The first event of the log as events are specified.
func TestEventBytes(t *testing.T) {
	record := parse(t, `{"id":"s1","name":"Kijani Tea Exporters Ltd","city":"Nairobi"}`)
	blob, err := canon.Sorted(record)
	if err != nil || string(blob) != `{"city":"Nairobi","id":"s1","name":"Kijani Tea Exporters Ltd"}` {
		t.Fatalf("Sorted = %s, %v", blob, err)
	}
	content := blake3.Sum256(blob)
	id, err := canon.PublishedID("rec", canon.Obj("entity_type", "organisation", "attributes", record))
	if err != nil {
		t.Fatal(err)
	}
	event, err := canon.RFC8785(canon.Obj(
		"v", 1, "kind", "record.stored", "subject", id, "supersedes", nil,
		"body", canon.Obj("entity_type", "organisation", "content", hex.EncodeToString(content[:])),
	))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"body":{"content":"c22a5592403f4c3954d2190437465f9f6524b23275c72fd82693ab97cc89a350","entity_type":"organisation"},"kind":"record.stored","subject":"rec:sha256:9c66ff58fdf9b8ff6628f6d03f68a61f46ac0c15aef45426edf22eba728bace6","supersedes":null,"v":1}`
	if diff := cmp.Diff(want, string(event)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	sum := blake3.Sum256(event)
	if got := hex.EncodeToString(sum[:]); got != "dbce156b155e6107aa9139d0a24396bd398598b575b982046f257debbe8e913e" {
		t.Errorf("event address = %s", got)
	}
}

func TestRFC8785(t *testing.T) {
	// The scheme sorts by UTF-16 units: a surrogate pair comes before U+FB01.
	got, err := canon.RFC8785(parse(t, "{\"\ufb01\":1.50,\"\U0001f600\":1e2,\"a\":-0.0}"))
	if err != nil || string(got) != "{\"a\":0,\"\U0001f600\":100,\"\ufb01\":1.5}" {
		t.Errorf("RFC8785 = %s, %v", got, err)
	}
	for _, in := range []string{"9007199254740993", `{"a":[-9007199254740993]}`, `{"a":{"b":123456789012345678901234567890}}`, "1e400"} {
		if got, err := canon.RFC8785(parse(t, in)); err == nil {
			t.Errorf("RFC8785(%s) = %s, want an error", in, got)
		}
	}
	for _, in := range []any{math.NaN(), canon.Float(math.Inf(1)), canon.Number("NaN"), canon.Number("-Infinity")} {
		if got, err := canon.RFC8785([]any{in}); err != nil || string(got) != "[null]" {
			t.Errorf("RFC8785([%v]) = %s, %v; want null", in, got, err)
		}
	}
}

func TestSortedKeepsLiterals(t *testing.T) {
	got, err := canon.Sorted(parse(t, `{"b":1.50,"a":1E2,"c":-0,"d":12345678901234567890.0,"e":NaN}`))
	if err != nil || string(got) != `{"a":1E2,"b":1.50,"c":-0,"d":12345678901234567890.0,"e":NaN}` {
		t.Errorf("Sorted = %s, %v", got, err)
	}
}

func TestIndent(t *testing.T) {
	type answer struct {
		B canon.Float    `json:"b"`
		A []string       `json:"a"`
		O *canon.Object  `json:"o"`
		M map[string]int `json:"m"`
	}
	got, err := canon.Indent(answer{B: 1, A: []string{"<é>"}, O: canon.Obj("z", canon.Float(0.25), "y", []any{}), M: map[string]int{"q": 1, "p": 2}})
	want := "{\n  \"b\": 1.0,\n  \"a\": [\n    \"<é>\"\n  ],\n  \"o\": {\n    \"z\": 0.25,\n    \"y\": []\n  },\n  \"m\": {\n    \"p\": 2,\n    \"q\": 1\n  }\n}"
	if err != nil || string(got) != want {
		t.Errorf("Indent = %s, %v", got, err)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`"a'b"`: "a'b", "null": "None", "true": "True", "12": "12", "-0": "0", "12.0": "12.0", "1e-05": "1e-05", "0.0001": "0.0001",
		"1e16": "1e+16", "1e15": "1000000000000000.0", "-0.0": "-0.0", "1e400": "inf", "5e-324": "5e-324",
		`["Ama",1.0,null,{"k":true}]`: "['Ama', 1.0, None, {'k': True}]", `["it's"]`: `["it's"]`, `["it's \"q\""]`: `['it\'s "q"']`,
		`["\u0000\n\t\\\u007f\u00ad\u00e9\u2028\ue000\u0301"]`: `['\x00\n\t\\\x7f\xadé\u2028\ue000` + "\u0301']",
		"[\"\U000e0001\U0001f600\"]":                           `['\U000e0001` + "\U0001f600']", "[]": "[]", "{}": "{}",
	} {
		if got := canon.Text(parse(t, in)); got != want {
			t.Errorf("Text(%s) = %s, want %s", in, got, want)
		}
	}
	if got := canon.Repr("x"); got != "'x'" {
		t.Errorf("Repr = %s", got)
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		in   float64
		n    int
		want float64
	}{{0.00015, 4, 0.0001}, {2.5, 0, 2}, {0.12345, 4, 0.1235}, {1e22, 4, 1e22}, {math.Inf(1), 3, math.Inf(1)}} {
		if got := canon.Round(c.in, c.n); got != c.want {
			t.Errorf("Round(%v, %d) = %v, want %v", c.in, c.n, got, c.want)
		}
	}
	if got := canon.Round(-0.00001, 4); !math.Signbit(got) || got != 0 {
		t.Errorf("Round(-0.00001, 4) = %v, want -0", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for in, offset := range map[string]int{
		"": 0, "nul": 0, "[1,]": 3, `{"a"}`: 4, `{a:1}`: 1, "01": 1, "1.": 2, "-": 1, "1e": 2, "+1": 0, "NaN": 0, "[1] 2": 4,
		`"a`: 2, "\"a\nb\"": 2, `"\x"`: 2, `"\ud800"`: 7, `"\ud800\u0041"`: 13, `"\udc00"`: 7, "\"\xff\"": 1, "\"\\n\xff\"": 1,
		"[" + strings.Repeat("[", 600): 512,
	} {
		_, err := canon.Parse([]byte(in), canon.Limits{})
		var syntax *canon.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Parse(%.20q) = %v, want a SyntaxError", in, err)
			continue
		}
		if syntax.Offset != offset {
			t.Errorf("Parse(%.20q): %v, want byte %d", in, err, offset)
		}
	}
	if _, err := canon.ParseObject([]byte("[]"), canon.Limits{}); err == nil {
		t.Error("ParseObject accepts an array")
	}
}

func TestObject(t *testing.T) {
	o := &canon.Object{}
	for _, k := range strings.Split("a b c d e f g h i j k l", " ") {
		o.Set(k, k+"1")
	}
	o.Set("c", "c2")
	o.Delete("a")
	o.Delete("nothing")
	clone := o.Clone()
	clone.Set("z", 1)
	clone.Delete("b")
	if got := strings.Join(o.Keys(), ""); got != "bcdefghijkl" || o.Len() != 11 {
		t.Errorf("keys = %s", got)
	}
	if v, ok := o.Get("c"); !ok || v != "c2" || o.Value("l") != "l1" || o.Has("a") || o.Has("z") || !o.Has("b") {
		t.Errorf("object lost track of its keys: c = %v", v)
	}
	var none *canon.Object
	if none.Len() != 0 || none.Has("a") || len(none.Keys()) != 0 {
		t.Error("a nil object must be empty")
	}
	if b, err := none.MarshalJSON(); err != nil || !bytes.Equal(b, []byte("null")) {
		t.Errorf("nil object = %s, %v", b, err)
	}
}
