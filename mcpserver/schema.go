package mcpserver

import (
	"encoding/json"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

// inputSchema is the JSON schema of a tool's arguments: properties with titles,
// enums and defaults, and no union at the top, which some hosts refuse. It is
// open; the argument layer names what a tool does not know.
func inputSchema(t *Tool) json.RawMessage {
	properties, required := canon.Obj(), []any{}
	for i := range t.Args {
		properties.Set(t.Args[i].Name, t.Args[i].schema())
		if t.Args[i].Required {
			required = append(required, t.Args[i].Name)
		}
	}
	s := canon.Obj("type", "object", "title", t.Name+"Arguments", "properties", properties)
	if len(required) > 0 {
		s.Set("required", required)
	}
	return mustCompact(s)
}

func (d *Arg) schema() *canon.Object {
	typed := d.typeSchema()
	s := &canon.Object{}
	if d.Nullable && !d.Required {
		s.Set("anyOf", []any{typed, canon.Obj("type", "null")})
	} else {
		s = typed
	}
	if !d.Required && (d.Default != nil || d.Nullable) {
		s.Set("default", d.Default)
	}
	s.Set("title", titleOf(d.Name))
	if d.Description != "" {
		s.Set("description", d.Description)
	}
	return s
}

func (d *Arg) typeSchema() *canon.Object {
	switch d.Kind {
	case Enum:
		return canon.Obj("type", "string", "enum", d.Enum)
	case Number, Integer:
		s := canon.Obj("type", "number")
		if d.Kind == Integer {
			s.Set("type", "integer")
		}
		if d.Min != nil {
			s.Set("minimum", canon.Number(plainNumber(*d.Min)))
		}
		if d.Max != nil {
			s.Set("maximum", canon.Number(plainNumber(*d.Max)))
		}
		return s
	case Bool:
		return canon.Obj("type", "boolean")
	case Object:
		s := canon.Obj("type", "object", "additionalProperties", true)
		if d.NonEmpty {
			s.Set("minProperties", 1)
		}
		return s
	case Objects:
		return canon.Obj("type", "array", "items", canon.Obj("type", "object", "additionalProperties", true))
	case Texts:
		return canon.Obj("type", "array", "items", canon.Obj("type", "string"))
	}
	return canon.Obj("type", "string")
}

// titleOf capitalises the words of a name: id_field is "Id Field".
func titleOf(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// outputSchema is the JSON schema of a tool's answer. It is open: answers may
// grow.
func outputSchema(t *Tool) json.RawMessage {
	s := canon.Obj("type", "object")
	if len(t.Output) > 0 {
		properties, required := canon.Obj(), []any{}
		for _, o := range t.Output {
			properties.Set(o.Name, o.schema())
			if !o.Optional {
				required = append(required, o.Name)
			}
		}
		s.Set("properties", properties)
		if len(required) > 0 {
			s.Set("required", required)
		}
	}
	return mustCompact(s)
}

func (o *Out) schema() *canon.Object {
	types := strings.Split(o.Type, "|")
	s := &canon.Object{}
	if len(types) == 1 {
		s.Set("type", types[0])
	} else {
		s.Set("type", types)
	}
	if o.Items != "" {
		s.Set("items", canon.Obj("type", o.Items))
	}
	if o.Description != "" {
		s.Set("description", o.Description)
	}
	return s
}

// mustCompact encodes a schema of our own; it can't fail on one.
func mustCompact(o *canon.Object) json.RawMessage {
	b, err := canon.Compact(o)
	if err != nil {
		panic("schema: " + err.Error())
	}
	return b
}
