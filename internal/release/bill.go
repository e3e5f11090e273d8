package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
)

// The bill of materials of a program, in the parts of CycloneDX 1.6 that are used here.
type (
	bill struct {
		Format      string      `json:"bomFormat"`
		SpecVersion string      `json:"specVersion"`
		Version     int         `json:"version"`
		Metadata    metadata    `json:"metadata"`
		Components  []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Purl       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// billOf returns the bill of materials of a program that Go built, from what Go noted in it: the
// modules that are linked, which go.mod alone does not say.
func billOf(path, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(newBill(info, version), "", " ")
}

func newBill(info *debug.BuildInfo, version string) bill {
	main := componentOf("application", info.Main.Path, version, "")
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
	}
	out := bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{main}}
	out.Components = append(out.Components, componentOf("library", "std", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		out.Components = append(out.Components, componentOf("library", d.Path, d.Version, d.Sum))
	}
	return out
}

// componentOf describes a module. Its sum is that of go.sum.
func componentOf(kind, path, version, sum string) component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", path, version)
	c := component{Type: kind, Ref: purl, Name: path, Version: version, Purl: purl}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}
