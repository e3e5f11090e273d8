package nn

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// ActIn is the input of a policy that may have memory.
//
//weft:batch
type ActIn struct {
	Obs    rl.Obs
	Memory rl.Tensor // absent without recurrence
}

// ActOut is the decision of such a policy. Raw is the sample, Action the same within the bounds of
// the action space.
//
//weft:batch
type ActOut struct {
	Action, Raw rl.Tree
	LogProb     rl.Tensor
	Memory      rl.Tensor // memory for the next step; absent without recurrence
}

// Decide returns the actions raw of a policy pi, with the memory that Recall returned.
func (h Head) Decide(raw rl.Tree, pi Dist, memory *Node) ActOut {
	out := ActOut{Action: h.Clip(raw), Raw: raw, LogProb: rl.Wrap(pi.LogProb(raw))}
	if memory != nil {
		out.Memory = rl.Wrap(memory)
	}
	return out
}

// Choose returns a sample of a policy, drawn by the name "action", or its mode if greedy.
func Choose(c *rl.Ctx, pi Dist, greedy bool) rl.Tree {
	if greedy {
		return pi.Mode()
	}
	return pi.Sample(c, "action")
}

// NewAgent returns an agent that samples by one function and acts greedily by another. It remembers
// what a cell does; cell is nil for an agent without memory.
func NewAgent(s *rl.Scope, sample, greedy *rl.Func[ActIn, ActOut], cell Cell) rl.Agent {
	a := rl.Acting[ActIn, ActOut]{Sample: sample, Greedy: greedy}
	a.In = func(obs rl.Obs, _ rl.Tree) ActIn { return ActIn{Obs: obs} }
	a.Out = func(out ActOut) (action, next rl.Tree) { return out.Action, rl.Tree{} }
	if cell != nil {
		a.In = func(obs rl.Obs, memory rl.Tree) ActIn { return ActIn{obs, memory.At(0)} }
		a.Out = func(out ActOut) (action, next rl.Tree) { return out.Action, rl.One(out.Memory) }
		a.Fresh = func(n int) rl.Tree { return rl.One(NewMemory(s, cell, n)) }
	}
	return a
}
