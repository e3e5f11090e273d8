package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/internal/run/process"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
	"github.com/weft-rl/weft/rl"
)

func TestMain(m *testing.M) {
	if os.Getenv(childStore) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(device.Tests{M: m})
}

// job returns a small run of PPO on 8 environments; text is further settings of PPO,
// separated by spaces, and steps=N, every=N between checkpoints, eval=N episodes.
func job(text string) (runner.Job, error) {
	d, err := device.Open(device.Default)
	if err != nil {
		return runner.Job{}, err
	}
	j := runner.Job{
		Algorithm: ppo.Algorithm, Config: ppo.Algorithm.Config(), Env: classic.CartPole, Device: d, Seed: 3, Steps: 10 * 64,
		CheckpointEvery: time.Hour, CheckpointSteps: 64, Keep: 2,
	}
	var set []config.Assignment
	for _, s := range strings.Fields("envs=8 horizon=8 epochs=2 minibatches=2 hidden=16 " + text) {
		a, err := config.ParseSet(s, "test")
		if err != nil {
			return j, err
		}
		switch a.Key {
		case "steps":
			_, err = fmt.Sscan(a.Value, &j.Steps)
		case "eval":
			_, err = fmt.Sscan(a.Value, &j.EvalEpisodes)
		case "fails":
			j.Env = failing
		case "every":
			_, err = fmt.Sscan(a.Value, &j.CheckpointSteps)
		default:
			set = append(slices.DeleteFunc(set, func(x config.Assignment) bool { return x.Key == a.Key }), a)
		}
		if err != nil {
			return j, err
		}
	}
	return j, errors.Join(config.Defaults(j.Config), config.Set(j.Config, set))
}

// failures is how many of the environments of failing, every other but the first, are
// still to fail at one of their steps.
var failures atomic.Int64

var failing = env.Entry{ID: "Failing-v0", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
	spec := env.Spec{ID: "Failing-v0", Obs: rl.Box{Dims: []int{1}, Low: []float64{0}, High: []float64{1}}, Action: rl.Discrete{N: 2}, Limit: 16}
	return env.Hosts(s, n, spec, func(i int) (env.Host, error) { return &failer{index: i}, nil })
}}

type failer struct{ index, steps int }

func (f *failer) Reset(rl.Key, env.Row) {}

func (f *failer) Step(rl.Key, env.Row, env.Row) (reward float64, terminated, truncated bool) {
	if f.steps++; f.steps == 40 && f.index > 1 && f.index%2 == 0 && failures.Add(-1) >= 0 {
		return math.NaN(), false, false
	}
	return 1, false, false
}

// plain returns the result of the loop as it stands.
func plain(t *testing.T, text string) runner.Result {
	t.Helper()
	j, err := job(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.Train(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// planned returns the plan of a deployment on so many workers.
func planned(t testing.TB, text string, d plan.Deployment) plan.Plan {
	t.Helper()
	j, err := job(text)
	if err != nil {
		t.Fatal(err)
	}
	var out plan.Plan
	j.Plan = func(on plan.Problem) (plan.Plan, error) {
		p, err := policy.Find(d.Policy, policy.Builtin())
		if err == nil {
			on.Cluster, on.Deployment = plan.Local(d.Workers, "cpu"), d
			out, err = p.Make(on)
		}
		out = out.Fuse(on.Graph, nil)
		return out, err
	}
	s, err := runner.Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// team is processes, each with a node of its own.
type team struct {
	nodes   []*mesh.Node
	runners []*process.Runner
	workers []part.Worker
	folder  string
}

func newTeam(t *testing.T, n int) *team {
	t.Helper()
	x := &team{folder: filepath.Join(t.TempDir(), "store")}
	for i := range n {
		node, err := mesh.Listen("127.0.0.1:0", mesh.Options{Secret: "secret", Silence: time.Minute}) // of a busy machine
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := node.Close(); err != nil {
				t.Error(err)
			}
		})
		x.nodes = append(x.nodes, node)
		x.runners = append(x.runners, process.New(process.Config{Job: job, Node: node, Store: inFolder(x.folder)}))
		x.workers = append(x.workers, part.Worker{Name: fmt.Sprint("w", i), Data: node.Address(), Host: "here"})
	}
	return x
}

func inFolder(folder string) func(string) (store.Store, error) {
	return func(run string) (store.Store, error) { return store.Folder(folder).Under(run), nil }
}

// run carries an assignment out by all processes.
func (x *team) run(ctx context.Context, a part.Assignment, d *parttest.Desk) []error {
	errs := make([]error, len(x.runners))
	a.Workers = x.workers
	var all sync.WaitGroup
	for i, r := range x.runners {
		all.Go(func() {
			mine := a
			mine.Me = i
			errs[i] = r.Run(ctx, mine, d)
		})
	}
	all.Wait()
	return errs
}

// same compares the result of an epoch with that of the plain loop.
func same(t *testing.T, d *parttest.Desk, want runner.Result) {
	t.Helper()
	got := d.Last().Result
	if got == nil {
		t.Fatal("there is no result")
	}
	if got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 || got.Steps != want.Steps {
		t.Errorf("%d steps, weights %.8s state %.8s, want %d, %.8s and %.8s", got.Steps, got.WeightsSHA256, got.StateSHA256,
			want.Steps, want.WeightsSHA256, want.StateSHA256)
	}
}

// steps returns those that a record has rows of.
func steps(t *testing.T, lines []byte) (out []int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := metrics.ReadJSONL(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		out = append(out, r.Step)
		if math.IsNaN(r.Seconds) || len(r.Values) == 0 {
			t.Errorf("a row without values: %v", r)
		}
	}
	return out
}

func count(b []byte) int { return bytes.Count(b, []byte("\n")) }
