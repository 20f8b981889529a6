package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const snippet = `package p

import "errors"

const most = 3

func f(a, b int) (int, error) {
	if a < b && a != 0 {
		a++
		return a + b, errors.New("x")
	}
	for i := 0; i < most; i++ {
		a = a - i
	}
	return a, nil
}

func g() bool { return true }
`

func TestMutants(t *testing.T) {
	list, err := mutants("p.go", []byte(snippet))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprintf("%d %s", m.at.Line, m.what))
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", m.apply([]byte(snippet)), 0); err != nil {
			t.Errorf("%s at %v: %v", m.what, m.at, err)
		}
	}
	want := []string{
		"5 one more", "8 negate a condition", "8 <= for <", "8 || for &&", "8 == for !=", "8 one more", "9 leave out a statement",
		"10 - for +", "10 forget an error", "12 one more", "12 never enter a loop", "12 <= for <", "13 leave out a statement", "13 + for -", "18 false for true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestMutateCounts runs the command on a module of one function whose test
// notices some mistakes and not others.
func TestMutateCounts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module example.test\n\ngo 1.26\n",
		"p.go":      "package p\n\nfunc least(a, b int) int {\n\tif a < b {\n\t\treturn a\n\t}\n\treturn b\n}\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestLeast(t *testing.T) {\n\tif least(1, 2) != 1 || least(3, 2) != 2 {\n\t\tt.Error(\"not the least\")\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out bytes.Buffer
	if err := runMutate([]string{"--package", ".", "--count", "0", "--seed", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SURVIVED p.go:4:7: <= for <\n", "1 noticed, 1 survived, 0 do not compile: 50.0 % noticed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if score, bound := scoreOf(90, 10); score != 90 || bound < 5.8 || bound > 5.9 {
		t.Errorf("90 of 100: %v %v", score, bound)
	}
}
