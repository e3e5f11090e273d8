package config

import (
	"encoding/json"
	"math/big"
	"strings"
)

// JSONSchema returns the JSON Schema of YAML maps that hold the settings of the struct that ptr
// points to, as a value for package json. Editors complete and check files by it. It allows what
// [Set] allows, as far as a schema can say it.
func JSONSchema(ptr any) (map[string]any, error) {
	sch, _, err := open(ptr)
	if err != nil {
		return nil, err
	}
	root := schemaObject("")
	for _, s := range sch.settings {
		at, key, parts := root, "", strings.Split(s.Key, ".")
		for i, part := range parts {
			at["properties"].(map[string]any)[strings.Join(parts[i:], ".")] = s.jsonSchema() // dotted, but in its own group
			if i < len(parts)-1 {
				key = under(key, part)
				at = schemaGroup(at, part, sch.groups[key])
			}
		}
	}
	return root, nil
}

// schemaObject returns the schema of a map of settings that has none yet.
func schemaObject(doc string) map[string]any {
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
	if doc != "" {
		out["description"] = doc
	}
	return out
}

// schemaGroup returns the schema of a group in another, and adds it if it is new.
func schemaGroup(in map[string]any, name, doc string) map[string]any {
	all := in["properties"].(map[string]any)
	if all[name] == nil {
		all[name] = schemaObject(doc)
	}
	return all[name].(map[string]any)
}

// jsonSchema returns the schema of a setting's values.
func (s *setting) jsonSchema() map[string]any {
	out := s.itemSchema()
	if s.list { // a sequence, one item, or several between commas
		out = map[string]any{"anyOf": []any{map[string]any{"type": "array", "items": out}, out, map[string]any{"type": "string"}}}
	}
	doc := []string{s.Doc}
	if s.Unit != "" {
		doc = append(doc, "unit "+s.Unit)
	}
	if s.Range != "" {
		doc = append(doc, "range "+s.Range)
	}
	out["description"] = strings.Join(doc, "; ")
	if value := s.jsonDefault(); value != nil {
		out["default"] = value
	}
	return out
}

// itemSchema returns the schema of a single value.
func (s *setting) itemSchema() map[string]any {
	out := map[string]any{}
	switch s.kind.name {
	case "bool":
		out["type"] = "boolean"
	case "int", "int64", "uint64":
		out["type"] = "integer"
	case "float64":
		out["type"] = "number"
	case "duration":
		out["type"], out["pattern"] = "string", `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`
	default:
		out["type"] = "string"
	}
	if len(s.OneOf) > 0 {
		var allowed []any
		for _, text := range s.OneOf {
			allowed = append(allowed, s.jsonValue(text))
		}
		out["enum"] = allowed
	}
	if s.bounds != nil && s.kind.name != "duration" {
		bound(out, s.bounds.lo, s.bounds.loOpen, "minimum", "exclusiveMinimum")
		bound(out, s.bounds.hi, s.bounds.hiOpen, "maximum", "exclusiveMaximum")
	}
	return out
}

// bound adds one end of a range to a schema.
func bound(out map[string]any, at *big.Float, open bool, closed, exclusive string) {
	if at == nil {
		return
	}
	if open {
		closed = exclusive
	}
	out[closed] = json.Number(at.Text('g', -1))
}

// jsonDefault returns the setting's default; nil is none worth showing.
func (s *setting) jsonDefault() any {
	if s.Default == "" {
		return nil
	}
	var out []any
	for _, text := range s.write(s.initial()) {
		out = append(out, s.jsonValue(text))
	}
	if !s.list {
		return out[0]
	}
	return out
}

// jsonValue returns a value that is written as text: a number, a truth value, or the text.
func (s *setting) jsonValue(text string) any {
	switch s.kind.name {
	case "bool":
		return strings.EqualFold(text, "true")
	case "int", "int64", "uint64", "float64":
		if json.Valid([]byte(text)) {
			return json.Number(text)
		}
	}
	return text
}
