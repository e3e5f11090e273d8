// Command runner carries out the runs of generated loops: plain, under policies,
// in two processes, with a stop and a resume in between. It prints one outcome a
// line.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	envs "github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/compile/adversary/testdata/src/job"
	"github.com/weft-rl/weft/internal/compile/adversary/testdata/src/registry"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/verify/reference"
	"github.com/weft-rl/weft/rl"
)

// seed is that of every run.
const seed = 7

// most is the number of iterations after which every run stops.
const most = 6

func main() {
	if os.Args[1] == "child" {
		serve()
		return
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var all []job.Job
	if err := json.Unmarshal(text, &all); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
	out := json.NewEncoder(os.Stdout)
	for _, j := range all {
		stuck := time.AfterFunc(time.Duration(j.Patience)*time.Second, func() {
			fmt.Fprintf(os.Stderr, "stuck: %+v\n", j)
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			os.Exit(3)
		})
		if err := out.Encode(carryOut(j)); err != nil {
			panic(err)
		}
		stuck.Stop()
	}
}

// carryOut runs a job.
func carryOut(j job.Job) (out job.Outcome) {
	runtime.GOMAXPROCS(j.Procs)
	err := rl.Catch(func() error {
		if j.Learners > 0 {
			return meet(j, &out)
		}
		var from []rl.Array
		for _, leg := range j.Legs {
			r := &running{job: j, leg: leg, out: &out}
			err := r.train(from)
			if out.Unfit = r.unfit; err != nil {
				return err
			}
			from = r.kept
		}
		return nil
	})
	if err != nil {
		out.Err = err.Error()
	}
	slices.Sort(out.Logs)
	return out
}

// meet runs plain loops that meet at gradients: what several learners must compute.
func meet(j job.Job, out *job.Outcome) error {
	scopes, err := reference.Train(reference.Config{
		Backend: root().Device().Backend(), Seed: seed, Loops: j.Learners, Steps: j.Budget,
		Build: func(s *rl.Scope) (rl.Trainer, error) { return build(j, s) },
	})
	if err != nil {
		return err
	}
	st := rl.NewState(scopes[0])
	scopes[0].Save(st)
	out.Weights = digest(weights(scopes[0], st.Arrays()), &out.Values)
	return nil
}

// root returns the scope of a run.
func root() *rl.Scope {
	d, err := device.Open(device.Default)
	if err != nil {
		panic(err)
	}
	return rl.NewScope(d, seed)
}

var entries = map[string]struct {
	env.Entry
	options any
}{
	"Identity": {envs.Identity, nil}, "Continuous": {envs.IdentityContinuous, nil},
	"Memory": {envs.Memory, &envs.MemoryOptions{Delay: 1}}, "Endless": {envs.Endless, nil},
	"Kinds": {envs.Kinds, nil},
}

// build constructs the loop's trainer in a scope.
func build(j job.Job, s *rl.Scope) (t rl.Trainer, err error) {
	e := entries[j.Env]
	err = rl.Catch(func() (err error) {
		t, err = registry.Loops[j.Loop](s, algo.On(s, e.Entry, e.options, nil), &j.Config)
		return err
	})
	return t, err
}
