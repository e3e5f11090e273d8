// Command metamorph runs loops that were written at random, plain and taken
// apart, as a list of jobs says, and prints what came out of each.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/fault"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/metamorph/registry"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/trial"
	"github.com/weft-rl/weft/internal/verify/reference"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Job is one run of a loop.
type Job struct {
	Loop      string
	Grouping  string // empty for the plain loop
	Env       string
	Envs      int
	Shards    int
	Workers   []int // of each shard: replicas of one worker may become one
	Fuse      bool
	Members   int
	Delay     uint64 // seed of what edges wait, 0 for none
	Procs     int
	Reference int64 // steps of as many plain loops as there are shards
	Patience  int   // seconds after which a run stands still, as watch counts them

	Iterations int      // 0 for the usual few
	Seed       uint64   // 0 for the usual one
	Turned     []uint64 // lines of the source whose conditions are inverted
}

// Jobs are all runs, with the graphs of their loops.
type Jobs struct {
	Jobs   []Job
	Graphs map[string]string
}

// iterations are few, because there are many loops.
const iterations = 4

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var all Jobs
	if err := json.Unmarshal(text, &all); err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, j := range all.Jobs {
		done := make(chan bool)
		go j.watch(done)
		if err := out.Encode(j.run(all.Graphs[j.Loop])); err != nil {
			panic(err)
		}
		close(done)
	}
}

// watch ends the command if a run stands still: it has used no processor time for
// Patience seconds, or more than as many. A run that others keep from the processor
// does neither.
func (j Job) watch(done chan bool) {
	begun := used()
	for last, idle := begun, 0; ; {
		select {
		case <-done:
			return
		case <-time.After(time.Second):
		}
		now := used()
		if idle++; now-last > time.Millisecond {
			idle = 0
		}
		if last = now; idle >= j.Patience || now-begun > time.Duration(j.Patience)*time.Second {
			fmt.Fprintf(os.Stderr, "%+v stands still\n", j)
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			os.Exit(3)
		}
	}
}

// used returns the processor time that the command has used.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (j Job) run(graph string) trial.Outcome {
	runtime.GOMAXPROCS(j.Procs)
	fault.Steer(j.Turned)
	loop := registry.Loops[j.Loop]
	c := trial.Config{
		Build:      func(s *rl.Scope) (rl.Trainer, error) { return j.build(loop, s) },
		Iterations: cmp.Or(j.Iterations, iterations), Members: j.Members, Seed: j.Seed,
	}
	var out trial.Outcome
	switch {
	case j.Reference > 0:
		out = j.reference(c)
	case j.Grouping == "":
		out = trial.Run(c)
	default:
		out = j.apart(c, loop, graph)
	}
	out.Loop, out.Grouping, out.Replicas, out.Taken = j.Loop, j.Grouping, j.Shards, fault.Taken()
	return out
}

// apart runs the programs of a grouping.
func (j Job) apart(c trial.Config, loop registry.Loop, graph string) trial.Outcome {
	g, err := fdg.ReadJSON(strings.NewReader(graph))
	if err != nil {
		return trial.Outcome{Err: err.Error()}
	}
	for _, gr := range loop.Groupings {
		if gr.Name == j.Grouping {
			c.Programs = gr
		}
	}
	c.Graph, c.Plan = g, trial.Planned(c.Programs.Grouping, g, j.Shards)
	for i, r := range c.Plan.Replicas {
		if r.Last == r.First+1 {
			c.Plan.Replicas[i].Worker = j.Workers[r.First]
		}
	}
	if j.Fuse {
		c.Plan = c.Plan.Fuse(g, []string{plan.FuseGroups})
	}
	if j.Delay > 0 {
		c.Around = func(r int, l edge.Link) edge.Link { return newSlow(l, j.Delay, uint64(r)) }
	}
	return trial.Run(c)
}

// reference is what replicated learners must compute.
func (j Job) reference(c trial.Config) (out trial.Outcome) {
	var seen trial.Witnesses
	scopes, err := reference.Train(reference.Config{
		Observe: func(rank int) rl.Observer { return seen.Observe("", rank) },
		Backend: trial.Root(0).Device().Backend(), Seed: cmp.Or(j.Seed, trial.Seed), Loops: j.Shards, Steps: j.Reference, Build: c.Build,
	})
	if err != nil {
		return trial.Outcome{Err: err.Error()}
	}
	st := rl.NewState(scopes[0])
	scopes[0].Save(st)
	out.Weights, out.Values = trial.Weights(scopes[0], st)
	out.Early = seen.Early()
	return out
}

var entries = map[string]struct {
	env.Entry
	options any
}{
	"Identity": {debug.Identity, nil}, "Continuous": {debug.IdentityContinuous, nil},
	"Memory": {debug.Memory, &debug.MemoryOptions{Delay: 1}}, "Endless": {debug.Endless, nil},
}

func (j Job) build(loop registry.Loop, s *rl.Scope) (t rl.Trainer, err error) {
	e := entries[j.Env]
	err = rl.Catch(func() (err error) {
		t, err = loop.New(s, algo.On(s, e.Entry, e.options, nil), j.Envs)
		return err
	})
	return t, err
}
