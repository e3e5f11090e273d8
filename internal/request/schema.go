package request

import (
	"fmt"
	"slices"

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
			"then": under(a.Name, of["properties"].(map[string]any)),
		})
	}
	out["$defs"], out["allOf"] = defs, rules
	out["patternProperties"] = map[string]any{`^set\.`: map[string]any{}} // each algorithm's rule says which
	return out, nil
}

// under returns the schema of a run file's map for an algorithm with these settings: they are in
// the group set, or have keys that begin with its name and a dot.
func under(algorithm string, settings map[string]any) map[string]any {
	place := "#/$defs/" + algorithm
	all, dotted := map[string]any{"set": map[string]any{"$ref": place}}, []string{}
	for key := range settings {
		all["set."+key] = map[string]any{"$ref": place + "/properties/" + key}
		dotted = append(dotted, "set."+key)
	}
	slices.Sort(dotted)
	return map[string]any{
		"properties":    all,
		"propertyNames": map[string]any{"anyOf": []any{map[string]any{"not": map[string]any{"pattern": `^set\.`}}, map[string]any{"enum": dotted}}},
	}
}

// forms describes values of a setting that are no names: a path, or an environment with settings
// or of a scheme.
var forms = map[string]string{
	"algorithm": `^(\.|/|[A-Za-z]:|$)`,
	"env":       `^(\.|/|$)|[:?]`,
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
		x, other := all[key].(map[string]any), map[string]any{"type": "string"}
		if form, ok := forms[key]; ok {
			other["pattern"] = form
		}
		delete(x, "type")
		x["anyOf"] = []any{map[string]any{"enum": unique(list)}, other}
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
