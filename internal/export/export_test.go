package export_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"go.uber.org/goleak"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/export"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/rl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(device.Tests{M: m}) }

// subject is a small run whose policy is exported.
type subject struct {
	algorithm algo.Algorithm
	env       string
	set       []string
	steps     int64
}

func (s subject) String() string {
	return s.algorithm.Name + " " + s.env + " " + strings.Join(s.set, " ")
}

// subjects returns every algorithm as its trial has it, with all its ways, and policies with every
// kind of head, normaliser and memory.
func subjects(t *testing.T) (out []subject) {
	t.Helper()
	algorithms := map[string]algo.Algorithm{}
	for _, a := range weft.Builtin().Algorithms {
		trial, err := algotest.TrialOf(a)
		if err != nil {
			t.Fatal(err)
		}
		a.Presets = nil
		algorithms[a.Name] = a
		for _, s := range append([]algotest.Short{trial.Short}, trial.More...) {
			out = append(out, subject{a, s.Env, s.Set.List(), s.Steps})
		}
		for _, way := range trial.Ways.Each {
			out = append(out, subject{a, trial.Ways.Env, trial.Ways.Settings(way, 4), 128})
		}
	}
	for _, x := range heads {
		out = append(out, subject{algorithms[x.algorithm], x.env, append([]string{"envs=4"}, strings.Fields(x.set)...), 128})
	}
	return out
}

// heads are the spaces of observations and actions, and what may be between them.
var heads = []struct{ algorithm, env, set string }{
	{"ppo", "Everything-v0", "horizon=8 hidden=8 normalize_obs=true"},
	{"ppo", "Everything-v0", "horizon=8 hidden=8 memory=4"},
	{"a2c", "Pictures-v0", "horizon=8 hidden=8"},
	{"dqn", "Pictures-v0", "train_every=2 batch=8 learning_starts=12 hidden=8 dueling=true"},
	{"sac", "Bounded-v0", "train_every=2 batch=8 learning_starts=12 hidden=8 normalize_obs=true"},
	{"td3", "Bounded-v0", "train_every=2 batch=8 learning_starts=12 hidden=8"},
	{"ppo", "IdentityContinuous-v0", "horizon=8 hidden=8 normalize_obs=true"},
	{"ppo", "Pendulum-v1", "horizon=8 hidden=8 memory=4 normalize_obs=true"},
	{"ppo", "Masked-v0", "horizon=8 hidden=8"},
}

// spaces are environments of spaces that no built-in one has.
var spaces = []env.Entry{
	imagined("Everything-v0", rl.Dict{
		{Name: "place", Space: rl.Box{Dims: []int{2, 2}, Low: []float64{-1}, High: []float64{1}}}, {Name: "room", Space: rl.Discrete{N: 3, Start: 1}},
		{Name: "doors", Space: rl.MultiDiscrete{N: []int{2, 4}}}, {Name: "lamps", Space: rl.MultiBinary{N: 3}},
	}, rl.Dict{
		{Name: "go", Space: rl.Discrete{N: 4, Start: 2}}, {Name: "push", Space: rl.Box{Dims: []int{3}, Low: []float64{-1, 0, -2}, High: []float64{1, 1, 2}}},
		{Name: "turn", Space: rl.MultiDiscrete{N: []int{3, 2}}}, {Name: "press", Space: rl.MultiBinary{N: 2}},
	}),
	imagined("Pictures-v0", rl.Box{Dims: []int{36, 36, 2}, Low: []float64{0}, High: []float64{255}, DType: dtypes.Uint8}, rl.Discrete{N: 3}),
	imagined("Bounded-v0", rl.Box{Dims: []int{3}, Low: []float64{-1}, High: []float64{1}}, rl.Box{Dims: []int{2}, Low: []float64{-3, 0}, High: []float64{1, 5}}),
}

// imagined makes an environment that shows random observations.
func imagined(id string, obs, action rl.Space) env.Entry {
	return env.Entry{ID: id, New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		spec := env.Spec{ID: id, Obs: obs, Action: action, Limit: 16}
		return env.Hosts(s, n, spec, func(int) (env.Host, error) { return dream{obs}, nil })
	}}
}

type dream struct{ obs rl.Space }

func (d dream) Reset(k rl.Key, obs env.Row) {
	r := rand.New(rand.NewPCG(uint64(k.IntN(0, 0, 1<<30)), 1))
	for _, l := range d.obs.Leaves() {
		x := point(r, l.Space)
		switch l.Space.Shape().DType {
		case dtypes.Float32:
			copyTo(obs.Float32(l.Name), x)
		case dtypes.Uint8:
			copyTo(obs.Uint8(l.Name), x)
		default:
			copyTo(obs.Int32(l.Name), x)
		}
	}
}

func (d dream) Step(k rl.Key, _, obs env.Row) (reward float64, terminated, truncated bool) {
	d.Reset(k, obs)
	return 1, false, false
}

func copyTo[T float32 | int32 | uint8](to []T, from []float64) {
	for i, x := range from {
		to[i] = T(x)
	}
}

// known returns the built-in set with these environments.
func known() app.Set {
	set := weft.Builtin()
	set.Environments = append(set.Environments, spaces...)
	return set
}

// trained trains a subject and returns its player.
func trained(t *testing.T, s subject) (*runner.Player, runner.Job) {
	t.Helper()
	e, err := algotest.Environment(known(), s.env)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := app.Train(t.Context(), app.Job{Algorithm: s.algorithm, Env: e, Set: s.set, Steps: s.steps, Seed: 1, Out: dir}); err != nil {
		t.Fatal(err)
	}
	set := known()
	r, err := set.Saved(dir, []config.Assignment{{Key: "device", Value: "cpu"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Single = true
	j, err := r.Job()
	if err != nil {
		t.Fatal(err)
	}
	j.Dir, j.Watch = dir, runner.Silent{}
	p, _, _, err := runner.LoadPlayer(t.Context(), j, runner.PreferBest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, j
}

// written exports a subject's policy into a file.
func written(t *testing.T, s subject, p *runner.Player) string {
	t.Helper()
	model, err := export.ONNX(p, export.About{Algorithm: s.algorithm.Name, Env: s.env, Weights: "newest"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "policy.onnx")
	if err := os.WriteFile(path, model, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// near bounds how far a number of an action may be from the agent's own.
const near = 1e-5

// observations counts those that a model is given.
const observations = 1000

// TestONNX: onnxruntime acts as the agent does, for every algorithm and head.
func TestONNX(t *testing.T) {
	run := startRuntime(t)
	for _, s := range subjects(t) {
		t.Run(s.String(), func(t *testing.T) {
			p, _ := trained(t, s)
			path := written(t, s, p)
			err := rl.Catch(func() error {
				compareModel(t, run, path, p)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// compareModel has model and player act on the same observations. A model without memory is given
// all of them as rows; one with memory is given an episode, three equal rows a step, and must do
// the same in all of them.
func compareModel(t *testing.T, run *onnxruntime, model string, p *runner.Player) {
	d := cpu(t)
	g, err := p.Graph(1)
	if err != nil {
		t.Fatal(err)
	}
	memory := map[string]array{}
	for _, in := range g.In {
		if in.Fresh.Ok() {
			memory[in.Name] = arrayOf(in.Name, rl.System.Concat([]rl.Tensor{in.Fresh, in.Fresh, in.Fresh}))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	if len(memory) == 0 {
		var all []array
		var want []map[string][]float64
		for range observations {
			seen, in := look(d, r, p.Specs(), 1)
			all, want = stacked(all, in), append(want, acted(t, p, seen))
		}
		out, _ := run.run(model, all)
		for row, w := range want {
			compareRows(t, d, out, w, row, 1)
		}
		return
	}
	for step := range observations {
		seen, in := look(d, r, p.Specs(), 3)
		first := flag(step == 0)
		in = append(in, arrayOf("first", rl.System.Adopt(d, boolShape(3), []byte{first, first, first})))
		for _, m := range memory {
			in = append(in, m)
		}
		out, _ := run.run(model, in)
		compareRows(t, d, out, acted(t, p, seen), 0, 3)
		for name := range memory {
			next := out[strings.Replace(name, "memory", "next_memory", 1)]
			next.Name = name
			memory[name] = next
		}
	}
}

// acted returns what the player does, by output of the model.
func acted(t *testing.T, p *runner.Player, seen []runner.Seen) map[string][]float64 {
	t.Helper()
	all, err := p.Act(seen, true)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for i, spec := range p.Specs() {
		for leaf, x := range all[i] {
			out[prefix(p, spec)+strings.TrimSuffix("action."+leaf, ".")] = x
		}
	}
	return out
}

// compareRows compares rows of the model's answer, from one on, with an action.
func compareRows(t *testing.T, d *rl.Device, out map[string]array, want map[string][]float64, from, n int) {
	t.Helper()
	for name, x := range want {
		got := rl.Floats(out[name].tensor(d))
		if len(got) < (from+n)*len(x) {
			t.Fatalf("%s has %d numbers, too few for %d rows of %d", name, len(got), from+n, len(x))
		}
		for j, y := range got[from*len(x) : (from+n)*len(x)] {
			if !(math.Abs(y-x[j%len(x)]) <= near) {
				t.Fatalf("row %d, %s: number %d is %v, the agent's %v", from, name, j, y, x[j%len(x)])
			}
		}
	}
}

// stacked appends rows to arrays of the same names.
func stacked(all, more []array) []array {
	if all == nil {
		return more
	}
	for i, a := range more {
		all[i].data, all[i].Bytes = append(all[i].data, a.data...), all[i].Bytes+a.Bytes
		all[i].Shape[0] += a.Shape[0]
	}
	return all
}

func prefix(p *runner.Player, spec env.Spec) string {
	if len(p.Specs()) > 1 {
		return spec.Kind + "."
	}
	return ""
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// look makes an observation of all kinds at random, for the player and, some times, for the model.
func look(d *rl.Device, r *rand.Rand, specs []env.Spec, times int) (seen []runner.Seen, in []array) {
	for _, spec := range specs {
		kind := ""
		if len(specs) > 1 {
			kind = spec.Kind + "."
		}
		s := runner.Seen{X: map[string][]float64{}}
		agents := max(1, spec.Agents)
		for _, l := range spec.Obs.Leaves() {
			for range agents {
				s.X[l.Name] = append(s.X[l.Name], point(r, l.Space)...)
			}
			in = append(in, arrayOf(kind+strings.TrimSuffix("obs."+l.Name, "."), repeated(d, s.X[l.Name], l.Space, spec.Agents, times)))
		}
		if spec.Masked {
			s.Legal = map[string][]bool{}
			for _, l := range spec.Action.Leaves() {
				n := rl.Choices(l.Space)
				if n == 0 {
					continue
				}
				var bytes []byte
				for range n * agents {
					ok := r.Float64() < .7
					s.Legal[l.Name], bytes = append(s.Legal[l.Name], ok), append(bytes, flag(ok))
				}
				in = append(in, arrayOf(kind+strings.TrimSuffix("legal."+l.Name, "."), rl.System.Adopt(d, boolShape(agentDims(times, spec.Agents, n)...), slices.Repeat(bytes, times))))
			}
		}
		seen = append(seen, s)
	}
	return seen, in
}

// point returns a value of a simple space.
func point(r *rand.Rand, s rl.Space) []float64 {
	out := make([]float64, s.Shape().Size())
	for i := range out {
		switch s := s.(type) {
		case rl.Discrete:
			out[i] = float64(s.Start + r.IntN(s.N))
		case rl.MultiDiscrete:
			out[i] = float64(r.IntN(s.N[i]))
		case rl.MultiBinary:
			out[i] = float64(r.IntN(2))
		case rl.Box:
			lo, hi := s.Bounds(i)
			lo, hi = max(lo, -3), min(hi, 255)
			out[i] = float64(float32(lo + r.Float64()*(min(hi, lo+10)-lo)))
			if s.Shape().DType.IsInt() {
				out[i] = math.Trunc(lo + r.Float64()*(hi-lo))
			}
		}
	}
	return out
}

func agentDims(times, agents int, dims ...int) []int {
	if agents > 1 {
		dims = append([]int{agents}, dims...)
	}
	return append([]int{times}, dims...)
}

// repeated returns a value some times, as rows.
func repeated(d *rl.Device, x []float64, s rl.Space, agents, times int) rl.Tensor {
	one := s.Shape()
	all := slices.Repeat(x, times)
	flat := dtypes.MakeAnySlice(one.DType, len(all))
	switch flat := flat.(type) {
	case []float32:
		for i, x := range all {
			flat[i] = float32(x)
		}
	case []int32:
		for i, x := range all {
			flat[i] = int32(x)
		}
	case []uint8:
		for i, x := range all {
			flat[i] = uint8(x)
		}
	default:
		panic(fmt.Sprintf("no test has observations of %s", one.DType))
	}
	return d.Tensor(flat, shapeOf(one.DType, agentDims(times, agents, one.Dimensions...)...))
}
