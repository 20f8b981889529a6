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
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/cover"
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

func h(n int) (bool, error) {
	list := make([]int, 2, n+1)
	if _, err := f(n, len(list)); err != nil {
		return true, err
	}
	return true, nil
}
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
		"10 forget an error", "12 one more", "12 never enter a loop", "12 <= for <", "13 leave out a statement", "13 + for -", "18 false for true",
		// The value beside an error that is there, and room, are nobody's matter.
		"21 one more", "22 negate a condition", "22 == for !=", "23 forget an error", "25 false for true",
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
		"go.mod":     "module example.test\n\ngo 1.26\n",
		"p.go":       "package p\n\nfunc least(a, b int) int {\n\tif a < b {\n\t\treturn a\n\t}\n\treturn b\n}\n\nfunc idle(a int) bool { return a == 0 }\n",
		"p_plan9.go": "package p\n\nfunc other(a int) bool { return a == 0 }\n",
		"p_test.go":  "package p\n\nimport \"testing\"\n\nfunc TestLeast(t *testing.T) {\n\tif least(1, 2) != 1 || least(3, 2) != 2 {\n\t\tt.Error(\"not the least\")\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out bytes.Buffer
	if err := runMutate([]string{"--package", ".", "--count", "0", "--seed", "1", "--jobs", "2"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SURVIVED p.go:4:7: <= for <\n", "UNREACHED p.go:10:34: != for ==\n", "1 noticed, 3 survived (2 of them run by no test), 0 do not compile: 25.0 % noticed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if score, bound := scoreOf(90, 10); score != 90 || bound < 5.8 || bound > 5.9 {
		t.Errorf("90 of 100: %v %v", score, bound)
	}
}

// TestPortions: quick tests come alone, and none is lost.
func TestPortions(t *testing.T) {
	var tests []testReach
	for i, ms := range []int{100, 300, 700, 2000, 2500, 9000} {
		tests = append(tests, testReach{name: fmt.Sprint(i), took: time.Duration(ms) * time.Millisecond})
	}
	want := [][]string{{"0", "1", "2"}, {"3", "4"}, {"5"}}
	if diff := cmp.Diff(want, portions(tests)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestReaches: the innermost block around a place tells; a place in none is not known.
func TestReaches(t *testing.T) {
	r := testReach{blocks: map[string][]cover.ProfileBlock{"p.go": {
		{StartLine: 3, StartCol: 20, EndLine: 9, EndCol: 2, Count: 1},
		{StartLine: 4, StartCol: 10, EndLine: 6, EndCol: 3, Count: 0},
	}}}
	for _, c := range []struct {
		line, col  int
		run, known bool
	}{{3, 20, true, true}, {3, 19, false, false}, {4, 10, false, true}, {5, 1, false, true}, {6, 3, true, true}, {9, 1, true, true}, {9, 2, false, false}} {
		run, known := r.reaches(token.Position{Filename: "p.go", Line: c.line, Column: c.col})
		if run != c.run || known != c.known {
			t.Errorf("%d:%d: run %v, known %v", c.line, c.col, run, known)
		}
	}
}
