package cql

import (
	"math"
	"slices"
	"testing"

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

const rows = 32

// fast returns settings by which tiny tasks are learnt in a few seconds.
func fast(more ...string) []string {
	return append([]string{"batch=64", "hidden=32,32", "learning_rate=3e-3", "policy_rate=1", "gamma=0.5", "tau=0.05"}, more...)
}

// TestBetterThanData: where two of three actions are random the policy learns the good ones, of
// numbers and of choices.
func TestBetterThanData(t *testing.T) {
	algotest.Solve(t, Algorithm, []algotest.Task{
		{Name: "numbers", Env: debug.IdentityContinuous, Set: fast("data=debug:continuous-mixed", "alpha=0.1", "actions=4"), Steps: 1500, Want: 15.5},
		{Name: "choices", Env: debug.Identity, Set: fast("data=debug:identity-mixed", "alpha=0.1"), Steps: 1000, Want: 15.9},
	})
}

// TestConservative: where the data show one action in a state, plain SAC goes where nobody has
// been, because its critics say nothing against it. The conservative policy stays.
func TestConservative(t *testing.T) {
	score := func(set ...string) float64 {
		set = fast(append(set, "data=debug:continuous", "actions=4")...)
		return algotest.Greedy(t, app.Job{Algorithm: Algorithm, Set: set, Env: debug.IdentityContinuous, Steps: 800})
	}
	if plain, careful := score("alpha=0", "backup_entropy=true"), score("alpha=1"); plain > 13 || careful < 15.8 {
		t.Errorf("SAC has a greedy return of %.2f, want 13 at most; CQL of %.2f, want 15.8", plain, careful)
	} else {
		t.Logf("greedy returns: SAC %.2f, CQL %.2f", plain, careful)
	}
}

// TestLoss compares the critics' loss with what plain Go works out from their values of the actions
// that were drawn: the soft maximum, corrected by densities, against the data's action.
func TestLoss(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	box := rl.Box{Low: []float64{-1, 2}, High: []float64{3, 12}, Dims: []int{2}}
	set := data.New[Transition](s, "data", algotest.Random(t, rl.Box{Low: []float64{-2}, High: []float64{2}, Dims: []int{2}}, box, 20), data.Options{Discount: .9})
	const each = 3
	n, err := newNet(s, Config{Alpha: 10, Actions: each, Critics: 2, Temperature: .5, Layers: nn.Layers{Hidden: []int{8}, Activation: "tanh"}}, set)
	if err != nil {
		t.Fatal(err)
	}
	sample, key := set.Sample(rl.NewKey(3), rows), rl.NewKey(9)
	_, judged := rl.NewLoss(s, "judge", n.judge, n.fast).Grad(key, sample)

	type numbers struct{ Next, A, B, Density, Drawn, OfA, OfB rl.Tensor }
	x := rl.NewFunc(s, "numbers", func(c *rl.Ctx, s replay.Sample[Transition]) numbers {
		next, _ := n.worth(c, n.slow, s.Data.Next, "next")
		q := n.critics.Apply(c, c.Scope(n.fast), s.Data.Obs, s.Data.Action)
		drawn, density := n.drawn(c, s.Data.Obs, s.Data.Next)
		obs := s.Data.Obs
		obs.X = rl.One(rl.Wrap(times(obs.X.Leaf("").Node(), 3*each)))
		of := n.critics.Apply(c, c.Scope(n.fast), obs, rl.One(rl.Wrap(drawn)))
		return numbers{rl.Wrap(next), rl.Wrap(q[0]), rl.Wrap(q[1]), rl.Wrap(density), rl.Wrap(drawn), rl.Wrap(of[0]), rl.Wrap(of[1])}
	}).Call(key, sample)
	loss, gap, next, reward, ended := rl.Floats(judged.Loss), rl.Floats(judged.Gap), rl.Floats(x.Next), rl.Floats(sample.Data.Reward), rl.Floats(sample.Data.Terminated)
	density, drawn := rl.Floats(x.Density), rl.Floats(x.Drawn)
	for i := range rows {
		goal := reward[i] + .9*(1-ended[i])*next[i]
		want, wide := 0.0, 0.0
		for _, q := range [][2]rl.Tensor{{x.A, x.OfA}, {x.B, x.OfB}} {
			own, sum := rl.Floats(q[0])[i], 0.0
			for k := range 3 * each {
				logp := density[i*3*each+k]
				if k < each {
					logp = -math.Log(4 * 10) // evenly over the box
				}
				sum += math.Exp(rl.Floats(q[1])[i*3*each+k] - logp)
			}
			want += (own-goal)*(own-goal) + 10*(math.Log(sum)-own)
			wide += math.Log(sum) - own
		}
		if math.Abs(loss[i]-want) > 1e-4*(1+math.Abs(want)) || math.Abs(gap[i]-wide) > 1e-4*(1+math.Abs(wide)) {
			t.Errorf("row %d: loss %v and gap %v, want %v and %v", i, loss[i], gap[i], want, wide)
		}
	}
	first := drawn[:2*each] // of the first row: drawn evenly, and so not alike
	slices.Sort(first)
	if len(slices.Compact(first)) != 2*each {
		t.Error("a row's actions are alike")
	}
}

// TestChoices: over choices the soft maximum is exact.
func TestChoices(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	from, err := data.Open("debug:identity")
	if err != nil {
		t.Fatal(err)
	}
	set := data.New[Transition](s, "data", from, data.Options{Discount: .9})
	n, err := newNet(s, Config{Alpha: 2, Critics: 1, Temperature: 1, Layers: nn.Layers{Hidden: []int{8}, Activation: "tanh"}}, set)
	if err != nil {
		t.Fatal(err)
	}
	sample := set.Sample(rl.NewKey(3), rows)
	_, judged := rl.NewLoss(s, "judge", n.judge, n.fast).Grad(rl.NewKey(9), sample)
	all := rl.Floats(rl.NewFunc(s, "all", func(c *rl.Ctx, obs rl.Obs) rl.Tensor {
		return rl.Wrap(n.critics.All(c, c.Scope(n.fast), obs)[0])
	}).Call(rl.Key{}, sample.Data.Obs))
	for i, a := range rl.Floats(sample.Data.Action.Leaf("")) {
		sum := 0.0
		for _, q := range all[4*i : 4*i+4] {
			sum += math.Exp(q)
		}
		algotest.Near(t, "gap", rl.Floats(judged.Gap)[i], math.Log(sum)-all[4*i+int(a)], 1e-5)
	}
}

// TestResumes: a run that was loaded in its middle ends in the bits of one that went on.
func TestResumes(t *testing.T) {
	algotest.Resumes(t, Algorithm, env.Entry{}, 20, "data=debug:continuous", "batch=8", "hidden=8", "actions=2")
}
