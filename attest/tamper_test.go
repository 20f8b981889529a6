package attest_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/go-jose/go-jose/v4"
)

func testKey(t testing.TB, first byte) *attest.Key {
	t.Helper()
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = first + byte(i)
	}
	key, err := attest.NewKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func testSigner(t testing.TB) *attest.Signer {
	return attest.NewSigner(testKey(t, 1), attest.Options{
		Engine: "arche@test",
		Now:    func() time.Time { return time.Date(2026, 12, 1, 8, 30, 0, 5000, time.FixedZone("x", 3600)) },
	})
}

func sample(t testing.TB) (args, answer, env *canon.Object) {
	t.Helper()
	args = canon.Obj("record", canon.Obj("name", "Kijani \u00c9 Ltd"), "entity_type", "organisation")
	answer = canon.Obj("verdict", "found", "score", canon.Float(1), "decisions", []any{
		canon.Obj("decision_id", "xwd:sha256:"+string(bytes.Repeat([]byte("ab"), 32)))})
	caller := "team-7"
	env, err := testSigner(t).Attest("resolve", args, answer, &caller)
	if err != nil {
		t.Fatal(err)
	}
	return args, answer, env
}

// TestEveryByte changes each byte of an envelope, in four ways, and wants each
// result refused: as JSON, or by the check.
func TestEveryByte(t *testing.T) {
	args, answer, env := sample(t)
	text, err := canon.Compact(env)
	if err != nil {
		t.Fatal(err)
	}
	ok := func(data []byte, pin bool) bool {
		v, err := attest.ParseJSON(data)
		if err != nil {
			return false
		}
		q := attest.Question{Envelope: v, Inputs: args, Response: answer}
		if pin {
			q.Key = testKey(t, 1).Public()
		}
		return attest.Verify(q).OK()
	}
	if !ok(text, true) || !ok(text, false) {
		t.Fatal("the untouched envelope is refused")
	}
	for i := range text {
		for _, bit := range []int{0, 1, 5, 7} {
			changed := bytes.Clone(text)
			changed[i] ^= 1 << bit
			if ok(changed, true) {
				t.Errorf("byte %d bit %d: %q for %q passes", i, bit, changed[i], text[i])
			}
			if ok(changed, false) {
				t.Errorf("byte %d bit %d: %q for %q passes without a pinned key", i, bit, changed[i], text[i])
			}
		}
		if cut := append(bytes.Clone(text[:i]), text[i+1:]...); ok(cut, true) {
			t.Errorf("byte %d %q can be left out", i, text[i])
		}
	}
}

func TestTokenIsPlainJWS(t *testing.T) {
	_, _, env := sample(t)
	token, err := jose.ParseSignedCompact(str(env, "jws"), []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := token.Verify(testKey(t, 1).Public())
	if err != nil {
		t.Fatal(err)
	}
	var signed map[string]any
	if err := json.Unmarshal(payload, &signed); err != nil {
		t.Fatal(err)
	}
	if len(signed) != 9 || signed["tool"] != "resolve" || signed["issued_at"] != "2026-12-01T07:30:00+00:00" {
		t.Errorf("signed statement %v", signed)
	}
	if _, err := token.Verify(testKey(t, 101).Public()); err == nil {
		t.Error("another key verifies the token")
	}
}

func TestSigningIsDeterministic(t *testing.T) {
	_, _, a := sample(t)
	_, _, b := sample(t)
	if indent(t, a) != indent(t, b) {
		t.Error("two signings of one statement differ")
	}
}

// TestOwnAttestationKeyIsNotHashed: capabilities has a key of that name before
// it is signed; what remains after taking the envelope away must verify.
func TestOwnAttestationKeyIsNotHashed(t *testing.T) {
	answer := canon.Obj("version", "1", "attestation", canon.Obj("signer", "x"))
	env, err := testSigner(t).Attest("capabilities", &canon.Object{}, answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := answer.Value("attestation").(*canon.Object); !ok || got.Len() != 1 {
		t.Fatal("signing changed the answer")
	}
	answer.Set("attestation", env)
	whole, err := attest.ParseJSON([]byte(indent(t, answer)))
	if err != nil {
		t.Fatal(err)
	}
	check := attest.Verify(attest.Question{Envelope: whole, Inputs: &canon.Object{}})
	if !check.OK() || check.ResponseMatch != nil {
		t.Errorf("whole answer: %s", indent(t, check.Answer()))
	}
	whole.(*canon.Object).Set("version", "2")
	check = attest.Verify(attest.Question{Envelope: whole})
	if check.OK() || check.ResponseMatch == nil || *check.ResponseMatch {
		t.Errorf("an edited whole answer passes: %s", indent(t, check.Answer()))
	}
}

func TestStructAnswer(t *testing.T) {
	type row struct {
		Score      canon.Float `json:"score"`
		DecisionID string      `json:"decision_id"`
	}
	id := "dec:sha256:" + string(bytes.Repeat([]byte("0f"), 32))
	env, err := testSigner(t).Attest("x", canon.Obj(), struct {
		Rows []row `json:"rows"`
	}{[]row{{1, id}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	same := canon.Obj("rows", []any{canon.Obj("score", canon.Number("1.0"), "decision_id", id)})
	if check := attest.Verify(attest.Question{Envelope: env, Response: same}); !check.OK() || len(check.DecisionIDs) != 1 {
		t.Errorf("%s", indent(t, check.Answer()))
	}
}

func TestRefusedForms(t *testing.T) {
	_, _, env := sample(t)
	other := testKey(t, 101)
	forged, err := attest.NewSigner(other, attest.Options{}).Attest("resolve", canon.Obj(), canon.Obj(), nil)
	if err != nil {
		t.Fatal(err)
	}
	with := func(base *canon.Object, key string, value any) *canon.Object {
		c := base.Clone()
		c.Set(key, value)
		return c
	}
	for name, e := range map[string]any{
		"null":            nil,
		"text":            "x",
		"number as jws":   with(env, "jws", canon.Number("5")),
		"swapped token":   with(env, "jws", str(forged, "jws")),
		"extra field":     with(env, "note", "approved"),
		"schema edited":   with(env, "schema", "arche.attestation.v2"),
		"engine edited":   with(env, "engine", "arche@99"),
		"time edited":     with(env, "issued_at", "2020-01-01T00:00:00+00:00"),
		"line break":      with(env, "jws", str(env, "jws")+"\n"),
		"padded":          with(env, "jws", str(env, "jws")+"=="),
		"standard base64": with(env, "jws", str(env, "jws")[:len(str(env, "jws"))-1]+"+"),
	} {
		if check := attest.Verify(attest.Question{Envelope: e}); check.OK() || len(check.Problems) == 0 {
			t.Errorf("%s passes: %s", name, indent(t, check.Answer()))
		}
	}
}

func TestDuplicateKeysAreRefused(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}`: true,
		`{"a":1,"a":1}`:                      false,
		`[{"x":{"k":[],"k":1}}]`:             false,
		`{"a":{},"b":[],"a":2}`:              false,
		`{"a":"a","b":"a"}`:                  true,
		`{"x":1e999,"a":1,"a":2}`:            false, // behind a number that no double holds
		`{"x":NaN,"a":1,"a":2}`:              false, // behind what other readers refuse
		`{"x":[-Infinity,{"a":1}],"a":{}}`:   true,
		`{"x":[NaN,{"a":1,"b":[],"a":2}]}`:   false,
		`{"a":1,"\u0061":2}`:                 false, // one key in two spellings
		`{"a\"":"a","a":"\",\"a\":1","b":2}`: true,
		`{"a\\":1,"a":2,"a\\":3}`:            false,
		`[["a","a"],"a","a"]`:                true,
		`"a"`:                                true,
		`{"":1,"":2}`:                        false,
		`{"a":"{","b":"[,","c":{"a":","}}`:   true,
	} {
		if _, err := attest.ParseJSON([]byte(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSignPayload(t *testing.T) {
	key := testKey(t, 1)
	message := []byte("{\"any\": \"bytes\"}\n")
	token := key.SignPayload("arche-export+jws", message)
	payload, signer, err := attest.OpenPayload(token, "arche-export+jws", key.Public())
	if err != nil || !bytes.Equal(payload, message) || signer != key.DID() {
		t.Errorf("%q %s %v", payload, signer, err)
	}
	if _, _, err := attest.OpenPayload(token, "arche+jws", nil); err == nil {
		t.Error("a token is taken for one of another type")
	}
	if _, _, err := attest.OpenPayload(token, "arche-export+jws", testKey(t, 101).Public()); err == nil {
		t.Error("another key is accepted")
	}
	for i := range token {
		changed := []byte(token)
		changed[i] ^= 1
		if _, _, err := attest.OpenPayload(string(changed), "arche-export+jws", key.Public()); err == nil {
			t.Errorf("byte %d changed passes", i)
		}
	}
}
