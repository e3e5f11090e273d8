package env

import (
	"fmt"

	"github.com/weft-rl/weft/rl"
)

// Each returns environments with every agent as a kind of its own, so that an algorithm with one
// policy for each kind has one for each agent. Agent j of a kind is called by the kind's name, if
// it has one, and j. Each is a view: the environments are unchanged, and are saved once.
func Each(g Groups) Groups {
	e := &each{Groups: g, specs: EachSpec(g.Spec())}
	several := false
	for i, s := range g.Spec() {
		several = several || s.Agents > 1
		for j := range s.agents() {
			e.at = append(e.at, place{i, j, s.agents()})
		}
	}
	if !several {
		return g
	}
	return e
}

// EachSpec returns the specs that Each gives environments of some specs.
func EachSpec(specs []Spec) (out []Spec) {
	for _, s := range specs {
		for j := range s.agents() {
			one := s
			one.Agents, one.Kind = 0, agentName(s, j)
			out = append(out, one)
		}
	}
	return out
}

func agentName(s Spec, j int) string {
	switch {
	case s.Agents <= 1:
		return s.Kind
	case s.Kind == "":
		return fmt.Sprintf("agent %d", j)
	}
	return fmt.Sprintf("%s %d", s.Kind, j)
}

type each struct {
	Groups
	specs []Spec
	at    []place
}

// place is where an agent is found: its kind, its index there, and how many
// there are.
type place struct{ kind, agent, of int }

func (e *each) Spec() []Spec { return e.specs }

func (e *each) Obs() []rl.Obs {
	all := e.Groups.Obs()
	out := make([]rl.Obs, len(e.at))
	for i, p := range e.at {
		out[i] = p.obs(all[p.kind])
	}
	return out
}

func (e *each) Step(action []rl.Tree) []rl.Step {
	if len(action) != len(e.at) {
		rl.Failf("%d actions for %d agents", len(action), len(e.at))
	}
	var joint []rl.Tree
	for i := 0; i < len(e.at); i += e.at[i].of {
		joint = append(joint, together(action[i:i+e.at[i].of]))
	}
	all := e.Groups.Step(joint)
	out := make([]rl.Step, len(e.at))
	for i, p := range e.at {
		x := all[p.kind]
		out[i] = rl.Step{
			Obs: p.obs(x.Obs), Final: p.obs(x.Final), Reward: p.column(x.Reward),
			Terminated: p.column(x.Terminated), Truncated: p.column(x.Truncated), Over: x.Over,
		}
	}
	return out
}

// together returns agents' actions as those of their kind.
func together(agents []rl.Tree) rl.Tree {
	if len(agents) == 1 {
		return agents[0]
	}
	leaves := make([]rl.Tensor, agents[0].Len())
	for j := range leaves {
		column := make([]rl.Tensor, len(agents))
		for i, a := range agents {
			column[i] = a.At(j)
		}
		leaves[j] = rl.Stack(column)
	}
	return rl.NewTree(agents[0].Names(), leaves)
}

// obs returns what the agent sees.
func (p place) obs(o rl.Obs) rl.Obs {
	o.X, o.Legal = o.X.Map(p.column), o.Legal.Map(p.column)
	o.Alive, o.Turn = p.column(o.Alive), p.column(o.Turn)
	return o
}

// column returns the agent's part of a tensor [env, agent, ...].
func (p place) column(t rl.Tensor) rl.Tensor {
	if !t.Ok() || p.of == 1 {
		return t
	}
	return rl.Column(t, p.agent)
}
