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

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/verify/reference"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// The parity matrix: an algorithm gives the bits of its plain loop under every
// synchronous policy with one learner, and under those with several what k plain
// loops give that meet at gradients.

var fullMatrix = flag.Bool("matrix", false, "run the whole parity matrix, and not a selection that has all pairs")

// subject is an algorithm with a small run of it.
type subject struct {
	algo.Algorithm
	algotest.Trial
	env   env.Entry
	steps int64
	set   []string
}

// subjects are the built-in algorithms, as every one's own trial says.
var subjects = func() (out []subject) {
	for _, a := range weft.Builtin().Algorithms {
		trial, err := algotest.TrialOf(a)
		if err != nil {
			panic(err)
		}
		out = append(out, newSubject(a, trial, trial.Short))
	}
	return out
}()

func newSubject(a algo.Algorithm, trial algotest.Trial, run algotest.Short) subject {
	e, err := algotest.Environment(weft.Builtin(), run.Env)
	if err != nil {
		panic(fmt.Errorf("%s: %w", a.Name, err))
	}
	a.Presets = nil // so that the run has the settings of its trial and no others
	return subject{a, trial, e, run.Steps, run.Set.List()}
}

// near is how far the weights of several learners may be from one's: sums are rounded otherwise.
const near = 1e-3

// several are the policies with as many learners as workers.
var several = []string{"multi-learner", "central"}

// synchronous are the policies of the matrix.
var synchronous = append([]string{"single-learner-coarse", "single-learner-fine"}, several...)

// policies returns those of the matrix that have something to split in the subject's loop.
func (s subject) policies() []string {
	switch {
	case s.Offline:
		return several
	case s.Alone:
		return []string{"single-learner-coarse", "single-learner-fine"}
	}
	return synchronous
}

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

var (
	counts  = []int{1, 2, 3, 5, 8}
	fusions = []string{"apart", "fused", "statements", "unfused", "turns"}
)

// cells returns the runs of the matrix: with -matrix all, otherwise those of the first algorithm in
// which every two values meet, and of every other algorithm two under a policy, or one if another
// algorithm has the same loop. A race detector is shown those that raced selects, of one algorithm
// for each loop.
func cells(t *testing.T) (out []cell) {
	t.Helper()
	met, loops := map[string]bool{}, map[string]bool{}
	for a, s := range subjects {
		n, loop := 2, s.loop(t)
		switch {
		case loops[loop] && testing.Short():
			continue
		case loops[loop]:
			n = 1
		}
		loops[loop] = true
		for i, p := range s.policies() {
			if a > 0 && !*fullMatrix {
				out = append(out, some(a, i, p, n)...)
				continue
			}
			for _, k := range counts {
				for j, fusion := range fusions {
					for _, procs := range []int{1, 2} {
						if c := (cell{a, p, k, fusion, 1 + (procs+j)%2}); c.possible() && (*fullMatrix || c.news(met)) {
							out = append(out, c)
						}
					}
				}
			}
		}
	}
	if testing.Short() {
		out = slices.DeleteFunc(out, func(c cell) bool { return !c.raced() })
	}
	return out
}

// some returns n cells of an algorithm under a policy, each with another number of workers. What
// they begin with differs by algorithm and policy.
func some(a, policy int, name string, n int) (out []cell) {
	for i := range n {
		at := a + policy + 2*i
		c := cell{a, name, counts[1+at%4], fusions[(a+at)%5], 1 + (a+i)%2}
		if !c.possible() {
			c.fusion = fusions[at%4]
		}
		out = append(out, c)
	}
	return out
}

// possible reports whether there can be such a deployment: only a policy with environments of their
// own lets an even number of them take turns.
func (c cell) possible() bool {
	return c.fusion != "turns" || c.policy == "single-learner-fine" && c.workers%2 == 0
}

// raced reports whether a cell has goroutines that a race detector has not seen in others: in all
// ways with the first algorithm, in few with those behind it.
func (c cell) raced() bool {
	return c.workers == 5 || c.algorithm == 0 && c.workers == 2
}

// news reports whether two values meet in a cell for the first time, an algorithm under a policy
// being one.
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

// known holds the results that a subject's cells are compared with.
type known struct {
	plain      outcome
	arrays     map[string][]byte
	networks   []string
	references map[int]map[string][]byte // by learners
}

func TestMatrix(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	all := cells(t)
	want := make([]*known, len(subjects))
	for i, s := range subjects {
		if !slices.ContainsFunc(all, func(c cell) bool { return c.algorithm == i }) {
			continue
		}
		dir := filepath.Join(t.TempDir(), "run")
		want[i] = &known{plain: s.train(t, plan.Deployment{}, s.steps, dir), references: map[int]map[string][]byte{}}
		want[i].arrays, want[i].networks = kept(t, dir), s.networks(t)
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
	if d := apart(got, w.arrays, w.networks); !(d <= near) {
		t.Errorf("weights are %v from one learner's, at most %v is rounding", d, near)
	}
	if s.Shared {
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
	c, err := algotest.Configure(s.Algorithm, s.set)
	if err != nil {
		t.Fatal(err)
	}
	scopes, err := reference.Train(reference.Config{
		Backend: algotest.Device(t).Backend(), Seed: 1, Loops: k, Steps: s.steps, Whole: s.Whole,
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

// loop returns the name of the type whose method is the algorithm's loop.
func (s subject) loop(t *testing.T) string {
	t.Helper()
	trainer, _ := s.made(t)
	return fmt.Sprintf("%T", trainer)
}

// made constructs the algorithm's trainer.
func (s subject) made(t *testing.T) (rl.Trainer, *rl.Scope) {
	t.Helper()
	scope := rl.NewScope(algotest.Device(t), 1)
	c, err := algotest.Configure(s.Algorithm, s.set)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := s.New(scope, algo.On(scope, s.env, nil, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	return trainer, scope
}

// networks returns the names of the algorithm's parameters.
func (s subject) networks(t *testing.T) (names []string) {
	t.Helper()
	_, scope := s.made(t)
	for _, p := range scope.Params() {
		names = append(names, p.Name())
	}
	return names
}

// apart returns the largest difference between two runs' weights.
func apart(a, b map[string][]byte, networks []string) (most float64) {
	compared := 0
	for name, data := range a {
		network, _, _ := strings.Cut(name, "/")
		if !slices.Contains(networks, network) {
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
		for _, p := range s.policies() {
			if s.Offline { // learners share batches out, of any size
				continue
			}
			_, err := app.Train(t.Context(), app.Job{
				Algorithm: s.Algorithm, Env: s.env, Set: s.set, Steps: s.steps, Deployment: plan.Deployment{Policy: p, Workers: 12},
			})
			if err == nil || !strings.Contains(err.Error(), "12 replicas for 11 environments") {
				t.Errorf("%s under %s: %v", s.Name, p, err)
			}
		}
	}
}
