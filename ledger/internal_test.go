package ledger

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/arche-ledger/arche/internal/canon"
)

// The worked example of the event form: blob, content, C, id, L and link of the
// first record of the contract.
func TestWorkedExample(t *testing.T) {
	rec, err := canon.ParseObject([]byte(`{"id":"s1","name":"Kijani Tea Exporters Ltd","city":"Nairobi"}`), canon.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRow(rec, "organisation")
	if err != nil {
		t.Fatal(err)
	}
	if want := "rec:sha256:9c66ff58fdf9b8ff6628f6d03f68a61f46ac0c15aef45426edf22eba728bace6"; r.id != want {
		t.Errorf("record id %s", r.id)
	}
	if want := `{"city":"Nairobi","id":"s1","name":"Kijani Tea Exporters Ltd"}`; string(r.blob) != want {
		t.Errorf("blob %s", r.blob)
	}
	if want := "c22a5592403f4c3954d2190437465f9f6524b23275c72fd82693ab97cc89a350"; r.content.hex() != want {
		t.Errorf("content %s", r.content.hex())
	}
	s := newState()
	u := &unit{l: &Ledger{}, s: s, actor: "cli:ada", at: time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC), link: zeroLink}
	u.l.cache.reset()
	if _, err := u.store(&r, "organisation"); err != nil {
		t.Fatal(err)
	}
	e := u.events[0]
	c := `{"body":{"content":"c22a5592403f4c3954d2190437465f9f6524b23275c72fd82693ab97cc89a350","entity_type":"organisation"},"kind":"record.stored","subject":"rec:sha256:9c66ff58fdf9b8ff6628f6d03f68a61f46ac0c15aef45426edf22eba728bace6","supersedes":null,"v":1}`
	if got := appendContent(nil, 1, e.kind, e.subject, "", e.body); string(got) != c {
		t.Errorf("C is\n%s\nwant\n%s", got, c)
	}
	if want := "evt:blake3:dbce156b155e6107aa9139d0a24396bd398598b575b982046f257debbe8e913e"; e.id != want {
		t.Errorf("id %s", e.id)
	}
	if want := "a1a1eada8cba416921f241f189265c6afe95282214af08bb485a62e1807a4d34"; e.link != want {
		t.Errorf("link %s", e.link)
	}
}

func TestEntityIDOfTheContract(t *testing.T) {
	s := newState()
	for _, id := range []string{
		"9c66ff58fdf9b8ff6628f6d03f68a61f46ac0c15aef45426edf22eba728bace6",
		"eccbeece07cba602c830dbb76d837253babcd3059bb8c3fbcc16e227363a92f8",
	} {
		a, _ := parseAddress("rec:sha256:"+id, recordPrefix)
		s.addRecord(&record{id: a})
	}
	want := "ent_e96a7fe6af5b1f5a7be507190a02f0a8"
	for _, pair := range [][2]int32{{0, 1}, {1, 0}} {
		if got := s.deriveEntityID(pair[0], pair[1], address{1}); got != want {
			t.Errorf("entity id %s, want %s", got, want)
		}
	}
	s.entIdx[want] = 0
	if got := s.deriveEntityID(0, 1, address{1}); got == want {
		t.Error("a name that is in use was given again")
	}
}

// value draws any JSON value.
func value() *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Custom(func(t *rapid.T) any { return rapid.Bool().Draw(t, "bool") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.String().Draw(t, "text") }),
		rapid.Custom(func(t *rapid.T) any { return canon.Float(rapid.Float64().Draw(t, "float")) }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Int64Range(-maxExact+1, maxExact-1).Draw(t, "int") }),
		rapid.Custom(func(t *rapid.T) any {
			return canon.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "literal"))
		}),
	)
	var nested func(depth int) *rapid.Generator[any]
	nested = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar,
			rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(nested(depth-1), 0, 4).Draw(t, "array") }),
			rapid.Custom(func(t *rapid.T) any {
				o := canon.NewObject()
				for range rapid.IntRange(0, 5).Draw(t, "members") {
					o.Set(rapid.String().Draw(t, "key"), nested(depth-1).Draw(t, "value"))
				}
				return o
			}))
	}
	return nested(3)
}

func TestFastFormIsRFC8785(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value().Draw(t, "value")
		got, err := appendJCS(nil, v)
		want, wantErr := canon.RFC8785(v)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

func TestCompareUTF16(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want int
	}{
		{"a", "b", -1}, {"", "a", -1}, {"\ue000", "\U0001F33E", 1}, {"\uffff", "\U0001F33E", 1}, {"\ud7ff", "\U0001F33E", -1}, {"é", "z", 1},
	} {
		if got := compareUTF16(x.a, x.b); (got < 0) != (x.want < 0) || (got > 0) != (x.want > 0) {
			t.Errorf("compareUTF16(%q, %q) = %d, want %d", x.a, x.b, got, x.want)
		}
	}
}

func TestSamenessIgnoresRunAndPlaceOnly(t *testing.T) {
	body := func(run string, pos any, link bool, explanation string) string {
		v := verdict{
			id: "xwd:sha256:0", verb: "reconcile", identity: "match", action: "merge", explanation: explanation,
			factors: canon.Obj("pos", canon.Float(0.5), "score", canon.Float(0.25), "run", canon.Float(1)), evidence: canon.NewObject(),
			pins: rawJSON(`{"engine":"x"}`), pos: pos,
		}
		b, written, err := v.body(run, link, "")
		if err != nil {
			t.Fatal(err)
		}
		if read, ok := sameness(string(b)); !ok || read != written {
			t.Errorf("sameness %x when it is written, %x when it is read (%v)", written, read, ok)
		}
		return string(b)
	}
	same := func(a, b string) bool {
		x, okA := sameness(a)
		y, okB := sameness(b)
		return okA && okB && x == y
	}
	base := body("run:1", []any{0, 1}, true, "agrees on name")
	if !same(base, body("run:2", nil, true, "agrees on name")) {
		t.Error("run and place count")
	}
	if same(base, body("run:1", []any{0, 1}, false, "agrees on name")) || same(base, body("run:1", []any{0, 1}, true, `,"pos":[],"run":"x","score":1`)) {
		t.Error("another body counts as the same")
	}
}

func TestLongestNumbersAreRefused(t *testing.T) {
	for _, v := range []any{int64(maxExact), canon.Number("9007199254740993"), canon.Number("NaN"), canon.Float(1) / canon.Float(zero())} {
		if b, err := appendJCS(nil, v); err == nil {
			t.Errorf("%v was written as %s", v, b)
		}
	}
}

func zero() float64 { return float64(len(strings.TrimSpace(" "))) }
