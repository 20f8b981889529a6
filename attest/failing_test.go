package attest_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// TestQuickerKeyStays: a key that appears under the name while another is written
// stays, and of the other nothing does.
func TestQuickerKeyStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.pem")
	first := testKey(t, 1)
	err := attest.WriteKeyWith(func(op string) error {
		if op == "file.link" {
			return os.WriteFile(path, first.PrivatePEM(), 0o600)
		}
		return nil
	}, path, testKey(t, 101), false)
	if !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "pass --force") {
		t.Errorf("%v", err)
	}
	if key, err := attest.LoadKey(path); err != nil || key.DID() != first.DID() {
		t.Errorf("%v, %v", key, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%d files, %v", len(left), err)
	}
}

// TestUnreadableKeyIsTold: a file that opens and does not read is no short key.
func TestUnreadableKeyIsTold(t *testing.T) {
	const unreadable = "/proc/self/mem" // its first page is mapped nowhere
	if runtime.GOOS != "linux" {
		t.Skip("no such file on this system")
	}
	const want = "signing key " + unreadable + ": input/output error"
	if _, err := attest.LoadKey(unreadable); !fault.Is(err, fault.Invalid) || err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := attest.ParsePublic(unreadable); !fault.Is(err, fault.Invalid) || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestKeyFileAtItsLimit: a file of exactly the limit is read, one byte more is
// refused for its size.
func TestKeyFileAtItsLimit(t *testing.T) {
	key := testKey(t, 1)
	const limit = 64 << 10
	for size, want := range map[int]string{limit: "", limit + 1: "larger than 65536 bytes"} {
		path := filepath.Join(t.TempDir(), "k.pem")
		text := append(key.PrivatePEM(), make([]byte, size)...)[:size]
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := attest.LoadKey(path)
		if want == "" {
			if err != nil || got.DID() != key.DID() {
				t.Errorf("%d bytes: %v, %v", size, got, err)
			}
		} else if !fault.Is(err, fault.Limit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestWhatIsNoTextIsNotSigned: each text of a statement that is no UTF-8 is told,
// and nothing is signed in its place.
func TestWhatIsNoTextIsNotSigned(t *testing.T) {
	const bad = "\xff"
	caller := bad
	for name, attempt := range map[string]func() (*canon.Object, error){
		"tool":      func() (*canon.Object, error) { return testSigner(t).Attest(bad, canon.Obj(), canon.Obj(), nil) },
		"caller":    func() (*canon.Object, error) { return testSigner(t).Attest("x", canon.Obj(), canon.Obj(), &caller) },
		"arguments": func() (*canon.Object, error) { return testSigner(t).Attest("x", canon.Obj("a", bad), canon.Obj(), nil) },
		"answer":    func() (*canon.Object, error) { return testSigner(t).Attest("x", canon.Obj(), canon.Obj("a", bad), nil) },
		"engine": func() (*canon.Object, error) {
			return attest.NewSigner(testKey(t, 1), attest.Options{Engine: bad}).Attest("x", canon.Obj(), canon.Obj(), nil)
		},
	} {
		env, err := attempt()
		if err == nil || env != nil || !strings.HasPrefix(err.Error(), "attest ") {
			t.Errorf("%s: %v, %v", name, env, err)
		}
	}
}

// TestDeepAnswerIsSigned: an answer may be nested deeper than a file that is read,
// up to a limit that is told.
func TestDeepAnswerIsSigned(t *testing.T) {
	deep := func(n int) any {
		var v any = "x"
		for range n {
			v = []any{v}
		}
		return v
	}
	if _, err := testSigner(t).Attest("x", canon.Obj(), deep(1000), nil); err != nil {
		t.Error(err)
	}
	if env, err := testSigner(t).Attest("x", canon.Obj(), deep(1<<16+1), nil); err == nil || env != nil || !strings.HasPrefix(err.Error(), "attest x: answer: ") {
		t.Errorf("%v", err)
	}
}

// TestCheckIsPrinted: the lines of a check say what was found and no more.
func TestCheckIsPrinted(t *testing.T) {
	args, answer, env := sample(t)
	id := attest.DecisionIDs(answer)[0]
	did := testKey(t, 1).DID()
	for name, c := range map[string]struct {
		q    attest.Question
		want string
	}{
		"bare": {attest.Question{Envelope: env}, "tool            resolve\nsigner          " + did + "\nvalid           True\n" +
			"trusted         False   (no key pinned: integrity shown, authorship not)\ndecision        " + id + "\nOK\n"},
		"pinned": {attest.Question{Envelope: env, Inputs: args, Response: answer, Key: testKey(t, 1).Public()}, "tool            resolve\nsigner          " + did + "\nvalid           True\n" +
			"trusted         True\ninputs_match    True\nresponse_match  True\ndecision        " + id + "\nOK\n"},
		"other inputs": {attest.Question{Envelope: env, Inputs: canon.Obj(), Response: canon.Obj(), Key: testKey(t, 1).Public()}, "tool            resolve\nsigner          " + did + "\nvalid           True\n" +
			"trusted         True\ninputs_match    False\nresponse_match  False\ndecision        " + id + "\n" +
			"  ! the inputs supplied do not hash to what was signed\n  ! the response supplied does not hash to what was signed\nNOT OK\n"},
		"nothing": {attest.Question{Envelope: canon.Obj()}, "tool            None\nsigner          None\nvalid           False\n" +
			"trusted         False   (no key pinned: integrity shown, authorship not)\n  ! no jws in the envelope\nNOT OK\n"},
	} {
		if diff := cmp.Diff(c.want, attest.Verify(c.q).Text()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestEnvelopeFieldsAreThoseSigned: a field may be left out of the readable part,
// none may differ, none may be added, and each is named.
func TestEnvelopeFieldsAreThoseSigned(t *testing.T) {
	_, _, env := sample(t)
	for _, field := range env.Keys() {
		if field == "jws" {
			continue
		}
		without := env.Clone()
		without.Delete(field)
		if check := attest.Verify(attest.Question{Envelope: without}); !check.OK() {
			t.Errorf("without %s: %v", field, check.Problems)
		}
		for _, v := range []any{nil, "other", []any{}, canon.Number("1"), "\xff"} {
			if v == nil && env.Value(field) == nil {
				continue
			}
			changed := env.Clone()
			changed.Set(field, v)
			check := attest.Verify(attest.Question{Envelope: changed})
			if diff := cmp.Diff([]string{"envelope field '" + field + "' differs from what was signed"}, check.Problems); diff != "" || check.Valid || check.OK() {
				t.Errorf("%s is %v: %s", field, v, diff)
			}
		}
	}
	added := env.Clone()
	added.Set("approved", true)
	if diff := cmp.Diff([]string{"envelope field 'approved' is not part of what was signed"}, attest.Verify(attest.Question{Envelope: added}).Problems); diff != "" {
		t.Error(diff)
	}
}

// TestEveryMissingFieldOfAStatement: a token whose statement lacks a field, or has
// another, is compared as it is: the schema must be there, the rest may be absent.
func TestEveryMissingFieldOfAStatement(t *testing.T) {
	_, _, env := sample(t)
	for _, field := range env.Keys() {
		if field == "jws" {
			continue
		}
		for _, v := range []any{nil, canon.Number("7"), []any{}} {
			said := env.Clone()
			said.Delete("jws")
			said.Delete(field)
			if v != nil {
				said.Set(field, v)
			}
			text, err := canon.Compact(said)
			if err != nil {
				t.Fatal(err)
			}
			check := attest.Verify(attest.Question{Envelope: canon.Obj("jws", testKey(t, 1).SignPayload("arche+jws", text)), Inputs: canon.Obj()})
			wantValid := field != "schema"
			if check.Valid != wantValid || check.OK() || *check.InputsMatch {
				t.Errorf("%s is %v: %v %v", field, v, check.Valid, check.Problems)
			}
			if tool, ok := check.Tool.(string); field == "tool" && check.Tool != nil || field != "tool" && (!ok || tool != "resolve") {
				t.Errorf("%s is %v: tool %v", field, v, check.Tool)
			}
			if check.Signer != testKey(t, 1).DID() { // signed as signer, else the token's kid
				t.Errorf("%s is %v: signer %v", field, v, check.Signer)
			}
			if n := len(check.DecisionIDs); field == "decision_ids" && n != 0 || field != "decision_ids" && n != 1 {
				t.Errorf("%s is %v: %d decisions", field, v, n)
			}
		}
	}
}

// TestFailedFolderOfAKey: a folder that cannot be made is told with the key's name.
func TestFailedFolderOfAKey(t *testing.T) {
	mine := errors.New("mine")
	path := filepath.Join(t.TempDir(), "k.pem")
	err := attest.WriteKeyWith(func(string) error { return mine }, path, testKey(t, 1), true)
	if !errors.Is(err, mine) || err.Error() != "signing key "+path+": mine" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
