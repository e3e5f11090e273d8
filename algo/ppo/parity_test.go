package ppo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/verify/reference"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
	"github.com/weft-rl/weft/rl"
)

// by plans with a policy of that name.
func by(d plan.Deployment) func(plan.Problem) (plan.Plan, error) {
	return func(on plan.Problem) (plan.Plan, error) {
		p, err := policy.Find(d.Policy, policy.Builtin())
		if err != nil {
			return plan.Plan{}, err
		}
		on.Cluster, on.Deployment = plan.Local(d.Workers, "cpu"), d
		made, err := p.Make(on)
		if err != nil {
			return made, err
		}
		return made.Fuse(on.Graph, d.NoFuse), nil
	}
}

// job returns a short run with 11 environments, so that shards are unequal.
func job(t testing.TB, e env.Entry, set ...string) runner.Job {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	c := &Config{}
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	var layer []config.Assignment
	for _, text := range append([]string{"envs=11", "horizon=8", "epochs=2", "minibatches=3", "hidden=16", "learning_rate=3e-3"}, set...) {
		a, err := config.ParseSet(text, "test")
		if err != nil {
			t.Fatal(err)
		}
		layer = append(slices.DeleteFunc(layer, func(x config.Assignment) bool { return x.Key == a.Key }), a)
	}
	if err := config.Set(c, layer); err != nil {
		t.Fatal(err)
	}
	return runner.Job{
		Algorithm: Algorithm, Config: c, Env: e, Device: d, Seed: 1, Steps: 5 * 88,
		CheckpointEvery: time.Hour, EvalEpisodes: 3, EvalEvery: 150,
	}
}

// seen keeps what a run told.
type seen struct {
	rows []map[string]float64
	eval []runner.Evaluation
	stop func(runner.Report)
}

func (s *seen) Begin(int64, int64) {}
func (s *seen) Note(string)        {}
func (s *seen) End()               {}
func (s *seen) Iteration(r runner.Report) {
	row := map[string]float64{"steps": float64(r.Steps), "episodes": float64(r.Episodes)}
	if r.Return == r.Return {
		row["return"] = r.Return
	}
	for _, l := range r.Logs {
		row[l.Name] = l.X
	}
	s.rows = append(s.rows, row)
	if s.stop != nil {
		s.stop(r)
	}
}
func (s *seen) Evaluating(int)                {}
func (s *seen) Evaluated(e runner.Evaluation) { s.eval = append(s.eval, e) }

type outcome struct {
	weights, state string
	rows           []map[string]float64
	eval           []runner.Evaluation
}

func trained(t testing.TB, j runner.Job) outcome {
	t.Helper()
	w := &seen{}
	j.Watch = w
	r, err := runner.Train(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{r.WeightsSHA256, r.StateSHA256, w.rows, w.eval}
}

func equal(t *testing.T, got, want outcome) {
	t.Helper()
	if got.weights != want.weights || got.state != want.state {
		t.Errorf("weights %.8s state %.8s, want %.8s %.8s", got.weights, got.state, want.weights, want.state)
	}
	if len(got.rows) != len(want.rows) {
		t.Fatalf("%d rows of metrics, want %d", len(got.rows), len(want.rows))
	}
	for i := range got.rows {
		if !maps.Equal(got.rows[i], want.rows[i]) {
			t.Errorf("metrics %d:\n got %v\nwant %v", i, got.rows[i], want.rows[i])
		}
	}
	if !reflect.DeepEqual(got.eval, want.eval) {
		t.Errorf("evaluations %v, want %v", got.eval, want.eval)
	}
}

var cases = []struct {
	name string
	env  env.Entry
	set  []string
}{
	{"cartpole", classic.CartPole, []string{"target_kl=0.01"}},
	{"recurrent", debug.Memory, []string{"memory=8"}},
	{"normalised", classic.Pendulum, []string{"normalize_obs=true", "normalize_reward=true"}},
	{"masked", debug.Masked, []string{"shared=true"}},
	{"host", debug.Host, nil},
}

// TestOneLearner: however a loop with one learner is taken apart, it gives the
// bits of the plain one.
func TestOneLearner(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, c := range cases {
		plain := trained(t, job(t, c.env, c.set...))
		untrained := job(t, c.env, c.set...)
		untrained.Steps = 1
		if trained(t, untrained).weights == plain.weights {
			t.Fatalf("%s: the weights never moved", c.name)
		}
		for _, p := range []string{"single-learner-coarse", "single-learner-fine", "multi-learner", "central", "gpu-only"} {
			for i, k := range []int{1, 2, 3, 5, 8, 11} {
				if (p == "multi-learner" || p == "central" || p == "gpu-only") && k > 1 || p == "gpu-only" && c.name == "host" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", c.name, p, k), func(t *testing.T) {
					runtime.GOMAXPROCS(1 + i%2)
					j := job(t, c.env, c.set...)
					j.Plan = by(plan.Deployment{Policy: p, Workers: k, Queue: 2, NoFuse: []string{"all"}})
					equal(t, trained(t, j), plain)
				})
			}
		}
		t.Run(c.name+"/fused", func(t *testing.T) { // 8 shards on 3 workers
			j := job(t, c.env, c.set...)
			j.Plan = by(plan.Deployment{Policy: "single-learner-coarse", Workers: 3, Replicas: 8, Queue: 2})
			equal(t, trained(t, j), plain)
		})
	}
}

// TestTooMany: more workers than shards are refused before anything starts.
func TestTooMany(t *testing.T) {
	j := job(t, classic.CartPole)
	j.Plan = by(plan.Deployment{Policy: "single-learner-coarse", Workers: 12, Queue: 2})
	if _, err := runner.Prepare(j); err == nil || !strings.Contains(err.Error(), "12 replicas for 11 environments") {
		t.Errorf("got %v", err)
	}
}

// TestOnHost: an environment that is no graph cannot be part of a device program.
func TestOnHost(t *testing.T) {
	j := job(t, debug.Host)
	j.Plan = by(plan.Deployment{Policy: "gpu-only", Workers: 1})
	if _, err := runner.Prepare(j); err == nil || !strings.Contains(err.Error(), "needs an environment that is a graph function") {
		t.Errorf("got %v", err)
	}
}

// kept returns the state that a run ends in, as its checkpoint has it.
func kept(t *testing.T, j runner.Job) map[string][]byte {
	t.Helper()
	j.Dir, j.EvalEpisodes = t.TempDir(), 0
	trained(t, j)
	dir, err := checkpoint.Open(filepath.Join(j.Dir, "checkpoints"), 3)
	if err != nil {
		t.Fatal(err)
	}
	f, _, _, err := dir.Latest()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, a := range f.Arrays {
		out[a.Name] = a.Data
	}
	return out
}

// together returns the state of several loops as one: rows put together. Who counts
// finished episodes is no business of single loops.
func together(scopes []*rl.Scope) map[string][]byte {
	out := map[string][]byte{}
	for _, s := range scopes {
		st := rl.NewState(s)
		s.Save(st)
		for _, a := range st.Arrays() {
			data := dtypes.UnsafeByteSliceFromAny(a.Flat)
			switch {
			case strings.HasPrefix(a.Name, "episodes/") && !a.Rows:
			case a.Rows:
				out[a.Name] = append(out[a.Name], data...)
			case out[a.Name] == nil:
				out[a.Name] = data
			}
		}
	}
	return out
}

// apart returns the largest difference between two networks' weights.
func apart(a, b map[string][]byte) (most float64) {
	for name, data := range a {
		if !strings.HasPrefix(name, "net/") {
			continue
		}
		x, y := floats(data), floats(b[name])
		for i := range x {
			most = max(most, math.Abs(float64(x[i]-y[i])))
		}
	}
	return most
}

func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// TestLearners: replicated learners, with and without a server, compute what
// plain loops do that meet at gradients; and nearly what one learner does.
func TestLearners(t *testing.T) {
	for _, c := range cases {
		plain := kept(t, job(t, c.env, c.set...))
		for _, k := range []int{2, 3, 5, 8} {
			j := job(t, c.env, c.set...)
			scopes, err := reference.Train(reference.Config{
				Backend: j.Device.Backend(), Seed: j.Seed, Loops: k, Steps: j.Steps,
				Whole: []string{"explained variance", "returns"},
				Build: func(s *rl.Scope) (rl.Trainer, error) {
					return Algorithm.New(s, algo.On(s, j.Env, j.EnvOptions, nil), j.Config)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := together(scopes)
			if d := apart(want, plain); d > 1e-3 {
				t.Errorf("%s: weights of %d learners are %v from one learner's", c.name, k, d)
			}
			for _, p := range []string{"multi-learner", "central"} {
				t.Run(fmt.Sprintf("%s/%s/%d", c.name, p, k), func(t *testing.T) {
					j := job(t, c.env, c.set...)
					j.Plan = by(plan.Deployment{Policy: p, Workers: k, Queue: 2})
					got := kept(t, j)
					for name, w := range want {
						if !bytes.Equal(got[name], w) {
							t.Errorf("%s differs from the reference", name)
						}
					}
				})
			}
		}
	}
}
