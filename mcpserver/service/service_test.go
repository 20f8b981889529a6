package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/mcpserver/service"
	"github.com/arche-ledger/arche/resolve"
)

// start serves over a ledger in memory that holds one match and one review.
func start(t *testing.T, opts service.Options) (*httptest.Server, *resolve.Result) {
	t.Helper()
	l, err := ledger.Open("duckdb:///:memory:", ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	records := func(prefix, form string) []*canon.Object {
		return []*canon.Object{
			canon.Obj("id", prefix+"1", "name", "Kijani Tea Exporters "+form, "city", "Nairobi"),
			canon.Obj("id", prefix+"2", "name", "Central Cooperative Society", "city", "Nakuru"),
		}
	}
	res, err := l.Compare(t.Context(), resolve.Request{A: records("s", "Ltd"), B: records("r", "Limited"), Entity: "organisation", Threshold: 0.7, IDField: "id"})
	if err != nil {
		t.Fatal(err)
	}
	protection := mcpserver.NewProtection(mcpserver.ProtectOptions{HashKey: "demo-key", Ledger: l})
	opts.Ledger = l
	opts.Server = mcpserver.New(mcpserver.Options{Ledger: l, Protection: protection})
	srv := httptest.NewServer(service.New(opts))
	t.Cleanup(srv.Close)
	return srv, res
}

// fetch sends one request and returns status and body.
func fetch(t *testing.T, srv *httptest.Server, method, path, body string, header ...string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, b
}

func object(t *testing.T, b []byte) *canon.Object {
	t.Helper()
	o, err := canon.ParseObject(b, canon.Limits{})
	if err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return o
}

func TestReadingRoutes(t *testing.T) {
	srv, res := start(t, service.Options{})
	id := url.PathEscape(res.Edges[0].DecisionID)
	for path, want := range map[string]map[string]any{
		"/livez":                    {"ok": true},
		"/capabilities":             {"ledger": true},
		"/decision/" + id:           {"identity": "match", "action": "merge"},
		"/explain/" + id:            {"identity": "match"},
		"/entities":                 {"count": canon.Number("1")},
		"/cases":                    {"count": canon.Number("1")},
		"/cases?entity_type=person": {"count": canon.Number("0")},
		"/cases?limit=1":            {"truncated": false, "returned": canon.Number("1")},
	} {
		code, body := fetch(t, srv, "GET", path, "")
		if code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
			continue
		}
		o := object(t, body)
		for k, v := range want {
			if o.Value(k) != v {
				t.Errorf("%s: %s is %v, want %v", path, k, o.Value(k), v)
			}
		}
		if strings.Contains(string(body), "Kijani") {
			t.Errorf("%s answers a record's value", path)
		}
	}
}

func TestCompare(t *testing.T) {
	srv, _ := start(t, service.Options{})
	body := `{"a":{"name":"Kijani Tea Exporters Ltd"},"b":{"name":"Kijani Tea Exporters Limited"},"entity":"organisation"}`
	code, got := fetch(t, srv, "POST", "/compare", body)
	if code != 200 {
		t.Fatalf("%d %s", code, got)
	}
	o := object(t, got)
	if o.Value("recorded") != false || o.Value("identity") == nil || !strings.Contains(canon.Text(o.Value("decision_id")), ":sha256:") {
		t.Errorf("answer %s", got)
	}
	if code, _ := fetch(t, srv, "GET", "/decision/"+url.PathEscape(canon.Text(o.Value("decision_id"))), ""); code != 404 {
		t.Errorf("a pair that was not to be stored: decision answers %d", code)
	}
}

// TestComparedAndStored: a stored pair is a decision like any other, by the
// caller, and comparing again adds nothing.
func TestComparedAndStored(t *testing.T) {
	srv, _ := start(t, service.Options{})
	body := `{"a":{"id":"p1","name":"Adaeze Okonkwo","phone":"+2348031234567"},"b":{"id":"p2","name":"Adaeze OKONKWO","phone":"+2348031234567"},"store":true}`
	var first string
	for range 2 {
		code, got := fetch(t, srv, "POST", "/compare", body, "X-Arche-Caller", strings.Repeat("clerk", 40))
		o := object(t, got)
		if code != 200 || o.Value("recorded") != true || first != "" && string(got) != first {
			t.Fatalf("%d %s", code, got)
		}
		first = string(got)
	}
	id := url.PathEscape(canon.Text(object(t, []byte(first)).Value("decision_id")))
	_, got := fetch(t, srv, "GET", "/decision/"+id, "")
	if o := object(t, got); o.Value("verb") != "compare" || !strings.Contains(string(got), `"p2"`) {
		t.Errorf("decision %s", got)
	}
	if _, got := fetch(t, srv, "GET", "/replay/"+id, ""); object(t, got).Value("reproduced") != true {
		t.Errorf("replay %s", got)
	}
	same := `{"a":{"name":"Adaeze Okonkwo"},"b":{"name":"Adaeze Okonkwo"},"store":true}`
	if code, got := fetch(t, srv, "POST", "/compare", same); code != 200 || object(t, got).Value("recorded") != false {
		t.Errorf("a record with itself: %d %s", code, got)
	}
}

// TestStoreNeedsALedger: what can't be recorded is not answered as if it were.
func TestStoreNeedsALedger(t *testing.T) {
	srv := httptest.NewServer(service.New(service.Options{Server: mcpserver.New(mcpserver.Options{})}))
	defer srv.Close()
	code, got := fetch(t, srv, "POST", "/compare", `{"a":{"name":"x"},"b":{"name":"y"},"store":true}`)
	if code != 503 || !strings.Contains(string(got), "no ledger configured") {
		t.Errorf("%d %s", code, got)
	}
}

const note = "Patient Casey Example (NIN 12345678901) called from 0803 555 7890."

func TestProtectionRoutes(t *testing.T) {
	srv, _ := start(t, service.Options{})
	ask := func(path, body string, code int) *canon.Object {
		t.Helper()
		got, b := fetch(t, srv, "POST", path, body)
		if got != code {
			t.Fatalf("%s: %d %s", path, got, b)
		}
		return object(t, b)
	}
	found := ask("/detect", `{"text":"`+note+`","jurisdiction":"NG"}`, 200)
	first, _ := found.Value("detections").([]any)[0].(*canon.Object)
	if found.Value("count") != canon.Number("2") || first.Value("category") != "PII-2-NIN" || first.Value("detector") == "" {
		t.Errorf("detect: %v", first)
	}
	redacted := ask("/deidentify", `{"text":"`+note+`","jurisdiction":"NG"}`, 200)
	want := "Patient Casey Example (NIN [NIN:de11776532b6f1b0]) called from [PHONE:53bb10448ce546a9]."
	if redacted.Value("text") != want || redacted.Value("statute") != "NDPA-2023" || redacted.Value("count") != canon.Number("2") {
		t.Errorf("deidentify: %v", redacted.Value("text"))
	}
	refused := ask("/deidentify", `{"text":"`+note+`","jurisdiction":"US"}`, 400)
	if !strings.Contains(canon.Text(refused.Value("detail")), "US") && refused.Value("detail") == "" {
		t.Errorf("deidentify without a statute: %v", refused.Value("detail"))
	}
	places := ask("/places", `{"text":"Send it from 123 Maple Street to 124 Elim Street. É"}`, 200)
	mention, _ := places.Value("mentions").([]any)[0].(*canon.Object)
	if mention.Value("text") != "123 Maple Street" || mention.Value("role") != "origin" {
		t.Errorf("places: %v", mention)
	}
	entities := ask("/extract", `{"text":"Adesola Okonkwo of Kijani Tea Exporters Ltd, Nairobi"}`, 200)
	if entities.Value("backend") != "basic" || entities.Value("count") == canon.Number("0") {
		t.Errorf("extract: %v", entities.Value("count"))
	}
}

func TestRefusals(t *testing.T) {
	srv, _ := start(t, service.Options{})
	long := fmt.Sprintf(`{"text":%q}`, strings.Repeat("a", mcpserver.MaxBody))
	tests := []struct {
		name, method, path, body string
		header                   []string
		code                     int
		detail                   string
	}{
		{"unknown route", "GET", "/nope", "", nil, 404, `"Not Found"`},
		{"other method", "GET", "/compare", "", nil, 405, `"Method Not Allowed"`},
		{"unknown decision", "GET", "/decision/x", "", nil, 404, `"no decision 'x' in this ledger"`},
		{"not JSON", "POST", "/compare", "{", nil, 422, `expected an object key`},
		{"no body", "POST", "/compare", "", []string{"Content-Type", "application/json"}, 422, `the body must be a JSON object`},
		{"array", "POST", "/compare", "[]", nil, 422, `the body must be a JSON object`},
		{"other content type", "POST", "/compare", "{}", []string{"Content-Type", "text/plain"}, 422, `content type must be application/json`},
		{"missing", "POST", "/compare", `{"a":{}}`, nil, 422, `argument b is missing`},
		{"unknown argument", "POST", "/compare", `{"a":{},"b":{},"c":"secret"}`, nil, 422, `unknown argument \"c\"`},
		{"unknown query", "GET", "/path?record_a=x&record_b=y", "", nil, 404, `no record`},
		{"unknown pack", "POST", "/compare", `{"a":{"name":"x"},"b":{"name":"x"},"entity":"people"}`, nil, 400, `people`},
		{"too large", "POST", "/detect", long, nil, 413, `larger than the limit`},
		{"foreign host", "GET", "/entities", "", []string{"Host", "evil.example"}, 421, `Invalid Host header`},
		{"foreign origin", "POST", "/compare", `{}`, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, body := fetch(t, srv, tt.method, tt.path, tt.body, tt.header...)
			if code != tt.code || !strings.Contains(string(body), tt.detail) || strings.Contains(string(body), "secret") {
				t.Errorf("%d %s, want %d with %s", code, body, tt.code, tt.detail)
			}
		})
	}
}

func TestWithoutLedger(t *testing.T) {
	srv := httptest.NewServer(service.New(service.Options{Server: mcpserver.New(mcpserver.Options{})}))
	defer srv.Close()
	code, body := fetch(t, srv, "GET", "/cases", "")
	if code != 503 || !strings.Contains(string(body), "no ledger configured: pass --ledger FILE or set ARCHE_LEDGER") {
		t.Errorf("%d %s", code, body)
	}
}

func TestTokenAndAttestation(t *testing.T) {
	key, err := attest.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	srv, _ := start(t, service.Options{Token: "0123456789abcdef", Signer: attest.NewSigner(key, attest.Options{Engine: "test"})})
	body := `{"a":{"name":"Kijani Tea"},"b":{"name":"Kijani Tea"},"entity":"organisation"}`
	if code, _ := fetch(t, srv, "POST", "/compare", body); code != 401 {
		t.Errorf("without a token: %d", code)
	}
	if code, _ := fetch(t, srv, "GET", "/livez", ""); code != 200 {
		t.Errorf("livez asks for a token")
	}
	code, got := fetch(t, srv, "POST", "/compare", body, "Authorization", "Bearer 0123456789abcdef", "X-Arche-Caller", " ada ")
	if code != 200 {
		t.Fatalf("%d %s", code, got)
	}
	answer := object(t, got)
	envelope, ok := answer.Value("attestation").(*canon.Object)
	if !ok || envelope.Value("caller") != "ada" || envelope.Value("tool") != "compare" {
		t.Fatalf("envelope %v", answer.Value("attestation"))
	}
	signed := answer.Clone()
	signed.Delete("attestation")
	hash, err := canon.PublishedHash(signed)
	if err != nil {
		t.Fatal(err)
	}
	if envelope.Value("response_sha256") != hash {
		t.Errorf("the envelope covers %v, the answer hashes to %s", envelope.Value("response_sha256"), hash)
	}
}

// TestPage: the page and its files come from this server alone, under a policy
// that lets a browser fetch nothing else.
func TestPage(t *testing.T) {
	srv, _ := start(t, service.Options{Token: "0123456789abcdef"})
	remote := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]`)
	for path, kind := range map[string]string{"/": "text/html", "/page.js": "text/javascript", "/page.css": "text/css"} {
		req, err := http.NewRequestWithContext(context.Background(), "GET", srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), kind) {
			t.Errorf("%s: %d %s", path, res.StatusCode, res.Header.Get("Content-Type"))
		}
		if !strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: policy %q", path, res.Header.Get("Content-Security-Policy"))
		}
		if m := remote.Find(b); m != nil {
			t.Errorf("%s names %s", path, m)
		}
		if strings.Contains(string(b), "innerHTML") {
			t.Errorf("%s writes markup from answers", path)
		}
	}
}

func TestCapabilitiesNamesRoutes(t *testing.T) {
	srv, _ := start(t, service.Options{})
	_, body := fetch(t, srv, "GET", "/capabilities", "")
	var got struct{ Endpoints []string }
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"GET /livez", "GET /capabilities", "POST /detect", "POST /extract", "POST /deidentify", "POST /places", "POST /compare",
		"GET /decision/{decision_id}", "GET /explain/{decision_id}", "GET /replay/{decision_id}",
		"GET /entities", "GET /cases", "GET /path",
	}
	if diff := cmp.Diff(want, got.Endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}
