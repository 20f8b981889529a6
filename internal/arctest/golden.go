// Package arctest is support for tests: golden scenarios, a fixed clock, and
// comparison of answers with recorded ones.
package arctest

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
)

// Vector is one line of a golden file: a single call, or a scenario of steps.
type Vector struct {
	ID    string
	Fault string // a defect of the reference that the scenario records
	Prose bool   // prose is compared too
	Env   *canon.Object
	Steps []Step
}

// Step is one call with the answer that was recorded.
type Step struct {
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
		if len(lines.Bytes()) == 0 {
			continue
		}
		o, err := canon.ParseObject(lines.Bytes(), canon.Limits{NonFinite: true})
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
	v := Vector{}
	v.ID, _ = o.Value("id").(string)
	v.Fault, _ = o.Value("fault").(string)
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
	s := Step{Want: o.Value("want")}
	s.Tool, _ = o.Value("tool").(string)
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
	m := &matcher{names: map[string]string{}, prose: v.Prose}
	var answers []any
	for n, s := range v.Steps {
		args, err := fill(s.Args, answers)
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
		m.ignore = s.Ignore
		if d := m.diff(s.Want, plain, ""); d != "" {
			return fmt.Errorf("step %d (%s): %s", n, s.Tool, d)
		}
	}
	return nil
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
			if err != nil || n >= len(x) {
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

func fill(v any, answers []any) (any, error) {
	switch x := v.(type) {
	case *canon.Object:
		if ref, ok := x.Value("$ref").(string); ok && x.Len() == 1 {
			return Lookup(answers, ref)
		}
		out := canon.NewObject()
		for k, e := range x.All() {
			f, err := fill(e, answers)
			if err != nil {
				return nil, err
			}
			out.Set(k, f)
		}
		return out, nil
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			f, err := fill(e, answers)
			if err != nil {
				return nil, err
			}
			out[i] = f
		}
		return out, nil
	}
	return v, nil
}

var (
	volatileKeys = []string{"recorded_at", "attestation", "arche_core_version"}
	proseKeys    = []string{"notes", "note", "purpose", "why", "reason", "policy_reason"}
	entityName   = regexp.MustCompile(`^(ent_[0-9a-z]{8,}|ent#\d+)$`)
)

// matcher compares a wanted answer with a given one. Entity ids agree up to one
// renaming over a whole scenario.
type matcher struct {
	names  map[string]string
	ignore []string
	prose  bool
}

func (m *matcher) ignored(path string) bool {
	key := path[strings.LastIndexByte(path, '.')+1:]
	if slices.Contains(volatileKeys, key) || !m.prose && slices.Contains(proseKeys, key) {
		return true
	}
	for _, p := range m.ignore {
		rx := "^" + strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `[^.]*`) + `(\.|$)`
		if ok, _ := regexp.MatchString(rx, path); ok || !strings.Contains(p, ".") && key == p {
			return true
		}
	}
	return false
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (m *matcher) diff(want, got any, path string) string {
	if path != "" && m.ignored(path) {
		return ""
	}
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		if ok && entityName.MatchString(w) && entityName.MatchString(g) {
			return m.bind(w, g, path)
		}
		if !ok || w != g {
			return fmt.Sprintf("%s: want %q, got %v", path, w, short(got))
		}
	case *canon.Object:
		g, ok := got.(*canon.Object)
		if !ok {
			return fmt.Sprintf("%s: want an object, got %v", path, short(got))
		}
		return m.objects(w, g, path)
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return fmt.Sprintf("%s: want %d items, got %v", path, len(w), short(got))
		}
		if path == "entities" {
			w, g = byMembers(w), byMembers(g)
		}
		for i := range w {
			if d := m.diff(w[i], g[i], join(path, strconv.Itoa(i))); d != "" {
				return d
			}
		}
	case canon.Number:
		g, ok := got.(canon.Number)
		if !ok || math.Abs(w.Float()-g.Float()) > 1e-9*max(1, math.Abs(w.Float())) {
			return fmt.Sprintf("%s: want %s, got %v", path, w, short(got))
		}
	default:
		if want != got {
			return fmt.Sprintf("%s: want %v, got %v", path, want, short(got))
		}
	}
	return ""
}

func short(v any) string {
	text, err := canon.Compact(v)
	if err != nil {
		return err.Error()
	}
	if len(text) > 300 {
		text = append(text[:300], "..."...)
	}
	return string(text)
}

func (m *matcher) bind(w, g, path string) string {
	bound, ok := m.names[w]
	if ok && bound != g {
		return fmt.Sprintf("%s: want the entity %s, got %s", path, bound, g)
	}
	if !ok {
		for _, other := range m.names {
			if other == g {
				return fmt.Sprintf("%s: want an entity not seen before, got %s", path, g)
			}
		}
	}
	m.names[w] = g
	return ""
}

func (m *matcher) objects(w, g *canon.Object, path string) string {
	if keys := w.Keys(); len(keys) > 0 && !slices.ContainsFunc(keys, func(k string) bool { return !entityName.MatchString(k) }) {
		return m.byEntity(w, g, path)
	}
	for k, v := range w.All() {
		p := join(path, k)
		if m.ignored(p) {
			continue
		}
		x, ok := g.Get(k)
		if !ok {
			return p + ": missing"
		}
		if d := m.diff(v, x, p); d != "" {
			return d
		}
	}
	return ""
}

// byEntity compares an object keyed by entity ids, all bound by earlier steps.
func (m *matcher) byEntity(w, g *canon.Object, path string) string {
	if w.Len() != g.Len() {
		return fmt.Sprintf("%s: want %d entities, got %d", path, w.Len(), g.Len())
	}
	for k, v := range w.All() {
		name, ok := m.names[k]
		if !ok && w.Len() == 1 {
			name = g.Keys()[0]
			m.names[k] = name
		}
		if d := m.diff(v, g.Value(name), path+".ent"); d != "" {
			return d
		}
	}
	return ""
}

func byMembers(list []any) []any {
	ids := func(e any) (int, string) {
		o, _ := e.(*canon.Object)
		recs, _ := o.Value("records").([]any)
		var all []string
		for _, r := range recs {
			if ro, ok := r.(*canon.Object); ok {
				id, _ := ro.Value("record_id").(string)
				all = append(all, id)
			}
		}
		slices.Sort(all)
		return len(recs), strings.Join(all, " ")
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b any) int {
		na, ta := ids(a)
		nb, tb := ids(b)
		if na != nb {
			return nb - na
		}
		return strings.Compare(ta, tb)
	})
	return out
}

// Play plays a vector without comparing and returns every answer, an error as
// {"error": message}.
func (v *Vector) Play(call Call) ([]any, error) {
	var answers []any
	for n, s := range v.Steps {
		args, err := fill(s.Args, answers)
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
