package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/internal/fault"
)

// errParams is the protocol error for arguments that are no object at all.
var errParams = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid request parameters: arguments must be an object"}

// decodeArgs is the argument layer: it turns the raw arguments of a call into
// the declared kinds, takes what real clients send for them, fills defaults in
// and names everything that does not fit, never quoting a value. The error is a
// *fault.Error, or a *jsonrpc.Error when raw is no object.
func decodeArgs(tool string, decl []Arg, raw json.RawMessage) (*Args, error) {
	given, err := rawObject(raw)
	if err != nil {
		return nil, err
	}
	a := &Args{values: make(map[string]any, len(decl)), given: make(map[string]bool, len(decl)), decl: decl}
	var problems []string
	for i := range decl {
		d := &decl[i]
		a.values[d.Name] = d.Default
		v, there := given.Get(d.Name)
		if !there || d.absent(v) {
			if d.Required {
				problems = append(problems, fmt.Sprintf("argument %s is missing: it must be %s", d.Name, d.rule()))
			}
			continue
		}
		value, problem := d.convert(v)
		if problem != "" {
			problems = append(problems, fmt.Sprintf("argument %s must be %s", d.Name, problem))
			continue
		}
		a.values[d.Name] = value
		a.given[d.Name] = true
	}
	if unknown := unknownArgs(decl, given); unknown != "" {
		problems = append(problems, unknown)
	}
	if len(problems) > 0 {
		return nil, fault.New(fault.Invalid, "%s", strings.Join(problems, "; ")).WithHint("%s", takes(tool, decl))
	}
	return a, nil
}

// lenientArgs hands the arguments on as they are, for tools whose published
// form refuses them in words of its own.
func lenientArgs(tool string, decl []Arg, raw json.RawMessage) (*Args, error) {
	given, err := rawObject(raw)
	if err != nil {
		return nil, err
	}
	if unknown := unknownArgs(decl, given); unknown != "" {
		return nil, fault.New(fault.Invalid, "%s", unknown).WithHint("%s", takes(tool, decl))
	}
	a := &Args{values: make(map[string]any, len(decl)), given: make(map[string]bool, len(decl)), decl: decl}
	for i := range decl {
		d := &decl[i]
		a.values[d.Name] = d.Default
		if v, there := given.Get(d.Name); there {
			a.values[d.Name], a.given[d.Name] = v, true
		}
	}
	return a, nil
}

// rawObject reads the arguments member: absent and null are {}, JSON text of an
// object is the object.
func rawObject(raw json.RawMessage) (*canon.Object, error) {
	if len(raw) == 0 {
		return &canon.Object{}, nil
	}
	v, err := canon.Parse(raw, canon.Limits{Depth: maxNesting})
	if err != nil {
		return nil, syntaxFault("arguments", err)
	}
	if s, ok := v.(string); ok {
		if inner, err := canon.Parse([]byte(s), canon.Limits{Depth: maxNesting}); err == nil {
			v = inner
		}
	}
	switch x := v.(type) {
	case nil:
		return &canon.Object{}, nil
	case *canon.Object:
		return x, nil
	}
	return nil, errParams
}

func syntaxFault(what string, err error) *fault.Error {
	if syntax, ok := errors.AsType[*canon.SyntaxError](err); ok {
		return fault.New(fault.Invalid, "%s: %s", what, syntax.Error())
	}
	return fault.New(fault.Invalid, "%s: not JSON", what)
}

// unknownArgs names arguments that the tool does not know.
func unknownArgs(decl []Arg, given *canon.Object) string {
	var names []string
	for key := range given.All() {
		known := false
		for i := range decl {
			known = known || decl[i].Name == key
		}
		if !known {
			names = append(names, shortName(key))
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "unknown argument " + names[0]
	}
	if len(names) > 5 {
		names = append(names[:5], fmt.Sprintf("and %d more", len(names)-5))
	}
	return "unknown arguments " + strings.Join(names, ", ")
}

// shortName is a client's own word, quoted, cut to 40 characters.
func shortName(s string) string {
	if utf8.RuneCountInString(s) > 40 {
		s = string([]rune(s)[:40]) + "..."
	}
	return strconv.Quote(s)
}

// takes lists what a tool accepts.
func takes(tool string, decl []Arg) string {
	if len(decl) == 0 {
		return tool + " takes no arguments"
	}
	names := make([]string, len(decl))
	for i := range decl {
		names[i] = decl[i].Name
		if decl[i].Required {
			names[i] += " (required)"
		}
	}
	return tool + " takes: " + strings.Join(names, ", ")
}

// absent reports whether v is one of the spellings of an absent argument.
func (d *Arg) absent(v any) bool {
	if d.Required || !d.Nullable {
		return false
	}
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == "" || x == "null"
	}
	return false
}

// rule words what the argument must be.
func (d *Arg) rule() string {
	empty := ""
	if d.NonEmpty {
		empty = "non-empty "
	}
	switch d.Kind {
	case Enum:
		return "one of " + strings.Join(d.Enum, ", ")
	case Number, Integer:
		return d.numberRule()
	case Bool:
		return "true or false"
	case Object:
		return article(empty) + "object of field: value"
	case Objects:
		return article(empty) + "array of objects"
	case Texts:
		return article(empty) + "array of texts"
	}
	return empty + "text"
}

func article(empty string) string {
	if empty != "" {
		return "a " + empty
	}
	return "an "
}

func (d *Arg) numberRule() string {
	what := "a finite number"
	if d.Kind == Integer {
		what = "an integer"
	}
	switch {
	case d.Min != nil && d.Max != nil:
		return fmt.Sprintf("%s from %s to %s", what, plainNumber(*d.Min), plainNumber(*d.Max))
	case d.Min != nil:
		return fmt.Sprintf("%s of at least %s", what, plainNumber(*d.Min))
	case d.Max != nil:
		return fmt.Sprintf("%s of at most %s", what, plainNumber(*d.Max))
	}
	return what
}

func plainNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// convert makes the declared kind of v or words what it must be.
func (d *Arg) convert(v any) (value any, problem string) {
	switch d.Kind {
	case Text:
		return d.text(v)
	case Enum:
		return d.enum(v)
	case Number:
		return d.number(v)
	case Integer:
		return d.integer(v)
	case Bool:
		return d.boolean(v)
	case Object:
		o, ok := unwrap(v).(*canon.Object)
		if !ok || d.NonEmpty && o.Len() == 0 {
			return nil, d.rule()
		}
		return o, ""
	case Objects:
		return d.objects(v)
	case Texts:
		return d.texts(v)
	}
	return nil, d.rule()
}

func (d *Arg) text(v any) (any, string) {
	s, ok := v.(string)
	if !ok || d.NonEmpty && s == "" {
		return nil, d.rule()
	}
	if d.Nullable && !d.Required && structured(s) {
		return nil, d.rule() + ", not an array or object"
	}
	if d.MaxLen > 0 && len(s) > d.MaxLen {
		return nil, fmt.Sprintf("%s of at most %d bytes", d.rule(), d.MaxLen)
	}
	return s, ""
}

// structured reports whether a short optional text is really JSON of something
// else, which clients produce when they mistake an argument's type.
func structured(s string) bool {
	t := strings.TrimSpace(s)
	return t != "" && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(t))
}

func (d *Arg) enum(v any) (any, string) {
	s, ok := v.(string)
	if !ok {
		return nil, d.rule()
	}
	if slices.Contains(d.Enum, s) {
		return s, ""
	}
	if d.Accept != nil && d.Accept(s) {
		return s, ""
	}
	return nil, d.rule()
}

// finite reads a number, or text of one.
func finite(v any) (float64, bool) {
	var f float64
	switch x := v.(type) {
	case canon.Number:
		f = x.Float()
	case string:
		n, err := canon.Parse([]byte(strings.TrimSpace(x)), canon.Limits{})
		num, ok := n.(canon.Number)
		if err != nil || !ok {
			return 0, false
		}
		f = num.Float()
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

func (d *Arg) inRange(f float64) bool {
	return (d.Min == nil || f >= *d.Min) && (d.Max == nil || f <= *d.Max)
}

func (d *Arg) number(v any) (any, string) {
	f, ok := finite(v)
	if !ok || !d.inRange(f) {
		return nil, d.rule()
	}
	return canon.Float(f), ""
}

func (d *Arg) integer(v any) (any, string) {
	f, ok := finite(v)
	if !ok || f != math.Trunc(f) || math.Abs(f) >= 1<<53 || !d.inRange(f) {
		return nil, d.rule()
	}
	return int(f), ""
}

var boolWords = map[string]bool{
	"true": true, "yes": true, "on": true, "1": true, "t": true, "y": true,
	"false": false, "no": false, "off": false, "0": false, "f": false, "n": false,
}

func (d *Arg) boolean(v any) (any, string) {
	switch x := v.(type) {
	case bool:
		return x, ""
	case string:
		if b, ok := boolWords[strings.ToLower(strings.TrimSpace(x))]; ok {
			return b, ""
		}
	case canon.Number:
		if f := x.Float(); f == 0 || f == 1 {
			return f == 1, ""
		}
	}
	return nil, d.rule()
}

// unwrap returns what a text holds when it is JSON of an array or object, else
// the value itself.
func unwrap(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	inner, err := canon.Parse([]byte(s), canon.Limits{Depth: maxNesting})
	if err != nil {
		return v
	}
	switch inner.(type) {
	case []any, *canon.Object:
		return inner
	}
	return v
}

func (d *Arg) objects(v any) (any, string) {
	items, ok := unwrap(v).([]any)
	if !ok || d.NonEmpty && len(items) == 0 {
		return nil, d.rule()
	}
	if d.MaxLen > 0 && len(items) > d.MaxLen {
		return nil, fmt.Sprintf("%s, at most %d", d.rule(), d.MaxLen)
	}
	out := make([]*canon.Object, len(items))
	for i, item := range items {
		o, ok := unwrap(item).(*canon.Object)
		if !ok {
			return nil, fmt.Sprintf("%s: item %d is none", d.rule(), i)
		}
		out[i] = o
	}
	return out, ""
}

func (d *Arg) texts(v any) (any, string) {
	items, ok := unwrap(v).([]any)
	if !ok || d.NonEmpty && len(items) == 0 {
		return nil, d.rule()
	}
	if d.MaxLen > 0 && len(items) > d.MaxLen {
		return nil, fmt.Sprintf("%s, at most %d", d.rule(), d.MaxLen)
	}
	out := make([]string, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Sprintf("%s: item %d is none", d.rule(), i)
		}
		out[i] = s
	}
	return out, ""
}

// DecodeArgs is the argument layer for other surfaces: name is what refusals
// call the request. The error is a *fault.Error, or of the protocol when raw is
// no object.
func DecodeArgs(name string, decl []Arg, raw json.RawMessage) (*Args, error) {
	return decodeArgs(name, decl, raw)
}
