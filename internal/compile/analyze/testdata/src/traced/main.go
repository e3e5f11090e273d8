// Command traced runs every accepted loop for a few iterations and prints what
// package trace saw.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/bandit"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/delayed"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/dqn"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/every"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/family"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/gail"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/generic"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/groups"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/helpers"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/leaving"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/nested"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/offline"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/phases"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/population"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/recurrent"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/refined"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/sac"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/scratchpad"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/search"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/selfplay"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/tangled"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/two"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/loops/world"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/trace"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// trainer is what all loops have.
type trainer interface{ Train(*rl.Run) error }

// loops make the trainers of the fixtures.
var loops = map[string]func(*rl.Scope, algo.MakeEnv) (trainer, error){
	"bandit":     func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return bandit.New(s, m, 4) },
	"delayed":    func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return delayed.New(s, m, 4) },
	"dqn":        func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return dqn.New(s, m, 4) },
	"every":      func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return every.New(s, m, 4) },
	"family":     func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return family.New(s, m, 4) },
	"gail":       func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return gail.New(s, m, 4) },
	"generic":    func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return generic.New(s, m, 4) },
	"groups":     func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return groups.New(s, m, 4) },
	"helpers":    func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return helpers.New(s, m, 4) },
	"leaving":    func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return leaving.New(s, m, 4) },
	"nested":     func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return nested.New(s, m, 4) },
	"offline":    func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return offline.New(s, m, 4) },
	"population": func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return population.New(s, m, 4) },
	"sac":        func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return sac.New(s, m, 4) },
	"phases":     func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return phases.New(s, m, 4) },
	"recurrent":  func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return recurrent.New(s, m, 4) },
	"refined":    func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return refined.New(s, m, 4) },
	"scratchpad": func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return scratchpad.New(s, m, 4) },
	"search":     func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return search.New(s, m, 4) },
	"selfplay":   func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return selfplay.New(s, m, 4) },
	"two":        func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return two.New(s, m, 4) },
	"world":      func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return world.New(s, m, 4) },
	"tangled":    func(s *rl.Scope, m algo.MakeEnv) (trainer, error) { return tangled.New(s, m, 4) },
}

// worlds are the environments of loops that need another one than debug.Identity.
var worlds = map[string]env.Entry{}

func main() {
	out := map[string][]trace.Record{}
	for name, make := range loops {
		out[name] = append(out[name], run(name, 0, make))
	}
	for _, a := range weft.Builtin().Algorithms {
		trial, err := algotest.TrialOf(a)
		if err != nil {
			panic(err)
		}
		name := "algo-" + algotest.Folder(a)
		worlds[name], err = algotest.Environment(weft.Builtin(), trial.Ways.Env)
		if err != nil {
			panic(err)
		}
		for i, set := range trial.Ways.Each {
			out[name] = append(out[name], run(name, i, func(s *rl.Scope, m algo.MakeEnv) (trainer, error) {
				c, err := algotest.Configure(a, trial.Ways.Settings(set, 4))
				if err != nil {
					return nil, err
				}
				return a.New(s, m, c)
			}))
		}
	}
	if failed {
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}

// failed is set by a loop that does not run.
var failed bool

// run trains for a few iterations.
func run(name string, seed int, make func(*rl.Scope, algo.MakeEnv) (trainer, error)) trace.Record {
	d, err := device.Open(device.Default)
	if err != nil {
		panic(err)
	}
	s := rl.NewScope(d, uint64(seed))
	var t trainer
	err = rl.Catch(func() (err error) {
		t, err = make(s, &maker{scope: s, entry: entryOf(name)})
		return err
	})
	if err == nil {
		iterations := 0
		r := rl.NewRun(s, 1<<40, func(rl.Cut) error {
			if iterations++; iterations > 12 {
				return rl.ErrStop
			}
			return nil
		})
		err = rl.Catch(func() error { return t.Train(r) })
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		failed = true
	}
	return trace.Take()
}

func entryOf(name string) env.Entry {
	if e, ok := worlds[name]; ok {
		return e
	}
	return debug.Identity
}

// maker gives every batch a name of its own.
type maker struct {
	scope *rl.Scope
	entry env.Entry
	made  int
}

func (m *maker) next() algo.MakeEnv {
	on := algo.On(m.scope, m.entry, nil, nil)
	if m.made++; m.made > 1 {
		on = on.As(fmt.Sprint("env ", m.made))
	}
	return on
}

func (m *maker) Batch(n int) (env.Batch, error)    { return m.next().Batch(n) }
func (m *maker) SelfPlay(n int) (env.Batch, error) { return m.next().SelfPlay(n) }
func (m *maker) Single(n int) (env.Batch, error)   { return m.next().Single(n) }
func (m *maker) Groups(n int) (env.Groups, error)  { return m.next().Groups(n) }
func (m *maker) As(string) algo.MakeEnv            { return m }
