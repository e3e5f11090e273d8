package td3

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

const rows = 64

// low and high are the bounds of actions.
var low, high = []float64{-1, 2}, []float64{3, 12}

type (
	asked struct {
		Obs    rl.Obs
		Action rl.Tree
	}
	answered struct{ A, B rl.Tensor }
)

// TestLosses compares both losses with what plain Go works out from the networks' values: bounded
// noise, actions between bounds that are not symmetric, the lower of two critics, rows that
// terminate, discounts of rows of several steps.
func TestLosses(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	c := Config{Critics: 2, TargetNoise: .6, TargetClip: .5, Layers: nn.Layers{Hidden: []int{8}, Activation: "tanh"}}
	spec := env.Spec{Obs: rl.Box{Dims: []int{2}}, Action: rl.Box{Low: low, High: high, Dims: []int{2}}}
	n := made(t, s, c, spec)
	other := made(t, rl.NewScope(algotest.Device(t), 2), c, spec)
	n.targets.policy.Blend(other.weights.policy, 1)
	n.targets.critics.Blend(other.weights.critics, 1)

	random := func(use string, from, to float64, dims ...int) rl.Tensor {
		x := make([]float32, rows*max(1, len(dims)*2))
		for i := range x {
			x[i] = float32(from + (to-from)*rl.NewKey(5).Use(use).Uniform(i, 0))
		}
		return rl.FromFlat(s, x, append([]int{rows}, dims...)...)
	}
	ended := make([]bool, rows)
	for i := range ended {
		ended[i] = i%5 == 0
	}
	d := Transition{
		Obs: rl.Obs{X: rl.One(random("obs", -2, 2, 2))}, Action: rl.One(random("action", 2, 3, 2)), Reward: random("reward", -2, 2),
		Next: rl.Obs{X: rl.One(random("next", -2, 2, 2))}, Terminated: rl.FromFlat(s, ended, rows),
	}
	sample := replay.Sample[Transition]{Data: d, Discount: random("discount", .5, 1)}
	key := rl.NewKey(9)
	_, judged := rl.NewLoss(s, "judge", n.judge, n.weights.critics).Grad(key, sample)
	_, improved := rl.NewLoss(s, "improve", n.improve, n.weights.policy).Grad(rl.Key{}, d.Obs)

	values := func(p *rl.Params, obs rl.Obs, action rl.Tree) (a, b []float64) {
		q := rl.NewFunc(s, "values", func(c *rl.Ctx, in asked) answered {
			q := n.critics.Apply(c, c.Scope(p), in.Obs, in.Action)
			return answered{rl.Wrap(q[0]), rl.Wrap(q[1])}
		}).Call(rl.Key{}, asked{obs, action})
		return rl.Floats(q.A), rl.Floats(q.B)
	}
	noise := rl.Floats(rl.NewFunc(s, "noise", func(c *rl.Ctx, _ rl.Tensor) rl.Tensor {
		return rl.Wrap(c.Normal("noise", rows, 2))
	}).Call(key, d.Reward))
	policy := rl.Floats(rl.NewFunc(s, "target", func(c *rl.Ctx, obs rl.Obs) rl.Tensor {
		return rl.Wrap(n.policy(c, c.Scope(n.targets.policy), obs))
	}).Call(rl.Key{}, d.Next))
	smooth := make([]float32, len(policy))
	for i, x := range policy {
		x = max(-1, min(1, x+max(-.5, min(.5, .6*noise[i]))))
		smooth[i] = float32(low[i%2] + (x+1)/2*(high[i%2]-low[i%2]))
	}
	nextA, nextB := values(n.targets.critics, d.Next, rl.One(rl.FromFlat(s, smooth, rows, 2)))
	qA, qB := values(n.weights.critics, d.Obs, d.Action)
	greedy, _ := values(n.weights.critics, d.Obs, rl.NewFunc(s, "greedy", n.greedy).Call(rl.Key{}, ActIn{Obs: d.Obs, Random: rl.Scalar(0)}))
	reward, discount, loss, policyLoss := rl.Floats(d.Reward), rl.Floats(sample.Discount), rl.Floats(judged.Loss), rl.Floats(improved)
	for i := range rows {
		goal := reward[i]
		if !ended[i] {
			goal += discount[i] * min(nextA[i], nextB[i])
		}
		want := (qA[i]-goal)*(qA[i]-goal) + (qB[i]-goal)*(qB[i]-goal)
		if math.Abs(loss[i]-want) > 1e-5*(1+want) {
			t.Errorf("row %d: the critics' loss is %v, want %v", i, loss[i], want)
		}
		if math.Abs(policyLoss[i]+greedy[i]) > 1e-6 {
			t.Errorf("row %d: the policy's loss is %v, want %v", i, policyLoss[i], -greedy[i])
		}
	}
}

func made(t *testing.T, s *rl.Scope, c Config, spec env.Spec) *net {
	t.Helper()
	n, err := newNet(s, &c, spec)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNoise: noise has its deviation, moves an action at most as far as its bound, and never over
// the action's.
func TestNoise(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	at := func(x float32, deviation, bound float64) []float64 {
		f := rl.NewFunc(s, "noisy", func(c *rl.Ctx, x rl.Tensor) rl.Tensor {
			return rl.Wrap(nn.Perturb(c, "noise", x.Node(), deviation, bound))
		})
		return rl.Floats(f.Call(rl.NewKey(3), rl.FromFlat(s, slices.Repeat([]float32{x}, 4096), 4096, 1)))
	}
	square := 0.0
	for _, x := range at(0, .2, 0) {
		square += x * x
	}
	algotest.Near(t, "deviation", math.Sqrt(square/4096), .2, .01)
	if x := at(0, .5, .25); slices.Max(x) != .25 || slices.Min(x) != -.25 {
		t.Errorf("noise bounded by .25 is from %v to %v", slices.Min(x), slices.Max(x))
	}
	if x := at(.75, .5, .5); slices.Max(x) != 1 || slices.Min(x) != .25 {
		t.Errorf("an action of .75 with noise bounded by .5 is from %v to %v", slices.Min(x), slices.Max(x))
	}
	if x := at(.75, 0, .5); slices.Max(x) != .75 || slices.Min(x) != .75 {
		t.Error("there is noise without a deviation")
	}
}

// TestDelay: the policy is updated, and the targets move, after every third update of the critics
// and at no other. The first iteration only fills the table.
func TestDelay(t *testing.T) {
	for steps, want := range map[int64]struct {
		critics, policy int64
		equal           bool
	}{12 * 8: {11, 4, true}, 13 * 8: {12, 4, false}} {
		l := algotest.Trained(t, Algorithm, debug.IdentityContinuous, nil, steps, "envs=8", "learning_starts=8", "batch=8", "hidden=8", "delay=3", "tau=1").(*Trainer).Learner
		if l.critics.Count() != want.critics || l.policy.Count() != want.policy {
			t.Errorf("after %d steps: %d updates of the critics, %d of the policy, want %+v", steps, l.critics.Count(), l.policy.Count(), want)
		}
		if same(l.weights.critics, l.targets.critics) != want.equal || !same(l.weights.policy, l.targets.policy) {
			t.Errorf("after %d steps: the targets did not move with the policy", steps)
		}
	}
}

func same(a, b *rl.Params) bool {
	return slices.EqualFunc(a.Tensors(), b.Tensors(), func(x, y rl.Tensor) bool { return slices.Equal(rl.Floats(x), rl.Floats(y)) })
}
