package mujoco

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/mujoco/internal/mj"
	"github.com/weft-rl/weft/rl"
)

// play takes steps of random actions and returns the bits of everything seen.
func play(s *rl.Scope, b *Batch, steps int) (out []float64) {
	for range steps {
		k := rl.NewKey(5).Fold(uint64(b.time))
		x := b.Step(env.Sample(s, b.Spec(), b.Obs(), k))
		for _, t := range rl.Leaves(x) {
			if t.Ok() {
				out = append(out, rl.Floats(t)...)
			}
		}
		out = append(out, b.seen...)
		out = append(out, b.total...)
	}
	return out
}

// TestThreads: the number of threads changes no bit.
func TestThreads(t *testing.T) {
	needLibrary(t)
	for _, id := range []string{"Hopper-v5", "Humanoid-v5"} {
		var first []float64
		for _, threads := range []string{"1", "2", "5"} {
			s := newScope(t, 3)
			got := play(s, make1(t, s, id, 7, "threads="+threads), 40)
			if first == nil {
				first = got
			} else if !slices.Equal(got, first) {
				t.Errorf("%s: %s threads give other bits than 1", id, threads)
			}
		}
	}
}

// TestRestore: a state goes on alike in a batch that has just begun and in one
// that is elsewhere. What Ant and Humanoid call their place is not part of the
// simulation's state.
func TestRestore(t *testing.T) {
	needLibrary(t)
	for _, e := range All {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			s := newScope(t, 1)
			b := makeOf(t, s, e, 3, nil)
			play(s, b, 25)
			state := rl.NewState(s)
			b.Save(state)
			want := play(s, b, 30)
			for _, before := range []int{0, 7} {
				other := newScope(t, 1)
				c := makeOf(t, other, e, 3, nil)
				play(other, c, before)
				if err := c.Load(state); err != nil {
					t.Fatal(err)
				}
				if got := play(other, c, 30); !slices.Equal(got, want) {
					t.Errorf("restored after %d steps, it goes on differently", before)
				}
			}
		})
	}
}

func TestRestoreOther(t *testing.T) {
	needLibrary(t)
	s := newScope(t, 1)
	state := rl.NewState(s)
	make1(t, s, "Hopper-v5", 2).Save(state)
	if err := make1(t, s, "Hopper-v5", 3).Load(state); err == nil {
		t.Error("a state of 2 environments was loaded into 3")
	}
}

// TestRestoreVersion: a state of another version is not gone on from.
func TestRestoreVersion(t *testing.T) {
	needLibrary(t)
	s := newScope(t, 1)
	state, b := rl.NewState(s), make1(t, s, "Hopper-v5", 2)
	b.Save(state)
	b.sims.Lib = &mj.Lib{Path: "lib.so", Version: "9.9.9"}
	if err := b.Load(state); err == nil || !strings.Contains(err.Error(), "and this is MuJoCo 9.9.9, lib.so: ") {
		t.Errorf("it says %v", err)
	}
}

// TestLimit: the steps of Gymnasium's limits, and that a cut-off is no end.
func TestLimit(t *testing.T) {
	needLibrary(t)
	for _, x := range []struct {
		id    string
		limit int
	}{{"HalfCheetah-v5", 1000}, {"Swimmer-v5", 1000}, {"Reacher-v5", 50}, {"Pusher-v5", 100}} {
		b := make1(t, newScope(t, 1), x.id, 2)
		b.Obs()
		still := make([]float32, 2*len(b.rows[0].ctrl))
		for i := 1; i <= x.limit; i++ {
			b.advance(still)
			if cut := i == x.limit; b.trunc[0] != cut || b.over[1] != cut || b.term[0] {
				t.Fatalf("%s: step %d of %d: truncated %v, over %v, terminated %v", x.id, i, x.limit, b.trunc[0], b.over[1], b.term[0])
			}
		}
		if b.age[0] != 0 {
			t.Errorf("%s: no new episode after its limit", x.id)
		}
	}
}

// TestSteady: the inner step allocates nothing, resets included.
func TestSteady(t *testing.T) {
	needLibrary(t)
	for _, e := range All {
		b := makeOf(t, newScope(t, 1), e, 4, nil)
		b.Obs()
		nu := len(b.rows[0].ctrl)
		action := make([]float32, 4*nu)
		n := 0
		allocs := testing.AllocsPerRun(120, func() {
			n++
			for i := range action {
				hi := b.spec.Action.(rl.Box).High[i%nu]
				action[i] = float32(hi * math.Sin(float64(n*(i+1))))
			}
			b.advance(action)
		})
		if allocs != 0 {
			t.Errorf("%s: a step allocates %v times", e.ID, allocs)
		}
	}
}

// TestStart: first states have Gymnasium's distributions.
func TestStart(t *testing.T) {
	needLibrary(t)
	const n = 200
	made := map[string]*Batch{}
	moments := func(b *Batch, of func(*sim) float64) (mean, dev, low, high float64) {
		low, high = math.Inf(1), math.Inf(-1)
		for i := range b.rows {
			x := of(&b.rows[i])
			mean += x / n
			dev += x * x / n
			low, high = min(low, x), max(high, x)
		}
		return mean, math.Sqrt(dev - mean*mean), low, high
	}
	for _, x := range []struct {
		id                   string
		of                   func(*sim) float64
		mean, dev, low, high float64
	}{
		{"HalfCheetah-v5", func(s *sim) float64 { return s.qpos[0] }, 0, .1 / math.Sqrt(3), -.1, .1},
		{"HalfCheetah-v5", func(s *sim) float64 { return s.qvel[3] }, 0, .1, -1, 1},
		{"Hopper-v5", func(s *sim) float64 { return s.qpos[1] - 1.25 }, 0, 5e-3 / math.Sqrt(3), -5e-3, 5e-3},
		{"Walker2d-v5", func(s *sim) float64 { return s.qvel[0] }, 0, 5e-3 / math.Sqrt(3), -5e-3, 5e-3},
		{"Reacher-v5", func(s *sim) float64 { return s.qpos[0] }, 0, .1 / math.Sqrt(3), -.1, .1},
		{"Reacher-v5", func(s *sim) float64 { return s.qpos[2] }, 0, .1, -.2, .2}, // uniform on a disc
		{"Reacher-v5", func(s *sim) float64 { return math.Hypot(s.qpos[2], s.qpos[3]) }, .4 / 3, .2 / math.Sqrt(18), 0, .2},
		{"Reacher-v5", func(s *sim) float64 { return s.qvel[3] }, 0, 0, 0, 0},
		{"Pusher-v5", func(s *sim) float64 { return s.qvel[0] }, 0, .005 / math.Sqrt(3), -.005, .005},
		{"Pusher-v5", func(s *sim) float64 { return math.Hypot(s.qpos[7], s.qpos[8]) }, .2425, .046, .17, .37},
		{"Pusher-v5", func(s *sim) float64 { return s.qpos[7] }, -.197, .07, -.3, 0},
	} {
		b := made[x.id]
		if b == nil {
			b = make1(t, newScope(t, 1), x.id, n)
			b.Obs()
			made[x.id] = b
		}
		mean, dev, low, high := moments(b, x.of)
		if math.Abs(mean-x.mean) > .2*max(x.dev, x.mean) || math.Abs(dev-x.dev) > .15*x.dev || low < x.low || high > x.high {
			t.Errorf("%s: mean %.4f, deviation %.4f, from %.4f to %.4f; want %.4f, %.4f, %.4f to %.4f",
				x.id, mean, dev, low, high, x.mean, x.dev, x.low, x.high)
		}
	}
}

// TestRefused: what is missing is said in one sentence, with what to do.
func TestRefused(t *testing.T) {
	needLibrary(t)
	empty := t.TempDir()
	broken := filepath.Join(empty, "broken.xml")
	if err := os.WriteFile(broken, []byte("<mujoco><worldbody><body/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		set  func(*AntOptions)
		want string
	}{
		{"library", func(o *AntOptions) { o.Library = empty }, "option library names " + empty + ", which is not a libmujoco"},
		{"no library", func(o *AntOptions) { o.Library = broken }, "broken.xml cannot be loaded"},
		{"models", func(o *AntOptions) { o.Models = empty }, filepath.Join(empty, "ant.xml")},
		{"model", func(o *AntOptions) { o.XMLFile = broken }, broken},
		{"body", func(o *AntOptions) { o.MainBody = "wing" }, `has no body "wing"`},
		{"body number", func(o *AntOptions) { o.MainBody = "99" }, `has no body "99"`},
		{"range", func(o *AntOptions) { o.HealthyZRange = []float64{1} }, "option healthy_z_range is [1], want a lower and an upper bound"},
		{"ranges", func(o *AntOptions) {
			o.HealthyZRange, o.ContactForceRange = nil, []float64{2, 1}
		}, "option contact_force_range is [2 1]"},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := Ant.Options().(*AntOptions)
			x.set(o)
			if _, err := Ant.New(newScope(t, 1), 2, o); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("error %v, want %q", err, x.want)
			}
		})
	}
	if _, err := Ant.New(newScope(t, 1), 2, Hopper.Options()); err == nil {
		t.Error("options of another task were taken")
	}
}

// TestClose: twice is once.
func TestClose(t *testing.T) {
	needLibrary(t)
	b := make1(t, newScope(t, 1), "Swimmer-v5", 3)
	b.Obs()
	if q := b.Qpos(2); len(q) != 5 {
		t.Errorf("%d positions of a swimmer, want 5", len(q))
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := rl.Catch(func() error { b.Step(rl.Tree{}); return nil }); err == nil {
		t.Error("a closed batch was stepped")
	}
}
