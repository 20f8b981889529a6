package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/arche-ledger/arche/internal/canon"
)

// errMalformed says that a text is neither JSON nor JSON with comments.
var errMalformed = errors.New("neither JSON nor JSON with comments")

// jsonc is a JSON file, comments and layout and all, that is edited in place.
type jsonc struct {
	root   hujson.Value
	indent string // of one level
	eol    string
}

// parseJSONC reads a file. An empty text is an empty object. A byte order mark
// is kept out of the parser's way.
func parseJSONC(data []byte) (*jsonc, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	if !bytes.ContainsRune(bytes.TrimSpace(data), '\n') {
		data = spread(data) // one line: laid out as new files are
	}
	root, err := hujson.Parse(data)
	if err != nil {
		return nil, errMalformed
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, errors.New("its top is no object")
	}
	j := &jsonc{root: root, indent: "  ", eol: "\n"}
	if bytes.Contains(data, []byte("\r\n")) {
		j.eol = "\r\n"
	}
	if o := j.root.Value.(*hujson.Object); len(o.Members) > 0 {
		before := string(o.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 && strings.TrimSpace(before[i:]) == "" && before[i+1:] != "" {
			j.indent = before[i+1:]
		}
	}
	return j, nil
}

// spread lays a one-line file of strict JSON out over lines, two spaces a
// level; anything else stays as it is.
func spread(data []byte) []byte {
	v, err := canon.Parse(data, canon.Limits{})
	if err != nil {
		return data
	}
	out, err := canon.Indent(v)
	if err != nil {
		return data
	}
	return append(out, '\n')
}

// bytes is the file as it is to be written, with a line end at its end.
func (j *jsonc) bytes() []byte {
	out := j.root.Pack()
	if !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, j.eol...)
	}
	return out
}

func (j *jsonc) top() *hujson.Object { return j.root.Value.(*hujson.Object) }

// member finds a key; when it is repeated the last one counts, as for readers.
func member(o *hujson.Object, key string) *hujson.Value {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if name, ok := o.Members[i].Name.Value.(hujson.Literal); ok && name.String() == key {
			return &o.Members[i].Value
		}
	}
	return nil
}

// section returns the object under key, made when it is missing or null.
func (j *jsonc) section(o *hujson.Object, key string, depth int) (*hujson.Object, error) {
	v := member(o, key)
	if v == nil {
		j.add(o, key, &hujson.Object{}, depth)
		return member(o, key).Value.(*hujson.Object), nil
	}
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == 'n' {
		v.Value = &hujson.Object{}
	}
	s, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("its %q is no object", key)
	}
	return s, nil
}

// array returns the array under key, made when it is missing or null.
func (j *jsonc) array(o *hujson.Object, key string, depth int) (*hujson.Array, error) {
	v := member(o, key)
	if v == nil {
		j.add(o, key, &hujson.Array{}, depth)
		return member(o, key).Value.(*hujson.Array), nil
	}
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == 'n' {
		v.Value = &hujson.Array{}
	}
	a, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf("its %q is no array", key)
	}
	return a, nil
}

// line is a new line at a depth.
func (j *jsonc) line(depth int) string { return j.eol + strings.Repeat(j.indent, depth) }

// add puts a member at the end of an object that stands at depth. A comment
// after the last member stays with that member.
func (j *jsonc) add(o *hujson.Object, key string, value hujson.ValueTrimmed, depth int) {
	m := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra(j.lead(o.AfterExtra, depth+1)), Value: hujson.String(key)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
		m.Value.AfterExtra = hujson.Extra{} // the file's trailing commas are kept up
	}
	o.Members = append(o.Members, m)
	o.AfterExtra = hujson.Extra(j.line(depth))
}

// push puts an element at the end of an array that stands at depth.
func (j *jsonc) push(a *hujson.Array, value hujson.ValueTrimmed, depth int) {
	e := hujson.Value{BeforeExtra: hujson.Extra(j.lead(a.AfterExtra, depth+1)), Value: value}
	if n := len(a.Elements); n > 0 && a.Elements[n-1].AfterExtra != nil {
		e.AfterExtra = hujson.Extra{}
	}
	a.Elements = append(a.Elements, e)
	a.AfterExtra = hujson.Extra(j.line(depth))
}

// lead is what stands before a new last element: the comments that stood
// before the closing bracket, and a new line.
func (j *jsonc) lead(extra hujson.Extra, depth int) string {
	return strings.TrimRight(string(extra), " \t\r\n") + j.line(depth)
}

// value is a JSON value laid out for a place at depth.
func (j *jsonc) value(v any, depth int) (hujson.ValueTrimmed, error) {
	text, err := canon.Indent(v)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, l := range strings.Split(string(text), "\n") {
		body := strings.TrimLeft(l, " ")
		level := (len(l) - len(body)) / 2
		if i > 0 {
			level += depth
		}
		out = append(out, strings.Repeat(j.indent, level)+body)
	}
	parsed, err := hujson.Parse([]byte(strings.Join(out, j.eol)))
	if err != nil {
		return nil, err
	}
	return parsed.Value, nil
}

// plain is a value of the file as canonical text, to be compared.
func plain(v hujson.Value) (*canon.Object, string) {
	c := v.Clone()
	c.BeforeExtra, c.AfterExtra = nil, nil
	c.Standardize()
	parsed, err := canon.Parse(c.Pack(), canon.Limits{})
	if err != nil {
		return nil, ""
	}
	o, _ := parsed.(*canon.Object)
	text, err := canon.Sorted(parsed)
	if err != nil {
		return nil, ""
	}
	return o, string(text)
}
