package arctest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

// VolatileKeys differ between two runs of the same calls.
var VolatileKeys = []string{"recorded_at", "attestation", "arche_core_version"}

// ProseKeys hold text that every program words its own way.
var ProseKeys = []string{"notes", "note", "purpose", "why", "reason", "policy_reason"}

var entityName = regexp.MustCompile(`^(ent_[0-9a-z]{8,}|ent#\d+)$`)

// TextOf is a text of an object, "" when there is none.
func TextOf(o *canon.Object, key string) string { s, _ := o.Value(key).(string); return s }

// Comparison compares a wanted answer with one got: numbers by value, objects
// by the wanted keys, entity ids up to one renaming over all its comparisons.
type Comparison struct {
	ignore []string
	names  map[string]string // wanted entity id -> got
}

// NewComparison begins a scenario: nothing is renamed yet, nothing ignored.
func NewComparison() *Comparison { return &Comparison{names: map[string]string{}} }

// Diff names the first place where got differs from want, "" when none does.
// Keys and dotted paths (* is any part) to ignore hold for this comparison.
func (c *Comparison) Diff(want, got any, ignore ...string) string {
	c.ignore = ignore
	return c.diff(want, got, "")
}

func (c *Comparison) ignored(path string) bool {
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
func (c *Comparison) diff(want, got any, path string) string {
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
			return fmt.Sprintf("%s: want %q, got %s", path, Clip(w), Show(got))
		}
	case *canon.Object:
		return c.diffObject(w, got, path)
	case []any:
		return c.diffArray(w, got, path)
	case canon.Number:
		g, ok := got.(canon.Number)
		if !ok || math.Abs(w.Float()-g.Float()) > 1e-9*math.Max(1, math.Abs(w.Float())) {
			return fmt.Sprintf("%s: want %s, got %s", path, w, Show(got))
		}
	default:
		if want != got {
			return fmt.Sprintf("%s: want %v, got %s", path, want, Show(got))
		}
	}
	return ""
}

func (c *Comparison) rename(want, got, path string) string {
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

func (c *Comparison) diffObject(want *canon.Object, got any, path string) string {
	g, ok := got.(*canon.Object)
	if !ok {
		return fmt.Sprintf("%s: want an object, got %s", path, Show(got))
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
func (c *Comparison) diffByEntity(want, got *canon.Object, path string) string {
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
			trial := &Comparison{ignore: c.ignore, names: maps.Clone(c.names)}
			if trial.rename(k, g, path) == "" && trial.diff(w, v, join(path, "ent")) == "" {
				c.names, found = trial.names, true
				break
			}
		}
		if !found {
			return fmt.Sprintf("%s: no entity like %s", path, Show(w))
		}
	}
	return ""
}

func (c *Comparison) diffArray(want []any, got any, path string) string {
	g, ok := got.([]any)
	if !ok {
		return fmt.Sprintf("%s: want a list, got %s", path, Show(got))
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
				ids = append(ids, TextOf(r, "record_id"))
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

// Show is an answer as text, cut to what a message can hold.
func Show(v any) string {
	b, err := canon.Compact(v)
	if err != nil {
		return err.Error()
	}
	return Clip(string(b))
}

// Clip cuts a text to what a message can hold.
func Clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}
