package mcpserver

import (
	"github.com/arche-ledger/arche/internal/canon"
)

// Args are the arguments of one call after the argument layer: of the declared
// kinds, defaults filled in.
type Args struct {
	values map[string]any // by argument name; absent arguments hold their default
	given  map[string]bool
	decl   []Arg
}

// Given reports whether the client sent the argument with a value that is not
// one of the spellings of absent.
func (a *Args) Given(name string) bool { return a.given[name] }

// Raw returns an argument of a Lenient tool as the client sent it, and whether
// it did.
func (a *Args) Raw(name string) (any, bool) {
	v, ok := a.values[name]
	return v, ok && a.given[name]
}

// Text returns a Text or Enum argument, "" when absent without a default.
func (a *Args) Text(name string) string { s, _ := a.values[name].(string); return s }

// OptText returns a Text or Enum argument, nil when absent without a default.
func (a *Args) OptText(name string) *string {
	if s, ok := a.values[name].(string); ok {
		return &s
	}
	return nil
}

// Number returns a Number argument.
func (a *Args) Number(name string) float64 {
	f, _ := a.values[name].(canon.Float)
	return float64(f)
}

// Int returns an Integer argument.
func (a *Args) Int(name string) int { i, _ := a.values[name].(int); return i }

// Bool returns a Bool argument.
func (a *Args) Bool(name string) bool { b, _ := a.values[name].(bool); return b }

// Object returns an Object argument, nil when absent.
func (a *Args) Object(name string) *canon.Object { o, _ := a.values[name].(*canon.Object); return o }

// Objects returns an Objects argument, nil when absent.
func (a *Args) Objects(name string) []*canon.Object {
	o, _ := a.values[name].([]*canon.Object)
	return o
}

// Texts returns a Texts argument, nil when absent.
func (a *Args) Texts(name string) []string { t, _ := a.values[name].([]string); return t }

// Filled returns the arguments as an attestation covers them: every declared
// argument in order, defaults filled in, null for absent ones.
func (a *Args) Filled() *canon.Object {
	o := &canon.Object{}
	for _, d := range a.decl {
		if d.Added && !a.given[d.Name] {
			continue
		}
		o.Set(d.Name, a.values[d.Name])
	}
	return o
}
