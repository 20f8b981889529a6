package mcpserver_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/canon"
)

// vector is one line of a golden file: a call, or steps against one server.
type vector struct {
	id    string
	raw   *canon.Object
	steps []*canon.Object
	prose bool // explanatory text is compared too
	fault string
}

// readVectors reads the calls and scenarios of a golden file.
func readVectors(t *testing.T, file string) []vector {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []vector
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		if len(strings.TrimSpace(sc.Text())) == 0 {
			continue
		}
		o, err := canon.ParseObject(sc.Bytes(), canon.Limits{NonFinite: true, Depth: 4096})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		v := vector{id: textOf(o, "id"), raw: o, prose: o.Value("prose") == true, fault: textOf(o, "fault")}
		if strings.Contains(fmt.Sprint(o.Value("tags")), "ref-defect") {
			v.fault = "ref-defect"
		}
		if steps, ok := o.Value("steps").([]any); ok {
			for _, s := range steps {
				v.steps = append(v.steps, s.(*canon.Object))
			}
		} else {
			v.steps = []*canon.Object{o}
		}
		all = append(all, v)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func textOf(o *canon.Object, key string) string { s, _ := o.Value(key).(string); return s }

// fill replaces {"$ref": path} by that part of an earlier answer.
func fill(v any, answers []any) (any, error) {
	switch x := v.(type) {
	case *canon.Object:
		if ref, ok := x.Value("$ref").(string); ok && x.Len() == 1 {
			return lookup(ref, answers)
		}
		out := &canon.Object{}
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

func lookup(path string, answers []any) (any, error) {
	var cur any = canon.Obj("steps", answers)
	for part := range strings.SplitSeq(path, ".") {
		switch x := cur.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil, fmt.Errorf("nothing at %s", path)
			}
			cur = x[i]
		case *canon.Object:
			v, ok := x.Get(part)
			if !ok {
				return nil, fmt.Errorf("nothing at %s", path)
			}
			cur = v
		default:
			return nil, fmt.Errorf("nothing at %s", path)
		}
	}
	return cur, nil
}

var volatileKeys = []string{"recorded_at", "attestation", "arche_core_version"}
var proseKeys = []string{"notes", "note", "purpose", "why", "reason", "policy_reason"}

var entityName = regexp.MustCompile(`(ent_[0-9a-z]{8,}|ent#\d+)$`)

// comparison compares a wanted answer with one got: numbers by value, objects
// by the wanted keys, entity ids up to one renaming.
type comparison struct {
	ignore []string
	names  map[string]string // wanted entity id -> got
}

func (c *comparison) ignored(path string) bool {
	parts := strings.Split(path, ".")
	for _, pattern := range c.ignore {
		if !strings.Contains(pattern, ".") && parts[len(parts)-1] == pattern {
			return true
		}
		want := strings.Split(pattern, ".")
		if len(want) > len(parts) {
			continue
		}
		all := true
		for i, w := range want {
			all = all && (w == "*" || w == parts[i])
		}
		if all {
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

// diff names the first place where got differs from want, "" when none does.
func (c *comparison) diff(want, got any, path string) string {
	if path != "" && c.ignored(path) {
		return ""
	}
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		if ok && entityName.MatchString(w) && entityName.MatchString(g) {
			return c.rename(w, g, path)
		}
		if !ok || g != w {
			return fmt.Sprintf("%s: want %q, got %s", path, clip(w), show(got))
		}
	case *canon.Object:
		return c.diffObject(w, got, path)
	case []any:
		return c.diffArray(w, got, path)
	case canon.Number:
		g, ok := got.(canon.Number)
		if !ok || math.Abs(w.Float()-g.Float()) > 1e-9*math.Max(1, math.Abs(w.Float())) {
			return fmt.Sprintf("%s: want %s, got %s", path, w, show(got))
		}
	default:
		if want != got {
			return fmt.Sprintf("%s: want %v, got %s", path, want, show(got))
		}
	}
	return ""
}

func (c *comparison) rename(want, got, path string) string {
	known, ok := c.names[want]
	if !ok {
		for _, g := range c.names {
			if g == got {
				return fmt.Sprintf("%s: want an entity not seen before, got %s", path, got)
			}
		}
		c.names[want] = got
		return ""
	}
	if known != got {
		return fmt.Sprintf("%s: want the entity %s, got %s", path, known, got)
	}
	return ""
}

func (c *comparison) diffObject(want *canon.Object, got any, path string) string {
	g, ok := got.(*canon.Object)
	if !ok {
		return fmt.Sprintf("%s: want an object, got %s", path, show(got))
	}
	byEntity := want.Len() > 0
	for k := range want.All() {
		byEntity = byEntity && entityName.MatchString(k)
	}
	if byEntity {
		return c.diffByEntity(want, g, path)
	}
	for k, w := range want.All() {
		p := join(path, k)
		if c.ignored(p) {
			continue
		}
		v, there := g.Get(k)
		if !there {
			return p + ": missing"
		}
		if d := c.diff(w, v, p); d != "" {
			return d
		}
	}
	return ""
}

// diffByEntity pairs objects that are keyed by entity ids.
func (c *comparison) diffByEntity(want, got *canon.Object, path string) string {
	if want.Len() != got.Len() {
		return fmt.Sprintf("%s: want %d entities, got %d", path, want.Len(), got.Len())
	}
	for k, w := range want.All() {
		if known, ok := c.names[k]; ok {
			if d := c.diff(w, got.Value(known), join(path, "ent")); d != "" {
				return d
			}
			continue
		}
		found := false
		for g, v := range got.All() {
			trial := &comparison{ignore: c.ignore, names: cloneNames(c.names)}
			if trial.rename(k, g, path) == "" && trial.diff(w, v, join(path, "ent")) == "" {
				c.names, found = trial.names, true
				break
			}
		}
		if !found {
			return fmt.Sprintf("%s: no entity like %s", path, show(w))
		}
	}
	return ""
}

func cloneNames(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (c *comparison) diffArray(want []any, got any, path string) string {
	g, ok := got.([]any)
	if !ok {
		return fmt.Sprintf("%s: want a list, got %s", path, show(got))
	}
	if len(want) != len(g) {
		return fmt.Sprintf("%s: want %d items, got %d", path, len(want), len(g))
	}
	if path == "entities" {
		want, g = byMembers(want), byMembers(g)
	}
	for i := range want {
		if d := c.diff(want[i], g[i], join(path, strconv.Itoa(i))); d != "" {
			return d
		}
	}
	return ""
}

// byMembers orders entities of equal size, which come in no promised order.
func byMembers(entities []any) []any {
	key := func(e any) (int, string) {
		o, _ := e.(*canon.Object)
		records, _ := o.Value("records").([]any)
		var ids []string
		for _, r := range records {
			if r, ok := r.(*canon.Object); ok {
				ids = append(ids, textOf(r, "record_id"))
			}
		}
		slices.Sort(ids)
		return len(records), strings.Join(ids, " ")
	}
	out := slices.Clone(entities)
	slices.SortStableFunc(out, func(a, b any) int {
		an, ak := key(a)
		bn, bk := key(b)
		if an != bn {
			return bn - an
		}
		return strings.Compare(ak, bk)
	})
	return out
}

func show(v any) string {
	b, err := canon.Compact(v)
	if err != nil {
		return err.Error()
	}
	return clip(string(b))
}

func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "..."
	}
	return s
}
