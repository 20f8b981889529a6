package export_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/export"
)

// envelope is the form of a DSSE envelope, to make others with.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

const inToto = "application/vnd.in-toto+json"

// sign makes an envelope over a statement.
func sign(k *attest.Key, payload string) envelope {
	pae := fmt.Sprintf("DSSEv1 %d %s %d %s", len(inToto), inToto, len(payload), payload)
	return envelope{inToto, base64.StdEncoding.EncodeToString([]byte(payload)),
		[]signature{{k.DID(), base64.StdEncoding.EncodeToString(k.Sign([]byte(pae)))}}}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := canon.Indent(v)
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// TestForgedEnvelopes: whoever holds the signing key can seal anything, and an
// envelope that is none, or about something else, is named as what it is.
func TestForgedEnvelopes(t *testing.T) {
	dir, m := write(t, work(t), "entities", "dsse")
	const name, rows = "entities.dsse.json", "entities.jsonl"
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var whole envelope
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(whole.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if diff := bytes.Compare(text, encoded(t, sign(key(t, 1), string(payload)))); diff != 0 {
		t.Fatal("the envelope is not made as this test makes one")
	}
	swap := func(old, now string) func() []byte {
		return func() []byte {
			if !strings.Contains(string(payload), old) {
				t.Fatalf("no %s in %s", old, payload)
			}
			return encoded(t, sign(key(t, 1), strings.Replace(string(payload), old, now, 1)))
		}
	}
	with := func(change func(e *envelope)) func() []byte {
		return func() []byte {
			e := envelope{whole.PayloadType, whole.Payload, slices.Clone(whole.Signatures)}
			change(&e)
			return encoded(t, e)
		}
	}
	const none, notOurs = "not a DSSE envelope with one signature", "the envelope is not as arche writes it"
	const notVerified, noStatement = "the signature does not verify", "the payload is no statement about one export"
	for title, c := range map[string]struct {
		want string
		text func() []byte
	}{
		"no json":           {none, func() []byte { return []byte("{") }},
		"no signature":      {none, with(func(e *envelope) { e.Signatures = []signature{} })},
		"two signatures":    {none, with(func(e *envelope) { e.Signatures = append(e.Signatures, e.Signatures[0]) })},
		"another type":      {none, with(func(e *envelope) { e.PayloadType = "text/plain" })},
		"another spacing":   {notOurs, func() []byte { return bytes.Replace(text, []byte(": "), []byte(":  "), 1) }},
		"no line end":       {notOurs, func() []byte { return text[:len(text)-1] }},
		"another key":       {"signed by another key than the manifest", func() []byte { return encoded(t, sign(key(t, 2), string(payload))) }},
		"no base64":         {"the payload is not base64", with(func(e *envelope) { e.Payload += "*" })},
		"signature no text": {notVerified, with(func(e *envelope) { e.Signatures[0].Sig = "*" })},
		"signature other":   {notVerified, with(func(e *envelope) { e.Signatures[0].Sig = base64.StdEncoding.EncodeToString(make([]byte, 64)) })},
		"no statement":      {noStatement, func() []byte { return encoded(t, sign(key(t, 1), "[]")) }},
		"statement type":    {noStatement, swap("in-toto.io/Statement/v1", "in-toto.io/Statement/v0")},
		"predicate type":    {noStatement, swap("arche/export/v1", "arche/export/v2")},
		"no subject":        {noStatement, swap(`"subject":[`, `"subject":[],"was":[`)},
		"another digest":    {name + " does not speak of " + rows, swap(m.Files[1].SHA256, strings.Repeat("ab", 32))},
		"another name":      {name + " is about a file that is not here", swap(`"name":"entities.jsonl"`, `"name":"entities.csv"`)},
		"a file twice":      {name + " is about a file that is not here", swap(`"subject":[`, `"subject":[{"name":"entities.jsonl","digest":{}},`)},
		"itself":            {name + " is about a file that is not here", swap(`"subject":[`, `"subject":[{"name":"entities.dsse.json","digest":{}},`)},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), c.text(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := export.Seal(dir, *m, []string{name, rows}, key(t, 1)); err != nil {
			t.Fatal(err)
		}
		r, err := export.Verify(t.Context(), dir, nil)
		if err != nil || r.OK() || !strings.Contains(strings.Join(r.Problems, "\n"), c.want) {
			t.Errorf("%s: %+v, %v, want %q", title, r, err, c.want)
		}
	}
	// A key that is none, in a manifest and an envelope that agree on it.
	for _, signer := range []*string{nil, new(string)} {
		forged := *m
		if forged.Signer = signer; signer != nil {
			*signer = "did:key:zNone"
		}
		e := whole
		e.Signatures = []signature{{"did:key:zNone", whole.Signatures[0].Sig}}
		if err := os.WriteFile(filepath.Join(dir, name), encoded(t, e), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := export.Seal(dir, forged, []string{name, rows}, nil); err != nil {
			t.Fatal(err)
		} else {
			forged.Files = m.Files
		}
		if err := os.WriteFile(filepath.Join(dir, export.ManifestName), forged.Encode(), 0o600); err != nil {
			t.Fatal(err)
		}
		want := name + ": the envelope is signed by another key than the manifest"
		if signer != nil {
			if r, err := export.Verify(t.Context(), dir, nil); err != nil || r.OK() || !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.HasPrefix(p, name+": did:key is not Ed25519") }) {
				t.Errorf("%+v, %v", r, err)
			}
			continue
		}
		if r, err := export.Verify(t.Context(), dir, nil); err != nil || r.OK() || !slices.Contains(r.Problems, want) {
			t.Errorf("%+v, %v, want %q", r, err, want)
		}
	}
	// An envelope beyond the limit is not read.
	if err := os.Truncate(filepath.Join(dir, name), 16<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Seal(dir, *m, []string{name, rows}, key(t, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Verify(t.Context(), dir, nil); !fault.Is(err, fault.Limit) || !strings.HasPrefix(err.Error(), name) {
		t.Errorf("a large envelope: %v", err)
	}
}

// TestForgedManifests: a manifest that is signed and not one of ours is named for
// what is wrong with it.
func TestForgedManifests(t *testing.T) {
	dir := bundle(t, "csv", key(t, 1))
	path := filepath.Join(dir, export.ManifestName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]string{
		"the manifest is not JSON of its form":         strings.Replace(string(text), `"count": 2`, `"count": "2"`, 1),
		"the manifest is not as arche writes it":       strings.Replace(string(text), `"count": 2`, `"count": 2, "more": 1`, 1),
		"the manifest's schema is not":                 strings.Replace(string(text), export.Schema, "arche.export.v9", 1),
		"the manifest names a file outside the folder": strings.Replace(string(text), "decisions.csv", "../decisions.csv", 1),
	} {
		for _, spelled := range []string{change, strings.Replace(change, "../decisions.csv", ".decisions.csv", 1), strings.Replace(change, "../decisions.csv", "", 1)} {
			if spelled == string(text) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(path, []byte(spelled), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := export.Verify(t.Context(), dir, nil)
			if err != nil || r.Manifest != nil || len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0], want) {
				t.Errorf("%+v, %v, want %q", r, err, want)
			}
			if a := r.Answer(); a.Value("ok") != false || a.Value("what") != nil || a.Value("head") != nil || a.Value("signer") != nil {
				t.Errorf("%v", a)
			}
		}
	}
	// The signature is of this manifest, by the key that it names.
	sealed := func(change func(m *export.Manifest) *attest.Key) *export.Report {
		t.Helper()
		var m export.Manifest
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		k := change(&m)
		text := m.Encode()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, export.SignatureName), []byte(k.SignPayload("arche-export+jws", text)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := export.Verify(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, named := range []*string{nil, new(string)} {
		r := sealed(func(m *export.Manifest) *attest.Key { m.Signer = named; return key(t, 1) })
		if r.OK() || r.Signed || r.Trusted || !slices.Contains(r.Problems, "the manifest does not name the key that signed it") {
			t.Errorf("%+v", r)
		}
	}
	r := sealed(func(m *export.Manifest) *attest.Key { m.Count++; return key(t, 1) })
	if r.OK() || !r.Signed || !slices.Contains(r.Problems, "SHA256SUMS does not say what the manifest says") {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := export.Verify(t.Context(), dir, nil); err != nil || r.Signed || !slices.Contains(r.Problems, "the signature is over another manifest") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAnswerOfACheck: the JSON of a check says what was found.
func TestAnswerOfACheck(t *testing.T) {
	head := `"head":{"log":"main","seq":5,"link":"` + strings.Repeat("ab", 32) + `"}`
	did := key(t, 1).DID()
	for _, c := range []struct {
		signer *attest.Key
		pinned bool
		want   string
	}{
		{nil, false, `{"ok":true,"signed":false,"trusted":false,"signer":null,"what":"decisions","format":"csv","count":2,` + head + `,"problems":[]}`},
		{nil, true, `{"ok":false,"signed":false,"trusted":false,"signer":null,"what":"decisions","format":"csv","count":2,` + head + `,"problems":["the export is not signed"]}`},
		{key(t, 1), false, `{"ok":true,"signed":true,"trusted":false,"signer":"` + did + `","what":"decisions","format":"csv","count":2,` + head + `,"problems":[]}`},
		{key(t, 1), true, `{"ok":true,"signed":true,"trusted":true,"signer":"` + did + `","what":"decisions","format":"csv","count":2,` + head + `,"problems":[]}`},
	} {
		var pinned ed25519.PublicKey
		if c.pinned {
			pinned = key(t, 1).Public()
		}
		r, err := export.Verify(t.Context(), bundle(t, "csv", c.signer), pinned)
		if err != nil {
			t.Fatal(err)
		}
		got, err := canon.Compact(r.Answer())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// TestRowsAreCounted: a sealed file with another number of rows than the manifest
// promises, or that is no table, is refused in every format.
func TestRowsAreCounted(t *testing.T) {
	for _, format := range export.TableFormats {
		dir := bundle(t, format, nil)
		r, err := export.Verify(t.Context(), dir, nil)
		if err != nil || !r.OK() {
			t.Fatalf("%s: %+v, %v", format, r, err)
		}
		name := "decisions." + format
		for _, count := range []int64{1, 3} {
			m := *r.Manifest
			m.Count = count
			if _, err := export.Seal(dir, m, []string{name}, nil); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("%s has 2 rows, the manifest says %d", name, count)
			if r, err := export.Verify(t.Context(), dir, nil); err != nil || !slices.Equal(r.Problems, []string{want}) {
				t.Errorf("%s: %+v, %v, want %s", format, r, err, want)
			}
		}
		if format == "parquet" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("PAR1 nothing PAR1"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := export.Seal(dir, *r.Manifest, []string{name}, nil); err != nil {
				t.Fatal(err)
			}
			if r, err := export.Verify(t.Context(), dir, nil); err != nil || !slices.Equal(r.Problems, []string{name + " can't be read as a table"}) {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
	if _, err := export.Seal(t.TempDir(), export.Manifest{}, []string{"none"}, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("what is not there is sealed: %v", err)
	}
}

// TestVerifyingEndsAtAnyMoment ends the context of a check at each question: it is
// told, and no export is called right or wrong for it.
func TestVerifyingEndsAtAnyMoment(t *testing.T) {
	dir := bundle(t, "csv", key(t, 1))
	ends := 0
	for n := 1; n < 40; n++ {
		ctx := arctest.NewCountdown(t.Context(), n)
		r, err := export.Verify(ctx, dir, nil)
		if !ctx.Ended() {
			if err != nil || !r.OK() {
				t.Errorf("%+v, %v", r, err)
			}
			break
		}
		if ends++; !errors.Is(err, context.Canceled) && (err != nil || !r.OK()) { // the last question may come after the answer
			t.Errorf("ended at %d: %+v, %v", n, r, err)
		}
	}
	if ends < 3 {
		t.Errorf("only %d ends", ends)
	}
}

// TestWhatIsNoTextIsNotSigned: a program's name that is no UTF-8 can't stand in a
// statement; nothing is left.
func TestWhatIsNoTextIsNotSigned(t *testing.T) {
	req := request("cases", "dsse", filepath.Join(t.TempDir(), "x"), t)
	req.Program = "\xff"
	if _, err := export.Write(t.Context(), work(t), req); err == nil || !strings.HasPrefix(err.Error(), "encode statement: ") {
		t.Errorf("%v", err)
	}
	if left := contents(t, req.Dir); left != nil {
		t.Errorf("left %v", slices.Sorted(maps.Keys(left)))
	}
}

// TestManifestCarriesTheNewestCheckpoint: of several the last, word for word.
func TestManifestCarriesTheNewestCheckpoint(t *testing.T) {
	l := work(t)
	if _, m := write(t, l, "cases", "csv"); m.Checkpoint != nil {
		t.Errorf("a checkpoint that was never signed: %s", *m.Checkpoint)
	}
	var last string
	for range 2 {
		var err error
		if last, err = l.Checkpoint(t.Context(), key(t, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, m := write(t, l, "cases", "csv"); m.Checkpoint == nil || *m.Checkpoint != last {
		t.Errorf("%v, want %s", m.Checkpoint, last)
	}
}

// TestLongReports: a report shows 500 rows and says how many more there are; the
// count of the manifest is of all. It keeps to what the filter says.
func TestLongReports(t *testing.T) {
	l := work(t)
	var drafts []ledger.Draft
	for i := range 501 {
		drafts = append(drafts, ledger.Draft{Kind: "protection.scanned", Subject: fmt.Sprint("scan:", i), Body: canon.Obj("statute", "x", "verdict", "full", "counts", canon.Obj())})
	}
	if _, err := l.Append(t.Context(), drafts); err != nil {
		t.Fatal(err)
	}
	dir, m := write(t, l, "processing", "html")
	if page := contents(t, dir)["processing.html"]; m.Count != 501 || !strings.Contains(page, "501 texts were scanned") || !strings.Contains(page, "and 1 more") {
		t.Errorf("%d scans", m.Count)
	}
	for entity, want := range map[string]int64{"organisation": 1, "person": 0} {
		req := request("cases", "html", filepath.Join(t.TempDir(), "x"), t)
		req.Filter.Entity = &entity
		m, err := export.Write(t.Context(), l, req)
		if err != nil || m.Count != want {
			t.Errorf("%s: %+v, %v", entity, m, err)
		}
		if page := contents(t, req.Dir)["cases.html"]; !strings.Contains(page, fmt.Sprintf("%d questions are open", want)) {
			t.Errorf("%s: the page says another number", entity)
		}
	}
}

// TestDamagedListIsNotExported: a list beside a run that is no JSON ends an export.
func TestDamagedListIsNotExported(t *testing.T) {
	l := batch(t)
	path := l.File()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE blobs SET bytes = encode('[1') WHERE left(address, 4) = 'lst:'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = ledger.Open(path, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dir := filepath.Join(t.TempDir(), "x")
	if _, err := export.Write(t.Context(), l, request("decisions", "jsonl", dir, t)); err == nil {
		t.Error("a damaged list is exported")
	}
	if left := contents(t, dir); left != nil {
		t.Errorf("left %v", slices.Sorted(maps.Keys(left)))
	}
}

// TestPageThatCannotBeWritten: the writer's error is told.
func TestPageThatCannotBeWritten(t *testing.T) {
	if err := export.WriteHTML(full{}, &export.Page{Title: "x"}); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "write page: ") {
		t.Errorf("%v", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
