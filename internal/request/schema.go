package request

import (
	"fmt"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
)

// JSONSchema returns the JSON Schema of run files, for package json: the settings of a run, and
// under set those of the algorithm that the file names.
func (s *Set) JSONSchema() (map[string]any, error) {
	out, err := config.JSONSchema(&Settings{})
	if err != nil {
		return nil, err
	}
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = "a run file of weft train --config"
	all := out["properties"].(map[string]any)
	s.suggest(all)
	for _, key := range []string{"placement", "devices"} { // which a file may write as maps
		x := all[key].(map[string]any)
		x["anyOf"] = append(x["anyOf"].([]any), map[string]any{"type": "object"})
	}
	text := map[string]any{"type": "string"}
	all[extends] = map[string]any{
		"description": "files that this one builds on, relative to its folder; it overrides them, and a later one overrides an earlier one",
		"anyOf":       []any{map[string]any{"type": "array", "items": text}, text},
	}
	all["set"] = map[string]any{"type": "object", "description": "settings of the algorithm"}
	defs, rules := map[string]any{}, []any{}
	for _, a := range s.Algorithms {
		of, err := config.JSONSchema(a.Config())
		if err != nil {
			return nil, fmt.Errorf("algorithm %s: %w", a.Name, err)
		}
		of["description"] = "settings of " + a.Name + ": " + a.Doc
		defs[a.Name] = of
		rules = append(rules, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"algorithm": map[string]any{"const": a.Name}}, "required": []any{"algorithm"}},
			"then": map[string]any{"properties": map[string]any{"set": map[string]any{"$ref": "#/$defs/" + a.Name}}},
		})
	}
	out["$defs"], out["allOf"] = defs, rules
	return out, nil
}

// suggest adds the names that settings usually have. Other text is allowed beside them, such as the
// path of a package.
func (s *Set) suggest(all map[string]any) {
	names := map[string][]any{}
	for _, a := range s.Algorithms {
		names["algorithm"] = append(names["algorithm"], a.Name)
		for _, p := range a.Presets {
			names["preset"] = append(names["preset"], p.Name)
		}
	}
	for _, e := range s.Environments {
		names["env"] = append(names["env"], e.ID)
	}
	for _, x := range s.Schemes {
		names["env"] = append(names["env"], x.Example)
	}
	for _, p := range s.AllPolicies() {
		names["policy"] = append(names["policy"], p.Name)
	}
	for _, d := range device.Names() {
		names["device"] = append(names["device"], d)
	}
	for key, list := range names {
		x := all[key].(map[string]any)
		delete(x, "type")
		x["anyOf"] = []any{map[string]any{"enum": unique(list)}, map[string]any{"type": "string"}}
	}
}

// unique returns values without repetitions, which a schema's enum may not have.
func unique(list []any) (out []any) {
	seen := map[any]bool{}
	for _, x := range list {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	return out
}
