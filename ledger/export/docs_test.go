package export_test

import (
	"database/sql/driver"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/ledger"
)

// blocks are the fenced code blocks of a document in a language.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, part := range strings.Split(string(data), "```"+language+"\n")[1:] {
		code, _, ok := strings.Cut(part, "```")
		if !ok {
			t.Fatalf("%s: a block does not end", file)
		}
		out = append(out, code)
	}
	return out
}

// TestDocumentedQuestions runs the ten questions of docs/views.md.
func TestDocumentedQuestions(t *testing.T) {
	l := work(t)
	var a, b string
	err := l.Query(t.Context(), `SELECT record_a, record_b FROM v_case`, nil, func(v []driver.Value) error {
		a, b = v[0].(string), v[1].(string)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Decide(t.Context(), a, b, ledger.VerdictSame, "seen"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(t.Context(), ledger.ForgetRequest{Addresses: []string{a}, Reason: "asked"}); err != nil {
		t.Fatal(err)
	}
	questions := blocks(t, "views.md", "sql")
	if len(questions) != 10 {
		t.Fatalf("%d questions", len(questions))
	}
	for i, q := range questions {
		rows := 0
		if err := l.Query(t.Context(), q, nil, func([]driver.Value) error { rows++; return nil }); err != nil {
			t.Errorf("question %d: %v\n%s", i+1, err, q)
		}
		if rows == 0 && !strings.Contains(q, "v_case") { // the one case was settled
			t.Errorf("question %d has no answer\n%s", i+1, q)
		}
	}
}

// TestRecipeInPython runs the recipe of docs/verify-an-export.md with the Python
// that ARCHE_PYTHON names (with duckdb and pyjwt[crypto]).
func TestRecipeInPython(t *testing.T) {
	recipe := blocks(t, "verify-an-export.md", "python")
	if len(recipe) != 1 || !strings.Contains(recipe[0], "manifest.jws") {
		t.Fatal("the recipe is gone")
	}
	python := os.Getenv("ARCHE_PYTHON")
	if python == "" {
		t.Skip("ARCHE_PYTHON names no interpreter")
	}
	script := filepath.Join(t.TempDir(), "verify.py")
	if err := os.WriteFile(script, []byte(recipe[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	l := work(t)
	for _, format := range []string{"csv", "jsonl", "parquet", "html", "prov", "dsse"} {
		dir, _ := write(t, l, "decisions", format)
		run := func() ([]byte, error) {
			return exec.CommandContext(t.Context(), python, script, dir, key(t, 1).DID()).CombinedOutput()
		}
		if out, err := run(); err != nil || !strings.HasPrefix(string(out), "OK decisions 3") {
			t.Errorf("%s: %v\n%s", format, err, out)
		}
		name := filepath.Join(dir, "manifest.json")
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := run(); err == nil {
			t.Errorf("%s: the recipe accepts a changed manifest\n%s", format, out)
		}
	}
}
