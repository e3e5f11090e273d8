package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// schemasFile holds the schemas of the objects of a job, from the OpenAPI documents of Kubernetes
// 1.36.3, without their descriptions. With WEFT_OPENAPI=DIR, where DIR is api/openapi-spec/v3 of
// the module k8s.io/kubernetes, TestSchemas writes it anew.
const schemasFile = "testdata/openapi.json"

// roots are the documents and the names of the schemas of kinds.
var roots = map[string]struct{ file, name string }{
	"Job":                 {"apis__batch__v1_openapi.json", "io.k8s.api.batch.v1.Job"},
	"PodDisruptionBudget": {"apis__policy__v1_openapi.json", "io.k8s.api.policy.v1.PodDisruptionBudget"},
	"Secret":              {"api__v1_openapi.json", "io.k8s.api.core.v1.Secret"},
	"ConfigMap":           {"api__v1_openapi.json", "io.k8s.api.core.v1.ConfigMap"},
	"Service":             {"api__v1_openapi.json", "io.k8s.api.core.v1.Service"},
}

// schema has the parts of a schema that values are checked by.
type schema struct {
	Ref                  string            `json:"$ref,omitempty"`
	Type                 string            `json:"type,omitempty"`
	Properties           map[string]schema `json:"properties,omitempty"`
	AdditionalProperties *schema           `json:"additionalProperties,omitempty"`
	Items                *schema           `json:"items,omitempty"`
	Required             []string          `json:"required,omitempty"`
	OneOf                []schema          `json:"oneOf,omitempty"`
	AllOf                []schema          `json:"allOf,omitempty"`
}

const refPrefix = "#/components/schemas/"

type schemas map[string]schema

// parts returns the schemas that a schema is made of.
func (s schema) parts() []schema {
	out := slices.Concat(slices.Collect(maps.Values(s.Properties)), s.OneOf, s.AllOf)
	for _, x := range []*schema{s.AdditionalProperties, s.Items} {
		if x != nil {
			out = append(out, *x)
		}
	}
	return out
}

// add adds a schema of a document, with all that it needs.
func (all schemas) add(from schemas, name string) {
	if _, ok := all[name]; ok {
		return
	}
	all[name] = from[name]
	for left := []schema{from[name]}; len(left) > 0; left = left[1:] {
		if ref, ok := strings.CutPrefix(left[0].Ref, refPrefix); ok {
			all.add(from, ref)
		}
		left = append(left, left[0].parts()...)
	}
}

// check reports what is wrong with a value, with its place. Fields that a schema does not have are.
func (all schemas) check(s schema, v any, at string) (errs []error) {
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
	if ref, ok := strings.CutPrefix(s.Ref, refPrefix); ok {
		return all.check(all[ref], v, at)
	}
	for _, x := range s.AllOf {
		errs = append(errs, all.check(x, v, at)...)
	}
	if len(s.OneOf) > 0 && !slices.ContainsFunc(s.OneOf, func(x schema) bool { return len(all.check(x, v, at)) == 0 }) {
		wrong("%v is none of what it may be", v)
	}
	switch s.Type {
	case "object":
		return append(errs, all.object(s, v, at)...)
	case "array":
		list, ok := v.([]any)
		if !ok {
			wrong("%v is no list", v)
		}
		for i, x := range list {
			errs = append(errs, all.check(*s.Items, x, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case "string":
		if _, ok := v.(string); !ok {
			wrong("%v is no text", v)
		}
	case "integer":
		if _, ok := v.(int); !ok {
			wrong("%v is no whole number", v)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			wrong("%v is neither true nor false", v)
		}
	}
	return errs
}

// object checks the fields of an object.
func (all schemas) object(s schema, v any, at string) (errs []error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return []error{fmt.Errorf("%s: %v is no object", at, v)}
	}
	for _, name := range s.Required {
		if _, ok := fields[name]; !ok {
			errs = append(errs, fmt.Errorf("%s: it has no %s", at, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		of, known := s.Properties[name]
		switch {
		case known:
		case s.AdditionalProperties != nil:
			of = *s.AdditionalProperties
		default:
			errs = append(errs, fmt.Errorf("%s: there is no field %s", at, name))
			continue
		}
		errs = append(errs, all.check(of, fields[name], at+"."+name)...)
	}
	return errs
}

// collect reads the schemas from the documents of a folder.
func collect(t *testing.T, dir string) schemas {
	t.Helper()
	all := schemas{}
	for _, root := range roots {
		text, err := os.ReadFile(filepath.Join(dir, root.file))
		if err != nil {
			t.Fatal(err)
		}
		var document struct{ Components struct{ Schemas schemas } }
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatalf("%s: %v", root.file, err)
		}
		all.add(document.Components.Schemas, root.name)
	}
	return all
}

// kept reads the schemas that are kept.
func kept(t *testing.T) (all schemas) {
	t.Helper()
	text, err := os.ReadFile(schemasFile)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// validate checks manifests, of which there must be some.
func (all schemas) validate(text string) (errs []error) {
	n := 0
	for d := yaml.NewDecoder(strings.NewReader(text)); ; n++ {
		var x map[string]any
		if err := d.Decode(&x); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return append(errs, err)
		}
		kind, _ := x["kind"].(string)
		of, ok := all[roots[kind].name]
		if !ok {
			errs = append(errs, fmt.Errorf("there is no schema of kind %q", kind))
		}
		errs = append(errs, all.check(of, x, kind)...)
	}
	if n == 0 {
		errs = append(errs, errors.New("there are no manifests"))
	}
	return errs
}

// TestSchemas: the manifests are ones that Kubernetes' API server has schemas for, field by field.
func TestSchemas(t *testing.T) {
	if dir := os.Getenv("WEFT_OPENAPI"); dir != "" {
		text, err := json.MarshalIndent(collect(t, dir), "", " ")
		if err == nil {
			err = os.WriteFile(schemasFile, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all := kept(t)
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range all.validate(string(text)) {
			t.Errorf("%s: %v", path, err)
		}
		for was, wrong := range map[string]string{
			"completionMode:": "completionsMode:", "completions: ": "completions: x", "restartPolicy: Never": "restartPolicy: 7", "kind: Job": "kind: Task",
			"minAvailable: ": "minAvailable: true # ", "containerPort: 7700": "name2: 7700", "- name: weft": "- title: weft", "type: Opaque": "type: [Opaque]",
		} {
			changed := strings.Replace(string(text), was, wrong, 1)
			if changed == string(text) || len(all.validate(changed)) == 0 {
				t.Errorf("%s: %q in the place of %q is taken", path, wrong, was)
			}
		}
	}
}
