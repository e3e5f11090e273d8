package awac

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
	return append([]string{"data=debug:" + set, "batch=64", "hidden=32,32", "learning_rate=3e-3", "gamma=0.5", "tau=0.05"}, more...)
}

// TestBetterThanData: where two of three actions are random the policy learns the good ones, of
// numbers and of choices, and imitation does not.
func TestBetterThanData(t *testing.T) {
	algotest.Solve(t, Algorithm, []algotest.Task{
		{Name: "numbers", Env: debug.IdentityContinuous, Set: fast("continuous-mixed", "lambda=0.03"), Steps: 1500, Want: 15.7},
		{Name: "choices", Env: debug.Identity, Set: fast("identity-mixed"), Steps: 800, Want: 15.9},
	})
	for name, j := range map[string]app.Job{
		"bc":            {Algorithm: bc.Algorithm, Set: []string{"data=debug:continuous-mixed", "batch=64", "hidden=32", "learning_rate=3e-3"}},
		"a high lambda": {Algorithm: Algorithm, Set: fast("continuous-mixed", "lambda=1e9")},
	} {
		j.Env, j.Steps = debug.IdentityContinuous, 1500
		if got := algotest.Greedy(t, j); got > 14.5 { // a third of what is shown earns 13.6
			t.Errorf("the greedy return of %s is %.2f", name, got)
		}
	}
}

// TestLosses compares both losses with what plain Go works out from the networks' values: actions
// sampled from the policy and clipped, the lower of two critics, weights and their bound, rows that
// terminate.
func TestLosses(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	box := rl.Box{Low: []float64{-1, 2}, High: []float64{3, 12}, Dims: []int{2}}
	set := data.New[Transition](s, "data", algotest.Random(t, rl.Box{Low: []float64{-2}, High: []float64{2}, Dims: []int{2}}, box, 20), data.Options{Discount: .9})
	n, err := newNet(s, Config{Lambda: 1. / 3, MaxWeight: 2, Critics: 2, Layers: nn.Layers{Hidden: []int{8}, Activation: "tanh"}}, set)
	if err != nil {
		t.Fatal(err)
	}
	sample, key := set.Sample(rl.NewKey(3), rows), rl.NewKey(9)
	_, judged := rl.NewLoss(s, "judge", n.judge, n.fast).Grad(key, sample)
	_, improved := rl.NewLoss(s, "improve", n.improve, n.pi).Grad(key, sample.Data)

	type numbers struct{ A, B, Own, Next, LogP, Action rl.Tensor }
	x := rl.NewFunc(s, "numbers", func(c *rl.Ctx, s replay.Sample[Transition]) numbers {
		obs, after := s.Data.Obs, s.Data.Next
		pi := n.policy(c, c.Scope(n.pi), obs)
		mine := n.head.Clip(pi.Sample(c, "action"))
		next := n.head.Clip(n.policy(c, c.Scope(n.pi), after).Sample(c, "next"))
		q, own := n.critics.Apply(c, c.Scope(n.fast), obs, s.Data.Action), n.critics.Apply(c, c.Scope(n.fast), obs, mine)
		then := n.critics.Apply(c, c.Scope(n.slow), after, next)
		return numbers{rl.Wrap(q[0]), rl.Wrap(q[1]), rl.Wrap(nn.Least(own)), rl.Wrap(nn.Least(then)), rl.Wrap(pi.LogProb(s.Data.Action)), mine.Leaf("")}
	}).Call(key, sample)
	if row, _, v, bad := rl.Outside(box, x.Action); bad {
		t.Errorf("row %d: the policy's action %v is outside its bounds", row, v)
	}
	a, b, own, next, logp := rl.Floats(x.A), rl.Floats(x.B), rl.Floats(x.Own), rl.Floats(x.Next), rl.Floats(x.LogP)
	reward, ended := rl.Floats(sample.Data.Reward), rl.Floats(sample.Data.Terminated)
	bound := 0
	for i := range rows {
		weight := min(2, math.Exp(3*(min(a[i], b[i])-own[i])))
		if weight == 2 {
			bound++
		}
		goal := reward[i] + .9*(1-ended[i])*next[i]
		for name, is := range map[string][2]float64{
			"weight":        {rl.Floats(improved.Weight)[i], weight},
			"policy's loss": {rl.Floats(improved.Loss)[i], -weight * logp[i]},
			"critics' loss": {rl.Floats(judged.Loss)[i], (a[i]-goal)*(a[i]-goal) + (b[i]-goal)*(b[i]-goal)},
		} {
			if math.Abs(is[0]-is[1]) > 1e-4*(1+math.Abs(is[1])) {
				t.Errorf("row %d: the %s is %v, want %v", i, name, is[0], is[1])
			}
		}
	}
	if bound == 0 || bound == rows {
		t.Errorf("%d of %d weights are at their bound, so that this does not test it", bound, rows)
	}
}

// TestResumes: a run that was loaded in its middle ends in the bits of one that went on.
func TestResumes(t *testing.T) {
	algotest.Resumes(t, Algorithm, env.Entry{}, 20, "data=debug:identity", "batch=8", "hidden=8")
}
