package mj

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// asPlain returns a library as one without a batch interface, where the table knows
// its version: both ways can then be compared on the same library.
func asPlain(t *testing.T, l *Lib) *Lib {
	t.Helper()
	_, all := layouts()
	p := &Lib{Path: l.Path, Version: l.Version, layout: all[l.Version], failed: make(chan struct{})}
	if p.layout == nil {
		t.Skipf("layouts.tsv does not have MuJoCo %s", l.Version)
	}
	handle, err := dlopen(l.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.table() {
		if *s.at = dlsym(handle, s.name); *s.at == 0 {
			t.Fatalf("no %s", s.name)
		}
	}
	return p
}

// falling is a body that falls on the ground, turns and is pushed: it has contacts,
// a warm start, sites, an actuator with a state, and quaternions.
const falling = `<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="4 5 1"/>
    <body name="box" pos="0 0 0.3" euler="10 20 30"><freejoint/><geom type="box" size="0.1 0.2 0.1"/>
      <body pos="0.2 0 0"><joint name="arm" axis="0 1 0"/><geom type="capsule" size="0.02 0.1"/><site name="tip" pos="0 0 0.1"/></body>
    </body>
  </worldbody>
  <actuator><general joint="arm" dyntype="filter" dynprm="0.1" gainprm="2"/></actuator>
</mujoco>`

// trace returns everything that simulations show while they are reset, moved, stepped
// and asked for forces.
func trace(t *testing.T, l *Lib, file string, threads int) (all []float64) {
	t.Helper()
	s, err := l.New(file, 5, threads)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var outs [][]float64
	for _, name := range []string{
		"qacc", "xpos", "xipos", "geom_xpos", "geom_xmat", "site_xpos", "cinert", "cvel", "qfrc_actuator", "qfrc_constraint", "cfrc_ext",
	} {
		out := s.Output(name)
		if out == nil {
			t.Fatalf("no output %s", name)
		}
		outs = append(outs, out)
	}
	see := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.N {
			for _, c := range []Component{Time, Qpos, Qvel, Ctrl} {
				all = append(all, s.Component(c, i)...)
			}
		}
		all = append(all, slices.Concat(outs...)...)
	}
	for i := range s.N {
		s.Component(Qpos, i)[0] = float64(i)
		s.Component(Ctrl, i)[0] = float64(i) - 2
	}
	see(s.Forward(nil))
	for range 40 {
		see(s.Step(3))
		see(s.Forces())
	}
	see(s.Reset([]int32{1, 3}))
	s.Component(Qvel, 3)[1] = 2
	see(s.Forward([]int32{3, 1}))
	see(s.Step(1))
	return all
}

// TestPlain: stepped one by one, simulations are what the batch interface makes of
// them, to the last bit and on any number of threads.
func TestPlain(t *testing.T) {
	l, file := library(t), write(t, falling)
	want := trace(t, l, file, 2)
	for _, threads := range []int{1, 4} {
		if got := trace(t, asPlain(t, l), file, threads); !slices.Equal(got, want) {
			t.Errorf("%d threads: other numbers than those of the library's own batch", threads)
		}
	}
}

// TestState: a state that is copied to other simulations makes them go on alike.
func TestState(t *testing.T) {
	l, file := asPlain(t, library(t)), write(t, falling)
	make1 := func(n int) *Sims {
		s, err := l.New(file, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	a, b := make1(1), make1(2)
	a.Component(Ctrl, 0)[0] = 1
	steps := func(s *Sims, n int) {
		for range n {
			if err := s.Step(1); err != nil {
				t.Fatal(err)
			}
		}
	}
	steps(a, 60)
	copy(b.State()[len(a.State()):], a.State())
	steps(a, 60)
	steps(b, 60)
	if !slices.Equal(a.State(), b.State()[len(a.State()):]) {
		t.Error("the copy goes on differently")
	}
}

// TestGivesUp: a library that cannot go on stops the simulations, not the process.
func TestGivesUp(t *testing.T) {
	l := &Lib{Version: "9.9", failed: make(chan struct{})}
	give := purego.NewCallback(l.fail)
	for range 2 {
		err := l.guarded(func() error { call(give, uintptr(cstring("no more\n"))); return nil })
		if err == nil || err.Error() != "MuJoCo 9.9 gave up: no more" {
			t.Errorf("it says %v", err)
		}
	}
	p := &plain{lib: l, rows: make([]row, 3), hands: 1}
	if err := p.run(op{do: forward}, nil, 0); err == nil {
		t.Error("simulations went on")
	}
}

// TestGivesUpItself runs the same with a library whose own errors end up there.
func TestGivesUpItself(t *testing.T) {
	l := library(t)
	if l.layout == nil {
		return // its batches tell of errors themselves
	}
	handle, err := dlopen(l.Path)
	if err != nil {
		t.Fatal(err)
	}
	other := asPlain(t, l) // in whose place the library is broken
	other.quieten()
	defer l.quieten()
	err = other.guarded(func() error { call(dlsym(handle, "mju_error"), uintptr(cstring("no more"))); return nil })
	if err == nil || !strings.Contains(err.Error(), "gave up: no more") {
		t.Errorf("it says %v", err)
	}
}

// TestLayouts: the table has what is asked of it, for every version.
func TestLayouts(t *testing.T) {
	versions, all := layouts()
	need := []string{"mjModel.buffer", "mjModel.nbuffer", "mjModel.opt.timestep", "mjData.buffer", "mjData.nbuffer", "mjData.time"}
	for name, a := range modelArrays {
		need = append(need, "mjModel."+name, "mjModel."+a.per)
	}
	for name, a := range dataArrays {
		need = append(need, "mjData."+name, "mjModel."+a.per)
	}
	for _, v := range versions {
		for _, name := range need {
			if _, ok := all[v][name]; !ok {
				t.Errorf("version %s has no %s", v, name)
			}
		}
	}
	for table, want := range map[string]string{
		"field\t1.0\t2.0\na\t1\n": "a has 1 numbers for 2 versions",
		"field\t1.0\na\tx\n":      "a of 1.0",
		"field\t1.0\na\t-8\n":     "a of 1.0",
	} {
		if _, _, err := parseLayouts(table); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", table, err, want)
		}
	}
}

// pretended is memory that stays where it is, as C's does.
var pretended [32]uintptr

// TestCheck: arrays that are elsewhere than in the object's buffer, or in each
// other, are those of another layout.
func TestCheck(t *testing.T) {
	memory := pretended[:]
	at := uintptr(unsafe.Pointer(&memory[0]))
	o := object{"mjData", at, layout{"mjData.buffer": 0, "mjData.nbuffer": 8, "mjData.n": 16, "mjData.a": 24, "mjData.b": 32}}
	arrays := map[string]array{"a": {"n", 1, 8}, "b": {"n", 2, 8}}
	buffer := uintptr(unsafe.Pointer(&memory[8]))
	for _, x := range []struct {
		n, a, b uintptr
		want    string
	}{
		{2, buffer, buffer + 16, ""},
		{2, buffer + 32, buffer, ""},
		{0, buffer, buffer, ""},
		{2, buffer, buffer + 8, "mjData.b is not where"},
		{2, buffer - 8, buffer + 16, "mjData.a is not where"},
		{2, buffer, buffer + 40, "mjData.b is not where"},
		{1 << 20, buffer, buffer, "n of mjModel is 1048576"},
		{1<<32 - 1, buffer, buffer, "n of mjModel is -1"},
	} {
		copy(memory, []uintptr{buffer, 64, x.n, x.a, x.b})
		err := o.check(arrays, o)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

// TestUnkept: a state that would be kept in part is refused.
func TestUnkept(t *testing.T) {
	memory := pretended[:]
	clear(memory)
	o := object{"mjModel", uintptr(unsafe.Pointer(&memory[0])), layout{"mjModel.nhistory": 8}}
	if err := o.checkState(); err != nil {
		t.Error(err)
	}
	memory[1] = 3
	if err := o.checkState(); err == nil || !strings.Contains(err.Error(), "it has delays, whose state") {
		t.Error(err)
	}
}
