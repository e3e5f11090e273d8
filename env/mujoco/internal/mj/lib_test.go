package mj

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	for version, want := range map[string]string{
		"4.0.0": "batch", "4.12.1": "batch", "3.17.0": "batch", "2.2.2": "layout", "3.3.7": "layout",
		"2.1.0": "", "3.0.1": "", "3.18.0": "", "5.0.0": "", "40.0": "", "": "",
	} {
		l, err := layoutOf("lib.so", version)
		got := "batch"
		switch {
		case err != nil:
			got = ""
			if !strings.Contains(err.Error(), "which is none of the versions known here, 2.2.2, ") || !strings.HasSuffix(err.Error(), " and all of 3.17.x and 4.x: "+Install) {
				t.Errorf("version %q: %v", version, err)
			}
		case l != nil:
			got = "layout"
		}
		if got != want {
			t.Errorf("version %q: %q, want %q", version, got, want)
		}
	}
}

// TestResolve: a library is refused by name of what it lacks.
func TestResolve(t *testing.T) {
	l := &Lib{Path: "lib.so"}
	if err := l.resolve(func(string) uintptr { return 0 }); err == nil || !strings.Contains(err.Error(), "is not a libmujoco") {
		t.Errorf("nothing in it: %v", err)
	}
	real := library(t)
	handle, err := dlopen(real.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range real.table() {
		lacking := func(name string) uintptr {
			if name == s.name {
				return 0
			}
			return dlsym(handle, name)
		}
		if err := l.resolve(lacking); err == nil || !strings.Contains(err.Error(), "without "+s.name+":") {
			t.Errorf("without %s: %v", s.name, err)
		}
	}
}

func library(t testing.TB) *Lib {
	t.Helper()
	path, err := Library("", "")
	if err != nil {
		t.Skip(err)
	}
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// cart is a model that needs no file of anyone's: a mass on a rail, pushed.
const cart = `<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body>
  </worldbody>
  <actuator><motor joint="rail" ctrllimited="true" ctrlrange="-3 5"/></actuator>
</mujoco>`

func TestSims(t *testing.T) {
	l := library(t)
	s, err := l.New(write(t, cart), 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Timestep != .01 || !slices.Equal(s.CtrlRange, []float64{-3, 5}) || !slices.Equal(s.BodyMass, []float64{0, 2}) || s.Threads != 2 {
		t.Errorf("model is %+v", s)
	}
	if s.Body("cart") != 1 || s.Body("none") != -1 {
		t.Errorf("bodies %d, %d", s.Body("cart"), s.Body("none"))
	}
	if s.Output("nonsense") != nil {
		t.Error("an output of no name")
	}
	acc := s.Output("qacc")
	s.Component(Ctrl, 1)[0] = 4
	for range 10 {
		if err := s.Step(10); err != nil {
			t.Fatal(err)
		}
	}
	// A force of 4 on a mass of 2 for a second; the others stay.
	for i, want := range []float64{0, 2, 0} {
		if v, a := s.Component(Qvel, i)[0], acc[i]; math.Abs(v-want) > 1e-9 || math.Abs(a-want) > 1e-9 || math.Abs(s.Component(Time, i)[0]-1) > 1e-9 {
			t.Errorf("simulation %d after a second: velocity %v, acceleration %v, want %v", i, v, a, want)
		}
	}
	if err := s.Reset([]int32{1}); err != nil {
		t.Fatal(err)
	}
	if s.Component(Qvel, 1)[0] != 0 || s.Component(Time, 0)[0] == 0 {
		t.Error("a reset of one was none, or one of all")
	}
}

// TestGeoms: what is seen has its kind, its size, and its own colour or that of its
// material.
func TestGeoms(t *testing.T) {
	l := library(t)
	s, err := l.New(write(t, `<mujoco>
  <asset><material name="red" rgba="1 0 0 1"/></asset>
  <worldbody>
    <geom type="plane" size="4 5 1" rgba="0 1 0 1"/>
    <geom type="box" size="1 2 3" group="4"/>
    <geom type="sphere" size="1" rgba="0 0 0 0"/>
    <body><freejoint/><geom type="capsule" size="0.1 0.2" material="red"/><geom type="box" size="1 2 3" material="red" rgba="0 0 1 1"/></body>
  </worldbody>
</mujoco>`), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Geoms()
	want := []Geom{
		{0, Plane, [3]float64{4, 5, 1}, [4]float32{0, 1, 0, 1}},
		{3, Capsule, [3]float64{.1, .2}, [4]float32{1, 0, 0, 1}},
		{4, Box, [3]float64{1, 2, 3}, [4]float32{0, 0, 1, 1}},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v\nwant %v", got, err, want)
	}
}

func TestBadModel(t *testing.T) {
	l := library(t)
	for text, want := range map[string]string{
		"<mujoco>": "XML",
		`<mujoco><worldbody><geom size="-1"/></worldbody></mujoco>`: "size",
	} {
		if _, err := l.New(write(t, text), 1, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
