package config

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// assign makes assignments from --set flags.
func assign(t *testing.T, flags ...string) []Assignment {
	t.Helper()
	var all []Assignment
	for _, flag := range flags {
		a, err := ParseSet(flag, "--set")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

func TestSet(t *testing.T) {
	got, want := defaultSample(), defaultSample()
	err := Set(&got, assign(t, "seed=18446744073709551615", "steps=2_500_000", "envs= 1.6e1 ", "learning_rate=1E-3", "anneal=constant",
		"note= a=b ", "net.hidden=8, 16,1e2", "net.init.gain=.5", "net.bias=FALSE", "decay=0.5,0.25", `tags="x,y", z ,""`,
		"every=1h30m", "stack=16"))
	if err != nil {
		t.Fatal(err)
	}
	want.Seed, want.Steps, want.Envs, want.LR, want.Anneal = 1<<64-1, 2_500_000, 16, 1e-3, "constant"
	want.Note, want.Net.Hidden, want.Net.Init.Gain, want.Net.Bias = " a=b ", []int{8, 16, 100}, 0.5, false
	want.Decay, want.Tags, want.Every, want.Stack = []float64{0.5, 0.25}, []string{"x,y", "z", ""}, 90*time.Minute, 16
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSetProblems(t *testing.T) {
	cases := []struct{ flag, want string }{
		{"learning_rat=1", `unknown setting "learning_rat", did you mean "learning_rate"?`},
		{"lerning-rate=1", `unknown setting "lerning-rate", did you mean "learning_rate"?`},
		{"hidden=1", `unknown setting "hidden", did you mean "net.hidden"?`},
		{"zzz=1", `unknown setting "zzz"`},
		{"net=1", "net: is a group of settings; set one of them, such as net.hidden"},
		{"net.init=1", "net.init: is a group of settings; set one of them, such as net.init.gain"},
		{"gamma.start=1", `gamma: takes a value, and has no settings such as "gamma.start" in it`},
		{"envs=abc", `envs: "abc" is not a whole number`},
		{"envs=", `envs: "" is not a whole number`},
		{"envs=1.5", `envs: "1.5" is not a whole number`},
		{"envs=1e-1", `envs: "1e-1" is not a whole number`},
		{"envs=0x10", `envs: "0x10" is not a whole number`},
		{"envs=1__0", `envs: "1__0" is not a whole number`},
		{"envs=1e99999999999", `envs: "1e99999999999" is too large to be held`},
		{"steps=9223372036854775808", `steps: "9223372036854775808" is too large to be held`},
		{"envs=0", "envs: 0 is outside [1,)"},
		{"seed=-1", `seed: "-1" is below zero`},
		{"seed=2e19", `seed: "2e19" is too large to be held`},
		{"gamma=1.5", "gamma: 1.5 is outside [0,1]"},
		{"gamma=x", `gamma: "x" is not a number`},
		{"gamma=NaN", `gamma: "NaN" is not a finite number`},
		{"gamma=-.inf", `gamma: "-.inf" is not a finite number`},
		{"target_kl=1e999", `target_kl: "1e999" is too large to be held`},
		{"learning_rate=0", "learning_rate: 0 is outside (0,1]"},
		{"learning_rate=1e-999", "learning_rate: 0 is outside (0,1]"},
		{"anneal=liner", `anneal: "liner" is not one of linear, constant, did you mean "linear"?`},
		{"anneal=cosine", `anneal: "cosine" is not one of linear, constant`},
		{"stack=2", `stack: "2" is not one of 1, 4, 16`},
		{"net.bias=yes", `net.bias: "yes" is neither true nor false`},
		{"net.hidden=8,0,x", "net.hidden: item 2: 0 is outside [1,)\n--set: net.hidden: item 3: \"x\" is not a whole number"},
		{"net.hidden=8,,8", `net.hidden: the list has an empty item; write "" for empty text`},
		{"net.hidden=8,", `net.hidden: the list has an empty item; write "" for empty text`},
		{`tags="a`, `tags: the list has a quoted item that does not end, or has an unknown \ escape`},
		{`tags="a"b`, "tags: the list has an item that goes on after its closing quote; put a comma between items"},
		{"note=\xff", "note: the text is not valid UTF-8"},
		{"every=5", `every: "5" is not a duration such as 1.5s, 10m or 2h`},
		{"every=25h", "every: 25h0m0s is outside (0s,24h]"},
	}
	for _, c := range cases {
		t.Run(c.flag, func(t *testing.T) {
			got := defaultSample()
			wantError(t, Set(&got, assign(t, c.flag)), "--set: "+c.want)
			if want := defaultSample(); !reflect.DeepEqual(got, want) {
				t.Errorf("changed to %+v", got)
			}
		})
	}
}

// TestSetAllOrNothing mixes right and wrong: all that is wrong is named, and
// nothing that is right is kept.
func TestSetAllOrNothing(t *testing.T) {
	got := defaultSample()
	err := Set(&got, []Assignment{
		{Key: "envs", Value: "8", Source: "run.yaml:1"},
		{Key: "gama", Value: "0.9", Source: "run.yaml:2"},
		{Key: "net.hidden", Value: "1,2", Source: "run.yaml:3", List: true},
		{Key: "note", Value: "a,b", Source: "run.yaml:4", List: true},
		{Key: "envs", Value: "none", Source: "run.yaml:5"},
	}, assign(t, "gamma=2", "gamma=1"))
	wantError(t, err, `run.yaml:2: unknown setting "gama", did you mean "gamma"?
run.yaml:4: note: takes one value, not a list
run.yaml:5: envs: set twice, first at run.yaml:1
run.yaml:5: envs: "none" is not a whole number
--set: gamma: 2 is outside [0,1]
--set: gamma: set twice`)
	if want := defaultSample(); !reflect.DeepEqual(got, want) {
		t.Errorf("changed to %+v", got)
	}
	var problems Errors
	if !errors.As(fmt.Errorf("train: %w", err), &problems) {
		t.Fatalf("%T is not Errors", err)
	}
	if p := problems[0]; p.Key != "gama" || p.Source != "run.yaml:2" {
		t.Errorf("first problem is %+v", p)
	}
}

func TestSetLayers(t *testing.T) {
	got := defaultSample()
	if err := Set(&got, assign(t, "envs=8", "gamma=0.5"), assign(t, "envs=16")); err != nil {
		t.Fatal(err)
	}
	if got.Envs != 16 || got.Gamma != 0.5 {
		t.Errorf("envs %d, gamma %g; want 16, 0.5", got.Envs, got.Gamma)
	}
}

var (
	errUneven = errors.New("batch must be a multiple of parts")
	errOdd    = errors.New("batch must be even")
)

// validated has a rule of its own that no tag could state.
type validated struct {
	Batch int `default:"8" range:"[1,)" doc:"d"`
	Parts int `default:"4" range:"[1,)" doc:"d"`
}

func (v *validated) Validate() error {
	var errs []error
	if v.Batch%v.Parts != 0 {
		errs = append(errs, errUneven)
	}
	if v.Batch%2 != 0 {
		errs = append(errs, errOdd)
	}
	return errors.Join(errs...)
}

func TestSetValidates(t *testing.T) {
	cases := []struct {
		name  string
		flags []string
		want  string
	}{
		{"good", []string{"batch=6", "parts=3"}, ""},
		{"own rule", []string{"batch=7"}, "batch must be a multiple of parts\nbatch must be even"},
		{"joined", []string{"parts=3", "batch=x"}, "--set: batch: \"x\" is not a whole number\nbatch must be a multiple of parts"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := validated{8, 4}
			err := Set(&v, assign(t, c.flags...))
			wantError(t, err, c.want)
			if changed := v != (validated{8, 4}); changed != (c.want == "") {
				t.Errorf("is now %+v", v)
			}
			if c.want != "" && !errors.Is(err, errUneven) {
				t.Error("the error does not wrap that of Validate")
			}
		})
	}
}

func TestValidate(t *testing.T) {
	s := defaultSample()
	wantError(t, Validate(&s), "")
	s.Gamma, s.Anneal, s.Net.Hidden[1] = 2, "never", 0
	wantError(t, Validate(&s), `gamma: 2 is outside [0,1]
anneal: "never" is not one of linear, constant
net.hidden: item 2: 0 is outside [1,)`)
	wantError(t, Validate(&validated{Batch: 0, Parts: 7}), "batch: 0 is outside [1,)")
	wantError(t, Validate(&validated{Batch: 10, Parts: 4}), "batch must be a multiple of parts")
}

func TestFlattenKeepsText(t *testing.T) {
	err := fmt.Errorf("both %w and %w", errUneven, errOdd)
	if got := flatten(err); len(got) != 1 || got[0] != err {
		t.Errorf("flatten took apart %q: %q", err, got)
	}
}

func TestParseSet(t *testing.T) {
	cases := []struct {
		text string
		want Assignment
		err  string
	}{
		{"a=b", Assignment{Key: "a", Value: "b", Source: "-s"}, ""},
		{" a.b =c=d ", Assignment{Key: "a.b", Value: "c=d ", Source: "-s"}, ""},
		{"a=", Assignment{Key: "a", Source: "-s"}, ""},
		{"a", Assignment{}, `-s: "a" is not of the form key=value`},
		{"=b", Assignment{}, `-s: "=b" is not of the form key=value`},
		{"", Assignment{}, `-s: "" is not of the form key=value`},
	}
	for _, c := range cases {
		got, err := ParseSet(c.text, "-s")
		wantError(t, err, c.err)
		if got != c.want {
			t.Errorf("ParseSet(%q) = %+v, want %+v", c.text, got, c.want)
		}
	}
}

// Validate checks a struct that was filled by Go code rather than by [Set]:
// every value against its tags, then the struct's own Validate method, if any.
func Validate(ptr any) error {
	sch, v, err := open(ptr)
	if err != nil {
		return err
	}
	problems := sch.check(v)
	return append(problems, validate(ptr)...).orNil()
}
