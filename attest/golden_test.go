package attest_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/google/go-cmp/cmp"
)

// golden reads the vectors of the published program, number literals kept.
func golden(t testing.TB) []*canon.Object {
	t.Helper()
	f, err := os.Open("../testdata/golden/attest.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*canon.Object
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		o, err := canon.ParseObject(lines.Bytes(), canon.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(out) != 46 {
		t.Fatalf("%d vectors, want 46", len(out))
	}
	return out
}

func obj(o *canon.Object, key string) *canon.Object {
	v, _ := o.Value(key).(*canon.Object)
	return v
}

func str(o *canon.Object, key string) string {
	s, _ := o.Value(key).(string)
	return s
}

func keys(t testing.TB, vectors []*canon.Object) map[string]*attest.Key {
	t.Helper()
	out := map[string]*attest.Key{}
	for _, v := range vectors {
		if str(v, "kind") != "key" {
			continue
		}
		seed, err := hex.DecodeString(str(obj(v, "input"), "private_key_hex"))
		if err != nil {
			t.Fatal(err)
		}
		key, err := attest.NewKey(seed)
		if err != nil {
			t.Fatal(err)
		}
		out[str(v, "id")] = key
	}
	return out
}

func TestGoldenKeys(t *testing.T) {
	vectors := golden(t)
	made := keys(t, vectors)
	if len(made) != 2 {
		t.Fatalf("%d keys, want 2", len(made))
	}
	for _, v := range vectors {
		key := made[str(v, "id")]
		if key == nil {
			continue
		}
		want := obj(v, "want")
		private := key.PrivatePEM()
		public := attest.PublicPEM(key.Public())
		got := []string{string(private), string(public), key.DID()}
		if diff := cmp.Diff([]string{str(want, "private_pem"), str(want, "public_pem"), str(want, "did_key")}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", str(v, "id"), diff)
		}
		again, err := attest.ParsePrivatePEM(private)
		if err != nil || again.DID() != key.DID() {
			t.Errorf("%s: the written key reads back as %v, %v", str(v, "id"), again, err)
		}
	}
}

func TestGoldenEnvelopes(t *testing.T) {
	vectors := golden(t)
	made := keys(t, vectors)
	n := 0
	for _, v := range vectors {
		if str(v, "kind") != "attest" {
			continue
		}
		n++
		in := obj(v, "input")
		at, err := time.Parse(time.RFC3339, str(in, "issued_at"))
		if err != nil {
			t.Fatal(err)
		}
		var caller *string
		if s, ok := in.Value("caller").(string); ok {
			caller = &s
		}
		for part, text := range obj(v, "canonical").All() {
			got, err := canon.Published(in.Value(part))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text, any(string(got))); diff != "" {
				t.Errorf("%s: canonical %s (-want +got)\n%s", str(v, "id"), part, diff)
			}
		}
		signer := attest.NewSigner(made[str(v, "key")], attest.Options{Engine: "arche-core@0.10.0", Now: func() time.Time { return at }})
		env, err := signer.Attest(str(in, "tool"), in.Value("args"), in.Value("answer"), caller)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(indent(t, v.Value("want")), indent(t, env)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", str(v, "id"), diff)
		}
	}
	if n == 0 {
		t.Fatal("no attest vectors")
	}
}

func TestGoldenVerify(t *testing.T) {
	n := 0
	for _, v := range golden(t) {
		if str(v, "kind") != "verify" || v.Has("fault") {
			continue
		}
		n++
		t.Run(str(v, "id"), func(t *testing.T) {
			in, want := obj(v, "input"), obj(v, "want")
			q := attest.Question{Envelope: in.Value("envelope"), Inputs: in.Value("inputs"), Response: in.Value("response")}
			if did, ok := in.Value("public_key").(string); ok {
				pub, err := attest.DecodeDID(did)
				if want.Has("raises") {
					if err == nil || err.Error() != str(want, "message") {
						t.Fatalf("error %v, want %q", err, str(want, "message"))
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				q.Key = pub
			}
			check := attest.Verify(q)
			if diff := cmp.Diff(indent(t, want), indent(t, check.Answer())); diff != "" {
				t.Errorf("answer (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(str(obj(v, "cli"), "stdout"), check.Text()); diff != "" {
				t.Errorf("text (-want +got)\n%s", diff)
			}
		})
	}
	if n < 25 {
		t.Fatalf("%d verify vectors ran", n)
	}
}

// TestPlainSignerEdited: the published verifier lets issued_at, engine and
// signer be edited in the readable part; ours does not.
func TestPlainSignerEdited(t *testing.T) {
	for _, v := range golden(t) {
		if str(v, "id") != "attest-verify-plain-signer-edited" {
			continue
		}
		check := attest.Verify(attest.Question{Envelope: obj(v, "input").Value("envelope")})
		if check.OK() || check.Valid {
			t.Error("an edited signer passes")
		}
		if diff := cmp.Diff([]string{"envelope field 'signer' differs from what was signed"}, check.Problems); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return
	}
	t.Fatal("vector missing")
}

// TestGoldenCLI checks what the command prints for the files of the vectors;
// exit codes and unreadable files are the command's own tests.
func TestGoldenCLI(t *testing.T) {
	n := 0
	vectors := golden(t)
	made := keys(t, vectors)
	for _, v := range vectors {
		in, want := obj(v, "input"), obj(v, "want")
		if str(v, "kind") != "cli" || str(want, "stdout") == "" {
			continue
		}
		n++
		file := []byte(str(in, "file_text"))
		if in.Value("file") != nil {
			file = []byte(indent(t, in.Value("file")))
		}
		parsed, err := attest.ParseJSON(file)
		if err != nil {
			t.Fatal(err)
		}
		q := attest.Question{Envelope: parsed, Response: in.Value("response")}
		asJSON := false
		args, _ := in.Value("args").([]any)
		for i, arg := range args {
			asJSON = asJSON || arg == "--json"
			if arg != "--public-key" {
				continue
			}
			given, _ := args[i+1].(string)
			if given == "<public pem of attest-key-1>" {
				pem := attest.PublicPEM(made["attest-key-1"].Public())
				given = filepath.Join(t.TempDir(), "pub.pem")
				if err := os.WriteFile(given, pem, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if q.Key, err = attest.ParsePublic(given); err != nil {
				t.Fatal(err)
			}
		}
		check := attest.Verify(q)
		got := check.Text()
		if asJSON {
			got = indent(t, check.Answer()) + "\n"
		}
		if diff := cmp.Diff(str(want, "stdout"), got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", str(v, "id"), diff)
		}
		if exit := want.Value("exit"); check.OK() != (exit == canon.Number("0")) {
			t.Errorf("%s: ok %v, exit %v", str(v, "id"), check.OK(), exit)
		}
	}
	if n != 4 {
		t.Fatalf("%d cli vectors ran, want 4", n)
	}
}

func indent(t testing.TB, v any) string {
	t.Helper()
	b, err := canon.Indent(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(b))
}
