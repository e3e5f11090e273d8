package dreamer_test

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo/dreamer"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// tiny returns settings by which tiny tasks are learnt in seconds, and more.
func tiny(more ...string) []string {
	return append([]string{
		"train_every=4", "train_ratio=16", "batch=8", "length=16", "units=16", "layers=1", "deter=16", "blocks=1", "hidden=16",
		"groups=4", "classes=4", "bins=31", "reach=5", "buffer=10000", "learning_starts=256", "learning_rate=3e-3",
	}, more...)
}

func TestSmallTasks(t *testing.T) {
	algotest.Solve(t, dreamer.Algorithm, []algotest.Task{
		{Name: "choices", Env: debug.Identity, Set: tiny("gamma=.5", "imagine=4"), Steps: 6000, Want: 15},
		{Name: "remembers", Env: debug.Memory, Set: tiny("gamma=.9", "imagine=8", "entropy_coef=1e-2"), Steps: 16_000, Want: .95},
		{Name: "numbers", Env: debug.IdentityContinuous, Set: tiny("gamma=.5", "imagine=4"), Steps: 6000, Want: 15},
	})
}

// pictures shows a picture of which one half is lit; naming the half earns 1.
type pictures struct{}

func (pictures) Spec() env.Spec {
	picture := rl.Box{Low: []float64{0}, High: []float64{255}, Dims: []int{5, 6, 1}, DType: dtypes.Uint8}
	return env.Spec{ID: "Pictures-v0", Obs: picture, Action: rl.Discrete{N: 2}, Limit: 8}
}

func (pictures) Reset(c *rl.Ctx, n int) rl.Tree {
	u := c.Uniform("half", n)
	return rl.One(rl.Wrap(graph.ConvertDType(graph.GreaterThan(u, graph.MulScalar(graph.OnesLike(u), .5)), dtypes.Int32)))
}

func (p pictures) Step(c *rl.Ctx, state, action rl.Tree) env.Move {
	half := state.Leaf("").Node()
	right := graph.ConvertDType(graph.Equal(action.Leaf("").Node(), half), dtypes.Float32)
	never := graph.NotEqual(half, half)
	return env.Move{State: p.Reset(c, half.Shape().Dimensions[0]), Reward: rl.Wrap(right), Terminated: rl.Wrap(never)}
}

func (pictures) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	half := state.Leaf("").Node()
	dims := []int{half.Shape().Dimensions[0], 5, 6, 1}
	column := graph.Iota(half.Graph(), shapes.Make(dtypes.Int32, dims...), 2)
	side := graph.Div(column, graph.BroadcastToDims(graph.ConstAs(column, 3), dims...))
	lit := graph.Equal(side, graph.BroadcastToDims(graph.Reshape(half, dims[0], 1, 1, 1), dims...))
	return rl.Obs{X: rl.One(rl.Wrap(graph.MulScalar(graph.ConvertDType(lit, dtypes.Uint8), 200)))}
}

// TestPictures: the model reads and predicts pictures.
func TestPictures(t *testing.T) {
	entry := env.Entry{ID: "Pictures-v0", Kind: env.Images, New: func(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, pictures{}) }}
	algotest.Solve(t, dreamer.Algorithm, []algotest.Task{{Name: "halves", Env: entry, Set: tiny("gamma=.5", "imagine=4"), Steps: 3000, Want: 7.5}})
}

// TestRefused: settings that do not go together, and what it cannot train.
func TestRefused(t *testing.T) {
	c := dreamer.Config{Envs: 4, TrainEvery: 1, TrainRatio: 2, Batch: 4, Length: 8, Buffer: 31, LearningStarts: 64, Bins: 8}
	c.StateSpace = nn.StateSpace{Deter: 10, Blocks: 4}
	err := c.Validate()
	for _, want := range []string{"less than an update", "at least 32", "choose a divisor", "odd number"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	job := app.Job{Algorithm: dreamer.Algorithm, Env: debug.Agents, Steps: 64}
	if _, err := app.Train(t.Context(), job); err == nil || !strings.Contains(err.Error(), "agents") {
		t.Errorf("several agents: got %v", err)
	}
}

// small returns settings of runs of a few updates, and more.
func small(more ...string) []string {
	return append([]string{
		"envs=4", "train_every=2", "train_ratio=4", "batch=4", "length=4", "imagine=3", "units=8", "layers=1", "deter=8", "blocks=2", "hidden=8",
		"groups=2", "classes=3", "bins=9", "buffer=40", "learning_starts=24",
	}, more...)
}

// TestResume: a run that is cut and goes on is the run that was not cut.
func TestResume(t *testing.T) {
	algotest.Resumes(t, dreamer.Algorithm, debug.Identity, 160, small()...)
}

// TestPolicies: wherever the parts of the loop run, a run ends in the same bits.
func TestPolicies(t *testing.T) {
	for _, e := range []string{"choices", "numbers"} {
		j := app.Job{Algorithm: dreamer.Algorithm, Env: debug.Identity, Steps: 120, Set: small()}
		if e == "numbers" {
			j.Env = debug.IdentityContinuous
		}
		algotest.Equal(t, j, plan.Deployment{Policy: "single-learner-coarse", Workers: 2}, plan.Deployment{Policy: "single-learner-fine", Workers: 2},
			plan.Deployment{Policy: "gpu-only"}, plan.Deployment{Policy: "multi-learner", Workers: 1})
	}
}
