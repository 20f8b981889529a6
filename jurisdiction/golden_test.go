package jurisdiction_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
)

// vector is one golden case of a tool.
type vector struct {
	ID     string            `json:"id"`
	Tool   string            `json:"tool"`
	Args   map[string]any    `json:"args"`
	Env    map[string]string `json:"env"`
	Want   map[string]any    `json:"want"`
	Ignore []string          `json:"ignore"`
	Tags   []string          `json:"tags"`
	Prose  bool              `json:"prose"`
}

// text returns a text argument; ok is false when it is of another type, which
// is the argument layer's to refuse.
func (v vector) text(name string) (s string, ok bool) {
	switch x := v.Args[name].(type) {
	case nil:
		return "", true
	case string:
		if x == "null" {
			x = ""
		}
		return x, name == "text" || !strings.HasPrefix(x, "{")
	}
	return "", false
}

// vectors reads the golden cases of a tool that are not listed departures.
func vectors(t *testing.T, tool string) []vector {
	t.Helper()
	departures := map[string]string{}
	dir := filepath.Join("..", "testdata", "golden")
	if raw, err := os.ReadFile(filepath.Join(dir, "departures.json")); err == nil {
		if err := json.Unmarshal(raw, &departures); err != nil {
			t.Fatalf("departures.json: %v", err)
		}
	}
	var out []vector
	for _, name := range []string{"detect.jsonl", "seed.jsonl"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var v vector
			if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			if _, departs := departures[v.ID]; v.Tool == tool && !departs && !slices.Contains(v.Tags, "ref-defect") {
				out = append(out, v)
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no golden cases of %s", tool)
	}
	return out
}

// check compares an answer with what a vector wants: every wanted key, numbers
// within 1e-9, prose and ignored keys aside.
func (v vector) check(t *testing.T, answer any) {
	t.Helper()
	raw, err := canon.Indent(answer)
	if err != nil {
		t.Fatalf("%s: encode: %v", v.ID, err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%s: answer is not JSON: %v", v.ID, err)
	}
	skip := append([]string{"attestation"}, v.Ignore...)
	if !v.Prose {
		skip = append(skip, "note", "reason", "policy_reason")
	}
	if d := difference(v.Want, got, "", skip); d != "" {
		t.Errorf("%s: %s", v.ID, d)
	}
}

func difference(want, got any, path string, skip []string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: want an object, got %v", path, got)
		}
		for k, x := range w {
			p := k
			if path != "" {
				p = path + "." + k
			}
			if slices.Contains(skip, k) || slices.Contains(skip, p) {
				continue
			}
			y, ok := g[k]
			if !ok {
				return p + ": missing"
			}
			if d := difference(x, y, p, skip); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s: want %v\n got %v", path, want, got)
		}
		for i := range w {
			if d := difference(w[i], g[i], fmt.Sprintf("%s.%d", path, i), skip); d != "" {
				return d
			}
		}
		return ""
	case float64:
		if g, ok := got.(float64); ok && math.Abs(g-w) <= 1e-9*math.Max(1, math.Abs(w)) {
			return ""
		}
	}
	if want != got {
		return fmt.Sprintf("%s: want %v, got %v", path, want, got)
	}
	return ""
}
