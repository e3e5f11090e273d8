package weft_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/internal/device"
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

// The parity matrix over processes: what crosses a network gives the bits of what
// crosses a channel, and so those of the plain loop.

// everything is the matrix's subjects, and behind them their runs in further environments.
var everything = slices.Concat(subjects, others())

func others() (out []subject) {
	for _, s := range subjects {
		for _, run := range s.More {
			out = append(out, newSubject(s.Algorithm, s.Trial, run))
		}
	}
	return out
}

// share is one run of it: a cell's algorithm and policy, on so many processes.
type share struct {
	Algorithm int
	plan.Deployment
	Disk string // folder of replays; empty is memory
}

func (s share) String() string {
	return fmt.Sprintf("%s/%s/%d processes/%d replicas", everything[s.Algorithm].Name, s.Policy, s.Workers, s.Replicas)
}

// shares returns the runs: with -matrix all, otherwise those of the first algorithm in which every
// two values meet, and one of every other under a policy, or under one policy in all if another has
// the same loop; to a race detector, some with unequal shards.
func shares(t *testing.T) (out []share) {
	t.Helper()
	met, loops := map[string]bool{}, map[string]bool{}
	for a, s := range subjects {
		loop := s.loop(t)
		again := loops[loop]
		loops[loop] = true
		for i, p := range s.policies() {
			if again && (i != a%len(s.policies()) || testing.Short()) && !*fullMatrix {
				continue
			}
			for j, n := range []int{2, 4} {
				for l, k := range []int{n, 5, 8} {
					c := cell{a, p, n, fmt.Sprint(k), (a + i + j) % 2}
					wanted := c.news(met)
					switch {
					case testing.Short():
						wanted = k == 5 && (n == 2 || a == 0) && (a+i)%2 == 0
					case a > 0:
						wanted = j == (a+i)%2 && l == (a+i)%3
					}
					if wanted || *fullMatrix {
						out = append(out, share{Algorithm: a, Deployment: plan.Deployment{Policy: p, Workers: n, Replicas: k}})
					}
				}
			}
		}
	}
	return out
}

// jobOf returns a share's, from its JSON form; every process makes its own.
func jobOf(text string) (runner.Job, error) {
	var s share
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return runner.Job{}, err
	}
	x := everything[s.Algorithm]
	d, err := device.Open(device.Default)
	if err != nil {
		return runner.Job{}, err
	}
	c, err := algotest.Configure(x.Algorithm, x.set)
	j := runner.Job{Algorithm: x.Algorithm, Config: c, Env: x.env, Device: d, Seed: 1, Steps: x.steps}
	if s.Disk != "" {
		j.Storage = &rl.Storage{Dir: s.Disk}
	}
	return j, err
}

// assignment returns a share's, for its processes at their addresses.
func (s share) assignment(t *testing.T) part.Assignment {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	a := part.Assignment{Run: "run", Epoch: 1, Config: string(text)}
	j, err := jobOf(a.Config)
	if err != nil {
		t.Fatal(err)
	}
	j.Plan = func(on plan.Problem) (plan.Plan, error) {
		p, err := policy.Find(s.Policy, policy.Builtin())
		if err == nil {
			on.Cluster, on.Deployment = plan.Local(s.Workers, "cpu"), s.Deployment
			a.Plan, err = p.Make(on)
		}
		a.Plan = a.Plan.Fuse(on.Graph, nil)
		return a.Plan, err
	}
	x, err := runner.Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return a
}

// run carries the share out on nodes of their own.
func (s share) run(t *testing.T) *part.Result {
	t.Helper()
	a, d, folder := s.assignment(t), parttest.NewDesk(s.Workers), filepath.Join(t.TempDir(), "store")
	var runners []*process.Runner
	for i := range s.Workers {
		n, err := mesh.Listen("127.0.0.1:0", mesh.Options{Silence: time.Minute}) // of a busy machine
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		runners = append(runners, process.New(process.Config{
			Job: jobOf, Node: n, Store: func(run string) (store.Store, error) { return store.Folder(folder), nil },
		}))
		a.Workers = append(a.Workers, part.Worker{Name: fmt.Sprint(i), Data: n.Address(), Host: fmt.Sprint(i / 2)}) // both networks
	}
	errs := make([]error, s.Workers)
	var all sync.WaitGroup
	for i, r := range runners {
		all.Go(func() {
			mine := a
			mine.Me = i
			errs[i] = r.Run(t.Context(), mine, d)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return d.Last().Result
}

func TestProcessMatrix(t *testing.T) {
	all, plain := shares(t), map[int]outcome{} // by algorithm
	for _, s := range all {
		t.Run(s.String(), func(t *testing.T) {
			x := subjects[s.Algorithm]
			want, ok := plain[s.Algorithm]
			switch {
			case slices.Contains(several, s.Policy):
				want = x.train(t, s.Deployment, x.steps, "")
			case !ok:
				want = x.train(t, plan.Deployment{}, x.steps, "")
				plain[s.Algorithm] = want
			}
			got := s.run(t)
			if got == nil || got.WeightsSHA256 != want.weights || got.StateSHA256 != want.state {
				t.Errorf("%+v, want weights %.8s state %.8s", got, want.weights, want.state)
			}
		})
	}
	t.Logf("%d runs", len(all))
}

// TestProcessStorage: replays on disk give the bits of those in memory.
func TestProcessStorage(t *testing.T) {
	a := slices.IndexFunc(subjects, func(s subject) bool { return s.Name == "dqn" })
	want := subjects[a].train(t, plan.Deployment{}, subjects[a].steps, "")
	for _, p := range []string{"single-learner-coarse", "single-learner-fine"} {
		s := share{a, plan.Deployment{Policy: p, Workers: 2}, t.TempDir()}
		t.Run(s.String(), func(t *testing.T) {
			if got := s.run(t); got == nil || got.WeightsSHA256 != want.weights || got.StateSHA256 != want.state {
				t.Errorf("%+v, want weights %.8s state %.8s", got, want.weights, want.state)
			}
		})
		if files, err := os.ReadDir(s.Disk); err != nil || len(files) > 0 {
			t.Errorf("left behind: %v, %v", files, err)
		}
	}
}

// TestProcessOthers: the runs that the matrix leaves out, under every policy that accepts them.
func TestProcessOthers(t *testing.T) {
	for i := len(subjects); i < len(everything); i++ {
		for _, p := range policy.Builtin() {
			x, s := everything[i], share{Algorithm: i, Deployment: plan.Deployment{Policy: p.Name, Workers: 2}}
			if p.Lowered || p.AsIs {
				continue
			}
			job := app.Job{Algorithm: x.Algorithm, Env: x.env, Set: x.set, Steps: x.steps, Seed: 1, Deployment: s.Deployment}
			want, err := app.Train(t.Context(), job)
			if err != nil {
				continue // the page of policies says why
			}
			t.Run(s.String(), func(t *testing.T) {
				if got := s.run(t); got == nil || got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 {
					t.Errorf("%+v, want weights %.8s state %.8s", got, want.WeightsSHA256, want.StateSHA256)
				}
			})
		}
	}
}
