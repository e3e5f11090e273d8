package weft_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/a2c"
	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/algo/impala"
	"github.com/weft-rl/weft/algo/mappo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/algo/sac"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/verify/reference"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// The parity matrix: an algorithm gives the bits of its plain loop under every
// synchronous policy with one learner, and under those with several what k plain
// loops give that meet at gradients.

var fullMatrix = flag.Bool("matrix", false, "run the whole parity matrix, and not a selection that has all pairs")

// subject is an algorithm with settings that make it learn from 11 environments, so
// that shards are unequal.
type subject struct {
	algo.Algorithm
	env   env.Entry
	steps int64
	set   []string
	// whole are the graph functions that need all rows.
	whole []string
	// near is how far the weights of several learners may be from one's: sums are
	// rounded otherwise.
	near float64
	// shared is true where learners have one memory, which plain loops apart have
	// not: the algorithm's own test says what they must compute.
	shared bool
}

var subjects = []subject{
	{
		ppo.Algorithm, classic.CartPole, 5 * 88,
		[]string{"envs=11", "horizon=8", "epochs=2", "minibatches=3", "hidden=16", "learning_rate=3e-3"},
		[]string{"explained variance", "returns"}, 1e-3, false,
	},
	{a2c.Algorithm, classic.CartPole, 8 * 55, []string{"envs=11", "hidden=16"}, nil, 1e-3, false},
	{
		sac.Algorithm, classic.Pendulum, 12 * 22,
		[]string{"envs=11", "train_every=2", "updates=2", "delay=2", "batch=32", "learning_starts=110", "buffer=500", "n_step=2", "hidden=16"},
		nil, 1e-3, true,
	},
	{impala.Algorithm, classic.CartPole, 8 * 55, []string{"envs=11", "horizon=5", "hidden=16"}, nil, 1e-3, false},
	{
		dqn.Algorithm, classic.CartPole, 20 * 22,
		[]string{"envs=11", "train_every=2", "batch=32", "learning_starts=110", "buffer=500", "n_step=2", "prioritised=true", "double=true", "target_every=88", "hidden=16", "learning_rate=1e-3"},
		nil, 1e-3, true,
	},
	{
		mappo.Algorithm, mpe.SimpleSpread, 5 * 88,
		[]string{"envs=11", "horizon=8", "epochs=2", "minibatches=3", "hidden=16", "learning_rate=3e-3"},
		[]string{"agent explained variance"}, 1e-3, false,
	},
}

// several are the policies with as many learners as workers.
var several = []string{"multi-learner", "central"}

// cell is one run of the matrix.
type cell struct {
	algorithm int
	policy    string
	workers   int
	fusion    string // "apart": a lane each; "fused", "statements", "unfused": two share a lane; "turns": they take turns on it
	procs     int
}

func (c cell) String() string {
	return fmt.Sprintf("%s/%s/%d/%s/procs=%d", subjects[c.algorithm].Name, c.policy, c.workers, c.fusion, c.procs)
}

// deployment returns a cell's: two replicas to a lane, unless all are apart.
func (c cell) deployment() plan.Deployment {
	d := plan.Deployment{Policy: c.policy, Workers: c.workers}
	if c.fusion != "apart" {
		d.Workers, d.Replicas = (c.workers+1)/2, c.workers
	}
	switch c.fusion {
	case "statements":
		d.NoFuse = []string{plan.FuseGraphs}
	case "unfused":
		d.NoFuse = []string{"all"}
	case "turns":
		d.Pipeline = true
	}
	return d
}

// cells returns those to run: all, or a few in which every two values meet, an algorithm
// under a policy being one.
func cells() (out []cell) {
	met := map[string]bool{}
	for a := range subjects {
		for _, p := range append([]string{"single-learner-coarse", "single-learner-fine"}, several...) {
			for _, k := range []int{1, 2, 3, 5, 8} {
				for i, fusion := range []string{"apart", "fused", "statements", "unfused", "turns"} {
					if fusion == "turns" && (p != "single-learner-fine" || k%2 != 0) {
						continue
					}
					for _, procs := range []int{1, 2} {
						c := cell{a, p, k, fusion, 1 + (procs+i)%2}
						if testing.Short() && !c.raced() {
							continue
						}
						if *fullMatrix || c.news(met) {
							out = append(out, c)
						}
					}
				}
			}
		}
	}
	return out
}

// raced reports whether a cell has goroutines that a race detector has not seen in others: in all
// ways with the first algorithm, in one with those behind it.
func (c cell) raced() bool {
	return c.algorithm == 0 && (c.workers == 2 || c.workers == 5) || c.workers == 5 && c.fusion == "apart" && c.procs == 2
}

// news reports whether two values meet in a cell for the first time.
func (c cell) news(met map[string]bool) (news bool) {
	values := []string{subjects[c.algorithm].Name + " under " + c.policy, fmt.Sprint(c.workers), c.fusion, fmt.Sprint("procs ", c.procs)}
	for i, a := range values {
		for _, b := range values[:i] {
			news = news || !met[a+" "+b]
			met[a+" "+b] = true
		}
	}
	return news
}

// outcome is all that a run shows of itself.
type outcome struct {
	weights, state string
	rows           []map[string]float64
}

func (s subject) train(t *testing.T, d plan.Deployment, steps int64, out string) outcome {
	t.Helper()
	var o outcome
	r, err := app.Train(t.Context(), app.Job{
		Algorithm: s.Algorithm, Env: s.env, Set: s.set, Steps: steps, Seed: 1, Out: out, Deployment: d,
		Watch: func(p app.Progress) {
			row := map[string]float64{"steps": float64(p.Steps), "episodes": float64(p.Episodes)}
			if !math.IsNaN(p.Return) {
				row["return"] = p.Return
			}
			for _, l := range p.Metrics {
				row[l.Name] = l.X
			}
			o.rows = append(o.rows, row)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.weights, o.state = r.WeightsSHA256, r.StateSHA256
	return o
}

// known is what a subject's cells are compared with.
type known struct {
	plain      outcome
	arrays     map[string][]byte
	references map[int]map[string][]byte // by learners
}

func TestMatrix(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	all := cells()
	want := make([]*known, len(subjects))
	for i, s := range subjects {
		dir := filepath.Join(t.TempDir(), "run")
		want[i] = &known{plain: s.train(t, plan.Deployment{}, s.steps, dir), references: map[int]map[string][]byte{}}
		want[i].arrays = kept(t, dir)
		if s.train(t, plan.Deployment{}, 1, "").weights == want[i].plain.weights {
			t.Fatalf("%s: the weights never moved", s.Name)
		}
	}
	for _, c := range all {
		t.Run(c.String(), func(t *testing.T) {
			runtime.GOMAXPROCS(c.procs)
			s, w := subjects[c.algorithm], want[c.algorithm]
			if slices.Contains(several, c.policy) && c.workers > 1 {
				s.compareLearners(t, c, w)
				return
			}
			equal(t, s.train(t, c.deployment(), s.steps, ""), w.plain)
		})
	}
	t.Logf("%d runs", len(all))
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
}

// compareLearners compares a run of several learners with loops that know nothing
// of plans and programs, and with one learner.
func (s subject) compareLearners(t *testing.T, c cell, w *known) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	s.train(t, c.deployment(), s.steps, dir)
	got := kept(t, dir)
	if d := apart(got, w.arrays); !(d <= s.near) {
		t.Errorf("weights are %v from one learner's, at most %v is rounding", d, s.near)
	}
	if s.shared {
		return
	}
	if w.references[c.workers] == nil {
		w.references[c.workers] = s.reference(t, c.workers)
	}
	for name, data := range w.references[c.workers] {
		if !bytes.Equal(got[name], data) {
			t.Errorf("%s differs from the reference", name)
		}
	}
}

// reference returns the state of k plain loops that meet at gradients.
func (s subject) reference(t *testing.T, k int) map[string][]byte {
	t.Helper()
	dev, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Config()
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	var set []config.Assignment
	for _, text := range s.set {
		a, err := config.ParseSet(text, "test")
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, a)
	}
	if err := config.Set(c, set); err != nil {
		t.Fatal(err)
	}
	scopes, err := reference.Train(reference.Config{
		Backend: dev.Backend(), Seed: 1, Loops: k, Steps: s.steps, Whole: s.whole,
		Build: func(scope *rl.Scope) (rl.Trainer, error) { return s.New(scope, algo.On(scope, s.env, nil, nil), c) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return together(scopes)
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

// kept returns the state that a run ended in, as its checkpoint has it.
func kept(t *testing.T, run string) map[string][]byte {
	t.Helper()
	dir, err := checkpoint.Open(filepath.Join(run, "checkpoints"), 3)
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

// apart returns the largest difference between two networks' weights.
func apart(a, b map[string][]byte) (most float64) {
	compared := 0
	for name, data := range a {
		network, _, _ := strings.Cut(name, "/")
		if !slices.Contains([]string{"net", "agent net", "q", "policy", "critics", "temperature"}, network) {
			continue
		}
		x, y := floats(data), floats(b[name])
		for i := range x {
			most = max(most, math.Abs(float64(x[i]-y[i])))
			compared++
		}
	}
	if compared == 0 {
		return math.Inf(1)
	}
	return most
}

func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// TestTooManyWorkers: more workers than shards are refused before anything starts.
func TestTooManyWorkers(t *testing.T) {
	for _, s := range subjects {
		for _, p := range append([]string{"single-learner-coarse", "single-learner-fine"}, several...) {
			_, err := app.Train(t.Context(), app.Job{
				Algorithm: s.Algorithm, Env: s.env, Set: s.set, Steps: s.steps, Deployment: plan.Deployment{Policy: p, Workers: 12},
			})
			if err == nil || !strings.Contains(err.Error(), "12 replicas for 11 environments") {
				t.Errorf("%s under %s: %v", s.Name, p, err)
			}
		}
	}
}
