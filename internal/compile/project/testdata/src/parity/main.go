// Command parity runs loops as plain Go and as generated programs, and prints
// what came out of each: the state at the end, and what was logged.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/fdg"
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
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/loops/agents"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/loops/awkward"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/loops/control"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/loops/memory"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/loops/partial"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/loops/returning"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/loops/stores"
	"github.com/weft-rl/weft/internal/compile/project/testdata/src/trial"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// envs do not divide evenly.
const envs = 5

// loops make the trainers of the fixtures.
var loops = map[string]func(*rl.Scope, algo.MakeEnv) (rl.Trainer, error){
	"agents":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return agents.New(s, m, envs) },
	"awkward":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return awkward.New(s, m, envs) },
	"bandit":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return bandit.New(s, m, envs) },
	"control":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return control.New(s, m, envs) },
	"delayed":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return delayed.New(s, m, envs) },
	"dqn":        func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return dqn.New(s, m, envs) },
	"every":      func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return every.New(s, m, envs) },
	"family":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return family.New(s, m, envs) },
	"gail":       func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return gail.New(s, m, 4) },
	"groups":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return groups.New(s, m, envs) },
	"generic":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return generic.New(s, m, envs) },
	"helpers":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return helpers.New(s, m, envs) },
	"leaving":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return leaving.New(s, m, envs) },
	"memory":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return memory.New(s, m, envs) },
	"nested":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return nested.New(s, m, envs) },
	"offline":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return offline.New(s, m, envs) },
	"partial":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return partial.New(s, m, envs) },
	"phases":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return phases.New(s, m, envs) },
	"population": func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return population.New(s, m, envs) },
	"recurrent":  func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return recurrent.New(s, m, envs) },
	"refined":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return refined.New(s, m, envs) },
	"returning":  func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return returning.New(s, m, envs) },
	"stores":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return stores.New(s, m, envs) },
	"sac":        func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return sac.New(s, m, envs) },
	"scratchpad": func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return scratchpad.New(s, m, envs) },
	"search":     func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return search.New(s, m, envs) },
	"selfplay":   func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return selfplay.New(s, m, envs) },
	"tangled":    func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return tangled.New(s, m, envs) },
	"two":        func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return two.New(s, m, envs) },
	"world":      func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) { return world.New(s, m, envs) },
}

func init() {
	for _, a := range weft.Builtin().Algorithms {
		trial, err := algotest.TrialOf(a)
		if err != nil {
			panic(err)
		}
		for i, set := range trial.Ways.Each {
			name := fmt.Sprintf("algo-%s/%s-%d", algotest.Folder(a), a.Name, i)
			ways[name] = i
			worlds[name], err = algotest.Environment(weft.Builtin(), trial.Ways.Env)
			if err != nil {
				panic(err)
			}
			loops[name] = func(s *rl.Scope, m algo.MakeEnv) (rl.Trainer, error) {
				c, err := algotest.Configure(a, trial.Ways.Settings(set, envs))
				if err != nil {
					return nil, err
				}
				return a.New(s, m, c)
			}
		}
	}
}

// ways are the numbers of the algorithms' settings. A grouping runs with two replicas under one of
// them and with three under the next, since the root's matrix has the algorithms with many numbers.
var ways = map[string]int{}

// worlds are the environments of loops that need another one than debug.Identity.
var worlds = map[string]env.Entry{"agents": debug.Kinds, "groups": debug.Kinds}

// main runs the loops that its arguments name, all without any.
func main() {
	var names []string
	for name := range loops {
		if len(os.Args) < 2 || slices.ContainsFunc(os.Args[1:], func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []trial.Outcome
	for _, name := range names {
		out = append(out, outcomes(name)...)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}

func outcomes(name string) (out []trial.Outcome) {
	out = append(out, run(name, plan.Grouping{}, nil, edge.Grouping{}, nil, 0, 1))
	t, err := build(name, trial.Root(0))
	if err != nil {
		return out
	}
	set, ok := edge.ProgramsOf(t)
	if !ok {
		return append(out, trial.Outcome{Loop: name, Err: "nothing was generated"})
	}
	g, err := fdg.Unpack(set.Graph)
	if err != nil {
		return append(out, trial.Outcome{Loop: name, Err: err.Error()})
	}
	if set.Lowered != nil {
		out = append(out, run(name, plan.Grouping{Name: "lowered"}, nil, edge.Grouping{}, set.Lowered, out[0].Steps, 1))
	}
	for i, gr := range set.Groupings {
		for _, k := range replicas(name, i, t, gr) {
			out = append(out, run(name, gr.Grouping, g, gr, nil, 0, k))
		}
	}
	return out
}

// replicas returns the numbers of replicas that the i-th grouping of a loop runs with.
func replicas(name string, i int, t rl.Trainer, gr edge.Grouping) []int {
	most := 3
	switch {
	case !slices.ContainsFunc(gr.Groups, func(g plan.Group) bool { return g.Over != fdg.None }):
		most = 1
	case gr.Member != nil:
		most = min(most, gr.Members(t))
	}
	if way, ok := ways[name]; ok {
		return []int{min(most, 2+(way+i)%2)}
	}
	return []int{1, 2, 3}[:most]
}

func build(name string, s *rl.Scope) (t rl.Trainer, err error) {
	err = rl.Catch(func() (err error) {
		t, err = loops[name](s, &maker{scope: s, entry: entryOf(name)})
		return err
	})
	return t, err
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
		return on.As(fmt.Sprint("env", m.made))
	}
	return on
}

func (m *maker) Batch(n int) (env.Batch, error)    { return m.next().Batch(n) }
func (m *maker) Groups(n int) (env.Groups, error)  { return m.next().Groups(n) }
func (m *maker) SelfPlay(n int) (env.Batch, error) { return m.next().SelfPlay(n) }
func (m *maker) Single(n int) (env.Batch, error)   { return m.next().Single(n) }
func (m *maker) As(string) algo.MakeEnv            { return m }

// iterations are enough for every way through the loops.
const iterations = 8

func run(name string, by plan.Grouping, g *fdg.Graph, programs edge.Grouping, lowered func(rl.Trainer, *rl.Run), until int64, k int) trial.Outcome {
	rounds := iterations
	if name == "offline" { // which ends by itself
		rounds = 3
	}
	members := 0
	if t, err := build(name, trial.Root(0)); err == nil && programs.Member != nil {
		members = programs.Members(t)
	}
	planned := trial.Planned(by, g, k)
	planned.Graphs = k != 2 // with two replicas, statement by statement
	out := trial.Run(trial.Config{
		Build: func(s *rl.Scope) (rl.Trainer, error) { return build(name, s) },
		Plan:  planned, Graph: g, Programs: programs, Members: members, Iterations: rounds,
		Lowered: lowered, Until: until,
	})
	out.Loop, out.Grouping, out.Replicas = name, by.Name, k
	return out
}
