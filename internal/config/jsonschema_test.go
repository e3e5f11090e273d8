package config

import (
	"encoding/json"
	"testing"
)

// TestJSONSchema has a setting of every kind, with what bounds it, worked out by hand.
func TestJSONSchema(t *testing.T) {
	got, err := JSONSchema(&struct {
		Envs  int       `default:"4" unit:"environments" range:"[1,)" doc:"environments stepped together"`
		Rate  float64   `default:"2.5e-4" range:"(0,1]" doc:"step size"`
		Dims  []int     `default:"64,64" range:"[1,)" doc:"widths"`
		Pick  string    `default:"b" oneof:"a b" doc:"a choice"`
		On    bool      `default:"true" doc:"a switch"`
		Note  string    `doc:"a remark"`
		Stack int       `default:"4" oneof:"1 4" doc:"frames"`
		Net   netConfig `doc:"the network"`
	}{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"envs":  `{"default":4,"description":"environments stepped together; unit environments; range [1,)","minimum":1,"type":"integer"}`,
		"rate":  `{"default":0.00025,"description":"step size; range (0,1]","exclusiveMinimum":0,"maximum":1,"type":"number"}`,
		"dims":  `{"anyOf":[{"items":{"minimum":1,"type":"integer"},"type":"array"},{"minimum":1,"type":"integer"},{"type":"string"}],"default":[64,64],"description":"widths; range [1,)"}`,
		"pick":  `{"default":"b","description":"a choice","enum":["a","b"],"type":"string"}`,
		"on":    `{"default":true,"description":"a switch","type":"boolean"}`,
		"note":  `{"description":"a remark","type":"string"}`,
		"stack": `{"default":4,"description":"frames","enum":[1,4],"type":"integer"}`,
	} {
		text, err := json.Marshal(got["properties"].(map[string]any)[path])
		if err != nil || string(text) != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", path, err, text, want)
		}
	}
	if dotted := got["properties"].(map[string]any)["net.init.gain"]; dotted == nil {
		t.Error("a setting of a group has no dotted key")
	}
	net := got["properties"].(map[string]any)["net"].(map[string]any)
	inner := net["properties"].(map[string]any)["init"].(map[string]any)["properties"].(map[string]any)
	if net["description"] != "the network" || net["additionalProperties"] != false || inner["gain"] == nil || inner["init.gain"] != nil || net["properties"].(map[string]any)["init.gain"] == nil {
		t.Errorf("the group is %v", net)
	}
}
