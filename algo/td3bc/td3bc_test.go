package td3bc

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-rl/weft/algo/bc"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/data"
	_ "github.com/weft-rl/weft/data/debug"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

const rows = 64

var fast = []string{"data=debug:continuous-mixed", "batch=64", "hidden=32,32", "learning_rate=3e-3", "gamma=0.5"}

// TestBetterThanData: where two of three actions are random the policy learns the good ones, and
// imitation does not. With no weight on values it is imitation.
func TestBetterThanData(t *testing.T) {
	algotest.Solve(t, Algorithm, []algotest.Task{{Name: "numbers", Env: debug.IdentityContinuous, Set: append(fast, "alpha=20"), Steps: 1500, Want: 15.7}})
	for name, j := range map[string]app.Job{
		"bc":      {Algorithm: bc.Algorithm, Set: []string{"data=debug:continuous-mixed", "batch=64", "hidden=32", "learning_rate=3e-3"}},
		"alpha 0": {Algorithm: Algorithm, Set: append(slices.Clone(fast), "alpha=0")},
	} {
		j.Env, j.Steps = debug.IdentityContinuous, 1500
		if got := algotest.Greedy(t, j); got > 14.5 { // a third of what is shown earns 13.6
			t.Errorf("the greedy return of %s is %.2f", name, got)
		}
	}
}

// TestNearData: where the data show one action in a state, the default policy takes it. With the
// authors' weight the critics, which say nothing of other actions, lead it away.
func TestNearData(t *testing.T) {
	score := func(more ...string) float64 {
		set := append([]string{"data=debug:continuous", "batch=64", "hidden=32,32", "learning_rate=3e-3", "gamma=0.5"}, more...)
		return algotest.Greedy(t, app.Job{Algorithm: Algorithm, Set: set, Env: debug.IdentityContinuous, Steps: 1500})
	}
	if near, far := score(), score(Algorithm.Presets[1].Set...); near < 15 || far > 14.5 {
		t.Errorf("the greedy return is %.2f, want 15 or more; by the authors' weight %.2f, want 14.5 at most", near, far)
	}
}

// TestLoss compares the policy's loss with what plain Go works out: the distance in units of half
// the distance between bounds that are not symmetric, and lambda = alpha / mean|Q|.
func TestLoss(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	low, high := []float64{-1, 2}, []float64{3, 12}
	box := rl.Box{Low: low, High: high, Dims: []int{2}}
	set := data.New[Transition](s, "data", algotest.Random(t, rl.Box{Low: []float64{-2}, High: []float64{2}, Dims: []int{2}}, box, 20), data.Options{Discount: .9})
	n, err := newNet(s, Config{Alpha: 2.5, Critics: 2, Standard: nn.Standard{NormalizeObs: true, ClipObs: 10}, Layers: nn.Layers{Hidden: []int{8}, Activation: "tanh"}}, set)
	if err != nil {
		t.Fatal(err)
	}
	d := set.Sample(rl.NewKey(3), rows).Data
	sizes := rl.NewFunc(s, "size", n.size).Call(rl.Key{}, d.Obs)
	size := rl.Mean(sizes)
	_, got := rl.NewLoss(s, "improve", n.improve, n.weights.policy).Grad(rl.Key{}, Shown{d.Obs, d.Action, size})
	q := rl.Floats(rl.NewFunc(s, "q", func(c *rl.Ctx, obs rl.Obs) rl.Tensor {
		_, q := n.value(c, obs)
		return rl.Wrap(q)
	}).Call(rl.Key{}, d.Obs))
	mine := rl.Floats(rl.NewFunc(s, "act", n.act).Call(rl.Key{}, d.Obs).Leaf(""))
	theirs := rl.Floats(d.Action.Leaf(""))
	total := 0.0
	for _, x := range q {
		total += math.Abs(x)
	}
	lambda := 2.5 / (total / rows)
	loss, distance := rl.Floats(got.Loss), rl.Floats(got.Distance)
	for i := range rows {
		far := 0.0
		for k := range 2 {
			x := (mine[2*i+k] - theirs[2*i+k]) / ((high[k] - low[k]) / 2)
			far += x * x / 2
		}
		if math.Abs(distance[i]-far) > 1e-5 || math.Abs(loss[i]-(far-lambda*q[i])) > 1e-4 {
			t.Errorf("row %d: distance %v and loss %v, want %v and %v", i, distance[i], loss[i], far, far-lambda*q[i])
		}
	}
}

// TestDelay: the policy is updated, and the targets move, after every third update of the critics.
func TestDelay(t *testing.T) {
	l := algotest.Trained(t, Algorithm, env.Entry{}, nil, 8, append(slices.Clone(fast), "delay=3")...).(*Trainer).Learner
	if l.critics.Count() != 8 || l.policy.Count() != 2 {
		t.Errorf("%d updates of the critics and %d of the policy, want 8 and 2", l.critics.Count(), l.policy.Count())
	}
}

// TestRefused: actions that are no boxes.
func TestRefused(t *testing.T) {
	_, err := app.Train(t.Context(), app.Job{Algorithm: Algorithm, Data: "debug:identity", Steps: 8})
	want := "td3bc: a deterministic policy acts in boxes, and actions of the data set are Discrete(4): take iql or cql"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestResumes: a run that was loaded in its middle ends in the bits of one that went on.
func TestResumes(t *testing.T) {
	algotest.Resumes(t, Algorithm, env.Entry{}, 21, "data=debug:continuous", "batch=8", "hidden=8", "delay=3")
}
