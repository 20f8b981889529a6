// Package arctest is support for tests: golden scenarios, a fixed clock, and
// comparison of answers with recorded ones.
package arctest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
)

// Vector is one line of a golden file: a single call, or a scenario of steps.
type Vector struct {
	ID    string
	Raw   *canon.Object // the whole line
	Fault string        // a defect of the reference that the vector records
	Prose bool          // prose is compared too
	Env   *canon.Object
	Steps []Step
}

// Step is one call with the answer that was recorded.
type Step struct {
	Raw    *canon.Object
	Tool   string
	Args   *canon.Object
	Want   any
	Ignore []string
}

// Root is the module's root folder.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
}

// Vectors reads testdata/golden/NAME.
func Vectors(t testing.TB, name string) []Vector {
	t.Helper()
	f, err := os.Open(filepath.Join(Root(t), "testdata", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []Vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		o, err := canon.ParseObject(lines.Bytes(), canon.Limits{NonFinite: true, Depth: 4096})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, vector(o))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func vector(o *canon.Object) Vector {
	v := Vector{Raw: o, ID: TextOf(o, "id"), Fault: TextOf(o, "fault")}
	if tags, _ := o.Value("tags").([]any); slices.Contains(tags, any("ref-defect")) {
		v.Fault = "ref-defect"
	}
	v.Prose, _ = o.Value("prose").(bool)
	v.Env, _ = o.Value("env").(*canon.Object)
	if list, ok := o.Value("steps").([]any); ok {
		for _, s := range list {
			v.Steps = append(v.Steps, step(s.(*canon.Object)))
		}
		return v
	}
	v.Steps = []Step{step(o)}
	return v
}

func step(o *canon.Object) Step {
	s := Step{Raw: o, Want: o.Value("want"), Tool: TextOf(o, "tool")}
	s.Args, _ = o.Value("args").(*canon.Object)
	list, _ := o.Value("ignore").([]any)
	for _, p := range list {
		s.Ignore = append(s.Ignore, p.(string))
	}
	return s
}

// Call runs a tool; its answer is anything canon can write.
type Call func(tool string, args *canon.Object) (any, error)

// Run plays a vector and returns the first disagreement, nil when there is none.
func (v *Vector) Run(call Call) error {
	c := NewComparison()
	var answers []any
	for n, s := range v.Steps {
		args, err := Fill(s.Args, answers)
		if err != nil {
			return fmt.Errorf("step %d (%s): %w", n, s.Tool, err)
		}
		got, err := call(s.Tool, args.(*canon.Object))
		failed := err != nil
		if want, ok := s.Want.(*canon.Object); ok && want.Has("error") {
			if !failed {
				return fmt.Errorf("step %d (%s): an error was wanted", n, s.Tool)
			}
			answers = append(answers, canon.Obj("error", err.Error()))
			continue
		}
		if failed {
			return fmt.Errorf("step %d (%s): %w", n, s.Tool, err)
		}
		plain, err := plainOf(got)
		if err != nil {
			return fmt.Errorf("step %d (%s): %w", n, s.Tool, err)
		}
		answers = append(answers, plain)
		if d := c.Diff(s.Want, plain, v.Ignored(s)...); d != "" {
			return fmt.Errorf("step %d (%s): %s", n, s.Tool, d)
		}
	}
	return nil
}

// Ignored are the keys and paths that do not count in a step's comparison.
func (v *Vector) Ignored(s Step) []string {
	out := slices.Concat(VolatileKeys, s.Ignore)
	if !v.Prose {
		out = append(out, ProseKeys...)
	}
	return out
}

// plainOf is an answer as a client reads it.
func plainOf(v any) (any, error) {
	text, err := canon.Compact(v)
	if err != nil {
		return nil, err
	}
	return canon.Parse(text, canon.Limits{})
}

// Lookup follows a dotted path ("steps.0.matches.1.decision_id") into answers.
func Lookup(answers []any, path string) (any, error) {
	var at any = canon.Obj("steps", answers)
	for part := range strings.SplitSeq(path, ".") {
		switch x := at.(type) {
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(x) {
				return nil, fmt.Errorf("no element %s in %s", part, path)
			}
			at = x[n]
		case *canon.Object:
			v, ok := x.Get(part)
			if !ok {
				return nil, fmt.Errorf("no key %s in %s", part, path)
			}
			at = v
		default:
			return nil, fmt.Errorf("%s leads into a value", path)
		}
	}
	return at, nil
}

// Fill replaces {"$ref": path} by that part of an earlier answer.
func Fill(v any, answers []any) (any, error) {
	switch x := v.(type) {
	case *canon.Object:
		if ref, ok := x.Value("$ref").(string); ok && x.Len() == 1 {
			return Lookup(answers, ref)
		}
		out := canon.NewObject()
		for k, e := range x.All() {
			f, err := Fill(e, answers)
			if err != nil {
				return nil, err
			}
			out.Set(k, f)
		}
		return out, nil
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			f, err := Fill(e, answers)
			if err != nil {
				return nil, err
			}
			out[i] = f
		}
		return out, nil
	}
	return v, nil
}

// Play plays a vector without comparing and returns every answer, an error as
// {"error": message}.
func (v *Vector) Play(call Call) ([]any, error) {
	var answers []any
	for n, s := range v.Steps {
		args, err := Fill(s.Args, answers)
		if err != nil {
			return answers, fmt.Errorf("step %d (%s): %w", n, s.Tool, err)
		}
		got, err := call(s.Tool, args.(*canon.Object))
		if err != nil {
			answers = append(answers, canon.Obj("error", err.Error()))
			continue
		}
		plain, err := plainOf(got)
		if err != nil {
			return answers, err
		}
		answers = append(answers, plain)
	}
	return answers, nil
}
