package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
	"github.com/arche-ledger/arche/jurisdiction"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/mcpserver"
)

const protectedNote = "Patient Casey Example (NIN 12345678901) called from 0803 555 7890."

// protect calls a protection tool under a policy and returns the answer as it
// is sent.
func protect(t *testing.T, o mcpserver.ProtectOptions, tool string, args map[string]any) (map[string]any, *fault.Error) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	opts := mcpserver.Options{Protection: mcpserver.NewProtection(o), Ledger: o.Ledger}
	reply, err := mcpserver.New(opts).Call(context.Background(), tool, raw)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Fault != nil {
		return nil, reply.Fault
	}
	sent, err := canon.Indent(reply.Value)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(sent, &answer); err != nil {
		t.Fatal(err)
	}
	return answer, nil
}

// TestCeilingRule: whatever a call names, it runs under the operator's policy.
func TestCeilingRule(t *testing.T) {
	o := mcpserver.ProtectOptions{HashKey: "demo-key", Ceiling: jurisdiction.Ceiling{Jurisdiction: "NG", Statute: "NDPA-2023"}}
	for _, code := range []any{nil, "US", "GB", "", "nowhere"} {
		for tool, key := range map[string]string{"plan_protection": "", "detect_pii": "coverage", "guarded_scan": "coverage"} {
			args := map[string]any{"jurisdiction": code}
			if tool == "plan_protection" {
				args["statute"] = "BASELINE"
			} else {
				args["text"] = protectedNote
			}
			answer, f := protect(t, o, tool, args)
			if f != nil {
				t.Fatalf("%s: %v", tool, f)
			}
			if key != "" {
				answer = answer[key].(map[string]any)
			}
			if answer["statute_id"] != "NDPA-2023" || answer["jurisdiction"] != "NG" {
				t.Errorf("%s with jurisdiction %v runs under %v in %v", tool, code, answer["statute_id"], answer["jurisdiction"])
			}
		}
	}
}

// TestProtectionAnswersNoValues: no answer and no error repeats a piece of the
// text, or of an argument that could be one.
func TestProtectionAnswersNoValues(t *testing.T) {
	o := mcpserver.ProtectOptions{HashKey: "demo-key"}
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"infer_jurisdiction", map[string]any{"text": protectedNote}},
		{"detect_pii", map[string]any{"text": protectedNote, "jurisdiction": "NG"}},
		{"detect_entities", map[string]any{"text": protectedNote}},
		{"guarded_scan", map[string]any{"text": protectedNote, "jurisdiction": "NG"}},
		{"guarded_scan", map[string]any{"text": protectedNote, "jurisdiction": "12345678901"}},
		{"plan_protection", map[string]any{"statute": "12345678901"}},
		{"plan_protection", map[string]any{"statute": "../12345678901"}},
		{"extract_places", map[string]any{"text": "from 12 Long Street, Lagos. " + protectedNote}},
		{"detect_pii", map[string]any{"text": []string{"12345678901"}}},
		{"guarded_scan", map[string]any{"text": protectedNote, "crosses_border": "12345678901"}},
	} {
		answer, f := protect(t, o, c.tool, c.args)
		sent, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		said := string(sent)
		if f != nil {
			said = f.Message + f.Hint
		}
		if c.args["jurisdiction"] == "12345678901" {
			said = strings.ReplaceAll(said, `"jurisdiction":"12345678901"`, "") // the coverage block names what it was asked for
		}
		for _, value := range []string{"12345678901", "0803 555", "Long Street"} {
			if strings.Contains(said, value) {
				t.Errorf("%s: %q in %.300s", c.tool, value, said)
			}
		}
	}
}

func TestProtectFromEnv(t *testing.T) {
	env := map[string]string{"ARCHE_ALLOWED_PROVIDERS": " , ,", "ARCHE_HASH_KEY": " ", "ARCHE_JURISDICTION": "KE"}
	o := mcpserver.ProtectFromEnv(func(name string) string { return env[name] })
	if o.Providers == nil || len(o.Providers) != 0 || o.HashKey != " " || o.Ceiling.Jurisdiction != "KE" {
		t.Errorf("options %+v", o)
	}
	env["ARCHE_ALLOWED_PROVIDERS"] = ""
	if o := mcpserver.ProtectFromEnv(func(name string) string { return env[name] }); o.Providers != nil {
		t.Errorf("an empty list of providers is %q", o.Providers)
	}
}

// TestGuardedScanIsRecorded: a scan and a refusal are events without text.
func TestGuardedScanIsRecorded(t *testing.T) {
	l := memory(t)
	at := time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)
	o := mcpserver.ProtectOptions{HashKey: "demo-key", Ledger: l, Clock: func() time.Time { at = at.Add(time.Second); return at }}
	for _, code := range []string{"NG", "US", "NG"} {
		if _, f := protect(t, o, "guarded_scan", map[string]any{"text": protectedNote, "jurisdiction": code}); f != nil {
			t.Fatal(f)
		}
	}
	var bodies []string
	for e, err := range l.Events(t.Context(), ledger.Filter{Kinds: []string{"protection.scanned"}}) {
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, e.BodyText())
	}
	if len(bodies) != 3 {
		t.Fatalf("%d events, want 3", len(bodies))
	}
	if !strings.Contains(bodies[0], `"PII-2-NIN":1`) || !strings.Contains(bodies[1], `"denied":true`) {
		t.Errorf("events %v", bodies)
	}
	for _, b := range bodies {
		if strings.Contains(b, "12345678901") || strings.Contains(b, "Casey") {
			t.Errorf("an event holds text: %s", b)
		}
	}
}
