package ppo

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// iteration is one iteration of Train, as the generator writes it for a device
// program.
func (t *Trainer) iteration(run *rl.Run) {
	obs, memory := t.Env.Obs(), t.Memory.Get()
	run.For(t.Horizon, []rl.Carried{rl.Carry(&obs), rl.Carry(&memory)}, func(i rl.Int) {
		in := ActIn{obs, memory}
		act := t.Actor.Act(run.KeyAt("act", i), in)
		out := t.Env.Step(act.Action)
		cut := t.Actor.Value(out.Truncated, ActIn{out.Final, act.Memory})
		t.Rollout.Insert(Step{in, act, Outcome{out.Reward, out.Terminated, out.Truncated, out.Over}, cut})
		obs, memory = out.Obs, rl.Keep(act.Memory, out.Over)
	})
	t.Memory.Set(memory)
	b := Batch{t.Rollout.Drain(), t.Actor.Last(ActIn{obs, memory})}
	l := t.Learner
	steps := b.Steps
	reward := l.scaled(steps.Out)
	next := rl.Select(steps.Out.Truncated, steps.Cut, rl.Shift(steps.Act.Value, b.Last))
	adv, ret := rl.GAE(l.Gamma, l.Lambda, reward, steps.Act.Value, next, steps.Out.Terminated, steps.Out.Over)
	sample := Sample{steps.In, steps.Act.Raw, steps.Act.LogProb, steps.Act.Value, adv, ret}
	lr := run.HostFloat(func(run *rl.Run) float64 { return l.rate(run.Progress()) })
	run.Until(l.Epochs, nil, func(e rl.Int) rl.Tensor {
		var m Metrics
		run.For(l.Minibatches, []rl.Carried{rl.Carry(&m)}, func(i rl.Int) {
			mini := replay.TakeAt(sample, run.KeyAt("shuffle", e), l.rows(), i, l.Minibatches)
			if l.NormalizeAdvantage {
				mini.Adv = rl.Standardise(mini.Adv, rl.Tensor{})
			}
			g, aux := l.loss.Grad(run.KeyAt("loss", e, i), mini)
			l.opt.ApplyAt(g, lr)
			m = aux
			m.log(run)
		})
		return rl.Tensor{}
	})
	run.Log("learning_rate", lr)
	run.Log("explained_variance", l.explained.Call(rl.Key{}, Explained{steps.Act.Value, ret}))
	l.observe(steps.In.Obs)
}

func trainer(t *testing.T, set ...string) (*Trainer, *rl.Scope) {
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(d, 7)
	c := new(Config)
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	c.Envs, c.Horizon = 8, 16
	made, err := build(s, algo.On(s, classic.All[0], nil, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	return made.(*Trainer), s
}

// A device program of the loop gives the bits of the loop.
func TestLowered(t *testing.T) {
	type seen struct {
		logs [][]rl.Logged
		eps  []rl.Episode
	}
	watch := func(s *seen) func(rl.Cut) error {
		return func(c rl.Cut) error {
			if c.Iter > 0 {
				s.logs = append(s.logs, c.Logs)
			}
			s.eps = append(s.eps, c.Episodes...)
			return nil
		}
	}
	state := func(r *rl.Run, s *rl.Scope) []rl.Array {
		st := rl.NewState(s)
		r.Save(st)
		return st.Arrays()
	}
	const steps = 8 * 16 * 7
	var plain, lowered seen
	a, sa := trainer(t)
	ra := rl.NewRun(sa, steps, watch(&plain))
	if err := rl.Train(a, ra); err != nil {
		t.Fatal(err)
	}
	b, sb := trainer(t)
	rb := rl.NewRun(sb, steps, watch(&lowered))
	p, err := rl.Lower(rb, 4, b.iteration)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Train(func(int64) int64 { return 1 << 62 }); err != nil {
		t.Fatal(err)
	}
	want, got := state(ra, sa), state(rb, sb)
	if len(want) != len(got) {
		t.Fatalf("%d arrays, want %d", len(got), len(want))
	}
	for i := range want {
		if want[i].Name != got[i].Name || !equalFlat(want[i].Flat, got[i].Flat) {
			t.Errorf("%s differs", want[i].Name)
		}
	}
	if !slices.EqualFunc(plain.logs, lowered.logs, slices.Equal[[]rl.Logged]) {
		t.Errorf("logs\n%v\nwant\n%v", lowered.logs, plain.logs)
	}
	if !reflect.DeepEqual(plain.eps, lowered.eps) || len(plain.eps) == 0 {
		t.Errorf("episodes %v, want %v", lowered.eps, plain.eps)
	}
}

func equalFlat(a, b any) bool {
	switch a := a.(type) {
	case []float32:
		return slices.Equal(a, b.([]float32))
	case []float64:
		return slices.Equal(a, b.([]float64))
	case []int64:
		return slices.Equal(a, b.([]int64))
	case []int32:
		return slices.Equal(a, b.([]int32))
	case []uint32:
		return slices.Equal(a, b.([]uint32))
	case []bool:
		return slices.Equal(a, b.([]bool))
	}
	return false
}
