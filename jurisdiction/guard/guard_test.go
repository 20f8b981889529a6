package guard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/jurisdiction/guard"
)

const note = "Patient Casey Example (NIN 12345678901) called from 0803 555 7890."

func request(change func(*guard.Request)) guard.Request {
	r := guard.Request{Text: note, Jurisdiction: "NG", Key: "demo-key"}
	change(&r)
	return r
}

func to[T any](v T) *T { return &v }

func TestRefusalsInOrder(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*guard.Request)
		reason   string
		citation string
		coverage bool // in the answer
	}{
		{"no key before all else", func(r *guard.Request) { r.Key, r.Jurisdiction, r.Allowed = "", "US", []string{} },
			"no hash key configured, so tokens could not be stable and the guard refuses rather than inventing one (set ARCHE_HASH_KEY)", "", false},
		{"no statute", func(r *guard.Request) { r.Jurisdiction, r.Allowed = "US", []string{} },
			"no policy, so no permission to emit: the United States has no single federal privacy statute, so no one pack governs it: a fact of US law, not a missing file. Name a statute, for example 'HIPAA-SAFE-HARBOR'.", "", true},
		{"near miss of a code", func(r *guard.Request) { r.Jurisdiction = "UK" },
			"no policy, so no permission to emit: no statute pack ships for UK; GB is the code that was probably meant. Name a statute, for example 'BASELINE'.", "", true},
		{"provider", func(r *guard.Request) {
			r.Provider, r.Allowed, r.CrossesBorder = to("openai"), []string{"mistral", "anthropic"}, true
		},
			"provider 'openai' is not in the allow-list ['anthropic', 'mistral']", "", true},
		{"no provider", func(r *guard.Request) { r.Allowed = []string{} }, "provider None is not in the allow-list []", "", true},
		{"odd provider", func(r *guard.Request) { r.Provider, r.Allowed = to("o'ai\n\u202e"), []string{"a"} },
			`provider "o'ai\n\u202e" is not in the allow-list ['a']`, "", true},
		{"border", func(r *guard.Request) { r.CrossesBorder, r.TransferBasis = true, "vibes" },
			"the transfer crosses a border on no basis that NDPA-2023 permits (declared='vibes', permitted=['binding_corporate_rules', 'explicit_consent', 'ndpc_adequacy_assessment', 'standard_contractual_clauses'])",
			"NDPA-2023 cross-border transfer rules", true},
		{"border, nothing permitted", func(r *guard.Request) { r.CrossesBorder, r.Statute = true, "BASELINE" },
			"the transfer crosses a border on no basis that BASELINE permits (declared=None, permitted=[])", "BASELINE cross-border transfer rules", true},
		{"long key", func(r *guard.Request) { r.Key, r.Text = strings.Repeat("k", 65), "nothing here" },
			"guard error (fail-closed): maximum key length is 64 bytes", "", true},
		{"unknown statute", func(r *guard.Request) { r.Statute = "NOPE" }, "guard error (fail-closed): statute 'NOPE' not found", "", true},
		{"statute that is a path", func(r *guard.Request) { r.Statute = "../engine" }, "guard error (fail-closed): the statute given not found", "", true},
		{"unknown scheme", func(r *guard.Request) { r.Scheme = "v9" }, "guard error (fail-closed): the token scheme is neither v1 nor v2", "", true},
	} {
		res := guard.Scan(t.Context(), request(c.change))
		if !res.Denied || res.Reason != c.reason {
			t.Errorf("%s: denied %v\n got %s\nwant %s", c.name, res.Denied, res.Reason, c.reason)
		}
		citation := ""
		if res.Citation != nil {
			citation = *res.Citation
		}
		if citation != c.citation {
			t.Errorf("%s: citation %q, want %q", c.name, citation, c.citation)
		}
		raw, err := canon.Indent(res.Answer())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "coverage") != c.coverage {
			t.Errorf("%s: coverage in the answer is %v, want %v:\n%s", c.name, !c.coverage, c.coverage, raw)
		}
		for _, value := range []string{"12345678901", "0803", "Casey", "engine"} {
			if strings.Contains(string(raw), value) {
				t.Errorf("%s: the refusal repeats %q", c.name, value)
			}
		}
	}
}

func TestCancelledScanIsRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res := guard.Scan(ctx, request(func(*guard.Request) {}))
	if !res.Denied || res.Text != "" || !strings.Contains(res.Reason, "fail-closed") {
		t.Errorf("a cancelled scan: %+v", res)
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		scheme, text string
		want         string
	}{
		{"", note, "Patient Casey Example (NIN [NIN:de11776532b6f1b0]) called from [PHONE:53bb10448ce546a9]."},
		{"v1", note, "Patient Casey Example (NIN [NIN:de11776532b6f1b0]) called from [PHONE:53bb10448ce546a9]."},
		{"", "NIN １２３４５６７８９０１ tel ٠٨٠٣٥٥٥٧٨٩٠", "NIN [NIN:de11776532b6f1b0] tel [PHONE:53bb10448ce546a9]"},
		{"", "+234 803 555 7890", "[PHONE:53bb10448ce546a9]"},
		{"", "234-803-555-7890", "[PHONE:53bb10448ce546a9]"},
		{"", "Fatima, FATIMA and Fátima", "[NAME:55f38486de2964ef], [NAME:55f38486de2964ef] and [NAME:55f38486de2964ef]"},
		{"", "NIN 1234\u200b5678\u200b901", "NIN [NIN:de11776532b6f1b0]"},
		{"", "call (0803) 555 7890 now", "call [PHONE:53bb10448ce546a9] now"},
		{"", "(call 0803 555 7890)", "(call [PHONE:53bb10448ce546a9])"},
	} {
		res := guard.Scan(t.Context(), request(func(r *guard.Request) { r.Text, r.Scheme = c.text, c.scheme }))
		if res.Denied || res.Text != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.scheme, c.text, res.Text, c.want)
		}
	}
}

// The published scheme spells an international number as it is written.
func TestPublishedSchemeKeepsSpellings(t *testing.T) {
	scan := func(scheme, text string) string {
		return guard.Scan(t.Context(), request(func(r *guard.Request) { r.Text, r.Scheme = text, scheme })).Text
	}
	if scan("v1", "+234 803 555 7890") == scan("v1", "0803 555 7890") {
		t.Error("v1 gives one token to two spellings")
	}
	if scan("v1", "NIN １２３４５６７８９０１") == scan("v1", "NIN 12345678901") {
		t.Error("v1 folds digits")
	}
}

// A value that was found once goes wherever else it stands.
func TestKnownValuesGoEverywhere(t *testing.T) {
	for doc, want := range map[string]string{
		"TIN 1234567890, see file 1234567890.":         "TIN [TIN:6323f566a31c2440], see file [TIN:6323f566a31c2440].",
		"in 1234567890 or x1234567890: TIN 1234567890": "in [TIN:6323f566a31c2440] or x1234567890: TIN [TIN:6323f566a31c2440]",
	} {
		res := guard.Scan(t.Context(), request(func(r *guard.Request) { r.Text = doc }))
		if res.Text != want {
			t.Errorf("%q:\n got %s\nwant %s", doc, res.Text, want)
		}
	}
}

func TestMetadata(t *testing.T) {
	res := guard.Scan(t.Context(), request(func(r *guard.Request) {
		r.Provider, r.CrossesBorder, r.TransferBasis, r.Text = to("mistral"), true, "explicit_consent", "[NIN:de11776532b6f1b0] again"
	}))
	got := map[string]any{}
	for k, v := range res.Metadata.All() {
		got[k] = v
	}
	delete(got, "uncovered_categories")
	want := map[string]any{
		"statute_id": "NDPA-2023", "provider": to("mistral"), "crosses_border": true, "transfer_basis": "explicit_consent",
		"coverage": "partial", "token_scheme": "v2", "placeholders_in_input": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestPlaceholdersHideNothing(t *testing.T) {
	for doc, leak := range map[string]string{
		"[CARD:4111111111111111]":       "4111111111111111", // a value in the place of a token
		"[NIN:12345678901] came":        "12345678901",
		"[NOSUCH:de11776532b6f1b0] x":   "",
		"[NAME:de11776532b6f1b0":        "",
		"[NAME:de11776532b6f1b0] Musa.": "Musa",
	} {
		res := guard.Scan(t.Context(), request(func(r *guard.Request) { r.Text = doc }))
		if res.Denied || leak != "" && strings.Contains(res.Text, leak) {
			t.Errorf("%q gives %q", doc, res.Text)
		}
	}
}

func TestRecordHoldsNoText(t *testing.T) {
	req := request(func(*guard.Request) {})
	res := guard.Scan(t.Context(), req)
	at := time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)
	subject, body := guard.Record(req, res, at)
	raw, err := canon.Indent(body)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "input": "INPUT",
  "statute": "NDPA-2023",
  "jurisdiction": "NG",
  "verdict": "partial",
  "counts": {
    "PII-2-NIN": 1,
    "PII-3-PHONE": 1
  },
  "denied": false
}`
	input := body.Value("input").(string)
	if diff := cmp.Diff(strings.Replace(want, "INPUT", input, 1), string(raw)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if len(input) != 64 || !strings.HasPrefix(subject, "scan:blake3:") {
		t.Errorf("input %q, subject %q", input, subject)
	}
	other := req
	other.Key = "other"
	if _, b := guard.Record(other, res, at); b.Value("input") == input {
		t.Error("the digest does not depend on the key")
	}
	if s, _ := guard.Record(req, res, at.Add(time.Second)); s == subject {
		t.Error("two scans have one subject")
	}
	if s, b := guard.Record(request(func(r *guard.Request) { r.Key = "" }), &guard.Result{Denied: true}, at); b.Value("input") != nil || s == subject {
		t.Errorf("without a key: %v", b.Value("input"))
	}
}
