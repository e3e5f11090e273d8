package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

type netConfig struct {
	Hidden     []int  `default:"64,64" unit:"units" range:"[1,)" doc:"width of each hidden layer"`
	Activation string `default:"tanh" oneof:"tanh relu" doc:"what follows a hidden layer"`
	Init       struct {
		Gain float64 `default:"1.41" range:"(0,)" doc:"scale of the first weights"`
	} `doc:"how parameters start"`
	Bias bool `default:"true" doc:"whether layers have a bias"`
}

type Base struct {
	Seed  uint64 `default:"1" doc:"seed of every random number"`
	Steps int64  `default:"1e6" range:"[1,)" unit:"steps" doc:"environment steps in all"`
}

// sample has a setting of every kind.
type sample struct {
	Base
	Envs     int     `default:"4" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	LR       float64 `key:"learning_rate" default:"2.5e-4" range:"(0,1]" doc:"Adam's step size at the start"`
	Gamma    float64 `default:"0.99" range:"[0,1]" doc:"discount"`
	Anneal   string  `default:"linear" oneof:"linear constant" doc:"how the step size falls"`
	TargetKL float64 `default:"0" range:"[0,)" doc:"stop an update early beyond this divergence; 0 never does"`
	Note     string  `doc:"anything worth remembering about the run"`
	Net      netConfig
	Decay    []float64     `default:"" range:"(0,1)" doc:"one factor to a phase"`
	Tags     []string      `default:"a,\"b,c\"" doc:"labels"`
	Every    time.Duration `default:"30s" range:"(0s,24h]" doc:"time between checkpoints"`
	Stack    int           `default:"4" oneof:"1 4 1_6" doc:"frames in an observation"`
	hidden   int
}

// defaultSample returns what the tags of sample say, written by hand.
func defaultSample() sample {
	s := sample{
		Base: Base{Seed: 1, Steps: 1_000_000}, Envs: 4, LR: 2.5e-4, Gamma: 0.99, Anneal: "linear",
		Net:  netConfig{Hidden: []int{64, 64}, Activation: "tanh", Bias: true},
		Tags: []string{"a", "b,c"}, Every: 30 * time.Second, Stack: 4,
	}
	s.Net.Init.Gain = 1.41
	return s
}

func TestDefaults(t *testing.T) {
	got := sample{hidden: 7, Note: "old", Decay: []float64{1}}
	if err := Defaults(&got); err != nil {
		t.Fatal(err)
	}
	want := defaultSample()
	want.hidden = 7
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDefaultsNotShared(t *testing.T) {
	var a, b sample
	if err := errors.Join(Defaults(&a), Defaults(&b)); err != nil {
		t.Fatal(err)
	}
	a.Net.Hidden[0] = 1
	if b.Net.Hidden[0] != 64 {
		t.Error("two structs share the list of a default")
	}
}

func TestFields(t *testing.T) {
	s := defaultSample()
	s.Envs, s.Net.Hidden, s.Tags = 9, nil, []string{"", "x y"}
	fields, err := Fields(&s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fields {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s",
			f.Key, f.Kind, f.Unit, f.Default, f.Range, strings.Join(f.OneOf, " "), f.Value))
	}
	want := []string{
		"seed|uint64||1|||1",
		"steps|int64|steps|1e6|[1,)||1000000",
		"envs|int|environments|4|[1,)||9",
		"learning_rate|float64||2.5e-4|(0,1]||0.00025",
		"gamma|float64||0.99|[0,1]||0.99",
		"anneal|string||linear||linear constant|linear",
		"target_kl|float64||0|[0,)||0",
		"note|string|||||",
		"net.hidden|int list|units|64,64|[1,)||",
		"net.activation|string||tanh||tanh relu|tanh",
		"net.init.gain|float64||1.41|(0,)||1.41",
		"net.bias|bool||true|||true",
		"decay|float64 list|||(0,1)||",
		`tags|string list||a,"b,c"|||"",x y`,
		"every|duration||30s|(0s,24h]||30s",
		"stack|int||4||1 4 16|4",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if fields[2].Doc != "environments stepped together" {
		t.Errorf("doc %q", fields[2].Doc)
	}
}

func TestMapCopies(t *testing.T) {
	want := defaultSample()
	want.Note, want.Seed, want.Tags = " a=b\n", 1<<64-1, []string{"", `"`, ",", " x"}
	pairs, err := Map(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got sample
	if err := Set(&got, pairs); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestCheck(t *testing.T) {
	cases := []struct {
		name string
		ptr  any
		want string // empty if nothing is wrong
	}{
		{"good", &sample{}, ""},
		{"empty", &struct{}{}, ""},
		{"not a pointer", sample{}, "config: settings must be a non-nil pointer to a struct, not config.sample"},
		{"nil", nil, "config: settings must be a non-nil pointer to a struct, not <nil>"},
		{"nil pointer", (*sample)(nil), "config: settings must be a non-nil pointer to a struct, not *config.sample"},
		{"not a struct", new(int), "config: settings must be a non-nil pointer to a struct, not *int"},
		{"default", &struct {
			N int `default:"x" doc:"d"`
		}{}, `struct.N: default: "x" is not a whole number`},
		{"no default", &struct {
			B bool `doc:"d"`
		}{}, `struct.B: default: "" is neither true nor false`},
		{"default outside", &struct {
			N []int `default:"1,0,2,-1" range:"[1,)" doc:"d"`
		}{}, "struct.N: default: item 2: 0 is outside [1,)\nstruct.N: default: item 4: -1 is outside [1,)"},
		{"default not one of", &struct {
			S string `oneof:"a b" doc:"d"`
		}{}, `struct.S: default: "" is not one of a, b`},
		{"doc", &struct {
			S string `doc:" "`
		}{}, "struct.S: no doc tag"},
		{"unprintable", &struct {
			S string `doc:"a\nb"`
		}{}, `struct.S: doc tag "a\nb" has characters that cannot be printed`},
		{"duplicate", &struct {
			Base
			Seed int `default:"1" doc:"d"`
		}{}, `struct.Seed: key "seed" is already that of struct.Base.Seed`},
		{"duplicate group", &struct {
			Net  netConfig
			Net2 Base `key:"net"`
		}{}, `struct.Net2: key "net" is already that of struct.Net`},
		{"key", &struct {
			N int `key:"a.b" default:"1" doc:"d"`
		}{}, `struct.N: key "a.b" is not in snake_case; give a key tag of a-z, 0-9 and _`},
		{"kind", &struct {
			P *int           `doc:"d"`
			M map[string]int `doc:"d"`
			F float32        `doc:"d"`
			L [][]int        `doc:"d"`
		}{}, "struct.P: a setting cannot be of type *int\nstruct.M: a setting cannot be of type map[string]int\n" +
			"struct.F: a setting cannot be of type float32\nstruct.L: a setting cannot be of type [][]int"},
		{"opaque struct", &struct{ T time.Time }{}, "struct.T: time.Time has no settings"},
		{"tag on group", &struct {
			Net Base `default:"3"`
		}{}, "struct.Net: a group of settings takes no default tag"},
		{"range", &struct {
			N int `default:"x" range:"0,1" doc:"d"`
		}{}, `struct.N: range "0,1" is not an interval such as [0,1], (0,1], [1,) or (,0)`},
		{"range on string", &struct {
			S string `range:"[0,1]" doc:"d"`
		}{}, "struct.S: a string takes no range"},
		{"oneof", &struct {
			N int `default:"1" oneof:"1 x" doc:"d"`
			M int `default:"1" oneof:"" doc:"d"`
		}{}, "struct.N: oneof: \"x\" is not a whole number\nstruct.M: oneof allows nothing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, Check(c.ptr), c.want)
		})
	}
}

// TestBadTags checks that nothing works with a struct that Check refuses.
func TestBadTags(t *testing.T) {
	var bad struct{ N int }
	calls := map[string]func() error{
		"Defaults": func() error { return Defaults(&bad) },
		"Fields":   func() error { _, err := Fields(&bad); return err },
		"Map":      func() error { _, err := Map(&bad); return err },
		"Set":      func() error { return Set(&bad) },
		"Validate": func() error { return Validate(&bad) },
		"YAML":     func() error { _, err := YAML(&bad); return err },
	}
	want := Check(&bad).Error()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) { wantError(t, call(), want) })
	}
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"LR": "lr", "TargetKL": "target_kl", "NumEnvs": "num_envs", "GAELambda": "gae_lambda", "A2C": "a2c",
		"Conv1DSize": "conv1d_size", "Layer2Size": "layer2_size", "Already_Snake": "already_snake", "X": "x",
	} {
		if got := snake(name); got != want {
			t.Errorf("snake(%q) = %q, want %q", name, got, want)
		}
	}
}

// wantError compares the text of an error; empty text is no error.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got error\n%s\nwant\n%s", got, want)
	}
}

// TestEmbeddedDefaults: who embeds settings may give them other defaults, at any
// depth, and none that there are not.
func TestEmbeddedDefaults(t *testing.T) {
	type Inner struct {
		Rate float64 `default:"1" range:"(0,)" doc:"a rate"`
		Size []int   `default:"4" doc:"sizes"`
	}
	type Middle struct {
		Inner `defaults:"rate=2 size=5,6"`
	}
	var c struct {
		Middle `defaults:"rate=3"`
	}
	if err := Defaults(&c); err != nil {
		t.Fatal(err)
	}
	if c.Rate != 3 || !slices.Equal(c.Size, []int{5, 6}) {
		t.Errorf("the outermost default counts, then the next: %+v", c)
	}
	if err := Set(&c, []Assignment{{Key: "rate", Value: "7"}}); err != nil || c.Rate != 7 {
		t.Errorf("%v, %+v", err, c)
	}
	var wrong struct {
		Inner `defaults:"rat=2 size rate=-1"`
	}
	err := Defaults(&wrong)
	for _, want := range []string{`has no setting "rat"`, `"size" is not of the form key=value`, "-1 is outside (0,)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
