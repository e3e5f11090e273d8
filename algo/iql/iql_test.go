package iql

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/algo/bc"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/data"
	_ "github.com/weft-rl/weft/data/debug"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

const rows = 64

// fast returns settings by which tiny tasks are learnt in a second or two.
func fast(set string, more ...string) []string {
	return append([]string{"data=debug:" + set, "batch=64", "hidden=32,32", "learning_rate=3e-3", "gamma=0.5", "scale=1", "tau=0.05"}, more...)
}

// TestBetterThanData: where two of three actions are random the policy learns the good ones, of
// numbers and of choices, and imitation does not.
func TestBetterThanData(t *testing.T) {
	algotest.Solve(t, Algorithm, []algotest.Task{
		{Name: "numbers", Env: debug.IdentityContinuous, Set: fast("continuous-mixed", "beta=30", "expectile=0.9"), Steps: 1500, Want: 15.7},
		{Name: "choices", Env: debug.Identity, Set: fast("identity-mixed"), Steps: 800, Want: 15.9},
	})
	for name, j := range map[string]app.Job{
		"bc":     {Algorithm: bc.Algorithm, Set: []string{"data=debug:continuous-mixed", "batch=64", "hidden=32", "learning_rate=3e-3"}},
		"beta 0": {Algorithm: Algorithm, Set: fast("continuous-mixed", "beta=0")},
	} {
		j.Env, j.Steps = debug.IdentityContinuous, 1500
		if got := algotest.Greedy(t, j); got > 14.5 { // a third of what is shown earns 13.6
			t.Errorf("the greedy return of %s is %.2f", name, got)
		}
	}
}

// TestExpectile: the loss by hand, and its minimum over numbers whose expectile is known: that of
// .75 of 0 and 1, equally often, is .75.
func TestExpectile(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	f := rl.NewFunc(s, "expectile", func(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(expectile(x.Node(), .7)) })
	got := rl.Floats(f.Call(rl.Key{}, rl.FromFlat(s, []float32{-2, -1, 0, 1, 2}, 5)))
	for i, want := range []float64{1.2, .3, 0, .7, 2.8} {
		algotest.Near(t, "loss", got[i], want, 1e-6)
	}
	at := func(v float32) float64 {
		f := rl.NewFunc(s, "at", func(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(expectile(x.Node(), .75)) })
		sum, _ := rl.Total(f.Call(rl.Key{}, rl.FromFlat(s, []float32{-v, 1 - v}, 2)))
		return sum
	}
	if least := at(.75); !(least < at(.74) && least < at(.76)) {
		t.Errorf("the loss is %v at .75, %v below and %v above", least, at(.74), at(.76))
	}
}

// TestLosses compares all three losses with what plain Go works out from the networks' values: the
// lower of two critics, weights and their bound, scaled rewards, rows that terminate.
func TestLosses(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	box := rl.Box{Low: []float64{-1, 2}, High: []float64{3, 12}, Dims: []int{2}}
	set := data.New[Transition](s, "data", algotest.Random(t, rl.Box{Low: []float64{-2}, High: []float64{2}, Dims: []int{2}}, box, 20), data.Options{Discount: .9})
	c := Config{Expectile: .7, Beta: 3, MaxWeight: 2, Scale: 10, Critics: 2, Layers: nn.Layers{Hidden: []int{8}, Activation: "tanh"}}
	n, err := newNet(s, c, set)
	if err != nil {
		t.Fatal(err)
	}
	sample := set.Sample(rl.NewKey(3), rows)
	d := sample.Data
	_, valued := rl.NewLoss(s, "value", n.value, n.v).Grad(rl.Key{}, d)
	_, improved := rl.NewLoss(s, "improve", n.improve, n.pi).Grad(rl.Key{}, Choice{d.Obs, d.Action, valued.Q})
	_, judged := rl.NewLoss(s, "judge", n.judge, n.fast).Grad(rl.Key{}, sample)

	type numbers struct{ A, B, V, Next, LogP rl.Tensor }
	x := rl.NewFunc(s, "numbers", func(c *rl.Ctx, s replay.Sample[Transition]) numbers {
		q := n.critics.Apply(c, c.Scope(n.fast), s.Data.Obs, s.Data.Action)
		v, next := n.worth(c, c.Scope(n.v), s.Data.Obs), n.worth(c, c.Scope(n.v), s.Data.Next)
		return numbers{rl.Wrap(q[0]), rl.Wrap(q[1]), rl.Wrap(v), rl.Wrap(next), rl.Wrap(n.policy(c, c.Scope(n.pi), s.Data.Obs).LogProb(s.Data.Action))}
	}).Call(rl.Key{}, sample)
	a, b, v, next, logp := rl.Floats(x.A), rl.Floats(x.B), rl.Floats(x.V), rl.Floats(x.Next), rl.Floats(x.LogP)
	reward, ended := rl.Floats(d.Reward), rl.Floats(d.Terminated)
	bound := 0
	for i := range rows {
		diff := min(a[i], b[i]) - v[i] // the targets are still what the critics are
		part := .7
		if diff < 0 {
			part = .3
		}
		weight := min(2, math.Exp(3*diff))
		if weight == 2 {
			bound++
		}
		goal := 10*reward[i] + .9*(1-ended[i])*next[i]
		for name, is := range map[string][2]float64{
			"values'":  {rl.Floats(valued.Loss)[i], part * diff * diff},
			"policy's": {rl.Floats(improved.Loss)[i], -weight * logp[i]},
			"critics'": {rl.Floats(judged)[i], (a[i]-goal)*(a[i]-goal) + (b[i]-goal)*(b[i]-goal)},
		} {
			if math.Abs(is[0]-is[1]) > 1e-4*(1+math.Abs(is[1])) {
				t.Errorf("row %d: the %s loss is %v, want %v", i, name, is[0], is[1])
			}
		}
	}
	if bound == 0 || bound == rows {
		t.Errorf("%d of %d weights are at their bound, so that this does not test it", bound, rows)
	}
}

// TestScale: rewards are scaled so that an episode's steps lie between the lowest and the highest
// return. Sets of one policy, whose returns are near to each other, get no larger factor.
func TestScale(t *testing.T) {
	d4rl := &data.Bounds{Random: -100, Expert: 900}
	for name, c := range map[string]struct {
		m    data.Meta
		want float64
	}{
		"D4RL's":                  {data.Meta{Returns: data.Summary{Min: -150, Max: 350}, Bounds: d4rl, Longest: 400}, 2},
		"D4RL's, all good":        {data.Meta{Returns: data.Summary{Min: 395, Max: 400}, Bounds: d4rl, Longest: 1000}, 2},
		"unknown, mixed":          {data.Meta{Returns: data.Summary{Min: -100, Max: 400}, Longest: 200}, .4},
		"unknown, all good":       {data.Meta{Returns: data.Summary{Min: 395, Max: 400}, Longest: 200}, .5},
		"unknown, only penalties": {data.Meta{Returns: data.Summary{Min: -400, Max: -395}, Longest: 200}, .5},
		"all alike":               {data.Meta{Returns: data.Summary{Min: 500, Max: 500}, Longest: 500}, 1},
		"all nothing":             {data.Meta{Longest: 500}, 1},
	} {
		algotest.Near(t, "scale of returns that are "+name, scale(c.m), c.want, 1e-12)
	}
}

// TestStandardised: what networks see of a set is standardised by default, however large its
// numbers are; the authors' preset shows it as it is.
func TestStandardised(t *testing.T) {
	obs := rl.Box{Low: []float64{900}, High: []float64{1100}, Dims: []int{3}}
	far := func(set ...string) (most float64) {
		c, err := algotest.Configure(Algorithm, set)
		if err != nil {
			t.Fatal(err)
		}
		s := rl.NewScope(algotest.Device(t), 1)
		from := data.New[Transition](s, "data", algotest.Random(t, obs, rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}}, 20), data.Options{Discount: .9})
		n, err := newNet(s, *c.(*Config), from)
		if err != nil {
			t.Fatal(err)
		}
		see := rl.NewFunc(s, "see", func(c *rl.Ctx, o rl.Obs) rl.Tensor { return n.view.Of(c, o).X.Leaf("") })
		for _, x := range rl.Floats(see.Call(rl.Key{}, from.Sample(rl.NewKey(3), rows).Data.Obs)) {
			most = max(most, math.Abs(x))
		}
		return most
	}
	if most := far(); most > 3 {
		t.Errorf("networks see a number of size %.1f", most)
	}
	if most := far(Algorithm.Presets[1].Set...); most < 900 {
		t.Errorf("without standardising networks see no number larger than %.1f", most)
	}
}

// TestResumes: a run that was loaded in its middle ends in the bits of one that went on.
func TestResumes(t *testing.T) {
	algotest.Resumes(t, Algorithm, env.Entry{}, 20, "data=debug:identity", "batch=8", "hidden=8")
}
